"""A mesh together with one placement per mesh axis: where a tensor lies.

A mapping also fixes how the tensor is stored, which is one JAX array for the whole
mesh. An axis of the array is spread over a mesh axis by its ``PartitionSpec``:

- a sharded tensor axis over the mesh axes that shard it, the earlier one outermost;
- for each Partial mesh axis, a *hidden* axis in front of the tensor axes, whose slot i
  is the term that position i of the mesh axis holds; several stand in mesh order;
- if any placement is Unknown, one hidden axis over all mesh axes, a slot per device.

A mesh of one device needs no hidden axis, whatever the placements say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TypeAlias

from jax.sharding import NamedSharding, PartitionSpec

from maxlite._errors import check_type
from maxlite.driver import Device
from maxlite.graph import DeviceRef, Shape
from maxlite.sharding._mesh import DeviceMesh
from maxlite.sharding._per_shard_dim import PerShardDim
from maxlite.sharding._placements import (
    Partial,
    Placement,
    Replicated,
    Sharded,
    Unknown,
)

_MESH_MUST = "DeviceMapping: mesh must be a DeviceMesh"
_MESH_REMEDY = "Use DeviceMesh.single(device) for one device."

_PLACEMENTS_MUST = "DeviceMapping: placements must be several Placement objects"
_PLACEMENTS_REMEDY = "Pass for example (Sharded(0), Replicated())."


@dataclass(frozen=True, eq=False, repr=False)
class DeviceMapping:
    """Where a tensor lies: a mesh and one placement per mesh axis.

    Immutable, hashable, equal by value. Two mesh axes may shard the same tensor axis;
    the earlier one is the outer one.

    Args:
        mesh: The devices.
        placements: One per mesh axis.

    Raises:
        TypeError: ``mesh`` is no mesh, or a placement is of another kind.
        ValueError: There is not one placement per mesh axis.

    Source: max.experimental.sharding.DeviceMapping.

    >>> from maxlite.driver import CPU
    >>> from maxlite.sharding import Sharded
    >>> mesh = DeviceMesh((CPU(),) * 2, (2,), ("x",))
    >>> DeviceMapping(mesh, (Sharded(0),))
    DeviceMapping(DeviceMesh(x=2), [Sharded(axis=0)])
    """

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    # Computed once: mappings are parts of keys on hot paths.
    _hash: int = field(init=False)

    def __post_init__(self) -> None:
        check_mesh(self.mesh)
        object.__setattr__(self, "placements", _as_placements(self.placements))
        if len(self.placements) != self.mesh.ndim:
            raise ValueError(
                "DeviceMapping: placements must have one item per axis of "
                f"{self.mesh!r}, got {list(self.placements)}. "
                f"Pass {self.mesh.ndim}."
            )
        object.__setattr__(self, "_hash", hash((self.mesh, self.placements)))

    @classmethod
    def replicated(cls, mesh: DeviceMesh) -> DeviceMapping:
        """Makes the mapping with the whole tensor on every device.

        >>> from maxlite.driver import CPU
        >>> DeviceMapping.replicated(DeviceMesh.single(CPU()))
        DeviceMapping(DeviceMesh(_=1), [Replicated()])
        """
        check_mesh(mesh)
        return _replicated(mesh)

    @cached_property
    def is_fully_replicated(self) -> bool:
        """Whether every placement is Replicated."""
        return all(isinstance(p, Replicated) for p in self.placements)

    @cached_property
    def partial_axes(self) -> tuple[int, ...]:
        """Indices of the mesh axes that hold a pending sum; none on one device."""
        if self.mesh.is_single:
            return ()
        return tuple(i for i, p in enumerate(self.placements) if isinstance(p, Partial))

    @cached_property
    def hidden_sizes(self) -> tuple[int, ...]:
        """Sizes of the hidden axes of a stored array, in front of the tensor axes."""
        if self.is_unknown:
            return (self.mesh.num_devices,)
        return tuple(self.mesh.mesh_shape[i] for i in self.partial_axes)

    @cached_property
    def is_unknown(self) -> bool:
        """Whether any placement is Unknown; never on one device."""
        return not self.mesh.is_single and any(
            isinstance(p, Unknown) for p in self.placements
        )

    def sharding_axes(self, axis: int) -> tuple[int, ...]:
        """Lists the indices of the mesh axes that shard a tensor axis.

        >>> from maxlite.driver import CPU
        >>> from maxlite.sharding import Sharded
        >>> mesh = DeviceMesh((CPU(),) * 4, (2, 2), ("x", "y"))
        >>> DeviceMapping(mesh, (Sharded(1), Sharded(1))).sharding_axes(1)
        (0, 1)
        """
        return tuple(
            i for i, p in enumerate(self.placements) if p.localized_axis() == axis
        )

    def spec_entry(self, axis: int) -> str | tuple[str, ...] | None:
        """Names the mesh axes that shard a tensor axis, as a ``PartitionSpec`` does.

        >>> from maxlite.driver import CPU
        >>> from maxlite.sharding import Sharded
        >>> mesh = DeviceMesh((CPU(),) * 4, (2, 2), ("x", "y"))
        >>> DeviceMapping(mesh, (Sharded(1), Replicated())).spec_entry(1)
        'x'
        """
        names = tuple(self.mesh.axis_names[i] for i in self.sharding_axes(axis))
        if not names:
            return None
        return names[0] if len(names) == 1 else names

    def local_shapes(self, shape: Shape) -> list[Shape]:
        """Gives the shape that each device holds, in mesh order.

        >>> from maxlite.driver import CPU
        >>> from maxlite.sharding import Sharded
        >>> mesh = DeviceMesh((CPU(),) * 2, (2,), ("x",))
        >>> DeviceMapping(mesh, (Sharded(0),)).local_shapes(Shape([5]))
        [[Dim(3)], [Dim(2)]]
        """
        dims = [
            Sharded(axis).local_dim(dim, self.mesh, self.sharding_axes(axis))
            for axis, dim in enumerate(shape)
        ]
        return [
            Shape(d.per_shard[i] if isinstance(d, PerShardDim) else d for d in dims)
            for i in range(self.mesh.num_devices)
        ]

    def check_shape(self, shape: Sized) -> None:
        """Checks that a tensor of this rank can lie so; sizes do not matter.

        Args:
            shape: The sizes of the tensor axes, or anything of that length.

        Raises:
            ValueError: A sharded axis is negative or not below the rank.

        >>> from maxlite.driver import CPU
        >>> from maxlite.sharding import Sharded
        >>> mesh = DeviceMesh((CPU(),) * 2, (2,), ("x",))
        >>> DeviceMapping(mesh, (Sharded(0),)).check_shape([3])
        """
        rank = len(shape)
        for name, placement in zip(self.mesh.axis_names, self.placements, strict=True):
            axis = placement.localized_axis()
            if axis is not None and not 0 <= axis < rank:
                raise ValueError(
                    f"DeviceMapping: a sharded axis must be at least 0 and below the "
                    f"rank {rank}, got {placement!r} on mesh axis {name!r}. "
                    "Shard another axis, or replicate."
                )

    def partition_spec(self, rank: int) -> PartitionSpec:
        """Describes the stored array of a tensor of this rank to JAX.

        Args:
            rank: Number of tensor axes.

        Returns:
            One entry per hidden axis, then one per tensor axis.

        >>> from maxlite.driver import CPU
        >>> from maxlite.sharding import Sharded
        >>> mesh = DeviceMesh((CPU(),) * 4, (2, 2), ("x", "y"))
        >>> DeviceMapping(mesh, (Partial(), Sharded(1))).partition_spec(2)
        P('x', None, 'y')
        """
        return self.named_sharding(rank).spec

    def named_sharding(self, rank: int) -> NamedSharding:
        """Says where the stored array of a tensor of this rank lies.

        Raises:
            ValueError: A sharded axis is negative or not below the rank, or JAX has
                not enough devices.

        >>> from maxlite.driver import CPU
        >>> from maxlite.sharding import Sharded
        >>> mesh = DeviceMesh((CPU(),) * 2, (2,), ("x",))
        >>> DeviceMapping(mesh, (Sharded(0),)).named_sharding(2).spec
        P('x', None)
        """
        found = self._shardings.get(rank)
        if found is None:
            self.check_shape(range(rank))
            found = NamedSharding(self.mesh.to_jax(), _partition_spec(self, rank))
            self._shardings[rank] = found
        return found

    @cached_property
    def _shardings(self) -> dict[int, NamedSharding]:
        return {}

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Compares mesh and placements; another class is never equal."""
        if self is other:
            return True
        if type(other) is not type(self):
            return NotImplemented
        return (
            self._hash == other._hash
            and self.placements == other.placements
            and self.mesh == other.mesh
        )

    def __repr__(self) -> str:
        return f"DeviceMapping({self.mesh!r}, {list(self.placements)!r})"

    def __reduce__(self) -> tuple[Callable[..., DeviceMapping], tuple[object, ...]]:
        """Makes it anew, as hashes of strings differ between processes."""
        return _restore, (type(self), self.mesh, self.placements)


MappingLike: TypeAlias = Device | DeviceRef | DeviceMesh | DeviceMapping
"""What says where a tensor lies."""


def as_mapping(target: object) -> DeviceMapping:
    """Turns anything that says where a tensor may lie into a mapping.

    Args:
        target: A mapping stays as it is; a mesh or a device means Replicated.

    Raises:
        TypeError: ``target`` is of another kind.

    >>> from maxlite.driver import CPU
    >>> as_mapping(CPU())
    DeviceMapping(DeviceMesh(_=1), [Replicated()])
    """
    if isinstance(target, DeviceMapping):
        return target
    if isinstance(target, DeviceMesh):
        return _replicated(target)
    if isinstance(target, DeviceRef):
        target = target.to_device()
    if isinstance(target, Device):
        return _replicated(DeviceMesh.single(target))
    raise TypeError(
        "device: must be a Device, DeviceRef, DeviceMesh or DeviceMapping, "
        f"got {target!r} of type {type(target).__name__}. Pass for example CPU()."
    )


@lru_cache(maxsize=256)
def _replicated(mesh: DeviceMesh) -> DeviceMapping:
    return DeviceMapping(mesh, (Replicated(),) * mesh.ndim)


def _restore(
    kind: type[DeviceMapping], mesh: DeviceMesh, placements: tuple[Placement, ...]
) -> DeviceMapping:
    """Makes a mapping of either class from the fields, which hold no spec."""
    made = object.__new__(kind)
    DeviceMapping.__init__(made, mesh, placements)
    return made


def _partition_spec(mapping: DeviceMapping, rank: int) -> PartitionSpec:
    names = mapping.mesh.axis_names
    if mapping.mesh.is_single:
        return PartitionSpec(*(None,) * rank)
    if mapping.is_unknown:
        return PartitionSpec(names, *(None,) * rank)
    return PartitionSpec(
        *(names[i] for i in mapping.partial_axes),
        *(mapping.spec_entry(axis) for axis in range(rank)),
    )


def _as_placements(placements: Sequence[Placement]) -> tuple[Placement, ...]:
    check_type(placements, Iterable, _PLACEMENTS_MUST, _PLACEMENTS_REMEDY)
    items = tuple(placements)
    for item in items:
        check_type(item, Placement, _PLACEMENTS_MUST, _PLACEMENTS_REMEDY)
    return items


def check_mesh(mesh: object) -> None:
    """Raises ``TypeError`` unless it is a mesh."""
    check_type(mesh, DeviceMesh, _MESH_MUST, _MESH_REMEDY)
