"""The region of code in which ops may reshard their operands by themselves.

Communication is never hidden: unless a region says otherwise, an op whose operands lie
differently from what it needs raises. A region says which kinds of moves are fine, and
whether they happen silently.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from maxlite.sharding._placements import (
    ALL_TRANSITIONS,
    DEFAULT_TRANSITIONS,
    Placement,
    Transition,
)
from maxlite.support import contextvar_context

Mode: TypeAlias = Literal["silent", "warn", "raise"]
"""What happens when an op needs a move that the region allows."""


@dataclass(frozen=True, slots=True)
class Region:
    """What ops may do by themselves in some region of code.

    Attributes:
        transitions: The kinds of moves that are allowed.
        mode: Whether an allowed move is made silently, with a warning, or not at all.
    """

    transitions: frozenset[Transition] = DEFAULT_TRANSITIONS
    mode: Mode = "raise"

    def allows(self, held: Placement, needed: Placement) -> bool:
        """Answers whether an operand may go from one placement to another."""
        return held == needed or (type(held), type(needed)) in self.transitions

    def __str__(self) -> str:
        """Writes the region as the call that opens it."""
        return f'auto_reshard({transitions_text(self.transitions)}, mode="{self.mode}")'


def transitions_text(transitions: frozenset[Transition]) -> str:
    """Writes a set of transitions as a user would.

    >>> transitions_text(DEFAULT_TRANSITIONS), transitions_text(frozenset())
    ('DEFAULT_TRANSITIONS', '{}')
    """
    if transitions == DEFAULT_TRANSITIONS:
        return "DEFAULT_TRANSITIONS"
    if transitions == ALL_TRANSITIONS:
        return "ALL_TRANSITIONS"
    pairs = sorted((held.__name__, needed.__name__) for held, needed in transitions)
    return "{" + ", ".join(f"({held}, {needed})" for held, needed in pairs) + "}"


_OUTERMOST = Region()
_region = ContextVar("auto_reshard", default=_OUTERMOST)


def current_region() -> Region:
    """Gives the innermost region that is open in this thread or task."""
    return _region.get()


@contextmanager
def auto_reshard(
    allowed_transitions: Iterable[Transition] | None = None,
    *,
    mode: Mode | None = None,
) -> Generator[None]:
    """Lets ops reshard their operands, inside a ``with`` block or a function.

    Without a region an op whose operands fit no row of its placement rule raises. In a
    region it takes the cheapest row that the allowed transitions reach, counted in
    bytes that are sent.

    Args:
        allowed_transitions: Pairs of placement classes, from and to; ``None`` keeps
            those of the enclosing region, outermost ``DEFAULT_TRANSITIONS``.
        mode: ``"silent"`` reshards, ``"warn"`` also gives a ``UserWarning``,
            ``"raise"`` raises; ``None`` keeps the enclosing mode, outermost
            ``"raise"``.

    Yields:
        Nothing.

    Raises:
        TypeError: ``allowed_transitions`` holds anything but pairs of placement
            classes.
        ValueError: ``mode`` is none of the three.

    Source: max.experimental.sharding.auto_reshard.

    >>> with auto_reshard(mode="silent"):
    ...     current_region().mode
    'silent'
    """
    outer = current_region()
    region = Region(
        outer.transitions
        if allowed_transitions is None
        else _as_transitions(allowed_transitions),
        outer.mode if mode is None else _as_mode(mode),
    )
    with contextvar_context(_region, region):
        yield


def _as_mode(mode: Mode) -> Mode:
    if mode not in get_args(Mode):
        raise ValueError(
            'auto_reshard: mode must be "silent", "warn" or "raise", '
            f"got {mode!r}. Pass one of these."
        )
    return mode


def _as_transitions(transitions: Iterable[Transition]) -> frozenset[Transition]:
    pairs = tuple(transitions)
    for pair in pairs:
        _check_transition(pair)
    return frozenset(pairs)


def _check_transition(pair: object) -> None:
    kinds = cast("tuple[object, ...]", pair) if isinstance(pair, tuple) else ()
    if len(kinds) != 2 or not all(
        isinstance(kind, type) and issubclass(kind, Placement) for kind in kinds
    ):
        raise TypeError(
            "auto_reshard: allowed_transitions must hold pairs of placement classes, "
            f"got {pair!r}. Pass for example [(Replicated, Sharded)]."
        )
