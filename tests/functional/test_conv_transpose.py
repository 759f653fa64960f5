"""The transposed convolution, against loops in numpy."""

import itertools

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile, stage
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph.type import ConvInputLayout, FilterLayout
from maxlite.sharding import ShardingError, TensorLayout, auto_reshard
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, check, check_sharded, place

NCHW = ConvInputLayout.NCHW


def spread(x, filter, stride=(1, 1), dilation=(1, 1), padding=(0,) * 4, more=(0, 0)):
    """Puts a copy of the filter at each element; the padding is cut off at the end."""
    kernel, space = filter.shape[:2], x.shape[1:3]
    sizes = [
        (n - 1) * s + d * (k - 1) + 1
        for n, s, d, k in zip(space, stride, dilation, kernel, strict=True)
    ]
    height, width = np.array(sizes) + more
    result = np.zeros((len(x), height, width, filter.shape[2]), x.dtype)
    for at, tap in itertools.product(np.ndindex(*space), np.ndindex(*kernel)):
        i, j = np.array(at) * stride + np.array(tap) * dilation
        result[:, i, j] += x[(slice(None), *at)] @ filter[tap].T
    top, bottom, left, right = padding
    return result[:, top : height - bottom, left : width - right]


def transposed(**options):
    return lambda x, filter: F.conv2d_transpose(x, filter, **options)


@pytest.fixture
def draw(rng):
    return lambda *shape: rng.integers(-4, 5, shape).astype(np.float32)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_each_dtype_of_numbers_is_kept(draw, dtype):
    x, filter = abs(draw(1, 2, 3, 2)), abs(draw(2, 2, 3, 2))
    want = spread(x, filter).astype(dtype)
    given = x.astype(dtype), filter.astype(dtype)
    check(F.conv2d_transpose, *given, want=want, named=dtype == np.float32)


@pytest.mark.parametrize(
    ("shape", "kernel", "options"),
    [
        ((2, 3, 4, 2), (3, 2, 4, 2), {}),
        ((1, 3, 4, 2), (2, 3, 1, 2), {"stride": (2, 3)}),
        ((1, 3, 2, 1), (3, 2, 2, 1), {"dilation": (2, 3)}),
        ((1, 3, 3, 2), (3, 3, 2, 2), {"stride": (2, 2), "padding": (1, 0, 2, 1)}),
        ((1, 2, 2, 1), (1, 1, 1, 1), {"stride": (3, 2)}),
        ((0, 2, 2, 1), (2, 2, 3, 1), {}),
        ((1, 2, 2, 0), (2, 2, 3, 0), {}),
    ],
)
def test_copies_lie_where_they_are_told(draw, shape, kernel, options):
    x, filter = draw(*shape), draw(*kernel)
    named = 0 not in shape
    want = spread(x, filter, **options)
    check(transposed(**options), x, filter, want=want, named=named)


def test_more_can_be_put_at_the_end(draw):
    x, filter = draw(1, 3, 4, 2), draw(3, 2, 2, 2)
    fn = transposed(stride=(3, 2), padding=(1, 1, 0, 1), output_paddings=(2, 1))
    want = spread(x, filter, (3, 2), padding=(1, 1, 0, 1), more=(2, 1))
    check(fn, x, filter, want=want)


def test_negative_padding_adds_zeros(draw):
    x, filter = draw(1, 2, 3, 2), draw(2, 2, 1, 2)
    want = np.pad(spread(x, filter), [(0, 0), (2, 0), (0, 1), (0, 0)])
    check(transposed(padding=(-2, 0, 0, -1)), x, filter, want=want)


def test_an_image_without_rows_becomes_zeros():
    """The size is that of the formula: (0 - 1) * 2 + 4."""
    x, filter = np.zeros((1, 0, 2, 1), np.float32), np.ones((4, 1, 1, 1), np.float32)
    want = np.zeros((1, 2, 3, 1), np.float32)
    check(transposed(stride=(2, 2)), x, filter, want=want, named=False)


def test_the_bias_is_added_to_each_output_channel(draw):
    x, filter, bias = draw(1, 2, 3, 2), draw(2, 2, 4, 2), draw(4)
    want = spread(x, filter) + bias
    check(lambda x, w, b: F.conv2d_transpose(x, w, bias=b), x, filter, bias, want=want)


def test_axes_may_stand_in_other_orders(draw):
    """Channels that come first come first in the result, too."""
    x, filter, bias = draw(1, 2, 3, 2), draw(2, 2, 4, 2), draw(4)
    want = spread(x, filter)
    first, in_first = x.transpose(0, 3, 1, 2), filter.transpose(3, 2, 0, 1)
    check(
        lambda x, w, b: F.conv2d_transpose(x, w, bias=b, input_layout=NCHW),
        *(first, filter, bias),
        want=(want + bias).transpose(0, 3, 1, 2),
    )
    check(transposed(filter_layout=FilterLayout.CFRS), x, in_first, want=want)


def test_it_goes_the_way_of_a_convolution_backwards(draw):
    """It is the transpose of a linear map: <conv(x), y> = <x, transposed(y)>."""
    options = {"stride": (2, 3), "dilation": (2, 1), "padding": (1, 1, 0, 2)}
    x, filter = draw(1, 7, 7, 2), draw(2, 3, 2, 3)
    forth = F.conv2d(Tensor(x), Tensor(filter), **options).to_numpy()
    y = draw(*forth.shape)
    back = F.conv2d_transpose(Tensor(y), Tensor(filter), **options).to_numpy()
    np.testing.assert_allclose((forth * y).sum(), (x * back).sum())


# Named sizes --------------------------------------------------------------------------


def layout(*sizes):
    return TensorLayout(DType.float32, list(sizes), CPU())


def test_sizes_may_be_named(draw):
    layouts = layout("n", "h", "w", 2), layout(3, 3, "out", 2)
    doubled = transposed(stride=(2, 2))
    (result,) = stage(doubled)(*layouts).out_layouts
    assert [str(dim) for dim in result.shape] == [
        *("n", "(h * 2) + 1", "(w * 2) + 1", "out"),
    ]
    program = compile(doubled)(*layouts)
    for sizes in [(1, 1, 1), (2, 3, 4)]:
        x, filter = draw(*sizes, 2), draw(3, 3, 4, 2)
        result = program(Tensor(x), Tensor(filter)).to_numpy()
        np.testing.assert_allclose(result, spread(x, filter, (2, 2)))


def test_what_is_named_is_checked_at_each_size():
    program = compile(transposed(padding=(1, 1, 0, 0)))(
        layout(1, "h", 3, 1), layout(1, 1, 1, 1)
    )
    with pytest.raises(ValueError, match=r"padding must leave .* size \[0, 3\]"):
        program(F.ones([1, 2, 3, 1]), F.ones([1, 1, 1, 1]))


# Errors -------------------------------------------------------------------------------

IMAGE, FILTER = F.ones([1, 3, 4, 2]), F.ones([2, 2, 3, 2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": F.ones([3, 4, 2])}, r"x must have 4 axes, .* got shape \[3, 4, 2\]"),
        (
            {"filter": F.ones([2, 3, 2])},
            r"filter must have 4 axes, .*output channels, in",
        ),
        (
            {"filter": F.ones([2, 2, 2, 3])},
            "input channels must be the channels of x, got 3 and 2",
        ),
        (
            {"bias": F.ones([2])},
            r"one number per output channel, \[3\], got shape \[2\]",
        ),
        ({"padding": (5, 5, 0, 0)}, r"padding must leave something .* size \[-6, 5\]"),
        ({"output_paddings": (1, 1)}, r"less than stride .* got \(1, 1\) and \(1, 1\)"),
        ({"output_paddings": (-1, 0)}, "output_paddings must be at least 0"),
        ({"stride": (0, 1)}, "stride must be at least 1"),
        ({"dilation": (0, 1)}, "dilation must be at least 1"),
        ({"padding": (1, 1)}, "padding must be 4 numbers, got 2"),
        (
            {"filter_layout": FilterLayout.FCRS},
            "FilterLayout.RSCF or FilterLayout.CFRS",
        ),
    ],
)
def test_operands_and_options_must_fit(options, message):
    with pytest.raises(ValueError, match=message):
        F.conv2d_transpose(**{"x": IMAGE, "filter": FILTER, **options})


@pytest.mark.parametrize("name", ["stride", "dilation", "padding", "output_paddings"])
def test_options_are_tuples(name):
    with pytest.raises(TypeError, match=f"{name} must be a tuple of . ints, got int"):
        F.conv2d_transpose(IMAGE, FILTER, **{name: 1})


# On a mesh ----------------------------------------------------------------------------

GRID = np.arange(2 * 2 * 2 * 4, dtype=np.float32).reshape(2, 2, 2, 4) % 7
TAPS = np.arange(2 * 2 * 2 * 4, dtype=np.float32).reshape(2, 2, 2, 4) % 5


@pytest.mark.parametrize(
    ("given", "filter", "lands"),
    [
        ("S0", "R", "S0"),
        ("R", "S2", "S3"),
        ("S3", "S3", "P"),
        ("P", "R", "P"),
        ("R", "P", "P"),
        ("S3 S0", "S3 R", "P S0"),
    ],
)
def test_batch_and_channels_may_be_sharded(given, filter, lands):
    fn = transposed(stride=(2, 1), padding=(1, 0, 0, 0))
    check_sharded(fn, (GRID, given), (TAPS, filter), lands=lands)


@pytest.mark.parametrize(("given", "filter"), [("S1", "R"), ("R", "S3"), ("S3", "S2")])
def test_nothing_is_moved_unasked(given, filter):
    x, taps = place(GRID, given), place(TAPS, filter)
    with pytest.raises(ShardingError, match=r"conv2d_transpose[\s\S]*auto_reshard"):
        F.conv2d_transpose(x, taps)


@pytest.mark.parametrize(
    ("given", "filter", "lands"),
    [("S1", "R", "R"), ("R", "S3", "P"), ("S3", "S2", "S3"), ("P", "S0", "P")],
)
def test_told_so_they_are_moved(given, filter, lands):
    with auto_reshard(mode="silent"):
        check_sharded(F.conv2d_transpose, (GRID, given), (TAPS, filter), lands=lands)
