"""Sharded sizes that do not divide: padded where an array is stored.

JAX stores a sharded array in pieces of one size. So a size that does not divide is
stored rounded up, with zeros behind the elements, which is undone first thing in every
program and done again last: inside, XLA cuts such sizes by itself. What a device is
said to hold is the reference's piece, where the first ones are longer by one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from maxlite._backend import x64
from maxlite.lowering._redistribute import pin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.graph._spec import Spec
    from maxlite.sharding import DeviceMapping

Shape = tuple[Any, ...]


def ways_of(mapping: DeviceMapping, rank: int) -> list[int]:
    """Tells over how many devices each tensor axis is cut."""
    sizes = mapping.mesh.mesh_shape
    return [
        math.prod(sizes[i] for i in mapping.sharding_axes(axis)) for axis in range(rank)
    ]


def padded_shape(shape: Sequence[Any], mapping: DeviceMapping) -> Shape:
    """Rounds up what does not divide; symbolic sizes stay.

    Of Unknown shards an array of its own is stored for each device.
    """
    if mapping.mesh.is_single:
        return tuple(shape)
    ways = ways_of(mapping, len(shape))
    if mapping.is_unknown:
        return tuple(size // n for size, n in zip(shape, ways, strict=True))
    return tuple(
        size + -size % n if isinstance(size, int) else size
        for size, n in zip(shape, ways, strict=True)
    )


def is_uneven(described: Spec) -> bool:
    """Whether a tensor of known sizes is stored with padding."""
    shape, mapping = described.shape, described.mapping
    return (
        described.is_distributed
        and not mapping.is_unknown
        and padded_shape(shape, mapping) != shape
    )


def pad(array: jax.Array, mapping: DeviceMapping, shape: Sequence[Any]) -> jax.Array:
    """Pads a stored array inside a program, where it has the sizes of the tensor."""
    padded = padded_shape(shape, mapping)
    if mapping.is_unknown or padded == tuple(shape):
        return array
    hidden = array.ndim - len(padded)
    widths = [(0, 0, 0)] * hidden
    widths += [(0, more - size, 0) for size, more in zip(shape, padded, strict=True)]
    array = pin(array, mapping, len(padded))
    return pin(lax.pad(array, jnp.zeros((), array.dtype), widths), mapping, len(padded))


def unpad(array: jax.Array, mapping: DeviceMapping, shape: Sequence[Any]) -> jax.Array:
    """Gives a stored array the sizes of the tensor, inside a program."""
    if mapping.is_unknown or padded_shape(shape, mapping) == tuple(shape):
        return array
    return pin(_cut(array, shape), mapping, len(shape))


def without_padding(array: Any, described: Spec) -> Any:
    """Gives a stored array, of JAX or numpy, the sizes of a tensor without sums."""
    if not is_uneven(described):
        return array
    with x64():
        return _cut(array, described.shape)


def _cut(array: Any, shape: Sequence[Any]) -> Any:
    hidden = array.ndim - len(shape)
    return array[(*[slice(None)] * hidden, *map(slice, shape))]


def padded_data(data: np.ndarray, mapping: DeviceMapping, rank: int) -> np.ndarray:
    """Pads numpy data with hidden axes in front."""
    shape = data.shape[data.ndim - rank :]
    padded = padded_shape(shape, mapping)
    if padded == shape:
        return data
    widths = [(0, 0)] * (data.ndim - rank)
    widths += [(0, more - size) for size, more in zip(shape, padded, strict=True)]
    return np.pad(data, widths)


def pieces(mapping: DeviceMapping, shape: Sequence[int]) -> list[tuple[slice, ...]]:
    """Tells which part of a tensor each device holds, in mesh order."""
    mesh = mapping.mesh
    found: list[tuple[slice, ...]] = []
    for device in range(mesh.num_devices):
        coords = mesh.device_coords(device)
        parts: list[slice] = []
        for axis, size in enumerate(shape):
            start = 0
            for i in mapping.sharding_axes(axis):
                each, longer = divmod(size, mesh.mesh_shape[i])
                start += coords[i] * each + min(coords[i], longer)
                size = each + (coords[i] < longer)
            parts.append(slice(start, start + size))
        found.append(tuple(parts))
    return found
