"""Where in the user's code something happened.

Frames of contextlib are passed over like our own: they stand between the end of one of
our with-blocks and the user's line.
"""

from __future__ import annotations

import inspect

_PASSED = frozenset({__name__.partition(".")[0], "contextlib"})


def levels_to_user() -> int:
    """Counts the frames from the caller up to the first one outside of the package.

    The number is a ``stacklevel`` for ``warnings.warn``.
    """
    frame = inspect.currentframe()
    level = 0
    while frame is not None and _is_ours(str(frame.f_globals.get("__name__", ""))):
        frame = frame.f_back
        level += 1
    return level


def user_line() -> str:
    """Tells where the first frame outside of the package is, as ``file:line``."""
    frame = inspect.currentframe()
    while frame is not None and _is_ours(str(frame.f_globals.get("__name__", ""))):
        frame = frame.f_back
    if frame is None:
        return "unknown"
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in _PASSED
