"""One axis more, one less, or another order: squeeze, unsqueeze, transpose, permute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import stage
from maxlite.dtype import DType
from maxlite.sharding import DeviceMapping, Sharded, ShardingError, TensorLayout
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, check, check_sharded
from tests.sharding.meshes import cpu_mesh


def counted(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


@pytest.mark.parametrize(
    ("shape", "axis"), [((1, 2), 0), ((2, 1), -1), ((1,), 0), ((0, 1), 1)]
)
def test_squeeze_drops_an_axis(shape, axis):
    x = counted(*shape)
    check(lambda t: F.squeeze(t, axis), x, want=np.squeeze(x, axis))


def test_squeeze_refuses_a_size_other_than_1():
    x = Tensor(counted(1, 2))
    with pytest.raises(ValueError, match=r"must have size 1, got 2 at axis 1"):
        F.squeeze(x, 1)
    with pytest.raises(IndexError, match="axis must be from -2 to 1, got 2"):
        F.squeeze(x, 2)


@pytest.mark.parametrize("shape", [(), (2,), (2, 0), (1, 3)])
@pytest.mark.parametrize("axis", [0, -1])
def test_unsqueeze_adds_an_axis(shape, axis):
    x = counted(*shape)
    check(lambda t: F.unsqueeze(t, axis), x, want=np.expand_dims(x, axis))


@pytest.mark.parametrize("axis", [2, -3])
def test_unsqueeze_refuses_axes_that_the_result_lacks(axis):
    with pytest.raises(ValueError, match="axis must be from -2 to 1"):
        F.unsqueeze(Tensor([1.0]), axis)


@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (-1, -3), (1, 1)])
@pytest.mark.parametrize("shape", [(2, 3, 4), (0, 1, 2)])
def test_transpose_swaps_two_axes(shape, axes):
    x = counted(*shape)
    check(lambda t: F.transpose(t, *axes), x, want=np.swapaxes(x, *axes))


def test_t_swaps_the_last_two_axes():
    x = counted(2, 3, 4)
    check(lambda t: t.T, x, want=np.swapaxes(x, -1, -2))
    with pytest.raises(IndexError, match="axis must be from -1 to 0"):
        _ = Tensor([1.0]).T


@pytest.mark.parametrize("dims", [(2, 0, 1), [0, 2, 1], (-1, 0, -2)])
def test_permute_reorders_the_axes(dims):
    x = counted(2, 1, 4)
    check(lambda t: F.permute(t, dims), x, want=np.transpose(x, dims))


def test_permute_of_a_scalar_is_the_scalar():
    check(lambda t: F.permute(t, []), counted(), want=counted())


@pytest.mark.parametrize("dims", [[0, 0], [0], [0, 1, 1]])
def test_permute_wants_each_axis_once(dims):
    with pytest.raises(ValueError, match="dims must name each of the 2 axes once"):
        F.permute(Tensor(counted(1, 2)), dims)


@pytest.mark.parametrize(
    ("source", "destination"),
    [(0, -1), (-1, 0), (1, 1), ((0, 1), (2, 0)), ([2, 0], [0, 1]), ((), ())],
)
def test_moveaxis_keeps_the_others_in_order(source, destination):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    want = np.moveaxis(x, source, destination)
    check(lambda x: F.moveaxis(x, source, destination), x, want=want)


@pytest.mark.parametrize(
    ("source", "destination", "message"),
    [
        ((0, 1), 0, r"must pair, each axis named once, got \[0, 1\] and \[0\]"),
        ((0, -2), (0, 1), r"must pair, each axis named once, got \[0, 0\]"),
        ((0, 1), (1, 1), "must pair, each axis named once"),
        (0, 2, "axis must be from -2 to 1, got 2"),
    ],
)
def test_moveaxis_wants_pairs(source, destination, message):
    with pytest.raises(ValueError, match=f"moveaxis: .*{message}"):
        F.moveaxis(Tensor([[1.0]]), source, destination)


def test_moveaxis_takes_a_tensor_and_ints():
    with pytest.raises(TypeError, match="moveaxis: axis must be an int, got float"):
        F.moveaxis(Tensor([[1.0]]), 0.0, 1)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="moveaxis: x must be a Tensor, got list"):
        F.moveaxis([[1.0]], 0, 1)  # pyright: ignore[reportArgumentType]


def test_permute_and_transpose_refuse_axes_that_are_not_there():
    x = Tensor(counted(1, 2))
    with pytest.raises(IndexError, match="permute: axis must be from -2 to 1, got 5"):
        F.permute(x, [0, 5])
    with pytest.raises(IndexError, match="transpose: axis must be from -2 to 1, got 2"):
        F.transpose(x, 0, 2)
    with pytest.raises(TypeError, match="axis must be an int, got float"):
        F.transpose(x, 0.0, 1)


@pytest.mark.parametrize("dtype", [*NUMBERS, np.dtype(bool)], ids=str)
def test_every_dtype_is_moved(dtype):
    x = counted(2, 3, dtype=dtype)
    check(lambda t: F.transpose(F.unsqueeze(t, 0), 1, 2), x, want=x.T[None])


@pytest.mark.parametrize(
    ("fn", "shape", "placed", "lands"),
    [
        (lambda t: F.squeeze(t, 1), (4, 1, 4), "S0 S2", "S0 S1"),
        (lambda t: F.squeeze(t, 1), (4, 1, 4), "P", "P"),
        (lambda t: F.unsqueeze(t, 0), (4, 4), "S0 S1", "S1 S2"),
        (lambda t: F.unsqueeze(t, -1), (4, 4), "P S1", "P S1"),
        (lambda t: F.transpose(t, 0, 1), (4, 4), "S0 P", "S1 P"),
        (lambda t: F.transpose(t, 0, 1), (4, 4), "S0 S0", "S1 S1"),
        (lambda t: F.permute(t, [1, 2, 0]), (2, 4, 4), "S0", "S2"),
        (lambda t: F.permute(t, [1, 0]), (4, 4), "R", "R"),
    ],
)
def test_a_cut_follows_its_axis(fn, shape, placed, lands):
    check_sharded(fn, (counted(*shape), placed), lands=lands)


def test_squeeze_needs_its_axis_whole():
    mapping = DeviceMapping(cpu_mesh(2), (Sharded(0),))
    with pytest.raises(ShardingError, match="squeeze"):
        stage(lambda t: F.squeeze(t, 0))(TensorLayout(DType.float32, [1, 4], mapping))
