"""Rows of products: matmul with vectors and batches, and the outer product.

A product may be cut along a batch axis, along the rows of lhs or the columns of rhs.
Cut along the contraction, each device multiplies its pieces, and the results are terms
of a sum. A product is linear in each operand, so either may be a pending sum while the
other is whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite.sharding.rules._elementwise import broadcast_rows
from maxlite.sharding.rules._notation import P, R, S, all_replicated, row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.sharding._assignment import AxisAssignment, Operand


def matmul_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places matmul: rows for batch axes, rows of lhs, columns of rhs, contraction."""
    lhs, rhs = (operand.shape for operand in operands)
    batches = (lhs[:-2], rhs[:-2])
    row_axis = max(map(len, batches))
    column_axis = row_axis + (len(lhs) > 1)
    return [
        all_replicated(2),
        *broadcast_rows(batches),
        *([row(S(len(lhs) - 2), R, to=S(row_axis))] if len(lhs) > 1 else []),
        *([row(R, S(len(rhs) - 1), to=S(column_axis))] if len(rhs) > 1 else []),
        row(S(len(lhs) - 1), S(max(len(rhs) - 2, 0)), to=P),
        row(P, R, to=P),
        row(R, P, to=P),
    ]


def outer_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places the outer product of two vectors."""
    return [
        all_replicated(2),
        row(S(0), R, to=S(0)),
        row(R, S(0), to=S(1)),
        row(P, R, to=P),
        row(R, P, to=P),
    ]
