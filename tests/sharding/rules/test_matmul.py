"""Products: every combination of placements on one mesh axis, and some on two."""

import pytest

from maxlite.sharding.rules import matmul_rule, outer_rule
from tests.sharding.planning import plan

MATRICES = {  # lhs, rhs: by itself, silently
    ("R", "R"): ("R", "R"),
    ("R", "S0"): ("raises", "P"),
    ("R", "S1"): ("S1", "S1"),
    ("R", "P"): ("P", "P"),
    ("S0", "R"): ("S0", "S0"),
    ("S0", "S0"): ("raises", "S0"),
    ("S0", "S1"): ("raises", "S0"),
    ("S0", "P"): ("raises", "P"),
    ("S1", "R"): ("raises", "P"),
    ("S1", "S0"): ("P", "P"),
    ("S1", "S1"): ("raises", "S1"),
    ("S1", "P"): ("raises", "P"),
    ("P", "R"): ("P", "P"),
    ("P", "S0"): ("raises", "P"),
    ("P", "S1"): ("raises", "P"),
    ("P", "P"): ("raises", "P"),
}


@pytest.mark.parametrize(("lhs", "rhs"), MATRICES)
def test_matrices(lhs, rhs):
    default, silent = MATRICES[lhs, rhs]
    operands = [f"4,4 {lhs}", f"4,4 {rhs}"]
    assert plan(matmul_rule, operands) == default
    assert plan(matmul_rule, operands, region="silent") == silent


@pytest.mark.parametrize(
    ("lhs", "rhs", "default", "silent"),
    [
        # A batch on both sides.
        ("2,4,4 S0", "2,4,4 S0", "S0", "S0"),
        ("2,4,4 S0", "2,4,4 R", "raises", "S0"),
        ("2,4,4 S1", "2,4,4 R", "S1", "S1"),
        ("2,4,4 R", "2,4,4 S2", "S2", "S2"),
        ("2,4,4 S2", "2,4,4 S1", "P", "P"),
        ("2,4,4 S1", "2,4,4 S0", "raises", "S0"),
        ("2,4,4 P", "2,4,4 R", "P", "P"),
        ("2,2,4,4 S1", "2,2,4,4 S1", "S1", "S1"),
        # A batch on one side.
        ("2,4,4 S0", "4,4 R", "S0", "S0"),
        ("2,4,4 S1", "4,4 R", "S1", "S1"),
        ("2,4,4 R", "4,4 S1", "S2", "S2"),
        ("2,4,4 S2", "4,4 S0", "P", "P"),
        ("2,4,4 S0", "4,4 S0", "raises", "S0"),
        ("2,4,4 S0", "4,4 P", "raises", "S0"),
        ("4,4 R", "2,4,4 S0", "S0", "S0"),
        ("4,4 S0", "2,4,4 R", "S1", "S1"),
        ("4,4 S1", "2,4,4 S1", "P", "P"),
        # Batches that broadcast.
        ("1,4,4 R", "2,4,4 S0", "S0", "S0"),
        ("2,1,4,4 S0", "2,4,4 R", "S0", "S0"),
        ("2,1,4,4 R", "2,4,4 S0", "S1", "S1"),
        ("3,2,4,4 S1", "2,4,4 S0", "S1", "S1"),
        # Vectors.
        ("4 S0", "4 S0", "P", "P"),
        ("4 S0", "4 R", "raises", "P"),
        ("4,4 S0", "4 R", "S0", "S0"),
        ("4,4 S1", "4 S0", "P", "P"),
        ("4,4 S0", "4 S0", "raises", "S0"),
        ("4 R", "4,4 S1", "S0", "S0"),
        ("4 S0", "4,4 S0", "P", "P"),
        ("2,4,4 S0", "4 R", "S0", "S0"),
        ("2,4,4 S1", "4 R", "S1", "S1"),
        ("4 R", "2,4,4 S0", "S0", "S0"),
        ("4 R", "2,4,4 S2", "S1", "S1"),
        ("4 S0", "2,4,4 S1", "P", "P"),
        # Other sizes.
        ("5,3 S0", "3,4 R", "S0", "S0"),
        ("n,k S0", "k,m R", "S0", "S0"),
        ("n,k S1", "k,m S0", "P", "P"),
    ],
)
def test_batches_and_vectors(lhs, rhs, default, silent):
    assert plan(matmul_rule, [lhs, rhs]) == default
    assert plan(matmul_rule, [lhs, rhs], region="silent") == silent


def test_the_smaller_operand_is_moved():
    assert plan(matmul_rule, ["8,4 S0", "4,8 S1"], region="silent", mesh=(4,)) == "S0"
    assert plan(matmul_rule, ["2,8 S0", "8,16 S1"], region="silent") == "S1"


@pytest.mark.parametrize(
    ("lhs", "rhs", "default"),
    [
        ("4,4 S0 R", "4,4 R S1", "S0 S1"),
        ("4,4 S0 S1", "4,4 S0 S1", "raises"),
        ("4,4 S0 S1", "4,4 R S0", "S0 P"),
        ("4,4 P P", "4,4 R R", "P P"),
        ("4,4 P R", "4,4 R P", "P P"),
    ],
)
def test_two_mesh_axes(lhs, rhs, default):
    assert plan(matmul_rule, [lhs, rhs]) == default


@pytest.mark.parametrize(
    ("lhs", "rhs", "default", "silent"),
    [
        ("4 R", "4 R", "R", "R"),
        ("4 S0", "4 R", "S0", "S0"),
        ("4 R", "4 S0", "S1", "S1"),
        ("4 P", "4 R", "P", "P"),
        ("4 R", "4 P", "P", "P"),
        ("4 S0", "4 S0", "raises", "S0"),
        ("4 P", "4 P", "raises", "P"),
        ("4 S0 R", "4 R S0", "S0 S1", "S0 S1"),
    ],
)
def test_the_outer_product(lhs, rhs, default, silent):
    assert plan(outer_rule, [lhs, rhs]) == default
    assert plan(outer_rule, [lhs, rhs], region="silent") == silent
