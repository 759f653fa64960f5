"""Running sums, products and extrema, and softmax, against numpy and scipy."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from maxlite import functional as F
from maxlite._op_table import lookup
from maxlite.dtype import DType
from maxlite.sharding import ShardingError, auto_reshard
from maxlite.tensor import Tensor
from tests.functional._cross import (
    FLOATS,
    NUMBERS,
    check,
    check_eager,
    check_sharded,
    place,
)

NAN, INF = float("nan"), float("inf")
RUNNING = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "cummax": np.maximum.accumulate,
    "cummin": np.minimum.accumulate,
}
NAMES = (*RUNNING, "softmax", "logsoftmax")
SCIPY = {"softmax": scipy.special.softmax, "logsoftmax": scipy.special.log_softmax}


# cumsum -------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, -1, -3])
def test_cumsum_runs_along_each_axis(axis, rng):
    x = rng.integers(-9, 9, (2, 3, 4)).astype(np.float32)
    check(lambda x: F.cumsum(x, axis), x, want=np.cumsum(x, axis))


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ({}, [1.0, 3.0, 7.0]),
        ({"exclusive": True}, [0.0, 1.0, 3.0]),
        ({"reverse": True}, [7.0, 6.0, 4.0]),
        ({"exclusive": True, "reverse": True}, [6.0, 4.0, 0.0]),
    ],
)
def test_cumsum_may_start_at_0_and_from_the_end(options, want):
    x = np.array([1.0, 2.0, 4.0], np.float32)
    check(lambda x: F.cumsum(x, **options), x, want=np.array(want, np.float32))
    column = np.stack([x, x], axis=1)
    check(
        lambda x: F.cumsum(x, 0, **options),
        column,
        want=np.array([want, want], np.float32).T,
    )


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("shape", [(1,), (0,), (2, 0), (0, 2)])
def test_cumsum_of_little(shape, exclusive):
    x = np.ones(shape, np.float32)
    want = x - 1 if exclusive else x
    if shape == (0, 2):
        want = x
    check(lambda x: F.cumsum(x, exclusive=exclusive), x, want=want)


def test_an_exclusive_sum_does_not_see_its_own_infinity():
    x = np.array([1.0, INF, 2.0], np.float32)
    want = np.array([0.0, 1.0, INF], np.float32)
    check(lambda x: F.cumsum(x, exclusive=True), x, want=want)
    check(F.cumsum, np.array([NAN, 1.0]), want=np.array([NAN, NAN]))


def test_cumsum_wraps_small_integers_and_adds_halves_in_float32():
    x = np.array([200, 100, 1], np.uint8)
    check(F.cumsum, x, want=np.array([200, 44, 45], np.uint8))
    ones = np.ones(1024, jnp.bfloat16)
    assert F.cumsum(Tensor(ones)).to_numpy()[-1] == 1024


# Other running ops --------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
@pytest.mark.parametrize("name", RUNNING)
def test_a_running_op_keeps_each_dtype(name, dtype, rng):
    x = rng.integers(0, 4, (2, 5)).astype(dtype)
    want = RUNNING[name](x.astype(np.float32), 1).astype(dtype)
    check_eager(getattr(F, name), x, want=want)


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("name", ["cumprod", "cummax", "cummin"])
def test_a_running_op_runs_along_each_axis_from_either_end(name, axis, rng):
    x = rng.uniform(-2, 2, (2, 3, 4)).astype(np.float32)
    fn = getattr(F, name)
    check(lambda x: fn(x, axis), x, want=RUNNING[name](x, axis))
    backwards = np.flip(RUNNING[name](np.flip(x, axis), axis), axis)
    check(lambda x: fn(x, axis, reverse=True), x, want=backwards, named=False)


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ({"exclusive": True}, [1.0, 2.0, 6.0]),
        ({"exclusive": True, "reverse": True}, [12.0, 4.0, 1.0]),
    ],
)
def test_cumprod_may_start_at_1(options, want):
    x = np.array([2.0, 3.0, 4.0], np.float32)
    check(lambda x: F.cumprod(x, **options), x, want=np.array(want, np.float32))
    assert F.cumprod(Tensor(np.zeros((2, 0), np.float32)), **options).shape == [2, 0]


def test_from_a_nan_on_there_is_no_extreme():
    x = np.array([1.0, NAN, 3.0], np.float32)
    for name in ("cummax", "cummin", "cumprod"):
        check(getattr(F, name), x, want=np.array([1.0, NAN, NAN], np.float32))


def test_cumprod_wraps_small_integers_and_has_slopes_at_0():
    x = np.array([20, 20, 1], np.uint8)
    check(F.cumprod, x, want=np.array([20, 144, 144], np.uint8))
    fn = partial(lookup("cumprod").fn, axis=0, reverse=False, exclusive=False)
    slopes = jax.grad(lambda x: fn(x).sum())(jnp.array([0.0, 2.0, 0.0]))
    np.testing.assert_array_equal(slopes, [3.0, 0.0, 0.0])


# softmax ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", SCIPY)
def test_softmax_keeps_each_dtype(name, dtype, rng):
    x = rng.standard_normal((2, 5)).astype(dtype)
    wide = np.float64 if dtype == np.float64 else np.float32
    want = SCIPY[name](x.astype(wide), axis=-1).astype(dtype)
    check(getattr(F, name), x, want=want)


@pytest.mark.parametrize("axis", [0, 1, -3])
@pytest.mark.parametrize("name", SCIPY)
def test_softmax_runs_along_each_axis(name, axis, rng):
    x = rng.standard_normal((2, 3, 4)).astype(np.float32)
    want = SCIPY[name](x, axis=axis)
    check(lambda x: getattr(F, name)(x, axis), x, want=want)


def test_large_scores_do_not_overflow():
    x = np.array([1000.0, 1001.0], np.float32)
    check(F.softmax, x, want=scipy.special.softmax(x))
    check(F.logsoftmax, x, want=scipy.special.log_softmax(x))
    half = np.array([60000.0, -60000.0], np.float16)
    check(F.softmax, half, want=np.array([1.0, 0.0], np.float16))


@pytest.mark.parametrize(
    ("scores", "shares", "logs"),
    [
        ([-INF, 0.0], [0.0, 1.0], [-INF, 0.0]),
        ([-INF, -INF], [NAN, NAN], [NAN, NAN]),
        ([INF, 0.0], [NAN, NAN], [NAN, NAN]),
        ([NAN, 0.0], [NAN, NAN], [NAN, NAN]),
    ],
)
def test_scores_that_are_no_numbers(scores, shares, logs):
    x = np.array(scores, np.float32)
    check(F.softmax, x, want=np.array(shares, np.float32))
    check(F.logsoftmax, x, want=np.array(logs, np.float32))


@pytest.mark.parametrize("shape", [(2, 0), (0, 2), (2, 1)])
@pytest.mark.parametrize("name", SCIPY)
def test_softmax_of_little(name, shape):
    x = np.full(shape, 7.0, np.float32)
    want = np.full(shape, float(name == "softmax"), np.float32)
    check(getattr(F, name), x, want=want)


# Errors -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [1, -2])
def test_the_axis_must_exist(name, axis):
    with pytest.raises(ValueError, match=f"{name}: axis must be .*, got {axis} for"):
        getattr(F, name)(Tensor([1.0, 2.0]), axis)


@pytest.mark.parametrize("name", NAMES)
def test_there_must_be_one_axis(name):
    with pytest.raises(ValueError, match=f"{name}: axis .* rank 0"):
        getattr(F, name)(Tensor(1.0))
    with pytest.raises(TypeError, match=f"{name}: axis must be an int, got NoneType"):
        getattr(F, name)(Tensor([1.0]), axis=None)


@pytest.mark.parametrize("name", NAMES)
def test_the_operand_must_be_a_tensor_of_numbers(name):
    with pytest.raises(TypeError, match=f"{name}: .* must be a Tensor, got list"):
        getattr(F, name)([1.0])
    with pytest.raises(TypeError, match=f"{name}: .* dtype, got bool. Cast it first"):
        getattr(F, name)(Tensor([True], dtype=DType.bool))


@pytest.mark.parametrize("name", SCIPY)
def test_integers_have_no_softmax(name):
    with pytest.raises(TypeError, match=f"{name}: value must be of floating dtype"):
        getattr(F, name)(Tensor([1], dtype=DType.int32))


# On a mesh ----------------------------------------------------------------------------

GRID = np.arange(16, dtype=np.float32).reshape(4, 4)[:, ::-1] % 7


@pytest.mark.parametrize(
    ("axis", "given"), [(0, "R"), (0, "S1"), (1, "S0"), (1, "S0 S0"), (0, "R S1")]
)
@pytest.mark.parametrize("name", ["cumsum", "softmax"])
def test_other_axes_may_be_sharded(name, axis, given):
    check_sharded(lambda x: getattr(F, name)(x, axis), (GRID, given), lands=given)


@pytest.mark.parametrize(("axis", "given"), [(0, "S0"), (1, "P"), (1, "S0 S1")])
@pytest.mark.parametrize("name", ["cumsum", "softmax"])
def test_their_own_is_not_moved_unless_told_so(name, axis, given):
    with pytest.raises(ShardingError, match=rf"{name}[\s\S]*auto_reshard"):
        getattr(F, name)(place(GRID, given), axis)


@pytest.mark.parametrize(
    ("given", "lands"), [("S0", "R"), ("P", "R"), ("P S1", "R S1")]
)
@pytest.mark.parametrize("name", ["cumsum", "softmax"])
def test_told_so_it_is_moved(name, given, lands):
    with auto_reshard(mode="silent"):
        check_sharded(lambda x: getattr(F, name)(x, 0), (GRID, given), lands=lands)
