"""What the picker decides for one op."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maxlite.sharding._placements import Placement


@dataclass(frozen=True, slots=True)
class Action:
    """Where the operands of an op must lie, and where its results then lie.

    Attributes:
        needed: Per operand one placement per mesh axis; that of a Python number only
            says as what it takes part.
        outputs: Per result one placement per mesh axis.
        moved: Whether any operand lies elsewhere now, so that it must be resharded.
    """

    needed: tuple[tuple[Placement, ...], ...]
    outputs: tuple[tuple[Placement, ...], ...]
    moved: bool
