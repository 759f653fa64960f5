"""All compiled programs that are alive, for those who watch what runs."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_programs: weakref.WeakSet[Any] = weakref.WeakSet()
_watchers: list[Callable[[Any], None]] = []


def add_program(program: Any) -> None:
    """Tells of a new program."""
    _programs.add(program)
    for watcher in _watchers:
        watcher(program)


def programs() -> list[Any]:
    """Lists the programs."""
    return list(_programs)


def watch(watcher: Callable[[Any], None]) -> None:
    """Has a function called with every program there is or will be."""
    _watchers.append(watcher)
    for program in programs():
        watcher(program)


def unwatch(watcher: Callable[[Any], None]) -> None:
    """Undoes :func:`watch`."""
    _watchers.remove(watcher)
