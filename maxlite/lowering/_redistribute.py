"""Moving a stored array from one set of placements to another.

A stored array is what a tensor's shards look like to JAX: one global array, with a
hidden leading axis for every mesh axis that holds a pending sum (Partial). Its slot
``i`` is what the devices at position ``i`` of that mesh axis hold.

- Between Replicated and Sharded a move is only a pin; XLA finds the collective.
- Partial to Replicated adds up the hidden axis: XLA makes it an all-reduce.
- Partial to Sharded is a real reduce-scatter. A pinned sum would become an all-reduce
  and a slice, which was measured to be 2.7 times slower on CPU devices.
- To Partial keeps the value in slot 0 and zeros elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, register
from maxlite.sharding import DeviceMapping, Partial, Replicated, Sharded

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    rank = array.ndim - _hidden(source)
    current = list(source)
    for axis, wanted in enumerate(target):
        if isinstance(current[axis], Partial) and not isinstance(wanted, Partial):
            array = _resolve(array, mesh, current, axis, wanted, rank)
            current[axis] = wanted if isinstance(wanted, Sharded) else Replicated()
    for axis, wanted in enumerate(target):
        if isinstance(wanted, Partial) and not isinstance(current[axis], Partial):
            array = _spread(array, mesh, current, axis, rank)
            current[axis] = wanted
    return pin(array, DeviceMapping(mesh, tuple(target)), rank)


def _hidden(placements: Sequence[Placement]) -> int:
    return sum(isinstance(p, Partial) for p in placements)


def _slot_axis(placements: Sequence[Placement], axis: int) -> int:
    """Position of the hidden axis that mesh axis ``axis`` has or would have."""
    return _hidden(placements[:axis])


def _resolve(
    array: jax.Array,
    mesh: DeviceMesh,
    current: Sequence[Placement],
    axis: int,
    wanted: Placement,
    rank: int,
) -> jax.Array:
    slot = _slot_axis(current, axis)
    if isinstance(wanted, Sharded) and _can_scatter(array, mesh, current, axis, wanted):
        return _reduce_scatter(array, mesh, current, axis, wanted, rank)
    # ``lax.reduce`` keeps bfloat16 as it is; ``jnp.sum`` would widen the traffic.
    zero = jnp.zeros((), array.dtype)
    return lax.reduce(array, zero, lax.add, (slot,))


def _can_scatter(
    array: jax.Array,
    mesh: DeviceMesh,
    current: Sequence[Placement],
    axis: int,
    wanted: Sharded,
) -> bool:
    """Whether a reduce-scatter gives the right blocks.

    A mesh axis that is not the last one on its tensor axis would interleave them, and
    JAX crashes on a scatter of a symbolic size.
    """
    size: Any = array.shape[_hidden(current) + wanted.axis]
    if any(not isinstance(n, int) for n in array.shape):
        return False
    others = [
        i
        for i, p in enumerate(current)
        if i != axis and isinstance(p, Sharded) and p.axis == wanted.axis
    ]
    ways = mesh.mesh_shape[axis]
    for i in others:
        ways *= mesh.mesh_shape[i]
    return (
        all(i < axis for i in others)
        and size % ways == 0
        and _divides(array, mesh, current)
    )


def _divides(array: jax.Array, mesh: DeviceMesh, current: Sequence[Placement]) -> bool:
    hidden = _hidden(current)
    ways = [1] * (array.ndim - hidden)
    for i, placement in enumerate(current):
        if isinstance(placement, Sharded):
            ways[placement.axis] *= mesh.mesh_shape[i]
    return all(n % w == 0 for n, w in zip(array.shape[hidden:], ways, strict=True))


def _reduce_scatter(
    array: jax.Array,
    mesh: DeviceMesh,
    current: Sequence[Placement],
    axis: int,
    wanted: Sharded,
    rank: int,
) -> jax.Array:
    slot = _slot_axis(current, axis)
    after = [*current[:axis], wanted, *current[axis + 1 :]]
    dimension = _hidden(after) + wanted.axis

    psum_scatter = cast("Any", lax.psum_scatter)

    def local(block: jax.Array) -> Any:
        return psum_scatter(
            lax.squeeze(block, (slot,)),
            mesh.axis_names[axis],
            scatter_dimension=dimension,
            tiled=True,
        )

    scatter: Any = jax.shard_map(
        local,
        mesh=mesh.to_jax(),
        in_specs=DeviceMapping(mesh, tuple(current)).partition_spec(rank),
        out_specs=DeviceMapping(mesh, tuple(after)).partition_spec(rank),
    )
    return scatter(array)


def _spread(
    array: jax.Array,
    mesh: DeviceMesh,
    current: Sequence[Placement],
    axis: int,
    rank: int,
) -> jax.Array:
    slot = _slot_axis(current, axis)
    whole = [*current[:axis], Replicated(), *current[axis + 1 :]]
    array = pin(array, DeviceMapping(mesh, tuple(whole)), rank)
    return slot_zero(array, slot, mesh.mesh_shape[axis])


def slot_zero(array: jax.Array, slot: int, size: int) -> jax.Array:
    """Adds a hidden axis that holds the value in its first slot, zeros elsewhere."""
    widths = [(0, 0, 0)] * (array.ndim + 1)
    widths[slot] = (0, size - 1, 0)
    zero = jnp.zeros((), array.dtype)
    return lax.pad(lax.expand_dims(array, (slot,)), zero, widths)


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
        linear=True,
    )
)
"""The explicit move to a mapping. The evaluator moves the result of an op that places
to where its spec says."""
