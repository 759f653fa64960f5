"""Convolutions of images and volumes, against loops in numpy."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile, stage
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph import Dim
from maxlite.graph.type import ConvInputLayout, FilterLayout
from maxlite.sharding import (
    DeviceMapping,
    Replicated,
    Sharded,
    ShardingError,
    TensorLayout,
    auto_reshard,
)
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, check, check_sharded, place
from tests.sharding.meshes import cpu_mesh

NCHW = ConvInputLayout.NCHW


def convolved(x, filter, stride=1, dilation=1, padding=(0,) * 6, groups=1):
    """Adds up products place by place; the axes in space stand in the middle."""
    space = x.ndim - 2
    pairs = list(zip(padding[::2], padding[1::2], strict=True))[:space]
    wide = np.pad(x, [(0, 0), *pairs, (0, 0)])
    strides = np.broadcast_to(stride, space)
    dilations = np.broadcast_to(dilation, space)
    kernel = filter.shape[:space]
    sizes = (wide.shape[1:-1] - dilations * (np.array(kernel) - 1) - 1) // strides + 1
    result = np.zeros((len(x), *sizes, filter.shape[-1]), x.dtype)
    shares = [np.split(np.arange(n), groups) for n in (x.shape[-1], filter.shape[-1])]
    for at, tap in itertools.product(np.ndindex(*sizes), np.ndindex(*kernel)):
        source = tuple(np.array(at) * strides + np.array(tap) * dilations)
        picked, weights = wide[(slice(None), *source)], filter[tap]
        for mine, made in zip(*shares, strict=True):
            result[(slice(None), *at)][:, made] += picked[:, mine] @ weights[:, made]
    return result


def conv2d(**options):
    return lambda x, filter: F.conv2d(x, filter, **options)


@pytest.fixture
def draw(rng):
    return lambda *shape: rng.integers(-4, 5, shape).astype(np.float32)


@pytest.mark.parametrize("dtype", [*NUMBERS, np.dtype(np.uint16)], ids=str)
def test_each_dtype_of_numbers_is_kept(draw, dtype):
    x, filter = abs(draw(1, 3, 3, 2)), abs(draw(2, 2, 2, 3))
    want = convolved(x, filter).astype(dtype)
    given = x.astype(dtype), filter.astype(dtype)
    check(F.conv2d, *given, want=want, named=dtype == np.float32)


@pytest.mark.parametrize(
    ("shape", "kernel", "options"),
    [
        ((2, 5, 6, 2), (3, 2, 2, 4), {}),
        ((1, 5, 6, 2), (3, 2, 2, 4), {"stride": (2, 3)}),
        ((1, 7, 6, 1), (3, 2, 1, 1), {"dilation": (2, 3)}),
        ((1, 3, 4, 2), (3, 2, 2, 1), {"padding": (2, 0, 1, 3)}),
        ((2, 4, 4, 4), (2, 2, 2, 6), {"groups": 2}),
        ((1, 4, 4, 3), (3, 3, 1, 3), {"groups": 3, "padding": (1, 1, 1, 1)}),
        (
            (1, 8, 9, 4),
            (2, 3, 2, 2),
            {
                "stride": (3, 2),
                "dilation": (2, 1),
                "padding": (1, 2, 0, 1),
                "groups": 2,
            },
        ),
        ((1, 1, 1, 1), (1, 1, 1, 1), {}),
    ],
)
def test_the_filter_goes_over_images_as_it_is_told(draw, shape, kernel, options):
    x, filter = draw(*shape), draw(*kernel)
    # Names say nothing of the number of groups.
    named = "groups" not in options
    want = convolved(x, filter, **options)
    check(conv2d(**options), x, filter, want=want, named=named)


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        ((2, 1, 3, 2, 3), {}),
        ((2, 2, 2, 1, 4), {"groups": 2, "stride": (1, 2, 1)}),
        ((1, 2, 2, 2, 1), {"dilation": (1, 2, 3), "padding": (0, 1, 2, 0, 1, 1)}),
    ],
)
def test_a_filter_goes_over_volumes(draw, kernel, options):
    x, filter = draw(2, 3, 4, 5, 2), draw(*kernel)
    want = convolved(x, filter, **options)
    named = "groups" not in options
    check(lambda x, w: F.conv3d(x, w, **options), x, filter, want=want, named=named)


def test_the_bias_is_added_to_each_output_channel(draw):
    x, filter, bias = draw(1, 3, 3, 2), draw(2, 2, 2, 3), draw(3)
    want = convolved(x, filter) + bias
    check(lambda x, w, b: F.conv2d(x, w, bias=b), x, filter, bias, want=want)
    array = conv2d(bias=bias)
    check(array, x, filter, want=want, named=False)
    x, filter = draw(1, 2, 2, 2, 2), draw(1, 2, 2, 2, 3)
    want = convolved(x, filter) + bias
    check(lambda x, w, b: F.conv3d(x, w, bias=b), x, filter, bias, want=want)


def test_operands_promote(draw):
    x, filter, bias = draw(1, 3, 3, 2), draw(2, 2, 2, 3), draw(3)
    want = (convolved(x, filter) + bias).astype(np.float64)
    whole = x.astype(np.int32)
    check(F.conv2d, whole, filter.astype(np.float64), want=want - bias, named=False)
    wide = bias.astype(np.float64)
    check(lambda x, w, b: F.conv2d(x, w, bias=b), x, filter, wide, want=want)
    with pytest.raises(ValueError, match=r"conv2d: .*float16.*bfloat16"):
        F.conv2d(Tensor(x.astype(np.float16)), Tensor(filter.astype(jnp.bfloat16)))
    with pytest.raises(ValueError, match=r"conv2d: .*int64"):
        F.conv2d(Tensor(x), Tensor(filter), bias=Tensor(bias.astype(np.int64)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn"])
def test_narrow_floats_are_added_up_in_float32(dtype):
    """In float16 the sum of ones stays at 2048, in float8 at 16."""
    count = 32 if dtype.startswith("float8") else 4096
    ones = F.cast(F.ones([1, 1, 1, count]), DType[dtype])
    result = F.conv2d(ones, F.permute(ones, [0, 1, 3, 2]))
    assert result.dtype is DType[dtype]
    assert F.cast(result, DType.float32).item() == count


def test_integers_wrap_around():
    x, filter = np.full((1, 1, 1, 2), 100, np.int8), np.ones((1, 1, 2, 1), np.int8)
    check(F.conv2d, x, filter, want=np.full((1, 1, 1, 1), 200 - 256, np.int8))


def test_negative_padding_cuts_off(draw):
    x, filter = draw(1, 5, 5, 2), draw(2, 2, 2, 1)
    want = convolved(x[:, 1:, :-2], filter)
    check(conv2d(padding=(-1, 0, 0, -2)), x, filter, want=want)


def test_axes_may_stand_in_other_orders(draw):
    """The result is as if they stood in the usual one."""
    x, filter = draw(1, 4, 3, 2), draw(2, 2, 2, 3)
    want = convolved(x, filter)
    swapped, out_first = x.transpose(0, 3, 1, 2), filter.transpose(3, 2, 0, 1)
    check(conv2d(input_layout=NCHW), swapped, filter, want=want)
    check(conv2d(filter_layout=FilterLayout.FCRS), x, out_first, want=want)
    both = conv2d(input_layout="NCHW", filter_layout="FCRS")
    check(both, swapped, out_first, want=want, named=False)
    x, filter = draw(1, 2, 3, 3, 2), draw(1, 2, 2, 2, 3)
    check(
        lambda x, w: F.conv3d(x, w, input_layout=NCHW, filter_layout="FCQRS"),
        x.transpose(0, 4, 1, 2, 3),
        filter.transpose(4, 3, 0, 1, 2),
        want=convolved(x, filter),
        named=False,
    )


@pytest.mark.parametrize(
    ("shape", "kernel"),
    [
        ((0, 3, 3, 2), (2, 2, 2, 3)),
        ((1, 3, 3, 0), (2, 2, 0, 3)),
        ((1, 3, 3, 2), (2, 2, 2, 0)),
    ],
)
def test_no_images_or_channels(draw, shape, kernel):
    x, filter = draw(*shape), draw(*kernel)
    check(F.conv2d, x, filter, want=convolved(x, filter), named=False)


# Named sizes --------------------------------------------------------------------------


def layout(*sizes):
    return TensorLayout(DType.float32, list(sizes), CPU())


def shape_of(fn, *layouts):
    (result,) = stage(fn)(*layouts).out_layouts
    return [str(dim) for dim in result.shape]


def test_sizes_may_be_named():
    halved = conv2d(stride=(2, 2), padding=(1, 1, 1, 1))
    shape = shape_of(halved, layout("n", "h", "w", 2), layout(3, 3, 2, "out"))
    assert shape == ["n", "(h + 1) // 2", "(w + 1) // 2", "out"]
    shape = shape_of(F.conv2d, layout(1, "h", 4, "c"), layout("r", 1, "c", 5))
    assert shape == ["1", "(r * -1) + h + 1", "4", "5"]


def test_named_channels_are_bound_to_their_groups():
    def halves(x, filter):
        return F.conv2d(F.rebind(x, [1, 3, 3, Dim("half") * 2]), filter, groups=2)

    layouts = layout(1, 3, 3, "c"), layout(1, 1, "half", 2)
    assert shape_of(halves, *layouts) == ["1", "3", "3", "2"]
    with pytest.raises(ValueError, match=r"half times 2 and c: .* rebind"):
        stage(conv2d(groups=2))(*layouts)


def test_one_program_serves_all_sizes(draw):
    filter = draw(3, 3, 2, 4)
    halved = conv2d(stride=(2, 2), padding=(1, 1, 1, 1))
    program = compile(halved)(layout("n", "h", "w", 2), layout(3, 3, 2, 4))
    for sizes in [(1, 1, 1), (2, 4, 5), (0, 3, 2)]:
        x = draw(*sizes, 2)
        want = convolved(x, filter, 2, padding=(1, 1, 1, 1))
        result = program(Tensor(x), Tensor(filter)).to_numpy()
        np.testing.assert_allclose(result, want)


def test_what_is_named_is_checked_at_each_size():
    program = compile(F.conv2d)(layout(1, "h", 3, 1), layout(3, 3, 1, 1))
    with pytest.raises(ValueError, match=r"conv2d: the kernel must fit .* for size 2"):
        program(F.ones([1, 2, 3, 1]), F.ones([3, 3, 1, 1]))


# Errors -------------------------------------------------------------------------------

IMAGE, FILTER = F.ones([1, 4, 4, 2]), F.ones([3, 3, 2, 6])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"x": F.ones([4, 4, 2])},
            r"x must have 4 axes, \[batch, height.* \[4, 4, 2\]",
        ),
        (
            {"filter": F.ones([3, 2, 6])},
            r"filter must have 4 axes, .*output channels\]",
        ),
        (
            {"x": F.ones([1, 4, 4, 3])},
            "input channels must be the channels of x, got 2 and 3",
        ),
        ({"groups": 2}, "input channels, times groups, .* 2 times 2 and 2"),
        ({"x": F.ones([1, 4, 4, 8]), "groups": 4}, "must divide into groups, got 6 "),
        ({"groups": 0}, "groups must be at least 1, got 0"),
        (
            {"bias": F.ones([5])},
            r"one number per output channel, \[6\], got shape \[5\]",
        ),
        ({"bias": F.ones([1, 6])}, r"one number per output channel, .* \[1, 6\]"),
        ({"bias": 1.0}, r"one number per output channel, .* shape \[\]"),
        ({"x": F.ones([1, 2, 4, 2])}, "kernel must fit .* size 3 .* for size 2"),
        ({"dilation": (2, 1)}, "kernel must fit .* dilation 2 for size 4"),
        ({"padding": (-2, 0, 0, 0)}, r"kernel must fit .* padding \(-2, 0\)"),
        ({"filter": F.ones([0, 3, 2, 6])}, "at least one element along each axis"),
        (
            {"stride": (0, 1)},
            r"stride must be at least 1 along each axis, got \(0, 1\)",
        ),
        ({"dilation": (1, -1)}, "dilation must be at least 1 along each axis"),
        ({"stride": (1, 1, 1)}, "stride must be 2 numbers, got 3"),
        ({"padding": (1, 1)}, "padding must be 4 numbers, got 2"),
        ({"filter_layout": FilterLayout.QRSCF}, "must be FilterLayout.RSCF or .*FCRS"),
        ({"filter_layout": FilterLayout.CFRS}, "got FilterLayout.CFRS. Permute"),
        (
            {"input_layout": "HWC"},
            "input_layout must be one of ConvInputLayout.NHWC, .*got 'HWC'",
        ),
    ],
)
def test_operands_and_options_must_fit(options, message):
    with pytest.raises(ValueError, match=message):
        F.conv2d(**{"x": IMAGE, "filter": FILTER, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": np.ones((1, 4, 4, 2))}, "x must be a Tensor, got ndarray"),
        ({"filter": 1.0}, "filter must be a Tensor, got float"),
        ({"bias": [1.0] * 6}, "an operand must be a Tensor, .* got list"),
        ({"x": F.cast(IMAGE, DType.bool)}, "x must be of integer or floating dtype"),
        ({"stride": 2}, "stride must be a tuple of 2 ints, got int"),
        ({"padding": 1}, "padding must be a tuple of 4 ints, got int"),
        ({"dilation": (1.0, 1)}, "an item of dilation must be an int, got float"),
        ({"groups": 1.0}, "groups must be an int, got float"),
    ],
)
def test_operands_and_options_are_of_their_kind(options, message):
    with pytest.raises(TypeError, match=message):
        F.conv2d(**{"x": IMAGE, "filter": FILTER, **options})


def test_a_volume_has_five_axes():
    with pytest.raises(ValueError, match=r"conv3d: x must have 5 axes, \[batch, depth"):
        F.conv3d(IMAGE, F.ones([1, 1, 1, 2, 1]))


# On a mesh ----------------------------------------------------------------------------

GRID = np.arange(4 * 4 * 4 * 4, dtype=np.float32).reshape(4, 4, 4, 4) % 7
TAPS = np.arange(2 * 2 * 4 * 4, dtype=np.float32).reshape(2, 2, 4, 4) % 5
BIAS = np.array([1.0, 2.0, -3.0, 0.5], np.float32)


@pytest.mark.parametrize(
    ("given", "filter", "lands"),
    [
        ("R", "R", "R"),
        ("S0", "R", "S0"),
        ("R", "S3", "S3"),
        ("S3", "S2", "P"),
        ("P", "R", "P"),
        ("R", "P", "P"),
        ("S0 S3", "R S2", "S0 P"),
        ("S3 S3", "S2 S2", "P P"),
        ("P S0", "R R", "P S0"),
        ("S3 R", "S2 S3", "P S3"),
    ],
)
def test_batch_and_channels_may_be_sharded(given, filter, lands):
    check_sharded(F.conv2d, (GRID, given), (TAPS, filter), lands=lands)


@pytest.mark.parametrize(
    ("given", "filter", "bias", "lands"),
    [("S0", "R", "R", "S0"), ("R", "S3", "S0", "S3"), ("S3", "S2", "P", "P")],
)
def test_the_bias_lies_as_the_output_channels(given, filter, bias, lands):
    def fn(x, filter, bias):
        return F.conv2d(x, filter, bias=bias)

    check_sharded(fn, (GRID, given), (TAPS, filter), (BIAS, bias), lands=lands)


@pytest.mark.parametrize(
    ("given", "filter", "lands"),
    [
        ("S0", "R", "S0"),
        ("S3", "S3", "S3"),
        ("P", "R", "P"),
        ("S0 S3", "R S3", "S0 S3"),
    ],
)
def test_groups_may_be_sharded(given, filter, lands):
    grouped = conv2d(groups=2)
    check_sharded(grouped, (GRID, given), (TAPS[:, :, :2], filter), lands=lands)


@pytest.mark.parametrize(
    ("fn", "given", "filter"),
    [
        (F.conv2d, "S1", "R"),
        (F.conv2d, "S3", "R"),
        (F.conv2d, "R", "S2"),
        (F.conv2d, "P", "P"),
        (conv2d(groups=2), "R", "S3"),
    ],
)
def test_nothing_is_moved_unasked(fn, given, filter):
    taps = TAPS if fn is F.conv2d else TAPS[:, :, :2]
    with pytest.raises(ShardingError, match=r"conv2d[\s\S]*auto_reshard"):
        fn(place(GRID, given), place(taps, filter))


@pytest.mark.parametrize(
    ("given", "filter", "lands"),
    [("S1", "R", "R"), ("S3", "R", "P"), ("R", "S2", "P"), ("S0", "S3", "S0")],
)
def test_told_so_they_are_moved(given, filter, lands):
    with auto_reshard(mode="silent"):
        check_sharded(F.conv2d, (GRID, given), (TAPS, filter), lands=lands)


def test_channels_need_not_divide(draw):
    """Three channels over two devices: the last block is filled up with zeros."""
    x, filter = draw(2, 3, 3, 3), draw(2, 2, 3, 2)
    mesh = cpu_mesh(2)
    whole = DeviceMapping(mesh, (Replicated(),))

    def split(x, filter):
        x = x.to(DeviceMapping(mesh, (Sharded(3),)))
        filter = filter.to(DeviceMapping(mesh, (Sharded(2),)))
        return F.conv2d(x, filter).to(whole)

    program = compile(split)(
        TensorLayout(DType.float32, [2, 3, 3, "c"], whole),
        TensorLayout(DType.float32, [2, 2, "c", 2], whole),
    )
    result = program(Tensor(x).to(whole), Tensor(filter).to(whole)).to_numpy()
    np.testing.assert_allclose(result, convolved(x, filter))


def test_volumes_are_sharded_as_images_are(draw):
    x, filter = draw(2, 2, 2, 2, 4), draw(1, 2, 2, 4, 2)
    for given, taps, lands in [("S0", "R", "S0"), ("R", "S4", "S4"), ("S4", "S3", "P")]:
        check_sharded(F.conv3d, (x, given), (filter, taps), lands=lands)
