"""Rows of convolutions: a product of channels at every place.

They may be cut along the batch or the output channels. Cut along the input channels,
each device adds up over its own, and the results are terms of a sum. The axes in space
must be whole, since a filter reaches across a cut. A bias goes with the output
channels, and is a term of its own where the product is one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from maxlite.sharding._placements import Partial
from maxlite.sharding.rules._notation import P, R, S, all_replicated, row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.sharding._assignment import AxisAssignment, Operand
    from maxlite.sharding._placements import Placement


def conv_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places convolutions: x, filter, and a bias if there is one.

    Params:
        axes: The order of axes of x, filter and result, such as ``NHWC, HWIO, NHWC``.
        groups: Into how many groups the channels are divided; 1 if missing.
    """
    x, filter, result = params["axes"]
    groups: int = params.get("groups", 1)
    batch, channels = S(x.index("N")), S(x.index("C"))
    inner, outer = S(filter.index("I")), S(filter.index("O"))
    target = S(result.index("C"))

    def line(*needed: Placement, bias: Placement, to: Placement) -> AxisAssignment:
        return row(*needed, *[bias] * (len(operands) - 2), to=to)

    rows = [
        all_replicated(len(operands)),
        line(batch, R, bias=R, to=S(result.index("N"))),
    ]
    if groups == 1:
        rows += [
            line(R, outer, bias=S(0), to=target),
            line(channels, inner, bias=P, to=P),
        ]
    elif groups % _most_pieces(operands, (channels, outer, S(0)), n) == 0:
        rows.append(line(channels, outer, bias=S(0), to=target))
    return [*rows, line(P, R, bias=P, to=P), line(R, P, bias=P, to=P)]


def _most_pieces(
    operands: Sequence[Operand], cuts: tuple[Placement, ...], n: int
) -> int:
    """Counts the pieces if every mesh axis that might cut the channels does so.

    Args:
        operands: The operands.
        cuts: For each, the placement that cuts its channels.
        n: Size of the mesh axis that is asked about.
    """
    wide = next(o.mapping.mesh for o in operands if not o.mapping.mesh.is_single)
    pieces = math.prod(
        size
        for axis, size in enumerate(wide.mesh_shape)
        if any(
            operand.mapping.placements[axis] == cut
            or isinstance(operand.mapping.placements[axis], Partial)
            for operand, cut in zip(operands, cuts, strict=False)
            if not operand.mapping.mesh.is_single
        )
    )
    return max(n, pieces)
