"""Comparisons, logic, where and clamp, against numpy."""

import operator

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.dtype import DType
from maxlite.sharding import ShardingError, auto_reshard
from maxlite.tensor import Tensor
from tests.functional._cross import FLOATS, NUMBERS, check, check_sharded, place

COMPARISONS = ("equal", "not_equal", "greater", "greater_equal")
LOGIC = ("logical_and", "logical_or", "logical_xor")
NAN, INF = float("nan"), float("inf")
BOOL = np.dtype(bool)
YES_NO = np.array([True, False])


# Comparisons --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [BOOL, *NUMBERS], ids=str)
@pytest.mark.parametrize("name", COMPARISONS)
def test_each_dtype_is_compared_as_numpy_does(name, dtype):
    x = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    y = np.array([[1], [0]]).astype(dtype)
    check(getattr(F, name), x, y, want=getattr(np, name)(x, y), named=False)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 1, 3)])
@pytest.mark.parametrize("name", COMPARISONS)
def test_shapes_broadcast(name, shape, rng):
    x = rng.integers(0, 3, shape).astype(np.float32)
    y = rng.integers(0, 3, (2, 2, 1)).astype(np.float32)
    check(getattr(F, name), x, y, want=getattr(np, name)(x, y))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", COMPARISONS)
def test_nan_compares_false_and_zeros_are_equal(name, dtype):
    x = np.array([NAN, 1.0, NAN, 0.0, INF, -INF]).astype(dtype)
    y = np.array([NAN, NAN, 1.0, -0.0, INF, INF]).astype(dtype)
    # ml_dtypes warns of NaN where numpy does not.
    want = getattr(np, name)(x.astype(np.float64), y.astype(np.float64))
    check(getattr(F, name), x, y, want=want, named=False)


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_number_may_stand_on_either_side(name):
    fn, numpy = getattr(F, name), getattr(np, name)
    x = np.array([1, 2, 3], np.int32)
    check(lambda x: fn(x, 2), x, want=numpy(x, 2))
    check(lambda x: fn(2, x), x, want=numpy(2, x))


def test_large_integers_are_not_compared_as_floats():
    x = np.array([2**53, 2**53 + 1])
    y = np.array([2**53 + 1, 2**53 + 1])
    check(F.equal, x, y, want=np.array([False, True]))
    check(F.greater, y, x, want=np.array([True, False]))


def test_dtypes_promote_to_one_that_holds_both():
    x = np.array([1, 200], np.uint8)
    check(F.equal, x, np.array([1, -56], np.int16), want=np.array([True, False]))
    check(F.equal, x, np.array([1.0, 200.5], np.float32), want=np.array([True, False]))
    with pytest.raises(ValueError, match=r"equal: .*int32 and DType.float32"):
        F.equal(Tensor(np.array([1], np.int32)), Tensor([1.0]))


@pytest.mark.parametrize(("number", "dtype"), [(1.0, "int32"), (-1, "uint8")])
def test_a_number_must_fit(number, dtype):
    with pytest.raises(ValueError, match="beside a tensor"):
        F.greater(Tensor(np.array([1], dtype)), number)


@pytest.mark.parametrize("name", [*COMPARISONS, *LOGIC])
def test_one_operand_must_be_a_tensor(name):
    with pytest.raises(TypeError, match=f"{name}: one operand must be a Tensor"):
        getattr(F, name)(True, False)


@pytest.mark.parametrize("other", [None, "a"])
def test_what_is_no_number_is_refused(other):
    with pytest.raises(TypeError, match="equal: an operand must be a Tensor, a number"):
        F.equal(Tensor([1.0]), other)


def test_sizes_must_agree():
    with pytest.raises(ValueError, match="greater: sizes must be equal or 1, got 2"):
        F.greater(Tensor([1.0, 2.0]), Tensor([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("symbol", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_each_is_an_operator_of_tensor(symbol):
    compare = getattr(operator, symbol)
    x, y = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0])
    check(compare, x, y, want=compare(x, y))
    check(lambda x: compare(2.0, x), x, want=compare(2.0, x))


# Logic --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOGIC)
def test_truth_tables(name):
    fn, numpy = getattr(F, name), getattr(np, name)
    x, y = YES_NO[:, None], YES_NO
    check(fn, x, y, want=numpy(x, y))
    for number in (True, False, 1, 0):
        check(lambda x, n=number: fn(x, n), y, want=numpy(y, bool(number)), named=False)
        check(lambda x, n=number: fn(n, x), y, want=numpy(y, bool(number)), named=False)


@pytest.mark.parametrize("name", LOGIC)
def test_bits_of_integers_are_not_combined(name):
    ones, yes = Tensor(np.ones(2, np.int32)), Tensor(YES_NO)
    message = f"{name}: {{}} must be of bool dtype, got int32. Cast it first"
    for lhs, rhs, wrong in [
        (ones, True, "lhs"),
        (ones, ones, "lhs"),
        (yes, ones, "rhs"),
    ]:
        with pytest.raises(ValueError, match=message.format(wrong)):
            getattr(F, name)(lhs, rhs)


@pytest.mark.parametrize("number", [2, -1, 1.0])
def test_beside_truth_values_only_zero_and_one_are_truth_values(number):
    with pytest.raises(ValueError, match=r"beside a tensor of DType\.bool"):
        F.logical_and(Tensor(YES_NO), number)


# where --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [BOOL, *NUMBERS], ids=str)
def test_where_takes_either_of_each_dtype(dtype):
    x = np.array([1, 0]).astype(dtype)
    y = np.array([[0], [1]]).astype(dtype)
    check(F.where, YES_NO, x, y, want=np.where(YES_NO, x, y), named=False)


@pytest.mark.parametrize(
    "shapes", [((2, 1), (3,), ()), ((), (2,), (2,)), ((0,), (1,), (2, 1)), ((), (), ())]
)
def test_where_broadcasts_all_three(shapes, rng):
    cond = rng.random(shapes[0]) > 0.5
    x, y = (rng.random(shape).astype(np.float32) for shape in shapes[1:])
    check(
        F.where,
        np.asarray(cond),
        np.asarray(x),
        np.asarray(y),
        want=np.where(cond, x, y),
    )


def test_where_takes_numbers_in_the_dtype_of_the_other():
    x = np.array([5, 6], np.int8)
    check(lambda c, x: F.where(c, x, 0), YES_NO, x, want=np.array([5, 0], np.int8))
    check(lambda c, x: F.where(c, -1, x), YES_NO, x, want=np.array([-1, 6], np.int8))
    check(lambda c: F.where(c, False, True), YES_NO, want=~YES_NO)


def test_where_promotes_what_it_takes_from():
    x, y = np.array([1, 2], np.int32), np.array([2**40, 2**40])
    check(F.where, YES_NO, x, y, want=np.array([1, 2**40]))
    with pytest.raises(ValueError, match=r"where: .*int32 and DType.float32"):
        F.where(Tensor(YES_NO), Tensor(x), Tensor([1.0, 2.0]))


def test_where_leaves_out_nan_that_is_not_taken():
    x = np.array([1.0, NAN], np.float32)
    check(F.where, YES_NO, x, x[::-1].copy(), want=np.ones(2, np.float32))


def test_where_needs_a_bool_condition():
    x = Tensor([1.0, 2.0])
    with pytest.raises(
        ValueError, match="where: cond must be of bool dtype, got float"
    ):
        F.where(x, x, x)
    with pytest.raises(TypeError, match="where: cond must be a Tensor, got bool"):
        F.where(True, x, x)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="where: one of x and y must be a tensor"):
        F.where(Tensor(YES_NO), 1.0, 2.0)


# clamp --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_clamp_bounds_each_dtype(dtype):
    x = np.array([0, 3, 9]).astype(dtype)
    want = np.array([1, 3, 6]).astype(dtype)
    check(lambda x: F.clamp(x, 1, 6), x, want=want, named=False)


@pytest.mark.parametrize("fn", [F.clamp, F.clip])
def test_bounds_may_be_tensors_that_broadcast(fn, rng):
    x = rng.standard_normal((2, 3)).astype(np.float32)
    low = np.array([-0.5, 0.0, 0.5], np.float32)
    high = np.array([[0.7], [0.6]], np.float32)
    check(fn, x, low, high, want=np.clip(x, low, high))


def test_clamp_promotes_all_three():
    x, low = np.array([1, 9], np.int8), np.array([2, 2], np.int16)
    check(F.clamp, x, low, np.array([5], np.int64), want=np.array([2, 5]))
    check(F.clamp, x, np.array([5]), low, want=np.array([5, 5]))


def test_where_bounds_cross_the_lower_wins():
    x = np.array([0.0, 5.0], np.float32)
    check(lambda x: F.clamp(x, 3.0, 1.0), x, want=np.full(2, 3, np.float32))
    assert Tensor(x).clip(min=3.0, max=1.0).to_numpy().tolist() == [3.0, 3.0]


def test_clamp_keeps_nan_and_bounds_infinities():
    x = np.array([NAN, -INF, INF], np.float32)
    want = np.array([NAN, 0.0, 1.0], np.float32)
    check(lambda x: F.clamp(x, 0.0, 1.0), x, want=want)
    everything = np.full(3, NAN, np.float32)
    check(lambda x: F.clamp(x, NAN, 1.0), x, want=everything)
    check(lambda x: F.clamp(x, 0.0, NAN), x, want=everything)


@pytest.mark.parametrize(
    ("bounds", "want"),
    [
        ({}, [-2.0, 0.5, 3.0]),
        ({"min": 0.0}, [0.0, 0.5, 3.0]),
        ({"max": 1.0}, [-2.0, 0.5, 1.0]),
        ({"min": 0.0, "max": 1.0}, [0.0, 0.5, 1.0]),
    ],
)
def test_the_method_may_leave_out_a_bound(bounds, want):
    x = np.array([-2.0, 0.5, 3.0], np.float32)
    check(lambda x: x.clip(**bounds) + 0.0, x, want=np.array(want, np.float32))


def test_clamp_refuses_what_does_not_fit():
    with pytest.raises(TypeError, match="clamp: x must be a Tensor, got float"):
        F.clamp(1.0, Tensor([1.0]), 2.0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="clamp: an operand must be a Tensor, a number"):
        F.clamp(Tensor([1.0]), None, 2.0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"beside a tensor of DType.int32.* got 0.5"):
        F.clamp(Tensor([1], dtype=DType.int32), 0.5, 3)


# On a mesh ----------------------------------------------------------------------------

GRID = np.arange(16, dtype=np.float32).reshape(4, 4)
CHECKS = GRID % 2 == 0


@pytest.mark.parametrize("given", ["R", "S0", "S1", "S0 S1", "S0 S0", "R S1"])
@pytest.mark.parametrize("name", ["equal", "greater"])
def test_operands_that_lie_alike_are_compared_in_place(name, given):
    check_sharded(getattr(F, name), (GRID, given), (GRID.T, given), lands=given)


def test_what_is_broadcast_must_be_whole():
    row = np.array([3.0, 4.0, 5.0, 6.0], np.float32)
    check_sharded(F.greater, (GRID, "S0"), (row, "R"), lands="S0")
    check_sharded(F.greater, (GRID, "S1"), (row, "S0"), lands="S1")
    check_sharded(F.where, (CHECKS, "S1"), (row, "S0"), (GRID, "S1"), lands="S1")


@pytest.mark.parametrize("given", ["R", "S0", "S1", "S0 S1"])
def test_three_operands_that_lie_alike(given):
    check_sharded(F.where, (CHECKS, given), (GRID, given), (-GRID, given), lands=given)
    check_sharded(F.clamp, (GRID, given), (-GRID, given), (GRID.T, given), lands=given)


@pytest.mark.parametrize("given", ["R", "S0", "S1", "S0 S1"])
def test_numbers_fit_every_placement(given):
    check_sharded(lambda x: F.greater(3, x), (GRID, given), lands=given)
    check_sharded(lambda x: F.clamp(x, 2.0, 9.0), (GRID, given), lands=given)
    check_sharded(
        lambda c, x: F.where(c, x, 0.0), (CHECKS, given), (GRID, given), lands=given
    )


@pytest.mark.parametrize("given", ["S0", "P", "S1 P"])
def test_operands_that_lie_differently_are_refused(given):
    x, whole = place(GRID, given), place(GRID, " ".join("R" for _ in given.split()))
    for fn in (F.equal, lambda x, y: F.clamp(x, y, y)):
        with pytest.raises(ShardingError, match="auto_reshard"):
            fn(x, whole)


@pytest.mark.parametrize(
    ("given", "lands"), [("S0 R", "S0"), ("P R", "R"), ("S0 S1", "S0")]
)
def test_told_so_they_are_moved(given, lands):
    first, second = given.split()
    with auto_reshard(mode="silent"):
        check_sharded(F.equal, (GRID, first), (GRID.T, second), lands=lands)
        check_sharded(
            F.where, (CHECKS, "R"), (GRID, first), (-GRID, second), lands=lands
        )


def test_logic_follows_its_operands():
    check_sharded(F.logical_xor, (CHECKS, "S0"), (CHECKS.T, "S0"), lands="S0")
    check_sharded(lambda x: F.logical_or(x, False), (CHECKS, "S1"), lands="S1")
