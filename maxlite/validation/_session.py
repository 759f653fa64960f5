"""One watch: what was counted since it began, by the user's lines.

Results are held weakly and forgotten as soon as they are used; those that are left at
the end were never used, whether they are alive or not.
"""

from __future__ import annotations

import enum
import threading
from collections import Counter
from contextvars import ContextVar
from typing import TYPE_CHECKING
from weakref import ref

from maxlite._frames import user_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from maxlite.tensor import Tensor
    from maxlite.tensor._watching import Watcher
    from maxlite.validation._validator import EagerUsageValidator


class Kind(enum.Enum):
    """What is counted, in the order of the report."""

    EAGER = "eager"
    BREAK = "break"
    UNREAD = "unread"
    COPY = "copy"


Allowed = frozenset[tuple["EagerUsageValidator", Kind]]

allowed: ContextVar[Allowed] = ContextVar("maxlite_allowed", default=frozenset())
"""What who does not count here."""


class Session:
    """Counts what happens until it is closed; a watcher.

    Args:
        owner: The validator that it belongs to.
        outer: Who watched before.

    Attributes:
        is_open: Whether it still counts.
    """

    def __init__(self, owner: EagerUsageValidator, outer: Watcher | None) -> None:
        self.owner = owner
        self.outer = outer
        self.is_open = True
        self._counts: dict[Kind, Counter[str]] = {kind: Counter() for kind in Kind}
        self._unread: dict[int, tuple[ref[Tensor], str]] = {}
        self._discarded: dict[int, ref[Tensor]] = {}
        self._lock = threading.Lock()

    def close(self) -> dict[Kind, Counter[str]]:
        """Ends the watch, and gives what was counted."""
        with self._lock:
            self.is_open = False
            self._counts[Kind.UNREAD].update(line for _, line in self._unread.values())
            self._unread.clear()
            return self._counts

    def discard(self, tensors: Iterable[Tensor]) -> None:
        """Leaves tensors out of what must be read, pending ones too."""
        with self._lock:
            for tensor in tensors:
                self._discarded[id(tensor)] = ref(tensor)
                self._forget(tensor)

    # What it is told --------------------------------------------------------------

    def ran(self) -> None:
        """Counts an op, or a group, that ran at once."""
        self._count(Kind.EAGER)

    def broke(self) -> None:
        """Counts a pending tensor that had to be computed."""
        self._count(Kind.BREAK)

    def copied(self) -> None:
        """Counts a copy to the host."""
        self._count(Kind.COPY)

    def made(self, tensor: Tensor, line: str) -> None:
        """Remembers a result until it is used."""
        key = id(tensor)
        with self._lock:
            known = self._discarded.get(key)
            if known is not None and known() is tensor:
                return
            before = self._unread.get(key)
            if before is not None and before[0]() is None:  # dead, and its id is free
                self._counts[Kind.UNREAD][before[1]] += 1
            described = f"{line}  {tensor.dtype.name}{[*tensor._spec.shape]}"
            self._unread[key] = (ref(tensor), described)

    def used(self, tensor: Tensor) -> None:
        """Forgets a result, and has those around this watch do so."""
        with self._lock:
            self._forget(tensor)
        if self.outer is not None:
            self.outer.used(tensor)

    def _forget(self, tensor: Tensor) -> None:
        known = self._unread.get(id(tensor))
        if known is not None and known[0]() is tensor:
            del self._unread[id(tensor)]

    def _count(self, kind: Kind) -> None:
        if (self.owner, kind) not in allowed.get():
            line = user_line()
            with self._lock:
                self._counts[kind][line] += 1
