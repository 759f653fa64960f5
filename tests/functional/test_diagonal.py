"""diagonal, trace, tril and triu, against numpy."""

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import ShardingError, TensorLayout, auto_reshard
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, check, check_sharded, place

BOX = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
NAN, INF = float("nan"), float("inf")


def diagonal(*args):
    return lambda x: F.diagonal(x, *args)


def trace(*args):
    return lambda x: F.trace(x, *args)


def together(*fns):
    return lambda x: tuple(fn(x) for fn in fns)


def layout(*sizes):
    return TensorLayout(DType.float32, sizes, CPU())


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_each_dtype_is_kept(dtype):
    x = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]]).astype(dtype)
    want = np.diagonal(x), np.trace(x).astype(dtype)[...], np.tril(x), np.triu(x)
    check(together(F.diagonal, F.trace, F.tril, F.triu), x, want=want)


def test_bools_have_diagonals_and_triangles():
    x = np.array([[True, False], [True, True]])
    check(together(F.diagonal, F.triu), x, want=(np.diagonal(x), np.triu(x)))


@pytest.mark.parametrize("offset", range(-3, 5))
def test_each_diagonal_can_be_taken(offset):
    x = BOX[0, :3, :4]
    want = np.diagonal(x, offset), np.trace(x, offset)[...]
    check(together(diagonal(offset), trace(offset)), x, want=want, named=False)


@pytest.mark.parametrize(
    ("axis1", "axis2"), [(0, 1), (1, 0), (0, 2), (-1, 0), (1, -1), (-2, -3)]
)
@pytest.mark.parametrize("offset", [0, 1, -2])
def test_any_two_axes_make_the_matrices(axis1, axis2, offset):
    where = offset, axis1, axis2
    want = np.diagonal(BOX, *where), np.trace(BOX, *where)
    check(together(diagonal(*where), trace(*where)), BOX, want=want, named=False)


@pytest.mark.parametrize(
    "shape", [(0, 0), (1, 1), (1, 3), (3, 1), (0, 2, 2), (2, 2, 0)]
)
def test_there_may_be_little_on_a_diagonal(shape, rng):
    x = rng.standard_normal(shape).astype(np.float32)
    want = np.diagonal(x), np.trace(x)[...], np.tril(x), np.triu(x)
    fns = together(F.diagonal, F.trace, F.tril, F.triu)
    check(fns, x, want=want, named=False)


@pytest.mark.parametrize("offset", [0, 1, -1, 3])
def test_squares_of_a_named_size_have_diagonals(offset):
    x = BOX.reshape(5, 12)[:3, :3].copy()
    program = compile(diagonal(offset))(layout("n", "n"))
    assert (
        program.out_layouts[0].shape[0] + abs(offset) == program.in_layouts[0].shape[0]
    )
    for size in (3, 3 if offset == 3 else 2):
        found = program(Tensor(x[:size, :size].copy())).to_numpy()
        assert found.tolist() == np.diagonal(x[:size, :size], offset).tolist()
    summed = compile(trace(offset))(layout("n", "n"))(Tensor(x)).item()
    assert summed == np.trace(x, offset)


def test_what_is_not_on_the_diagonal_does_not_count():
    x = np.array([[1, INF], [NAN, 2]], np.float32)
    diagonal, lower, upper = [1, 2], [[1, 0], [NAN, 2]], [[1, INF], [0, 2]]
    want = tuple(np.array(a, np.float32) for a in (diagonal, 3, lower, upper))
    check(together(F.diagonal, F.trace, F.tril, F.triu), x, want=want)


def test_halves_are_added_up_in_float32():
    """60000 + 60000 is beyond float16, 2049 is between two of them."""
    x = np.diag(np.array([60000, 60000, -60000], np.float16))
    check(F.trace, x, want=np.array(60000, np.float16))
    x = np.diag(np.array([2048, 1, 1], np.float16))
    check(F.trace, x, want=np.array(2050, np.float16))


def test_integers_wrap_around():
    x = np.diag(np.array([100, 100], np.int8))
    check(F.trace, x, want=np.array(-56, np.int8))


@pytest.mark.parametrize("k", [-7, -2, -1, 0, 1, 3, 9])
def test_each_triangle_is_kept(k):
    fns = together(lambda x: F.tril(x, k), lambda x: F.triu(x, k))
    check(fns, BOX, want=(np.tril(BOX, k), np.triu(BOX, k)))


# Errors -------------------------------------------------------------------------------

SQUARE = Tensor(np.ones((2, 3), np.float32))


@pytest.mark.parametrize("offset", [-3, 4, 100])
def test_the_diagonal_must_be_there(offset):
    message = rf"must be from -2 to 3 .*\[2, 3\], got {offset}"
    with pytest.raises(ValueError, match=f"diagonal: the offset {message}"):
        F.diagonal(SQUARE, offset)
    with pytest.raises(ValueError, match=f"trace: the offset {message}"):
        F.trace(SQUARE, offset)


def test_a_named_size_may_turn_out_to_be_too_small():
    program = compile(diagonal(2))(layout("n", "n"))
    with pytest.raises(ValueError, match=r"diagonal: the offset must be from -1 to 1"):
        program(Tensor([[1.0]]))


@pytest.mark.parametrize("sizes", [("n", "m"), ("n", 3)])
def test_which_axis_ends_the_diagonal_must_be_known(sizes):
    message = rf"the length of diagonal 0 must be known, got .*\[n, {sizes[1]}\]"
    for fn in (diagonal(), trace()):
        with pytest.raises(ValueError, match=message):
            compile(fn)(layout(*sizes))


@pytest.mark.parametrize("fn", [F.diagonal, F.trace])
def test_the_axes_must_be_two(fn):
    with pytest.raises(ValueError, match="axis1 and axis2 must be two axes, got 0 and"):
        fn(SQUARE, 0, 0, -2)
    with pytest.raises(ValueError, match="axis must be from -2 to 1, got 2"):
        fn(SQUARE, 0, 0, 2)
    with pytest.raises(ValueError, match="axis must be from -1 to 0, got 1"):
        fn(Tensor([1.0]))
    with pytest.raises(TypeError, match="offset must be an int, got float"):
        fn(SQUARE, 1.0)
    with pytest.raises(TypeError, match="x must be a Tensor, got list"):
        fn([[1.0]])


def test_a_sum_of_bools_is_refused():
    with pytest.raises(
        TypeError, match="trace: x must be of integer or floating dtype"
    ):
        F.trace(Tensor(np.ones((2, 2), bool)))


@pytest.mark.parametrize("fn", [F.tril, F.triu])
def test_a_triangle_is_part_of_a_matrix(fn):
    with pytest.raises(
        ValueError, match=r"tri[lu]: x must have at least two axes, got"
    ):
        fn(Tensor([1.0]))
    with pytest.raises(TypeError, match=r"tri[lu]: k must be an int, got float"):
        fn(SQUARE, 0.5)
    with pytest.raises(TypeError, match=r"tri[lu]: x must be a Tensor, got float"):
        fn(1.0)


# On a mesh ----------------------------------------------------------------------------

CUBE = np.arange(64, dtype=np.float32).reshape(4, 4, 4)


@pytest.mark.parametrize(
    ("given", "lands"), [("R", "R"), ("S2", "S0"), ("P", "P"), ("S2 P", "S0 P")]
)
def test_the_other_axes_may_be_sharded(given, lands):
    check_sharded(together(diagonal(1), trace(-1)), (CUBE, given), lands=lands)


def test_an_axis_between_closes_up():
    check_sharded(diagonal(0, 2, 0), (CUBE, "S1"), lands="S0")


@pytest.mark.parametrize("given", ["S0", "S1"])
@pytest.mark.parametrize("fn", [F.diagonal, F.trace])
def test_the_matrices_must_be_whole(fn, given):
    with pytest.raises(ShardingError, match=r"(diagonal|trace)[\s\S]*auto_reshard"):
        fn(place(CUBE, given))
    with auto_reshard(mode="silent"):
        check_sharded(fn, (CUBE, given), lands="R")


@pytest.mark.parametrize("given", ["R", "S0", "S1", "S2", "P", "S1 S2", "P S1"])
def test_triangles_are_kept_under_any_placement(given):
    fns = together(lambda x: F.tril(x, -1), lambda x: F.triu(x, 1))
    check_sharded(fns, (CUBE, given), lands=given)
