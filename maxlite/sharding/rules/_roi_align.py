"""Rows of roi_align."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite.sharding.rules._notation import P, R, S, all_replicated, row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.sharding._assignment import AxisAssignment, Operand


def roi_align_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places roi_align of images NHWC and regions: by region, or by channel.

    A region may lie in any image, so the images must be whole otherwise. Means are
    linear in the image, maxima are not.
    """
    by_region, by_channel = row(R, S(0), to=S(0)), row(S(3), R, to=S(3))
    linear = [row(P, R, to=P)] if params["mode"] == "AVG" else []
    return [all_replicated(2), by_region, by_channel, *linear]
