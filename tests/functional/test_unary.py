"""Signs, powers and roots, against numpy."""

import numpy as np
import pytest
import scipy.special

from maxlite import functional as F
from maxlite.compilation import compile
from maxlite.dtype import DType
from maxlite.tensor import Tensor
from tests.functional._cross import (
    INTEGERS,
    check,
    check_eager,
    check_floats,
    check_sharded,
    place,
)

NAN, INF = float("nan"), float("inf")
NAMES = {
    "abs": np.abs,
    "erf": scipy.special.erf,
    "negate": np.negative,
    "reciprocal": np.reciprocal,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sign": np.sign,
    "sqrt": np.sqrt,
    "square": np.square,
}
POINTS = np.array([-2.5, -1.0, 0.0, 0.25, 1.0, 4.0, 9.0, NAN, INF, -INF])


@pytest.mark.parametrize("name", NAMES)
def test_each_float_dtype_gives_what_numpy_gives(name):
    check_floats(getattr(F, name), NAMES[name], POINTS)


@pytest.mark.parametrize("name", ["reciprocal", "sign", "square"])
def test_it_means_the_same_in_every_way_of_running(name):
    x = POINTS.astype(np.float32).reshape(2, 5)
    with np.errstate(divide="ignore"):
        check(getattr(F, name), x, want=NAMES[name](x))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("name", ["sign", "square", "positive"])
def test_integers_stay_integers(name, dtype):
    x = np.array([0, 1, 20, 100]).astype(dtype)
    x = -x if dtype.kind == "i" else x
    check_eager(getattr(F, name), x, want=getattr(np, name)(x))


@pytest.mark.parametrize("name", ["sign", "square", "positive"])
def test_truth_values_are_no_numbers(name):
    with pytest.raises(TypeError, match=f"{name}: x must be of integer or floating"):
        getattr(F, name)(Tensor(np.array([True])))


def test_a_reciprocal_of_integers_is_refused():
    with pytest.raises(TypeError, match="reciprocal: x must be of floating dtype"):
        F.reciprocal(Tensor(np.array([2])))


# positive: a tensor of its own --------------------------------------------------------


def test_positive_means_the_same_in_every_way_of_running():
    check(F.positive, POINTS.astype(np.float32), want=POINTS.astype(np.float32))


def test_writes_do_not_show_in_the_other_one():
    x = Tensor([1.0, 2.0])
    y = +x
    assert y is not x
    x[0] = Tensor(5.0)
    y[1] = Tensor(7.0)
    assert (x.to_numpy().tolist(), y.to_numpy().tolist()) == ([5.0, 2.0], [1.0, 7.0])


def test_nor_in_a_program():
    def program(x):
        y = +x
        x[0] = Tensor(5.0)
        return y

    layout = Tensor([1.0, 2.0]).layout.as_buffer()
    x = Tensor([1.0, 2.0])
    assert compile(program)(layout)(x).to_numpy().tolist() == [1.0, 2.0]
    assert x.to_numpy().tolist() == [5.0, 2.0]


def test_a_pending_sum_stays_pending():
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    check_sharded(F.positive, (x, "P"), lands="P")
    check_sharded(F.square, (x, "S1"), lands="S1")
    assert F.positive(place(x, "P")).dtype is DType.float32
