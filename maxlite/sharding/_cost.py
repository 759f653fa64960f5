"""What a row costs: the bytes that moving the operands to it sends.

Written once for all ops. With B the bytes of the whole operand and n the size of the
mesh axis, an allgather, an all-to-all and a reduce-scatter cost B(n-1)/n and an
allreduce twice that. Dropping data costs next to nothing, but more than not moving, so
that a row which runs as the operands lie is always the cheapest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
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
    found: list[Candidate] = []
    for row in rows:
        candidate = _weigh(row, operands, placements, mesh, axis)
        if candidate is not None:
            found.append(candidate)
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


def _weigh(
    row: AxisAssignment,
    operands: Sequence[Operand],
    placements: Sequence[Sequence[Placement]],
    mesh: DeviceMesh,
    axis: int,
) -> Candidate | None:
    held: list[Placement] = []
    collectives: list[Collective] = []
    cost = 0.0
    for operand, present, needed in zip(
        operands, placements, row.needed_inputs, strict=True
    ):
        held.append(needed if operand.literal else present[axis])
        collective = held[-1].transition_to(needed)
        if collective is not Collective.NOOP and not (
            collective is not Collective.INFEASIBLE
            and not is_lifted(operand, mesh)
            and _is_long_enough(operand, present, needed, mesh, axis)
        ):
            return None
        collectives.append(collective)
        n = mesh.mesh_shape[axis]
        cost += transition_cost(collective, operand_bytes(operand), n)
    return Candidate(row, tuple(held), tuple(collectives), cost)


def _is_long_enough(
    operand: Operand,
    present: Sequence[Placement],
    needed: Placement,
    mesh: DeviceMesh,
    axis: int,
) -> bool:
    """Answers whether every device gets an element of an axis that is to be cut.

    The other mesh axes that shard the same tensor axis count too. A symbolic dim is
    taken to be long enough.
    """
    cut = needed.localized_axis()
    if cut is None:
        return True
    length = operand.shape[cut]
    shards = mesh.mesh_shape[axis] * math.prod(
        size
        for i, size in enumerate(mesh.mesh_shape)
        if i != axis and present[i] == needed
    )
    return not isinstance(length, int) or length >= shards
