"""Shapes: the list that users see, and the tuples that the framework works on."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from maxlite.graph import Dim, Shape, StaticDim
from maxlite.graph._shape import (
    compact_dim,
    compact_shape,
    evaluate_shape,
    num_elements,
    symbols_of,
)
from tests.strategies import dim_likes, environments, shapes

N, M = Dim("n"), Dim("m")


class TestShape:
    def test_items_become_dims(self) -> None:
        shape = Shape([1, "n", Dim(3), N + 1, np.int32(4)])
        assert all(isinstance(dim, Dim) for dim in shape)
        assert shape == [1, "n", 3, N + 1, 4]

    @pytest.mark.parametrize("dims", [(1, "n"), iter([1, "n"]), Shape([1, "n"])])
    def test_any_iterable_will_do(self, dims: Any) -> None:
        assert Shape(dims) == [1, N]

    def test_without_dims_it_is_empty(self) -> None:
        assert Shape() == []
        assert Shape([]).rank == 0

    def test_a_string_gives_a_name_per_letter(self) -> None:
        assert Shape("ab") == ["a", "b"]

    def test_negative_sizes_are_kept(self) -> None:
        assert Shape([-1, 2]) == [-1, 2]

    @pytest.mark.parametrize(
        ("dims", "error", "message"),
        [
            (3, TypeError, r"must be a list of sizes, got int. Write \[3\]"),
            (None, TypeError, "must be a list of sizes, got NoneType"),
            ([1.5], TypeError, r"got 1\.5 of type float"),
            ([None], TypeError, "got None of type NoneType"),
            (["a b"], ValueError, "got 'a b'"),
        ],
    )
    def test_what_is_no_shape_is_refused(
        self, dims: Any, error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            Shape(dims)

    def test_repr_and_str_are_the_list_of_dims(self) -> None:
        assert repr(Shape([1, "n", N + 1])) == "[Dim(1), Dim('n'), Dim('n') + Dim(1)]"
        assert str(Shape([1, "n"])) == "[Dim(1), Dim('n')]"

    def test_compares_as_a_list(self) -> None:
        assert Shape([1, "n"]) == Shape([1, N])
        assert Shape([1]) != Shape([1, 1])
        assert Shape([1, 2]) == [1, 2]
        assert [1, 2] == Shape([1, 2])
        assert Shape([1, 2]) != (1, 2)

    def test_contains_ints_and_names(self) -> None:
        shape = Shape([1, "n"])
        for member in (1, "n", N):
            assert member in shape
        assert 5 not in shape
        assert Shape(["m", "n"]).index(N) == 1

    def test_is_a_list_that_can_grow(self) -> None:
        shape = Shape([1])
        shape.append(Dim(2))
        shape[0] = N
        assert shape == ["n", 2]
        with pytest.raises(TypeError, match="unhashable"):
            hash(shape)

    def test_what_comes_in_later_is_a_dim_too(self) -> None:
        shape = Shape([1])
        shape.append(5)
        shape.insert(0, "n")
        shape += [6, "m"]
        shape[2] = 7
        shape[:1] = [2, "k"]
        assert shape == [2, "k", 1, 7, 6, "m"]
        assert shape.static_dims == [2, 1, 7, 6]
        assert list(shape.parameters) == ["k", "m"]
        with pytest.raises(TypeError, match="Dim: the value must be an int, a name"):
            shape.append(1.5)  # pyright: ignore[reportArgumentType]

    def test_slices_and_sums_are_plain_lists(self) -> None:
        shape = Shape([1, "n"])
        for made in (shape[:1], shape + Shape([2]), shape * 2, shape.copy()):
            assert type(made) is list

    def test_properties(self) -> None:
        shape = Shape([2, "n", N * M, 3])
        assert shape.rank == 4
        assert shape.static_dims == [2, 3]
        assert list(shape.parameters) == ["n", "m", "n"]
        assert not shape.is_static()
        assert Shape.is_static(Shape([1, 2]))

    def test_copies_and_pickles_stay_shapes(self) -> None:
        shape = Shape([2, "n", N * M])
        for made in (
            copy.copy(shape),
            copy.deepcopy(shape),
            pickle.loads(pickle.dumps(shape)),
        ):
            assert type(made) is Shape
            assert made == shape


class TestCompactShapes:
    @given(dim_likes())
    def test_only_static_dims_become_ints(self, dim: int | str | Dim) -> None:
        compact = compact_dim(dim)
        assert compact == Dim(dim)
        assert (type(compact) is int) == isinstance(Dim(dim), StaticDim)

    def test_numpy_integers_and_booleans_become_ints(self) -> None:
        assert type(compact_dim(np.int64(3))) is int
        assert type(compact_dim(True)) is int

    def test_what_is_no_dim_is_refused(self) -> None:
        wrong: Any = 2.0
        with pytest.raises(TypeError, match=r"got 2\.0 of type float"):
            compact_shape([1, wrong])

    def test_a_shape_becomes_a_tuple(self) -> None:
        assert compact_shape(Shape([2, "n"])) == (2, N)
        assert compact_shape("n") == (N,)
        assert compact_shape([]) == ()

    @given(shapes())
    def test_a_compact_shape_is_equal_to_the_shape(
        self, dims: list[int | str | Dim]
    ) -> None:
        assert list(compact_shape(dims)) == Shape(dims)
        assert hash(compact_shape(dims)) == hash(compact_shape(Shape(dims)))

    def test_num_elements_is_an_int_where_it_can_be(self) -> None:
        for shape, count in {(): 1, (2, 3): 6, (0, N): 0, (2, N): N * 2}.items():
            assert num_elements(shape) == count
            assert type(num_elements(shape)) is type(count)

    @given(shapes(), environments())
    def test_counting_and_evaluating_commute(
        self, dims: list[int | str | Dim], env: dict[str, int]
    ) -> None:
        shape = compact_shape(dims)
        try:
            sizes = evaluate_shape(shape, env)
        except ZeroDivisionError:
            return
        assert all(type(size) is int for size in sizes)
        assert evaluate_shape((num_elements(shape),), env) == (math.prod(sizes),)

    def test_evaluate_shape_takes_other_numbers_too(self) -> None:
        assert evaluate_shape((2, N * 2), {"n": 0.5}) == (2, 1.0)
        with pytest.raises(ValueError, match=r"got none for n"):
            evaluate_shape((2, N * 2), {})

    def test_symbols_are_listed_once_in_order_of_appearance(self) -> None:
        assert symbols_of((N, 2, M * N, Dim("a") + 1)) == ["n", "m", "a"]
        assert symbols_of((2, 3)) == []
