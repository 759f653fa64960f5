"""JAX arrays that become tensors: which ones can, and where they lie in our terms.

A JAX array never changes, so its memory is shared. What a ``NamedSharding`` says, mesh
axis by mesh axis, a mapping says too; two things it can say are refused, a pending sum
(``unreduced``), which JAX stores otherwise, and mesh axes out of order on one tensor
axis.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax import numpy as jnp
from jax.core import Tracer
from jax.sharding import NamedSharding

from maxlite._backend import lend, row_major
from maxlite.driver import Device
from maxlite.dtype import DType
from maxlite.graph._spec import Spec, spec
from maxlite.sharding import DeviceMapping, DeviceMesh, Placement, Replicated, Sharded
from maxlite.tensor._defaults import on_device, plain


def shared_array(who: str, array: object) -> tuple[Spec, jax.Array]:
    """Describes a JAX array as a tensor.

    Args:
        who: Function that asks, for errors.
        array: On one device, or over a mesh by a ``NamedSharding``.

    Returns:
        The spec, and the array to store, on the same memory unless that was laid out in
        an order of its own. It is marked as lent, so that a write to the tensor goes
        elsewhere.

    Raises:
        TypeError: No JAX array, one that is being traced, or PRNG keys.
        ValueError: It was deleted, has a dtype that is no DType, or lies in a way that
            no mapping says.
    """
    concrete = _concrete(who, array)
    dtype = _dtype(who, concrete)
    _check_memory(who, concrete)
    mapping = _mapping(who, concrete)
    stored = _stored(row_major(concrete), mapping)
    lend(concrete, stored)  # nobody can see who else has its memory
    return spec(dtype, concrete.shape, mapping), stored


def _concrete(who: str, array: object) -> jax.Array:
    if not isinstance(array, jax.Array):
        raise TypeError(
            f"{who}: the array must be a jax.Array, got {type(array).__name__}. Use "
            "Tensor(data) for anything else."
        )
    if isinstance(array, Tracer):
        raise TypeError(
            f"{who}: the array must have values, got one that a JAX transformation is "
            "tracing. Write the function on Tensors and use maxlite's compile."
        )
    if array.is_deleted():
        raise ValueError(
            f"{who}: the array must have values, got one that was deleted or donated. "
            "Copy it before it is given away."
        )
    return array


def _dtype(who: str, array: jax.Array) -> DType:
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        raise TypeError(
            f"{who}: the array must hold numbers, got PRNG keys of {array.dtype}. Use "
            "jax.random.key_data(keys)."
        )
    try:
        return DType.from_jax(array.dtype)
    except ValueError:
        raise ValueError(
            f"{who}: an array must have a dtype that maxlite has, got {array.dtype}. "
            "Use array.astype(...) first."
        ) from None


def _check_memory(who: str, array: jax.Array) -> None:
    kind = array.sharding.memory_kind
    device: Any = next(iter(array.devices()))
    if kind not in (None, device.default_memory().kind):
        raise ValueError(
            f"{who}: the array must lie in the memory of its device, got {kind!r}. Use "
            "jax.device_put(array, jax.memory.Space.Device)."
        )


def _mapping(who: str, array: jax.Array) -> DeviceMapping:
    sharding, held = array.sharding, array.devices()
    if len(held) == 1:
        return on_device(Device.from_jax(next(iter(held))))
    if not isinstance(sharding, NamedSharding) or sharding.spec.unreduced:
        raise ValueError(
            f"{who}: the array must be cut by a NamedSharding without pending sums, "
            f"got {sharding}. Use jax.device_put(array, NamedSharding(mesh, spec))."
        )
    grid = np.asarray(sharding.mesh.devices)
    names: tuple[str, ...] = sharding.mesh.axis_names
    devices = tuple(Device.from_jax(d, everywhere=True) for d in grid.flat)
    mesh = DeviceMesh(devices, grid.shape, names)
    placements: list[Placement] = [Replicated()] * mesh.ndim
    for axis, entry in enumerate(sharding.spec):
        cut_by = mesh.axis_indices(() if entry is None else entry)
        if list(cut_by) != sorted(cut_by):
            raise ValueError(
                f"{who}: mesh axes must cut a tensor axis in the order of the mesh, "
                f"{names}, got {sharding.spec}. Use jax.device_put to cut it so."
            )
        for i in cut_by:
            placements[i] = Sharded(axis)
    return plain(DeviceMapping(mesh, tuple(placements)))


def _stored(array: jax.Array, mapping: DeviceMapping) -> jax.Array:
    """Gives the array the sharding that the mapping stands for, on the same memory."""
    if mapping.mesh.is_single:
        is_plain = not isinstance(array.sharding, NamedSharding)
        return array if is_plain else array.addressable_shards[0].data
    target = mapping.named_sharding(array.ndim)
    if array.sharding == target:
        return array
    shards = [shard.data for shard in array.addressable_shards]
    lend(*shards)
    return jax.make_array_from_single_device_arrays(array.shape, target, shards)
