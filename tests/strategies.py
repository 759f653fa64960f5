"""Hypothesis generators for dims, shapes and indices."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from maxlite.graph import Dim

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SYMBOLS = ("a", "b", "n")
"""The names that generated dims are made of."""

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
}


@dataclass(frozen=True)
class Expression:
    """An operator between two operands, to be computed with ints or with dims."""

    symbol: str
    lhs: Expression | str | int
    rhs: Expression | str | int

    def __str__(self) -> str:
        return f"({self.lhs} {self.symbol} {self.rhs})"


def compute(
    expression: Expression | str | int, env: Mapping[str, int | Dim]
) -> int | Dim:
    """Computes by Python's own operators."""
    if isinstance(expression, Expression):
        lhs, rhs = (compute(x, env) for x in (expression.lhs, expression.rhs))
        return _OPERATORS[expression.symbol](lhs, rhs)
    return env[expression] if isinstance(expression, str) else expression


def expressions(max_leaves: int = 8) -> st.SearchStrategy[Expression | str | int]:
    """Names and small numbers under ``+``, ``-``, ``*`` and ``//``."""
    leaves = st.sampled_from(SYMBOLS) | st.integers(-6, 6)
    return st.recursive(
        leaves,
        lambda inner: st.builds(
            Expression, st.sampled_from(tuple(_OPERATORS)), inner, inner
        ),
        max_leaves=max_leaves,
    )


@st.composite
def dims(draw: st.DrawFn, max_leaves: int = 5) -> Dim:
    """Static, symbolic and algebraic dims."""
    expression = draw(expressions(max_leaves))
    try:
        return Dim(compute(expression, {name: Dim(name) for name in SYMBOLS}))
    except ZeroDivisionError:
        return Dim(1)


def environments() -> st.SearchStrategy[dict[str, int]]:
    """A value for each symbol, negative ones and 0 included."""
    return st.fixed_dictionaries({name: st.integers(-30, 30) for name in SYMBOLS})


def dim_likes() -> st.SearchStrategy[int | str | Dim]:
    """Whatever a size may be given as."""
    return st.integers(0, 9) | st.sampled_from(SYMBOLS) | dims(max_leaves=3)


def shapes(max_rank: int = 4) -> st.SearchStrategy[list[int | str | Dim]]:
    """What :class:`maxlite.graph.Shape` takes."""
    return st.lists(dim_likes(), max_size=max_rank)


# Indices ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Indexed:
    """A shape, and an index into it that may be out of range."""

    shape: tuple[int, ...]
    index: tuple[Any, ...]

    @property
    def is_strict(self) -> bool:
        """Whether nothing is out of range that numpy would let pass.

        It clips the bounds of slices, and positions where the result is empty.
        """
        return all(
            _is_strict(item, size)
            for item, size in zip(self.index, self._sizes(), strict=True)
        )

    def _sizes(self) -> list[int]:
        """Size of the axis that each entry starts at; 0 for what takes none."""
        taken = [_axes_taken(item) for item in self.index]
        rest = len(self.shape) - sum(taken)
        sizes, axis = [], 0
        for item, axes in zip(self.index, taken, strict=True):
            sizes.append(self.shape[axis] if axes else 0)
            axis += rest if item is Ellipsis else axes
        return sizes


def _axes_taken(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    is_mask = isinstance(item, np.ndarray) and item.dtype == np.bool_
    return item.ndim if is_mask else 1


def _is_strict(item: Any, size: int) -> bool:
    if isinstance(item, slice):
        return _is_strict_slice(item, size)
    if isinstance(item, np.ndarray) and item.dtype != np.bool_:
        return bool(((-size <= item) & (item < size)).all())
    return -size <= item < size if isinstance(item, int) else True


def _is_strict_slice(item: slice, size: int) -> bool:
    forwards = item.step is None or item.step > 0
    start = _from_front(item.start, size, 0 if forwards else size - 1)
    stop = _from_front(item.stop, size, size if forwards else -1)
    return 0 <= start <= stop <= size if forwards else -1 <= stop <= start < size


def _from_front(bound: int | None, size: int, default: int) -> int:
    if bound is None:
        return default
    return bound + size if bound < 0 else bound


def slices(size: int) -> st.SearchStrategy[slice]:
    """Slices forwards and backwards, most of them within bounds."""
    bounds = st.none() | st.integers(-size, size) | st.integers(-size - 2, size + 2)
    steps = st.sampled_from([None, 1, 2, 3, -1, -2, -3])
    return st.builds(slice, bounds, bounds, steps)


def positions(size: int, shape: tuple[int, ...]) -> st.SearchStrategy[np.ndarray]:
    """Arrays of positions, some of them beyond the axis by one."""
    within = st.integers(-size, size - 1) if size else st.just(0)
    beyond = st.integers(-size - 1, size)
    count = math.prod(shape)
    values = st.lists(within, min_size=count, max_size=count)
    values |= st.lists(beyond, min_size=count, max_size=count)
    kinds = st.sampled_from([np.int64, np.int32, np.int8])

    def made(values: list[int], kind: type[np.integer]) -> np.ndarray:
        return np.array(values, kind).reshape(shape)

    return st.builds(made, values, kinds)


def masks(shape: tuple[int, ...]) -> st.SearchStrategy[np.ndarray]:
    """Bools, all False or all True among them."""
    count = math.prod(shape)
    marks = st.lists(st.booleans(), min_size=count, max_size=count)
    marks |= st.sampled_from([[False] * count, [True] * count])
    return marks.map(lambda v: np.array(v, np.bool_).reshape(shape))


@st.composite
def indexed(draw: st.DrawFn, *, new_axes: bool = True) -> Indexed:
    """Shapes, and indices of all kinds: ints, slices, None, Ellipsis, arrays, masks.

    Args:
        draw: Draws from other strategies.
        new_axes: Whether None may be among them.
    """
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    block = draw(st.sampled_from([(2,), (1,), (3,), (2, 2), (2, 1), (0,)]))
    items: list[Any] = []
    axis, ellipsis = 0, False
    end = draw(st.integers(0, len(shape)))
    while axis < end:
        kinds = ["slice", "int", "slice", "array", "array", "mask"]
        kinds += ["new"] * new_axes + ["ellipsis"] * (not ellipsis)
        kind = draw(st.sampled_from(kinds))
        size = shape[axis]
        if kind == "new":
            items.append(None)
            continue
        if kind == "ellipsis":
            # What comes behind counts from the end.
            items.append(Ellipsis)
            ellipsis, end = True, len(shape)
            axis = draw(st.integers(axis, end))
            continue
        width = 1
        if kind == "slice":
            items.append(draw(slices(size)))
        elif kind == "int":
            items.append(draw(st.integers(-size - 1, size)))
        elif kind == "array":
            own = block[draw(st.integers(0, len(block) - 1)) :]
            items.append(draw(positions(size, own)))
        else:
            width = draw(st.integers(1, min(2, end - axis)))
            items.append(draw(masks(shape[axis : axis + width])))
        axis += width
    return Indexed(shape, tuple(items))
