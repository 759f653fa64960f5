"""How a tensor prints: its values laid out in the plane, or what is known without them.

The axes alternate between the two directions of a page. The last one runs across, the
one before it down, which makes a matrix; the next lays matrices side by side, the next
stacks such rows, and so on. Each direction draws its separators, the stronger the
further out the axis is.

A long axis of a large tensor shows its two ends only. They are cut out before anything
is formatted, and before anything leaves an accelerator, so that the text of a large
tensor costs no more than what it shows.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from maxlite._backend import x64
from maxlite.dtype import FLOATS, DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jax

    from maxlite.tensor._tensor import Tensor

MOST_ELEMENTS = 1000
"""An axis is shown whole while it and the axes inside it have no more elements."""

EDGE_ITEMS = 3
"""Items that an axis shows at either end when its middle is left out."""

_GAP = "..."

_ACROSS = {1: " ", 3: " | "}
"""What stands between blocks side by side, by the rank of what they make up."""

_DOWN = {2: None, 4: ""}
"""What fills the line between blocks below each other; None for no line."""

Block = list[str]
"""Lines of text that stand below each other."""


def values_text(tensor: Tensor) -> str:
    """Writes a real tensor on one device.

    The numbers stand right-aligned to the widest one shown; floats have four digits.
    """
    array = tensor._stored()
    elided = _elided_axes(array.shape)
    ends = _cut_middles(array, elided, on_host=tensor.device.is_host)
    lines = "\n ".join(_block(_cells(ends, tensor.dtype), elided))
    values = f"[{lines}]" if tensor.rank else lines
    return f"Tensor({values}, dtype={tensor.dtype}, device={tensor.device})"


def pending_text(tensor: Tensor) -> str:
    """Writes a tensor on one device that has no values yet; it stays pending."""
    return (
        "Tensor(\n"
        "    '<unrealized>',\n"
        f"    shape={tensor.shape},\n"
        f"    dtype={tensor.dtype.name},\n"
        f"    device={tensor.device}\n"
        ")"
    )


def sharded_text(tensor: Tensor) -> str:
    """Writes a tensor that lies on several devices; no values are gathered."""
    sizes = ", ".join(str(dim) for dim in tensor._spec.shape)
    return f"Tensor(shape=[{sizes}], dtype={tensor.dtype}, mapping={tensor.mapping!r})"


def _elided_axes(shape: Sequence[int]) -> list[bool]:
    """Tells for each axis whether its middle is left out."""
    return [
        size > 2 * EDGE_ITEMS and math.prod(shape[axis:]) > MOST_ELEMENTS
        for axis, size in enumerate(shape)
    ]


def _cut_middles(
    array: jax.Array, elided: Sequence[bool], *, on_host: bool
) -> np.ndarray:
    """Fetches what is shown: both ends of the elided axes, the others whole.

    On the host, numpy looks at the memory as it is; elsewhere the ends are cut out by
    the device.
    """
    ends: Any = np.asarray(array) if on_host else array
    with x64():
        for axis in itertools.compress(range(array.ndim), elided):
            last = array.shape[axis] - EDGE_ITEMS
            shown = [*range(EDGE_ITEMS), *range(last, array.shape[axis])]
            ends = ends.take(np.array(shown), axis)
    return np.asarray(ends)


def _cells(ends: np.ndarray, dtype: DType) -> np.ndarray:
    """Writes each element, all to the width of the widest."""
    if dtype in FLOATS:
        texts = [f"{x:.4g}" for x in ends.astype(np.float64).ravel().tolist()]
    else:
        texts = [str(x) for x in ends.ravel().tolist()]
    width = max(map(len, texts), default=1)
    cells = np.array([text.rjust(width) for text in texts], f"U{width}")
    return cells.reshape(ends.shape)


def _block(cells: np.ndarray, elided: Sequence[bool]) -> Block:
    if not cells.ndim:
        return [str(cells)]
    parts = [_block(part, elided[1:]) for part in cells]
    if elided[0]:
        parts.insert(EDGE_ITEMS, [_GAP])
    if not parts:
        return [""]
    if cells.ndim % 2:
        return _side_by_side(parts, _ACROSS.get(cells.ndim, " : "))
    return _stacked(parts, _DOWN.get(cells.ndim, "-"))


def _side_by_side(parts: Sequence[Block], separator: str) -> Block:
    height = max(map(len, parts))
    columns = [_filled(part, height) for part in parts]
    return [separator.join(line) for line in zip(*columns, strict=True)]


def _filled(part: Block, height: int) -> Block:
    """Fills a block up with spaces to a rectangle."""
    width = max(map(len, part))
    lines = [*part, *[""] * (height - len(part))]
    return [line.ljust(width) for line in lines]


def _stacked(parts: Sequence[Block], separator: str | None) -> Block:
    width = max(len(line) for part in parts for line in part)
    between = [] if separator is None else [separator * width]
    lines = list(parts[0])
    for part in parts[1:]:
        lines += between + part
    return lines
