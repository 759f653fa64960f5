"""Rows of reshape and flatten, which cut and join tensor axes.

Elements keep their order in memory, in which the pieces of an axis that is cut are
consecutive if the axes before it are whole. So a cut can be kept where it falls on a
cut of the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite.graph._shape import num_elements
from maxlite.sharding.rules._notation import (
    following_rows,
    shard_count,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.graph import Dim
    from maxlite.sharding._assignment import AxisAssignment, Operand


def reshape_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places reshape: the cuts of all mesh axes are kept, or none is.

    In memory order a cut of the input must fall on a cut of the result. Hence a sharded
    axis can be kept if some axis of the result starts at the same element and either
    is a multiple of it, or both divide by the number of shards.

    Params:
        shape: Shape of the result.
    """
    (x,) = operands
    return following_rows(_kept_axes(x, params["shape"]).items())


def flatten_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places flatten; the axes that are merged must be whole.

    Params:
        start_dim, end_dim: First and last tensor axis that are merged into one.
    """
    start, end = params["start_dim"], params["end_dim"]
    return following_rows(
        (i, i if i < start else i - end + start)
        for i in range(len(operands[0].shape))
        if not start <= i <= end
    )


def _kept_axes(x: Operand, shape: Sequence[int | Dim]) -> dict[int, int]:
    """Finds where the sharded axes go; nowhere if one of them cannot be kept."""
    kept: dict[int, int] = {}
    for source in range(len(x.shape)):
        if not x.mapping.sharding_axes(source):
            continue
        target = _axis_starting_with(num_elements(x.shape[:source]), shape)
        if target is None or target in kept.values():
            return {}
        if not _cuts_agree(x.shape[source], shape[target], shard_count(x, source)):
            return {}
        kept[source] = target
    return kept


def _axis_starting_with(count: int | Dim, shape: Sequence[int | Dim]) -> int | None:
    """Finds the axis, longer than 1, before which a shape has this many elements."""
    for axis, dim in enumerate(shape):
        if dim != 1 and num_elements(shape[:axis]) == count:
            return axis
    return None


def _cuts_agree(source: int | Dim, target: int | Dim, shards: int) -> bool:
    """Answers whether equal parts of one axis are equal parts of another.

    Symbolic dims are taken to divide, but a number of shards that fits a symbolic dim
    says nothing of a static one.
    """
    if isinstance(source, int) and isinstance(target, int):
        is_multiple = source != 0 and target % source == 0
        return is_multiple or (source % shards == 0 and target % shards == 0)
    return not isinstance(source, int) and not isinstance(target, int)
