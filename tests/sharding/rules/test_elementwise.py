"""Elementwise ops: which rows run by themselves, and what a silent region does."""

import pytest

from maxlite.sharding.rules import (
    binary_rule,
    div_rule,
    linear_binary_rule,
    linear_unary_rule,
    mul_rule,
    ternary_rule,
    unary_rule,
)
from maxlite.sharding.rules._elementwise import broadcast_rows
from tests.sharding.planning import plan, short


@pytest.mark.parametrize(
    ("rule", "x", "default", "silent"),
    [
        (unary_rule, "4,4 R", "R", "R"),
        (unary_rule, "4,4 S0", "S0", "S0"),
        (unary_rule, "4,4 S1", "S1", "S1"),
        (unary_rule, "5 S0", "S0", "S0"),
        (unary_rule, "4,4 P", "raises", "R"),
        (unary_rule, "4,4 S0 S1", "S0 S1", "S0 S1"),
        (unary_rule, "4,4 S0 R", "S0 R", "S0 R"),
        (unary_rule, "4,4 S0 P", "raises", "S0 R"),
        (unary_rule, "() R", "R", "R"),
        (linear_unary_rule, "4,4 R", "R", "R"),
        (linear_unary_rule, "4,4 P", "P", "P"),
        (linear_unary_rule, "4,4 S0 P", "S0 P", "S0 P"),
    ],
)
def test_one_operand(rule, x, default, silent):
    assert plan(rule, [x]) == default
    assert plan(rule, [x], region="silent") == silent


@pytest.mark.parametrize(
    ("rule", "x", "default", "silent"),
    [
        (linear_binary_rule, "4,4 S0", "S0", "S0"),
        (linear_binary_rule, "4,4 P", "P", "P"),
        (mul_rule, "4,4 S1", "S1", "S1"),
        (mul_rule, "4,4 P", "P", "P"),
        (div_rule, "4,4 S0 P", "S0 P", "S0 P"),
        (binary_rule, "4,4 S0", "S0", "S0"),
        (binary_rule, "4,4 P", "raises", "R"),
    ],
)
def test_a_tensor_and_a_number(rule, x, default, silent):
    assert plan(rule, [x, "number"]) == default
    assert plan(rule, [x, "number"], region="silent") == silent


@pytest.mark.parametrize(
    ("rule", "x", "default", "silent"),
    [
        (linear_binary_rule, "4,4 P", "P", "P"),
        (mul_rule, "4,4 P", "P", "P"),
        (div_rule, "4,4 S0", "S0", "S0"),
        (div_rule, "4,4 P", "raises", "R"),
    ],
)
def test_a_number_and_a_tensor(rule, x, default, silent):
    assert plan(rule, ["number", x]) == default
    assert plan(rule, ["number", x], region="silent") == silent


@pytest.mark.parametrize(
    ("rule", "lhs", "rhs", "default", "silent"),
    [
        (linear_binary_rule, "4,4 R", "4,4 R", "R", "R"),
        (linear_binary_rule, "5 S0", "5 S0", "S0", "S0"),
        (linear_binary_rule, "5 P", "5 P", "P", "P"),
        (linear_binary_rule, "4,4 S1", "4,4 R", "raises", "S1"),
        (linear_binary_rule, "4,4 P", "4,4 R", "raises", "R"),
        (linear_binary_rule, "4,4 S0 S0", "4,4 S0 S0", "S0 S0", "S0 S0"),
        (mul_rule, "4,4 S0", "4,4 S0", "S0", "S0"),
        (mul_rule, "4,4 R", "4,4 P", "P", "P"),
        (mul_rule, "4,4 P", "4,4 R", "P", "P"),
        (mul_rule, "4,4 P", "4,4 P", "raises", "P"),
        (mul_rule, "4,4 P", "4,4 S1", "raises", "P"),
        (mul_rule, "4,4 S0", "4,4 P", "raises", "P"),
        (div_rule, "4,4 S1", "4,4 S1", "S1", "S1"),
        (div_rule, "4,4 P", "4,4 R", "P", "P"),
        (div_rule, "4,4 P", "4,4 P", "raises", "P"),
        (div_rule, "4,4 P", "4,4 S0", "raises", "P"),
        (div_rule, "4,4 R", "4,4 P", "raises", "R"),
        (binary_rule, "4,4 S0", "4,4 S0", "S0", "S0"),
        (binary_rule, "4,4 S0", "4,4 R", "raises", "S0"),
        (binary_rule, "4,4 P", "4,4 R", "raises", "R"),
        (binary_rule, "4,4 P", "4,4 P", "raises", "R"),
    ],
)
def test_two_operands_of_one_shape(rule, lhs, rhs, default, silent):
    assert plan(rule, [lhs, rhs]) == default
    assert plan(rule, [lhs, rhs], region="silent") == silent


@pytest.mark.parametrize(
    ("rule", "lhs", "rhs", "default", "silent"),
    [
        # A vector aligns from the right.
        (linear_binary_rule, "4,4 S1", "4 S0", "S1", "S1"),
        (linear_binary_rule, "4,4 S0", "4 R", "S0", "S0"),
        (linear_binary_rule, "4,4 S0", "4 S0", "raises", "S0"),
        (linear_binary_rule, "4,4 R", "4 S0", "raises", "S1"),
        (linear_binary_rule, "4,4 P", "4 P", "P", "P"),
        (linear_binary_rule, "4,4 R", "4 P", "raises", "R"),
        (linear_binary_rule, "4 R", "2,4,4 S0", "S0", "S0"),
        (mul_rule, "4,4 P", "4 R", "P", "P"),
        (mul_rule, "4,4 P", "4 S0", "raises", "P"),
        # Size 1 is broadcast, so it must be whole.
        (linear_binary_rule, "4,4 S0", "1,4 R", "S0", "S0"),
        (linear_binary_rule, "4,4 R", "1,4 S1", "raises", "S1"),
        (linear_binary_rule, "4,4 S0", "1,4 S0", "raises", "S0"),
        (mul_rule, "4,4 S1", "4,1 R", "S1", "S1"),
        (mul_rule, "4,4 S1", "4,1 S0", "raises", "S1"),
        (linear_binary_rule, "4,1 S0", "1,4 R", "S0", "S0"),
        (linear_binary_rule, "4,1 S0", "1,4 S1", "raises", "S0"),
        (linear_binary_rule, "4,1 P", "1,4 P", "P", "P"),
        # Size 1 in the result: one device has all of it.
        (linear_binary_rule, "1,4 S0", "1,4 S0", "S0", "S0"),
        (linear_binary_rule, "1,4 S0", "1,4 R", "S0", "S0"),
        (linear_binary_rule, "1,4 R", "1,4 S0", "S0", "S0"),
        # Scalars.
        (linear_binary_rule, "4,4 S1", "() R", "S1", "S1"),
        (linear_binary_rule, "4,4 P", "() R", "raises", "R"),
        (linear_binary_rule, "4,4 R", "() P", "raises", "R"),
        (linear_binary_rule, "4,4 S0", "() P", "raises", "S0"),
        (mul_rule, "4,4 S0", "() R", "S0", "S0"),
        (mul_rule, "4,4 R", "() P", "P", "P"),
        (mul_rule, "4,4 P", "() R", "P", "P"),
        # Names.
        (linear_binary_rule, "n,4 S0", "1,4 R", "S0", "S0"),
        (linear_binary_rule, "n,m S0 S1", "m R S0", "S0 S1", "S0 S1"),
    ],
)
def test_two_operands_that_broadcast(rule, lhs, rhs, default, silent):
    assert plan(rule, [lhs, rhs]) == default
    assert plan(rule, [lhs, rhs], region="silent") == silent


def test_no_row_cuts_an_axis_into_more_pieces_than_it_has():
    assert plan(linear_binary_rule, ["8,2 R", "2 S0"], mesh=(4,)) == "raises"


@pytest.mark.parametrize(
    ("operands", "default", "silent"),
    [
        (["4,4 S0", "4,4 S0", "4,4 S0"], "S0", "S0"),
        (["4,4 R", "4,4 S0", "4,4 S0"], "raises", "S0"),
        (["4,4 P", "4,4 R", "4,4 R"], "raises", "R"),
        (["4,4 R", "4,4 P", "4,4 P"], "raises", "R"),
        (["4,4 S0", "4,4 S0", "number"], "S0", "S0"),
        (["4,4 S0", "number", "number"], "S0", "S0"),
        (["4 S0", "4,4 S1", "4,1 R"], "S1", "S1"),
        (["4 R", "4,4 S1", "4,1 R"], "raises", "S1"),
    ],
)
def test_three_operands(operands, default, silent):
    assert plan(ternary_rule, operands) == default
    assert plan(ternary_rule, operands, region="silent") == silent


def test_rows_of_a_broadcast_in_order():
    rows = broadcast_rows([(4, 1), (1, 4), (4,)])
    assert [[*map(short, row.needed_inputs)] for row in rows] == [
        ["S0", "R", "R"],
        ["R", "S1", "S0"],
    ]
