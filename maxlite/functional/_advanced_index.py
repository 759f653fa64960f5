"""Indexing by arrays of positions, and by masks, in numpy's sense.

What slices keep is taken first; from it, or into it, elements are picked by positions
that broadcast against each other, numbers beside them included. A mask becomes the
positions of what it marks, one column per axis, so the size of the result depends on
its values. Only where one value is written to all that a mask marks, nothing has to be
counted: each element is chosen between the old one and the new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, register
from maxlite.functional._dispatch import apply, write
from maxlite.functional._gather import check_not_empty
from maxlite.functional._index import BARE, Cut, Step, cut_of, cuts_of
from maxlite.functional._index_masks import (
    known_positions,
    mask_beside,
    on_mesh_of,
    positions,
    roomy,
    sole_mask,
    with_positions,
    without_mask,
)
from maxlite.functional._index_parts import check_value, put_part, take_part
from maxlite.functional._infer import broadcast_shapes
from maxlite.graph._shape import compact_dim
from maxlite.sharding.rules import index_rule, index_update_rule, mask_update_rule
from maxlite.sharding.rules._index_axes import IndexAxes, index_axes
from maxlite.sharding.rules._indexing import mask_axis, position_shapes
from maxlite.tensor._context import innermost
from maxlite.tensor._tensor import Tensor, from_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.dtype import DType
    from maxlite.functional._index_reading import Reading
    from maxlite.functional._operands import Operand
    from maxlite.graph import Dim
    from maxlite.graph._shape import CompactShape
    from maxlite.graph._spec import Spec

    Index = tuple[Step, ...]


def _index(
    x: jax.Array, *operands: jax.Array, index: Index, in_front: bool
) -> jax.Array:
    axes = index_axes(index, x.ndim, in_front=in_front)
    cuts, found = _looked_up("x[...]", x.shape, index, operands, ValueError)
    found = _broadcast(found)
    check_not_empty("x[...]", tuple(x.shape[axis] for axis in axes.picked), found[0])
    part = x if _all_bare(axes) else take_part(x, cuts)
    picked = part.at[_key(axes, found, x.ndim)].get(mode="fill")
    width = found[0].ndim
    picked = _moved(picked, _where_jax_puts(axes), _old_axes_before(axes), width)
    new = [i for i, source in enumerate(axes.kept) if source is None]
    return lax.expand_dims(picked, [i + width * (i >= axes.block) for i in new])


def _infer_index(
    x: Spec, *operands: Spec, index: Index, in_front: bool
) -> tuple[DType, Any]:
    shape = _picked_shape(x, operands, index, in_front, "x[...]", ValueError)
    return x.dtype, shape


def _index_update(
    x: jax.Array,
    value: jax.Array,
    *operands: jax.Array,
    index: Index,
    in_front: bool,
) -> jax.Array:
    axes = index_axes(index, x.ndim, in_front=in_front)
    cuts, found = _looked_up("x[...] =", x.shape, index, operands, IndexError)
    found = _broadcast(found)
    part = x if _all_bare(axes) else take_part(x, cuts)
    sizes = [part.shape[axis] for axis in axes.kept if axis is not None]
    block = found[0].shape
    shape = (*sizes[: axes.block], *block, *sizes[axes.block :])
    value = jnp.broadcast_to(value, shape)
    value = _moved(value, axes.block, _where_jax_puts(axes), len(block))
    part = part.at[_key(axes, found, x.ndim)].set(value, mode="drop")
    return part if _all_bare(axes) else put_part(x, part, cuts)


def _infer_index_update(
    x: Spec, value: Spec, *operands: Spec, index: Index, in_front: bool
) -> tuple[DType, Any]:
    shape = _picked_shape(x, operands, index, in_front, "x[...] =", IndexError)
    check_value(x, value, shape)
    return x.dtype, x.shape


def _mask_update(
    x: jax.Array,
    value: jax.Array,
    mask: jax.Array,
    *positions: jax.Array,
    index: Index,
    in_front: bool,
) -> jax.Array:
    axes = index_axes(index, x.ndim, in_front=in_front)
    cuts = _unmasked_cuts(x.shape, index, positions)
    first = mask_axis(index)
    covered = range(first, first + mask.ndim)
    marked = lax.expand_dims(mask, [i for i in range(x.ndim) if i not in covered])
    value = lax.expand_dims(value, range(len(axes.kept) + 1 - value.ndim))
    value = lax.expand_dims(lax.squeeze(value, [axes.block]), axes.picked)
    if _all_bare(axes) and len(axes.picked) == mask.ndim:
        return jnp.where(marked, value, x)
    return put_part(x, jnp.where(marked, value, take_part(x, cuts)), cuts)


def _infer_mask_update(
    x: Spec,
    value: Spec,
    mask: Spec,
    *positions: Spec,
    index: Index,
    in_front: bool,
) -> tuple[DType, Any]:
    axes = index_axes(index, x.rank, in_front=in_front)
    cuts = _unmasked_cuts(x.shape, index, ())
    sizes = _kept_sizes(axes, cuts)
    check_value(x, value, (*sizes[: axes.block], 1, *sizes[axes.block :]))
    return x.dtype, x.shape


_INDEX = register(
    Op(
        name="index",
        fn=_index,
        infer=_infer_index,
        rule=index_rule,
        params=("index", "in_front"),
    )
)
_INDEX_UPDATE = register(
    Op(
        name="index_update",
        fn=_index_update,
        infer=_infer_index_update,
        rule=index_update_rule,
        params=("index", "in_front"),
    )
)
_MASK_UPDATE = register(
    Op(
        name="mask_update",
        fn=_mask_update,
        infer=_infer_mask_update,
        rule=mask_update_rule,
        params=("index", "in_front"),
    )
)


def read_picked(x: Tensor, reading: Reading) -> Tensor:
    """Reads ``x[...]`` where the index holds arrays."""
    mask = sole_mask(reading)
    at_once = innermost() is None and _is_on_one_host(x)
    found = known_positions(mask) if mask is not None and at_once else None
    if found is None:
        reading = with_positions(reading, lambda mask: positions(mask, x))
        return apply(_INDEX, (x, *reading.operands), reading.steps, reading.in_front)
    reading = with_positions(reading, lambda _: on_mesh_of(x, roomy(found)))
    picked = apply(_INDEX, (x, *reading.operands), reading.steps, reading.in_front)
    axes = index_axes(reading.steps, x.rank, in_front=bool(reading.in_front))
    return _shortened(picked, axes.block, len(found))


def write_picked(x: Tensor, value: Operand, reading: Reading) -> None:
    """Writes ``x[...] = value`` where the index holds arrays."""
    axes = index_axes(reading.steps, x.rank, in_front=bool(reading.in_front))
    mask, size = sole_mask(reading), _size_at(value, axes)
    if mask is not None and size == 1:
        marked = mask_beside(x, mask, mask_axis(reading.steps))
        op, operands = _MASK_UPDATE, (marked, *without_mask(reading))
    else:
        size = None if mask is None else size
        reading = with_positions(reading, lambda mask: positions(mask, x, size))
        op, operands = _INDEX_UPDATE, reading.operands
    write(op, (x, value, *operands), reading.steps, reading.in_front)


def _size_at(value: Operand, axes: IndexAxes) -> int | Dim:
    """Gives the size of a value along the axis that a mask makes; 1 without it."""
    shape = value._spec.shape
    axis = axes.block - (len(axes.kept) + 1 - len(shape))
    return shape[axis] if 0 <= axis < len(shape) else 1


def _is_on_one_host(x: Tensor) -> bool:
    return x.mesh.is_single and x.mesh.devices[0].is_host


def _shortened(x: Tensor, axis: int, size: int) -> Tensor:
    if x._spec.shape[axis] == size:
        return x
    return from_numpy(x.to_numpy()[(*[slice(None)] * axis, slice(size))], x.mapping)


def _looked_up(
    who: str,
    shape: tuple[Any, ...],
    index: Index,
    operands: Sequence[Any],
    error: type[Exception],
) -> tuple[list[Cut], list[Any]]:
    """Splits an index into what slices keep and what is looked up.

    Args:
        who: The op.
        shape: Sizes of what is indexed.
        index: The steps.
        operands: One for each step that has one; none where only shapes matter.
        error: Raised for what is out of range.

    Returns:
        A cut per axis, those that are looked up whole, and the positions on these.
    """
    waiting = iter(operands)
    cuts: list[Cut] = []
    found: list[Any] = []
    for step in index:
        kind = step[0]
        size = shape[len(cuts)] if kind != "new" else None
        if kind in ("slice", "window"):
            cuts.append(cut_of(who, size, step, waiting, error))
        elif kind == "int":
            found.append(cut_of(who, size, step, waiting, error).start)
            cuts.append(Cut(0, size, 1))
        elif kind == "columns":
            columns = next(waiting, None)
            found += () if columns is None else tuple(jnp.moveaxis(columns, -1, 0))
            cuts += [Cut(0, size, 1) for size in shape[len(cuts) :][: step[1]]]
        elif kind != "new":
            found.append(next(waiting, 0))
            cuts.append(Cut(0, size, 1))
    cuts += [Cut(0, size, 1) for size in shape[len(cuts) :]]
    return cuts, found


def _broadcast(found: Sequence[Any]) -> list[jax.Array]:
    return jnp.broadcast_arrays(*(jnp.asarray(p, jnp.int64) for p in found))


def _picked_shape(
    x: Spec,
    operands: Sequence[Spec],
    index: Index,
    in_front: bool,
    who: str,
    error: type[Exception],
) -> CompactShape:
    cuts, _ = _looked_up(who, x.shape, index, (), error)
    axes = index_axes(index, x.rank, in_front=in_front)
    shapes = position_shapes(index, [operand.shape for operand in operands])
    sizes = _kept_sizes(axes, cuts)
    block = broadcast_shapes(who, *map(tuple, shapes))
    return (*sizes[: axes.block], *block, *sizes[axes.block :])


def _kept_sizes(axes: IndexAxes, cuts: Sequence[Cut]) -> CompactShape:
    return tuple(
        1 if axis is None else compact_dim(cuts[axis].length) for axis in axes.kept
    )


def _unmasked_cuts(
    shape: tuple[Any, ...], index: Index, positions: Sequence[Any]
) -> list[Cut]:
    """Works out what an index keeps when its mask keeps everything."""
    steps: list[Step] = []
    for step in index:
        steps += [BARE] * step[1] if step[0] == "mask" else [step]
    return cuts_of("x[...] =", shape, steps, positions, IndexError)


def _all_bare(axes: IndexAxes) -> bool:
    return all(axis is None or axis in axes.bare for axis in axes.kept)


def _key(axes: IndexAxes, found: Sequence[jax.Array], rank: int) -> tuple[Any, ...]:
    """Writes positions as JAX reads them."""
    key: list[Any] = [slice(None)] * rank
    for axis, position in zip(axes.picked, found, strict=True):
        key[axis] = position
    return tuple(key)


def _where_jax_puts(axes: IndexAxes) -> int:
    """Tells where JAX puts the block, which sees neither new axes nor an ellipsis."""
    picked = axes.picked
    return 0 if picked[-1] - picked[0] >= len(picked) else picked[0]


def _old_axes_before(axes: IndexAxes) -> int:
    return sum(axis is not None for axis in axes.kept[: axes.block])


def _moved(x: jax.Array, source: int, target: int, width: int) -> jax.Array:
    """Moves a block of axes."""
    if source == target:
        return x
    old, new = (range(at, at + width) for at in (source, target))
    return jnp.moveaxis(x, old, new)
