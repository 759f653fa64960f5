"""kron and cross."""

import pytest

from maxlite.sharding.rules import cross_rule, kron_rule
from tests.sharding.planning import plan


@pytest.mark.parametrize(
    ("operands", "want"),
    [
        (["4,2 S0", "3,3 R"], "S0"),
        (["4,2 S1", "3 R"], "S1"),
        (["n,2 S0", "3,3 R"], "S0"),
        (["3 S0", "1 R"], "S0"),
        (["2 S0", "3,3 R"], "S1"),
        (["1,2 R", "3,4 S0"], "S0"),
        (["2 R", "3,4 S0"], "S0"),
        (["4,2 P", "3,3 R"], "P"),
        (["4,2 R", "3,3 P"], "P"),
        (["4 S0 S0", "3 R R"], "S0 S0"),
        # Blocks of one operand that would have to be torn.
        (["3 S0", "3 R"], "raises"),
        (["6 S0 S0", "3 R R"], "raises"),
        (["4,2 R", "4,3 S0"], "raises"),
        (["4 S0", "4 S0"], "raises"),
        (["4 P", "4 P"], "raises"),
    ],
)
def test_kron_keeps_whole_blocks_together(operands, want):
    assert plan(kron_rule, operands) == want


@pytest.mark.parametrize(
    ("operands", "axis", "want"),
    [
        (["4,3 S0", "4,3 S0"], -1, "S0"),
        (["4,3 S0", "3 R"], -1, "S0"),
        (["4,1,3 S0", "2,3 R"], -1, "S0"),
        (["3,4 S1", "3,4 S1"], -2, "S1"),
        (["2,3,4 S0", "3,1 R"], -2, "S0"),
        (["4,3 P", "4,3 R"], -1, "P"),
        (["4,3 R", "4,3 P"], -1, "P"),
        (["4,3 S1", "4,3 S1"], -1, "raises"),
        (["3,4 S0", "3,4 S0"], -2, "raises"),
        (["4,3 S0", "4,3 R"], -1, "raises"),
        (["4,3 P", "4,3 P"], -1, "raises"),
    ],
)
def test_cross_needs_its_vectors_whole(operands, axis, want):
    assert plan(cross_rule, operands, axis=axis) == want
