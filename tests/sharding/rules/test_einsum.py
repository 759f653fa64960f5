"""Equations of labels: what is cut, what is summed over, what waits."""

import pytest

from maxlite.dtype import DType
from maxlite.sharding.rules import einsum_rule
from tests.sharding.planning import operand, plan, short


def rows(equation, *operands, stretched="", dtype=DType.float32):
    """Lists the rows as text, ``"S0 R -> S0"``."""
    operands = [operand(text, dtype=dtype) for text in operands]
    params = {"equation": equation, "stretched": stretched}
    return [
        f"{' '.join(map(short, row.needed_inputs))} -> {short(row.outputs[0])}"
        for row in einsum_rule(operands, params, 2)
    ]


def test_a_matrix_product_has_the_rows_of_matmul():
    assert rows("ij,jk->ik", "4,6", "6,8") == [
        "R R -> R",
        "S0 R -> S0",
        "R S1 -> S1",
        "S1 S0 -> P",
        "P R -> P",
        "R P -> P",
    ]


def test_a_batch_is_cut_in_every_operand_that_has_it():
    assert rows("bij,bjk,j->bik", "2,4,6", "2,6,8", "6") == [
        "R R R -> R",
        "S0 S0 R -> S0",
        "S1 R R -> S1",
        "R S2 R -> S2",
        "S2 S1 S0 -> P",
        "P R R -> P",
        "R P R -> P",
        "R R P -> P",
    ]


def test_a_label_that_stands_twice_is_not_cut():
    assert rows("iij->j", "4,4,2") == ["R -> R", "S2 -> S0", "P -> P"]
    assert rows("ii,ij->j", "4,4", "4,2") == [
        "R R -> R",
        "R S1 -> S0",
        "P R -> P",
        "R P -> P",
    ]


def test_a_label_that_stretches_is_whole_where_it_has_size_1():
    two = rows("ab,cb->ab", "1,4", "2,4", stretched="")
    assert "S0 R -> S0" in two
    stretched = rows("ab,ab->ab", "1,4", "2,4", stretched="a")
    assert stretched[1:3] == ["R S0 -> S0", "S1 S1 -> S1"]
    assert rows("a,a->a", "1", "1", stretched="a")[1] == "S0 S0 -> S0"


def test_bools_leave_no_sum_pending():
    assert rows("ij,jk->ik", "4,6", "6,8", dtype=DType.bool) == [
        "R R -> R",
        "S0 R -> S0",
        "R S1 -> S1",
    ]


@pytest.mark.parametrize(
    ("operands", "default", "silent"),
    [
        (["4,4 S0 S1", "4,4 R S0"], "S0 P", "S0 P"),
        (["4,4 S1 S1", "4,4 S0 S0"], "P P", "P P"),
        (["n,k S1", "k,m S0"], "P", "P"),
        (["4,4 P", "4,4 R"], "P", "P"),
        (["4,4 S1", "4,4 R"], "raises", "P"),
        (["4,4 P", "4,4 P"], "raises", "P"),
    ],
)
def test_several_mesh_axes_are_placed_apart(operands, default, silent):
    params = {"equation": "ij,jk->ik", "stretched": ""}
    assert plan(einsum_rule, operands, **params) == default
    assert plan(einsum_rule, operands, region="silent", **params) == silent
