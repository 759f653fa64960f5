"""Objects that cannot be pickled or copied, and say so in words."""

from __future__ import annotations

from typing import NoReturn


class Unique:
    """What lives in one process, in one piece: neither pickled nor copied.

    A subclass says in ``_instead`` what to do.
    """

    __slots__ = ()

    _instead = "Make a new one"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} cannot be pickled or copied: it belongs to what "
            f"was recorded in this process. {self._instead}."
        )
