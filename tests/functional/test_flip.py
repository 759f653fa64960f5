"""flip and roll, against numpy."""

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph import Dim
from maxlite.sharding import ShardingError, TensorLayout, auto_reshard
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, check, check_sharded, place

BOX = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def flip(axis):
    return lambda x: F.flip(x, axis)


def roll(shift, axis=None):
    return lambda x: F.roll(x, shift, axis)


def together(*fns):
    return lambda x: tuple(fn(x) for fn in fns)


@pytest.mark.parametrize("dtype", [np.dtype(bool), *NUMBERS], ids=str)
def test_each_dtype_is_kept(dtype):
    x = np.array([[0, 1, 1], [2, 3, 5]]).astype(dtype)
    check(together(flip(1), roll(1, 1)), x, want=(x[:, ::-1], np.roll(x, 1, 1)))


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), [-1, 1], ()])
def test_the_axes_named_are_turned_round(axis):
    want = np.flip(
        BOX, axis if axis is None else tuple(np.atleast_1d(axis).astype(int))
    )
    check(flip(axis), BOX, want=want)


@pytest.mark.parametrize(
    ("shift", "axis"),
    [
        (1, 0),
        (-1, 2),
        (7, 1),
        (0, 1),
        (2, (0, 2)),
        ((1, -2), (-1, 1)),
        ((1, 2, 1), (2, 0, 2)),
        (5, None),
        (-30, None),
        ((2, 3), None),
    ],
)
def test_what_leaves_at_the_end_comes_in_at_the_start(shift, axis):
    want = np.roll(BOX, sum(shift) if axis is None and shift == (2, 3) else shift, axis)
    check(roll(shift, axis), BOX, want=want)


@pytest.mark.parametrize("shape", [(0,), (1,), (2, 0, 3), (1, 4)])
def test_there_may_be_little_to_move(shape, rng):
    x = rng.standard_normal(shape).astype(np.float32)
    want = np.flip(x), np.flip(x, 0), np.roll(x, 3, 0), np.roll(x, 3)
    check(together(flip(None), flip(0), roll(3, 0), roll(3)), x, want=want)


def test_a_number_stays_as_it_is():
    x = np.array(3.0, np.float32)
    check(together(flip(None), roll(2)), x, want=(x, x))


def test_a_shift_may_be_a_size():
    def half(x):
        return F.roll(x, x.shape[0] // 2, 0)

    compiled = compile(half)(TensorLayout(DType.float32, ["n"], CPU()))
    assert compiled(Tensor([1.0, 2.0, 3.0, 4.0])).to_numpy().tolist() == [3, 4, 1, 2]
    assert compiled(Tensor([1.0, 2.0])).to_numpy().tolist() == [2, 1]
    assert F.roll(Tensor([1.0, 2.0]), Dim(1)).to_numpy().tolist() == [2, 1]


# Errors -------------------------------------------------------------------------------


def test_the_axes_must_exist():
    x = Tensor(BOX)
    with pytest.raises(ValueError, match="flip: axis must be from -3 to 2, got 3"):
        F.flip(x, 3)
    with pytest.raises(ValueError, match="roll: axis must be from -3 to 2, got -4"):
        F.roll(x, 1, (0, -4))
    with pytest.raises(ValueError, match=r"flip: axis must exist, got 0 .* rank 0"):
        F.flip(Tensor(1.0), 0)


def test_an_axis_is_turned_round_once():
    with pytest.raises(ValueError, match=r"flip: each axis .* once, got \[0, -3\]"):
        F.flip(Tensor(BOX), (0, -3))


@pytest.mark.parametrize(("shift", "axis"), [((1, 2), 0), ((1, 2), (0, 1, 2))])
def test_each_axis_has_a_shift(shift, axis):
    with pytest.raises(ValueError, match="roll: there must be one shift, or one per"):
        F.roll(Tensor(BOX), shift, axis)


@pytest.mark.parametrize("value", [1.0, True, None])
def test_shifts_and_axes_are_ints(value):
    with pytest.raises(TypeError, match="roll: shift must be an int, got"):
        F.roll(Tensor(BOX), value, 0)
    with pytest.raises(TypeError, match="roll: axis must be an int, got"):
        F.roll(Tensor(BOX), 1, [value])
    with pytest.raises(TypeError, match="flip: axis must be an int, got"):
        F.flip(Tensor(BOX), [value])


def test_only_tensors_are_moved():
    with pytest.raises(TypeError, match="flip: x must be a Tensor, got list"):
        F.flip([1.0])  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="roll: x must be a Tensor, got list"):
        F.roll([1.0], 1)  # pyright: ignore[reportArgumentType]


# On a mesh ----------------------------------------------------------------------------

GRID = np.arange(16, dtype=np.float32).reshape(4, 4)


@pytest.mark.parametrize("given", ["R", "S0", "P", "S0 P", "S0 S0", "R S0"])
def test_other_axes_may_be_sharded(given):
    check_sharded(together(flip(1), roll(1, 1)), (GRID, given), lands=given)


@pytest.mark.parametrize("given", ["R", "P"])
def test_a_pending_sum_is_rolled_flat(given):
    check_sharded(roll(3), (GRID, given), lands=given)


@pytest.mark.parametrize("fn", [flip(0), flip(None), roll(1, 0), roll(1)])
def test_along_an_axis_that_moves_nothing_is_sharded(fn):
    with pytest.raises(ShardingError, match=r"(flip|roll)[\s\S]*auto_reshard"):
        fn(place(GRID, "S0"))
    with auto_reshard(mode="silent"):
        check_sharded(fn, (GRID, "S0"), lands="R")
