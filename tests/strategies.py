"""Hypothesis generators for dims and shapes."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
