"""Which elements of a tensor are shown, and how each one is written.

A long axis of a large tensor shows its two ends only. They are cut out before anything
is written, and before anything leaves a device, so that the text of a large tensor
costs no more than what it shows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from maxlite._backend import x64
from maxlite.dtype import FLOATS, DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jax

MOST_ELEMENTS = 1000
"""An axis is shown whole while it and the axes inside it have no more elements."""

EDGE_ITEMS = 3
"""Items that an axis shows at either end when its middle is left out."""


def elided_axes(shape: Sequence[int]) -> list[bool]:
    """Tells for each axis whether its middle is left out."""
    return [
        size > 2 * EDGE_ITEMS and math.prod(shape[axis:]) > MOST_ELEMENTS
        for axis, size in enumerate(shape)
    ]


def shown_positions(shape: Sequence[int], elided: Sequence[bool]) -> list[np.ndarray]:
    """Lists for each axis where the items lie that are shown.

    >>> shown_positions([2, 9], [False, True])[1].tolist()
    [0, 1, 2, 6, 7, 8]
    """
    return [
        np.r_[:EDGE_ITEMS, size - EDGE_ITEMS : size] if cut else np.arange(size)
        for size, cut in zip(shape, elided, strict=True)
    ]


def shown_elements(array: jax.Array, elided: Sequence[bool]) -> np.ndarray:
    """Fetches the elements that are shown, and no others.

    Args:
        array: On one device or several, which then each give what they hold of them.
        elided: One per axis: whether only the ends are shown.
    """
    positions = shown_positions(array.shape, elided)
    shown = np.empty([len(wanted) for wanted in positions], array.dtype)
    for shard in array.addressable_shards:
        if shard.replica_id:
            continue  # another device holds the same
        inside: list[np.ndarray] = []
        local: list[np.ndarray] = []
        for axis, wanted in enumerate(positions):
            start, stop, _ = shard.index[axis].indices(array.shape[axis])
            inside.append((start <= wanted) & (wanted < stop))
            local.append(wanted[inside[-1]] - start)
        if all(map(len, local)):
            shown[np.ix_(*inside)] = cut_out(shard.data, local)
    return shown


def cut_out(array: jax.Array, positions: Sequence[np.ndarray]) -> np.ndarray:
    """Copies the elements at the crossings of positions, one list of them per axis.

    On a CPU numpy looks at the memory as it is; elsewhere the device cuts them out.
    """
    if array.shape == tuple(map(len, positions)):
        return np.asarray(array)
    source: Any = np.asarray(array) if _on_host(array) else array
    with x64():
        return np.asarray(source[np.ix_(*positions)])


def element_texts(elements: np.ndarray, dtype: DType) -> np.ndarray:
    """Writes each element: floats with four digits, anything else as Python does.

    Returns:
        Strings in the shape of ``elements``.

    >>> element_texts(np.array([1 / 3, 1e-9]), DType.float64).tolist()
    ['0.3333', '1e-09']
    """
    if dtype in FLOATS:
        texts = [f"{x:.4g}" for x in elements.astype(np.float64).ravel().tolist()]
    else:
        texts = [str(x) for x in elements.ravel().tolist()]
    return np.array(texts, np.str_).reshape(elements.shape)


def _on_host(array: jax.Array) -> bool:
    return all(device.platform == "cpu" for device in array.devices())
