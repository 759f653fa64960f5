"""Numbers for recorded values: equal ones are computed alike, from equal leaves.

A lazy block is recorded anew each time it runs, mostly the same way. So each row with
its parameters and the numbers of its operands is given a number when it is first met,
along with what planning it gives, and a leaf is numbered by its position in the block
and its spec. Recording then looks up both at once, and the numbers of the results name
the whole program: nothing has to be walked to find its executable. A number is never
given twice, so what has one keeps its meaning when a table starts afresh.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maxlite._caches import Cache
from maxlite._frames import user_line
from maxlite.graph._node import has_effects
from maxlite.lowering._plan import plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite._op_table import Op
    from maxlite.graph._node import TensorValue
    from maxlite.graph._spec import Spec
    from maxlite.sharding._action import Action

MAX_STEPS = 50_000
"""Numbered steps kept; the table starts afresh beyond. A step is about 500 bytes."""


@dataclass(slots=True, eq=False)
class Step:
    """What is the same for all nodes that are computed in one way.

    Attributes:
        number: That of the first result; the others follow.
        specs: One per result.
        only: The spec of the result if there is just one, and no effect.
        action: Placements needed and had, None when nothing is distributed.
        has_effects: Whether it acts on the world outside.
    """

    number: int
    specs: tuple[Spec, ...]
    only: Spec | None
    action: Action | None
    has_effects: bool


_lock = threading.Lock()
_last = 0
steps: Cache[tuple[Any, ...], Step] = Cache("steps", MAX_STEPS)
"""By row, parameters and numbers of the operands; not if anything is distributed."""

_planned: Cache[tuple[Any, ...], Step] = Cache("planned steps", MAX_STEPS)
_lines: Cache[int, str] = Cache("lines of steps", MAX_STEPS)
_leaves: Cache[tuple[int, Spec], int] = Cache("leaves of blocks", MAX_STEPS)


def step_of(op: Op, params: tuple[Any, ...], values: Sequence[TensorValue]) -> Step:
    """Numbers the application of an op to numbered values, or remembers it.

    Raises:
        ValueError: The operands do not fit; also TypeError, as the op's row says.
        ShardingError: No placement row runs without a move that is allowed.
    """
    # A move may have to be warned of each time, so it is planned each time.
    found = plan(op, params, [value.spec for value in values])
    numbers = [value.number for value in values]
    key = (op, params, found.action, *numbers)
    step = _planned.get(key)
    if step is None:
        specs = found.specs
        first = _new_numbers(len(specs) or 1)
        acts = has_effects(op, params)
        only = specs[0] if len(specs) == 1 and not acts else None
        made = Step(first, specs, only, found.action, acts)
        step = _planned.keep(key, made)
        _lines.keep(step.number, user_line())
    if found.action is None:
        steps.keep((op, params, *numbers), step)
    return step


def line_of(value: TensorValue) -> str:
    """Tells on which line of the user a value was first computed this way."""
    return _lines.get(value.number, "unknown")


def leaf_number(position: int, spec: Spec) -> int:
    """Numbers the leaf at a position of its block, or remembers it."""
    key = (position, spec)
    found = _leaves.get(key)
    if found is None:
        found = _leaves.keep(key, _new_numbers(1))
    return found


def own_number() -> int:
    """Gives a number that nothing else has or will have."""
    return _new_numbers(1)


def _new_numbers(count: int) -> int:
    """Takes numbers that follow each other; no other thread gets one in between."""
    global _last
    with _lock:
        first = _last + 1
        _last += count
    return first
