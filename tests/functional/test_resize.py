"""Resizing, against matrices of weights written from the definition."""

import math

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph._interpolation import InterpolationMode
from maxlite.sharding import ShardingError, TensorLayout
from maxlite.tensor import Tensor
from tests.functional._cross import (
    FLOATS,
    NUMBERS,
    check,
    check_eager,
    check_sharded,
    place,
)

ROW = np.array([0, 10, 3, 7, 1, 8, 2, 9], np.float32)
IMAGES = np.arange(48, dtype=np.float32).reshape(2, 2, 3, 4) ** 2 % 17


def position(i: int, old: int, new: int, mode: int) -> float:
    if mode == 1:
        return i * (old - 1) / (new - 1) if new > 1 else 0.0
    if mode == 2:
        return i * old / new
    if mode == 3 and new == 1:
        return 0.0
    return (i + 0.5) * old / new - 0.5


def triangle(d: float) -> float:
    return max(0.0, 1 - abs(d))


def cubic(d: float, a: float = -0.75) -> float:
    d = abs(d)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0


def matrix(old: int, new: int, mode: int, kernel=triangle, antialias=False):
    """Weighs every old element for every new one; what lies outside is the edge."""
    weights = np.zeros((new, old))
    scale = max(old / new, 1.0) if antialias and new else 1.0
    reach = math.ceil(2 * scale) + 1
    for i in range(new):
        at = position(i, old, new, mode)
        for k in range(math.floor(at) - reach, math.floor(at) + reach + 1):
            if antialias and not 0 <= k < old:
                continue
            weights[i, min(max(k, 0), old - 1)] += kernel((k - at) / scale)
    return weights / weights.sum(1, keepdims=True) if antialias else weights


def answer(x: np.ndarray, sizes, mode=0, kernel=triangle, antialias=False):
    made = x.astype(np.float64)
    for axis, new in enumerate(sizes):
        if new != x.shape[axis]:
            weights = matrix(x.shape[axis], new, mode, kernel, antialias)
            made = np.moveaxis(np.tensordot(weights, made, (1, axis)), 0, axis)
    return made.astype(x.dtype)


# Linear -------------------------------------------------------------------------------


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_positions_are_mapped_by_the_mode(mode, antialias):
    for new in (1, 3, 5, 8, 13):
        want = answer(ROW, [new], mode, antialias=antialias)
        check_eager(
            lambda x, n=new: F.resize_linear(x, [n], mode, antialias), ROW, want=want
        )


@pytest.mark.parametrize("antialias", [False, True])
def test_images_are_resized_along_two_axes(antialias):
    sizes = [2, 2, 2, 7]
    want = answer(IMAGES, sizes, antialias=antialias)
    check(lambda x: F.resize_linear(x, sizes, 0, antialias), IMAGES, want=want)


def test_sizes_may_depend_on_named_ones():
    want = answer(IMAGES, [2, 2, 6, 5])

    def double(x: Tensor) -> Tensor:
        n, c, height, width = x.shape
        return F.resize_linear(x, [n, c, height * 2, width + 1])

    check(double, IMAGES, want=want)


def test_a_size_may_be_a_name_of_its_own():
    layouts = [TensorLayout(DType.float32, [name], CPU()) for name in "nm"]
    program = compile(lambda x, y: F.resize_linear(x, y.shape) + y)(*layouts)
    assert program.out_layouts[0].shape == ["m"]
    for new in (4, 1):
        found = program(Tensor(ROW), Tensor(np.zeros(new, np.float32)))
        np.testing.assert_allclose(found.to_numpy(), answer(ROW, [new]), 1e-6)


@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 2, 2), (1, 2, 3, 2, 2)])
def test_every_axis_of_any_rank_may_change(shape):
    x = np.arange(math.prod(shape), dtype=np.float32).reshape(shape) % 5
    sizes = [size + 1 for size in shape]
    check_eager(lambda x: F.resize_linear(x, sizes), x, want=answer(x, sizes))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_each_float_dtype_is_kept(dtype):
    x = IMAGES.astype(dtype)
    sizes = [2, 2, 5, 2]
    check_eager(lambda x: F.resize_linear(x, sizes), x, want=answer(x, sizes))
    want = answer(x, sizes, kernel=cubic)
    check_eager(lambda x: F.resize_bicubic(x, sizes), x, want=want)


def test_halves_are_added_up_in_float32():
    """In float16 the weights of a thousand elements would not add up to 1."""
    x = np.full(4000, 3, np.float16)
    one = np.full(1, 3, np.float16)
    check_eager(lambda x: F.resize_linear(x, [1], antialias=True), x, want=one)


def test_the_same_size_changes_nothing():
    for mode in range(4):
        check_eager(lambda x, m=mode: F.resize_linear(x, [8], m), ROW, want=ROW)
    assert F.resize_nearest(Tensor(ROW), [8], 1, 3).to_numpy().tolist() == ROW.tolist()


def test_what_has_no_weight_does_not_count():
    """Its product with 0 would be NaN."""
    x = np.array([1, np.inf, 3, np.nan], np.float32)
    found = F.resize_linear(Tensor(x), [7], 1).to_numpy()
    np.testing.assert_array_equal(found, [1, np.inf, np.inf, np.inf, 3, np.nan, np.nan])


def test_a_result_may_be_empty():
    empty = np.zeros((0, 2), np.float32)
    for function in (F.resize_linear, F.resize_nearest):
        check_eager(
            lambda x, f=function: f(x, [0, 2]), np.ones((3, 2), np.float32), want=empty
        )
    assert F.resize_linear(Tensor(ROW), [0], 0, True).shape == [0]
    assert F.resize_linear(Tensor(empty), [0, 5]).shape == [0, 5]
    assert F.resize_linear(Tensor(3.0), []).item() == 3.0


# Nearest ------------------------------------------------------------------------------

HALVES = np.array([10, 20, 30, 40], np.float32)


@pytest.mark.parametrize(
    ("rounding", "want"),
    [
        (0, [10, 10, 20, 30, 30, 40]),
        (1, [10, 20, 20, 30, 40, 40]),
        (2, [10, 10, 20, 20, 30, 40]),
        (3, [10, 20, 30, 30, 40, 40]),
    ],
)
def test_positions_are_rounded_by_the_mode(rounding, want):
    positions = [position(i, 4, 6, 0) for i in range(6)]
    assert positions[1] == 0.5
    assert positions[4] == 2.5
    expected = np.array(want, np.float32)
    check(lambda x: F.resize_nearest(x, [6], 0, rounding), HALVES, want=expected)


@pytest.mark.parametrize("rounding", range(4))
@pytest.mark.parametrize("mode", range(4))
def test_the_nearest_element_is_repeated(mode, rounding):
    rounded = [
        lambda at: math.ceil(at - 0.5),
        lambda at: math.floor(at + 0.5),
        math.floor,
        math.ceil,
    ][rounding]
    for new in (1, 3, 5, 12):
        taps = [rounded(position(i, 8, new, mode)) for i in range(new)]
        want = ROW[np.clip(taps, 0, 7)]
        check_eager(
            lambda x, n=new: F.resize_nearest(x, [n], mode, rounding), ROW, want=want
        )


@pytest.mark.parametrize("dtype", [*NUMBERS, np.dtype(bool)], ids=str)
def test_elements_of_any_dtype_are_repeated(dtype):
    x = np.array([[0, 1], [1, 0]]).astype(dtype)
    want = np.repeat(np.repeat(x, 2, 0), 2, 1)
    check_eager(lambda x: F.resize_nearest(x, [4, 4]), x, want=want)


# Bicubic ------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[2, 2, 5, 9], [2, 2, 2, 3], [2, 2, 1, 4]])
def test_four_elements_make_a_cubic(sizes):
    want = answer(IMAGES, sizes, kernel=cubic)
    check_eager(lambda x: F.resize_bicubic(x, sizes), IMAGES, want=want)


def test_cubics_run_in_every_way():
    sizes = [2, 2, 4, 6]
    want = answer(IMAGES, sizes, kernel=cubic)
    check(lambda x: F.resize_bicubic(x, sizes), IMAGES, want=want)


# Resize -------------------------------------------------------------------------------


def test_the_interpolation_names_the_function():
    x, sizes = Tensor(IMAGES), [2, 2, 6, 3]
    for mode, function in (
        (InterpolationMode.BILINEAR, F.resize_linear),
        (InterpolationMode.BICUBIC, F.resize_bicubic),
        (InterpolationMode.NEAREST, F.resize_nearest),
    ):
        found = F.resize(x, sizes, mode).to_numpy()
        np.testing.assert_array_equal(found, function(x, sizes).to_numpy())
    plain = F.resize(x, sizes).to_numpy()
    np.testing.assert_array_equal(plain, F.resize_linear(x, sizes).to_numpy())


# Errors -------------------------------------------------------------------------------

IMAGE = Tensor(IMAGES)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: F.resize(Tensor(ROW), [4]), r"resize: input must have shape \[n, ch"),
        (lambda: F.resize(IMAGE, [3, 4]), r"resize: shape .* got \[3, 4\] for \[2, 2"),
        (lambda: F.resize_bicubic(Tensor(ROW), [4]), "resize_bicubic: input must have"),
        (lambda: F.resize_bicubic(IMAGE, [4]), r"resize_bicubic: size .* got \[4\]"),
        (lambda: F.resize_linear(IMAGE, [4]), r"resize_linear: size .* got \[4\]"),
        (lambda: F.resize_nearest(IMAGE, [4]), r"resize_nearest: size .* got \[4\]"),
        (
            lambda: F.resize_linear(Tensor(ROW), [3], 4),
            "transform_mode must be .*got 4",
        ),
        (lambda: F.resize_nearest(Tensor(ROW), [3], -1), "_mode must be .* got -1"),
        (
            lambda: F.resize_nearest(Tensor(ROW), [3], 0, 4),
            "round_mode must be .*got 4",
        ),
        (lambda: F.resize_linear(Tensor(ROW), [-1]), "size must be 0 or more, got -1"),
        (
            lambda: F.resize_linear(Tensor(np.zeros((2, 0), np.float32)), [2, 3]),
            r"resize_linear: an axis without elements .* axis 1 of shape \[2, 0\]",
        ),
    ],
)
def test_sizes_and_modes_are_checked(run, message):
    with pytest.raises(ValueError, match=message):
        run()


def test_values_are_computed_from_floats_only():
    whole = F.cast(IMAGE, DType.int32)
    with pytest.raises(TypeError, match="resize_linear: input must be of floating"):
        F.resize(whole, [2, 2, 6, 6])
    with pytest.raises(TypeError, match="resize_bicubic: input must be of floating"):
        F.resize_bicubic(whole, [2, 2, 6, 6])
    with pytest.raises(TypeError, match="must be an InterpolationMode, got str"):
        F.resize(IMAGE, [2, 2, 6, 6], "bilinear")  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="resize_linear: input must be a Tensor"):
        F.resize_linear(3.0, [2])  # pyright: ignore[reportArgumentType]


# On a mesh ----------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["S0", "S1", "P"])
def test_axes_that_stay_may_be_sharded_and_sums_pending(given):
    check_sharded(lambda x: F.resize(x, [2, 2, 6, 2]), (IMAGES, given), lands=given)


def test_rows_of_all_kinds_stay_where_they_are():
    sizes = [2, 2, 6, 2]
    check_sharded(lambda x: F.resize_nearest(x, sizes), (IMAGES, "S1 P"), lands="S1 P")
    check_sharded(lambda x: F.resize_bicubic(x, sizes), (IMAGES, "S0"), lands="S0")


def test_an_axis_that_changes_must_be_whole():
    with pytest.raises(ShardingError, match="resize_linear"):
        F.resize(place(IMAGES, "S3"), [2, 2, 3, 8])
