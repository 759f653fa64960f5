"""Rows of the normalisations that are taken over the last axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite.sharding.rules._notation import R, S, all_replicated, row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.sharding._assignment import AxisAssignment, Operand


def norm_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places layer_norm and rms_norm: input and weights, which must be whole.

    The input may be cut along the axes before those of the weights, which are the
    normalised ones; without weights it is the last axis.
    """
    x, *weights = operands
    normalised = max((len(weight.shape) for weight in weights), default=1)
    return [
        all_replicated(len(operands)),
        *(
            row(S(i), *[R] * len(weights), to=S(i))
            for i in range(len(x.shape) - normalised)
        ),
    ]
