"""Rows of the functions that users declare: those of the declaration, or all whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from maxlite._custom_registry import as_keywords
from maxlite._errors import ShardingError
from maxlite.sharding._assignment import AxisAssignment
from maxlite.sharding.rules._notation import all_replicated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.sharding._assignment import Operand


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
    rows = checked_rows(declaration.name, declaration.rule(operands, parameters, n))
    for row in rows:
        if len(row.outputs) != count:
            raise ShardingError(
                f"{declaration.name}: a row must place each of the {count} results, "
                f"got {row.outputs}. Return one placement per result, written operands "
                "first."
            )
    return rows


def checked_rows(name: str, rows: object) -> list[AxisAssignment]:
    """Lists what a user's rule returned.

    Args:
        name: The function that the rule is for.
        rows: From the rule.

    Raises:
        TypeError: It is no list of rows.
    """
    if not isinstance(rows, Iterable):
        raise TypeError(
            f"{name}: the rule must return a list of rows, got {type(rows).__name__}. "
            "Return one with every operand Replicated if nothing may be sharded."
        )
    listed = list(cast("Iterable[Any]", rows))
    for row in listed:
        if not isinstance(row, AxisAssignment):
            raise TypeError(
                f"{name}: a row must be an AxisAssignment, got {type(row).__name__}. "
                "Say the placement of each operand, and of each result."
            )
    return listed
