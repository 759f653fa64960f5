"""Flips and rolls."""

import pytest

from maxlite.sharding.rules import flip_rule
from tests.sharding.planning import plan


@pytest.mark.parametrize(
    ("axes", "x", "default", "silent"),
    [
        ((1,), "4,4 S0", "S0", "S0"),
        ((1,), "4,4 P S0", "P S0", "P S0"),
        ((1,), "n,4 S0", "S0", "S0"),
        ((1,), "4,4 S1", "raises", "R"),
        ((0, 1), "2,4,4 S2 S1", "raises", "S2 R"),
        ((), "4,4 S0 S1", "S0 S1", "S0 S1"),
        (None, "4,4 P", "P", "P"),
        (None, "4,4 S0", "raises", "R"),
    ],
)
def test_axes_along_which_elements_move_are_whole(axes, x, default, silent):
    assert plan(flip_rule, [x], axes=axes) == default
    assert plan(flip_rule, [x], region="silent", axes=axes) == silent
