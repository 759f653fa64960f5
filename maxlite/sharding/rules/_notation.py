"""How rules write rows: ``row(S(0), R, to=S(0))`` reads "S0 and R give S0"."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from maxlite.sharding._assignment import AxisAssignment
from maxlite.sharding._placements import Partial, Replicated, Sharded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from maxlite.sharding._assignment import Operand
    from maxlite.sharding._placements import Placement

R: Final = Replicated()
P: Final = Partial()
S: Final = Sharded


def row(*needed: Placement, to: Placement, results: int = 1) -> AxisAssignment:
    """Makes a row.

    Args:
        needed: One placement per operand.
        to: How every result lies.
        results: How many results the op has.

    >>> row(S(1), R, to=P).outputs
    (Partial(),)
    """
    return AxisAssignment(needed, (to,) * results)


def all_replicated(operands: int, results: int = 1) -> AxisAssignment:
    """Makes the row that every op has: on whole operands it runs on every device."""
    return row(*[R] * operands, to=R, results=results)


def following_rows(axes: Iterable[tuple[int, int]]) -> list[AxisAssignment]:
    """Makes the rows of a linear op of one operand whose cuts follow their axes.

    Args:
        axes: Each tensor axis that may be cut, and which one it is in the result.
    """
    return [
        all_replicated(1),
        *(row(S(source), to=S(target)) for source, target in sorted(axes)),
        row(P, to=P),
    ]


def shard_count(operand: Operand, axis: int) -> int:
    """Counts the pieces in which all mesh axes together cut a tensor axis."""
    mapping = operand.mapping
    return math.prod(mapping.mesh.mesh_shape[i] for i in mapping.sharding_axes(axis))
