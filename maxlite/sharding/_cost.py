"""What a row costs: the bytes that moving the operands to it sends.

Written once for all ops. With B the bytes of the whole operand and n the size of the
mesh axis, an allgather, an all-to-all and a reduce-scatter cost B(n-1)/n and an
allreduce twice that. Dropping data costs next to nothing, but more than not moving, so
that a row which runs as the operands lie is always the cheapest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING

from maxlite.sharding._placements import Collective

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.sharding._assignment import AxisAssignment, Operand
    from maxlite.sharding._auto_reshard import Region
    from maxlite.sharding._mesh import DeviceMesh
    from maxlite.sharding._placements import Placement

_DROP = 64
"""How many times cheaper it is to drop all but 1/n than to send it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that can be reached, and what that takes on one mesh axis.

    Attributes:
        row: The placements.
        held: How the operands lie now; a Python number lies as the row needs it.
        collectives: One per operand.
        cost: Bytes sent, all operands together.
    """

    row: AxisAssignment
    held: tuple[Placement, ...]
    collectives: tuple[Collective, ...]
    cost: float

    @property
    def moved(self) -> tuple[int, ...]:
        """Positions of the operands that the row would move."""
        return tuple(
            i for i, c in enumerate(self.collectives) if c is not Collective.NOOP
        )

    def is_allowed(self, region: Region) -> bool:
        """Answers whether a region allows all of the row's moves."""
        return all(map(region.allows, self.held, self.row.needed_inputs))


def candidates(
    rows: Sequence[AxisAssignment],
    operands: Sequence[Operand],
    placements: Sequence[Sequence[Placement]],
    mesh: DeviceMesh,
    axis: int,
) -> list[Candidate]:
    """Weighs the rows of one mesh axis and leaves out those out of reach.

    Args:
        rows: From the op's rule.
        operands: What the op is given.
        placements: Per operand one placement per mesh axis: those already decided
            for earlier mesh axes, the present ones for the others.
        mesh: Where the op runs.
        axis: Index of the mesh axis.

    Returns:
        The cheapest first; at the same cost the one that moves fewer operands, then
        the earlier row.
    """
    n = mesh.mesh_shape[axis]
    found: list[Candidate] = []
    for row in rows:
        collectives = tuple(
            _collective(operand, present, needed, mesh, axis)
            for operand, present, needed in zip(
                operands, placements, row.needed_inputs, strict=True
            )
        )
        if Collective.INFEASIBLE not in collectives:
            held = _held(row, operands, placements, axis)
            nbytes = map(operand_bytes, operands)
            cost = sum(map(transition_cost, collectives, nbytes, repeat(n)))
            found.append(Candidate(row, held, collectives, cost))
    return sorted(found, key=lambda c: (c.cost, len(c.moved)))


def transition_cost(collective: Collective, nbytes: float, n: int) -> float:
    """Estimates the bytes that one move sends.

    Args:
        collective: The move; a feasible one.
        nbytes: Bytes of the whole operand.
        n: Size of the mesh axis.

    >>> transition_cost(Collective.ALLREDUCE, 64, 2)
    64.0
    """
    match collective:
        case Collective.NOOP:
            return 0.0
        case Collective.LOCAL_SLICE | Collective.KEEP_ONE_COPY:
            return nbytes / (_DROP * n)
        case Collective.ALLREDUCE:
            return 2 * nbytes * (n - 1) / n
        case _:
            return nbytes * (n - 1) / n


def operand_bytes(operand: Operand) -> int:
    """Counts the bytes of the whole operand; a symbolic dim counts as 1."""
    sizes = (dim for dim in operand.shape if isinstance(dim, int))
    return operand.dtype.size_in_bytes * math.prod(sizes)


def is_lifted(operand: Operand, mesh: DeviceMesh) -> bool:
    """Answers whether an operand is a one-device tensor beside distributed ones.

    It takes part as if it were Replicated, and is never cut or turned into a sum.
    """
    return not mesh.is_single and operand.mapping.mesh.is_single


def _held(
    row: AxisAssignment,
    operands: Sequence[Operand],
    placements: Sequence[Sequence[Placement]],
    axis: int,
) -> tuple[Placement, ...]:
    """Says how the operands lie; a Python number lies as the row needs it."""
    return tuple(
        needed if operand.literal else present[axis]
        for operand, present, needed in zip(
            operands, placements, row.needed_inputs, strict=True
        )
    )


def _collective(
    operand: Operand,
    present: Sequence[Placement],
    needed: Placement,
    mesh: DeviceMesh,
    axis: int,
) -> Collective:
    """Finds what it takes for one operand, INFEASIBLE if it must not be moved so."""
    if operand.literal:
        return Collective.NOOP
    collective = present[axis].transition_to(needed)
    if is_lifted(operand, mesh):
        stays = collective is Collective.NOOP
        return collective if stays else Collective.INFEASIBLE
    target = (*present[:axis], needed, *present[axis + 1 :])
    is_moved = target != operand.mapping.placements
    if is_moved and _leaves_devices_empty(operand, target, mesh, axis):
        return Collective.INFEASIBLE
    return collective


def _leaves_devices_empty(
    operand: Operand, target: Sequence[Placement], mesh: DeviceMesh, axis: int
) -> bool:
    """Answers whether the cut made by one mesh axis is too fine for its tensor axis.

    All mesh axes that cut the tensor axis count. A symbolic dim is long enough.
    """
    cut = target[axis].localized_axis()
    if cut is None:
        return False
    sizes = zip(target, mesh.mesh_shape, strict=True)
    shards = math.prod(n for placement, n in sizes if placement == target[axis])
    length = operand.shape[cut]
    return isinstance(length, int) and length < shards
