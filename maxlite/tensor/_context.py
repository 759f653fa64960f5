"""The current realization context: who decides when an op is computed.

Without a context an op runs at once. Inside one it is recorded, and the context says
when, and whether, its result becomes real. The variable is local to a thread and an
asyncio task.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from maxlite.support import contextvar_context

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from maxlite.graph._graph import Graph
    from maxlite.graph._node import TensorValue
    from maxlite.sharding import DeviceMapping
    from maxlite.tensor._tensor import Tensor


@runtime_checkable
class RealizationContext(Protocol):
    """What an op needs of the place where it is called.

    Source: max.experimental.tensor.RealizationContext.
    """

    @property
    def graph(self) -> Graph:
        """Where ops are recorded."""
        ...

    def add_source(self, tensor: Tensor) -> RealizationState:
        """Makes a realized tensor available as a value of the graph."""
        ...

    def add_mutable_source(self, tensor: Tensor) -> RealizationState:
        """Makes a tensor available that the graph may write to."""
        ...

    def create_unrealized(
        self, values: Sequence[TensorValue], *, mapping: DeviceMapping | None = None
    ) -> Tensor:
        """Makes a pending tensor over values of the graph."""
        ...

    def adopt(self, tensor: Tensor) -> None:
        """Takes care of one more pending tensor over a value of the graph."""
        ...

    async def realize_all(self) -> list[Tensor]:
        """Computes every pending tensor of this context that is still alive."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class RealizationState:
    """What a pending tensor waits for. Equal for one value of one context.

    Attributes:
        values: The recorded value.
        ctx: The context that will compute it.

    Source: max.experimental.tensor.RealizationState.
    """

    values: tuple[TensorValue, ...]
    ctx: RealizationContext

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RealizationState) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[int, ...]:
        # Values do not compare: == of two is a value of their graph.
        return (id(self.ctx), *map(id, self.values))

    @property
    def value(self) -> TensorValue:
        """The only recorded value."""
        return self.values[0]

    @property
    def num_values(self) -> int:
        """How many recorded values there are."""
        return len(self.values)


_current: ContextVar[RealizationContext | None] = ContextVar(
    "maxlite_realization_context", default=None
)

innermost = _current.get
"""Gives the current context, or None; the form that hot paths use."""

enter = _current.set
"""Makes a context the current one, and gives what :data:`leave` takes."""

leave = _current.reset
"""Makes the context current again that was so before."""

_MISSING: Any = object()


def current_realization_context(default: Any = _MISSING, /) -> Any:
    """Gives the current context.

    Args:
        default: Given back when there is none.

    Raises:
        LookupError: There is none, and no default.

    Source: max.experimental.tensor.current_realization_context.

    >>> current_realization_context(None)
    """
    ctx = _current.get()
    if ctx is not None:
        return ctx
    if default is _MISSING:
        raise LookupError(
            "current_realization_context: no context is open. Open one with "
            "realization_context(ctx), or pass a default."
        )
    return default


def realization_context(
    ctx: RealizationContext,
) -> AbstractContextManager[RealizationContext | None]:
    """Makes ``ctx`` the current context for the length of a with-block.

    Raises:
        TypeError: ``ctx`` is no context.

    Source: max.experimental.tensor.realization_context.
    """
    if isinstance(ctx, type) or not hasattr(ctx, "create_unrealized"):
        raise TypeError(
            "realization_context: ctx must be a realization context, got "
            f"{type(ctx).__name__}. Pass LazyRealizationContext(), for example."
        )
    return contextvar_context(_current, ctx)


def open_contexts() -> Iterator[RealizationContext]:
    """Lists the current context and, for a body of a node, those around the body."""
    ctx: Any = _current.get()
    while ctx is not None:
        yield ctx
        ctx = getattr(ctx, "outer", None)


def outside() -> AbstractContextManager[RealizationContext | None]:
    """Suspends the current context: the block runs as if outside of any."""
    return contextvar_context(_current, None)
