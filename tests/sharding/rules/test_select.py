"""Picking along an axis, searching, and numbers of classes."""

import pytest

from maxlite.sharding.rules import (
    one_hot_rule,
    searchsorted_rule,
    take_along_axis_rule,
)
from tests.sharding.planning import plan


@pytest.mark.parametrize(
    ("operands", "axis", "default", "silent"),
    [
        (["4,4 S0", "4,2 S0"], 1, "S0", "S0"),
        (["4,4 R", "4,2 S1"], 1, "S1", "S1"),
        (["1,4 R", "4,2 S0"], 1, "S0", "S0"),
        (["4,4 S0", "1,2 R"], 1, "S0", "S0"),
        (["4,4 P", "4,2 R"], 1, "P", "P"),
        (["n,4 S0", "n,2 S0"], 1, "S0", "S0"),
        (["4,4 S0 R", "4,2 S0 S1"], 1, "S0 S1", "S0 S1"),
        (["4,4 S1", "4,2 R"], 1, "raises", "R"),
        (["4,4 S0", "4,2 R"], 1, "raises", "S0"),
        (["4,4 P", "4,2 S0"], 1, "raises", "P"),
    ],
)
def test_the_axis_that_is_picked_from_is_whole(operands, axis, default, silent):
    assert plan(take_along_axis_rule, operands, axis=axis) == default
    moved = plan(take_along_axis_rule, operands, region="silent", axis=axis)
    assert moved == silent


@pytest.mark.parametrize(
    ("operands", "want"),
    [
        (["6 R", "4,4 S1"], "S1"),
        (["6 R R", "4,4 S0 S1"], "S0 S1"),
        (["6 R", "() R"], "R"),
        (["6 S0", "4 R"], "raises"),
        (["6 R", "4 P"], "raises"),
    ],
)
def test_values_are_searched_where_they_lie(operands, want):
    assert plan(searchsorted_rule, operands) == want


@pytest.mark.parametrize(
    ("axis", "x", "want"),
    [
        (2, "4,4 S1", "S1"),
        (1, "4,4 S1", "S2"),
        (0, "4,4 S0 S1", "S1 S2"),
        (0, "() R", "R"),
        (0, "4 P", "raises"),
    ],
)
def test_a_class_of_its_own_moves_a_cut_aside(axis, x, want):
    assert plan(one_hot_rule, [x], axis=axis) == want
