"""Bounded tables of what is made once and found again, each under a name.

A table that is full starts afresh: what is in use is kept by its users, and what is met
again is made again. ``maxlite.debug`` shows the tables and clears them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

_K = TypeVar("_K")
_V = TypeVar("_V")

_tables: dict[str, Cache[object, object]] = {}


class Cache(dict[_K, _V]):
    """A table that never grows beyond its limit.

    Args:
        name: What it is shown as; one table has it.
        limit: How many entries it has at most.
    """

    __slots__ = ("limit", "name")

    def __init__(self, name: str, limit: int) -> None:
        super().__init__()
        self.name = name
        self.limit = limit
        _tables[name] = self  # pyright: ignore[reportArgumentType]

    def keep(self, key: _K, value: _V) -> _V:
        """Adds an entry unless there is one, and gives the one that is there."""
        if len(self) >= self.limit:
            self.clear()
        return self.setdefault(key, value)


def tables() -> Mapping[str, Cache[object, object]]:
    """Gives all tables by name."""
    return _tables
