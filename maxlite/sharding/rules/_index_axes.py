"""Where the tensor axes go when a tensor is indexed.

The axes of positions that are looked up broadcast to one block of axes. It stands where
the first of them was looked up, or in front when others are in between, as in numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class IndexAxes:
    """What becomes of each axis.

    Attributes:
        kept: The axes of the result but for the block, in order: each the axis that it
            was, or None for a new one.
        bare: Which axes are kept whole.
        picked: Which axes are dropped or looked up.
        block: How many of ``kept`` stand before the block.
    """

    kept: tuple[int | None, ...]
    bare: frozenset[int]
    picked: tuple[int, ...]
    block: int

    def targets(self, width: int = 0) -> Iterator[tuple[int, int]]:
        """Yields the bare axes, as axis before and axis after.

        Args:
            width: How many axes the block has.
        """
        for position, source in enumerate(self.kept):
            if source is not None and source in self.bare:
                yield source, position + (width if position >= self.block else 0)


def index_axes(
    index: Sequence[tuple[Any, ...]], rank: int, *, in_front: bool = False
) -> IndexAxes:
    """Follows the axes of a tensor through an index.

    Args:
        index: The steps, one for each axis, for several, or for a new one.
        rank: Number of axes of the tensor; those not named are bare.
        in_front: Whether the block stands in front.
    """
    kept: list[int | None] = []
    bare: set[int] = set()
    picked: list[int] = []
    block = axis = 0
    for kind, *bounds in index:
        if kind == "new":
            kept.append(None)
            continue
        if kind in ("slice", "window"):
            kept.append(axis)
            if kind == "slice" and _is_bare(*bounds):
                bare.add(axis)
            axis += 1
            continue
        if not picked and not in_front:
            block = len(kept)
        width = bounds[0] if kind in ("columns", "mask") else 1
        picked += range(axis, axis + width)
        axis += width
    rest = range(axis, rank)
    return IndexAxes((*kept, *rest), frozenset((*bare, *rest)), tuple(picked), block)


def _is_bare(start: object, stop: object, step: object) -> bool:
    return start is None and stop is None and step in (None, 1)
