"""fold, against loops in numpy."""

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile, stage
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import ShardingError, TensorLayout, auto_reshard
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, check, check_sharded, place


def places_of(size, kernel, stride=1, dilation=1, padding=0):
    """Lists where each block lies: rows, columns, the width first."""
    stride, dilation, padding = (
        np.broadcast_to(v, 2) for v in (stride, dilation, padding)
    )
    room = np.array(size) + 2 * padding - (np.array(kernel) - 1) * dilation - 1
    counts = room // stride + 1
    return [np.array(at) * stride - padding for at in np.ndindex(*counts)]


def folded(x, size, kernel, stride=1, dilation=1, padding=0):
    """Adds up the blocks element by element."""
    n, merged, _ = x.shape
    blocks = x.reshape(n, merged // (kernel[0] * kernel[1]), *kernel, x.shape[2])
    result = np.zeros((*blocks.shape[:2], *size), x.dtype)
    for i, start in enumerate(places_of(size, kernel, stride, dilation, padding)):
        for tap in np.ndindex(*kernel):
            row, column = start + np.array(tap) * dilation
            if 0 <= row < size[0] and 0 <= column < size[1]:
                result[:, :, row, column] += blocks[(..., *tap, i)]
    return result


def fold(*args, **options):
    return lambda x: F.fold(x, *args, **options)


@pytest.fixture
def draw(rng):
    return lambda *shape: rng.integers(-9, 10, shape).astype(np.float32)


@pytest.mark.parametrize(
    ("size", "kernel", "options"),
    [
        ((3, 4), (2, 2), {}),
        ((4, 6), (2, 3), {"stride": (2, 3)}),
        ((6, 5), (2, 2), {"stride": 2, "padding": 1}),
        ((4, 8), (2, 2), {"stride": 2, "padding": -1}),
        ((5, 5), (2, 2), {"stride": 3}),
        ((5, 6), (3, 2), {"dilation": (2, 3)}),
        ((3, 4), (2, 3), {"padding": (1, 2)}),
        ((6, 5), (3, 2), {"stride": 2, "dilation": (1, 2), "padding": 1}),
        ((4, 4), (1, 2), {"padding": -1}),
        ((1, 1), (1, 1), {}),
        ((3, 3), (3, 3), {}),
    ],
)
def test_blocks_are_put_back_and_add_up(draw, size, kernel, options):
    count = len(places_of(size, kernel, **options))
    x = draw(2, 3 * kernel[0] * kernel[1], count)
    want = folded(x, size, kernel, **options)
    check(fold(size, kernel, **options), x, want=want)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_each_dtype_of_numbers_is_kept(draw, dtype):
    x = abs(draw(1, 8, 4)).astype(dtype)
    want = folded(x.astype(np.float64), (3, 3), (2, 2)).astype(dtype)
    check(fold((3, 3), (2, 2)), x, want=want, named=False)


def test_narrow_floats_are_added_up_in_float32():
    """In float16, 2048 + 1 is 2048; rounded once, 2051 is 2052."""
    x = np.array([2048, 1, 1, 1], np.float16)
    blocks = np.zeros((1, 4, 4), np.float16)
    np.fill_diagonal(blocks[0], x[::-1])
    want = np.zeros((1, 1, 1, 1), np.float16)
    want[:] = 2052
    check(fold((1, 1), (2, 2), padding=1), blocks[:, :, ::-1], want=want)


@pytest.mark.parametrize("shape", [(0, 4, 4), (1, 0, 4)])
def test_no_images_or_channels(shape):
    x = np.zeros(shape, np.float32)
    want = np.zeros((shape[0], shape[1] // 4, 3, 3), np.float32)
    check(fold((3, 3), (2, 2)), x, want=want, named=False)


# Named sizes --------------------------------------------------------------------------


def layout(*sizes):
    return TensorLayout(DType.float32, list(sizes), CPU())


def test_sizes_may_be_named(draw):
    def patches(x):
        return F.fold(x, ("h", 4), (2, 2), stride=2)

    (result,) = stage(fold((4, 4), (2, 2)))(layout("n", "c", "places")).out_layouts
    assert [str(dim) for dim in result.shape] == ["n", "c // 4", "4", "4"]
    (result,) = stage(patches)(layout("n", 8, "h")).out_layouts
    assert [str(dim) for dim in result.shape] == ["n", "2", "h", "4"]
    program = compile(patches)(layout("n", 8, "h"))
    for n, height in [(1, 2), (2, 6)]:
        x = draw(n, 8, height)
        want = folded(x, (height, 4), (2, 2), stride=2)
        np.testing.assert_allclose(program(Tensor(x)).to_numpy(), want)


def test_the_kernel_may_be_named(draw):
    def rows(x, weights):
        return F.fold(x, (4, 4), (weights.shape[0], 1))

    program = compile(rows)(layout(1, "c", "places"), layout("k"))
    for kernel in (1, 3):
        x = draw(1, kernel, (5 - kernel) * 4)
        result = program(Tensor(x), F.ones([kernel])).to_numpy()
        np.testing.assert_allclose(result, folded(x, (4, 4), (kernel, 1)))


def test_what_is_named_is_checked_at_each_size():
    program = compile(fold((3, 3), (2, 2)))(layout(1, "c", "places"))
    with pytest.raises(ValueError, match="3 blocks for 2 x 2 places"):
        program(F.ones([1, 4, 3]))
    with pytest.raises(ValueError, match="must divide into blocks, got size 6"):
        program(F.ones([1, 6, 4]))


# Errors -------------------------------------------------------------------------------

BLOCKS = F.ones([1, 4, 4])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input": F.ones([4, 4])}, r"input must have 3 axes, .* got shape \[4, 4\]"),
        ({"input": F.ones([1, 6, 4])}, "divide into blocks, got size 6 .* of 2 x 2"),
        ({"input": F.ones([1, 4, 9])}, "9 blocks for 2 x 2 places"),
        ({"padding": 1}, "4 blocks for 4 x 4 places"),
        ({"dilation": 3}, "kernel must fit .* dilation 3 for size 3"),
        ({"output_size": (0, 3)}, r"output_size must be at least 1 .* \[0, 3\]"),
        ({"kernel_size": (2, 2, 2)}, "kernel_size must be 2 numbers, got 3"),
        ({"stride": 0}, "stride must be at least 1"),
    ],
)
def test_operands_and_options_must_fit(options, message):
    given = {"input": BLOCKS, "output_size": (3, 3), "kernel_size": (2, 2), **options}
    with pytest.raises(ValueError, match=message):
        F.fold(**given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input": 1.0}, "input must be a Tensor, got float"),
        ({"input": F.cast(BLOCKS, DType.bool)}, "input must be of integer or floating"),
        ({"output_size": 3}, "output_size must be a tuple of 2 ints, got int"),
        ({"kernel_size": 2}, "kernel_size must be a tuple of 2 ints, got int"),
        ({"stride": 1.0}, "stride must be an int, got float"),
    ],
)
def test_operands_and_options_are_of_their_kind(options, message):
    given = {"input": BLOCKS, "output_size": (3, 3), "kernel_size": (2, 2), **options}
    with pytest.raises(TypeError, match=message):
        F.fold(**given)


# On a mesh ----------------------------------------------------------------------------

GRID = np.arange(2 * 16 * 4, dtype=np.float32).reshape(2, 16, 4) % 7


@pytest.mark.parametrize("given", ["S0", "S1", "P", "S1 S1", "S0 P"])
def test_batch_and_whole_channels_may_be_sharded(given):
    check_sharded(fold((3, 3), (2, 2)), (GRID, given), lands=given)


@pytest.mark.parametrize(("channels", "given"), [(4, "S2"), (3, "S1")])
def test_blocks_must_be_whole(channels, given):
    x = GRID[:, : 4 * channels]
    with pytest.raises(ShardingError, match=r"fold[\s\S]*auto_reshard"):
        F.fold(place(x, given), (3, 3), (2, 2))
    with auto_reshard(mode="silent"):
        check_sharded(fold((3, 3), (2, 2)), (x, given), lands="R")
