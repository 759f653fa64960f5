"""Activations, against their formulas written in numpy."""

import math

import numpy as np
import pytest
import scipy.special

from maxlite import functional as F
from maxlite.tensor import Tensor
from tests.functional._cross import check, check_eager, check_floats, slope

NAN, INF = float("nan"), float("inf")


def softplus(x):
    return np.logaddexp(x, 0.0)


def hard_sigmoid(x):
    return np.clip(x + 3, 0, 6) / 6


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


SMOOTH = {
    "log_sigmoid": lambda x: -softplus(-x),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "sigmoid": scipy.special.expit,
    "silu": lambda x: x * scipy.special.expit(x),
    "softplus": softplus,
}
STRAIGHT = {
    "elu": elu,
    "hard_sigmoid": hard_sigmoid,
    "hard_swish": lambda x: x * hard_sigmoid(x),
    "leaky_relu": lambda x: np.where(x < 0, 0.01 * x, x),
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "selu": lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772),
}
EVERY = SMOOTH | STRAIGHT
POINTS = np.array(
    [-1000.0, -7.0, -3.0, -0.5, -1e-3, 0.0, 0.25, 1.0, 3.0, 6.5, 90.0, NAN]
)


@pytest.mark.parametrize("name", EVERY)
def test_each_float_dtype_gives_what_the_formula_gives(name):
    check_floats(getattr(F, name), EVERY[name], POINTS)


@pytest.mark.parametrize("name", ["mish", "softplus", "elu", "hard_swish", "relu6"])
def test_it_means_the_same_in_every_way_of_running(name):
    x = POINTS[1:11].astype(np.float32).reshape(2, 5)
    check(getattr(F, name), x, want=EVERY[name](x.astype(np.float64)).astype(x.dtype))


def test_the_logit_undoes_the_sigmoid():
    x = np.array([0.0, 1e-6, 0.25, 0.5, 0.999, 1.0, -0.5, 1.5, NAN])
    check_floats(F.logit, scipy.special.logit, x)
    check(F.logit, x, want=scipy.special.logit(x))


@pytest.mark.parametrize("value", [-INF, INF])
def test_far_out_they_reach_their_limits(value):
    x = Tensor([value])
    up = value > 0
    assert F.softplus(x).item() == (INF if up else 0.0)
    assert F.log_sigmoid(x).item() == (0.0 if up else -INF)
    assert F.elu(x, 2.0).item() == (INF if up else -2.0)
    assert F.hard_sigmoid(x).item() == float(up)
    assert F.relu6(x).item() == (6.0 if up else 0.0)


@pytest.mark.parametrize("name", ["relu", "relu6"])
@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int64])
def test_integers_may_be_bounded(name, dtype):
    x = np.array([0, 5, 6, 7, 100, -1 if dtype != np.uint8 else 1], dtype)
    check_eager(getattr(F, name), x, want=EVERY[name](x).astype(dtype))


def test_slopes_may_be_chosen():
    x = np.array([-2.0, 0.0, 2.0], np.float32)
    check(lambda x: F.leaky_relu(x, 0.5), x, want=np.array([-1, 0, 2], np.float32))
    check(lambda x: F.elu(x, alpha=0), x, want=np.array([0, 0, 2], np.float32))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: F.elu(Tensor([1.0]), "x"), "elu: alpha must be a number, got str"),
        (
            lambda: F.leaky_relu(Tensor([1.0]), None),
            "leaky_relu: negative_slope must be a number, got NoneType",
        ),
        (lambda: F.mish(Tensor(np.array([1]))), "mish: x must be of floating dtype"),
        (lambda: F.relu6(Tensor(np.array([True]))), "relu6: x must be of integer or"),
        (lambda: F.softplus(1.0), "softplus: x must be a Tensor, got float"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("elu", {"alpha": 1.0}),
        ("selu", {}),
        ("softplus", {}),
        ("mish", {}),
        ("log_sigmoid", {}),
    ],
)
def test_far_out_slopes_are_finite(name, params):
    for at in (-1000.0, 1000.0):
        assert math.isfinite(slope(name, at, **params)[0])
