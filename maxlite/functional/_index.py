"""What is written between the brackets of ``x[...]``, read once and checked.

An index becomes a tuple of steps, one per axis from the left and one per new axis:

- ``("new",)`` adds an axis of size 1;
- ``("slice", start, stop, step)`` keeps a range of an axis, ``("int", i)`` drops the
  axis; bounds may be symbolic, ``None`` is an open end;
- ``("window", length, step)`` and ``("dynamic",)`` are the same with a start, or a
  position, that comes as an operand.

Numbers outside of a trace become operands: ``x[0]`` and ``x[1]``, or the batches that a
loop slices off, are then one program, compiled once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import jax
import numpy as np
from jax import numpy as jnp

from maxlite.dtype import INTEGERS, DType
from maxlite.functional._dispatch import Operand, number
from maxlite.functional._infer import shape_text
from maxlite.graph import Dim
from maxlite.graph._dim import StaticDim
from maxlite.graph._shape import compact_dim
from maxlite.graph._spec import spec
from maxlite.realization_context._eager import graph_context
from maxlite.sharding import DeviceMapping, Partial, Unknown
from maxlite.tensor._context import innermost
from maxlite.tensor._tensor import Tensor

if TYPE_CHECKING:
    from maxlite.graph import DimLike
    from maxlite.graph._shape import CompactShape

Step: TypeAlias = "tuple[Any, ...]"
"""What an index does at one place."""


@dataclass(frozen=True, slots=True)
class Cut:
    """What an index keeps of one axis.

    Attributes:
        start: First element: a number, a size, or a scalar array.
        length: How many elements.
        step: Distance between them.
        kept: Whether the axis is in the result.
        moving: Whether ``start`` comes as an operand.
        bounded: Whether the axis is known to hold all of it.
    """

    start: Any
    length: Any
    step: int
    kept: bool = True
    moving: bool = False
    bounded: bool = True

    @property
    def span(self) -> Any:
        """How many elements lie between the first and the last one, both included."""
        if self.step == 1 or self.length == 0:
            return self.length
        return (self.length - 1) * self.step + 1


def read_index(
    who: str, x: Tensor, indices: Any, error: type[Exception] = ValueError
) -> tuple[tuple[Step, ...], tuple[Operand, ...]]:
    """Reads an index into a tensor.

    Args:
        who: The op.
        x: What is indexed.
        indices: What stands between the brackets; a list or an array is read as a
            tuple.
        error: Raised for what is out of range.

    Returns:
        The steps, and an operand for each start or position among them.

    Raises:
        ValueError: More indices than axes, two ellipses, a step below 1, a tensor that
            is no whole number; or ``error``.
        TypeError: Something that is no index.
    """
    steps: list[Step] = []
    operands: list[Operand] = []
    axis = 0
    for item in _expanded(who, x, indices):
        if item is None:
            steps.append(("new",))
            continue
        step, operand = _read_item(who, x, axis, item, error)
        steps.append(step)
        operands += operand
        axis += 1
    return tuple(steps), tuple(operands)


def cuts_of(
    who: str,
    shape: tuple[Any, ...],
    index: Sequence[Step],
    positions: Sequence[Any] = (),
    error: type[Exception] = ValueError,
) -> list[Cut]:
    """Works out what an index keeps of each axis.

    Args:
        who: The op.
        shape: Sizes of what is indexed.
        index: The steps.
        positions: The operands that came with them; zeros where only shapes matter.
        error: Raised for what is out of range.

    Returns:
        One cut per axis, those not named in the index included.
    """
    waiting: Iterator[Any] = iter(positions)
    steps = [step for step in index if step[0] != "new"]
    steps += [("slice", None, None, 1)] * (len(shape) - len(steps))
    return [
        _cut(who, size, step, waiting, error)
        for size, step in zip(shape, steps, strict=True)
    ]


def sliced_shape(index: Sequence[Step], cuts: Sequence[Cut]) -> CompactShape:
    """Gives the shape of a slice from the cuts of all axes."""
    sizes: list[int | Dim] = []
    left = iter(cuts)
    for kind, *_ in index:
        if kind == "new":
            sizes.append(1)
        elif (cut := next(left)).kept:
            sizes.append(compact_dim(cut.length))
    return (*sizes, *(compact_dim(cut.length) for cut in left))


def known_values(t: Tensor) -> np.ndarray | None:
    """Reads a tensor of indices where that costs next to nothing.

    That is outside of any context, on devices whose memory is the host's.
    """
    pending_sum = any(isinstance(p, (Partial, Unknown)) for p in t.placements)
    if innermost() is not None or pending_sum or not t.mesh.devices[0].is_host:
        return None
    return t.to_numpy()


def wide_positions(indices: jax.Array) -> jax.Array:
    """Makes positions signed, and wide enough for the axis that they count on.

    JAX counts from the end in the dtype of the indices, where the size may not fit.
    """
    narrow = indices.dtype.itemsize < 4 or jnp.issubdtype(
        indices.dtype, jnp.unsignedinteger
    )
    return indices.astype(jnp.int64) if narrow else indices


def _expanded(who: str, x: Tensor, indices: Any) -> list[Any]:
    """Lists the indices, with bare slices for an ellipsis."""
    if isinstance(indices, np.ndarray):
        indices = indices.tolist()
    many = isinstance(indices, (list, tuple))
    items: list[Any] = [*cast("Sequence[Any]", indices)] if many else [indices]
    ellipses = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        raise ValueError(
            f"{who}: an index must have at most one Ellipsis, got {len(ellipses)}. "
            "Write ':' for the other axes."
        )
    named = sum(item is not None and item is not Ellipsis for item in items)
    if named > x.rank:
        raise ValueError(
            f"{who}: an index must have at most one entry per axis, got {named} for "
            f"shape {shape_text(x._spec.shape)}. Drop some, or unsqueeze."
        )
    for at in ellipses:
        items[at : at + 1] = [slice(None)] * (x.rank - named)
    return items


def _read_item(
    who: str, x: Tensor, axis: int, item: Any, error: type[Exception]
) -> tuple[Step, tuple[Operand, ...]]:
    size = x._spec.shape[axis]
    if isinstance(item, Tensor):
        _check_position(who, item)
        values = known_values(item)
        if values is None:
            return ("dynamic",), (item,)
        item = values.item()
    if isinstance(item, slice):
        step = _read_slice(who, cast("slice[Any, Any, Any]", item))
    else:
        step = ("int", _read_bound(who, item, "an index"))
    cut = _cut(who, size, step, iter(()), error)
    known = isinstance(cut.start, int) and isinstance(cut.length, int)
    if graph_context() is not None or step == _BARE or not known:
        return step, ()
    moving = ("window", cut.length, cut.step) if cut.kept else ("dynamic",)
    return moving, (_position(who, x, cut.start),)


_BARE: Step = ("slice", None, None, 1)


def _read_slice(who: str, item: slice[Any, Any, Any]) -> Step:
    start, stop = (
        None if bound is None else _read_bound(who, bound, "a bound of a slice")
        for bound in (item.start, item.stop)
    )
    step = 1 if item.step is None else _read_bound(who, item.step, "a step")
    if not isinstance(step, int) or step < 1:
        raise ValueError(
            f"{who}: a step must be a number of 1 or more, got {step}. Gather the "
            "elements for another order."
        )
    return "slice", start, stop, step


def _read_bound(who: str, value: Any, what: str) -> int | Dim:
    if isinstance(value, (Dim, int, np.integer)) and not isinstance(value, bool):
        return compact_dim(cast("DimLike", value))
    if isinstance(value, Tensor):
        raise NotImplementedError(
            f"{who}: {what} must be known while recording, a Tensor is not supported. "
            "Gather a range, or index with a Tensor of rank 0."
        )
    raise TypeError(
        f"{who}: {what} must be an int, a Dim or None, got {type(value).__name__}. "
        "Indices are ints, slices, None, Ellipsis and Tensors of rank 0."
    )


def _check_position(who: str, t: Tensor) -> None:
    if t.rank or t.dtype not in INTEGERS:
        raise ValueError(
            f"{who}: a Tensor as an index must be an integer of rank 0, got "
            f"{t.dtype.name}{shape_text(t._spec.shape)}. Use gather for several "
            "positions."
        )


def _position(who: str, x: Tensor, value: int) -> Operand:
    whole = DeviceMapping.replicated(x.mesh)
    return number(who, value, spec(DType.int64, (), whole))


def _cut(
    who: str, size: Any, step: Step, waiting: Iterator[Any], error: type[Exception]
) -> Cut:
    match step:
        case ("slice", start, stop, stride):
            return _cut_slice(who, size, (start, stop, stride), error)
        case ("window", length, stride):
            return Cut(next(waiting, 0), length, stride, moving=True)
        case ("int", i):
            at = i + size if isinstance(i, int) and i < 0 else i
            if _exceeds(0, at) or _exceeds(at + 1, size):
                raise error(
                    f"{who}: an index must be at least -{size} and below {size}, the "
                    f"size of its axis, got {i}."
                )
            return Cut(at, 1, 1, kept=False)
        case _:
            if size == 0:
                raise error(f"{who}: an axis of size 0 has no element to index.")
            at = _from_front(next(waiting, 0), size)
            return Cut(at, 1, 1, kept=False, moving=True, bounded=False)


def _cut_slice(
    who: str, size: Any, bounds: tuple[Any, Any, int], error: type[Exception]
) -> Cut:
    start, stop, step = bounds
    first = 0 if start is None else start
    first = first + size if isinstance(first, int) and first < 0 else first
    last = size if stop is None else stop
    last = last + size if isinstance(last, int) and last < 0 else last
    if _exceeds(0, first) or _exceeds(first, last) or _exceeds(last, size):
        shown = ":".join("" if bound is None else str(bound) for bound in (start, stop))
        raise error(
            f"{who}: a slice must have 0 <= start <= stop <= {size}, got [{shown}]. "
            "Bounds are not clipped."
        )
    length = last - first
    return Cut(first, length if step == 1 else (length + (step - 1)) // step, step)


def _exceeds(larger: Any, smaller: Any) -> bool:
    """Answers whether one bound is known to be above another."""
    gap = larger - smaller
    if isinstance(gap, StaticDim):
        gap = gap.dim
    return isinstance(gap, int) and gap > 0


def _from_front(position: Any, size: Any) -> Any:
    if not isinstance(position, jax.Array):
        return position
    wide = position.astype(jnp.int64)
    return jnp.where(wide < 0, wide + jnp.asarray(size, jnp.int64), wide)
