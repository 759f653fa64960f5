"""Reading ``x[...]`` on a mesh, and writing it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile, stage
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.functional import _dispatch
from maxlite.graph import Dim
from maxlite.sharding import (
    BufferLayout,
    DeviceMapping,
    Sharded,
    ShardingError,
    TensorLayout,
    auto_reshard,
)
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, check, check_sharded, place
from tests.sharding.meshes import cpu_mesh

N, K = Dim("n"), Dim("k")
DTYPES = [*NUMBERS, np.dtype(bool)]


def layout(*sizes, dtype=DType.float32) -> TensorLayout:
    return TensorLayout(dtype, list(sizes), CPU())


def counted(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def position(value: int, dtype=np.int64) -> Tensor:
    return Tensor(np.array(value, dtype))


# Reading on a mesh --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "placed", "lands"),
    [
        (np.s_[1:3], "R", "R"),
        (np.s_[1:3], "S1 P", "S1 P"),
        (np.s_[0], "S1", "S0"),
        (np.s_[:, 0], "S0 R", "S0 R"),
        (np.s_[::2], "S1", "S1"),
        (np.s_[..., 1:], "S0", "S0"),
        (np.s_[:], "S0 S1", "S0 S1"),
        (np.s_[None], "S0 S1", "S1 S2"),
        (np.s_[:, None, 1], "S0 S0", "S0 S0"),
        (np.s_[1, None], "S1 P", "S1 P"),
    ],
    ids=str,
)
def test_a_slice_on_a_mesh(index, placed, lands):
    check_sharded(lambda t: t[index], (counted(4, 4), placed), lands=lands)


def test_a_position_on_a_mesh():
    check_sharded(
        lambda t, i: t[i], (counted(4, 4), "S1 P"), (np.array(2), "R R"), lands="S0 P"
    )


@pytest.mark.parametrize("index", [0, np.s_[0:2], np.s_[0:4], np.s_[::2]], ids=str)
def test_an_axis_that_is_cut_must_be_whole_to_be_indexed(index):
    x = place(counted(4, 4), "S0")
    with pytest.raises(ShardingError, match="slice"):
        _ = x[index]
    with auto_reshard(mode="silent"):
        np.testing.assert_array_equal(x[index].to_numpy(), counted(4, 4)[index])


@pytest.mark.parametrize("index", [0, np.s_[1:3], np.s_[::2]], ids=str)
def test_a_slice_of_whole_axes_needs_no_communication(index):
    placed = TensorLayout(
        DType.float32, [4, 4], DeviceMapping(cpu_mesh(2), (Sharded(1),))
    )
    assert compile(lambda x: x[index])(placed).collectives() == []


# Writing ------------------------------------------------------------------------------

TARGETS = [
    (),
    0,
    -1,
    np.s_[1:3],
    np.s_[:, 1:2],
    np.s_[0, 1],
    np.s_[..., 0],
    np.s_[::2],
    np.s_[1:4:2, ::2],
    np.s_[2:2],
    np.s_[...],
    np.s_[::-1],
    np.s_[3:0:-2, ::-1],
]


def write(index):
    """Writes into a copy, which is then the result."""

    def fn(x, value):
        y = F.concat([x])
        y[index] = value
        return y

    return fn


@pytest.mark.parametrize("index", TARGETS, ids=str)
def test_a_write_is_numpy_s(index):
    x = counted(4, 3)
    want = x.copy()
    value = -1 - counted(*want[index].shape)
    want[index] = value
    check(write(index), x, value, want=want, named=False)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_write_of_any_dtype(dtype):
    x, want = counted(3, 2, dtype=dtype), counted(3, 2, dtype=dtype)
    want[1:, 0] = want[:2, 1]
    check(write(np.s_[1:, 0]), x, x[:2, 1], want=want, named=False)


def test_every_name_sees_a_write_and_computed_values_do_not():
    x = Tensor([1.0, 2.0])
    alias, before, part = x, x + 0, x[0:1]
    x[0:1] = Tensor([5.0])
    x[1:] += 1
    assert alias.to_numpy().tolist() == [5.0, 3.0]
    assert before.to_numpy().tolist() == [1.0, 2.0]
    assert part.to_numpy().tolist() == [1.0]


def test_a_write_keeps_numpy_views_of_the_old_value():
    x = Tensor([1.0, 2.0])
    view = x.to_numpy()
    x[0] = Tensor(5.0)
    assert view.tolist() == [1.0, 2.0]


def test_a_tensor_may_be_written_into_itself():
    x = Tensor(counted(3))
    x[1:] = x[:2]
    F.buffer_store(x, x)
    assert x.to_numpy().tolist() == [0.0, 0.0, 1.0]


def test_a_write_reuses_the_memory():
    x = Tensor(counted(64, 64)) + 0
    x[0] = Tensor(counted(64))
    address = x._stored().unsafe_buffer_pointer()
    x[1] = Tensor(counted(64))
    assert x._stored().unsafe_buffer_pointer() == address


def test_buffer_store_writes_the_whole():
    x = Tensor([1.0, 2.0])
    alias = x
    assert F.buffer_store(x, Tensor([3.0, 4.0])) is None
    assert alias.to_numpy().tolist() == [3.0, 4.0]


def test_a_write_in_a_lazy_block_is_seen_after_it():
    x = Tensor([1.0, 2.0])
    with F.lazy():
        before = x + 0
        x[0] = Tensor(5.0)
        after = x + 0
    assert before.to_numpy().tolist() == [1.0, 2.0]
    assert after.to_numpy().tolist() == [5.0, 2.0]
    assert x.to_numpy().tolist() == [5.0, 2.0]


def test_each_position_is_written_by_the_same_program():
    x, row = Tensor(counted(7, 3)), Tensor(counted(3))
    x[0] = row
    known = len(_dispatch._executables)
    for i in range(1, 5):
        x[i] = row
    assert len(_dispatch._executables) == known
    np.testing.assert_array_equal(x.to_numpy()[:5], np.tile(counted(3), (5, 1)))


@pytest.mark.parametrize(
    ("index", "shape", "error", "match"),
    [
        (5, (2,), IndexError, "at least -2 and below 2, the size of its axis, got 5"),
        (np.s_[0:9], (2, 2), IndexError, r"0 <= start <= stop <= 2, got \[0:9\]"),
        (np.s_[2:1], (0, 2), IndexError, r"0 <= start <= stop <= 2, got \[2:1\]"),
        ((0, 0, 0), (), ValueError, "at most one entry per axis"),
        (None, (1, 2, 2), ValueError, "None adds no axis"),
        (np.s_[2::-1], (2, 2), IndexError, r"-1 <= stop <= start < 2, got \[2:\]"),
        (0, (1, 2), ValueError, r"float32\[2\], got float32\[1, 2\]. Cast or resh"),
        (np.s_[0:2], (3, 2), ValueError, r"float32\[2, 2\], got float32\[3, 2\]"),
        (1.5, (2,), TypeError, "an index must be an int"),
    ],
)
def test_writing_what_does_not_fit(index, shape, error, match):
    x = Tensor(counted(2, 2))
    with pytest.raises(error, match=match):
        x[index] = Tensor(counted(*shape))
    np.testing.assert_array_equal(x.to_numpy(), counted(2, 2))


def test_a_write_takes_tensors_of_the_same_dtype_only():
    x = Tensor([1.0, 2.0])
    with pytest.raises(ValueError, match=r"float32\[1\], got int32\[1\]"):
        x[0:1] = Tensor(np.ones(1, np.int32))
    with pytest.raises(ValueError, match=r"of destination, \[2\], got \[1\]"):
        F.buffer_store(x, Tensor([1.0]))


VALUES = [2, 2.5, True, [7], [[1], [2], [3]], (8, 9), np.arange(2), np.float32(4)]


@pytest.mark.parametrize("index", [np.s_[1:], np.s_[3:0:-1], np.s_[:3, ::-1]], ids=str)
@pytest.mark.parametrize("value", VALUES, ids=str)
def test_numbers_lists_and_arrays_are_written_and_broadcast(index, value):
    x = counted(4, 2)
    want = x.copy()
    want[index] = value

    def fn(x):
        y = x + 0
        y[index] = value
        return y

    check(fn, x, want=want, named=False)


@pytest.mark.parametrize("index", [0, np.s_[1:, 0], np.s_[...], np.s_[::-2]], ids=str)
@pytest.mark.parametrize("shape", [(), (1,)], ids=str)
def test_a_tensor_that_is_written_broadcasts(index, shape):
    x, value = counted(4, 3), counted(*shape) + 7
    want = x.copy()
    want[index] = value
    check(write(index), x, value, want=want, named=False)


def test_a_row_is_written_to_every_row_at_named_sizes():
    x, value = counted(4, 3), counted(3)
    check(write(np.s_[...]), x, value, want=np.tile(value, (4, 1)))


def test_buffer_store_takes_numbers_too():
    x = Tensor([1.0, 2.0])
    F.buffer_store(x, 3)
    assert x.to_numpy().tolist() == [3.0, 3.0]
    F.buffer_store(x, [4, 5])
    assert x.to_numpy().tolist() == [4.0, 5.0]


@pytest.mark.parametrize(
    ("value", "error", "match"),
    [
        (2.5, ValueError, "a number beside a tensor of DType.int8 must be an integer"),
        (200, ValueError, r"must lie in \[-128, 127\], got 200"),
        ([1, 200], ValueError, r"must lie in \[-128, 127\], got 200"),
        (np.array([1, 200]), ValueError, r"must lie in \[-128, 127\], got 200"),
        ([0.5, 1.5], ValueError, "must be an integer, got 0.5"),
        ([1, 2, 3], ValueError, r"int8\[2\], got int8\[3\]"),
        ([[1], [2, 3]], ValueError, "one length per axis, got a ragged list"),
        (["a", "b"], TypeError, "a list must hold numbers"),
        ("ab", TypeError, "must be a Tensor, a number, a numpy array or a Dim"),
        (None, TypeError, "must be a Tensor, a number, a numpy array or a Dim"),
    ],
    ids=str,
)
def test_a_value_that_does_not_fit_is_not_written(value, error, match):
    x = Tensor(np.zeros(2, np.int8))
    with pytest.raises(error, match=match):
        x[:] = value
    assert x.to_numpy().tolist() == [0, 0]


# Writing in a program -----------------------------------------------------------------


def buffer(*sizes) -> BufferLayout:
    return BufferLayout(DType.float32, list(sizes), CPU())


@pytest.mark.parametrize("n", [1, 5])
def test_a_program_writes_into_its_buffer(n):
    def fn(b, x):
        b[-1] = x
        b[0:1] = b[0:1] * 10
        return b[0] + 0

    program = compile(fn)(buffer("n", 2), layout(2))
    b, want = Tensor(counted(n, 2)), counted(n, 2)
    want[-1] = [7, 8]
    want[0] *= 10
    first = program(b, Tensor([7.0, 8.0]))
    np.testing.assert_array_equal(b.to_numpy(), want)
    np.testing.assert_array_equal(first.to_numpy(), want[0])


def test_a_size_that_a_write_does_not_fit_is_refused():
    def fn(b, x):
        b[0] = x

    with pytest.raises(IndexError, match="below 0, the size of its axis, got 0"):
        compile(fn)(buffer("n"), layout())(Tensor(counted(0)), Tensor(1.0))


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("i", [0, 2, -1, -3])
def test_a_program_writes_at_a_position(i, step):
    def fn(b, x, i):
        b[i, ::step] = x

    program = compile(fn)(buffer("n", 4), layout(4 // step), layout(dtype=DType.int64))
    b, want = Tensor(counted(3, 4)), counted(3, 4)
    want[i, ::step] = 9 + counted(4 // step)
    program(b, Tensor(9 + counted(4 // step)), position(i))
    np.testing.assert_array_equal(b.to_numpy(), want)


@pytest.mark.parametrize("i", [3, 9, -4, -9])
def test_a_write_out_of_range_is_left_out_of_a_program(i):
    def fn(b, x, i):
        b[i] = x

    program = compile(fn)(buffer("n", 2), layout(2), layout(dtype=DType.int64))
    b = Tensor(counted(3, 2))
    program(b, Tensor([7.0, 8.0]), position(i))
    np.testing.assert_array_equal(b.to_numpy(), counted(3, 2))
    with pytest.raises(IndexError, match=f"the size of its axis, got {i}"):
        b[position(i)] = Tensor([7.0, 8.0])


def test_only_buffers_are_written_in_a_program():
    def fn(x, y):
        x[0] = y

    with pytest.raises(TypeError, match="Stage it by BufferLayout"):
        stage(fn)(layout(2), layout())


# Writing on a mesh --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "placed", "value", "lands"),
    [
        (0, "R", "R", "R"),
        (0, "S1", "S0", "S1"),
        (np.s_[:, 1:3], "S0 R", "S0 R", "S0 R"),
        (np.s_[::2], "S1 P", "S1 P", "S1 P"),
        ((), "S0 S1", "S0 S1", "S0 S1"),
        (np.s_[:, 0], "P S0", "P S0", "P S0"),
        (np.s_[:, ::-1], "S0 R", "S0 R", "S0 R"),
    ],
    ids=str,
)
def test_a_write_on_a_mesh_stays_where_it_is(index, placed, value, lands):
    x = counted(4, 4)
    check_sharded(
        write(index), (x, placed), (20 + counted(*x[index].shape), value), lands=lands
    )


def test_a_value_is_moved_where_the_region_allows_it_but_never_the_target():
    x, row = place(counted(4, 4), "S1"), place(counted(4), "R")
    with pytest.raises(ShardingError, match="slice_update"):
        x[0] = row
    with auto_reshard(mode="silent"):
        x[0] = row
        np.testing.assert_array_equal(x.to_numpy()[0], counted(4))
        assert x.placements == (Sharded(1),)
        with pytest.raises(ShardingError, match="must leave its target as it is"):
            place(counted(4, 4), "S0")[0] = row


def test_a_value_on_one_device_goes_into_a_whole_target():
    x = place(counted(4, 4), "R")
    x[1] = Tensor(counted(4))
    np.testing.assert_array_equal(x.to_numpy()[1], counted(4))


@pytest.mark.parametrize("placed", ["R R", "S0 S1", "S0 P", "S1 R"])
def test_a_number_is_written_wherever_a_tensor_lies(placed):
    x = place(counted(4, 4), placed)
    before = x.mapping
    x[:] = 7
    assert x.mapping == before
    np.testing.assert_array_equal(x.to_numpy(), np.full((4, 4), 7, np.float32))


def test_a_value_that_is_broadcast_must_be_whole_there():
    x = place(counted(4, 4), "S0")
    x[:] = place(counted(4), "R")
    np.testing.assert_array_equal(x.to_numpy(), np.tile(counted(4), (4, 1)))
    with pytest.raises(TypeError, match="cannot stand next to a distributed tensor"):
        x[:] = np.zeros(4)


@pytest.mark.parametrize("index", [0, np.s_[1:3], np.s_[::2], np.s_[::-1]], ids=str)
def test_a_write_to_whole_axes_needs_no_communication(index):
    mapping = DeviceMapping(cpu_mesh(2), (Sharded(1),))

    def fn(b, x):
        b[index] = x[index]

    placed = TensorLayout(DType.float32, [4, 4], mapping)
    assert compile(fn)(placed.as_buffer(), placed).collectives() == []
