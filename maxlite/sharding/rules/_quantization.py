"""Rows of ops on packed blocks: an axis of bytes may be cut between two blocks only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite.graph.quantization import QuantizationEncoding
from maxlite.sharding.rules._notation import (
    P,
    R,
    S,
    all_replicated,
    row,
    shard_count,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.sharding._assignment import AxisAssignment, Operand


def dequantize_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places dequantize, whose axes stay where they are.

    Params:
        encoding: Says how many bytes a block has.
    """
    (packed,) = operands
    last = len(packed.shape) - 1
    axes = [*range(last), *([last] if _cuts_between(packed, params, n) else [])]
    return [all_replicated(1), *(row(S(i), to=S(i)) for i in axes)]


def qmatmul_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places qmatmul: rows for batch axes, the weight's rows, and the contraction.

    Params:
        encoding: Says how many bytes a block has.
    """
    lhs, rhs = operands
    last = len(lhs.shape) - 1
    return [
        all_replicated(2),
        *(row(S(i), R, to=S(i)) for i in range(last)),
        row(R, S(0), to=S(last)),
        *([row(S(last), S(1), to=P)] if _cuts_between(rhs, params, n) else []),
        row(P, R, to=P),
    ]


def _cuts_between(packed: Operand, params: Mapping[str, Any], n: int) -> bool:
    """Whether a mesh axis of size ``n`` may cut the axis of bytes: no block is split.

    Other mesh axes that cut it count. Which mesh axis is asked for is not known here,
    so one of this size that does not cut it yet counts as one that will.
    """
    last = len(packed.shape) - 1
    size, mapping = packed.shape[last], packed.mapping
    free = any(
        ways == n and placement != S(last)
        for ways, placement in zip(
            mapping.mesh.mesh_shape, mapping.placements, strict=True
        )
    )
    pieces = shard_count(packed, last) * (n if free else 1)
    block_size = QuantizationEncoding(params["encoding"]).block_size
    return isinstance(size, int) and size % (pieces * block_size) == 0
