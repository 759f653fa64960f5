"""Diagonals and traces."""

import pytest

from maxlite.sharding.rules import diagonal_rule
from tests.sharding.planning import plan


@pytest.mark.parametrize(
    ("axes", "x", "default", "silent"),
    [
        ((0, 1), "4,4,2 S2", "S0", "S0"),
        ((0, 2), "4,2,4 S1 P", "S0 P", "S0 P"),
        ((2, 1), "2,4,4 S0", "S0", "S0"),
        ((1, 3), "2,4,2,4 S0 S2", "S0 S1", "S0 S1"),
        ((0, 1), "n,n,2 S2", "S0", "S0"),
        ((0, 1), "4,4 P", "P", "P"),
        ((0, 1), "4,4 S0", "raises", "R"),
        ((0, 1), "4,4,2 S1 S2", "raises", "R S0"),
    ],
)
def test_the_axes_of_the_matrices_are_whole(axes, x, default, silent):
    axis1, axis2 = axes
    assert plan(diagonal_rule, [x], axis1=axis1, axis2=axis2) == default
    moved = plan(diagonal_rule, [x], region="silent", axis1=axis1, axis2=axis2)
    assert moved == silent
