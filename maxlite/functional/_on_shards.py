"""Running a function on what each device holds, whatever the placements say.

A stored array has hidden axes in front where it holds pending sums or unknown shards,
one slot per device (see ``sharding/_mappings.py``). On a device they have size 1, and
the functions here do not see them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
from jax.sharding import PartitionSpec

from maxlite.graph import Dim, SymbolicDim
from maxlite.lowering import check_divisible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from maxlite.graph._shape import CompactShape
    from maxlite.graph._spec import Spec
    from maxlite.sharding import DeviceMapping, DeviceMesh

    Place = tuple[DeviceMapping, int] | None
    """Mapping and rank of a tensor; None for one that is the same on every device."""


def local_shape(who: str, spec: Spec) -> CompactShape:
    """Gives the shape that each device holds.

    Raises:
        ValueError: A sharded size does not divide.
    """
    if spec.is_static:
        check_divisible(who, spec, {})
    return tuple(
        size if ways == 1 else size // ways
        for size, ways in zip(spec.shape, _ways(spec.mapping, spec.rank), strict=True)
    )


def global_shape(
    local: CompactShape, mapping: DeviceMapping, operands: Iterable[Spec]
) -> CompactShape:
    """Gives the shape of the tensor of which each device holds so much.

    Args:
        local: What a device holds.
        mapping: How the pieces lie.
        operands: What the pieces were made from; their named sizes are known to
            divide, so that ``n // 2 * 2`` is ``n``.

    Raises:
        ValueError: The mapping shards an axis that is not there.
    """
    mapping.check_shape(local)
    sizes = [
        size * ways
        for size, ways in zip(local, _ways(mapping, len(local)), strict=True)
    ]
    for spec in operands:
        for whole, ways in zip(spec.shape, _ways(spec.mapping, spec.rank), strict=True):
            if isinstance(whole, SymbolicDim) and ways > 1:
                sizes = [_undivided(size, whole, ways) for size in sizes]
    return tuple(sizes)


def on_shards(
    fn: Callable[..., Sequence[jax.Array]],
    mesh: DeviceMesh,
    sources: Sequence[Place],
    targets: Sequence[Place],
) -> Callable[..., tuple[jax.Array, ...]]:
    """Makes a function on stored arrays of one on the pieces of a device.

    Args:
        fn: From one piece per operand to one per result.
        mesh: The devices.
        sources: One per operand.
        targets: One per result.
    """

    def local(*blocks: jax.Array) -> tuple[jax.Array, ...]:
        pieces = [
            block.reshape(block.shape[_hidden(place) :])
            for block, place in zip(blocks, sources, strict=True)
        ]
        return tuple(
            piece.reshape((*(1,) * _hidden(place), *piece.shape))
            for piece, place in zip(fn(*pieces), targets, strict=True)
        )

    run: Any = jax.shard_map(
        local,
        mesh=mesh.to_jax(),
        in_specs=tuple(map(_partition_spec, sources)),
        out_specs=tuple(map(_partition_spec, targets)),
        check_vma=False,
    )
    return run


def _ways(mapping: DeviceMapping, rank: int) -> list[int]:
    """Tells over how many devices each tensor axis is cut."""
    sizes = mapping.mesh.mesh_shape
    return [
        math.prod(sizes[i] for i in mapping.sharding_axes(axis)) for axis in range(rank)
    ]


def _hidden(place: Place) -> int:
    return len(place[0].hidden_sizes) if place else 0


def _partition_spec(place: Place) -> PartitionSpec:
    return place[0].partition_spec(place[1]) if place else PartitionSpec()


def _undivided(size: int | Dim, whole: SymbolicDim, ways: int) -> int | Dim:
    """Simplifies a size in which a named one appears divided, and which divides."""
    if isinstance(size, int):
        return size
    part = "_part"
    total: int | Dim = 0
    for atoms, coefficient in size.substitute({whole.name: Dim(part) * ways}).terms:
        shrink = ways ** atoms.count(part)
        if coefficient % shrink or not all(isinstance(atom, str) for atom in atoms):
            return size
        names = (whole.name if atom == part else str(atom) for atom in atoms)
        total = total + math.prod(map(Dim, names), start=Dim(coefficient // shrink))
    return total
