"""How a tensor prints: its values laid out in the plane, or what is known without them.

The axes alternate between the two directions of a page. The last one runs across, the
one before it down, which makes a matrix; the next lays matrices side by side, the next
stacks such rows, and so on. Each direction draws its separators, the stronger the
further out the axis is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maxlite.tensor._shown import (
    EDGE_ITEMS,
    element_texts,
    elided_axes,
    shown_elements,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.dtype import DType
    from maxlite.tensor._tensor import Tensor

_GAP = "..."

_ACROSS = {1: " ", 3: " | "}
"""What stands between blocks side by side, by the rank of what they make up."""

_DOWN = {2: None, 4: ""}
"""What fills the line between blocks below each other; None for no line."""

Block = list[str]
"""Lines of text that stand below each other."""


def values_text(tensor: Tensor) -> str:
    """Writes a real tensor on one device."""
    array = tensor._stored()
    elided = elided_axes(array.shape)
    values = elements_text(shown_elements(array, elided), tensor.dtype, elided)
    return f"Tensor({values}, dtype={tensor.dtype}, device={tensor.device})"


def elements_text(shown: np.ndarray, dtype: DType, elided: Sequence[bool]) -> str:
    """Lays out the elements that are shown.

    The numbers stand right-aligned to the widest one shown; floats have four digits.

    Args:
        shown: What is left of the array where middles are left out.
        dtype: Of the tensor.
        elided: One per axis: whether the middle is left out.
    """
    lines = "\n ".join(_block(_aligned(element_texts(shown, dtype)), elided))
    return f"[{lines}]" if shown.ndim else lines


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


def _aligned(texts: np.ndarray) -> np.ndarray:
    """Fills each text up on its left to the width of the widest."""
    if not texts.size:
        return texts
    return np.strings.rjust(texts, max(map(len, texts.flat)))


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
