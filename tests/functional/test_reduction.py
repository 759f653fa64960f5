"""Sums, means, products and extrema along axes, against numpy."""

import operator
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import ShardingError, TensorLayout, auto_reshard
from maxlite.tensor import Tensor
from tests.functional._cross import (
    INTEGERS,
    NUMBERS,
    check,
    check_eager,
    check_sharded,
    place,
)

NAMES = ("sum", "mean", "prod", "max", "min", "argmax", "argmin")
EXTREMA = ("max", "min", "argmax", "argmin")
NAN, INF = float("nan"), float("inf")


def reducer(name: str, axis: int | None = -1):
    return lambda x: getattr(F, name)(x, axis=axis)


def answer(name: str, x: np.ndarray, axis: int = -1) -> np.ndarray:
    """What numpy says, in the dtype that maxlite keeps."""
    if name.startswith("arg"):
        return np.expand_dims(getattr(np, name)(x, axis), axis)
    if name in ("max", "min"):
        return getattr(np, name)(x, axis, keepdims=True)
    if x.dtype in INTEGERS:
        if name == "mean":
            return np.trunc(np.mean(x, axis, keepdims=True)).astype(x.dtype)
        return getattr(np, name)(x, axis, x.dtype, keepdims=True)
    wide = np.float64 if x.dtype == np.float64 else np.float32
    return getattr(np, name)(x.astype(wide), axis, keepdims=True).astype(x.dtype)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_each_dtype_gives_what_numpy_gives(name, dtype, rng):
    low = -4 if dtype.kind != "u" else 0
    x = rng.integers(low, 5, (3, 5)).astype(dtype)
    check_eager(reducer(name), x, want=answer(name, x))


@pytest.mark.parametrize("axis", [0, 1, 2, -3])
@pytest.mark.parametrize("name", NAMES)
def test_each_axis_stays_with_size_1(name, axis, rng):
    x = rng.standard_normal((2, 3, 4)).astype(np.float32)
    check(reducer(name, axis), x, want=answer(name, x, axis))


@pytest.mark.parametrize("shape", [(2, 3), (4,), (1, 1), ()])
@pytest.mark.parametrize("name", NAMES)
def test_without_an_axis_everything_becomes_one_element(name, shape, rng):
    x = rng.standard_normal(shape).astype(np.float32)
    check(reducer(name, None), x, want=answer(name, x.reshape(-1)))


@pytest.mark.parametrize("name", NAMES)
def test_an_axis_of_size_1_is_left_as_it_is(name):
    x = np.array([[3.0], [-2.0]], np.float32)
    want = np.zeros((2, 1), np.int64) if name.startswith("arg") else x
    check(reducer(name), x, want=want)


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_truth_values_have_a_largest_and_a_smallest(name):
    x = np.array([[False, True, True], [True, True, False]])
    check(reducer(name), x, want=answer(name, x))


@pytest.mark.parametrize(
    ("name", "dtype", "start"),
    [
        ("sum", np.float32, 0),
        ("prod", np.float32, 1),
        ("mean", np.float32, NAN),
        ("sum", np.int32, 0),
        ("prod", np.uint8, 1),
        ("mean", np.int32, 0),
    ],
)
def test_no_elements_give_the_value_to_start_from(name, dtype, start):
    x = np.zeros((2, 0), dtype)
    check(reducer(name), x, want=np.full((2, 1), start, dtype))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_to_reduce_gives_nothing(name):
    x = np.zeros((0, 2), np.float32)
    want = np.zeros((0, 1), np.int64 if name.startswith("arg") else np.float32)
    check(reducer(name), x, want=want)


@pytest.mark.parametrize("name", EXTREMA)
def test_nothing_is_the_largest_of_no_elements(name):
    message = rf"{name}: the reduced axis must not be empty, got .* axis 1 of shape"
    with pytest.raises(ValueError, match=message):
        reducer(name)(Tensor(np.zeros((2, 0), np.float32)))


@pytest.mark.parametrize("name", EXTREMA)
def test_a_named_axis_may_turn_out_to_be_empty(name):
    compiled = compile(reducer(name))(TensorLayout(DType.float32, ["n"], CPU()))
    assert compiled(Tensor([2.0])).shape == [1]
    with pytest.raises(ValueError, match=f"{name}: the reduced axis must not be empty"):
        compiled(Tensor(np.zeros(0, np.float32)))


# Several axes, and none that stays ----------------------------------------------------


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min"])
@pytest.mark.parametrize("keepdims", [True, False])
def test_several_axes_are_reduced_at_once(name, keepdims, rng):
    x = rng.uniform(0.5, 1.5, (2, 3, 4)).astype(np.float32)
    fn = getattr(F, name)
    for axis in ((0, -1), [1, 0]):
        want = getattr(np, name)(x, tuple(axis), keepdims=keepdims)
        check(
            partial(fn, axis=axis, keepdims=keepdims),
            x,
            want=want,
            named=isinstance(axis, tuple),
        )


@pytest.mark.parametrize("name", NAMES)
def test_an_axis_may_be_removed(name, rng):
    x = rng.standard_normal((3, 4)).astype(np.float32)
    fn = getattr(F, name)
    check(lambda x: fn(x, axis=0, keepdims=False), x, want=getattr(np, name)(x, 0))
    everything = np.asarray(getattr(np, name)(x))
    check(lambda x: fn(x, axis=None, keepdims=False), x, want=everything)


def test_a_scalar_reduces_to_itself():
    x = np.array(3.0, np.float32)
    check(partial(F.sum, axis=None, keepdims=False), x, want=x)
    check(partial(F.max, axis=(), keepdims=False), x, want=x)


def test_no_axis_at_all_leaves_the_tensor_as_it_is():
    x = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    for name in ("sum", "mean", "prod", "max"):
        check(partial(getattr(F, name), axis=()), x, want=x, named=False)


def test_the_mean_of_integers_along_several_axes_is_truncated():
    x = np.array([[-1, 2], [-3, -3]], np.int8)
    check(partial(F.mean, axis=(0, 1)), x, want=np.array([[-1]], np.int8))


@pytest.mark.parametrize("axis", [(0, 0), (1, -1)])
def test_an_axis_is_named_once(axis):
    with pytest.raises(ValueError, match="sum: the axes must be different ones, got"):
        F.sum(Tensor([[1.0]]), axis)


@pytest.mark.parametrize("axis", [(0, 2), (-3,)])
def test_each_of_several_axes_must_exist(axis):
    with pytest.raises(ValueError, match=r"max: axis must be from -2 to 1, got"):
        F.max(Tensor([[1.0]]), axis=axis)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_are_counted_along_one_axis(name):
    with pytest.raises(TypeError, match=f"{name}: axis must be an int, got tuple"):
        getattr(F, name)(Tensor([[1.0]]), (0, 1))


def test_nothing_is_the_largest_where_one_of_several_axes_is_empty():
    with pytest.raises(ValueError, match="max: the reduced axis must not be empty"):
        F.max(Tensor(np.zeros((2, 0), np.float32)), axis=(0, 1))


# Values that need care ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min"])
def test_nan_comes_through(name):
    x = np.array([[1.0, NAN, 3.0], [NAN, INF, -INF]], np.float32)
    check(reducer(name), x, want=np.full((2, 1), NAN, np.float32))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_first_nan_is_the_one_found(name):
    x = np.array([[1.0, NAN, 3.0, NAN], [-NAN, INF, -INF, 0.0]], np.float32)
    check(reducer(name), x, want=np.array([[1], [0]]))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_of_equal_elements_the_first_is_found(name):
    check(reducer(name), np.full((2, 3), 7, np.int32), want=np.zeros((2, 1), np.int64))


def test_infinities_add_up_as_usual():
    x = np.array([[INF, 1.0], [-INF, 1.0], [INF, -INF]], np.float32)
    check(F.sum, x, want=np.array([[INF], [-INF], [NAN]], np.float32))


@pytest.mark.parametrize("name", ["sum", "prod"])
def test_small_integers_wrap_around(name):
    x = np.array([200, 100], np.uint8)
    check(reducer(name), x, want=np.array([{"sum": 44, "prod": 32}[name]], np.uint8))


@pytest.mark.parametrize(
    ("values", "dtype", "want"),
    [
        ([3, 6], np.int32, 4),
        ([-3, -4], np.int32, -3),
        ([-4, 3], np.int64, 0),
        ([-1, 1, 1], np.int8, 0),
        ([200, 100], np.uint8, 150),
        ([127] * 300, np.int8, 127),
        ([2**31 - 1] * 2, np.int32, 2**31 - 1),
        ([2**63 - 1, 2**63 - 2], np.int64, 2**63 - 2),
        ([-(2**63), -(2**63) + 1], np.int64, -(2**63) + 1),
        ([2**64 - 1, 2**64 - 3], np.uint64, 2**64 - 2),
    ],
)
def test_the_mean_of_integers_is_exact_and_truncated(values, dtype, want):
    check(F.mean, np.array(values, dtype), want=np.array([want], dtype))


@pytest.mark.parametrize("dtype", [np.float16, jnp.bfloat16], ids=str)
def test_halves_are_accumulated_in_float32(dtype):
    """In bfloat16 alone, adding ones stays at 256."""
    ones = np.ones(4096, dtype)
    check(F.sum, ones, want=np.array([4096], dtype))
    check(F.mean, np.full(4096, 100, dtype), want=np.array([100], dtype))


def test_int64_is_exact():
    x = np.array([2**40 + 5, 2**40 - 3])
    check(F.sum, x, want=np.array([2**41 + 2]))
    check(F.max, x, want=np.array([2**40 + 5]))


# max and min of two operands ----------------------------------------------------------


@pytest.mark.parametrize(("name", "numpy"), [("max", np.maximum), ("min", np.minimum)])
def test_with_two_operands_it_works_element_by_element(name, numpy):
    x = np.array([[1.0, 5.0], [NAN, 2.0]], np.float32)
    y = np.array([3.0, NAN], np.float32)
    fn = getattr(F, name)
    check(fn, x, y, want=numpy(x, y))
    check(lambda x: fn(x, 2.0), x, want=numpy(x, np.float32(2.0)))
    check(lambda x: fn(2.0, x, axis=7), x, want=numpy(x, np.float32(2.0)))


def test_no_second_operand_means_a_reduction():
    assert F.max(Tensor([1.0, 2.0]), None).item() == 2.0
    with pytest.raises(TypeError, match="positional-only"):
        F.max(Tensor([1.0]), y=Tensor([2.0]))  # pyright: ignore[reportCallIssue]


# Errors -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [2, -3])
def test_the_axis_must_exist(name, axis):
    with pytest.raises(ValueError, match=rf"{name}: axis must be .*, got {axis} for"):
        reducer(name, axis)(Tensor([[1.0, 2.0]]))


@pytest.mark.parametrize("name", NAMES)
def test_a_scalar_has_no_last_axis(name):
    with pytest.raises(ValueError, match=f"{name}: axis must .* a tensor of rank 0"):
        reducer(name)(Tensor(1.0))


@pytest.mark.parametrize("axis", [0.0, "x", True, (0.0,), {0: 0}])
def test_the_axis_must_be_an_int(axis):
    with pytest.raises(TypeError, match="sum: axis must be an int, got"):
        F.sum(Tensor([1.0]), axis)


@pytest.mark.parametrize("name", NAMES)
def test_the_operand_must_be_a_tensor(name):
    with pytest.raises(TypeError, match=f"{name}: x must be a Tensor, got float"):
        reducer(name)(1.0)


@pytest.mark.parametrize("name", ["sum", "mean", "prod"])
def test_truth_values_are_not_counted(name):
    with pytest.raises(TypeError, match=f"{name}: .* dtype, got bool. Cast it first"):
        reducer(name)(Tensor([True], dtype=DType.bool))


# On a mesh ----------------------------------------------------------------------------

GRID = np.arange(16, dtype=np.float32).reshape(4, 4)[:, ::-1] % 7


@pytest.mark.parametrize(
    ("axis", "given", "lands"),
    [
        (0, "R", "R"),
        (0, "S0", "P"),
        (0, "S1", "S1"),
        (0, "P", "P"),
        (1, "S0", "S0"),
        (1, "S1", "P"),
        (1, "P", "P"),
        (None, "R", "R"),
        (None, "S0", "P"),
        (None, "P", "P"),
        (0, "S0 S1", "P S1"),
        (0, "S1 S0", "S1 P"),
        (0, "S0 S0", "P P"),
        (0, "P S0", "P P"),
        (1, "P P", "P P"),
        (None, "S0 P", "P P"),
        (0, "R S0", "R P"),
    ],
)
def test_a_sum_over_a_sharded_axis_is_left_pending(axis, given, lands):
    check_sharded(reducer("sum", axis), (GRID, given), lands=lands)


@pytest.mark.parametrize(
    ("axis", "given", "lands"),
    [
        ((0, 1), "S0", "P"),
        ((0, 1), "S0 S1", "P P"),
        ((0, 1), "P S1", "P P"),
        (0, "S1", "S0"),
        (None, "S1", "P"),
        (None, "S0 S1", "P P"),
    ],
)
def test_a_sum_over_several_axes_is_left_pending(axis, given, lands):
    fn = partial(F.sum, axis=axis, keepdims=False)
    check_sharded(fn, (GRID, given), lands=lands)


def test_an_axis_that_is_removed_takes_cuts_along():
    for name in NAMES[1:]:
        fn = partial(getattr(F, name), axis=0, keepdims=False)
        check_sharded(fn, (GRID, "S1"), lands="S0")


def test_pending_sums_of_integers_wrap_around_too():
    x = np.array([200, 100, 30, 40], np.uint8)
    check_sharded(F.sum, (x, "S0"), lands="P")


@pytest.mark.parametrize(
    ("axis", "given", "lands"),
    [
        (0, "R", "R"),
        (0, "S1", "S1"),
        (1, "S0", "S0"),
        (None, "R", "R"),
        (1, "S0 S0", "S0 S0"),
        (0, "R S1", "R S1"),
    ],
)
@pytest.mark.parametrize("name", ["mean", "prod", "min", "argmax"])
def test_other_reductions_need_their_axis_whole(name, axis, given, lands):
    check_sharded(reducer(name, axis), (GRID, given), lands=lands)


@pytest.mark.parametrize(
    ("axis", "given"), [(0, "S0"), (0, "P"), (None, "S0"), (1, "S0 S1")]
)
@pytest.mark.parametrize("name", NAMES[1:])
def test_they_refuse_to_move_it_unless_told_so(name, axis, given):
    with pytest.raises(ShardingError, match=rf"{name}[\s\S]*auto_reshard"):
        reducer(name, axis)(place(GRID, given))


@pytest.mark.parametrize(
    ("given", "lands"), [("S0", "R"), ("P", "R"), ("S0 S1", "R S1"), ("P S1", "R S1")]
)
@pytest.mark.parametrize("name", ["mean", "max", "argmin"])
def test_told_so_they_move_it(name, given, lands):
    with auto_reshard(mode="silent"):
        check_sharded(reducer(name, 0), (GRID, given), lands=lands)


@pytest.mark.parametrize("method", NAMES[:-1])
def test_each_is_a_method_of_tensor(method):
    x = Tensor([[1.0, 5.0], [7.0, 3.0]])
    for keepdims in (True, False):
        found = operator.methodcaller(method, axis=0, keepdims=keepdims)(x)
        want = getattr(F, method)(x, axis=0, keepdims=keepdims)
        np.testing.assert_array_equal(found.to_numpy(), want.to_numpy(), strict=True)
