"""searchsorted, against numpy."""

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.sharding import ShardingError
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, check, check_sharded, place

NAN, INF = float("nan"), float("inf")
BOOL = np.dtype(bool)
GRID = np.arange(16, dtype=np.float32).reshape(4, 4) % 7


def searched(side="left"):
    return lambda x, values: F.searchsorted(x, values, side)


@pytest.mark.parametrize("dtype", [BOOL, *NUMBERS], ids=str)
def test_each_dtype_is_searched(dtype):
    x, values = np.array([0, 1, 1, 4]).astype(dtype), np.array([1, 0, 5]).astype(dtype)
    want = np.searchsorted(x, values), np.searchsorted(x, values, "right")
    check(
        lambda *both: (searched()(*both), searched("right")(*both)),
        *(x, values),
        want=want,
    )


@pytest.mark.parametrize("side", ["left", "right"])
def test_nan_and_infinities_have_their_places(side):
    x = np.array([-INF, -0.0, 0.0, 1.0, INF, NAN, NAN], np.float32)
    values = np.array([[NAN, INF, -INF], [0.0, -0.0, 2.0]], np.float32)
    check(searched(side), x, values, want=np.searchsorted(x, values, side))


@pytest.mark.parametrize("shape", [(), (0,), (1, 2)])
@pytest.mark.parametrize("size", [0, 1, 5])
def test_any_values_are_searched_in_any_vector(shape, size, rng):
    x = np.arange(size, dtype=np.float32)
    values = np.asarray(rng.integers(-1, 7, shape).astype(np.float32))
    want = np.asarray(np.searchsorted(x, values))
    check(searched(), x, values, want=want, named=False)


def test_a_number_is_searched():
    x = np.array([1, 2, 4], np.int8)
    check(lambda x: F.searchsorted(x, 3), x, want=np.array(2))
    with pytest.raises(ValueError, match=r"int8.*300"):
        F.searchsorted(Tensor(x), 300)


def test_values_are_searched_in_the_promoted_dtype():
    x, values = np.array([1, 2, 3], np.int32), np.array([1.5, 3.0])
    check(searched("right"), x, values, want=np.searchsorted(x, values, "right"))
    with pytest.raises(
        ValueError, match=r"searchsorted: .*DType.int32 and DType.float32"
    ):
        F.searchsorted(Tensor(x), Tensor([1.5]))


def test_what_is_searched_is_a_vector():
    grid = Tensor([[1.0, 2.0]])
    with pytest.raises(
        ValueError, match=r"sorted_sequence must have one axis, got \[1,"
    ):
        F.searchsorted(grid, grid)
    with pytest.raises(
        ValueError, match="side must be 'left' or 'right', got 'middle'"
    ):
        F.searchsorted(Tensor([1.0]), 1.0, "middle")  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="sorted_sequence must be a Tensor, got list"):
        F.searchsorted([1.0], grid)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("given", ["R", "S0", "S1", "S1 S0"])
def test_values_may_be_sharded(given):
    whole = " ".join("R" for _ in given.split())
    x = np.array([0, 2, 3, 5], np.float32)
    check_sharded(searched(), (x, whole), (GRID, given), lands=given)
    with pytest.raises(ShardingError, match=r"searchsorted[\s\S]*auto_reshard"):
        F.searchsorted(place(x, "S0"), place(GRID, "R"))
