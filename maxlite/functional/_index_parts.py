"""Taking and putting the part of an array that slices and positions keep.

A part has every axis of the array; what an index drops has size 1 in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite.graph._shape import shape_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.functional._index import Cut
    from maxlite.graph._shape import CompactShape
    from maxlite.graph._spec import Spec


def take_part(x: jax.Array, cuts: Sequence[Cut]) -> jax.Array:
    """Takes what the cuts keep."""
    part = _block(x, cuts)
    if any(cut.step != 1 for cut in cuts):
        strides = [cut.step for cut in cuts]
        part = lax.slice(part, (0,) * len(cuts), part.shape, strides)
    return _turned(part, cuts)


def put_part(x: jax.Array, part: jax.Array, cuts: Sequence[Cut]) -> jax.Array:
    """Gives an array in which what the cuts keep is replaced.

    A position that comes as an operand and is out of range replaces nothing.
    """
    part = _turned(part, cuts)
    if all(cut.step == 1 and cut.bounded for cut in cuts):
        return _written(x, part, cuts)
    # Between the elements written, and where a position is out of range, the old
    # ones stay.
    gaps = [(0, 0, cut.step - 1) for cut in cuts]
    written = lax.pad(jnp.ones(part.shape, jnp.bool_), jnp.bool_(False), gaps)
    for cut, size in zip(cuts, x.shape, strict=True):
        if not cut.bounded:
            limit = jnp.asarray(size, jnp.int64)
            written &= (cut.start >= 0) & (cut.start < limit)
    spread = lax.pad(part, jnp.zeros((), x.dtype), gaps)
    return _written(x, jnp.where(written, spread, _block(x, cuts)), cuts)


def check_value(x: Spec, value: Spec, wanted: CompactShape) -> None:
    """Refuses to write what has another dtype, or does not broadcast to the slice.

    Raises:
        ValueError: The value does not fit.
    """
    missing = len(wanted) - value.rank
    fits = missing >= 0 and all(
        size in (1, full)
        for size, full in zip(value.shape, wanted[missing:], strict=True)
    )
    if not fits or value.dtype is not x.dtype:
        raise ValueError(
            "x[...] =: the value must have the dtype of the slice, and its shape or "
            f"one that broadcasts to it, {x.dtype.name}{shape_text(wanted)}, got "
            f"{value.dtype.name}{shape_text(value.shape)}. Cast or reshape it."
        )


def _turned(part: jax.Array, cuts: Sequence[Cut]) -> jax.Array:
    axes = [axis for axis, cut in enumerate(cuts) if cut.turned]
    return lax.rev(part, axes) if axes else part


def _starts(cuts: Sequence[Cut]) -> list[jax.Array]:
    return [jnp.asarray(cut.start, jnp.int64) for cut in cuts]


def _block(x: jax.Array, cuts: Sequence[Cut]) -> jax.Array:
    """Takes the smallest block that holds everything that the cuts keep."""
    spans: list[Any] = [cut.span for cut in cuts]
    if any(cut.moving for cut in cuts):
        return lax.dynamic_slice(x, _starts(cuts), spans, allow_negative_indices=False)
    starts = [cut.start for cut in cuts]
    stops = [start + span for start, span in zip(starts, spans, strict=True)]
    return lax.slice(x, starts, stops)


def _written(x: jax.Array, block: jax.Array, cuts: Sequence[Cut]) -> jax.Array:
    starts = _starts(cuts)
    return lax.dynamic_update_slice(x, block, starts, allow_negative_indices=False)
