"""Rows of ops on the diagonals of matrices.

They are linear, so a pending sum passes through. The two axes of a diagonal must be
whole; the others may be cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite.sharding.rules._notation import following_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.sharding._assignment import AxisAssignment, Operand


def diagonal_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places diagonal and trace, whose other axes close up.

    Params:
        axis1, axis2: The tensor axes of the matrices, which leave the result.
    """
    (x,) = operands
    others = [
        i for i in range(len(x.shape)) if i not in (params["axis1"], params["axis2"])
    ]
    return following_rows((axis, i) for i, axis in enumerate(others))
