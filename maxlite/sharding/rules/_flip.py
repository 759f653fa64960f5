"""Rows of ops that turn the elements along tensor axes around.

They are linear, so a pending sum passes through. An axis along which elements move must
be whole, all others may be cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite.sharding.rules._notation import following_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.sharding._assignment import AxisAssignment, Operand


def flip_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places flip and roll.

    Params:
        axes: The tensor axes along which elements move; None for all.
    """
    (x,) = operands
    axes = params["axes"]
    kept = [] if axes is None else [i for i in range(len(x.shape)) if i not in axes]
    return following_rows((i, i) for i in kept)
