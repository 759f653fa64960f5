"""Repeating, padding and blanking out: tile, pad, band_part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile, stage
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import ShardingError, TensorLayout
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, check, check_sharded, place


def layout(*sizes) -> TensorLayout:
    return TensorLayout(DType.float32, list(sizes), CPU())


def counted(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


# tile ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "repeats"),
    [((2,), [3]), ((1, 2), (2, 2)), ((2, 0), [2, 1]), ((), []), ((2, 3), [1, 1])],
)
def test_tile_repeats_the_whole(shape, repeats):
    x = counted(*shape)
    check(lambda t: F.tile(t, repeats), x, want=np.tile(x, repeats))


@pytest.mark.parametrize("n", [0, 1, 5])
def test_tile_takes_named_numbers(n):
    program = compile(lambda x: F.tile(x, ["n", 2]))(layout("n", "m"))
    assert [str(dim) for dim in program.out_layouts[0].shape] == ["n * n", "m * 2"]
    x = counted(n, 3)
    np.testing.assert_array_equal(program(Tensor(x)).to_numpy(), np.tile(x, (n, 2)))


@pytest.mark.parametrize("repeats", [[2], [2, 2, 2], [0, 1], [-1, 1]])
def test_tile_wants_one_number_per_axis(repeats):
    with pytest.raises(ValueError, match="one number of 1 or more per axis"):
        F.tile(Tensor(counted(1, 2)), repeats)


@pytest.mark.parametrize(
    ("fn", "placed", "lands"),
    [
        (lambda t: F.tile(t, [2, 1]), "S1 P", "S1 P"),
        (lambda t: F.tile(t, [2, 2]), "R", "R"),
        (lambda t: F.tile(t, [1, 1]), "S0 S1", "S0 S1"),
    ],
)
def test_tile_on_a_mesh(fn, placed, lands):
    check_sharded(fn, (counted(4, 4), placed), lands=lands)


def test_a_tiled_axis_must_be_whole():
    with pytest.raises(ShardingError, match="tile"):
        F.tile(place(counted(4, 4), "S0"), [2, 1])


# pad ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize(
    ("shape", "paddings"),
    [
        ((3,), [1, 2]),
        ((3,), [7, 5]),
        ((1,), [2, 1]),
        ((2, 3), [0, 1, 2, 0]),
        ((2, 3), [0, 0, 0, 0]),
        ((0, 2), [0, 0, 1, 1]),
        ((), []),
    ],
)
def test_pad_is_numpy_s(shape, paddings, mode):
    x = counted(*shape)
    widths = list(zip(paddings[::2], paddings[1::2], strict=True))
    want = np.pad(x, widths, mode) if shape else x
    check(lambda t: F.pad(t, paddings, mode), x, want=want)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_pad_takes_a_value_of_any_dtype(dtype):
    x = counted(2, 3, dtype=dtype)
    want = np.pad(x, ((1, 0), (0, 2)), constant_values=7)
    check(lambda t: F.pad(t, [1, 0, 0, 2], value=7), x, want=want, named=False)


def test_pad_tells_minus_zero_and_nan_from_zero():
    x = Tensor([1.0])
    for value in (0, -0.0, float("nan"), float("inf"), 0.0):
        want = np.array([1.0, value], np.float32)
        got = F.pad(x, [0, 1], value=value).to_numpy()
        assert got.tobytes() == want.tobytes()


def test_pad_takes_a_value_that_is_computed():
    check(
        lambda t, v: F.pad(t, [1, 1], value=v),
        counted(3),
        np.array(9.0, np.float32),
        want=np.array([9, 0, 1, 2, 9], np.float32),
    )
    with pytest.raises(ValueError, match=r"rank 0 and dtype float32, got float32\[1\]"):
        F.pad(Tensor([1.0]), [1, 1], value=Tensor([2.0]))


@pytest.mark.parametrize(("mode", "n"), [("constant", 0), ("edge", 1), ("reflect", 5)])
def test_pad_of_a_named_size_adds_to_it(mode, n):
    program = compile(lambda x: F.pad(x, [1, 2], mode))(layout("n"))
    assert str(program.out_layouts[0].shape[0]) == "n + 3"
    want = np.pad(counted(n), (1, 2), mode)
    np.testing.assert_array_equal(program(Tensor(counted(n))).to_numpy(), want)


@pytest.mark.parametrize("mode", ["edge", "reflect"])
def test_pad_cannot_continue_what_is_empty(mode):
    with pytest.raises(ValueError, match=f"has no values to {mode}, got shape"):
        F.pad(Tensor(counted(0)), [1, 0], mode)
    program = compile(lambda x: F.pad(x, [1, 0], mode))(layout("n"))
    with pytest.raises(ValueError, match=f"has no values to {mode}, got shape"):
        program(Tensor(counted(0)))


@pytest.mark.parametrize(
    ("paddings", "options", "error", "match"),
    [
        ([1], {}, ValueError, "two numbers of 0 or more per axis"),
        ([1, 1, 0, 0], {}, ValueError, "two numbers of 0 or more per axis"),
        ([-1, 1], {}, ValueError, "two numbers of 0 or more per axis"),
        ([1, 1], {"mode": "wrap"}, ValueError, "mode must be .* got 'wrap'"),
        ([1.0, 1], {}, TypeError, "a padding must be an int, got float"),
        ([(1, 1)], {}, TypeError, "a padding must be an int, got tuple"),
        ([1, 1], {"value": 1.5}, ValueError, "1.5"),
        ([1, 1], {"value": "a"}, TypeError, "got str"),
    ],
)
def test_pad_refuses_what_does_not_fit(paddings, options, error, match):
    with pytest.raises(error, match=match):
        F.pad(Tensor(counted(3, dtype=np.int32)), paddings, **options)


@pytest.mark.parametrize(
    ("fn", "placed", "lands"),
    [
        (lambda t: F.pad(t, [1, 1, 0, 0]), "S1 P", "S1 P"),
        (lambda t: F.pad(t, [1, 1, 0, 0], "edge"), "S1 P", "S1 P"),
        (lambda t: F.pad(t, [1, 1, 0, 0], "reflect"), "S1", "S1"),
        (lambda t: F.pad(t, [1, 1, 0, 0], value=5), "S1 R", "S1 R"),
        (lambda t: F.pad(t, [0, 0, 0, 0]), "S0", "S0"),
    ],
)
def test_pad_on_a_mesh(fn, placed, lands):
    check_sharded(fn, (counted(4, 4), placed), lands=lands)


def test_pad_would_add_a_value_once_per_part_of_a_sum():
    with pytest.raises(ShardingError, match="pad"):
        F.pad(place(counted(4, 4), "P"), [1, 1, 0, 0], value=5)


# band_part ----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (1, 1), (0, 3)])
@pytest.mark.parametrize(
    ("lower", "upper"), [(None, 0), (0, None), (0, 0), (None, -1), (-1, None)]
)
@pytest.mark.parametrize("exclude", [False, True])
def test_band_part_keeps_a_band(shape, lower, upper, exclude):
    x = counted(*shape) + 1
    rows, columns = np.indices(shape[-2:])
    inside = np.ones(shape[-2:], bool)
    if lower not in (None, -1):
        inside &= rows - columns <= lower
    if upper not in (None, -1):
        inside &= columns - rows <= upper
    want = np.where(inside ^ exclude, x, np.float32(0))
    check(lambda t: F.band_part(t, lower, upper, exclude), x, want=want)


@pytest.mark.parametrize("dtype", [*NUMBERS, np.dtype(bool)], ids=str)
def test_band_part_takes_any_dtype(dtype):
    x = np.ones((3, 3)).astype(dtype)
    check(lambda t: F.band_part(t, 1, 0), x, want=np.tril(np.triu(x, -1)), named=False)


@pytest.mark.parametrize(
    ("shape", "limits", "match"),
    [
        ((3,), (0, 0), "at least two axes"),
        ((3, 3), (-2, 0), "num_lower must be -1 or more"),
        ((3, 3), (3, 0), "num_lower .* got 3 for size 3"),
        ((3, 4), (0, 4), "num_upper .* got 4 for size 4"),
    ],
)
def test_band_part_refuses_what_does_not_fit(shape, limits, match):
    with pytest.raises(ValueError, match=match):
        F.band_part(Tensor(counted(*shape)), *limits)


def test_band_part_of_named_sizes_has_no_limit_to_check():
    program = compile(lambda x: F.band_part(x, 4, 4))(layout("n", "m"))
    x = counted(2, 3)
    np.testing.assert_array_equal(program(Tensor(x)).to_numpy(), x)


@pytest.mark.parametrize(("placed", "lands"), [("S0 P", "S0 P"), ("R", "R")])
def test_band_part_on_a_mesh(placed, lands):
    x = counted(4, 4, 4)
    check_sharded(lambda t: F.band_part(t, 0, 1), (x, placed), lands=lands)
    with pytest.raises(ShardingError, match="band_part"):
        F.band_part(place(x, "S1"), 0, 1)


def test_these_ops_are_printed_with_named_sizes():
    def fn(x):
        return F.band_part(F.pad(F.tile(x, [2, 1]), [1, 0, 0, 0], value=2), 0, None)

    assert not str(stage(fn)(layout("n", "m"))).startswith("// Shown at")
