"""What is written between the brackets of ``x[...]``, read once and checked.

A list is a tuple of indices, as in the reference. An array is one index: of integers,
which are positions, or of bools, which mark what is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from maxlite.dtype import INTEGERS, DType
from maxlite.functional._index import (
    BARE,
    LOOKUPS,
    Step,
    check_positions,
    cut_of,
    known_values,
)
from maxlite.functional._operands import Operand, number
from maxlite.graph import Dim
from maxlite.graph._shape import compact_dim, shape_text
from maxlite.graph._spec import spec
from maxlite.realization_context._default import graph_context
from maxlite.sharding import DeviceMapping
from maxlite.tensor._context import innermost, outside
from maxlite.tensor._data import check_array
from maxlite.tensor._tensor import Tensor, from_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.graph import DimLike


class Reading(NamedTuple):
    """An index that was read.

    Attributes:
        steps: What the index does, in the order of the axes.
        operands: One for each start, position or array among them. A mask may still be
            a numpy array.
        in_front: Whether the axes of arrays come first in the result; None without
            arrays.
    """

    steps: tuple[Step, ...]
    operands: tuple[Any, ...]
    in_front: bool | None


def read_index(
    who: str, x: Tensor, indices: Any, error: type[Exception] = ValueError
) -> Reading:
    """Reads an index into a tensor.

    Args:
        who: The op.
        x: What is indexed.
        indices: What stands between the brackets; a list is read as a tuple.
        error: Raised for what is out of range.

    Raises:
        ValueError: More indices than axes, two ellipses, a step of 0, a tensor of
            floats, a mask that does not fit; or ``error``.
        TypeError: Something that is no index.
    """
    if not x._spec.is_static:
        _settle(x)
    items = _expanded(who, x, indices)
    steps: list[Step] = []
    operands: list[Any] = []
    arrays = False
    axis = 0
    for item in items:
        if item is None:
            steps.append(("new",))
            continue
        if item is Ellipsis:
            continue
        step, operand = _read_item(who, x, axis, item, error)
        steps.append(step)
        operands += operand
        axis += 1
        if step[0] in LOOKUPS:
            arrays = True
            axis += step[1] - 1 if step[0] == "mask" else 0
    in_front = _are_apart(items) if arrays else None
    return Reading(tuple(steps), tuple(operands), in_front)


def _settle(x: Tensor) -> None:
    """Computes a pending tensor, outside of any context, since it names sizes."""
    if innermost() is None:
        x._stored()


def _expanded(who: str, x: Tensor, indices: Any) -> list[Any]:
    """Lists the indices, with bare slices behind an ellipsis."""
    many = isinstance(indices, (list, tuple))
    items: list[Any] = [*cast("Sequence[Any]", indices)] if many else [indices]
    named = ellipses = at = 0
    for i, item in enumerate(items):
        if type(item) is slice or type(item) is int:
            named += 1
        elif item is Ellipsis:
            ellipses, at = ellipses + 1, i
        elif item is not None:
            named += _width(item)
    if ellipses > 1:
        raise ValueError(
            f"{who}: an index must have at most one Ellipsis, got {ellipses}. "
            "Write ':' for the other axes."
        )
    if named > x.rank:
        raise ValueError(
            f"{who}: an index must have at most one entry per axis, got {named} for "
            f"shape {shape_text(x._spec.shape)}. Drop some, or unsqueeze."
        )
    if ellipses:
        items[at + 1 : at + 1] = [slice(None)] * (x.rank - named)
    return items


def _width(item: Any) -> int:
    """Tells how many axes an index takes: a mask takes as many as it has."""
    if not isinstance(item, (Tensor, np.ndarray)):
        return 1
    array = cast("Tensor | np.ndarray", item)
    is_mask = array.dtype in (DType.bool, np.bool_)
    return max(len(array.shape), 1) if is_mask else 1


def _are_apart(items: Sequence[Any]) -> bool:
    """Answers whether something stands between the positions, as numpy counts."""
    found = [
        i
        for i, item in enumerate(items)
        if not (item is None or item is Ellipsis or isinstance(item, slice))
    ]
    return found[-1] - found[0] >= len(found)


def _read_item(
    who: str, x: Tensor, axis: int, item: Any, error: type[Exception]
) -> tuple[Step, tuple[Any, ...]]:
    size = x._spec.shape[axis]
    if isinstance(item, slice):
        step = _read_slice(who, cast("slice[Any, Any, Any]", item))
    elif isinstance(item, Tensor):
        if item.rank or item.dtype not in INTEGERS:
            return _read_tensor(who, x, axis, item, error)
        values = known_values(item)
        if values is None:
            return ("dynamic",), (item,)
        step = ("int", values.item())
    elif isinstance(item, np.ndarray):
        array = cast("np.ndarray", item)
        if array.ndim:
            return _read_array(who, x, axis, array, error)
        step = ("int", _read_bound(who, array[()], "an index"))
    else:
        step = ("int", _read_bound(who, item, "an index"))
    cut = cut_of(who, size, step, iter(()), error)
    known = isinstance(cut.start, int) and isinstance(cut.length, int)
    if graph_context() is not None or step == BARE or not known:
        return step, ()
    if not cut.kept:
        return ("dynamic",), (_position(who, x, cut.start),)
    stride = -cut.step if cut.turned else cut.step
    return ("window", cut.length, stride), (_position(who, x, cut.start),)


def _read_slice(who: str, item: slice[Any, Any, Any]) -> Step:
    start, stop = (
        None if bound is None else _read_bound(who, bound, "a bound of a slice")
        for bound in (item.start, item.stop)
    )
    step = 1 if item.step is None else _read_bound(who, item.step, "a step")
    if not isinstance(step, int) or not step:
        raise ValueError(
            f"{who}: a step must be a number other than 0, got {step}. Gather the "
            "elements for another order."
        )
    return "slice", start, stop, step


def _read_bound(who: str, value: Any, what: str) -> int | Dim:
    if isinstance(value, (Dim, int, np.integer)) and not isinstance(value, bool):
        return compact_dim(cast("DimLike", value))
    if isinstance(value, Tensor):
        raise NotImplementedError(
            f"{who}: {what} must be known while recording, a Tensor is not supported. "
            "Gather a range, or index with a Tensor of positions."
        )
    raise TypeError(
        f"{who}: {what} must be an int, a Dim or None, got {type(value).__name__}. "
        "Indices are ints, slices, None, Ellipsis, and Tensors or numpy arrays of "
        "integers or bools."
    )


def _read_tensor(
    who: str, x: Tensor, axis: int, item: Tensor, error: type[Exception]
) -> tuple[Step, tuple[Any, ...]]:
    if item.dtype is DType.bool and item.rank:
        _settle(item)
        _check_mask(who, x, axis, item._spec.shape)
        return ("mask", item.rank), (item,)
    if item.dtype not in INTEGERS:
        raise ValueError(
            f"{who}: a Tensor as an index must be of integers, or a mask of bools with "
            f"an axis, got {item.dtype.name}{shape_text(item._spec.shape)}. Cast it, "
            "or compare it to make a mask."
        )
    values = known_values(item)
    if values is not None:
        check_positions(who, values, x._spec.shape[axis], error)
    return ("take",), (item,)


def _read_array(
    who: str, x: Tensor, axis: int, item: np.ndarray, error: type[Exception]
) -> tuple[Step, tuple[Any, ...]]:
    if item.dtype == np.bool_:
        _check_mask(who, x, axis, item.shape)
        return ("mask", item.ndim), (item,)
    check_array(who, item)
    if item.dtype.kind not in "iu":
        raise TypeError(
            f"{who}: an array as an index must be of integers or bools, got "
            f"{item.dtype}. Use array.astype(np.int64)."
        )
    check_positions(who, item, x._spec.shape[axis], error)
    with outside():
        whole = DeviceMapping.replicated(x.mesh)
        return ("take",), (from_numpy(item.astype(np.int64), whole),)


def _check_mask(who: str, x: Tensor, axis: int, mask: Sequence[int | Dim]) -> None:
    covered = x._spec.shape[axis : axis + len(mask)]
    if tuple(mask) != covered:
        raise ValueError(
            f"{who}: a mask must have the shape of the axes it stands for, "
            f"{shape_text(covered)}, got {shape_text(mask)}. Broadcast or rebind it."
        )


def _position(who: str, x: Tensor, value: int) -> Operand:
    whole = DeviceMapping.replicated(x.mesh)
    return number(who, value, spec(DType.int64, (), whole))
