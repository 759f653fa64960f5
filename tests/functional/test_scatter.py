"""Putting elements at positions, into a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile, stage
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import DeviceMapping, Sharded, ShardingError, TensorLayout
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, check, check_sharded, place
from tests.sharding.meshes import cpu_mesh

KINDS = ("set", "add", "max", "min", "mul")


def op(kind: str, nd: bool = False):
    name = "scatter_nd" if nd else "scatter"
    return getattr(F, name if kind == "set" else f"{name}_{kind}")


def layout(*sizes, dtype=DType.float32) -> TensorLayout:
    return TensorLayout(dtype, list(sizes), CPU())


def counted(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def combine(kind: str, old, new):
    match kind:
        case "set":
            return new
        case "add":
            return old + new
        case "mul":
            return old * new
        case _:
            return {"max": np.maximum, "min": np.minimum}[kind](old, new)


def answer(kind: str, x, updates, indices, axis: int):
    """One element after the other."""
    out = x.copy()
    for at in np.ndindex(updates.shape):
        to = list(at)
        to[axis] = int(indices[at])
        if -x.shape[axis] <= to[axis] < x.shape[axis]:
            out[tuple(to)] = combine(kind, out[tuple(to)], updates[at])
    return out


def answer_nd(kind: str, x, updates, indices):
    out = x.copy()
    for at in np.ndindex(indices.shape[:-1]):
        to = tuple(int(i) for i in indices[at])
        if all(-n <= i < n for i, n in zip(to, x.shape, strict=False)):
            out[to] = combine(kind, out[to], updates[at])
    return out


# Along an axis ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shape", "axis", "count"),
    [((4,), 0, 2), ((2, 3), -1, 2), ((3, 2), 0, 5), ((2, 3, 2), 1, 1), ((2, 3), 1, 0)],
)
def test_scatter_puts_each_update_at_its_position(kind, shape, axis, count):
    sizes = list(shape)
    sizes[axis] = count
    x, updates = counted(*shape) + 1, counted(*sizes) * 2 - 3
    # No position comes twice on an axis that is long enough, so any order will do.
    indices = (
        counted(*sizes, dtype=np.int64) * 0
        + np.arange(count).reshape(
            [-1 if i == axis % len(shape) else 1 for i in range(len(shape))]
        )
    ) % shape[axis]
    if kind == "set":
        indices, updates = _last(indices, updates, axis)
    want = answer(kind, x, updates, indices, axis)
    check(
        lambda t, u, i: op(kind)(t, u, i, axis),
        x,
        updates,
        indices,
        want=want,
        named=False,
    )


def _last(indices, updates, axis: int):
    """Makes all updates for one element equal."""
    first = np.take_along_axis(updates, indices % max(updates.shape[axis], 1), axis)
    return indices, first


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_scatter_of_any_dtype(kind, dtype):
    x, updates = counted(4, dtype=dtype), np.array([5, 2]).astype(dtype)
    indices = np.array([1, -1])
    want = answer(kind, x, updates, indices, 0)
    check(op(kind), x, updates, indices, want=want, named=False)


@pytest.mark.parametrize("index", ["int8", "int32", "uint8", "uint64"])
def test_positions_of_any_integer_dtype(index):
    x, updates, indices = counted(3), counted(2) + 5, np.array([2, 0], index)
    want = np.array([6, 1, 5], np.float32)
    check(F.scatter, x, updates, indices, want=want, named=False)


def test_truth_values_are_replaced():
    x, updates = np.array([True, False]), np.array([True])
    check(F.scatter, x, updates, np.array([1]), want=np.array([True, True]))


@pytest.mark.parametrize("kind", ["add", "max", "min", "mul"])
def test_updates_for_one_element_are_combined(kind):
    x, updates, indices = counted(3) + 2, counted(4) + 1, np.array([1, 1, -2, 1])
    want = answer(kind, x, updates, indices, 0)
    check(op(kind), x, updates, indices, want=want)


def test_the_last_of_several_replacements_stays_on_a_cpu():
    got = F.scatter(Tensor([1.0, 2.0]), Tensor([8.0, 9.0]), Tensor(np.array([0, 0])))
    assert got.to_numpy().tolist() == [9.0, 2.0]


@pytest.mark.parametrize("kind", KINDS)
def test_updates_out_of_range_are_left_out(kind):
    x, updates, indices = counted(3), counted(3) + 5, np.array([3, -4, 0])
    want = answer(kind, x, updates, indices, 0)
    check(op(kind), x, updates, indices, want=want, named=False)


def test_the_input_keeps_its_value():
    x = Tensor([1.0, 2.0])
    F.scatter(x, Tensor([9.0]), Tensor(np.array([0])))
    assert x.to_numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(("n", "k"), [(0, 0), (0, 2), (1, 1), (5, 3)])
def test_scatter_at_named_sizes(n, k):
    program = compile(F.scatter_add)(
        layout("n", 4), layout("n", "k"), layout("n", "k", dtype=DType.int64)
    )
    x, updates = counted(n, 4), counted(n, k) + 1
    indices = counted(n, k, dtype=np.int64) % 4
    want = answer("add", x, updates, indices, 1)
    got = program(Tensor(x), Tensor(updates), Tensor(indices))
    np.testing.assert_array_equal(got.to_numpy(), want)


@pytest.mark.parametrize(
    ("x", "updates", "indices", "axis", "match"),
    [
        ((4, 3), (2, 2), (2, 2), -1, "equal to that of input but along axis 1"),
        ((4, 3), (4, 2), (4, 1), -1, r"updates \[4, 2\], indices \[4, 1\] and input"),
        ((4, 3), (4,), (4,), -1, "must have one shape"),
        ((4,), (4,), (4,), 3, "axis must be from -1 to 0, got 3"),
        ((), (), (), -1, "axis must exist"),
    ],
)
def test_scatter_refuses_shapes_that_do_not_fit(x, updates, indices, axis, match):
    with pytest.raises(ValueError, match=match):
        F.scatter(
            Tensor(counted(*x)),
            Tensor(counted(*updates)),
            Tensor(counted(*indices, dtype=np.int64)),
            axis,
        )


@pytest.mark.parametrize("scatter", [F.scatter, F.scatter_nd_add])
def test_scatter_refuses_dtypes_that_do_not_fit(scatter):
    x, at = Tensor([1.0]), Tensor(np.zeros((1, 1), np.int64)[0])
    with pytest.raises(ValueError, match="one dtype, got float32 and int32"):
        scatter(x, Tensor(np.ones(1, np.int32)), at)
    with pytest.raises(ValueError, match="indices must be of integer dtype"):
        scatter(x, x, Tensor([0.0]))
    with pytest.raises(TypeError, match="updates must be a Tensor, got float"):
        scatter(x, 1.0, at)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("placed", "axis"), [("R", 0), ("S1", 0), ("S0", 1), ("S1 R", 0), ("S1 S1", 0)]
)
def test_scatter_on_a_mesh(kind, placed, axis):
    indices = np.array([[3, 0, 1, 2], [2, 1, 3, 0]])
    updates = counted(2, 4) + 3
    if axis == 1:
        indices, updates = indices.T, updates.T
    check_sharded(
        lambda t, u, i: op(kind)(t, u, i, axis),
        (counted(4, 4), placed),
        (np.ascontiguousarray(updates), placed),
        (np.ascontiguousarray(indices), placed),
        lands=placed,
    )


@pytest.mark.parametrize("placed", ["S0", "P"])
def test_scatter_needs_its_axis_whole(placed):
    x, indices = place(counted(4, 4), placed), np.zeros((4, 4), np.int64)
    with pytest.raises(ShardingError, match="scatter"):
        F.scatter(x, x, place(indices, "R"), 0)


@pytest.mark.parametrize("kind", KINDS)
def test_scatter_beside_a_cut_needs_no_communication(kind):
    mapping = DeviceMapping(cpu_mesh(2), (Sharded(1),))
    program = compile(lambda t, u, i: op(kind)(t, u, i, 0))(
        TensorLayout(DType.float32, [4, 4], mapping),
        TensorLayout(DType.float32, [2, 4], mapping),
        TensorLayout(DType.int64, [2, 4], mapping),
    )
    assert program.collectives() == []


# At vectors of positions --------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shape", "indices"),
    [
        ((3,), [[2], [0]]),
        ((3, 2), [[1]]),
        ((3, 2), [[1, -1], [0, 0]]),
        ((3, 2), [1, 1]),
        ((3, 2), [[[2], [-3]]]),
        ((3, 2), [[5, 0], [1, 0]]),
        ((3, 2), np.zeros((0, 2), np.int64)),
    ],
    ids=str,
)
def test_scatter_nd_puts_parts(kind, shape, indices):
    x, indices = counted(*shape) + 1, np.array(indices)
    parts = (*indices.shape[:-1], *shape[indices.shape[-1] :])
    updates = counted(*parts) * 2 - 3
    want = answer_nd(kind, x, updates, indices)
    check(op(kind, nd=True), x, updates, indices, want=want, named=False)


@pytest.mark.parametrize("kind", ["add", "max", "min", "mul"])
def test_parts_for_one_position_are_combined(kind):
    x, updates, indices = counted(2) + 2, counted(3) + 1, np.array([[1], [1], [-1]])
    want = answer_nd(kind, x, updates, indices)
    check(op(kind, nd=True), x, updates, indices, want=want)


@pytest.mark.parametrize(("n", "k"), [(1, 0), (1, 1), (5, 3)])
def test_scatter_nd_at_named_sizes(n, k):
    program = compile(F.scatter_nd)(
        layout("n", 2), layout("k", 2), layout("k", 1, dtype=DType.int64)
    )
    x, updates, indices = counted(n, 2), counted(k, 2) + 9, np.arange(k)[:, None] % n
    got = program(Tensor(x), Tensor(updates), Tensor(indices))
    want = answer_nd("set", x, updates, indices)
    np.testing.assert_array_equal(got.to_numpy(), want)


@pytest.mark.parametrize(
    ("updates", "indices", "match"),
    [
        ((2, 3), (2, 3), "a number from 1 to the rank of input"),
        ((2,), (2, 1), r"must have the shape \[2, 3\] that indices \[2, 1\] pick"),
        ((2, 3), (2, 0), "a number from 1 to the rank of input"),
        ((2,), (), "a number from 1 to the rank of input"),
    ],
)
def test_scatter_nd_refuses_what_does_not_fit(updates, indices, match):
    with pytest.raises(ValueError, match=match):
        F.scatter_nd(
            Tensor(counted(4, 3)),
            Tensor(counted(*updates)),
            Tensor(counted(*indices, dtype=np.int64)),
        )


def test_scatter_nd_refuses_other_names():
    with pytest.raises(ValueError, match=r"got \[m\]. Broadcast or rebind"):
        stage(F.scatter_nd)(layout(4), layout("m"), layout("k", 1, dtype=DType.int64))


@pytest.mark.parametrize("kind", KINDS)
def test_scatter_nd_runs_whole_on_a_mesh(kind):
    x, updates, indices = counted(4, 4), counted(2, 4) + 3, np.array([[3], [1]])
    check_sharded(
        op(kind, nd=True), (x, "R R"), (updates, "R R"), (indices, "R R"), lands="R R"
    )
    with pytest.raises(ShardingError, match="scatter_nd"):
        op(kind, nd=True)(place(x, "S1"), place(updates, "S1"), place(indices, "R"))
