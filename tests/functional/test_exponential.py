"""Exponentials and logarithms, against numpy, and exact at whole numbers."""

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.tensor import Tensor
from tests.functional._cross import check, check_floats, slope

NAN, INF = float("nan"), float("inf")
GROWING = {"exp": np.exp, "exp2": np.exp2, "expm1": np.expm1}
LOGS = {"log": np.log, "log10": np.log10, "log1p": np.log1p, "log2": np.log2}
EVERY = GROWING | LOGS


@pytest.mark.parametrize("name", EVERY)
def test_each_float_dtype_gives_what_numpy_gives(name):
    x = np.array([-INF, -2.0, -1.0, -0.25, -0.0, 1e-3, 0.5, 1.0, 7.5, 10.0, INF, NAN])
    check_floats(getattr(F, name), EVERY[name], x)


@pytest.mark.parametrize("name", ["exp2", "expm1", "log2", "log10"])
def test_it_means_the_same_in_every_way_of_running(name):
    x = np.array([[0.1, 1.0, 3.3], [1e-6, 20.0, 8.0]], np.float32)
    check(getattr(F, name), x, want=EVERY[name](x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_powers_of_two_are_exact(dtype):
    limits = np.finfo(dtype)
    whole = np.arange(limits.minexp + 1, limits.maxexp).astype(dtype)
    powers = np.ldexp(dtype(1), whole.astype(int))  # np.exp2(127) is not exact
    np.testing.assert_array_equal(F.exp2(Tensor(whole)).to_numpy(), powers)
    np.testing.assert_array_equal(F.log2(Tensor(powers)).to_numpy(), whole)


@pytest.mark.parametrize(("dtype", "largest"), [(np.float32, 10), (np.float64, 22)])
def test_the_logarithm_of_a_power_of_ten_is_whole(dtype, largest):
    powers = np.array([10.0**k for k in range(largest + 1)], dtype)
    want = np.arange(largest + 1).astype(dtype)
    np.testing.assert_array_equal(F.log10(Tensor(powers)).to_numpy(), want)


def test_what_is_beyond_the_range_is_infinite_or_0():
    x = np.array([127.5, 128.0, 1e30, -200.0, -1e30, -125.7, 100.3], np.float32)
    with np.errstate(over="ignore"):
        check(F.exp2, x, want=np.exp2(x))


@pytest.mark.parametrize("at", [3.0, 2.5, -1.0])
def test_exactness_does_not_change_a_slope(at):
    assert slope("exp2", at) == pytest.approx((np.log(2) * 2**at,))
    assert slope("log2", 2.0**at) == pytest.approx((1 / (2**at * np.log(2)),))
    assert slope("log10", 10.0**at) == pytest.approx((1 / (10**at * np.log(10)),))


@pytest.mark.parametrize("name", EVERY)
def test_integers_are_refused(name):
    with pytest.raises(TypeError, match=f"{name}: x must be of floating dtype, got"):
        getattr(F, name)(Tensor(np.array([1, 2])))
