"""Arrays of positions and masks between the brackets of ``x[...]``."""

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
from tests.functional._cross import INTEGERS, NUMBERS, check, check_sharded, place
from tests.sharding.meshes import cpu_mesh

DTYPES = [*NUMBERS, np.dtype(bool)]
FOUR = np.array([0, 2, 1, -1])
TWO = np.array([[1], [-2]])


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


# Positions ----------------------------------------------------------------------------

PICKS = [
    lambda i, j: i,
    lambda i, j: (i, i % 2),
    lambda i, j: (i, j),
    lambda i, j: (slice(None), j),
    lambda i, j: (slice(None), i % 2, i % 3),
    lambda i, j: (i, slice(None), i % 3),
    lambda i, j: (i, slice(None), j),
    lambda i, j: (0, slice(None), j),
    lambda i, j: (0, j),
    lambda i, j: (j, -1),
    lambda i, j: (..., i % 2, j),
    lambda i, j: (i, ..., i % 3),
    lambda i, j: (slice(1, 4), j, slice(None, None, -2)),
    lambda i, j: (slice(None, None, -1), i % 2, slice(1, 2)),
    lambda i, j: (slice(1, 3), ..., 0, j),
]
NEW_AXES = [
    lambda i, j: (None, i),
    lambda i, j: (slice(None), i % 2, None, i % 3),
    lambda i, j: (None, slice(None), None, j, None),
    lambda i, j: (0, None, j),
]


@pytest.mark.parametrize("number", range(len(PICKS) + len(NEW_AXES)))
def test_positions_pick_as_numpy_s(number):
    index = (PICKS + NEW_AXES)[number]
    x = counted(4, 3, 3)
    want = x[index(FOUR, TWO)]
    check(lambda t, i, j: t[index(i, j)], x, FOUR, TWO, want=want)
    np.testing.assert_array_equal(Tensor(x)[index(FOUR, TWO)].to_numpy(), want)


def test_arrays_are_constants_of_a_program():
    x = counted(4, 3)
    check(lambda t: t[FOUR, 1], x, want=x[FOUR, 1])
    check(lambda t: t[:2, TWO], x, want=x[:2, TWO])


def test_an_ellipsis_of_no_axes_stands_in_between():
    x = counted(4, 3, 3)
    want = x[:, FOUR % 2, ..., FOUR % 3]
    assert want.shape == (4, 4)
    check(lambda t, i: t[:, i % 2, ..., i % 3], x, FOUR, want=want)


@pytest.mark.parametrize("number", range(len(PICKS)))
def test_positions_are_written_as_by_numpy(number):
    index = PICKS[number]
    x = counted(4, 3, 3)
    want = x.copy()
    value = -1 - counted(*x[index(FOUR, TWO)].shape)
    want[index(FOUR, TWO)] = value

    def fn(t, value, i, j):
        y = F.concat([t])
        y[index(i, j)] = value
        return y

    check(fn, x, value, FOUR, TWO, want=want, named=False)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_elements_of_any_dtype_are_picked_and_written(dtype):
    x, rows = counted(3, 2, dtype=dtype), np.array([2, 0])
    check(lambda t, i: t[i], x, rows, want=x[rows], named=False)
    want = x.copy()
    want[rows, 1] = 1
    check(written(lambda i: (i, 1), 1), x, rows, want=want, named=False)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_positions_of_any_dtype(dtype):
    """JAX counts from the end in the dtype of the positions, where 300 has no place."""
    x = counted(300, 2)
    rows = np.array([1, 0] if dtype.kind == "u" else [-100, -1], dtype)
    check(lambda t, i: t[i, 1], x, rows, want=x[rows.astype(int), 1])


def test_positions_of_two_dtypes():
    x, i, j = counted(3, 3), np.array([0, 2], np.int32), np.array([1, 2], np.uint8)
    check(lambda t, i, j: t[i, j], x, i, j, want=x[i, j])


@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_nothing_is_picked(shape):
    none = np.zeros(shape, np.int64)
    check(lambda t, i: t[i], counted(4, 3), none, want=counted(4, 3)[none])
    check(lambda t, i: t[i], counted(0, 3), none, want=counted(0, 3)[none])


@pytest.mark.parametrize(
    ("index", "error", "match"),
    [
        (np.array([0, 4]), ValueError, "from -4 to 4 - 1, got 0 to 4"),
        (np.array([-5, 0]), ValueError, "from -4 to 4 - 1, got -5 to 0"),
        (
            (FOUR, np.array([0, 1, 2])),
            ValueError,
            "sizes must be equal or 1, got 4 and 3",
        ),
        ((FOUR, FOUR, 0), ValueError, "at most one entry per axis, got 3"),
        ((4, FOUR), ValueError, "at least -4 and below 4, the size of its axis, got 4"),
        (np.array([0.0]), TypeError, "integers or bools, got float64"),
        (np.ma.array([1, 2]), TypeError, "got a masked array"),
        (([0, 1], [1, 2]), TypeError, "must be an int, a Dim or None, got list"),
        (np.ones(3, bool), ValueError, r"the axes it stands for, \[4\], got \[3\]"),
        ((0, np.ones(4, bool)), ValueError, r"stands for, \[3\], got \[4\]"),
        (np.ones((4, 2), bool), ValueError, r"stands for, \[4, 3\], got \[4, 2\]"),
        (np.ones((4, 3, 1), bool), ValueError, "one entry per axis, got 3"),
        (np.array(True), TypeError, "must be an int, a Dim or None, got bool"),
    ],
    ids=str,
)
def test_what_is_no_index_here_is_refused(index, error, match):
    x = Tensor(counted(4, 3))
    with pytest.raises(error, match=match):
        _ = x[index]
    out_of_range = (
        "got -5 to 0" in match or "got 0 to 4" in match or "got 4" == match[-5:]
    )
    with pytest.raises(IndexError if out_of_range else error, match=match):
        x[index] = 0
    np.testing.assert_array_equal(x.to_numpy(), counted(4, 3))


def test_positions_in_a_tensor_are_checked_where_they_can_be_seen():
    x, rows = Tensor(counted(4, 3)), Tensor(np.array([0, 4]))
    with pytest.raises(ValueError, match="from -4 to 4 - 1, got 0 to 4"):
        _ = x[rows]
    with pytest.raises(IndexError, match="from -4 to 4 - 1, got 0 to 4"):
        x[rows] = 1


def test_positions_out_of_range_give_nan_in_a_program_and_are_not_written():
    rows = Tensor(np.array([3, -5, 4, -4]))
    program = compile(lambda x, i: x[i, 0])(
        layout("n", 3), layout(4, dtype=DType.int64)
    )
    got = program(Tensor(counted(4, 3)), rows).to_numpy()
    np.testing.assert_array_equal(got, [9, np.nan, np.nan, 0])

    def fn(b, i):
        b[i, 1:] = -1

    x, want = Tensor(counted(4, 3)), counted(4, 3)
    want[[0, 3], 1:] = -1
    compile(fn)(buffer("n", 3), layout(4, dtype=DType.int64))(x, rows)
    np.testing.assert_array_equal(x.to_numpy(), want)


@pytest.mark.parametrize("n", [0, 1])
def test_an_axis_without_elements_has_nothing_to_pick(n):
    program = compile(lambda x, i: x[:, i])(
        layout(2, "n"), layout(3, dtype=DType.int64)
    )
    x, i = Tensor(counted(2, n)), Tensor(np.zeros(3, np.int64))
    if n:
        assert program(x, i).shape == [2, 3]
    else:
        with pytest.raises(ValueError, match="an axis of size 0 has no elements"):
            program(x, i)


def test_a_read_of_other_positions_runs_the_same_program():
    x = Tensor(counted(7, 3))
    _ = x[np.array([0, 1]), 2], x[Tensor(np.array([0, 1])), 1:]
    known = len(_dispatch._executables)
    for k in range(3):
        rows = np.array([k, 2 * k])
        np.testing.assert_array_equal(x[rows, k].to_numpy(), counted(7, 3)[rows, k])
        assert x[Tensor(rows), k % 2 : k % 2 + 2].shape == [2, 2]
    assert len(_dispatch._executables) == known


def test_of_several_values_for_one_element_the_last_is_kept():
    """On a CPU, as by numpy."""
    rows = np.array([1, 0, 1, 1])
    x, want = counted(3, 2), counted(3, 2)
    want[rows] = value = -1 - counted(4, 2)

    def fn(x, value, rows):
        y = F.concat([x])
        y[rows] = value
        return y

    check(fn, x, value, rows, want=want, named=False)


def test_adding_to_picked_elements_adds_once():
    x, want = Tensor(counted(4, 3)), counted(4, 3)
    alias, rows = x, np.array([2, 0, 2])
    x[rows, 1:] += 10
    want[rows, 1:] += 10
    x[x > 11] *= 2
    want[want > 11] *= 2
    np.testing.assert_array_equal(alias.to_numpy(), want)


@pytest.mark.parametrize(
    "index",
    [np.array([0, 5]), (slice(None), np.array([1])), np.eye(64, dtype=bool)],
    ids=["rows", "columns", "mask"],
)
def test_a_write_reuses_the_memory(index):
    x = Tensor(counted(64, 64)) + 0
    x[index] = 1
    address = x._stored().unsafe_buffer_pointer()
    x[index] = 2
    assert x._stored().unsafe_buffer_pointer() == address


# On a mesh ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "placed", "positions", "lands"),
    [
        (lambda i: i, "S1 P", "R R", "S1 P"),
        (lambda i: i, "R R", "S0 R", "S0 R"),
        (lambda i: (slice(None), i), "S0 R", "R R", "S0 R"),
        (lambda i: (slice(None), i), "S0 R", "R S0", "S0 S1"),
        (lambda i: (i, slice(None), i), "S1 R", "R S0", "S1 S0"),
        (lambda i: (slice(None), None, 0, i), "S0 P", "R R", "S0 P"),
        (lambda i: (slice(None, None, -1), i), "S2", "R", "S2"),
        (lambda i: (i, i[:, None] * 0 + 1), "R", "R", "R"),
    ],
)
def test_positions_on_a_mesh(index, placed, positions, lands):
    rows = np.array([1, 3, 0, 2])
    check_sharded(
        lambda t, i: t[index(i)],
        (counted(4, 4, 4), placed),
        (rows, positions),
        lands=lands,
    )


@pytest.mark.parametrize(
    ("index", "placed", "value", "lands"),
    [
        (lambda i: i, "S1 P", "S1 P", "S1 P"),
        (lambda i: (slice(None), i), "S0 R", "S0 R", "S0 R"),
        (lambda i: (i, slice(None), i), "S1", "S1", "S1"),
        (lambda i: (slice(1, 3), i), "S2", "S2", "S2"),
    ],
)
def test_positions_are_written_on_a_mesh(index, placed, value, lands):
    rows = np.array([1, 3])
    x = counted(4, 4, 4)

    def fn(t, value, i):
        y = F.concat([t])
        y[index(i)] = value
        return y

    values = 100 + counted(*x[index(rows)].shape)
    whole = " ".join("R" for _ in placed.split())
    check_sharded(fn, (x, placed), (values, value), (rows, whole), lands=lands)


def test_an_axis_that_is_looked_up_must_be_whole():
    x, rows = place(counted(4, 4), "S0"), np.array([1, 3])
    with pytest.raises(ShardingError, match="index"):
        _ = x[rows]
    with pytest.raises(ShardingError, match="index_update"):
        x[rows] = 0
    with auto_reshard(mode="silent"):
        np.testing.assert_array_equal(x[rows].to_numpy(), counted(4, 4)[rows])


def test_a_write_on_whole_axes_needs_no_communication():
    mapping = DeviceMapping(cpu_mesh(2), (Sharded(1),))

    def fn(b, x):
        b[np.array([0, 3])] = x[np.array([1, 2])]

    placed = TensorLayout(DType.float32, [4, 4], mapping)
    assert compile(fn)(placed.as_buffer(), placed).collectives() == []
