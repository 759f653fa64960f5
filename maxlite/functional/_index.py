"""The steps that an index consists of, and what they keep of each axis.

An index is a tuple of steps, in the order of the axes:

- ``("new",)`` adds an axis of size 1;
- ``("slice", start, stop, step)`` keeps a range of an axis, ``("int", i)`` drops the
  axis; bounds may be symbolic, ``None`` is an open end;
- ``("window", length, step)`` and ``("dynamic",)`` are the same where the first element
  in memory, or the position, comes as an operand;
- ``("take",)`` looks positions up that come as an operand of any rank,
  ``("columns", k)`` the same on ``k`` axes at once, with one column for each along the
  last axis of the operand;
- ``("mask", k)`` keeps what an operand of bools marks on ``k`` axes.

Numbers outside of a trace become operands: ``x[0]`` and ``x[1]``, or the batches that a
loop slices off, are then one program, compiled once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import numpy as np
from jax import numpy as jnp

from maxlite.graph._dim import StaticDim
from maxlite.graph._shape import compact_dim
from maxlite.sharding import Partial, Unknown
from maxlite.tensor._context import innermost

if TYPE_CHECKING:
    from maxlite.graph import Dim
    from maxlite.graph._shape import CompactShape
    from maxlite.tensor._tensor import Tensor

Step: TypeAlias = "tuple[Any, ...]"
"""What an index does at one place."""

BARE: Step = ("slice", None, None, 1)
"""Keeps all of an axis."""

LOOKUPS = frozenset({"take", "columns", "mask"})
"""Kinds of steps that read positions off arrays, as numpy's advanced indices."""


@dataclass(frozen=True, slots=True)
class Cut:
    """What an index keeps of one axis.

    Attributes:
        start: First element in memory: a number, a size, or a scalar array.
        length: How many elements.
        step: Distance between them in memory.
        kept: Whether the axis is in the result.
        moving: Whether ``start`` comes as an operand.
        bounded: Whether the axis is known to hold all of it.
        turned: Whether the result has the last one first.
    """

    start: Any
    length: Any
    step: int
    kept: bool = True
    moving: bool = False
    bounded: bool = True
    turned: bool = False

    @property
    def span(self) -> Any:
        """How many elements lie between the first and the last one, both included."""
        if self.step == 1 or self.length == 0:
            return self.length
        return (self.length - 1) * self.step + 1


def cuts_of(
    who: str,
    shape: tuple[Any, ...],
    index: Sequence[Step],
    positions: Sequence[Any] = (),
    error: type[Exception] = ValueError,
) -> list[Cut]:
    """Works out what an index without arrays keeps of each axis.

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
    steps += [BARE] * (len(shape) - len(steps))
    return [
        cut_of(who, size, step, waiting, error)
        for size, step in zip(shape, steps, strict=True)
    ]


def cut_of(
    who: str, size: Any, step: Step, waiting: Iterator[Any], error: type[Exception]
) -> Cut:
    """Works out what one step keeps of its axis; see :func:`cuts_of`."""
    match step:
        case ("slice", start, stop, stride):
            return _cut_slice(who, size, (start, stop, stride), error)
        case ("window", length, stride):
            start = next(waiting, 0)
            return Cut(start, length, abs(stride), moving=True, turned=stride < 0)
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


def check_positions(
    who: str, values: np.ndarray, size: int | Dim, error: type[Exception] = ValueError
) -> None:
    """Refuses positions that are out of range, where the size is a number."""
    if not values.size or not isinstance(size, int):
        return
    least, most = int(values.min()), int(values.max())
    if not (-size <= least and most < size):
        raise error(
            f"{who}: indices must be from -{size} to {size} - 1, got {least} to "
            f"{most}. Clamp them, or use mod."
        )


def wide_positions(indices: jax.Array) -> jax.Array:
    """Makes positions signed, and wide enough for the axis that they count on.

    JAX counts from the end in the dtype of the indices, where the size may not fit.
    """
    narrow = indices.dtype.itemsize < 4 or jnp.issubdtype(
        indices.dtype, jnp.unsignedinteger
    )
    return indices.astype(jnp.int64) if narrow else indices


def _cut_slice(
    who: str, size: Any, bounds: tuple[Any, Any, int], error: type[Exception]
) -> Cut:
    start, stop, step = bounds
    forwards = step > 0
    first = _bound(start, size, 0 if forwards else size - 1)
    last = _bound(stop, size, size if forwards else -1)
    # Backwards, what is kept lies between stop and start, start included.
    low, high = (first, last) if forwards else (last + 1, first + 1)
    if _exceeds(0, low) or _exceeds(low, high) or _exceeds(high, size):
        shown = ":".join("" if bound is None else str(bound) for bound in (start, stop))
        ruled = "0 <= start <= stop <= " if forwards else "-1 <= stop <= start < "
        raise error(
            f"{who}: a slice must have {ruled}{size}, got [{shown}]. "
            "Bounds are not clipped."
        )
    length, stride = high - low, abs(step)
    if stride != 1:
        length = (length + (stride - 1)) // stride
    if not forwards and stride != 1 and length != 0:
        low = high - 1 - (length - 1) * stride
    if type(length) is int and length <= 1:
        stride = 1  # that of the user may be too large for XLA
    return Cut(low, length, stride, turned=not forwards)


def _bound(bound: Any, size: Any, default: Any) -> Any:
    if bound is None:
        return default
    return bound + size if isinstance(bound, int) and bound < 0 else bound


def _exceeds(larger: Any, smaller: Any) -> bool:
    """Answers whether one bound is known to be above another."""
    if type(larger) is int and type(smaller) is int:
        return larger > smaller
    gap = larger - smaller
    if isinstance(gap, StaticDim):
        gap = gap.dim
    return isinstance(gap, int) and gap > 0


def _from_front(position: Any, size: Any) -> Any:
    if not isinstance(position, jax.Array):
        return position
    wide = position.astype(jnp.int64)
    return jnp.where(wide < 0, wide + jnp.asarray(size, jnp.int64), wide)
