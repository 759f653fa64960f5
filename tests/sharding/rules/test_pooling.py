"""Pooling and fold: windows in space."""

import pytest

from maxlite.dtype import DType
from maxlite.sharding._picker import pick_action
from maxlite.sharding.rules import avg_pool_rule, fold_rule, max_pool_rule
from tests.sharding.planning import REGIONS, operand, plan, short


@pytest.mark.parametrize(
    ("given", "default", "silent"),
    [
        ("R", "R", "R"),
        ("S0", "S0", "S0"),
        ("S1", "raises", "R"),
        ("S2", "raises", "R"),
        ("S3", "S3", "S3"),
        ("S0 S3", "S0 S3", "S0 S3"),
        ("S3 S2", "raises", "S3 R"),
    ],
)
def test_batch_and_channels_may_be_cut(given, default, silent):
    operands = [f"2,4,4,2 {given}"]
    for rule in (avg_pool_rule, max_pool_rule):
        assert plan(rule, operands) == default
        assert plan(rule, operands, region="silent") == silent


def test_only_an_average_of_floats_is_linear():
    assert plan(avg_pool_rule, ["2,4,4,2 P"]) == "P"
    assert plan(max_pool_rule, ["2,4,4,2 P"]) == "raises"
    assert plan(max_pool_rule, ["2,4,4,2 P"], region="silent") == "R"
    assert plan(max_pool_rule, ["2,4,4,2 P"], region="all") == "S0"
    whole = [operand("2,4,4,2 P", dtype=DType.int32)]
    with REGIONS["silent"]():
        action = pick_action("avg_pool2d", whole, avg_pool_rule, {})
    assert [short(p) for p in action.outputs[0]] == ["R"]


@pytest.mark.parametrize(
    ("given", "default", "silent"),
    [
        ("2,8,4 R", "R", "R"),
        ("2,8,4 S0", "S0", "S0"),
        ("2,8,4 S1", "S1", "S1"),
        ("2,12,4 S1", "raises", "R"),
        ("2,8,4 S1 S1", "raises", "R R"),
        ("2,16,4 S1 S1", "S1 S1", "S1 S1"),
        ("2,c,4 S1", "raises", "R"),
        ("2,8,4 S2", "raises", "R"),
        ("2,8,4 P", "P", "P"),
    ],
)
def test_fold_needs_whole_channels(given, default, silent):
    assert plan(fold_rule, [given], kernel=(2, 2)) == default
    assert plan(fold_rule, [given], region="silent", kernel=(2, 2)) == silent
