"""Collectives: what the devices along some mesh axes hold, joined or added up.

They work on the shards as they are and do not look at the placements, unlike ``to``,
which keeps the global value: gathering a replicated tensor repeats it, and adding up
the shards of a sharded one adds different pieces. Like ``to``, they add up in the dtype
of the shards, so that no more is sent.

Differs from the reference: a bool is added up as the or of all, negative tensor axes
count from the end everywhere, and where a size does not divide, only what keeps the
global value works: gathering what is sharded, adding up pending sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import normal_axis
from maxlite.functional._on_shards import global_shape, local_shape, on_shards
from maxlite.functional._operands import as_tensor
from maxlite.functional._transfer import move
from maxlite.graph._spec import Spec, spec
from maxlite.lowering._uneven import is_uneven
from maxlite.sharding import DeviceMapping, DeviceMesh, Replicated, Sharded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maxlite.dtype import DType
    from maxlite.tensor._tensor import Tensor

    MeshAxes = int | str | Sequence[int | str]


def _row(
    name: str, local: Callable[..., jax.Array], size: Callable[[Any, int], Any]
) -> Op:
    """Registers a collective.

    Args:
        name: Its name.
        local: ``local(piece, names, axis)``: what a device holds afterwards, from what
            it holds, the names of the mesh axes, and a tensor axis or None.
        size: The size of the tensor axis afterwards, from the one before and the number
            of devices.
    """

    def fn(
        x: jax.Array,
        *,
        source: DeviceMapping,
        target: DeviceMapping,
        axes: tuple[int, ...],
        axis: int | None,
    ) -> jax.Array:
        names = tuple(source.mesh.axis_names[i] for i in axes)
        rank = x.ndim - len(source.hidden_sizes)

        def on_device(piece: jax.Array) -> list[jax.Array]:
            return [local(piece, names, axis)]

        places = ([(source, rank)], [(target, rank)])
        return on_shards(on_device, source.mesh, *places)(x)[0]

    def infer(
        x: Spec,
        *,
        source: DeviceMapping,
        target: DeviceMapping,
        axes: tuple[int, ...],
        axis: int | None,
    ) -> list[tuple[DType, Any, DeviceMapping]]:
        shape = list(local_shape(name, x))
        ways = source.mesh.axis_size(axes)
        if axis is not None:
            shape[axis] = size(shape[axis], ways)
        return [(x.dtype, global_shape(tuple(shape), target, [x]), target)]

    return register(
        Op(name=name, fn=fn, infer=infer, params=("source", "target", "axes", "axis"))
    )


def _divided(size: Any, ways: int) -> Any:
    if isinstance(size, int) and size % ways:
        raise ValueError(
            f"reduce_scatter: the size must divide evenly, got {size} on each of "
            f"{ways} devices. Pad it to a multiple, or use allreduce_sum."
        )
    return size // ways


def _gathered(piece: jax.Array, names: tuple[str, ...], axis: int | None) -> jax.Array:
    assert axis is not None
    if not piece.shape[axis]:
        return piece  # XLA refuses to gather nothing
    gather = cast("Callable[..., jax.Array]", lax.all_gather)
    return gather(piece, names, axis=axis, tiled=True)


def _added(piece: jax.Array, names: tuple[str, ...], axis: int | None) -> jax.Array:
    add = cast("Callable[..., jax.Array]", lax.psum)
    if piece.dtype == bool:
        return add(piece.astype(jnp.int32), names) > 0
    return add(piece, names)


def _scattered(piece: jax.Array, names: tuple[str, ...], axis: int | None) -> jax.Array:
    assert axis is not None
    # A named size is a number only now.
    size = _divided(piece.shape[axis], lax.axis_size(names))
    if piece.dtype == bool or not all(piece.shape):
        # JAX refuses to scatter these.
        first = lax.axis_index(names) * size
        return lax.dynamic_slice_in_dim(_added(piece, names, axis), first, size, axis)
    scatter = cast("Callable[..., jax.Array]", lax.psum_scatter)
    return scatter(piece, names, scatter_dimension=axis, tiled=True)


_ALLGATHER = _row("allgather", _gathered, lambda size, ways: size * ways)
_ALLREDUCE_SUM = _row("allreduce_sum", _added, lambda size, ways: size)
_REDUCE_SCATTER = _row("reduce_scatter", _scattered, _divided)


@front
def allgather(t: Tensor, tensor_axis: int = 0, mesh_axis: MeshAxes = 0) -> Tensor:
    """Joins the shards along mesh axes, so that each device holds all of them.

    Args:
        t: Its shards are joined as they are, whatever the placement says: those of a
            replicated tensor repeat it.
        tensor_axis: The axis along which they are joined; a negative one counts from
            the end.
        mesh_axis: A name or an index, or several; several count in mesh order.

    Returns:
        Replicated over these mesh axes; the other placements stay. ``t`` itself when it
        lies on one device, where mesh axes have no names.

    Raises:
        TypeError: ``t`` is no Tensor.
        ValueError: No mesh axis has that name, or a sharded size does not divide.
        IndexError: No mesh axis has that index, or there is no such tensor axis.

    Source: max.experimental.functional.allgather.

    >>> from maxlite.driver import CPU
    >>> from maxlite.tensor import Tensor
    >>> mesh = DeviceMesh((CPU(), CPU()), (2,), ("x",))
    >>> x = Tensor([1.0, 2.0]).to(DeviceMapping(mesh, (Sharded(0),)))
    >>> allgather(x).placements
    (Replicated(),)
    """
    as_tensor("allgather", t, "t")
    if not t.is_distributed:
        return t
    axes = _mesh_axes("allgather", t, mesh_axis)
    axis = normal_axis("allgather", tensor_axis, t.rank, IndexError)
    target = _with(t.mapping, axes, Replicated())
    if t.mapping.sharding_axes(axis) == axes and _is_uneven(t, target):
        return move(t, target)
    return apply(_ALLGATHER, (t,), t.mapping, target, axes, axis)


@front
def allreduce_sum(t: Tensor, mesh_axis: MeshAxes = 0) -> Tensor:
    """Adds up the shards along mesh axes, so that each device holds the sum.

    Args:
        t: Its shards are added as they are, whatever the placement says.
        mesh_axis: A name or an index, or several.

    Returns:
        Replicated over these mesh axes; the other placements stay. ``t`` itself when it
        lies on one device, where mesh axes have no names.

    Raises:
        TypeError: ``t`` is no Tensor.
        ValueError: No mesh axis has that name, or a sharded size does not divide.
        IndexError: No mesh axis has that index.

    Source: max.experimental.functional.allreduce_sum.

    >>> from maxlite.driver import CPU
    >>> from maxlite.tensor import Tensor
    >>> mesh = DeviceMesh((CPU(), CPU()), (2,), ("x",))
    >>> allreduce_sum(Tensor([1.0, 2.0]).to(mesh)).to_numpy().tolist()
    [2.0, 4.0]
    """
    as_tensor("allreduce_sum", t, "t")
    if not t.is_distributed:
        return t
    axes = _mesh_axes("allreduce_sum", t, mesh_axis)
    target = _with(t.mapping, axes, Replicated())
    if set(axes) <= set(t.mapping.partial_axes) and _is_uneven(t, target):
        return move(t, target)
    return apply(_ALLREDUCE_SUM, (t,), t.mapping, target, axes, None)


@front
def reduce_scatter(t: Tensor, scatter_axis: int = 0, mesh_axis: MeshAxes = 0) -> Tensor:
    """Adds up the shards along mesh axes, and leaves each device a piece of the sum.

    Args:
        t: Its shards are added as they are, whatever the placement says.
        scatter_axis: The tensor axis along which the sum is cut; a negative one counts
            from the end.
        mesh_axis: A name or an index, or several; several count in mesh order.

    Returns:
        Sharded along ``scatter_axis`` over these mesh axes; the other placements stay.
        ``t`` itself when it lies on one device, where mesh axes have no names.

    Raises:
        TypeError: ``t`` is no Tensor.
        ValueError: No mesh axis has that name, or a size does not divide.
        IndexError: No mesh axis has that index, or there is no such tensor axis.

    Source: max.experimental.functional.reduce_scatter.

    >>> from maxlite.driver import CPU
    >>> from maxlite.tensor import Tensor
    >>> mesh = DeviceMesh((CPU(), CPU()), (2,), ("x",))
    >>> reduce_scatter(Tensor([1.0, 2.0]).to(mesh)).placements
    (Sharded(axis=0),)
    """
    as_tensor("reduce_scatter", t, "t")
    if not t.is_distributed:
        return t
    axes = _mesh_axes("reduce_scatter", t, mesh_axis)
    axis = normal_axis("reduce_scatter", scatter_axis, t.rank, IndexError)
    target = _with(t.mapping, axes, Sharded(axis))
    if set(axes) <= set(t.mapping.partial_axes) and _is_uneven(t, target):
        return move(t, target)
    return apply(_REDUCE_SCATTER, (t,), t.mapping, target, axes, axis)


@front
def distributed_broadcast(t: Tensor, mesh: DeviceMesh) -> Tensor:
    """Copies a tensor of one device to every device of a mesh.

    Args:
        t: On one device.
        mesh: Where the copies go.

    Returns:
        Replicated over ``mesh``.

    Raises:
        TypeError: ``t`` is no Tensor, or ``mesh`` no mesh.
        RuntimeError: ``t`` is distributed.

    Source: max.experimental.functional.distributed_broadcast.

    >>> from maxlite.driver import CPU
    >>> from maxlite.tensor import Tensor
    >>> mesh = DeviceMesh((CPU(), CPU()), (2,), ("x",))
    >>> distributed_broadcast(Tensor([1.0]), mesh).num_shards
    2
    """
    as_tensor("distributed_broadcast", t, "t")
    if not isinstance(mesh, DeviceMesh):
        raise TypeError(
            "distributed_broadcast: mesh must be a DeviceMesh, got "
            f"{type(mesh).__name__}. Use to(target) for devices and mappings."
        )
    if t.is_distributed:
        raise RuntimeError(
            "distributed_broadcast: t must lie on one device, got "
            f"{t.mapping!r}. Use to(mesh) to move a distributed tensor."
        )
    return move(t, DeviceMapping.replicated(mesh))


def _is_uneven(t: Tensor, target: DeviceMapping) -> bool:
    """Whether shards have several sizes, before or after a move that keeps the value.

    Then JAX cannot join or add up the shards themselves; the move is the same.
    """
    after = spec(t.dtype, t._spec.shape, target)
    return t._spec.is_static and (is_uneven(t._spec) or is_uneven(after))


def _mesh_axes(who: str, t: Tensor, mesh_axis: MeshAxes) -> tuple[int, ...]:
    """Finds mesh axes, in mesh order."""
    axes = tuple(sorted(set(t.mesh.axis_indices(mesh_axis))))
    if not axes:
        raise ValueError(
            f"{who}: mesh_axis must name at least one axis of {t.mesh!r}, got none. "
            f"Pass one of {list(t.mesh.axis_names)}."
        )
    return axes


def _with(
    mapping: DeviceMapping, axes: Sequence[int], placement: Replicated | Sharded
) -> DeviceMapping:
    placements = (
        placement if i in axes else held for i, held in enumerate(mapping.placements)
    )
    return DeviceMapping(mapping.mesh, tuple(placements))
