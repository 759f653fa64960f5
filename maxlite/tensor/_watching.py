"""Telling somebody what happens: ops that run, values that are read.

Nobody watches as a rule, and then ``policy.is_plain``. Otherwise what happens is told
to the watcher of the thread or task in which it happens, if there is one.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol
from weakref import ref

from maxlite._frames import user_line
from maxlite.executor._policy import policy
from maxlite.support import contextvar_context

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

    from maxlite.tensor._tensor import Tensor


class Watcher(Protocol):
    """Who is told. All calls are made below the user's line that they are about."""

    @property
    def is_open(self) -> bool:
        """Whether it still wants to know."""
        ...

    @property
    def outer(self) -> Watcher | None:
        """Who watched before it, and does so after it."""
        ...

    def ran(self) -> None:
        """An op, or a group of ops, ran at once outside of any context."""
        ...

    def broke(self) -> None:
        """A tensor was pending, and its value was needed."""
        ...

    def copied(self) -> None:
        """Values were copied to the host."""
        ...

    def made(self, tensor: Tensor, line: str) -> None:
        """A block or a program computed a tensor that the user can see."""
        ...

    def used(self, tensor: Tensor) -> None:
        """The value of a tensor was read or computed with."""
        ...


_watcher: ContextVar[Watcher | None] = ContextVar("maxlite_watcher", default=None)


def watcher() -> Watcher | None:
    """Gives who watches here, or None."""
    if policy.is_plain:
        return None
    found = _watcher.get()
    while found is not None and not found.is_open:
        found = found.outer
    return found


def set_watcher(new: Watcher | None) -> None:
    """Says who watches in this thread or task."""
    _watcher.set(new)


def unwatched() -> AbstractContextManager[Watcher | None]:
    """Keeps what happens in a with-block to ourselves."""
    return contextvar_context(_watcher, None)


def tell_used(tensors: Iterable[Tensor]) -> None:
    """Tells that values are read or computed with."""
    watch = watcher()
    if watch is not None:
        for tensor in tensors:
            watch.used(tensor)


def tell_ran() -> None:
    """Tells that an op, or a group, ran at once outside of any context."""
    watch = watcher()
    if watch is not None:
        watch.ran()


def tell_broke() -> None:
    """Tells that a pending tensor had to be computed."""
    watch = watcher()
    if watch is not None:
        watch.broke()


def tell_copied() -> None:
    """Tells that values were copied to the host."""
    watch = watcher()
    if watch is not None:
        watch.copied()


class Held(list["ref[Tensor]"]):
    """Weak references to pending tensors, each with the user's line that added it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[int, str] = {}

    def append(self, held: ref[Tensor]) -> None:
        """Adds a tensor, which is alive."""
        super().append(held)
        self.lines[id(held())] = user_line()


def held_list() -> list[ref[Tensor]]:
    """Makes the list in which a context holds its tensors."""
    return [] if policy.is_plain or watcher() is None else Held()


def tell_made(tensors: Iterable[Tensor], held: object = None) -> None:
    """Tells what was computed, and by which lines; by this one if nobody noted it."""
    watch = watcher()
    if watch is not None:
        lines = held.lines if isinstance(held, Held) else {}
        here = user_line()
        for tensor in tensors:
            watch.made(tensor, lines.get(id(tensor), here))
