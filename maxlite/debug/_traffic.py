"""What devices send to each other while a block runs, by the user's line."""

from __future__ import annotations

import functools
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from maxlite._frames import user_line
from maxlite._programs import programs, unwatch, watch
from maxlite.lowering import find_collectives

if TYPE_CHECKING:
    from collections.abc import Generator

    from maxlite.lowering import Collective


@dataclass(frozen=True, slots=True)
class Sent:
    """Equal collectives of one line.

    Attributes:
        line: Where the user called what sends, as ``file:line``.
        kind: As in ``CompiledCallable.collectives``.
        mesh_axes: Names of the mesh axes along which devices hear from each other.
        bytes: Size of the operand on each device, in bytes.
        count: How many times.
    """

    line: str
    kind: str
    mesh_axes: tuple[str, ...]
    bytes: int
    count: int

    def __str__(self) -> str:
        axes = ", ".join(self.mesh_axes) or "?"
        return (
            f"{self.line}: {self.count} x {self.kind} over {axes}, {self.bytes} bytes "
            "each"
        )


@dataclass(slots=True)
class Traffic:
    """What was sent in a block of :func:`traffic`; printing lists it by line."""

    _counts: dict[tuple[str, str, tuple[str, ...], int], int] = field(
        default_factory=dict[tuple[str, str, tuple[str, ...], int], int]
    )

    @property
    def sent(self) -> list[Sent]:
        """One entry per line and kind of collective, in the order of the first one."""
        return [Sent(*key, count) for key, count in self._counts.items()]

    @property
    def total_bytes(self) -> int:
        """Bytes of all operands on one device."""
        return sum(entry.bytes * entry.count for entry in self.sent)

    def add(self, line: str, collective: Collective) -> None:
        """Counts a collective."""
        where = ", ".join(collective.lines) or line
        key = (where, collective.kind, collective.mesh_axes, collective.bytes)
        self._counts[key] = self._counts.get(key, 0) + collective.count

    def __str__(self) -> str:
        return "\n".join(map(str, self.sent)) or "nothing was sent"


_current: ContextVar[Traffic | None] = ContextVar("maxlite_traffic", default=None)


@contextmanager
def traffic() -> Generator[Traffic]:
    """Watches the collectives of every program that this thread runs in a with-block.

    Eager ops, blocks and compiled calls are all seen. Copies between a device and the
    host, or from one mesh to another, are no collectives.

    Source: ours.

    >>> from maxlite import CPU, DeviceMapping, DeviceMesh, Sharded, Tensor
    >>> mesh = DeviceMesh((CPU(), CPU()), (2,), ("x",))
    >>> x = Tensor([1.0, 2.0]).to(DeviceMapping(mesh, (Sharded(0),)))
    >>> with traffic() as seen:
    ...     y = x.sum().to(DeviceMapping.replicated(mesh))
    >>> [(sent.kind, sent.bytes) for sent in seen.sent]
    [('allreduce', 4)]
    """
    seen = Traffic()
    token = _current.set(seen)
    watch(_wrap)
    try:
        yield seen
    finally:
        unwatch(_wrap)
        _current.reset(token)
        for program in programs():
            _unwrap(program)


def _wrap(program: Any) -> None:
    """Has a program on a mesh tell when it is called."""
    if program.mesh.is_single or isinstance(program.call, _Watched):
        return
    program.call = _Watched(program, program.call)


def _unwrap(program: Any) -> None:
    if isinstance(program.call, _Watched):
        program.call = program.call.inner


class _Watched:
    """A program's call, watched."""

    def __init__(self, program: Any, inner: Any) -> None:
        self._program = program
        self.inner = inner

    def __call__(self, *arrays: Any) -> Any:
        program = self._program
        results = self.inner(*arrays)
        if program.call is not self:  # the first call has put a shorter way in place
            self.inner = program.call
            program.call = self
        seen = _current.get()
        if seen is not None:
            for collective in _collectives(program):
                seen.add(user_line(), collective)
        return results


@functools.lru_cache(maxsize=1024)
def _collectives(program: Any) -> list[Collective]:
    return find_collectives(program.compiled.as_text() or "", program.mesh)
