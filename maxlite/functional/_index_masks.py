"""Masks as indices: they stand for the positions of what they mark.

Where the values of a mask are at hand the positions are, too. Elsewhere they are
counted when the program runs, and the size of the result is one that only then is
known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maxlite.functional._index import LOOKUPS
from maxlite.functional._index_reading import Reading
from maxlite.functional._measured import LEAST_ROOM
from maxlite.functional._nonzero import nonzero
from maxlite.realization_context._default import graph_context
from maxlite.sharding import DeviceMapping, Replicated, Sharded
from maxlite.sharding.rules._indexing import has_operand
from maxlite.tensor._context import innermost, outside
from maxlite.tensor._tensor import Tensor, from_numpy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from maxlite.functional._index import Step
    from maxlite.graph import DimLike

    Mask = Tensor | np.ndarray


def sole_mask(reading: Reading) -> Mask | None:
    """Gives the mask of an index that holds no other array."""
    lookups = [kind for kind, *_ in reading.steps if kind in LOOKUPS]
    if lookups != ["mask"]:
        return None
    return next(operand for step, operand in _paired(reading) if step[0] == "mask")


def without_mask(reading: Reading) -> list[Any]:
    """Lists the operands of an index but for its masks."""
    return [
        operand
        for step, operand in _paired(reading)
        if step[0] != "mask" and has_operand(step)
    ]


def with_positions(reading: Reading, look_up: Callable[[Any], Tensor]) -> Reading:
    """Replaces each mask by the positions of what it marks.

    Args:
        reading: An index that holds arrays.
        look_up: Gives the positions for a mask, one column per axis.
    """
    steps: list[Step] = []
    operands: list[Any] = []
    for step, operand in _paired(reading):
        masked = step[0] == "mask"
        steps.append(("columns", step[1]) if masked else step)
        if has_operand(step):
            operands.append(look_up(operand) if masked else operand)
    return Reading(tuple(steps), tuple(operands), reading.in_front)


def positions(mask: Mask, x: Tensor, size: DimLike | None = None) -> Tensor:
    """Gives the positions of what a mask marks, in the order of memory.

    Args:
        mask: Bools.
        x: What the positions are for.
        size: How many there are, where it is known; a name, or what it must be.

    Returns:
        int64, one row for each element marked, one column per axis of the mask.
    """
    found = known_positions(mask)
    if found is not None:
        return on_mesh_of(x, found)
    assert isinstance(mask, Tensor), "numpy's values are at hand"
    return nonzero(mask, size)


def known_positions(mask: Mask) -> np.ndarray | None:
    """Gives the positions of what a mask marks, if its values are at hand.

    A trace does not look at a Tensor from outside, which may be bound anew, and nothing
    is gathered from a mesh that the region does not allow.
    """
    if isinstance(mask, np.ndarray):
        return np.argwhere(mask)
    at_hand = innermost() is None or (mask.real and graph_context() is None)
    whole = mask.mapping.is_fully_replicated
    return np.argwhere(mask.to_numpy()) if at_hand and whole else None


def roomy(found: np.ndarray) -> np.ndarray:
    """Adds positions of the first element up to one of few counts.

    Each count is a program of its own, which takes far longer to compile than to run.
    """
    count = len(found)
    room = max(LEAST_ROOM, 1 << (count - 1).bit_length()) if count else 0
    return np.pad(found, ((0, room - count), (0, 0)))


def on_mesh_of(x: Tensor, values: np.ndarray) -> Tensor:
    """Copies numpy data to every device of a tensor."""
    with outside():
        return from_numpy(values, DeviceMapping.replicated(x.mesh))


def mask_beside(x: Tensor, mask: Mask, first: int) -> Tensor:
    """Makes a mask a Tensor, which is cut as a tensor is on the axes it covers.

    Args:
        x: The tensor.
        mask: Bools; a Tensor stays as it is.
        first: The first axis of ``x`` that the mask covers.
    """
    if isinstance(mask, Tensor):
        return mask
    covered = range(first, first + mask.ndim)
    placements = tuple(
        Sharded(p.axis - first)
        if isinstance(p, Sharded) and p.axis in covered
        else Replicated()
        for p in x.placements
    )
    with outside():
        return from_numpy(mask, DeviceMapping(x.mesh, placements))


def _paired(reading: Reading) -> Iterator[tuple[Step, Any]]:
    """Visits the steps, each with its operand or None."""
    waiting = iter(reading.operands)
    for step in reading.steps:
        yield step, next(waiting) if has_operand(step) else None
