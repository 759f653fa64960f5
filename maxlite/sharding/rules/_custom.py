"""Rows of the functions that users declare: those of the declaration, or all whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite._custom_registry import as_keywords
from maxlite._errors import ShardingError
from maxlite.sharding.rules._notation import all_replicated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.sharding._assignment import AxisAssignment, Operand


def custom_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places custom and inplace_custom as the declaration says.

    Params:
        declaration: Has the rule, and the positions of written operands.
        parameters: The user's parameters, which the rule is given.
        results: Types of the results, without those of written operands.
    """
    declaration = params["declaration"]
    count = len(declaration.inplace) + len(params["results"])
    if declaration.rule is None:
        return [all_replicated(len(operands), count)]
    parameters = as_keywords(params["parameters"])
    rows: list[AxisAssignment] = declaration.rule(operands, parameters, n)
    for row in rows:
        if len(row.outputs) != count:
            raise ShardingError(
                f"{declaration.name}: a row must place each of the {count} results, "
                f"got {row.outputs}. Return one placement per result, written operands "
                "first."
            )
    return rows
