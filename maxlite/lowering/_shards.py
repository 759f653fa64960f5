"""Between a stored array and its shards: what each device of a mesh holds.

A stored array has hidden axes in front of the tensor axes where the mapping holds
pending sums or unknown shards (see ``sharding/_mappings.py``). On one device they have
size 1, and a shard does not show them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import jax
import numpy as np

from maxlite._backend import lend, place, x64

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.sharding import DeviceMapping


def hidden_sizes(mapping: DeviceMapping) -> tuple[int, ...]:
    """Sizes of the hidden axes of a stored array."""
    return mapping.hidden_sizes


def global_shape(shard: Sequence[int], mapping: DeviceMapping) -> tuple[int, ...]:
    """Gives the shape of the tensor whose shards all have the same shape."""
    ways = mapping.mesh.mesh_shape
    return tuple(
        size * math.prod(ways[i] for i in mapping.sharding_axes(axis))
        for axis, size in enumerate(shard)
    )


def with_hidden_axes(data: np.ndarray, mapping: DeviceMapping) -> np.ndarray:
    """Puts data into the first slot of every pending sum, zeros into the others."""
    sizes = hidden_sizes(mapping)
    if not sizes:
        return data
    stored = np.zeros((*sizes, *data.shape), data.dtype)
    stored[(0,) * len(sizes)] = data
    return stored


def split_array(array: jax.Array, mapping: DeviceMapping) -> list[jax.Array]:
    """Lists what each device holds, in mesh order; the memory is shared."""
    if mapping.mesh.is_single:
        return [array]
    held = {shard.device: shard.data for shard in array.addressable_shards}
    lend(array, *held.values())
    ordered = [held[device] for device in mapping.mesh.to_jax().devices.flat]
    hidden = len(hidden_sizes(mapping))
    return [_reshaped(shard, shard.shape[hidden:]) for shard in ordered]


def join_arrays(
    who: str, shards: Sequence[jax.Array], mapping: DeviceMapping
) -> jax.Array:
    """Makes the stored array of a tensor from its shards; the inverse of splitting.

    Memory is shared where a shard lies on its device already.

    Args:
        who: Function that asks, for errors.
        shards: One per device, in mesh order, anywhere.
        mapping: What they are to be.

    Raises:
        ValueError: There is not one per device, or they are not alike.
    """
    devices = list(mapping.mesh.to_jax().devices.flat)
    if len(shards) != len(devices):
        raise ValueError(
            f"{who}: there must be one shard per device, got {len(shards)} for "
            f"{mapping.mesh!r}. Pass {len(devices)}."
        )
    kinds = {(shard.dtype.name, shard.shape): None for shard in shards}
    if len(kinds) > 1:
        found = " and ".join(f"{name}{list(shape)}" for name, shape in kinds)
        raise ValueError(
            f"{who}: shards must have one dtype and one shape, got {found}. Cast them, "
            "or pad the smaller ones."
        )
    shape = global_shape(shards[0].shape, mapping)
    if mapping.mesh.is_single:
        return place(shards[0], devices[0])
    hidden = hidden_sizes(mapping)
    ones = (1,) * len(hidden)
    placed = [
        place(_reshaped(shard, (*ones, *shard.shape)), device)
        for shard, device in zip(shards, devices, strict=True)
    ]
    joined = jax.make_array_from_single_device_arrays(
        (*hidden, *shape), mapping.named_sharding(len(shape)), placed
    )
    lend(joined, *placed)
    return joined


def _reshaped(array: jax.Array, shape: Sequence[int]) -> jax.Array:
    if array.shape == tuple(shape):
        return array
    with x64():
        return array.reshape(shape)
