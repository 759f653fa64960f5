"""Sorting along an axis, against numpy's stable sort."""

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph import Dim
from maxlite.sharding import ShardingError, TensorLayout, auto_reshard
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, check, check_sharded, place

NAN, INF = float("nan"), float("inf")
BOOL = np.dtype(bool)
SELECTIONS = ("top_k", "bottom_k")
GRID = np.arange(16, dtype=np.float32).reshape(4, 4)[:, ::-1] % 7


def order(x: np.ndarray, axis: int = -1, *, largest: bool = False) -> np.ndarray:
    """Indices by size, NaN the largest, the lower index first among equals."""
    if not largest:
        return np.argsort(x, axis, stable=True)
    last = x.shape[axis] - 1
    return last - np.flip(np.argsort(np.flip(x, axis), axis, stable=True), axis)


def selected(
    name: str, x: np.ndarray, k: int, axis: int = -1
) -> tuple[np.ndarray, np.ndarray]:
    found = order(x, axis, largest=name == "top_k").take(range(k), axis)
    return np.take_along_axis(x, found, axis), found


def selector(name: str, k: int, axis: int = -1):
    return lambda x: getattr(F, name)(x, k, axis)


def both_ways(axis: int = -1):
    return lambda x: (F.sort(x, axis), F.sort(x, axis, descending=True))


def sorted_both_ways(x: np.ndarray, axis: int = -1) -> tuple[np.ndarray, np.ndarray]:
    up, down = order(x, axis), order(x, axis, largest=True)
    return np.take_along_axis(x, up, axis), np.take_along_axis(x, down, axis)


@pytest.mark.parametrize("dtype", [BOOL, *NUMBERS], ids=str)
def test_each_dtype_is_sorted_as_numpy_does(dtype, rng):
    x = rng.permutation(np.arange(8) % 5).astype(dtype)
    check(F.argsort, x, want=order(x), named=False)
    check(lambda x: F.argsort(x, False), x, want=order(x, largest=True), named=False)
    check(both_ways(), x, want=sorted_both_ways(x), named=False)
    for name in SELECTIONS:
        check(selector(name, 3), x, want=selected(name, x, 3), named=False)


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
@pytest.mark.parametrize("name", SELECTIONS)
def test_each_axis_is_searched(name, axis, rng):
    x = rng.standard_normal((3, 2, 4)).astype(np.float32)
    check(selector(name, 2, axis), x, want=selected(name, x, 2, axis))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_each_axis_is_sorted(axis, rng):
    x = rng.integers(0, 3, (3, 2, 4)).astype(np.float32)
    check(both_ways(axis), x, want=sorted_both_ways(x, axis))
    indices = order(x, axis), order(x, axis, largest=True)
    check(
        lambda x: (F.argsort(x, axis=axis), F.argsort(x, False, axis)), x, want=indices
    )


@pytest.mark.parametrize("values", [[2.0, 1.0, 2.0, 1.0], [0.0, -0.0, 0.0, -0.0]])
def test_of_equal_elements_the_first_comes_first(values):
    x = np.array(values, np.float32)
    check(F.argsort, x, want=order(x))
    check(lambda x: F.argsort(x, ascending=False), x, want=order(x, largest=True))
    for name in SELECTIONS:
        check(selector(name, 4), x, want=selected(name, x, 4))


def test_the_sign_of_a_zero_is_kept():
    zeros = Tensor([0.0, -0.0])
    for values in (F.top_k(zeros, 2)[0], F.sort(zeros), F.sort(zeros, descending=True)):
        assert np.signbit(values.to_numpy()).tolist() == [False, True]


def test_nan_is_the_largest_whatever_its_sign():
    x = np.array([1.0, NAN, INF, -NAN, -INF], np.float32)
    assert order(x).tolist() == [4, 0, 2, 1, 3]
    check(F.argsort, x, want=order(x))
    check(lambda x: F.argsort(x, ascending=False), x, want=order(x, largest=True))
    check(both_ways(), x, want=sorted_both_ways(x))
    for name in SELECTIONS:
        check(selector(name, 5), x, want=selected(name, x, 5))
        check(selector(name, 2), x, want=selected(name, x, 2))


def test_extreme_integers_are_in_order():
    x = np.array([-(2**63), 0, 2**63 - 1])
    check(selector("top_k", 2), x, want=selected("top_k", x, 2))
    check(selector("bottom_k", 2), x, want=selected("bottom_k", x, 2))
    y = np.array([2**64 - 1, 0, 2**63], np.uint64)
    check(selector("top_k", 2), y, want=selected("top_k", y, 2))
    check(selector("bottom_k", 2), y, want=selected("bottom_k", y, 2))


@pytest.mark.parametrize(
    ("shape", "k"), [((3,), 0), ((3,), 3), ((1,), 1), ((0,), 0), ((0, 2), 1)]
)
@pytest.mark.parametrize("name", SELECTIONS)
def test_all_or_nothing_may_be_taken(name, shape, k, rng):
    x = rng.standard_normal(shape).astype(np.float32)
    check(selector(name, k), x, want=selected(name, x, k))


@pytest.mark.parametrize("size", [0, 1])
def test_little_is_sorted(size):
    x = np.zeros(size, np.float32)
    check(F.argsort, x, want=np.arange(size))
    check(F.sort, x, want=x)


# Errors -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1, 2)])
def test_argsort_is_for_vectors(shape):
    with pytest.raises(ValueError, match="argsort: x must have one axis, got"):
        F.argsort(Tensor(np.zeros(shape, np.float32)))


def test_the_axis_that_is_sorted_must_exist():
    x = Tensor([[1.0, 2.0]])
    for fn in (lambda axis: F.sort(x, axis), lambda axis: F.argsort(x, axis=axis)):
        with pytest.raises(ValueError, match="sort: axis must be from -2 to 1, got 2"):
            fn(2)
        with pytest.raises(TypeError, match="sort: axis must be an int, got float"):
            fn(0.0)
    with pytest.raises(ValueError, match=r"sort: axis must exist, got -1 .* rank 0"):
        F.sort(Tensor(1.0))
    with pytest.raises(TypeError, match="sort: x must be a Tensor, got list"):
        F.sort([1.0])  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("k", [3, -1])
@pytest.mark.parametrize("name", SELECTIONS)
def test_k_must_be_within_the_axis(name, k):
    with pytest.raises(ValueError, match=rf"{name}: k must .* got {k} for axis 0 of"):
        selector(name, k)(Tensor([1.0, 2.0]))


@pytest.mark.parametrize("name", SELECTIONS)
def test_a_named_axis_may_turn_out_to_be_shorter(name):
    compiled = compile(selector(name, 2))(TensorLayout(DType.float32, ["n"], CPU()))
    assert compiled(Tensor([2.0, 3.0, 1.0]))[0].shape == [2]
    with pytest.raises(ValueError, match=f"{name}: k must be from 0 to the size"):
        compiled(Tensor([1.0]))


@pytest.mark.parametrize("k", [1.0, True, None, Dim("n")])
@pytest.mark.parametrize("name", SELECTIONS)
def test_k_must_be_an_int(name, k):
    with pytest.raises(TypeError, match="must be an int, got"):
        selector(name, k)(Tensor([1.0, 2.0]))


@pytest.mark.parametrize("name", SELECTIONS)
def test_the_axis_must_exist(name):
    with pytest.raises(ValueError, match=f"{name}: axis must be .*, got 1 for"):
        selector(name, 1, axis=1)(Tensor([1.0, 2.0]))
    with pytest.raises(ValueError, match=f"{name}: axis .* rank 0"):
        selector(name, 1)(Tensor(1.0))
    with pytest.raises(TypeError, match=f"{name}: input must be a Tensor, got list"):
        selector(name, 1)([1.0])


# On a mesh ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axis", "given"), [(0, "R"), (0, "S1"), (1, "S0"), (1, "S0 S0"), (0, "R S1")]
)
@pytest.mark.parametrize("name", SELECTIONS)
def test_other_axes_may_be_sharded(name, axis, given):
    check_sharded(selector(name, 2, axis), (GRID, given), lands=given)


@pytest.mark.parametrize(("axis", "given"), [(0, "S0"), (1, "P"), (1, "S0 S1")])
@pytest.mark.parametrize("name", SELECTIONS)
def test_the_searched_axis_must_be_whole(name, axis, given):
    with pytest.raises(ShardingError, match=rf"{name}[\s\S]*auto_reshard"):
        selector(name, 2, axis)(place(GRID, given))


@pytest.mark.parametrize(
    ("given", "lands"), [("S0", "R"), ("P", "R"), ("P S1", "R S1")]
)
@pytest.mark.parametrize("name", SELECTIONS)
def test_told_so_it_is_moved(name, given, lands):
    with auto_reshard(mode="silent"):
        check_sharded(selector(name, 2, 0), (GRID, given), lands=lands)


@pytest.mark.parametrize(
    ("axis", "given"), [(0, "R"), (0, "S1"), (1, "S0 S0"), (0, "R S1")]
)
def test_other_axes_of_what_is_sorted_may_be_sharded(axis, given):
    check_sharded(
        lambda x: (*both_ways(axis)(x), F.argsort(x, axis=axis)),
        (GRID, given),
        lands=given,
    )


@pytest.mark.parametrize("given", ["S0", "P"])
def test_the_axis_that_is_sorted_must_be_whole(given):
    for fn in (F.sort, F.argsort):
        with pytest.raises(ShardingError, match=r"sort[\s\S]*auto_reshard"):
            fn(place(GRID, given), axis=0)
    with auto_reshard(mode="silent"):
        check_sharded(lambda x: F.sort(x, 0), (GRID, given), lands="R")


def test_argsort_needs_its_vector_whole():
    x = np.array([3.0, 1.0, 2.0, 0.0], np.float32)
    check_sharded(F.argsort, (x, "R"), lands="R")
    with pytest.raises(ShardingError, match=r"argsort[\s\S]*auto_reshard"):
        F.argsort(place(x, "S0"))
    with auto_reshard(mode="silent"):
        check_sharded(F.argsort, (x, "S0"), lands="R")
