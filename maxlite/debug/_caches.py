"""What maxlite keeps, and letting go of it."""

from __future__ import annotations

from dataclasses import dataclass

from maxlite._caches import tables


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """How full a table is.

    Attributes:
        name: What it keeps.
        entries: How many of them it has.
        limit: How many it has at most; a full table starts afresh.
    """

    name: str
    entries: int
    limit: int


def cache_info() -> list[CacheInfo]:
    """Lists the tables in which compiled programs and the like are kept.

    Source: ours.

    >>> all(info.entries <= info.limit for info in cache_info())
    True
    """
    found = sorted(tables().items())
    return [CacheInfo(name, len(table), table.limit) for name, table in found]


def clear_caches() -> None:
    """Lets go of everything that was kept; what is met again is compiled again.

    Tensors and compiled callables keep what they need.

    Source: ours.

    >>> clear_caches()
    >>> sum(info.entries for info in cache_info())
    0
    """
    for table in list(tables().values()):
        table.clear()
