"""Rows of ops that pick elements by position, or put them there.

An axis along which positions are looked up must be whole, all others may be cut.
Picking is linear in what is picked from, so a pending sum passes through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite.sharding.rules._notation import P, R, S, all_replicated, row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maxlite.sharding._assignment import AxisAssignment, Operand


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
    return [
        all_replicated(len(operands)),
        *(
            row(S(source), *whole, to=S(target))
            for source, target in _bare_axes(params["index"], len(x.shape))
        ),
        row(P, *whole, to=P),
    ]


def slice_update_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places ``x[...] = value``: as ``x[...]``, with the value cut as the slice is.

    Operands after the value are positions known only at run time, which must be whole.

    Params:
        index: As for a slice, without new axes.
    """
    x, _, *positions = operands
    whole = [R] * len(positions)
    return [
        all_replicated(len(operands)),
        *(
            row(S(source), S(target), *whole, to=S(source))
            for source, target in _bare_axes(params["index"], len(x.shape))
        ),
        row(P, P, *whole, to=P),
    ]


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


def _bare_axes(
    index: Sequence[tuple[Any, ...]], rank: int
) -> Iterator[tuple[int, int]]:
    """Yields the axes that an index leaves alone, as axis before and axis after."""
    source = target = 0
    for kind, *bounds in index:
        if kind == "slice" and _is_bare(*bounds):
            yield source, target
        source += kind != "new"
        target += kind not in ("int", "dynamic")
    for axis in range(source, rank):
        yield axis, axis - source + target


def _is_bare(start: object, stop: object, step: object) -> bool:
    return start is None and stop is None and step in (None, 1)
