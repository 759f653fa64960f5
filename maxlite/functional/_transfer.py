"""Moving tensors between devices, meshes and mappings; joining and renaming shards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxlite._backend import lend, place
from maxlite._op_table import front
from maxlite.driver import Device
from maxlite.dtype import DType
from maxlite.functional._dispatch import apply
from maxlite.functional._operands import as_tensor
from maxlite.graph import DeviceRef
from maxlite.graph._spec import Spec, spec
from maxlite.lowering._redistribute import RESHARD
from maxlite.lowering._shards import join_arrays, split_array
from maxlite.lowering._uneven import is_uneven
from maxlite.sharding import (
    DeviceMapping,
    DeviceMesh,
    Sharded,
    ShardingError,
    Unknown,
)
from maxlite.tensor._context import current_realization_context, innermost, outside
from maxlite.tensor._defaults import on_device, plain
from maxlite.tensor._tensor import Tensor, from_numpy, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jax


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


@front
def moved_array(array: jax.Array, described: Spec, target: DeviceMapping) -> jax.Array:
    """Moves a stored array to other devices than its own."""
    with outside():
        return move(wrap(described, array), target)._stored()


@front
def from_shard_values(
    shard_values: Sequence[Tensor], mapping: DeviceMapping | None = None
) -> Tensor:
    """Joins one-device tensors to one tensor over a mesh, each a device's piece.

    Args:
        shard_values: One per device of the mesh, in mesh order, of equal dtype and
            shape.
        mapping: What the pieces are; None for a single value on one device.

    Returns:
        A realized tensor: sharded axes are that many times longer, pending sums add up.

    Raises:
        LookupError: No realization context is open.
        TypeError: A value is no Tensor, or has no value yet.
        ValueError: Several values without a mapping, not one per device, or values of
            different dtype or shape.

    Source: max.experimental.tensor.Tensor.from_shard_values.

    >>> from maxlite.driver import CPU
    >>> from maxlite.functional import ensure_context
    >>> from maxlite.sharding import DeviceMesh, Sharded
    >>> mesh = DeviceMesh((CPU(), CPU()), (2,), ("x",))
    >>> with ensure_context():
    ...     x = from_shard_values(
    ...         [Tensor([1.0]), Tensor([2.0])], DeviceMapping(mesh, (Sharded(0),))
    ...     )
    >>> x.to_numpy().tolist()
    [1.0, 2.0]
    """
    current_realization_context()
    who = "from_shard_values"
    values = [as_tensor(who, value, "shard_values") for value in shard_values]
    if mapping is None:
        if len(values) != 1:
            raise ValueError(
                f"{who}: a mapping must say what several values are, got "
                f"{len(values)} values. Pass DeviceMapping(mesh, placements)."
            )
        mapping = values[0].mapping
    for value in values:
        value._one_device(who)
    return _join(who, [value._stored() for value in values], mapping)


@front
def rebind_mapping(t: Tensor, mapping: DeviceMapping) -> Tensor:
    """Says anew what the shards of a tensor are; none of them moves or changes.

    Args:
        t: Its shards are of equal shape.
        mapping: On the same mesh.

    Returns:
        A tensor of the same shards; its shape follows the mapping.

    Raises:
        TypeError: ``mapping`` is no mapping, or ``t`` has no value yet.
        ValueError: The mesh is another one, or a sharded axis is missing.

    Source: max.experimental.tensor.Tensor.rebind_mapping.

    >>> from maxlite.driver import CPU
    >>> from maxlite.sharding import DeviceMesh, Partial, Replicated
    >>> mesh = DeviceMesh((CPU(), CPU()), (2,), ("x",))
    >>> x = Tensor([1.0, 2.0]).to(mesh)
    >>> rebind_mapping(x, DeviceMapping(mesh, (Partial(),))).to_numpy().tolist()
    [2.0, 4.0]
    """
    as_tensor("rebind_mapping", t, "t")
    if not isinstance(mapping, DeviceMapping):
        raise TypeError(
            "rebind_mapping: mapping must be a DeviceMapping, got "
            f"{type(mapping).__name__}. Use DeviceMapping(mesh, placements)."
        )
    if mapping.mesh != t.mesh:
        raise ValueError(
            f"rebind_mapping: the mesh must stay the same, got {mapping.mesh!r} for "
            f"{t.mesh!r}. Use to(mapping) to move."
        )
    shards = split_array(t._stored(), t.mapping, t._spec.shape)
    return _join("rebind_mapping", shards, mapping)


def _remedy(target: object) -> str:
    if isinstance(target, DType):
        return f"Use x.cast({target})."
    if isinstance(target, str):
        return "Use CPU() or Accelerator()."
    return "Use CPU(), or DeviceMapping(mesh, placements)."


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
            f"{target!r}. {_remedy(target)}"
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
    if mapping.partial_axes and not _differ_in_names(t.mesh, mapping.mesh):
        raise ValueError(
            "to: a pending sum can only be made from shards on the same mesh, got "
            f"{t.mapping!r} for {mapping!r}. Replicate over the mesh first."
        )


def _differ_in_names(mesh: DeviceMesh, other: DeviceMesh) -> bool:
    """Whether two meshes are one but for the names of their axes, if anything."""
    return mesh.devices == other.devices and mesh.mesh_shape == other.mesh_shape


def _move_now(t: Tensor, mapping: DeviceMapping) -> Tensor:
    """Moves between different devices or meshes, outside of any program."""
    if _differ_in_names(t.mesh, mapping.mesh) and t.placements != mapping.placements:
        renamed = DeviceMapping(mapping.mesh, t.placements)
        return move(move(t, renamed), mapping)
    if t.mapping.partial_axes and t.placements != mapping.placements:
        return move(move(t, DeviceMapping.replicated(t.mesh)), mapping)
    described = spec(t.dtype, t._spec.shape, mapping)
    if is_uneven(t._spec) or is_uneven(described):
        return from_numpy(t.to_numpy(), mapping)
    if mapping.mesh.is_single:
        return wrap(described, _to_device(t, mapping.mesh.devices[0]))
    return wrap(described, place(t._stored(), mapping.named_sharding(t.rank)))


def _to_device(t: Tensor, device: Device) -> jax.Array:
    array, target = t._stored(), device.to_jax()
    if t.mapping.is_fully_replicated:
        for shard in array.addressable_shards:
            if shard.device == target:
                lend(array, shard.data)
                return shard.data
    return place(array, target)


def _join(who: str, shards: Sequence[jax.Array], mapping: DeviceMapping) -> Tensor:
    kept = plain(mapping)
    array, shape = join_arrays(who, shards, kept)
    return wrap(spec(DType.from_jax(array.dtype), shape, kept), array)
