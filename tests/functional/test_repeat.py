"""Repeating elements next to themselves, equally often or each as often as told."""

from __future__ import annotations

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import ShardingError, TensorLayout
from maxlite.tensor import Tensor
from tests.functional._cross import check, check_sharded, place


def counted(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(np.float32)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((2, 3), None),
        ((2, 3), 0),
        ((2, 3), -1),
        ((1, 1), 1),
        ((0, 2), 0),
        ((0, 2), None),
        ((), None),
    ],
)
@pytest.mark.parametrize("repeats", [1, 3])
def test_repeat_interleave_repeats_each_element(shape, axis, repeats):
    x = counted(*shape)
    want = np.repeat(x, repeats, axis)
    check(lambda t: F.repeat_interleave(t, repeats, axis), x, want=want)


def test_repeat_interleave_refuses_what_is_no_number_of_repeats():
    x = Tensor([1.0, 2.0])
    with pytest.raises(ValueError, match="repeats must be 1 or more, got 0"):
        F.repeat_interleave(x, 0)
    with pytest.raises(ValueError, match="axis must be from -1 to 0, got 1"):
        F.repeat_interleave(x, 2, axis=1)
    with pytest.raises(TypeError, match="an int or a Tensor, got float"):
        F.repeat_interleave(x, 2.0)


@pytest.mark.parametrize(
    ("fn", "placed", "lands"),
    [
        (lambda t: F.repeat_interleave(t, 2, 0), "S1 P", "S1 P"),
        (lambda t: F.repeat_interleave(t, 2), "P", "P"),
    ],
)
def test_repeating_on_a_mesh(fn, placed, lands):
    check_sharded(fn, (counted(4, 4), placed), lands=lands)


def test_a_repeated_axis_must_be_whole():
    with pytest.raises(ShardingError, match="repeat_interleave"):
        F.repeat_interleave(place(counted(4, 4), "S0"), 2, 0)


# As often as a tensor tells ---------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
@pytest.mark.parametrize(
    ("shape", "axis", "repeats"),
    [
        ((3,), 0, [1, 0, 2]),
        ((2, 3), 1, [0, 0, 3]),
        ((2, 3), 0, [2, 1]),
        ((2, 2), None, [1, 2, 0, 1]),
        ((3,), 0, [2]),
        ((3,), -1, 2),
        ((3,), 0, [0, 0, 0]),
        ((0, 2), 0, 3),
        ((2, 40), 1, [1] * 40),
    ],
)
def test_each_element_is_repeated_as_told(shape, axis, repeats, dtype):
    x, often = counted(*shape), np.array(repeats, dtype)
    want = np.repeat(x, often, axis)

    def repeat(t, r):
        return F.repeat_interleave(t, r, axis, "total")

    check(repeat, x, often, want=want, named=False)


def test_repeats_are_computed_on_the_way():
    def repeat(x):
        return F.repeat_interleave(x, F.cast(x, DType.int64), out_dim="total") * 2

    program = compile(repeat)(TensorLayout(DType.float32, ["n"], CPU()))
    assert [str(d) for d in program.out_layouts[0].shape] == ["total"]
    for values in ([1.0, 3.0], [0.0], [2.0, 0.0, 1.0]):
        want = 2 * np.repeat(values, np.array(values, int))
        assert program(Tensor(values)).to_numpy().tolist() == want.tolist()


def test_a_number_of_elements_may_be_stated():
    often = Tensor([1, 2], dtype=DType.int64)
    assert F.repeat_interleave(Tensor([1.0, 2.0]), often, 0, 3).shape == [3]
    with pytest.raises(ValueError, match="got 3 for 4"):
        F.repeat_interleave(Tensor([1.0, 2.0]), often, 0, 4)


def test_repeats_that_do_not_fit_are_refused():
    x = Tensor([1.0, 2.0])
    with pytest.raises(ValueError, match="one element, or one per position"):
        F.repeat_interleave(x, Tensor([1, 1, 1], dtype=DType.int64), 0)
    with pytest.raises(ValueError, match="repeats must be of integer dtype"):
        F.repeat_interleave(x, Tensor([1.0, 1.0]), 0)
    with pytest.raises(ValueError, match="got a negative element"):
        F.repeat_interleave(x, Tensor([1, -1], dtype=DType.int64), 0)
