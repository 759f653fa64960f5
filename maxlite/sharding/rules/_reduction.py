"""Rows of ops along tensor axes: reductions, scans, sorts.

A reduced axis is kept with size 1, so the other axes keep their numbers; without
``keepdims`` they move to the left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite.sharding.rules._notation import P, S, all_replicated, row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.sharding._assignment import AxisAssignment, Operand


def sum_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places sum: of an axis that is cut, each device adds up its piece, which gives P.

    Params:
        axes: The tensor axes that are added up.
        keepdims: Whether they stay.
    """
    return [*count_rule(operands, params, n), row(P, to=P)]


def count_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places count_nonzero: as a sum, but the elements must be known.

    Params:
        axes: The tensor axes that are counted along.
        keepdims: Whether they stay.
    """
    (x,) = operands
    return [
        all_replicated(1),
        *(
            row(S(i), to=P if i in params["axes"] else S(_axis_after(i, params)))
            for i in range(len(x.shape))
        ),
    ]


def reduce_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places mean, max, prod, argmax, norm and the like: reduced axes must be whole.

    Params:
        axes: The tensor axes that are reduced.
        keepdims: Whether they stay.
    """
    (x,) = operands
    return [
        all_replicated(1),
        *(
            row(S(i), to=S(_axis_after(i, params)))
            for i in range(len(x.shape))
            if i not in params["axes"]
        ),
    ]


def _axis_after(axis: int, params: Mapping[str, Any]) -> int:
    """Finds the number of an axis that stays among those of the result."""
    removed = () if params["keepdims"] else params["axes"]
    return axis - sum(other < axis for other in removed)


def along_axis_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places softmax, sorts and running sums: their axis must be whole.

    Params:
        axis: The tensor axis that the op works along.
    """
    return _whole_along_axis(operands, params, results=1)


def top_k_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places top_k and bottom_k, whose values and indices lie alike.

    Params:
        axis: The tensor axis that is searched; it must be whole.
    """
    return _whole_along_axis(operands, params, results=2)


def all_replicated_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places an op of one result that needs every operand whole, as group_norm."""
    return [all_replicated(len(operands))]


def _whole_along_axis(
    operands: Sequence[Operand], params: Mapping[str, Any], results: int
) -> list[AxisAssignment]:
    (x,) = operands
    return [
        all_replicated(1, results),
        *(
            row(S(i), to=S(i), results=results)
            for i in range(len(x.shape))
            if i != params["axis"]
        ),
    ]
