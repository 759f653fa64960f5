"""Whether an op that is called outside of any context may simply run.

Usually it may: nothing of what could be asked of it makes a difference. When an
executor of the user's is the default, or when contexts of the user's are, each op goes
through a context of its own. When somebody watches, it runs as usual and is told of.
"""

from __future__ import annotations

import threading

WATCHED = "watched"
"""The reason that asks for no context: somebody wants to know what happens."""


class _Policy:
    """Counts the reasons to do more than to run; hot paths read ``is_plain``.

    Attributes:
        is_plain: Whether there is no reason.
        needs_context: Whether an op must go through a context of its own.
    """

    __slots__ = ("_lock", "_reasons", "is_plain", "needs_context")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reasons: dict[object, int] = {}
        self.is_plain = True
        self.needs_context = False

    def add(self, reason: object) -> None:
        """Adds a reason, which may be there several times."""
        with self._lock:
            self._reasons[reason] = self._reasons.get(reason, 0) + 1
            self._decide()

    def remove(self, reason: object) -> None:
        """Takes a reason away, once."""
        with self._lock:
            left = self._reasons.pop(reason, 0) - 1
            if left > 0:
                self._reasons[reason] = left
            self._decide()

    def set(self, reason: object, holds: bool) -> None:
        """Says whether a reason holds."""
        with self._lock:
            self._reasons.pop(reason, None)
            if holds:
                self._reasons[reason] = 1
            self._decide()

    def _decide(self) -> None:
        self.needs_context = any(reason != WATCHED for reason in self._reasons)
        self.is_plain = not self._reasons


policy = _Policy()
"""That of the process."""
