"""Reductions, scans and sorts along one axis."""

import pytest

from maxlite.sharding.rules import (
    all_replicated_rule,
    along_axis_rule,
    count_rule,
    reduce_rule,
    sum_rule,
    top_k_rule,
)
from tests.sharding.planning import plan


@pytest.mark.parametrize(
    ("x", "axis", "want"),
    [
        ("4,4 R", 0, "R"),
        ("4,4 S0", 0, "P"),
        ("4,4 S1", 0, "S1"),
        ("4,4 P", 0, "P"),
        ("4,4 S1", 1, "P"),
        ("4,4 S0", 1, "S0"),
        ("5,3 S0", 0, "P"),
        ("5,3 S1", 0, "S1"),
        ("n,m S0", 0, "P"),
        ("16 S0", 0, "P"),
        ("4,4 S0 S1", 0, "P S1"),
        ("4,4 P S0", 0, "P P"),
        ("1,4 S1", 1, "P"),
    ],
)
def test_sum_always_runs(x, axis, want):
    assert plan(sum_rule, [x], axes=(axis,), keepdims=True) == want


@pytest.mark.parametrize(
    ("x", "axes", "sum", "count"),
    [
        ("4,4 S0", (0, 1), "P", "P"),
        ("4,4 S1", (0, 1), "P", "P"),
        ("4,4 P", (0, 1), "P", "raises"),
        ("4,4 S0 S1", (0, 1), "P P", "P P"),
        ("2,4,6 S1", (0,), "S0", "S0"),
        ("2,4,6 S1", (0, 2), "S0", "S0"),
        ("2,4,6 S0 S2", (1,), "S0 S1", "S0 S1"),
        ("2,4,6 S2", (), "S2", "S2"),
    ],
)
def test_where_axes_are_removed_the_others_move_to_the_left(x, axes, sum, count):
    assert plan(sum_rule, [x], axes=axes, keepdims=False) == sum
    assert plan(count_rule, [x], axes=axes, keepdims=False) == count
    kept = plan(reduce_rule, ["2,4,6 S2"], axes=(0, 1), keepdims=False)
    assert kept == "S0"


@pytest.mark.parametrize("rule", [reduce_rule, along_axis_rule])
@pytest.mark.parametrize(
    ("x", "axis", "default", "silent"),
    [
        ("4,4 R", 0, "R", "R"),
        ("4,4 S1", 0, "S1", "S1"),
        ("4,4 S0", 1, "S0", "S0"),
        ("4,4 S0", 0, "raises", "R"),
        ("4,4 S1", 1, "raises", "R"),
        ("4,4 P", 0, "raises", "R"),
        ("4,4 S0 S1", 1, "raises", "S0 R"),
        ("2,4,4 S0 S2", 1, "S0 S2", "S0 S2"),
    ],
)
def test_other_reductions_and_scans_need_their_axis_whole(
    rule, x, axis, default, silent
):
    params = {"axis": axis, "axes": (axis,), "keepdims": True}
    assert plan(rule, [x], **params) == default
    assert plan(rule, [x], region="silent", **params) == silent


def test_a_pending_sum_is_scattered_to_another_axis_if_allowed():
    assert plan(along_axis_rule, ["4,4 P"], region="all", axis=1) == "S0"


@pytest.mark.parametrize(
    ("x", "axis", "default", "silent"),
    [
        ("4,4 S0", 1, "S0 | S0", "S0 | S0"),
        ("4,4 S1", 0, "S1 | S1", "S1 | S1"),
        ("4,4 S1", 1, "raises", "R | R"),
        ("4,4 P", 1, "raises", "R | R"),
    ],
)
def test_top_k_has_two_results(x, axis, default, silent):
    assert plan(top_k_rule, [x], axis=axis) == default
    assert plan(top_k_rule, [x], region="silent", axis=axis) == silent


@pytest.mark.parametrize(
    ("operands", "default"),
    [(["4 R"], "R"), (["4 S0"], "raises"), (["4 P"], "raises"), (["4 R", "4 R"], "R")],
)
def test_ops_that_need_everything_whole(operands, default):
    assert plan(all_replicated_rule, operands) == default
    assert plan(all_replicated_rule, operands, region="all") == "R"
