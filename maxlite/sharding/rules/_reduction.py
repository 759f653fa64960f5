"""Rows of ops along one axis: reductions, scans, sorts.

Reduced axes are kept with size 1, so the other axes keep their numbers.
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
        axis: The tensor axis that is added up.
    """
    (x,) = operands
    return [
        all_replicated(1),
        *(
            row(S(i), to=P if i == params["axis"] else S(i))
            for i in range(len(x.shape))
        ),
        row(P, to=P),
    ]


def reduce_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places mean, max, min, prod, argmax, argmin: the reduced axis must be whole.

    Params:
        axis: The tensor axis that is reduced.
    """
    return _whole_along_axis(operands, params, results=1)


def along_axis_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places softmax, logsoftmax and cumsum: their axis must be whole.

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
    """Places an op of one result that needs every operand whole, such as argsort."""
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
