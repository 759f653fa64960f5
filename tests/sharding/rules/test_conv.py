"""Convolutions, with and without groups and bias."""

import pytest

from maxlite.sharding.rules import conv_rule
from tests.sharding.planning import act, plan, short

IMAGES = {"axes": ("NHWC", "HWIO", "NHWC")}
TRANSPOSED = {"axes": ("NHWC", "HWOI", "NHWC")}
VOLUMES = {"axes": ("NDHWC", "DHWIO", "NDHWC")}
CHANNELS_FIRST = {"axes": ("NCHW", "OIHW", "NHWC")}
GROUPED = {"axes": ("NHWC", "HWIO", "NHWC"), "groups": 2}


@pytest.mark.parametrize(
    ("given", "filter", "default", "silent"),
    [
        ("R", "R", "R", "R"),
        ("R", "S0", "raises", "R"),
        ("R", "S1", "raises", "R"),
        ("R", "S2", "S3", "S3"),
        ("R", "S3", "raises", "P"),
        ("R", "P", "P", "P"),
        ("S0", "R", "S0", "S0"),
        ("S0", "S2", "raises", "S0"),
        ("S0", "S3", "raises", "S0"),
        ("S0", "P", "raises", "P"),
        ("S1", "R", "raises", "R"),
        ("S1", "S2", "raises", "S3"),
        ("S1", "S3", "raises", "P"),
        ("S2", "S0", "raises", "R"),
        ("S2", "P", "raises", "P"),
        ("S3", "R", "raises", "P"),
        ("S3", "S0", "raises", "P"),
        ("S3", "S2", "raises", "S3"),
        ("S3", "S3", "P", "P"),
        ("S3", "P", "raises", "P"),
        ("P", "R", "P", "P"),
        ("P", "S1", "raises", "P"),
        ("P", "S3", "raises", "P"),
        ("P", "P", "raises", "P"),
    ],
)
def test_all_ways_of_a_transposed_convolution(given, filter, default, silent):
    operands = [f"2,2,2,2 {given}", f"2,2,2,2 {filter}"]
    assert plan(conv_rule, operands, **TRANSPOSED) == default
    assert plan(conv_rule, operands, region="silent", **TRANSPOSED) == silent


@pytest.mark.parametrize(
    ("params", "operands", "default", "silent"),
    [
        (IMAGES, ["2,4,4,2 P", "1,1,2,2 R"], "P", "P"),
        (IMAGES, ["2,4,4,2 R", "1,1,2,2 S2"], "raises", "P"),
        (IMAGES, ["2,4,4,2 S3", "1,1,2,2 S2"], "P", "P"),
        (IMAGES, ["2,4,4,2 R", "1,1,2,2 S3"], "S3", "S3"),
        (IMAGES, ["2,4,4,2 S0 S3", "1,1,2,2 R S2"], "S0 P", "S0 P"),
        (IMAGES, ["n,h,w,c S0", "1,1,c,f R"], "S0", "S0"),
        (CHANNELS_FIRST, ["2,2,4,4 S0", "2,2,2,2 R"], "S0", "S0"),
        (CHANNELS_FIRST, ["2,2,4,4 R", "2,2,2,2 S0"], "S3", "S3"),
        (CHANNELS_FIRST, ["2,2,4,4 S1", "2,2,2,2 S1"], "P", "P"),
        (CHANNELS_FIRST, ["2,2,4,4 S1", "2,2,2,2 R"], "raises", "P"),
        (CHANNELS_FIRST, ["2,2,4,4 S3", "2,2,2,2 R"], "raises", "R"),
        (VOLUMES, ["2,2,2,2,2 S0", "1,1,1,2,2 S4"], "raises", "S0"),
        (VOLUMES, ["2,2,2,2,2 R", "1,1,1,2,2 S4"], "S4", "S4"),
        (VOLUMES, ["2,2,2,2,2 S4", "1,1,1,2,2 S3"], "P", "P"),
        (VOLUMES, ["2,2,2,2,2 S1", "1,1,1,2,2 R"], "raises", "R"),
    ],
)
def test_the_order_of_axes_says_which_may_be_cut(params, operands, default, silent):
    assert plan(conv_rule, operands, **params) == default
    assert plan(conv_rule, operands, region="silent", **params) == silent


@pytest.mark.parametrize(
    ("operands", "default", "silent"),
    [
        (["2,4,4,2 R", "1,1,2,2 R", "2 R"], "R", "R"),
        (["2,4,4,2 S0", "1,1,2,2 R", "2 R"], "S0", "S0"),
        (["2,4,4,2 R", "1,1,2,2 S3", "2 S0"], "S3", "S3"),
        (["2,4,4,2 R", "1,1,2,2 S3", "2 R"], "raises", "S3"),
        (["2,4,4,2 S3", "1,1,2,2 S2", "2 R"], "raises", "R"),
        (["2,4,4,2 S3", "1,1,2,2 S2", "2 P"], "P", "P"),
        (["2,4,4,2 P", "1,1,2,2 R", "2 R"], "raises", "R"),
        (["2,4,4,2 P", "1,1,2,2 R", "2 P"], "P", "P"),
        (["2,4,4,2 S0", "1,1,2,2 R", "2 S0"], "raises", "S0"),
        (["2,4,4,2 S1", "1,1,2,2 R", "2 R"], "raises", "R"),
    ],
)
def test_a_bias_goes_with_the_output_channels(operands, default, silent):
    assert plan(conv_rule, operands, **IMAGES) == default
    assert plan(conv_rule, operands, region="silent", **IMAGES) == silent


@pytest.mark.parametrize(
    ("given", "filter", "default", "silent"),
    [
        ("R", "R", "R", "R"),
        ("S0", "R", "S0", "S0"),
        ("S3", "S3", "S3", "S3"),
        ("R", "S3", "raises", "S3"),
        ("S3", "R", "raises", "S3"),
        ("P", "R", "P", "P"),
        ("R", "P", "P", "P"),
        ("R", "S2", "raises", "R"),
    ],
)
def test_groups_stay_together(given, filter, default, silent):
    operands = [f"2,4,4,4 {given}", f"1,1,2,4 {filter}"]
    assert plan(conv_rule, operands, **GROUPED) == default
    assert plan(conv_rule, operands, region="silent", **GROUPED) == silent


@pytest.mark.parametrize(
    ("given", "filter", "lands"),
    [
        ("S3 S0", "S3 R", "S3 S0"),
        ("S3 S3", "S3 S3", "R R"),
        ("S3 R", "R S3", "R R"),
        ("S3 P", "S3 R", "R P"),
    ],
)
def test_no_group_is_cut_by_two_mesh_axes(given, filter, lands):
    operands = [f"2,4,4,8 {given}", f"1,1,4,8 {filter}"]
    assert plan(conv_rule, operands, region="silent", **GROUPED) == lands


def test_a_cut_along_space_is_gathered():
    action = act(conv_rule, ["2,4,4,2 S1", "3,3,2,2 R"], region="silent", **IMAGES)
    assert [short(p) for needed in action.needed for p in needed] == ["R", "R"]
