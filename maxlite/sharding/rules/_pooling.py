"""Rows of pooling and fold: windows slide in space, so those axes must be whole."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from maxlite.sharding.rules._notation import (
    P,
    S,
    all_replicated,
    following_rows,
    row,
    shard_count,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.sharding._assignment import AxisAssignment, Operand


def max_pool_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places a maximum over windows: batch and channels may be cut."""
    return [all_replicated(1), row(S(0), to=S(0)), row(S(3), to=S(3))]


def avg_pool_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places an average over windows; that of integers is rounded, and not linear."""
    rows = max_pool_rule(operands, params, n)
    return [*rows, row(P, to=P)] if operands[0].dtype.is_float() else rows


def fold_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places fold: batch and channels may be cut, if each device has whole channels.

    Params:
        kernel: Height and width of a block.
    """
    (x,) = operands
    merged = x.shape[1]
    share = math.prod(params["kernel"]) * max(n, shard_count(x, 1))
    divides = isinstance(merged, int) and isinstance(share, int) and not merged % share
    return following_rows([(0, 0), (1, 1)] if divides else [(0, 0)])
