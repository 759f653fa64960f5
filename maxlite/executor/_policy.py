"""Whether an op that is called outside of any context may simply run.

Usually it may: nothing of what could be asked of it makes a difference. When an
executor of the user's is the default, when contexts of the user's are, or when somebody
watches, each op goes through a context of its own.
"""

from __future__ import annotations

import threading


class _Policy:
    """Counts the reasons to go through a context; hot paths read ``is_plain``."""

    __slots__ = ("_lock", "_reasons", "is_plain")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reasons: dict[object, int] = {}
        self.is_plain = True

    def add(self, reason: object) -> None:
        """Adds a reason, which may be there several times."""
        with self._lock:
            self._reasons[reason] = self._reasons.get(reason, 0) + 1
            self.is_plain = False

    def remove(self, reason: object) -> None:
        """Takes a reason away, once."""
        with self._lock:
            left = self._reasons.pop(reason, 0) - 1
            if left > 0:
                self._reasons[reason] = left
            self.is_plain = not self._reasons

    def set(self, reason: object, holds: bool) -> None:
        """Says whether a reason holds."""
        with self._lock:
            self._reasons.pop(reason, None)
            if holds:
                self._reasons[reason] = 1
            self.is_plain = not self._reasons


policy = _Policy()
"""That of the process."""
