"""Rows of ops on complex numbers that are stored as pairs of reals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite.sharding.rules._elementwise import broadcast_rows
from maxlite.sharding.rules._notation import (
    P,
    R,
    S,
    all_replicated,
    following_rows,
    row,
    shard_count,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.sharding._assignment import AxisAssignment, Operand


def interleaved_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places as_interleaved_complex: the last axis too, where no pair is torn."""
    (x,) = operands
    last = len(x.shape) - 1
    size = x.shape[last]
    whole_pairs = not isinstance(size, int) or not size % (2 * shard_count(x, last))
    return following_rows((axis, axis) for axis in range(last + whole_pairs))


def complex_mul_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places complex_mul: as mul, with the axis of the pairs whole."""
    numbers = [operand.shape[:-1] for operand in operands]
    rows = broadcast_rows(numbers)
    return [all_replicated(2), *rows, row(P, R, to=P), row(R, P, to=P)]


def irfft_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places irfft: the transformed axis and that of the pairs must be whole."""
    (x,) = operands
    rank = len(x.shape) - params["input_is_complex"]
    cut = [axis for axis in range(rank) if axis != params["axis"]]
    return [all_replicated(1), *(row(S(axis), to=S(axis)) for axis in cut)]
