"""Rows of einsum, read off its equation.

A label of the result may be cut: in every operand that has it, and so in the result. A
label that is summed over may be cut too: each device adds up its part, which gives
terms of a sum. A label that stands twice in one operand picks a diagonal, so it must be
whole. The op is linear in each operand, so one may be a pending sum while the others
are whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite.dtype import BOOL
from maxlite.sharding.rules._notation import P, R, S, all_replicated, row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.sharding._assignment import AxisAssignment, Operand
    from maxlite.sharding._placements import Placement


def einsum_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places einsum: rows for labels of the result, for summed labels, pending sums.

    Params:
        equation: Explicit, a letter for each axis: ``"ij,jk->ik"``.
        stretched: The letters that broadcast: size 1 beside another one must be whole.
    """
    count = len(operands)
    inputs, result = params["equation"].split("->")
    terms: list[str] = inputs.split(",")
    cuts = {
        label: needed
        for label in dict.fromkeys(inputs.replace(",", ""))
        if (needed := _cut(label, terms, operands, label in params["stretched"]))
    }
    rows = [
        all_replicated(count),
        *(
            row(*cuts[label], to=S(axis))
            for axis, label in enumerate(result)
            if label in cuts
        ),
    ]
    if all(operand.dtype in BOOL for operand in operands):
        return rows  # no sum is pending: bools are not added up, but joined with or
    return [
        *rows,
        *(row(*needed, to=P) for label, needed in cuts.items() if label not in result),
        *(row(*[R] * i, P, *[R] * (count - i - 1), to=P) for i in range(count)),
    ]


def _cut(
    label: str, terms: Sequence[str], operands: Sequence[Operand], stretches: bool
) -> tuple[Placement, ...]:
    """Says how the operands lie when a label is cut; nothing when it must be whole."""
    sizes = [
        operand.shape[term.index(label)]
        for term, operand in zip(terms, operands, strict=True)
        if label in term
    ]
    wide = any(size != 1 for size in sizes)
    needed: list[Placement] = []
    for term, operand in zip(terms, operands, strict=True):
        if term.count(label) > 1:
            return ()
        axis = term.find(label)
        lacks = axis < 0 or (stretches and wide and operand.shape[axis] == 1)
        needed.append(R if lacks else S(axis))
    return tuple(needed)
