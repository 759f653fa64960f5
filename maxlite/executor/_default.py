"""The default executor of the process."""

from __future__ import annotations

import os
import threading
from typing import Any, TypeVar

from maxlite.executor._block import ArrayExecutor
from maxlite.executor._executors import CompilingExecutor, InterpreterExecutor
from maxlite.executor._jit import JitExecutor
from maxlite.executor._policy import policy
from maxlite.executor._protocol import Executor
from maxlite.support import SetterContext

VARIABLES = ("MAXLITE_EAGER_EXECUTOR", "MAX_EAGER_EXECUTOR")
"""Environment variables that name the default executor; the first one that is set."""

_NAMED = {
    "compile": CompilingExecutor,
    "interpreter": InterpreterExecutor,
    "jit": JitExecutor,
    "composite": JitExecutor,
}

_ExecutorT = TypeVar("_ExecutorT", bound=Executor)

_lock = threading.RLock()
_default: Executor | None = None


def default_executor() -> Executor:
    """Gives the executor that contexts use which were not given one.

    A :class:`CompilingExecutor`, unless ``set_default_executor`` or the environment
    variable ``MAXLITE_EAGER_EXECUTOR`` says otherwise: ``compile``, ``interpreter``, or
    ``jit`` (``composite`` is the same). ``MAX_EAGER_EXECUTOR`` is read as well.

    Raises:
        ValueError: The variable holds something else.

    Source: max.experimental.executor.default_executor.
    """
    global _default
    found = _default
    if found is not None:
        return found
    with _lock:
        if _default is None:
            _default = _from_environment()
        return _default


def _from_environment() -> Executor:
    for variable in VARIABLES:
        name = os.environ.get(variable, "")
        if not name:
            continue
        if name not in _NAMED:
            raise ValueError(
                f"{variable}: the executor must be one of {', '.join(_NAMED)}, got "
                f"{name!r}. Set another value, or unset the variable."
            )
        return _NAMED[name]()
    return CompilingExecutor()


def set_default_executor(executor: _ExecutorT) -> SetterContext[_ExecutorT]:
    """Makes an executor the default one, at once and for the whole process.

    An executor of your own is asked for every eager op, group and block from then on.

    Args:
        executor: Anything with ``execute``; it is not checked.

    Returns:
        Used in a ``with`` statement, the setting holds for the block only.

    Source: max.experimental.executor.set_default_executor.

    >>> from maxlite.executor import InterpreterExecutor
    >>> with set_default_executor(InterpreterExecutor()) as current:
    ...     current is default_executor()
    True
    """
    previous: Any = default_executor()
    _set(executor)
    return SetterContext(executor, previous, _set)


def _set(executor: Executor) -> None:
    global _default
    with _lock:
        _default = executor
        ours = isinstance(executor, ArrayExecutor) and executor.takes_arrays
        policy.set("executor", not ours)
