"""Ops on bits, against numpy, as functions and as operators."""

import operator

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.dtype import DType
from maxlite.tensor import Tensor
from tests.functional._cross import INTEGERS, check, check_eager, check_sharded

COMBINE = {
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}
SHIFT = {"left_shift": operator.lshift, "right_shift": operator.rshift}
PAIRS = COMBINE | SHIFT

LHS = np.array([[0, 1, 5], [12, 100, 127]])
RHS = np.array([3, 1, 2])


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("name", PAIRS)
def test_each_integer_dtype_gives_what_numpy_gives(name, dtype):
    x, y = LHS.astype(dtype), RHS.astype(dtype)
    if dtype.kind == "i":
        x = -x
    want = getattr(np, name)(x, y)
    for fn in (getattr(F, name), PAIRS[name]):
        check_eager(fn, x, y, want=want)


@pytest.mark.parametrize("name", PAIRS)
def test_it_means_the_same_in_every_way_of_running(name):
    x, y = LHS.astype(np.int32), RHS.astype(np.int32)
    check(getattr(F, name), x, y, want=getattr(np, name)(x, y))


@pytest.mark.parametrize("dtype", [*INTEGERS, np.dtype(bool)], ids=str)
def test_inverting_gives_what_numpy_gives(dtype):
    x = LHS.astype(dtype)
    check_eager(operator.invert, x, want=~x)


@pytest.mark.parametrize("name", COMBINE)
def test_truth_values_have_one_bit(name):
    x, y = np.array([[False], [True]]), np.array([False, True])
    check(COMBINE[name], x, y, want=COMBINE[name](x, y))
    logical = getattr(F, name.replace("bitwise", "logical"))
    check(logical, x, y, want=COMBINE[name](x, y))


@pytest.mark.parametrize("name", PAIRS)
def test_a_number_may_stand_on_either_side(name):
    fn, x = PAIRS[name], np.array([0, 3, 6], np.int32)
    check(lambda x: fn(x, 2), x, want=fn(x, np.int32(2)))
    check(lambda x: fn(2, x), x, want=fn(np.int32(2), x))


def test_integers_and_truth_values_promote():
    x, flags = Tensor(np.array([6, 7], np.int32)), Tensor(np.array([True, False]))
    assert (x & flags).to_numpy().tolist() == [0, 0]
    assert (flags | x).dtype is DType.int32
    assert (x & Tensor(np.array([5], np.uint8))).dtype is DType.int32


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_shifting_by_more_than_there_are_bits_shifts_everything_out(dtype):
    bits = np.dtype(dtype).itemsize * 8
    x = np.array([100] * 3, dtype)
    by = np.array([bits - 1, bits, bits + 1], dtype)
    for name in SHIFT:
        check_eager(getattr(F, name), x, by, want=getattr(np, name)(x, by))


def test_shifting_by_less_than_nothing_shifts_everything_out():
    x = np.array([100, -100], np.int32)
    check(lambda x: x << -1, x, want=np.array([0, 0], np.int32))
    check(lambda x: x >> -1, x, want=np.array([0, -1], np.int32))


def test_an_assignment_with_an_operator_makes_a_new_tensor():
    x = y = Tensor(np.array([6], np.int32))
    x &= 3
    x <<= 4
    assert (x.item(), y.item()) == (32, 6)


@pytest.mark.parametrize("name", COMBINE)
def test_floats_have_no_bits_for_combining(name):
    x = Tensor([1.0])
    for fn in (getattr(F, name), COMBINE[name]):
        with pytest.raises(ValueError, match=f"{name}: operands must be of integer or"):
            fn(x, x)
    with pytest.raises(ValueError, match="bitwise_not: x must be of integer or bool"):
        operator.invert(x)


@pytest.mark.parametrize("name", SHIFT)
def test_only_integers_are_shifted(name):
    for x in (Tensor([1.0]), Tensor(np.array([True]))):
        with pytest.raises(TypeError, match=f"{name}: operands must be of integer"):
            SHIFT[name](x, 1)


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logic_stays_for_truth_values(name):
    x = Tensor(np.array([1, 2]))
    with pytest.raises(ValueError, match=f"{name}: lhs must be of bool dtype"):
        getattr(F, name)(x, x)


def test_a_cut_goes_through():
    x = np.arange(8, dtype=np.int32).reshape(2, 4)
    check_sharded(operator.and_, (x, "S0 S1"), (x, "S0 S1"), lands="S0 S1")
    check_sharded(operator.invert, (x, "S1"), lands="S1")
