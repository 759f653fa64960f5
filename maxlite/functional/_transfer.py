"""Moving tensors between devices, meshes and mappings."""

from __future__ import annotations

import jax

from maxlite._backend import lend, place
from maxlite._op_table import front
from maxlite.driver import Device
from maxlite.functional._dispatch import apply, as_tensor
from maxlite.graph import DeviceRef
from maxlite.graph._spec import spec
from maxlite.lowering._program import check_divisible
from maxlite.lowering._redistribute import RESHARD
from maxlite.sharding import (
    DeviceMapping,
    DeviceMesh,
    Partial,
    Replicated,
    Sharded,
    ShardingError,
    Unknown,
)
from maxlite.tensor._context import innermost
from maxlite.tensor._defaults import on_device, plain
from maxlite.tensor._tensor import Tensor, wrap


@front
def transfer_to(t: Tensor, target: Device | DeviceMapping | DeviceRef) -> Tensor:
    """Moves a tensor to a device or a mapping.

    Args:
        t: Anywhere.
        target: A device gathers; a mapping distributes or reshards.

    Returns:
        The same global value; ``t`` itself when it is there already.

    Raises:
        TypeError: ``target`` is something else.
        ShardingError: A move to or from Unknown, or scattering a size of 1.
        ValueError: A pending sum is asked for from one device or another mesh, or a
            sharded size does not divide.

    Source: max.experimental.functional.transfer_to.

    >>> from maxlite.driver import CPU
    >>> transfer_to(Tensor([1.0]), CPU()).item()
    1.0
    """
    return move(t, target)


@front
def move(t: Tensor, target: Device | DeviceMesh | DeviceMapping | DeviceRef) -> Tensor:
    """Moves a tensor to a device, a mesh or a mapping. See :func:`transfer_to`.

    A mesh keeps the placements of a distributed tensor and replicates any other.

    >>> from maxlite.driver import CPU
    >>> move(Tensor([1.0]), CPU()).item()
    1.0
    """
    as_tensor("transfer_to", t, "t")
    mapping = _target_mapping(t, target)
    if mapping == t.mapping:
        return t
    _check_move(t, mapping)
    if innermost() is not None or t.mesh == mapping.mesh:
        return apply(RESHARD, (t,), mapping)
    return _move_now(t, mapping)


def _target_mapping(t: Tensor, target: object) -> DeviceMapping:
    if isinstance(target, DeviceRef):
        target = target.to_device()
    if isinstance(target, Device):
        return on_device(target)
    if isinstance(target, DeviceMapping):
        return plain(target)
    if not isinstance(target, DeviceMesh):
        raise TypeError(
            "to: target must be a Device, DeviceMesh or DeviceMapping, got "
            f"{type(target).__name__}. Use DeviceMapping(mesh, placements)."
        )
    if not t.is_distributed:
        return plain(DeviceMapping.replicated(target))
    if target.ndim != t.mesh.ndim:
        raise ValueError(
            f"to: a mesh must have as many axes as the tensor's, got {target!r} for "
            f"{t.mesh!r}. Pass a DeviceMapping."
        )
    return plain(DeviceMapping(target, t.placements))


def _check_move(t: Tensor, mapping: DeviceMapping) -> None:
    source, target = t.placements, mapping.placements
    if any(isinstance(p, Unknown) for p in (*source, *target)):
        raise ShardingError(
            f"to: nothing can be moved to or from Unknown, got {t.mapping!r} and "
            f"{mapping!r}. Use rebind_mapping to say what the shards are."
        )
    for placement in target:
        if isinstance(placement, Sharded) and not 0 <= placement.axis < t.rank:
            raise IndexError(
                f"to: {placement!r} must name an axis of the tensor, got shape "
                f"{t.shape}. Pass 0 to {t.rank - 1}."
            )
        if (
            isinstance(placement, Sharded)
            and not t.is_distributed
            and t._spec.shape[placement.axis] == 1
            and mapping.mesh.num_devices > 1
        ):
            raise ShardingError(
                f"to: an axis of size 1 cannot be scattered, got {placement!r} for "
                f"shape {t.shape}. Replicate it."
            )
    same_grid = t.mesh.mesh_shape == mapping.mesh.mesh_shape and t.is_distributed
    if any(isinstance(p, Partial) for p in target) and not same_grid:
        raise ValueError(
            "to: a pending sum can only be made from shards on the same mesh, got "
            f"{t.mapping!r} for {mapping!r}. Replicate over the mesh first."
        )


def _move_now(t: Tensor, mapping: DeviceMapping) -> Tensor:
    """Moves between different devices or meshes, outside of any program."""
    renamed = (
        t.mesh.devices == mapping.mesh.devices
        and t.mesh.mesh_shape == mapping.mesh.mesh_shape
        and t.placements == mapping.placements
    )
    if not renamed and any(isinstance(p, Partial) for p in t.placements):
        whole = DeviceMapping(t.mesh, (Replicated(),) * t.mesh.ndim)
        return move(move(t, whole), mapping)
    described = spec(t.dtype, t._spec.shape, mapping)
    if mapping.mesh.num_devices == 1:
        return wrap(described, _to_device(t, mapping.mesh.devices[0]))
    check_divisible("to", described, {})
    return wrap(described, place(t._stored(), mapping.named_sharding(t.rank)))


def _to_device(t: Tensor, device: Device) -> jax.Array:
    array, target = t._stored(), device.to_jax()
    if t.mapping.is_fully_replicated:
        for shard in array.addressable_shards:
            if shard.device == target:
                lend(array, shard.data)
                return shard.data
    return place(array, target)
