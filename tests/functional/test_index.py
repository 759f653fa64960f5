"""What may stand between the brackets of ``x[...]``, and what it picks."""

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
    TensorLayout,
)
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, check

N, K = Dim("n"), Dim("k")
DTYPES = [*NUMBERS, np.dtype(bool)]


def layout(*sizes, dtype=DType.float32) -> TensorLayout:
    return TensorLayout(dtype, list(sizes), CPU())


def counted(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def position(value: int, dtype=np.int64) -> Tensor:
    return Tensor(np.array(value, dtype))


INDICES = [
    (),
    0,
    -1,
    np.s_[1:3],
    np.s_[:],
    np.s_[-2:],
    np.s_[:-1, 1],
    np.s_[::2, ::3],
    np.s_[1:4:2, -1],
    np.s_[2:2],
    np.s_[4:],
    np.s_[...],
    np.s_[..., 0],
    np.s_[1, ..., 2],
    np.s_[None],
    np.s_[:, None, 1, None],
    np.s_[None, ..., None],
    np.s_[0, None, 1:],
    np.s_[0, 1],
    np.s_[::-1],
    np.s_[::-2, ::-3],
    np.s_[3:0:-1],
    np.s_[3:1:-2, 0],
    np.s_[-2::-1],
    np.s_[:1:-1, None, ::2],
    np.s_[2:2:-1],
    np.s_[:-5:-1],
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_slice_is_numpy_s(index):
    x = counted(4, 3)
    check(lambda t: t[index], x, want=x[index])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_slice_of_any_dtype(dtype):
    x = counted(3, 2, dtype=dtype)
    check(lambda t: t[1:, 0], x, want=x[1:, 0], named=False)


@pytest.mark.parametrize(
    "index", [np.s_[0:0], np.s_[:], np.s_[:, 0], np.s_[::2], np.s_[::-2]]
)
def test_a_slice_of_nothing(index):
    x = counted(0, 2)
    check(lambda t: t[index], x, want=x[index])


def test_lists_are_read_as_tuples():
    x = counted(2, 3)
    check(lambda t: F.slice_tensor(t, [1, slice(0, 2)]), x, want=x[1, 0:2])
    check(lambda t: t[[1, 2]], x, want=x[1, 2])
    check(lambda t: t[np.int64(1)], x, want=x[1])
    check(lambda t: t[np.array(1), 0], x, want=x[1, 0])
    check(lambda t: t[Dim(1)], x, want=x[1])


def test_a_slice_is_a_copy():
    x = Tensor([1.0, 2.0])
    everything, first = x[:], x[0]
    x[0] = Tensor(9.0)
    assert everything.to_numpy().tolist() == [1.0, 2.0]
    assert first.item() == 1.0


def test_a_tensor_is_iterated_by_rows():
    rows = [row.to_numpy().tolist() for row in Tensor(counted(3, 2))]
    assert rows == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


@pytest.mark.parametrize(
    ("index", "match"),
    [
        (5, "at least -4 and below 4, the size of its axis, got 5"),
        (-5, "at least -4 and below 4, the size of its axis, got -5"),
        (np.s_[1:100], r"0 <= start <= stop <= 4, got \[1:100\]"),
        (np.s_[-5:], r"0 <= start <= stop <= 4, got \[-5:\]"),
        (np.s_[5:], r"0 <= start <= stop <= 4, got \[5:\]"),
        (np.s_[3:1], r"0 <= start <= stop <= 4, got \[3:1\]"),
        (np.s_[::0], "a step must be a number other than 0, got 0"),
        (np.s_[4::-1], r"-1 <= stop <= start < 4, got \[4:\]"),
        (np.s_[-6::-1], r"-1 <= stop <= start < 4, got \[-6:\]"),
        (np.s_[1:2:-1], r"-1 <= stop <= start < 4, got \[1:2\]"),
        (np.s_[:-6:-2], r"-1 <= stop <= start < 4, got \[:-6\]"),
        ((0, 0, 0), "at most one entry per axis, got 3"),
        ((..., 0, ...), "at most one Ellipsis, got 2"),
        (Tensor([1.0]), r"of integers, or a mask of bools .* got float32\[1\]"),
        (Tensor(np.array(True)), r"of integers, or a mask of bools .* got bool\[\]"),
    ],
    ids=str,
)
def test_reading_out_of_range_is_a_value_error(index, match):
    with pytest.raises(ValueError, match=match):
        _ = Tensor(counted(4, 3))[index]


@pytest.mark.parametrize("index", [1.0, "a", True, np.s_[1.0:], [[0]], np.s_["a":]])
def test_what_is_no_index_is_a_type_error(index):
    with pytest.raises(TypeError, match="must be an int, a Dim or None, got"):
        _ = Tensor(counted(4, 3))[index]


def test_a_bound_that_is_a_tensor_is_not_supported():
    with pytest.raises(NotImplementedError, match="a Tensor is not supported"):
        _ = Tensor(counted(4))[position(1) :]


def test_a_scalar_has_no_axis_to_index():
    with pytest.raises(ValueError, match="at most one entry per axis, got 1"):
        _ = Tensor(1.0)[0]


@pytest.mark.parametrize(
    "read",
    [
        lambda x, i: x[i],
        lambda x, i: x[i : i + 2],
        lambda x, i: x[i + 2 : i : -1],
        lambda x, i: x[i, np.array([0, i % 3])],
    ],
)
def test_each_position_runs_the_same_program(read):
    """Loops would compile once per step otherwise."""
    x = Tensor(counted(7, 3))
    read(x, 0)
    known = len(_dispatch._executables)
    for i in range(1, 5):
        np.testing.assert_array_equal(
            read(x, i).to_numpy(), read(counted(7, 3), i), strict=True
        )
    assert len(_dispatch._executables) == known


# Reading at named sizes ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "shape", "sizes"),
    [
        (np.s_[1:], ["n + -1"], (1, 5)),
        (np.s_[:-1], ["n + -1"], (1, 5)),
        (np.s_[1:-1], ["n + -2"], (2, 5)),
        (np.s_[:3], ["3"], (3, 5)),
        (np.s_[-2:], ["2"], (2, 5)),
        (np.s_[::2], ["(n + 1) // 2"], (0, 1, 5)),
        (np.s_[1::2], ["n // 2"], (1, 5)),
        (np.s_[0], [], (1, 5)),
        (np.s_[-1], [], (1, 5)),
        (np.s_[:N], ["n"], (0, 1, 5)),
        (np.s_[: N // 2], ["n // 2"], (0, 1, 5)),
        (np.s_[N // 2 :], ["((n // 2) * -1) + n"], (0, 1, 5)),
        (np.s_[N - 1], [], (1, 5)),
        (np.s_[N - 2 : N], ["2"], (2, 5)),
        (np.s_[::-1], ["n"], (0, 1, 5)),
        (np.s_[::-2], ["(n + 1) // 2"], (0, 1, 2, 5)),
        (np.s_[-2::-1], ["n + -1"], (1, 5)),
        (np.s_[:0:-1], ["n + -1"], (1, 5)),
        (np.s_[N - 1 :: -1], ["n"], (1, 5)),
    ],
    ids=str,
)
def test_a_slice_of_a_named_size(index, shape, sizes):
    program = compile(lambda x: x[index])(layout("n"))
    assert [str(dim) for dim in program.out_layouts[0].shape] == shape
    for n in sizes:
        want = counted(n)[_at(index, n)]
        got = program(Tensor(counted(n))).to_numpy()
        np.testing.assert_array_equal(got, want, strict=True)


def _at(index, n: int):
    if isinstance(index, slice):
        return slice(_at(index.start, n), _at(index.stop, n), index.step)
    return index.evaluate({"n": n}) if isinstance(index, Dim) else index


def test_a_bound_may_be_the_size_of_another_argument():
    program = compile(lambda x, y: x[:, :K] + y)(layout("n", "m"), layout("k"))
    x, y = counted(2, 3), counted(2)
    np.testing.assert_array_equal(
        program(Tensor(x), Tensor(y)).to_numpy(), x[:, :2] + y
    )
    with pytest.raises(ValueError, match=r"0 <= start <= stop <= 3, got \[:4\]"):
        program(Tensor(x), Tensor(counted(4)))


@pytest.mark.parametrize(
    ("index", "n"),
    [
        (np.s_[1:], 0),
        (np.s_[:3], 2),
        (np.s_[0], 0),
        (np.s_[1:-1], 1),
        (np.s_[2::-1], 2),
    ],
)
def test_a_size_that_does_not_fit_is_refused_as_in_eager_code(index, n):
    x = Tensor(counted(n))
    with pytest.raises(ValueError, match=r"x\[\.\.\.\]"):
        _ = x[index]
    program = compile(lambda x: x[index])(layout("n"))
    with pytest.raises(ValueError, match=r"x\[\.\.\.\]"):
        program(x)


@pytest.mark.parametrize("index", [np.s_[2:1], np.s_[N + 1 :], np.s_[-1:-2]])
def test_what_never_fits_is_refused_while_staging(index):
    with pytest.raises(ValueError, match="a slice must have"):
        stage(lambda x: x[index])(layout("n"))


def test_a_name_means_nothing_outside_of_a_program():
    with pytest.raises(ValueError, match="every symbol of k must have a value"):
        _ = Tensor(counted(4))[:K]


# Positions known at run time ----------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_a_tensor_of_rank_0_is_a_position(dtype):
    x = counted(4, 3)
    check(
        lambda t, i: t[i, 1:],
        x,
        np.array(2, dtype),
        want=x[2, 1:],
    )


def test_a_position_counts_from_the_end_when_negative():
    x = counted(4, 3)
    check(lambda t, i: t[:, i], x, np.array(-3), want=x[:, -3])


@pytest.mark.parametrize("i", [4, -5])
def test_a_position_out_of_range_raises_where_it_can_be_seen(i):
    with pytest.raises(ValueError, match=f"below 4, the size of its axis, got {i}"):
        _ = Tensor(counted(4))[position(i)]


@pytest.mark.parametrize(("i", "found"), [(4, 3.0), (9, 3.0), (-5, 0.0), (-9, 0.0)])
def test_a_position_out_of_range_is_clamped_in_a_program(i, found):
    program = compile(lambda x, i: x[i])(layout("n"), layout(dtype=DType.int64))
    assert program(Tensor(counted(4)), position(i)).item() == found


def test_a_position_on_an_empty_axis_is_refused():
    program = compile(lambda x, i: x[i])(layout("n"), layout(dtype=DType.int64))
    with pytest.raises(ValueError, match="an axis of size 0 has no element"):
        program(Tensor(counted(0)), position(0))
