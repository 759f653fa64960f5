"""masked_fill, take, take_along_axis and one_hot, against numpy."""

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import ShardingError, TensorLayout, auto_reshard
from maxlite.tensor import Tensor, default_dtype
from tests.functional._cross import INTEGERS, NUMBERS, check, check_sharded, place

BOOL = np.dtype(bool)
BOX = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
GRID = np.arange(16, dtype=np.float32).reshape(4, 4)


def fill(value):
    return lambda x, mask: F.masked_fill(x, mask, value)


def take(axis=None):
    return lambda x, i: F.take(x, i, axis)


def along(axis=-1):
    return lambda x, i: F.take_along_axis(x, i, axis)


def one_hot(*args, **options):
    return lambda x: F.one_hot(x, *args, **options)


# masked_fill --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [BOOL, *NUMBERS], ids=str)
def test_each_dtype_is_filled(dtype):
    x, mask = np.array([[0, 1], [1, 0]]).astype(dtype), np.array([[True, False]] * 2)
    check(fill(1), x, mask, want=np.where(mask, np.ones_like(x), x))


@pytest.mark.parametrize("shape", [(2, 3, 4), (4,), (3, 1), (1, 1, 1), ()])
def test_the_mask_broadcasts(shape, rng):
    mask = np.asarray(rng.random(shape) > 0.5)
    check(fill(-1.5), BOX, mask, want=np.where(mask, np.float32(-1.5), BOX))


def test_the_value_may_be_a_tensor_or_infinite():
    x, mask = np.array([1, np.nan], np.float32), np.array([False, True])
    check(fill(float("-inf")), x, mask, want=np.array([1, -np.inf], np.float32))
    value = np.array(7, np.float32)
    check(F.masked_fill, x, mask, value, want=np.array([1, 7], np.float32))


def test_nothing_is_filled_in_nothing():
    nothing = np.zeros((0, 2), np.float32)
    check(fill(1), nothing, nothing > 0, want=nothing)


@pytest.mark.parametrize("shape", [(2, 4), (3,), (1, 3)])
def test_the_mask_must_not_be_larger(shape):
    x = Tensor(np.ones((1, 4) if shape == (2, 4) else (3, 1), np.float32))
    with pytest.raises(ValueError, match=r"masked_fill: mask must broadcast to the sh"):
        F.masked_fill(x, Tensor(np.ones(shape, bool)), 0.0)


def test_what_is_filled_in_must_fit():
    x, mask = Tensor(np.ones(2, np.int32)), Tensor(np.ones(2, bool))
    with pytest.raises(ValueError, match=r"int32.*0\.5"):
        F.masked_fill(x, mask, 0.5)
    with pytest.raises(ValueError, match="value must have rank 0 and dtype int32, got"):
        F.masked_fill(x, mask, Tensor(1.0))
    with pytest.raises(ValueError, match="value must have rank 0 and dtype int32, got"):
        F.masked_fill(x, mask, x)
    with pytest.raises(ValueError, match="cond must be of bool dtype, got int32"):
        F.masked_fill(x, x, 1)
    with pytest.raises(TypeError, match="masked_fill: mask must be a Tensor, got list"):
        F.masked_fill(x, [True], 1)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("given", ["R", "S0", "S1", "S0 S1"])
def test_a_mask_is_sharded_as_what_it_fills(given):
    mask = (GRID % 3 == 0).astype(np.float32)

    def run(x, mask):
        return F.masked_fill(x, mask > 0.5, -1.0)

    check_sharded(run, (GRID, given), (mask, given), lands=given)


# take ---------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("positions", [[0, -1, 1], [[1], [0]], 1, []])
def test_elements_are_picked_as_numpy_does(axis, positions):
    indices = np.array(positions, np.int64)
    check(take(axis), BOX, indices, want=np.take(BOX, indices, axis))


def test_a_vector_needs_no_axis():
    x, indices = np.array([5, 6, 7], np.int8), np.array([2, 0], np.uint8)
    check(take(), x, indices, want=np.take(x, indices))


def test_positions_to_take_must_fit():
    x, far = Tensor(BOX), Tensor(np.array([24]))
    with pytest.raises(ValueError, match="indices must be from -24 to 24 - 1, got 24"):
        F.take(x, far)
    with pytest.raises(IndexError, match="axis must be from -3 to 2, got 3"):
        F.take(x, far, 3)
    with pytest.raises(ValueError, match="indices must be of integer dtype, got float"):
        F.take(x, Tensor([0.0]), 0)
    with pytest.raises(TypeError, match="take: indices must be a Tensor, got list"):
        F.take(x, [0])  # pyright: ignore[reportArgumentType]


# take_along_axis ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [BOOL, *NUMBERS], ids=str)
def test_each_dtype_is_picked_from(dtype):
    x, indices = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype), np.array([[2], [-3]])
    check(along(), x, indices, want=np.take_along_axis(x, indices, -1))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_positions_are_of_any_integer_dtype(dtype):
    """The axis is longer than the narrow dtypes count."""
    x, indices = np.arange(300, dtype=np.float32), np.array([0, 99, 127]).astype(dtype)
    check(along(), x, indices, want=np.take_along_axis(x, indices.astype(int), -1))
    if dtype.kind == "i":
        back = np.array([-1, -100]).astype(dtype)
        check(along(), x, back, want=np.take_along_axis(x, back, -1))


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((2, 3, 2), 2),
        ((2, 5, 4), 1),
        ((1, 3, 4), 0),
        ((1, 2, 4), -2),
        ((2, 1, 1), 2),
        ((2, 3, 0), 2),
    ],
)
def test_each_axis_is_picked_from(shape, axis, rng):
    indices = rng.integers(-BOX.shape[axis], BOX.shape[axis], shape)
    want = np.take_along_axis(BOX, indices, axis)
    check(along(axis), BOX, indices, want=want, named=False)


def test_one_row_serves_many_positions(rng):
    x, indices = BOX[:1], rng.integers(0, 4, (2, 3, 5))
    check(along(), x, indices, want=np.take_along_axis(x, indices, -1))


def test_positions_of_named_sizes():
    x, indices = (
        TensorLayout(dtype, sizes, CPU())
        for dtype, sizes in ((DType.float32, ["b", "n"]), (DType.int64, ["b", "k"]))
    )
    program = compile(along())(x, indices)
    assert program.out_layouts[0].shape == ["b", "k"]
    picked = program(Tensor(GRID), Tensor(np.array([[3]] * 4)))
    assert picked.to_numpy().tolist() == [[3], [7], [11], [15]]


def test_it_undoes_argsort(rng):
    x = rng.standard_normal((3, 5)).astype(np.float32)
    for axis in (0, 1):
        order = F.argsort(Tensor(x), axis=axis)
        found = F.take_along_axis(Tensor(x), order, axis).to_numpy()
        np.testing.assert_array_equal(found, np.sort(x, axis))


def test_out_of_range_a_program_gives_nan():
    run = compile(along())(
        TensorLayout(DType.float32, [3], CPU()), TensorLayout(DType.int64, [3], CPU())
    )
    got = run(Tensor([1.0, 2.0, 3.0]), Tensor(np.array([2, 3, -4]))).to_numpy()
    np.testing.assert_array_equal(got, np.array([3, np.nan, np.nan], np.float32))


@pytest.mark.parametrize(
    ("shape", "axis", "message"),
    [
        ((3,), -1, r"must have the same rank, got \[2, 3, 4\] and \[3\]"),
        ((2, 2, 1), 2, "sizes must be equal or 1, got 3 and 2"),
        ((2, 3, 4), 3, "axis must be from -3 to 2, got 3"),
    ],
)
def test_the_shapes_must_fit(shape, axis, message):
    with pytest.raises(ValueError, match=f"take_along_axis: .*{message}"):
        F.take_along_axis(Tensor(BOX), Tensor(np.zeros(shape, np.int64)), axis)


def test_positions_must_be_integers_in_range():
    x = Tensor([1.0, 2.0])
    message = "take_along_axis: indices must be from -2 to 2 - 1, got"
    for position in (2, -3):
        with pytest.raises(ValueError, match=message):
            F.take_along_axis(x, Tensor(np.array([position])))
    with pytest.raises(ValueError, match="indices must be of integer dtype, got float"):
        F.take_along_axis(x, x)
    nothing = Tensor(np.ones(0, np.float32))
    with F.lazy():
        picked = F.take_along_axis(nothing, Tensor(np.array([0])))
    with pytest.raises(ValueError, match="axis of size 0 has no elements to pick"):
        picked.to_numpy()
    with pytest.raises(
        TypeError, match="take_along_axis: x must be a Tensor, got list"
    ):
        F.take_along_axis([1.0], x)  # pyright: ignore[reportArgumentType]


ROWS = np.array([[3, 0], [1, 2], [0, 0], [2, 1]])


@pytest.mark.parametrize(
    ("given", "indices", "lands"),
    [
        ("S0", "S0", "S0"),
        ("R", "S1", "S1"),
        ("P", "R", "P"),
        ("S0 R", "S0 S1", "S0 S1"),
    ],
)
def test_rows_and_positions_may_be_sharded(given, indices, lands):
    check_sharded(along(), (GRID, given), (ROWS, indices), lands=lands)


@pytest.mark.parametrize(
    ("given", "indices", "lands"),
    [("S1", "R", "R"), ("S0", "R", "S0"), ("S1", "S1", "S1")],
)
def test_the_axis_that_is_picked_from_must_be_whole(given, indices, lands):
    with pytest.raises(ShardingError, match=r"take_along_axis[\s\S]*auto_reshard"):
        F.take_along_axis(place(GRID, given), place(ROWS, indices))
    with auto_reshard(mode="silent"):
        check_sharded(along(), (GRID, given), (ROWS, indices), lands=lands)


# one_hot ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_classes_of_any_integer_dtype(dtype):
    """There are more classes than the narrow dtypes count."""
    x = np.array([0, 127, 3]).astype(dtype)
    check(one_hot(300), x, want=np.eye(300, dtype=np.float32)[x.astype(int)])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_the_new_axis_is_where_it_is_wanted(axis):
    x = np.array([[0, 2, 1], [1, 1, 0]])
    want = np.moveaxis(np.eye(3, dtype=np.float32)[x], -1, axis)
    check(one_hot(3, axis), x, want=want)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 1)])
def test_there_may_be_little_to_encode(shape):
    x = np.zeros(shape, np.int64)
    check(one_hot(2), x, want=np.eye(2, dtype=np.float32)[x])
    check(one_hot(0), x, want=np.zeros((*shape, 0), np.float32))


def test_beyond_the_classes_are_zeros():
    x = np.array([-1, 3, 2])
    check(one_hot(3), x, want=np.eye(4, 3, dtype=np.float32)[[3, 3, 2]])
    huge = np.array([2**64 - 1, 2**63, 1], np.uint64)
    check(one_hot(2), huge, want=np.array([[0, 0], [0, 0], [0, 1]], np.float32))


def test_the_dtype_may_be_chosen():
    x = np.array([1, 0])
    check(one_hot(2, dtype=DType.bool), x, want=np.eye(2, dtype=bool)[x])
    with default_dtype(DType.int32):
        assert F.one_hot(Tensor(x), 2).dtype is DType.int32


def test_as_many_classes_as_a_named_size():
    def encode(x):
        return F.one_hot(x, x.shape[0])

    program = compile(encode)(TensorLayout(DType.int64, ["n"], CPU()))
    assert program.out_layouts[0].shape == ["n", "n"]
    found = program(Tensor(np.array([2, 0, 1]))).to_numpy()
    assert found.tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]


def test_classes_are_integers():
    x = Tensor(np.array([0]))
    with pytest.raises(
        TypeError, match="one_hot: indices must be of integer dtype, got"
    ):
        F.one_hot(Tensor([0.0]), 2)
    with pytest.raises(
        ValueError, match="one_hot: num_classes must be 0 or more, got -"
    ):
        F.one_hot(x, -1)
    with pytest.raises(ValueError, match="one_hot: axis must be from -2 to 1, got 2"):
        F.one_hot(x, 2, 2)
    with pytest.raises(TypeError, match="one_hot: indices must be a Tensor, got int"):
        F.one_hot(1, 2)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("axis", "given", "lands"),
    [(-1, "S0", "S0"), (0, "S0", "S1"), (1, "S0 S1", "S0 S2"), (-1, "R", "R")],
)
def test_classes_may_be_sharded(axis, given, lands):
    check_sharded(one_hot(4, axis), (ROWS, given), lands=lands)
