"""Contexts that compute what was recorded: at the end of a block, or when asked.

The results that are still alive are cut out of the graph and run as one executable,
which is found by the structure of the cut. The graph holds its sources as they were
when they were first used, so a later write to a tensor does not leak in.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from maxlite.graph._graph import Graph, TensorValue, sized
from maxlite.realization_context._compute import compute
from maxlite.realization_context._graph import GraphRealizationContext
from maxlite.tensor._context import (
    RealizationState,
    innermost,
    open_contexts,
    outside,
    realization_context,
)
from maxlite.tensor._tensor import Tensor, run_now, wrap_pending

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from maxlite.sharding import DeviceMapping


class EagerRealizationContext:
    """Records ops and computes the live results when its block ends.

    ``with ctx, realization_context(ctx): ...`` opens it: the context is made current
    inside, and computes after it no longer is.

    Source: max.experimental.realization_context.EagerRealizationContext.
    """

    def __init__(self) -> None:
        self.graph = Graph("main")
        self.unrealized: list[weakref.ref[Tensor]] = []
        self._lock = threading.RLock()

    def add_source(self, tensor: Tensor) -> RealizationState:
        """Makes a tensor available as a value of the graph.

        A pending tensor of another context is computed first.

        Raises:
            TypeError: The tensor belongs to a trace.
        """
        state = tensor._state
        if state is not None and state.ctx is self:
            return state
        if state is not None:
            if isinstance(state.ctx, GraphRealizationContext):
                raise TypeError(
                    "lazy: a traced tensor of graph "
                    f"{state.ctx.graph.name!r} cannot be used in a block that computes "
                    "values. Leave the block, the trace records by itself."
                )
            with outside():
                run_now(state.ctx.realize_all())
        value = self.graph.capture(tensor._stored(), tensor._spec)
        return RealizationState((value,), self)

    def add_mutable_source(self, tensor: Tensor) -> RealizationState:
        """Makes a tensor available that the block writes to."""
        return self.add_source(tensor)

    def write(self, tensor: Tensor, value: TensorValue) -> None:
        """Makes ``value`` the content of a tensor, once it is computed."""
        if tensor._state is None or tensor._state.ctx is not self:
            self.adopt(tensor)
        tensor._state, tensor._array = RealizationState((value,), self), None

    def create_unrealized(
        self, values: Sequence[TensorValue], *, mapping: DeviceMapping | None = None
    ) -> Tensor:
        """Makes a pending tensor over a value of the graph; it is held weakly."""
        made = wrap_pending(values[0].spec, RealizationState(tuple(values), self))
        self.adopt(made)
        return made

    def adopt(self, tensor: Tensor) -> None:
        """Takes care of one more pending tensor, which is held weakly."""
        self.unrealized.append(weakref.ref(tensor))

    async def realize_all(self) -> list[Tensor]:
        """Computes every pending tensor that is still alive, in one executable.

        After a failure everything stays pending and can be tried again.

        Raises:
            TypeError: This context is the current one: its block is still open.
        """
        if any(ctx is self for ctx in open_contexts()):
            raise TypeError(
                "realize: the block that records this tensor is still open. Leave the "
                "block before reading a value."
            )
        with self._lock:
            pending = self._pending()
            if pending or self.graph.has_effects:
                with outside():
                    values = [value for _, value in pending]
                    arrays, sizes = compute(self.graph, values)
                for (tensor, _), array in zip(pending, arrays, strict=True):
                    tensor._spec = sized(tensor._spec, sizes)
                    tensor._array, tensor._state = array, None
            self.unrealized, self.graph = [], Graph(self.graph.name)
        return [tensor for tensor, _ in pending]

    def _pending(self) -> list[tuple[Tensor, TensorValue]]:
        alive = [t for ref in self.unrealized if (t := ref()) is not None]
        return [(t, s.value) for t in alive if (s := t._state) and s.ctx is self]

    def __enter__(self) -> EagerRealizationContext:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        if kind is None:
            run_now(self.realize_all())


class LazyRealizationContext(EagerRealizationContext):
    """Records ops and computes results only when a value is asked for.

    Source: max.experimental.realization_context.LazyRealizationContext.
    """

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        return None


@contextmanager
def lazy() -> Generator[None]:
    """Records what happens in a with-block; nothing runs until a value is read.

    Source: max.experimental.functional.lazy.
    """
    with realization_context(LazyRealizationContext()):
        yield


@contextmanager
def ensure_context() -> Generator[None]:
    """Keeps the current context, or opens one that computes at the end of the block.

    Source: max.experimental.functional.ensure_context.
    """
    if innermost() is not None:
        yield
        return
    ctx = EagerRealizationContext()
    with ctx, realization_context(ctx):
        yield


def in_graph_context() -> bool:
    """Tells whether ops are recorded here rather than run.

    Source: max.experimental.functional.in_graph_context.
    """
    return innermost() is not None


def graph_context() -> GraphRealizationContext | None:
    """Gives the current context when it is a trace."""
    ctx: Any = innermost()
    return ctx if isinstance(ctx, GraphRealizationContext) else None
