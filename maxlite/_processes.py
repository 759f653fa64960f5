"""Arrays over the devices of several processes.

A process sees only the shards on its own devices. Reading the rest is a program in
which every process takes part, so all of them must read, in the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    Put = Callable[[np.ndarray, Any], jax.Array]


def is_own(target: Any) -> bool:
    """Whether a device, or each device of a sharding, belongs to this process."""
    if isinstance(target, jax.sharding.Sharding):
        return target.is_fully_addressable
    return target.process_index == jax.process_index()


def put_own_part(data: np.ndarray, sharding: Any, put: Put) -> jax.Array:
    """Makes an array over several processes; each puts the part of its devices.

    Raises:
        ValueError: None of the devices belongs to this process.
    """
    held = sharding.addressable_devices_indices_map(data.shape)
    if not held:
        raise ValueError(
            f"put: a mesh must have a device of this process, {jax.process_index()}, "
            f"got {sharding.mesh.devices.ravel().tolist()}. Use a mesh over all "
            "processes, or one device."
        )
    shards = [put(np.asarray(data[index]), device) for device, index in held.items()]
    return jax.make_array_from_single_device_arrays(data.shape, sharding, shards)


def fetch(array: jax.Array) -> np.ndarray:
    """Reads an array to the host, also what lies in other processes.

    Raises:
        RuntimeError: Another process has ended, or cannot be reached.
    """
    if array.is_fully_addressable or array.is_fully_replicated:
        return np.asarray(array)
    mesh = cast("Any", array.sharding).mesh
    whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    try:
        return np.asarray(spread(array, whole))
    except JAX_RUNTIME_ERROR as error:
        raise RuntimeError(
            "to_numpy: every process must take part in a read, and one has ended or "
            "cannot be reached. See its output, and start all of them again."
        ) from error


def spread(array: jax.Array, sharding: Any) -> jax.Array:
    """Lays an array out over its devices in another way, by a program of all."""
    with jax.enable_x64(True), jax.set_mesh(None):
        found = _programs.get(sharding)
        if found is None:
            found = _programs[sharding] = jax.jit(_same, out_shardings=sharding)
        return cast("jax.Array", found(array))


def _same(array: jax.Array) -> jax.Array:
    return array


JAX_RUNTIME_ERROR = cast("type[RuntimeError]", jax.errors.JaxRuntimeError)
"""What JAX raises when a program fails while it runs."""

_programs: dict[Any, Any] = {}


def move(array: jax.Array, target: Any, put: Put) -> jax.Array:
    """Moves an array from, to or between devices of several processes.

    What lies in this process alone is taken for the same value everywhere.
    """
    if isinstance(target, jax.sharding.Sharding):
        devices = cast("Any", array.sharding).device_set
        if not array.is_fully_addressable and target.device_set == devices:
            return spread(array, target)
    return put(fetch(array), target)
