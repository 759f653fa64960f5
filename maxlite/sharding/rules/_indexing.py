"""Rows of ops that pick elements by position, or put them there.

An axis along which positions are looked up must be whole, all others may be cut.
Picking is linear in what is picked from, so a pending sum passes through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite.sharding.rules._elementwise import broadcast_rows
from maxlite.sharding.rules._index_axes import IndexAxes, index_axes
from maxlite.sharding.rules._notation import P, R, S, all_replicated, row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.graph import Dim
    from maxlite.sharding._assignment import AxisAssignment, Operand
    from maxlite.sharding._placements import Placement


def slice_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places ``x[...]``: an axis may be cut where the index is a bare ``:``.

    Operands after ``x`` are positions known only at run time, which must be whole.

    Params:
        index: One step per axis of ``x`` from the left, and ``("new",)`` for each new
            axis; ``("int", i)`` and ``("dynamic",)`` drop their axis,
            ``("slice", start, stop, step)`` and ``("window", length, step)`` keep it.
            Axes not named are bare.
    """
    x, *positions = operands
    whole = [R] * len(positions)
    axes = index_axes(params["index"], len(x.shape))
    return [
        all_replicated(len(operands)),
        *(row(S(source), *whole, to=S(target)) for source, target in axes.targets()),
        row(P, *whole, to=P),
    ]


def slice_update_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places ``x[...] = value``: as ``x[...]``, with the value cut as the slice is.

    Where the value is broadcast, because it lacks the axis or has size 1, it must be
    whole. Operands after the value are positions known only at run time, which must be
    whole.

    Params:
        index: As for a slice, without new axes.
    """
    x, value, *positions = operands
    axes = index_axes(params["index"], len(x.shape))
    return _update_rows(x, value, [R] * len(positions), axes, block=())


def index_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places ``x[...]`` with tensors of positions: they may be cut, or a bare ``:``.

    Positions broadcast, so each may be cut along an axis that it has. Those along the
    last axis of which there is one column per axis of ``x`` must be whole there.

    Params:
        index: As for a slice; ``("take",)`` and ``("columns", k)`` look positions up on
            one axis and on ``k``.
        in_front: Whether the axes of the positions come first in the result.
    """
    x, *positions = operands
    axes = index_axes(params["index"], len(x.shape), in_front=params["in_front"])
    shapes = position_shapes(params["index"], [p.shape for p in positions])
    whole = [R] * len(positions)
    width = max(map(len, shapes))
    return [
        all_replicated(len(operands)),
        *(
            row(S(source), *whole, to=S(target))
            for source, target in axes.targets(width)
        ),
        *(
            row(R, *made.needed_inputs, to=S(axes.block + _cut_axis(made)))
            for made in broadcast_rows(shapes)
        ),
        row(P, *whole, to=P),
    ]


def index_update_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places ``x[...] = value`` with tensors of positions, which must be whole.

    Two devices could write to the same element otherwise.

    Params:
        index: As for reading, without new axes.
        in_front: Whether the axes of the positions come first in what is written.
    """
    x, value, *positions = operands
    axes = index_axes(params["index"], len(x.shape), in_front=params["in_front"])
    shapes = position_shapes(params["index"], [p.shape for p in positions])
    block = (1,) * max(map(len, shapes))
    return _update_rows(x, value, [R] * len(positions), axes, block)


def mask_update_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places ``x[mask] = value`` with one value for all that the mask marks.

    ``x`` and the mask may be cut alike along an axis that the mask covers.

    Params:
        index: As for reading, with one ``("mask", k)``, whose operand comes first.
        in_front: Whether the axis of what is marked comes first in what is written.
    """
    x, value, mask, *positions = operands
    axes = index_axes(params["index"], len(x.shape), in_front=params["in_front"])
    first = mask_axis(params["index"])
    whole = [R] * len(positions)
    everything, *cuts, pending = _update_rows(x, value, [R, *whole], axes, block=(1,))
    along_mask = [
        row(S(first + i), R, S(i), *whole, to=S(first + i))
        for i in range(len(mask.shape))
    ]
    return [everything, *sorted([*cuts, *along_mask], key=_cut_axis), pending]


def gather_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places gather: the axes of the indices take the place of the gathered one.

    Params:
        axis: The tensor axis of the input that the indices are positions on.
    """
    x, indices = (len(operand.shape) for operand in operands)
    axis = params["axis"]
    return [
        all_replicated(2),
        *(
            row(S(i), R, to=S(i if i < axis else i + indices - 1))
            for i in range(x)
            if i != axis
        ),
        *(row(R, S(i), to=S(axis + i)) for i in range(indices)),
        row(P, R, to=P),
    ]


def gather_nd_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places gather_nd: only the batch axes, which the operands share, may be cut.

    Params:
        batch_dims: How many leading axes are batch axes.
    """
    return [
        all_replicated(2),
        *(row(S(i), S(i), to=S(i)) for i in range(params["batch_dims"])),
        row(P, R, to=P),
    ]


def scatter_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places scatter and its kin: all operands cut along one other axis, or whole.

    Params:
        axis: The tensor axis of the input that the indices are positions on.
    """
    return [
        all_replicated(len(operands)),
        *(
            row(*[S(i)] * len(operands), to=S(i))
            for i in range(len(operands[0].shape))
            if i != params["axis"]
        ),
    ]


def position_shapes(
    index: Sequence[tuple[Any, ...]], shapes: Sequence[Sequence[int | Dim]]
) -> list[Sequence[int | Dim]]:
    """Gives the shapes that broadcast, one per operand of an index.

    Args:
        index: The steps.
        shapes: One for each step that has an operand.
    """
    steps = filter(has_operand, index)
    return [
        shape[:-1] if step[0] == "columns" else shape
        for step, shape in zip(steps, shapes, strict=True)
    ]


def has_operand(step: tuple[Any, ...]) -> bool:
    """Answers whether a step of an index needs something known only at run time."""
    return step[0] not in ("new", "slice", "int")


def mask_axis(index: Sequence[tuple[Any, ...]]) -> int:
    """Finds the first axis that the mask in an index covers."""
    kinds = [kind for kind, *_ in index if kind != "new"]
    return kinds.index("mask")


def _update_rows(
    x: Operand,
    value: Operand,
    positions: Sequence[Placement],
    axes: IndexAxes,
    block: tuple[int, ...],
) -> list[AxisAssignment]:
    """Lists the rows of a write: all whole, along bare axes, and of pending sums."""
    sizes = [1 if axis is None else x.shape[axis] for axis in axes.kept]
    slice_shape = (*sizes[: axes.block], *block, *sizes[axes.block :])
    sources = {target: source for source, target in axes.targets(len(block))}
    return [
        all_replicated(2 + len(positions)),
        *(
            row(S(sources[target]), lies, *positions, to=S(sources[target]))
            for made in broadcast_rows([slice_shape, value.shape])
            for target, (cut, lies) in [(_cut_axis(made), made.needed_inputs)]
            if target in sources and cut == S(target)
        ),
        row(P, P, *positions, to=P),
    ]


def _cut_axis(made: AxisAssignment) -> int:
    axis = made.outputs[0].localized_axis()
    assert axis is not None
    return axis
