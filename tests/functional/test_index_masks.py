"""Masks between the brackets of ``x[...]``: tensors and arrays of bools."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.functional import _dispatch
from maxlite.sharding import (
    BufferLayout,
    DeviceMapping,
    Sharded,
    ShardingError,
    TensorLayout,
    auto_reshard,
)
from maxlite.tensor import Tensor
from tests.functional._cross import check, check_sharded, place
from tests.sharding.meshes import cpu_mesh


def layout(*sizes, dtype=DType.float32) -> TensorLayout:
    return TensorLayout(dtype, list(sizes), CPU())


def buffer(*sizes) -> BufferLayout:
    return layout(*sizes).as_buffer()


def counted(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def written(index, value: Any):
    """Writes into a copy, which is then the result."""

    def fn(x, *others):
        y = F.concat([x])
        y[index(*others)] = value
        return y

    return fn


ROWS = np.array([True, False, True, True])
INNER = np.array([False, True, True])
PAIRS = counted(4, 3) % 3 == 1
MARKS = [
    (lambda m: m, ROWS),
    (lambda m: m, PAIRS),
    (lambda m: (m, slice(1, 3)), ROWS),
    (lambda m: (slice(1, 4, 2), m), INNER),
    (lambda m: (..., m), INNER),
    (lambda m: (slice(None, None, -1), m, 0), INNER),
    (lambda m: (1, slice(None), m), INNER),
    (lambda m: (1, m, slice(None, None, 2)), INNER),
    (lambda m: (m, -1), PAIRS),
    (lambda m: m, np.zeros((4, 3), bool)),
    (lambda m: m, np.ones((4, 3, 3), bool)),
]
IDS = [str(i) for i in range(len(MARKS))]


@pytest.mark.parametrize(("index", "mask"), MARKS, ids=IDS)
def test_a_mask_keeps_what_it_marks(index, mask):
    x = counted(4, 3, 3)
    want = x[index(mask)]
    check(lambda t, m: t[index(m)], x, mask, want=want, named=False)
    np.testing.assert_array_equal(Tensor(x)[index(mask)].to_numpy(), want)


@pytest.mark.parametrize(("index", "mask"), MARKS, ids=IDS)
def test_a_number_is_written_where_a_mask_marks(index, mask):
    x = counted(4, 3, 3)
    want = x.copy()
    want[index(mask)] = -1
    check(written(index, -1), x, mask, want=want)
    target = Tensor(x)
    target[index(mask)] = -1
    np.testing.assert_array_equal(target.to_numpy(), want)


@pytest.mark.parametrize(("index", "mask"), MARKS, ids=IDS)
def test_values_are_written_where_a_mask_marks(index, mask):
    x = counted(4, 3, 3)
    want = x.copy()
    value = -1 - counted(*x[index(mask)].shape)
    want[index(mask)] = value

    def fn(t, value, m):
        y = F.concat([t])
        y[index(m)] = value
        return y

    check(fn, x, value, mask, want=want, named=False)


@pytest.mark.parametrize("shape", [(3,), (1, 3), (3, 1, 1), (1, 1)], ids=str)
def test_what_is_written_to_marked_rows_broadcasts(shape):
    x, value = counted(4, 3, 3), 100 + counted(*shape)
    want = x.copy()
    want[ROWS] = value

    def fn(t, value, m):
        y = F.concat([t])
        y[m] = value
        return y

    check(fn, x, value, ROWS, want=want, named=False)


def test_a_mask_beside_positions():
    x, columns = counted(4, 3), np.array([2, 0, 1])
    check(lambda t, i: t[ROWS, i], x, columns, want=x[ROWS, columns], named=False)
    want = x.copy()
    want[ROWS, columns] = 7
    check(written(lambda i: (ROWS, i), 7), x, columns, want=want, named=False)


def test_two_masks_mark_pairs():
    x = counted(4, 3)
    two = np.array([True, False, False, True])
    check(lambda t: t[two, INNER], x, want=x[two, INNER], named=False)


def test_a_mask_in_a_program_gives_a_size_known_at_run_time():
    def fn(x):
        marked = x[x > 2]
        y = x + 0
        y[y > 2] = marked * 10
        return marked, y

    program = compile(fn)(layout("n"))
    assert [str(d) for d in program.out_layouts[0].shape] == ["nonzero_0"]
    for n in (2, 5):
        marked, y = program(Tensor(counted(n)))
        x = counted(n)
        np.testing.assert_array_equal(marked.to_numpy(), x[x > 2])
        np.testing.assert_array_equal(y.to_numpy(), np.where(x > 2, 10 * x, x))


def test_values_for_a_mask_in_a_program_must_be_as_many_as_it_marks():
    def fn(b, mask, value):
        b[mask] = value

    program = compile(fn)(buffer(4), layout(4, dtype=DType.bool), layout(2))
    x, value = Tensor(counted(4)), Tensor([8.0, 9.0])
    program(x, Tensor(np.array([True, False, False, True])), value)
    assert x.to_numpy().tolist() == [8.0, 1.0, 2.0, 9.0]
    with pytest.raises(ValueError, match="the size must be as stated, got 3 for 2"):
        program(x, Tensor(ROWS), value)
    with pytest.raises(ValueError, match=r"float32\[3\], got float32\[2\]"):
        Tensor(counted(4))[Tensor(ROWS)] = value


def test_a_mask_of_a_pending_size_is_computed():
    with F.lazy():
        marked = Tensor(counted(6))[Tensor(counted(6) % 2 == 0)]
    assert marked[marked > 1].to_numpy().tolist() == [2.0, 4.0]
    assert marked[np.array([True, False, True])].to_numpy().tolist() == [0.0, 4.0]


def test_reads_by_masks_share_few_programs():
    x = Tensor(counted(40))
    _ = x[x < 3]
    known = len(_dispatch._executables)
    for count in range(1, 17):
        assert x[counted(40) < count].shape == [count]
    assert len(_dispatch._executables) == known


# On a mesh ----------------------------------------------------------------------------


@pytest.mark.parametrize("placed", ["S0", "S1 S0", "R S1"])
def test_a_number_is_written_on_a_mesh_where_a_mask_marks(placed):
    x, mask = counted(4, 4), counted(4, 4) % 3 == 0
    check_sharded(written(lambda m: m, -1), (x, placed), (mask, placed), lands=placed)
    target, want = place(x, placed), x.copy()
    target[mask], want[mask] = -1, -1
    np.testing.assert_array_equal(target.to_numpy(), want)


def test_a_mask_that_is_cut_is_not_gathered_silently():
    mask = place(counted(4) > 1, "S0")
    for x in (Tensor(counted(4)), place(counted(4), "R")):
        with pytest.raises(ShardingError, match="nonzero"):
            _ = x[mask]
    with auto_reshard(mode="silent"):
        assert place(counted(4), "R")[mask].to_numpy().tolist() == [2.0, 3.0]


def test_a_write_to_what_a_mask_marks_needs_no_communication():
    def fn(b, x):
        b[x > 3] = 0

    mapping = DeviceMapping(cpu_mesh(2), (Sharded(1),))
    placed = TensorLayout(DType.float32, [4, 4], mapping)
    assert compile(fn)(placed.as_buffer(), placed).collectives() == []
