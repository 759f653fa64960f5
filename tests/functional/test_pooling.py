"""Averages and maxima under windows, against loops in numpy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maxlite import functional as F
from maxlite._backend import x64
from maxlite._op_table import lookup
from maxlite.compilation import compile, stage
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import ShardingError, TensorLayout, auto_reshard
from maxlite.tensor import Tensor
from tests.functional._cross import (
    FLOATS,
    INTEGERS,
    NUMBERS,
    check,
    check_sharded,
    place,
)


def pooled(combine, x, kernel, stride=1, dilation=1, padding=0, ceil_mode=False):
    """Combines the elements of the window, and how many there are, place by place.

    Args:
        combine: Takes the elements on the input, with the batch first and the channels
            last.
        x: The input.
        kernel: Size of the window.
        stride: As a user writes it, as all that follow.
    """
    stride, dilation, padding = (
        np.broadcast_to(v, 2) for v in (stride, dilation, padding)
    )
    extent = (np.array(kernel) - 1) * dilation + 1
    room = np.array(x.shape[1:3]) + 2 * padding - extent
    counts = (-(-room // stride) if ceil_mode else room // stride) + 1
    result = np.zeros((len(x), *counts, x.shape[3]), x.dtype)
    for at in np.ndindex(*counts):
        rows, columns = (
            [
                i
                for k in range(kernel[axis])
                if 0
                <= (i := at[axis] * stride[axis] - padding[axis] + k * dilation[axis])
                < x.shape[axis + 1]
            ]
            for axis in (0, 1)
        )
        result[(slice(None), *at)] = combine(x[:, rows][:, :, columns])
    return result


def largest(x, kernel, **options):
    lowest = -np.inf if x.dtype.kind not in "iu" else np.iinfo(x.dtype).min

    def combine(window):
        return window.max((1, 2), initial=lowest)

    return pooled(combine, x, kernel, **options)


def average(x, kernel, count_boundary=True, **options):
    def combine(window):
        inside = window.shape[1] * window.shape[2]
        count = kernel[0] * kernel[1] if count_boundary else max(inside, 1)
        return window.sum((1, 2)) / count

    return pooled(combine, x.astype(np.float64), kernel, **options).astype(x.dtype)


def avg(*args, **options):
    return lambda x: F.avg_pool2d(x, *args, **options)


def best(*args, **options):
    return lambda x: F.max_pool2d(x, *args, **options)


@pytest.fixture
def draw(rng):
    return lambda *shape: rng.integers(-9, 10, shape).astype(np.float32)


GEOMETRY = [
    ((2, 4, 5, 3), (2, 3), {}),
    ((1, 5, 6, 1), (2, 2), {"stride": 2}),
    ((1, 5, 6, 1), (2, 2), {"stride": (2, 3), "padding": 1}),
    ((1, 5, 6, 1), (2, 3), {"dilation": (3, 2)}),
    ((1, 5, 6, 1), (2, 2), {"stride": 2, "ceil_mode": True}),
    ((1, 5, 6, 1), (2, 2), {"stride": 3, "ceil_mode": True}),
    (
        (1, 5, 6, 2),
        (3, 2),
        {"stride": 2, "dilation": 2, "padding": (1, 2), "ceil_mode": True},
    ),
    ((1, 3, 3, 1), (1, 1), {}),
    ((1, 3, 3, 1), (3, 3), {}),
    ((1, 3, 3, 1), (1, 1), {"stride": (5, 4)}),
]


@pytest.mark.parametrize(("shape", "kernel", "options"), GEOMETRY)
def test_the_window_goes_where_it_is_told(draw, shape, kernel, options):
    x = draw(*shape)
    check(avg(kernel, **options), x, want=average(x, kernel, **options))
    check(best(kernel, **options), x, want=largest(x, kernel, **options))


@pytest.mark.parametrize(("shape", "kernel", "options"), GEOMETRY[2:7])
def test_only_what_lies_on_the_input_may_count(draw, shape, kernel, options):
    """A window that lies outside has the average 0."""
    x = draw(*shape)
    want = average(x, kernel, count_boundary=False, **options)
    check(avg(kernel, **options, count_boundary=False), x, want=want)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_each_float_dtype_is_kept(draw, dtype):
    x = draw(2, 3, 3, 2).astype(dtype)
    check(avg((2, 2)), x, want=average(x, (2, 2)), named=False)
    want = largest(x.astype(np.float64), (2, 2)).astype(dtype)
    check(best((2, 2)), x, want=want, named=False)
    check(best((2, 2), dilation=2), x, want=x[:, :1, :1] * 0 + max_of_corners(x))


def max_of_corners(x):
    return x[:, ::2, ::2].astype(np.float64).max((1, 2), keepdims=True).astype(x.dtype)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_averages_of_integers_are_truncated(dtype):
    """-15 / 4 is -3, and sums of bytes do not wrap around."""
    x = np.array([-3, -4, -4, -4] if dtype.kind == "i" else [100, 101, 125, 126], dtype)
    want = np.array(-3 if dtype.kind == "i" else 113, dtype).reshape(1, 1, 1, 1)
    check(avg((2, 2)), x.reshape(1, 2, 2, 1), want=want, named=False)
    check(best((2, 2)), x.reshape(1, 2, 2, 1), want=x.max().reshape(want.shape))


def test_large_halves_do_not_overflow():
    """The sum of four is beyond float16."""
    x = np.full((1, 2, 2, 1), 30000, np.float16)
    check(avg((2, 2)), x, want=x[:, :1, :1])


@pytest.mark.parametrize("dtype", [*NUMBERS, np.dtype(bool)], ids=str)
def test_padding_is_never_the_largest(dtype):
    x = np.zeros((1, 1, 1, 1), dtype)
    if dtype.kind not in "bu":
        x -= 5
    want = np.broadcast_to(x, (1, 2, 2, 1))
    check(best((2, 2), padding=1), x, want=want, named=False)


def test_the_largest_of_nothing_is_the_least():
    x = np.ones((1, 1, 1, 1), np.float32)
    want = np.full((1, 2, 2, 1), -np.inf, np.float32)
    check(best((1, 1), stride=2, padding=1), x, want=want)
    least = np.full((1, 2, 2, 1), -128, np.int8)
    check(best((1, 1), stride=2, padding=1), x.astype(np.int8), want=least)


def test_nan_is_the_largest(draw):
    x = draw(1, 3, 3, 1)
    x[0, 1, 2, 0] = np.nan
    for dilation in (1, 2):
        want = largest(x, (2, 2), dilation=dilation, padding=1)
        assert np.isnan(want).any()
        check(best((2, 2), dilation=dilation, padding=1), x, want=want)


def test_negative_padding_cuts_off(draw):
    x = draw(1, 5, 6, 2)
    inner = x[:, 1:-1, 2:-2]
    check(avg((2, 2), padding=(-1, -2)), x, want=average(inner, (2, 2)))
    check(best((2, 2), padding=(-1, -2)), x, want=largest(inner, (2, 2)))
    alone = avg((2, 2), padding=(-1, -2), count_boundary=False)
    check(alone, x, want=average(inner, (2, 2)))
    wide = best((2, 1), padding=(-1, -2), dilation=2)
    check(wide, x, want=largest(inner, (2, 1), dilation=2))


@pytest.mark.parametrize("shape", [(0, 3, 3, 2), (1, 3, 3, 0)])
def test_no_images_or_channels(shape):
    x = np.zeros(shape, np.float32)
    want = np.zeros((shape[0], 2, 2, shape[3]), np.float32)
    check(avg((2, 2)), x, want=want, named=False)
    check(best((2, 2)), x, want=want, named=False)


def test_a_dilated_maximum_has_a_derivative():
    """The whole of it goes to the largest element of each window."""
    x = jnp.arange(9.0, dtype=jnp.float32).reshape(1, 3, 3, 1)
    fn = lookup("max_pool2d").fn
    options = {"kernel": (2, 2), "strides": (1, 1), "paddings": (0, 0, 0, 0)}
    options |= {"dilations": (2, 2), "ceil_mode": False}
    with x64():
        slopes = jax.grad(lambda x: fn(x, **options).sum())(x)
    assert slopes.ravel().tolist() == [0.0] * 8 + [1.0]


# Named sizes --------------------------------------------------------------------------


def layout(*sizes):
    return TensorLayout(DType.float32, list(sizes), CPU())


@pytest.mark.parametrize("fn", [F.avg_pool2d, F.max_pool2d])
def test_sizes_may_be_named(fn):
    def halved(x):
        return fn(x, (2, 3), stride=2, ceil_mode=True)

    (result,) = stage(halved)(layout("n", "h", "w", "c")).out_layouts
    assert [str(dim) for dim in result.shape] == ["n", "(h + 1) // 2", "w // 2", "c"]
    program = compile(halved)(layout("n", "h", "w", "c"))
    for sizes in [(1, 2, 3, 1), (2, 5, 6, 3)]:
        x = F.reshape(F.arange(0, np.prod(sizes)), sizes)
        np.testing.assert_allclose(program(x).to_numpy(), halved(x).to_numpy())
    with pytest.raises(ValueError, match=r"kernel must fit .* size 3 .* for size 2"):
        program(F.ones([1, 2, 2, 1]))


@pytest.mark.parametrize("fn", [F.avg_pool2d, F.max_pool2d])
def test_the_window_may_be_as_large_as_the_input(fn, draw):
    def over_all(x):
        return fn(x, (x.shape[1], x.shape[2]))

    program = compile(over_all)(layout("n", "h", "w", 2))
    assert program.out_layouts[0].shape == ["n", 1, 1, 2]
    combine = np.mean if fn is F.avg_pool2d else np.max
    for sizes in [(2, 3, 4), (1, 1, 5)]:
        x = draw(*sizes, 2)
        want = combine(x, (1, 2), keepdims=True)
        np.testing.assert_allclose(program(Tensor(x)).to_numpy(), want, rtol=1e-6)


# Errors -------------------------------------------------------------------------------

IMAGE = F.ones([1, 3, 4, 1])


@pytest.mark.parametrize("fn", [F.avg_pool2d, F.max_pool2d])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input": F.ones([3, 4, 1])}, r"must have 4 axes, \[batch.* got shape \[3, 4"),
        ({"kernel_size": (4, 2)}, "kernel must fit .* size 4 .* for size 3"),
        ({"dilation": 3}, "kernel must fit .* dilation 3 for size 3"),
        ({"padding": -1}, r"kernel must fit .* for size 3 with padding \(-1, -1\)"),
        ({"kernel_size": (0, 2)}, r"kernel_size must be at least 1 .* \[0, 2\]"),
        ({"kernel_size": (2,)}, "kernel_size must be 2 numbers, got 1"),
        ({"stride": 0}, r"stride must be at least 1 along each axis, got \(0, 0\)"),
        ({"stride": (1, 1, 1)}, "stride must be 2 numbers, got 3"),
        ({"dilation": (1, 0)}, "dilation must be at least 1"),
    ],
)
def test_operands_and_options_must_fit(fn, options, message):
    with pytest.raises(ValueError, match=message):
        fn(**{"input": IMAGE, "kernel_size": (2, 2), **options})


@pytest.mark.parametrize("fn", [F.avg_pool2d, F.max_pool2d])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input": 1.0}, "input must be a Tensor, got float"),
        ({"kernel_size": 2}, "kernel_size must be a tuple of 2 ints, got int"),
        ({"kernel_size": (2.0, 2)}, "float"),
        ({"stride": 2.0}, "stride must be an int, got float"),
        ({"padding": (1, 1.0)}, "an item of padding must be an int, got float"),
        ({"dilation": None}, "dilation must be an int, got NoneType"),
    ],
)
def test_operands_and_options_are_of_their_kind(fn, options, message):
    with pytest.raises(TypeError, match=message):
        fn(**{"input": IMAGE, "kernel_size": (2, 2), **options})


def test_bools_have_no_average():
    with pytest.raises(TypeError, match="avg_pool2d: input must be of integer or flo"):
        F.avg_pool2d(F.cast(IMAGE, DType.bool), (2, 2))


# On a mesh ----------------------------------------------------------------------------

GRID = np.arange(2 * 4 * 4 * 2, dtype=np.float32).reshape(2, 4, 4, 2) % 7


@pytest.mark.parametrize("given", ["S0", "S3", "S0 S3"])
def test_batch_and_channels_may_be_sharded(given):
    check_sharded(avg((2, 2)), (GRID, given), lands=given)
    check_sharded(best((2, 2), dilation=2), (GRID, given), lands=given)


@pytest.mark.parametrize("given", ["P", "P S0"])
def test_averages_wait_for_pending_sums_of_floats(given):
    fn = avg((2, 3), padding=1, count_boundary=False)
    check_sharded(fn, (GRID, given), lands=given)


@pytest.mark.parametrize(
    ("fn", "given"),
    [
        (avg((2, 2)), "S1"),
        (avg((2, 2)), "S2"),
        (best((2, 2)), "S1"),
        (best((2, 2)), "P"),
    ],
)
def test_the_axes_in_space_must_be_whole(fn, given):
    with pytest.raises(ShardingError, match=r"_pool2d[\s\S]*auto_reshard"):
        fn(place(GRID, given))
    with auto_reshard(mode="silent"):
        check_sharded(fn, (GRID, given), lands="R")


def test_pending_sums_of_integers_are_added_up_first():
    """The average of 3 and 4 is 3, but their halves are 1 and 2."""
    with auto_reshard(mode="silent"):
        check_sharded(avg((2, 2)), (GRID.astype(np.int32), "P"), lands="R")
