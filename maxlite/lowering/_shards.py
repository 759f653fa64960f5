"""Between a stored array and its shards: what each device of a mesh holds.

A stored array has hidden axes in front of the tensor axes where the mapping holds
pending sums or unknown shards (see ``sharding/_mappings.py``). On one device they have
size 1, and a shard does not show them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from maxlite._backend import lend, place, put, x64
from maxlite._processes import fetch, is_own
from maxlite.lowering._uneven import padded_data, padded_shape, pieces

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


def split_array(
    array: jax.Array, mapping: DeviceMapping, shape: Sequence[Any]
) -> list[jax.Array]:
    """Lists what each device holds, in mesh order; the memory is shared if it can be.

    Of a mesh over several processes, those are the devices of this one.

    Args:
        array: A stored array.
        mapping: How it lies.
        shape: The sizes of the tensor.
    """
    if mapping.mesh.is_single:
        return [array]
    if not mapping.is_unknown and padded_shape(shape, mapping) != tuple(shape):
        return _split_uneven(array, mapping, shape)
    held = {shard.device: shard.data for shard in array.addressable_shards}
    lend(array, *held.values())
    devices = mapping.mesh.to_jax().devices.flat
    ordered = [held[device] for device in devices if device in held]
    hidden = len(hidden_sizes(mapping))
    return [_reshaped(shard, shard.shape[hidden:]) for shard in ordered]


def _split_uneven(
    array: jax.Array, mapping: DeviceMapping, shape: Sequence[Any]
) -> list[jax.Array]:
    data = fetch(array)
    slots = _slots(mapping)
    devices = mapping.mesh.to_jax().devices.flat
    return [
        put(data[(*slot, *piece)], device)
        for slot, piece, device in zip(
            slots, pieces(mapping, shape), devices, strict=True
        )
        if is_own(device)
    ]


def _slots(mapping: DeviceMapping) -> list[tuple[int, ...]]:
    """Tells which slot of the hidden axes each device has."""
    mesh = mapping.mesh
    return [
        tuple(mesh.device_coords(i)[axis] for axis in mapping.partial_axes)
        for i in range(mesh.num_devices)
    ]


def join_arrays(
    who: str, shards: Sequence[jax.Array], mapping: DeviceMapping
) -> tuple[jax.Array, tuple[int, ...]]:
    """Makes the stored array of a tensor from its shards; the inverse of splitting.

    Memory is shared where a shard lies on its device already.

    Args:
        who: Function that asks, for errors.
        shards: One per device, in mesh order, anywhere. Along sharded axes their sizes
            may differ.
        mapping: What they are to be.

    Returns:
        The array, and the sizes of the tensor.

    Raises:
        ValueError: There is not one per device, or they do not fit together.
    """
    devices = list(mapping.mesh.to_jax().devices.flat)
    if len(shards) != len(devices):
        raise ValueError(
            f"{who}: there must be one shard per device, got {len(shards)} for "
            f"{mapping.mesh!r}. Pass {len(devices)}."
        )
    mapping.check_shape(shards[0].shape)
    if len({(shard.dtype, shard.shape) for shard in shards}) > 1:
        if mapping.is_unknown:
            raise ValueError(
                f"{who}: Unknown shards must have one dtype and one shape, got "
                f"{_kinds(shards)}. Pad the smaller ones."
            )
        return _join_uneven(who, shards, mapping)
    shape = global_shape(shards[0].shape, mapping)
    if mapping.mesh.is_single:
        return place(shards[0], devices[0]), shape
    hidden = hidden_sizes(mapping)
    ones = (1,) * len(hidden)
    placed = [
        place(_reshaped(shard, (*ones, *shard.shape)), device)
        for shard, device in zip(shards, devices, strict=True)
        if is_own(device)
    ]
    joined = jax.make_array_from_single_device_arrays(
        (*hidden, *padded_shape(shape, mapping)),
        mapping.named_sharding(len(shape)),
        placed,
    )
    lend(joined, *placed)
    return joined, shape


def _join_uneven(
    who: str, shards: Sequence[jax.Array], mapping: DeviceMapping
) -> tuple[jax.Array, tuple[int, ...]]:
    """Joins shards of several sizes, by way of the host."""
    cuts = _cuts(who, shards, mapping)
    shape = tuple(bounds[-1] for bounds in cuts)
    data = np.zeros((*hidden_sizes(mapping), *shape), shards[0].dtype)
    mesh = mapping.mesh
    for i, (slot, shard) in enumerate(zip(_slots(mapping), shards, strict=True)):
        piece = tuple(
            slice(bounds[at], bounds[at + 1])
            for axis, bounds in enumerate(cuts)
            for at in [mesh.device_coord(i, mapping.sharding_axes(axis))]
        )
        data[(*slot, *piece)] = np.asarray(shard)
    stored = padded_data(data, mapping, len(shape))
    return put(stored, mapping.named_sharding(len(shape))), shape


def _cuts(
    who: str, shards: Sequence[jax.Array], mapping: DeviceMapping
) -> list[list[int]]:
    """Finds where each tensor axis is cut.

    Raises:
        ValueError: Dtypes or ranks differ, or sizes that must be equal.
    """
    first = shards[0]
    cuts: list[list[int]] = []
    for axis in range(first.ndim):
        owners = mapping.sharding_axes(axis)
        sizes: dict[int, int] = {}
        for i, shard in enumerate(shards):
            alike = shard.dtype == first.dtype and shard.ndim == first.ndim
            at = mapping.mesh.device_coord(i, owners)
            if (
                not alike
                or sizes.setdefault(at, shard.shape[axis]) != shard.shape[axis]
            ):
                raise ValueError(
                    f"{who}: shards must have one dtype, and one shape but for sharded "
                    f"axes, got {_kinds(shards)} for {mapping!r}. Cast them, or "
                    "pad the smaller ones."
                )
        cuts.append([0, *np.cumsum([sizes[at] for at in sorted(sizes)]).tolist()])
    return cuts


def _kinds(shards: Sequence[jax.Array]) -> str:
    found = {f"{shard.dtype.name}{list(shard.shape)}": None for shard in shards}
    return " and ".join(found)


def _reshaped(array: jax.Array, shape: Sequence[int]) -> jax.Array:
    if array.shape == tuple(shape):
        return array
    with x64():
        return array.reshape(shape)
