"""Normalisations over the last axes."""

import pytest

from maxlite.sharding.rules import norm_rule
from tests.sharding.planning import plan


@pytest.mark.parametrize(
    ("operands", "default", "silent"),
    [
        (["4,4 R", "4 R", "4 R"], "R", "R"),
        (["4,4 S0", "4 R"], "S0", "S0"),
        (["2,4,4 S1", "4 R", "4 R"], "S1", "S1"),
        (["2,4,4 S2", "4 R", "4 R"], "raises", "R"),
        (["2,4,4 S1", "4 S0", "4 R"], "raises", "S1"),
        (["4,4 P", "4 R", "4 R"], "raises", "R"),
        (["2,4,4 S1", "4,4 R"], "raises", "R"),
        (["2,4,4 S0", "4,4 R"], "S0", "S0"),
        (["4,4 S0"], "S0", "S0"),
        (["4,4 S1"], "raises", "R"),
        (["4,4 S0 S1", "4 R R"], "raises", "S0 R"),
    ],
)
def test_leading_axes_may_be_cut(operands, default, silent):
    assert plan(norm_rule, operands) == default
    assert plan(norm_rule, operands, region="silent") == silent


def test_a_pending_sum_is_scattered_to_a_leading_axis_if_allowed():
    assert plan(norm_rule, ["4,4 P", "4 R"], region="all") == "S0"
