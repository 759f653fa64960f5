"""Rows of ops that compute new positions on some axes from old ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite.sharding.rules._notation import following_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.sharding._assignment import AxisAssignment, Operand


def resize_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places the resizing ops, which are linear: axes that keep their size may be cut.

    ``sizes`` has None for such an axis.
    """
    kept = [axis for axis, size in enumerate(params["sizes"]) if size is None]
    return following_rows((axis, axis) for axis in kept)
