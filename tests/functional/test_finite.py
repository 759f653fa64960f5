"""Finding what is no finite number, and replacing it."""

import ml_dtypes
import numpy as np
import pytest

from maxlite import functional as F
from maxlite.tensor import Tensor
from tests.functional._cross import FLOATS, check, check_eager, check_sharded, slope

NAN, INF = float("nan"), float("inf")
POINTS = np.array([1.0, NAN, INF, -INF, 0.0, -0.0, -2.5])
TESTS = {"is_finite": np.isfinite, "is_inf": np.isinf, "is_nan": np.isnan}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", TESTS)
def test_each_float_dtype_is_searched(name, dtype):
    check_eager(getattr(F, name), POINTS.astype(dtype), want=TESTS[name](POINTS))


@pytest.mark.parametrize("name", TESTS)
def test_it_means_the_same_in_every_way_of_running(name):
    x = POINTS.astype(np.float32)
    check(getattr(F, name), x, want=TESTS[name](x))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_infinities_become_the_largest_numbers_of_the_dtype(dtype):
    x = POINTS.astype(dtype)
    limits = ml_dtypes.finfo(dtype)
    want = [1.0, 0.0, float(limits.max), float(limits.min), 0.0, -0.0, -2.5]
    check_eager(F.nan_to_num, x, want=np.array(want).astype(dtype))


def test_the_replacements_may_be_chosen():
    x = POINTS.astype(np.float32)
    check(
        lambda x: F.nan_to_num(x, nan=-1, posinf=7.5, neginf=-INF),
        x,
        want=np.nan_to_num(x, nan=-1, posinf=7.5, neginf=-INF),
    )


def test_zeros_of_either_sign_and_nan_are_replacements_of_their_own():
    x = Tensor([NAN])
    for nan in (0.0, -0.0, NAN):
        got = F.nan_to_num(x, nan=nan).to_numpy()
        assert np.signbit(got[0]) == np.signbit(nan)
        np.testing.assert_array_equal(got, np.array([nan], np.float32))


def test_a_replacement_must_be_a_number():
    with pytest.raises(TypeError, match="nan_to_num: nan must be a number, got str"):
        F.nan_to_num(Tensor([1.0]), nan="0")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", [*TESTS, "nan_to_num"])
def test_integers_are_refused(name):
    with pytest.raises(TypeError, match=f"{name}: x must be of floating dtype, got"):
        getattr(F, name)(Tensor(np.array([1, 2])))


def test_what_is_replaced_has_no_slope():
    replacements = (0.0, 1.0, -1.0)
    assert slope("nan_to_num", 2.0, *replacements)[0] == 1.0
    assert slope("nan_to_num", NAN, *replacements)[0] == 0.0
    assert slope("nan_to_num", INF, *replacements)[0] == 0.0


def test_a_cut_goes_through():
    x = np.array([[1.0, NAN], [INF, 2.0]], np.float32)
    check_sharded(F.nan_to_num, (x, "S0"), lands="S0")
    check_sharded(F.is_finite, (x, "S1"), lands="S1")
