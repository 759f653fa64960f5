"""Picking elements by tensors of positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile, stage
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import (
    DeviceMapping,
    Partial,
    Replicated,
    Sharded,
    ShardingError,
    TensorLayout,
)
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, check, check_sharded, place
from tests.sharding.meshes import cpu_mesh

DTYPES = [*NUMBERS, np.dtype(bool)]


def layout(*sizes, dtype=DType.float32) -> TensorLayout:
    return TensorLayout(dtype, list(sizes), CPU())


def counted(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def positions(*values, dtype=np.int64) -> np.ndarray:
    return np.array(values, dtype)


# gather -------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(
    "indices",
    [
        positions(2, 0, -1),
        positions([0, 1], [2, 2]),
        np.array(1),
        np.zeros((0,), np.int64),
        np.zeros((2, 0), np.int64),
    ],
    ids=["vector", "matrix", "scalar", "none", "rows of none"],
)
def test_gather_is_numpy_s_take(axis, indices):
    x = counted(4, 3)
    check(lambda t, i: F.gather(t, i, axis), x, indices, want=np.take(x, indices, axis))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gather_picks_from_any_dtype(dtype):
    x, i = counted(4, 2, dtype=dtype), positions(3, -3)
    check(lambda t, i: F.gather(t, i, 0), x, i, want=x[[3, 1]], named=False)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
def test_gather_takes_any_integer_as_a_position(dtype):
    x, i = counted(300), np.array([127, 2], dtype)
    check(lambda t, i: F.gather(t, i, 0), x, i, want=x[[127, 2]], named=False)


def test_gather_counts_from_the_end_also_where_the_axis_outgrows_the_dtype():
    x, i = counted(300), np.array([-1, -128], np.int8)
    check(lambda t, i: F.gather(t, i, 0), x, i, want=x[[-1, -128]], named=False)


def test_gather_of_nothing_picks_nothing():
    x = counted(0, 2)
    want = np.zeros((0, 2), np.float32)
    check(lambda t, i: F.gather(t, i, 0), x, positions(), want=want)


@pytest.mark.parametrize("i", [2, -3])
def test_gather_raises_where_it_sees_a_position_out_of_range(i):
    x = Tensor([1.0, 2.0])
    with pytest.raises(ValueError, match=f"must be from -2 to 2 - 1, got {min(0, i)}"):
        F.gather(x, Tensor(positions(0, i)), 0)
    with pytest.raises(ValueError, match="indices must be from"):
        F.gather(place(counted(2), "R"), place(positions(0, i), "S0"), 0)


@pytest.mark.parametrize(
    ("dtype", "filler"),
    [("float32", np.nan), ("int32", -(2**31)), ("uint8", 255), ("bool", True)],
)
@pytest.mark.parametrize("i", [2, -3])
def test_a_program_fills_positions_out_of_range(dtype, filler, i):
    def fn(x, i):
        return F.gather(x, i, 0)

    x, indices = counted(2, dtype=dtype), positions(0, i)
    want = np.array([0, filler]).astype(dtype)
    program = compile(fn)(
        layout("n", dtype=getattr(DType, dtype)), layout("k", dtype=DType.int64)
    )
    np.testing.assert_array_equal(program(Tensor(x), Tensor(indices)).to_numpy(), want)
    with F.lazy():
        pending = fn(Tensor(x), Tensor(indices))
    np.testing.assert_array_equal(pending.to_numpy(), want)


@pytest.mark.parametrize("pick", [lambda x, i: F.gather(x, i, 0), F.gather_nd])
def test_a_program_cannot_pick_from_nothing(pick):
    program = compile(pick)(layout("n"), layout("k", 1, dtype=DType.int64))
    none = Tensor(np.zeros((0, 1), np.int64))
    assert program(Tensor(counted(0)), none).shape[0] == 0
    with pytest.raises(ValueError, match="an axis of size 0 has no elements to pick"):
        program(Tensor(counted(0)), Tensor(positions([0])))


@pytest.mark.parametrize(("n", "k"), [(1, 0), (1, 1), (5, 7)])
def test_gather_at_named_sizes(n, k):
    program = compile(lambda x, i: F.gather(x, i, 1))(
        layout(2, "n", 3), layout("k", dtype=DType.int64)
    )
    assert [str(dim) for dim in program.out_layouts[0].shape] == ["2", "k", "3"]
    x, i = counted(2, n, 3), np.arange(k) % n
    got = program(Tensor(x), Tensor(i)).to_numpy()
    np.testing.assert_array_equal(got, np.take(x, i, 1))


def test_gather_refuses_what_does_not_fit():
    x, i = Tensor(counted(2)), Tensor(positions(0))
    with pytest.raises(IndexError, match="axis must be from -1 to 0, got 1"):
        F.gather(x, i, 1)
    with pytest.raises(IndexError, match="axis must exist"):
        F.gather(Tensor(1.0), i, 0)
    for wrong in (Tensor([0.0]), Tensor(np.array([True]))):
        with pytest.raises(ValueError, match="indices must be of integer dtype"):
            F.gather(x, wrong, 0)
    with pytest.raises(TypeError, match="indices must be a Tensor, got list"):
        F.gather(x, [0], 0)


@pytest.mark.parametrize(
    ("x", "indices", "axis", "lands"),
    [
        ("R", "R", 0, "R"),
        ("R", "S0", 0, "S0"),
        ("R", "S0", 1, "S1"),
        ("S1", "R", 0, "S1"),
        ("S0", "R", 1, "S0"),
        ("P", "R", 0, "P"),
        ("S1 R", "R S0", 0, "S1 S0"),
        ("S1 P", "R R", 0, "S1 P"),
        ("P R", "R S0", 0, "P S0"),
    ],
)
def test_gather_on_a_mesh(x, indices, axis, lands):
    check_sharded(
        lambda t, i: F.gather(t, i, axis),
        (counted(4, 4), x),
        (positions(3, 0, -1, 3), indices),
        lands=lands,
    )


def test_gather_needs_its_axis_whole():
    with pytest.raises(ShardingError, match="gather"):
        F.gather(place(counted(4, 4), "S0"), place(positions(0), "R"), 0)


@pytest.mark.parametrize(
    ("x", "indices"),
    [
        (Replicated(), Sharded(0)),
        (Sharded(1), Replicated()),
        (Partial(), Replicated()),
    ],
    ids=str,
)
def test_gather_from_a_whole_axis_needs_no_communication(x, indices):
    mesh = cpu_mesh(2)
    program = compile(lambda t, i: F.gather(t, i, 0))(
        TensorLayout(DType.float32, [8, 4], DeviceMapping(mesh, (x,))),
        TensorLayout(DType.int64, [4, 2], DeviceMapping(mesh, (indices,))),
    )
    assert program.collectives() == []


# gather_nd ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("indices", "want"),
    [
        (positions([0, 1], [1, 0]), lambda x: x[[0, 1], [1, 0]]),
        (positions([1]), lambda x: x[[1]]),
        (positions(-1), lambda x: x[-1]),
        (
            positions([[0, 1, -1]], [[1, 2, 0]]),
            lambda x: x[[[0], [1]], [[1], [2]], [[-1], [0]]],
        ),
        (np.zeros((3, 0), np.int64), lambda x: np.stack([x] * 3)),
        (np.zeros((0, 2), np.int64), lambda x: np.zeros((0, 4), np.float32)),
    ],
)
def test_gather_nd_picks_by_vectors(indices, want):
    x = counted(2, 3, 4)
    check(F.gather_nd, x, indices, want=want(x), named=False)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_gather_nd_shares_batch_axes(n):
    program = compile(lambda x, i: F.gather_nd(x, i, 1))(
        layout("n", 3, 4), layout("n", 2, 1, dtype=DType.int64)
    )
    x, i = counted(n, 3, 4), (np.arange(n * 2) % 3).reshape(n, 2, 1)
    want = np.take_along_axis(x, i, 1)
    np.testing.assert_array_equal(program(Tensor(x), Tensor(i)).to_numpy(), want)
    eager = F.gather_nd(Tensor(x), Tensor(i), batch_dims=1)
    np.testing.assert_array_equal(eager.to_numpy(), want)


@pytest.mark.parametrize(
    ("indices", "batch_dims", "match"),
    [
        (positions([0, 0, 0]), 0, "at most the number of axes left"),
        (positions([0], [0], [0]), 1, "share the first batch_dims axes"),
        (positions([0], [0]), 2, "share the first batch_dims axes"),
        (positions([0]), -1, "share the first batch_dims axes"),
        (np.array(0), 0, "share the first batch_dims axes"),
        (np.array([[0.0]]), 0, "indices must be of integer dtype"),
        (positions([2, 0]), 0, "must be from -2 to 2 - 1, got 2 to 2"),
        (positions([0, -4]), 0, "must be from -3 to 3 - 1, got -4 to -4"),
    ],
)
def test_gather_nd_refuses_what_does_not_fit(indices, batch_dims, match):
    with pytest.raises(ValueError, match=match):
        F.gather_nd(Tensor(counted(2, 3)), Tensor(indices), batch_dims)


def test_the_length_of_a_vector_is_a_number():
    with pytest.raises(ValueError, match="last size of indices must be a number"):
        stage(F.gather_nd)(layout(2, 3), layout("k", dtype=DType.int64))


@pytest.mark.parametrize(
    ("x", "indices", "lands"),
    [("R", "R", "R"), ("P", "R", "P"), ("S0 R", "S0 R", "S0 R")],
)
def test_gather_nd_on_a_mesh(x, indices, lands):
    check_sharded(
        lambda t, i: F.gather_nd(t, i, 1),
        (counted(4, 3), x),
        (positions([2], [0], [-1], [1]), indices),
        lands=lands,
    )
