"""Spread and size of elements along tensor axes, against numpy and scipy."""

import math
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from maxlite import functional as F
from maxlite.sharding import ShardingError
from maxlite.tensor import Tensor
from tests.functional._cross import (
    check,
    check_eager,
    check_floats,
    check_sharded,
    place,
    slope,
)

NAN, INF = float("nan"), float("inf")
NAMES = ("var", "std", "norm", "logsumexp")
ORDERS = [0, 1, 2, 3, 0.5, -1, -2.5, INF, -INF]


def vector_norm(x, ord, axis, keepdims=True):
    return np.linalg.vector_norm(x, ord=ord, axis=axis, keepdims=keepdims)


def answer(name, x, axis=-1, keepdims=True):
    if name == "norm":
        return vector_norm(x, 2, axis, keepdims)
    if name == "logsumexp":
        return scipy.special.logsumexp(x, axis, keepdims=keepdims)
    return getattr(np, name)(x, axis, keepdims=keepdims)


@pytest.fixture
def x(rng):
    return rng.standard_normal((2, 3, 4)).astype(np.float32)


@pytest.mark.parametrize("name", NAMES)
def test_each_float_dtype_gives_what_numpy_gives(name, x):
    check_floats(getattr(F, name), lambda x: answer(name, x), x)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("axis", "keepdims"), [(1, True), ((0, -1), False)])
def test_axes_are_taken_as_by_sum(name, axis, keepdims, x):
    check(
        lambda x: getattr(F, name)(x, axis=axis, keepdims=keepdims),
        x,
        want=answer(name, x, axis, keepdims),
    )


@pytest.mark.parametrize("name", NAMES)
def test_without_an_axis_everything_becomes_one_element(name, x):
    want = np.array(answer(name, x.reshape(-1), keepdims=False))
    fn = getattr(F, name)
    check(lambda x: fn(x, axis=None), x, want=want.reshape(1))
    check(lambda x: fn(x, axis=None, keepdims=False), x, want=want)


@pytest.mark.parametrize("dtype", [np.float16, jnp.bfloat16], ids=str)
def test_halves_are_computed_in_float32(dtype):
    """300 squared is beyond float16, 4096 ones beyond the digits of bfloat16."""
    assert F.norm(Tensor(np.array([300.0, 400.0], dtype))).item() == 500.0
    assert F.norm(Tensor(np.ones(4096, dtype)), 1).item() == 4096.0
    spread = np.array([0.0, 200.0] * 2048, dtype)
    assert F.var(Tensor(spread)).item() == float(np.asarray(1e4, dtype))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("operand", [np.array([1, 2]), np.array([True])])
def test_only_floats_are_taken(name, operand):
    with pytest.raises(TypeError, match=f"{name}: x must be of floating dtype, got"):
        getattr(F, name)(Tensor(operand))


# Variance -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("correction", [1, 0.5])
def test_a_correction_is_taken_off_the_count(name, correction, x):
    want = getattr(np, name)(x, (0, 2), keepdims=True, ddof=correction)
    check(lambda x: getattr(F, name)(x, (0, 2), correction=correction), x, want=want)


@pytest.mark.parametrize("name", ["var", "std"])
def test_nothing_to_divide_by_gives_nan_or_infinity(name):
    fn = getattr(F, name)
    nan = np.full((1, 1), NAN, np.float32)
    check(fn, np.zeros((1, 0), np.float32), want=nan)
    check(lambda x: fn(x, correction=1), np.ones((1, 1), np.float32), want=nan)
    two = np.array([[1.0, 3.0]], np.float32)
    check(lambda x: fn(x, correction=3), two, want=np.full((1, 1), INF, np.float32))


def test_the_variance_is_taken_around_the_mean():
    """The mean of squares less the square of the mean would be 0 here, or negative."""
    x = np.array([10000.0, 10001.0], np.float32)
    check(F.var, x, want=np.array([0.25], np.float32))


def test_the_spread_of_equal_elements_has_a_slope():
    for name in ("var", "std"):
        found = slope(name, 3.0, axes=(), keepdims=True, correction=0.0)
        assert found == (0.0,)


# Norms --------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_each_order_gives_what_numpy_gives(order, x):
    x[0, 1, 2] = 0
    for axis in (1, (0, 2)):
        with np.errstate(divide="ignore"):
            want = vector_norm(x, order, axis)
        check_eager(partial(F.norm, ord=order, axis=axis), x, want=want)


@pytest.mark.parametrize("order", ORDERS)
def test_nan_comes_through_and_infinity_counts(order):
    x = np.array([[1.0, NAN, 2.0], [1.0, -INF, 2.0]], np.float32)
    with np.errstate(divide="ignore"):
        want = vector_norm(x, order, -1)
    np.testing.assert_allclose(F.norm(Tensor(x), order).to_numpy(), want, rtol=1e-6)


@pytest.mark.parametrize("order", ORDERS)
def test_no_elements_have_no_length(order):
    got = F.norm(Tensor(np.zeros((2, 0), np.float32)), order).to_numpy()
    assert got.tolist() == [[INF if order < 0 else 0.0]] * 2


def test_frobenius_is_the_norm_of_matrices(x):
    want = np.linalg.norm(x, "fro", (1, 2), keepdims=True)
    check(lambda x: F.norm(x, "fro", axis=(-2, -1)), x, want=want)
    assert F.norm(Tensor([[3.0], [4.0]]), "fro", axis=None).item() == 5.0


@pytest.mark.parametrize("axis", [-1, (0, 1, 2), None])
def test_a_matrix_has_two_axes(axis, x):
    with pytest.raises(ValueError, match=r"norm: 'fro' must have two axes, got axis="):
        F.norm(Tensor(x), "fro", axis)


@pytest.mark.parametrize(
    ("order", "error", "message"),
    [
        ("nuc", TypeError, "norm: ord must be a number, got str"),
        (None, TypeError, "norm: ord must be a number, got NoneType"),
        (NAN, ValueError, "norm: ord must not be NaN"),
    ],
)
def test_other_orders_are_refused(order, error, message):
    with pytest.raises(error, match=message):
        F.norm(Tensor([1.0]), order)


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, INF])
def test_a_vector_of_length_0_has_a_slope(order):
    (found,) = slope("norm", 0.0, axes=(), keepdims=True, ord=order)
    assert 0.0 <= found <= 1.0


# Log-sum-exp --------------------------------------------------------------------------


def test_nothing_overflows():
    x = np.array([[1000.0, 1000.0], [-1000.0, -1001.0]], np.float32)
    want = 1000 + np.log([[2.0], [1 + np.exp(-1)]]) - [[0], [2000]]
    check(F.logsumexp, x, want=want.astype(np.float32))


def test_infinities_and_nan_are_what_they_should_be():
    rows = [[INF, 1.0], [-INF, 1.0], [-INF, -INF], [INF, INF], [INF, -INF], [NAN, 1.0]]
    want = [[INF], [1.0], [-INF], [INF], [INF], [NAN]]
    check(F.logsumexp, np.array(rows, np.float32), want=np.array(want, np.float32))


def test_no_elements_are_minus_infinite():
    x = np.zeros((2, 0), np.float32)
    check(F.logsumexp, x, want=np.full((2, 1), -INF, np.float32))


@pytest.mark.parametrize("at", [-INF, -1000.0, 0.0, 1000.0])
def test_log_sum_exp_has_finite_slopes(at):
    assert math.isfinite(slope("logsumexp", at, axes=(), keepdims=True)[0])


# On a mesh ----------------------------------------------------------------------------

CUBE = np.arange(32, dtype=np.float32).reshape(4, 4, 2) % 7


@pytest.mark.parametrize("name", NAMES)
def test_the_axes_must_be_whole_and_other_cuts_stay(name):
    fn = getattr(F, name)
    check_sharded(lambda x: fn(x, axis=(0, 2)), (CUBE, "S1"), lands="S1")
    check_sharded(lambda x: fn(x, axis=0, keepdims=False), (CUBE, "S1"), lands="S0")
    for given in ("S0", "P"):
        with pytest.raises(ShardingError, match=rf"{name}[\s\S]*auto_reshard"):
            fn(place(CUBE, given), axis=0)
