"""Rows of products that pair the axes of their operands: kron and cross.

Both are linear in each operand, so either may be a pending sum while the other is
whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite.sharding.rules._elementwise import broadcast_rows
from maxlite.sharding.rules._notation import (
    P,
    R,
    S,
    all_replicated,
    row,
    shard_count,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maxlite.sharding._assignment import AxisAssignment, Operand


def kron_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places kron: lhs may be cut where every device gets whole blocks of its own.

    Along an axis on which lhs has size 1 there is one block, and rhs may be cut.
    """
    lhs, rhs = operands
    rank = max(len(lhs.shape), len(rhs.shape))
    return [
        all_replicated(2),
        *(
            made
            for axis in range(rank)
            for made in _kron_rows(lhs, rhs, axis - rank, n)
        ),
        *_bilinear_rows(),
    ]


def cross_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places cross: the axis of the vectors must be whole, the others broadcast.

    Params:
        axis: The tensor axis of the vectors, counted from the end.
    """
    shapes = [operand.shape for operand in operands]
    vectors = S(max(map(len, shapes)) + params["axis"])
    return [
        all_replicated(2),
        *(made for made in broadcast_rows(shapes) if made.outputs[0] != vectors),
        *_bilinear_rows(),
    ]


def _kron_rows(
    lhs: Operand, rhs: Operand, axis: int, n: int
) -> Iterator[AxisAssignment]:
    """Makes the rows of one axis, counted from the end."""
    target = S(max(len(lhs.shape), len(rhs.shape)) + axis)
    blocks, size = (
        operand.shape[axis] if len(operand.shape) >= -axis else 1
        for operand in (lhs, rhs)
    )
    if len(lhs.shape) >= -axis:
        own = len(lhs.shape) + axis
        shards = max(n, shard_count(lhs, own))
        if size == 1 or not isinstance(blocks, int) or blocks % shards == 0:
            yield row(S(own), R, to=target)
    if len(rhs.shape) >= -axis and blocks == 1:
        yield row(R, S(len(rhs.shape) + axis), to=target)


def _bilinear_rows() -> list[AxisAssignment]:
    return [row(P, R, to=P), row(R, P, to=P)]
