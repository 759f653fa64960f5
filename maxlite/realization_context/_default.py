"""The context of what is called outside of any: who makes it, and who opens one."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from maxlite.executor._policy import policy
from maxlite.realization_context._eager import (
    EagerRealizationContext,
    LazyRealizationContext,
)
from maxlite.realization_context._graph import GraphRealizationContext
from maxlite.support import SetterContext
from maxlite.tensor._context import enter, innermost, realization_context

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    Maker = Callable[[], Any]

_lock = threading.Lock()
_maker: Maker = EagerRealizationContext


def default_realization_context() -> Any:
    """Makes the context of one op, or group of ops, that is called outside of any.

    Returns:
        A new :class:`EagerRealizationContext`, or what the function gives that was
        passed to :func:`set_default_realization_context`.

    Source: max.experimental.realization_context.default_realization_context.

    >>> default_realization_context() is default_realization_context()
    False
    """
    return _maker()


def set_default_realization_context(make: Maker) -> SetterContext[Maker]:
    """Says who makes contexts, at once and for the whole process.

    Args:
        make: Called once for each op, or group of ops, outside of any context; gives a
            new context. With ``LazyRealizationContext`` every result stays pending
            until it is read.

    Returns:
        Used in a ``with`` statement, the setting holds for the block only.

    Raises:
        TypeError: ``make`` cannot be called.

    Source: max.experimental.realization_context.set_default_realization_context.

    >>> from maxlite.tensor import Tensor
    >>> with set_default_realization_context(LazyRealizationContext):
    ...     (Tensor([1.0]) + 1).real
    False
    """
    if not callable(make):
        raise TypeError(
            "set_default_realization_context: make must be a function that gives a "
            f"context, got {make!r}. Pass a class, such as LazyRealizationContext."
        )
    previous = _maker
    _set(make)
    return SetterContext(make, previous, _set)


def _set(make: Maker) -> None:
    global _maker
    with _lock:
        _maker = make
        policy.set("context", make is not EagerRealizationContext)


@contextmanager
def lazy() -> Generator[Any]:
    """Records what happens in a with-block; nothing runs until a value is read.

    The ``as`` name of the block is its context, whose ``graph`` can be printed.

    Source: max.experimental.functional.lazy.
    """
    with realization_context(LazyRealizationContext()) as ctx:
        yield ctx


@contextmanager
def ensure_context() -> Generator[None]:
    """Keeps the current context, or opens a default one for the length of the block.

    The usual one computes at the end of the block.

    Source: max.experimental.functional.ensure_context.
    """
    if innermost() is not None:
        yield
        return
    ctx = _made()
    with ctx, realization_context(ctx):
        yield


def _made() -> Any:
    """Makes a default context; who watches is told when it computes at its end."""
    ctx = _maker()
    if not policy.is_plain and _computes_at_its_end(ctx):
        ctx._is_one_op = True
    return ctx


def _computes_at_its_end(ctx: object) -> bool:
    is_lazy = isinstance(ctx, LazyRealizationContext)
    return isinstance(ctx, EagerRealizationContext) and not is_lazy


def in_graph_context() -> bool:
    """Tells whether ops are recorded here rather than run.

    Source: max.experimental.functional.in_graph_context.
    """
    return innermost() is not None


def graph_context() -> GraphRealizationContext | None:
    """Gives the current context when it is a trace."""
    ctx: Any = innermost()
    return ctx if isinstance(ctx, GraphRealizationContext) else None


def in_context(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """Calls a function in the current context, or in one that is opened for it.

    The same as in a block of :func:`ensure_context`, with less around it.
    """
    if innermost() is not None:
        return fn(*args, **kwargs)
    ctx = _maker() if policy.is_plain else _made()
    if type(ctx) is not EagerRealizationContext:
        with ctx, realization_context(ctx):
            return fn(*args, **kwargs)
    try:
        enter(ctx)
        result = fn(*args, **kwargs)
    finally:
        enter(None)  # an interrupt may have lost the token that leave takes
    ctx.compute(last=True)
    return result


def subgraph_context() -> GraphRealizationContext | None:
    """Gives the trace that a subgraph called here becomes a function of.

    Returns:
        None where a subgraph is simply run: outside of a trace, and in a lazy block.

    Source: max.experimental.realization_context.subgraph_context.

    >>> subgraph_context()
    """
    ctx = graph_context()
    return None if ctx is None or ctx.subgraph_cache is None else ctx
