"""After a fork: JAX's threads are gone, and whatever needs them would hang for ever.

A process that is forked before JAX has started its devices is as good as a new one. One
that is forked later can read what it has, and nothing else: what would hang is refused.
So what is being computed while a process forks is waited for.
"""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from typing import Any, NoReturn, Protocol, cast

import jax


class Program(Protocol):
    """A compiled program, as far as it matters here."""

    call: Any
    is_direct: bool


class _State:
    """What is known of this process."""

    __slots__ = ("is_forked", "is_started", "programs")

    def __init__(self) -> None:
        self.is_started = False
        self.is_forked = False
        self.programs: weakref.WeakSet[Any] = weakref.WeakSet()


_state = _State()


def devices_started() -> None:
    """Remembers that JAX has started its devices."""
    _state.is_started = True


def refuse_after_fork(program: Program) -> None:
    """Makes a program refuse to run in processes that are forked from now on."""
    _state.programs.add(program)


def check_not_forked() -> None:
    """Checks that JAX is alive in this process.

    Raises:
        RuntimeError: The process was forked after JAX had started its devices.
    """
    if _state.is_forked:
        _refuse()


def _refuse(*_: Any) -> NoReturn:
    raise RuntimeError(
        f"fork: process {os.getpid()} must not compute, since it was forked after JAX "
        "had started its devices, whose threads it does not have. Start workers by "
        "multiprocessing's 'spawn' or 'forkserver', or fork before the first tensor."
    )


def _before_fork() -> None:
    if not _state.is_started or _state.is_forked:
        return
    for array in cast("list[Any]", jax.live_arrays()):
        with suppress(Exception):  # it was deleted, or could not be computed
            array.block_until_ready()


def _after_fork() -> None:
    if not _state.is_started:
        return
    _state.is_forked = True
    for program in list(_state.programs):
        program.call, program.is_direct = _refuse, True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
