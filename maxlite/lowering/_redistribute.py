"""Moving a stored array from one set of placements to another.

A stored array is what a tensor's shards look like to JAX: one global array, with a
hidden leading axis for every mesh axis that holds a pending sum (Partial). Its slot
``i`` is what the devices at position ``i`` of that mesh axis hold.

- Between Replicated and Sharded a move is only a pin; XLA finds the collective.
- Partial to Replicated adds up the hidden axis: XLA makes it an all-reduce.
- Partial to Sharded is a real reduce-scatter. A pinned sum would become an all-reduce
  and a slice, which was measured to be 2.7 times slower on CPU devices.
- To Partial keeps the value in slot 0 and zeros elsewhere.

Where several mesh axes move at once, what shrinks the data comes first, so that less is
sent: slices, which are free, then reduce-scatters, then one sum of all that is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import jax
from jax import lax
from jax import numpy as jnp
from jax.sharding import PartitionSpec

from maxlite._op_table import Op, register
from maxlite.sharding import DeviceMapping, Partial, Replicated, Sharded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from maxlite.graph._spec import Spec
    from maxlite.sharding import DeviceMesh, Placement


def pin(array: jax.Array, mapping: DeviceMapping, rank: int) -> jax.Array:
    """Fixes where a stored array lies, inside a traced program."""
    return lax.with_sharding_constraint(array, mapping.named_sharding(rank))


def redistribute(
    array: jax.Array,
    mesh: DeviceMesh,
    source: Sequence[Placement],
    target: Sequence[Placement],
) -> jax.Array:
    """Moves a stored array between placements on one mesh, and pins the result.

    Args:
        array: Stored array: one hidden axis per Partial in ``source``, then the tensor
            axes.
        mesh: The mesh of both.
        source: One placement per mesh axis.
        target: One placement per mesh axis.

    Returns:
        The stored array under ``target``.
    """
    if tuple(source) == tuple(target) or mesh.num_devices == 1:
        return array
    moving = _Moving(array, mesh, list(source), array.ndim - _hidden(source))
    sums, wanted = _partial_axes(source), _partial_axes(target)
    ending = [axis for axis in sums if axis not in wanted]
    starting = [axis for axis in wanted if axis not in sums]
    if ending:
        moving.slice(target, ending)
        moving.scatter(target, ending)
        moving.add_up(ending)
    if starting:
        whole = (Replicated() if i in starting else p for i, p in enumerate(target))
        moving.pin(whole)
        moving.spread(starting)
    moving.pin(target)
    return moving.array


@dataclass(slots=True)
class _Moving:
    """A stored array on its way.

    Attributes:
        array: What it is now.
        mesh: Where it lies.
        placements: How it lies now, one per mesh axis.
        rank: Number of tensor axes.
    """

    array: jax.Array
    mesh: DeviceMesh
    placements: list[Placement]
    rank: int

    def pin(self, placements: Iterable[Placement]) -> None:
        """Moves to placements with the same pending sums."""
        self.placements = list(placements)
        mapping = DeviceMapping(self.mesh, tuple(self.placements))
        self.array = pin(self.array, mapping, self.rank)

    def slice(self, target: Sequence[Placement], ending: Sequence[int]) -> None:
        """Cuts what is whole and wanted in pieces, where each device has its piece.

        Args:
            target: What is wanted, one per mesh axis.
            ending: Mesh axes whose sums will be resolved. One that shall cut a tensor
                axis goes before the mesh axes that cut inside its pieces.
        """
        before = list(self.placements)
        for axis, wanted in enumerate(target):
            if isinstance(before[axis], Replicated) and isinstance(wanted, Sharded):
                outer = any(i < axis and target[i] == wanted for i in ending)
                inner = any(p == wanted for p in before[axis + 1 :])
                if not outer and not inner and self._divides(wanted, axis):
                    self.placements[axis] = wanted
        if self.placements != before:
            self.pin(self.placements)

    def scatter(self, target: Sequence[Placement], ending: Sequence[int]) -> None:
        """Resolves by reduce-scatter the sums that shall be sharded."""
        for axis in ending:
            wanted = target[axis]
            if isinstance(wanted, Sharded) and self._can_scatter(wanted, axis):
                self._scatter(wanted, axis)

    def _can_scatter(self, wanted: Sharded, axis: int) -> bool:
        """Whether all pieces are alike and not empty.

        JAX refuses to scatter size 0, and crashes on a symbolic size.
        """
        return (
            all(isinstance(size, int) and size for size in self.array.shape)
            and self.array.dtype != bool
            and self._divides(wanted, axis)
            and all(self._divides(p) for p in self.placements if isinstance(p, Sharded))
        )

    def _divides(self, wanted: Sharded, axis: int | None = None) -> bool:
        """Answers whether a tensor axis divides, over one mesh axis more if given."""
        size: Any = self.array.shape[_hidden(self.placements) + wanted.axis]
        ways = [self.mesh.mesh_shape[i] for i in self._owners(wanted)]
        if axis is not None:
            ways.append(self.mesh.mesh_shape[axis])
        return size % math.prod(ways) == 0

    def _owners(self, wanted: Sharded) -> list[int]:
        """Lists the mesh axes that shard a tensor axis now."""
        return [i for i, p in enumerate(self.placements) if p == wanted]

    def _scatter(self, wanted: Sharded, axis: int) -> None:
        name = self.mesh.axis_names[axis]
        slot = _hidden(self.placements[:axis])
        before = list(self._spec())
        # Pieces are scattered inside of the pieces that there are. Where the mesh has
        # it the other way round, the next pin puts them in order.
        owners = (*self._owners(wanted), axis)
        self.placements[axis] = wanted
        dimension = _hidden(self.placements) + wanted.axis
        after = list(self._spec())
        after[dimension] = tuple(self.mesh.axis_names[i] for i in owners)

        psum_scatter = cast("Any", lax.psum_scatter)

        def local(block: jax.Array) -> Any:
            block = lax.squeeze(block, (slot,))
            return psum_scatter(block, name, scatter_dimension=dimension, tiled=True)

        run: Any = jax.shard_map(
            local,
            mesh=self.mesh.to_jax(),
            in_specs=PartitionSpec(*before),
            out_specs=PartitionSpec(*after),
        )
        self.array = run(self.array)

    def _spec(self) -> PartitionSpec:
        mapping = DeviceMapping(self.mesh, tuple(self.placements))
        return mapping.partition_spec(self.rank)

    def add_up(self, ending: Sequence[int]) -> None:
        """Resolves what sums are left; of booleans, as numpy does, it takes the or.

        Their hidden axes are joined first, which makes it one all-reduce.
        """
        left = [i for i in ending if isinstance(self.placements[i], Partial)]
        if not left:
            return
        slots = [_hidden(self.placements[:i]) for i in left]
        array = jnp.moveaxis(self.array, slots, range(len(left)))
        terms = math.prod(array.shape[: len(left)])
        array = array.reshape((terms, *array.shape[len(left) :]))
        add = lax.bitwise_or if array.dtype == bool else lax.add
        # ``jnp.sum`` would widen bfloat16, and with it the traffic.
        self.array = lax.reduce(array, jnp.zeros((), array.dtype), add, (0,))
        for i in left:
            self.placements[i] = Replicated()

    def spread(self, starting: Sequence[int]) -> None:
        """Makes pending sums of whole values: the value in slot 0, zeros elsewhere."""
        zero = jnp.zeros((), self.array.dtype)
        for axis in starting:
            slot = _hidden(self.placements[:axis])
            widths = [(0, 0, 0)] * (self.array.ndim + 1)
            widths[slot] = (0, self.mesh.mesh_shape[axis] - 1, 0)
            self.array = lax.pad(lax.expand_dims(self.array, (slot,)), zero, widths)
            self.placements[axis] = Partial()


def _partial_axes(placements: Sequence[Placement]) -> list[int]:
    return [i for i, p in enumerate(placements) if isinstance(p, Partial)]


def _hidden(placements: Sequence[Placement]) -> int:
    """Counts the hidden axes; of the placements in front of a mesh axis, its slot."""
    return len(_partial_axes(placements))


def _unchanged(array: jax.Array, *, mapping: DeviceMapping) -> jax.Array:
    return array


def _infer(operand: Spec, *, mapping: DeviceMapping) -> tuple[Any, Any, Any]:
    mapping.check_shape(list(operand.shape))
    return operand.dtype, operand.shape, mapping


RESHARD = register(
    Op(
        name="reshard",
        fn=_unchanged,
        infer=_infer,
        params=("mapping",),
        places=True,
    )
)
"""The explicit move to a mapping. The evaluator moves the result of an op that places
to where its spec says."""
