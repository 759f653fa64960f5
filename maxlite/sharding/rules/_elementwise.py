"""Rows of ops that work element by element, broadcasting included.

Such an op may be cut along any axis of its result. An operand takes part in the cut if
it has the axis at full size; where it is broadcast, because it lacks the axis or has
size 1 there, it must be whole. Axes align from the right, so one cut can be on
different axes of different operands.

A sum that is still pending passes through an op that is linear in that operand.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from maxlite.sharding.rules._notation import P, R, S, all_replicated, row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.graph import Dim
    from maxlite.sharding._assignment import AxisAssignment, Operand
    from maxlite.sharding._placements import Placement


def unary_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places a nonlinear op of one operand: R and every Si go through."""
    return _elementwise_rows(operands)


def linear_unary_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places a linear op of one operand, such as negate: P goes through too."""
    return [*_elementwise_rows(operands), row(P, to=P)]


def binary_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places a nonlinear op of two operands, such as pow or a comparison."""
    return _elementwise_rows(operands)


def linear_binary_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places add and sub: two pending sums give one.

    A Python number fits the row as a sum whose first term is the number.
    """
    return [*_elementwise_rows(operands), row(P, P, to=P)]


def mul_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places mul: one of the operands may be a pending sum, if the other is whole."""
    lhs, rhs = operands
    return [
        *_elementwise_rows(operands),
        *([] if lhs.literal else [row(P, R, to=P)]),
        *([] if rhs.literal else [row(R, P, to=P)]),
    ]


def div_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places div: the dividend may be a pending sum, if the divisor is whole."""
    lhs, _ = operands
    return [
        *_elementwise_rows(operands),
        *([] if lhs.literal else [row(P, R, to=P)]),
    ]


def ternary_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places where and clamp: all whole, or all cut along one axis of the result."""
    return _elementwise_rows(operands)


def broadcast_rows(shapes: Sequence[Sequence[int | Dim]]) -> list[AxisAssignment]:
    """Lists the rows that cut an axis of what shapes broadcast to.

    Args:
        shapes: One per operand; they broadcast against each other.

    Returns:
        Rows by increasing axis. An axis of size 1 in the result has several: each
        operand with this axis may be cut or whole, since one device has all of it.
    """
    rank = max(map(len, shapes))
    rows: list[AxisAssignment] = []
    for axis in range(rank):
        own = [axis - rank + len(shape) for shape in shapes]
        size = _broadcast_size(
            [shape[a] for shape, a in zip(shapes, own, strict=True) if a >= 0]
        )
        choices = [
            _choices(shape, a, size) for shape, a in zip(shapes, own, strict=True)
        ]
        for needed in itertools.product(*choices):
            if any(placement != R for placement in needed):
                rows.append(row(*needed, to=S(axis)))
    return rows


def _elementwise_rows(operands: Sequence[Operand]) -> list[AxisAssignment]:
    shapes = [operand.shape for operand in operands]
    return [all_replicated(len(operands)), *broadcast_rows(shapes)]


def _broadcast_size(sizes: Sequence[int | Dim]) -> int | Dim:
    return next((size for size in sizes if size != 1), 1)


def _choices(
    shape: Sequence[int | Dim], axis: int, size: int | Dim
) -> tuple[Placement, ...]:
    """Says how an operand may lie when an axis of the result is cut.

    Args:
        shape: Shape of the operand.
        axis: Its own axis that aligns with the cut one; negative if it lacks it.
        size: Size of that axis in the result.
    """
    if axis < 0 or (shape[axis] == 1 and size != 1):
        return (R,)
    return (S(axis), R) if size == 1 else (S(axis),)
