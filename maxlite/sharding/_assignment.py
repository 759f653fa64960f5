"""What a placement rule is: rows of placements that fit together on one mesh axis.

A rule knows one op and nothing of meshes: it lists, for one mesh axis, how the operands
may lie and how the results then lie. Which row is taken, what it costs to get there and
what happens on the other mesh axes is the business of the picker alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from maxlite.dtype import DType
    from maxlite.graph import Dim
    from maxlite.sharding._mappings import DeviceMapping
    from maxlite.sharding._placements import Placement


class AxisAssignment(NamedTuple):
    """One row: if the operands lie so on a mesh axis, the results lie so.

    Attributes:
        needed_inputs: One placement per operand.
        outputs: One placement per result.

    Source: max.experimental.sharding.AxisAssignment.

    >>> from maxlite.sharding import Partial, Sharded
    >>> AxisAssignment((Sharded(0),), (Partial(),)).outputs
    (Partial(),)
    """

    needed_inputs: tuple[Placement, ...]
    outputs: tuple[Placement, ...]


class Operand(Protocol):
    """What a rule and the picker know of an operand."""

    @property
    def shape(self) -> tuple[int | Dim, ...]:
        """Sizes of the tensor axes; static ones are ints."""
        ...

    @property
    def dtype(self) -> DType:
        """Element type."""
        ...

    @property
    def mapping(self) -> DeviceMapping:
        """Where it lies; a mesh of one device when it is not distributed."""
        ...

    @property
    def literal(self) -> bool:
        """Whether it stands for a Python number, which fits every placement."""
        ...


Rule: TypeAlias = Callable[
    [Sequence[Operand], Mapping[str, Any], int], list[AxisAssignment]
]
"""``rule(operands, params, n)``: the rows of an op for a mesh axis of size ``n``.

``params`` are the op's static parameters, normalised: axes are ints of at least 0.
Where rows cost the same, an earlier one is preferred, so they stand in this order: all
Replicated, sharded rows by increasing axis, rows with a Partial operand.
"""
