"""Rows of ops that pick elements, or places, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite.sharding.rules._elementwise import broadcast_rows
from maxlite.sharding.rules._notation import P, R, S, all_replicated, row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.sharding._assignment import AxisAssignment, Operand


def take_along_axis_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places take_along_axis: the other axes broadcast, and may be cut together.

    Along the axis that is picked from, ``x`` must be whole; the positions may be cut.
    Picking is linear in ``x``, so a pending sum passes through.

    Params:
        axis: The tensor axis that the indices are positions on.
    """
    axis: int = params["axis"]
    others = [
        (*operand.shape[:axis], 1, *operand.shape[axis + 1 :]) for operand in operands
    ]
    rows = [made for made in broadcast_rows(others) if made.outputs[0] != S(axis)]
    picked = row(R, S(axis), to=S(axis))
    return [
        all_replicated(2),
        *sorted(
            [*rows, picked], key=lambda made: made.outputs[0].localized_axis() or 0
        ),
        row(P, R, to=P),
    ]


def searchsorted_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places searchsorted: the sorted vector must be whole, the values may be cut."""
    _, values = operands
    return [
        all_replicated(2),
        *(row(R, S(i), to=S(i)) for i in range(len(values.shape))),
    ]


def one_hot_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places one_hot: a cut follows its axis past the new one.

    Params:
        axis: Where the new tensor axis is in the result.
    """
    (x,) = operands
    axis = params["axis"]
    return [
        all_replicated(1),
        *(row(S(i), to=S(i + (i >= axis))) for i in range(len(x.shape))),
    ]
