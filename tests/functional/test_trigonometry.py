"""Trigonometric and hyperbolic functions, against numpy."""

import math

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.dtype import DType
from maxlite.tensor import Tensor
from tests.functional._cross import check, check_floats, check_sharded, slope

NAN, INF = float("nan"), float("inf")
NAMES = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
}
POINTS = np.array(
    [-2.5, -1.0, -0.75, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 3.0, NAN, INF, -INF]
)


@pytest.mark.parametrize("name", NAMES)
def test_each_float_dtype_gives_what_numpy_gives(name):
    check_floats(getattr(F, name), NAMES[name], POINTS)


@pytest.mark.parametrize("name", ["acosh", "asin", "asinh", "atan", "cosh", "tan"])
def test_it_means_the_same_in_every_way_of_running(name):
    x = POINTS[:10].astype(np.float32).reshape(2, 5)
    with np.errstate(all="ignore"):
        want = NAMES[name](x)
    check(getattr(F, name), x, want=want)


@pytest.mark.parametrize("name", NAMES)
def test_integers_are_refused(name):
    with pytest.raises(TypeError, match=f"{name}: x must be of floating dtype, got"):
        getattr(F, name)(Tensor(np.array([1, 2])))


Y = np.array([0.0, -0.0, 0.0, -0.0, 1.0, -1.0, 3.0, INF, -INF, NAN, 2.0])
X = np.array([1.0, 1.0, -1.0, -0.0, 0.0, -2.0, -INF, INF, 1.0, 1.0, NAN])


@pytest.mark.parametrize(
    ("name", "numpy"), [("atan2", np.arctan2), ("hypot", np.hypot)]
)
def test_two_operands_give_what_numpy_gives(name, numpy):
    fn = getattr(F, name)
    check_floats(fn, numpy, Y, X)
    y, x = Y.astype(np.float32), X.astype(np.float32)
    check(fn, y[:, None], x, want=numpy(y[:, None], x))
    check(lambda x: fn(2, x), x, want=numpy(np.float32(2), x))


def test_no_square_overflows():
    x = np.array([3e30, 3e-30, 0.0], np.float32)
    check(F.hypot, x, x, want=np.hypot(x, x))


@pytest.mark.parametrize("name", ["atan2", "hypot"])
def test_two_integers_are_refused(name):
    x = Tensor(np.array([1, 2]))
    with pytest.raises(TypeError, match=f"{name}: operands must be of floating dtype"):
        getattr(F, name)(x, 3)
    assert getattr(F, name)(Tensor([1.0]), x.cast(DType.int8)).dtype is DType.float32


def test_the_angle_of_a_point_has_the_signs_of_zeros():
    got = F.atan2(Tensor([0.0, -0.0, 0.0, -0.0]), Tensor([0.0, 0.0, -0.0, -0.0]))
    want = np.array([0.0, -0.0, math.pi, -math.pi], np.float32)
    np.testing.assert_array_equal(got.to_numpy(), want)
    assert np.signbit(got.to_numpy()).tolist() == [False, True, False, True]


@pytest.mark.parametrize("name", ["atan2", "hypot"])
def test_there_is_no_slope_but_no_nan_either_at_the_origin(name):
    assert slope(name, 0.0, 0.0) == (0.0, 0.0)


def test_slopes_elsewhere_are_the_usual_ones():
    assert slope("hypot", 3.0, -4.0) == pytest.approx((0.6, -0.8))
    assert slope("hypot", 0.0, 2.0) == pytest.approx((0.0, 1.0))
    assert slope("atan2", 3.0, 4.0) == pytest.approx((0.16, -0.12))
    assert slope("atan2", 0.0, -2.0) == pytest.approx((-0.5, 0.0))


def test_a_cut_goes_through():
    x = np.linspace(0.1, 0.9, 8, dtype=np.float32).reshape(2, 4)
    check_sharded(F.tan, (x, "S1"), lands="S1")
    check_sharded(F.hypot, (x, "S1"), (x[0], "S0"), lands="S1")
