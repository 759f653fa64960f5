"""Settings that can be undone, and values that hold for one block.

Two kinds of scope serve the whole package:

- :class:`SetterContext` is what a setter such as ``set_default_executor`` returns. The
  setting holds at once, for a caller who ignores the answer; used in a ``with``
  statement, the same call holds for the block only.
- :func:`contextvar_context` gives a context variable another value for a block. Context
  variables are per thread and per task, so no other thread or task sees it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ContextDecorator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import ContextVar, Token
    from types import TracebackType

__all__ = ["SetterContext", "contextvar_context"]

_T = TypeVar("_T")


class SetterContext(AbstractContextManager[_T]):
    """A setting that has been made already, and how to take it back.

    Leaving the block restores the value from before the setting: after an error too,
    and without looking at what others have set since.

    Args:
        value: What has been set; the ``as`` name of the block.
        previous: What held before.
        restore: Called with ``previous`` at the end of the block.

    Source: max.experimental.support.SetterContext.

    >>> from maxlite.support import SetterContext
    >>> settings = {"speed": 1}
    >>> def set_speed(speed):
    ...     previous, settings["speed"] = settings["speed"], speed
    ...     restore = lambda old: settings.update(speed=old)
    ...     return SetterContext(speed, previous, restore)
    >>> with set_speed(2) as speed:
    ...     speed, settings["speed"]
    (2, 2)
    >>> settings["speed"]
    1
    """

    def __init__(self, value: _T, previous: _T, restore: Callable[[_T], None]) -> None:
        self._value = value
        self._previous = previous
        self._restore = restore

    def __enter__(self) -> _T:
        return self._value

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._restore(self._previous)


class _ValueForBlock(AbstractContextManager[_T], ContextDecorator):
    """A context variable with another value; for one block."""

    __slots__ = ("_token", "_value", "_var")

    _token: Token[_T]

    def __init__(self, var: ContextVar[_T], value: _T) -> None:
        self._var, self._value = var, value

    def _recreate_cm(self) -> _ValueForBlock[_T]:
        """Makes one for each call of a function that it decorates."""
        return _ValueForBlock(self._var, self._value)

    def __enter__(self) -> _T:
        self._token = self._var.set(self._value)
        return self._value

    def __exit__(self, *error: object) -> None:
        self._var.reset(self._token)


def contextvar_context(var: ContextVar[_T], value: _T) -> _ValueForBlock[_T]:
    """Gives a context variable another value for one block.

    Args:
        var: The variable; one that has no value is without one again afterwards.
        value: Its value in the block, and the ``as`` name of the block.

    Source: max.experimental.support.contextvar_context.

    >>> from contextvars import ContextVar
    >>> from maxlite.support import contextvar_context
    >>> depth = ContextVar("depth", default=0)
    >>> with contextvar_context(depth, 1) as now:
    ...     now, depth.get()
    (1, 1)
    >>> depth.get()
    0
    """
    return _ValueForBlock(var, value)
