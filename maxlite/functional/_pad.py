"""Ops that repeat what a tensor holds, or put something else around or over it."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, cast

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import whole_number
from maxlite.functional._operands import Operand, as_operand, as_tensor
from maxlite.graph import Dim
from maxlite.graph._shape import compact_shape, shape_text
from maxlite.sharding.rules import (
    band_part_rule,
    pad_rule,
    tile_rule,
)
from maxlite.tensor._tensor import Tensor

if TYPE_CHECKING:
    from maxlite.dtype import DType
    from maxlite.graph import ShapeLike
    from maxlite.graph._shape import CompactShape
    from maxlite.graph._spec import Spec

    Mode = Literal["constant", "reflect", "edge"]
    Paddings = tuple[int, ...]


def _tile(x: jax.Array, *, repeats: tuple[Any, ...]) -> jax.Array:
    pairs = list(zip(repeats, x.shape, strict=True))
    spread = jnp.expand_dims(x, tuple(range(0, 2 * x.ndim, 2)))
    spread = jnp.broadcast_to(spread, [size for pair in pairs for size in pair])
    return jnp.reshape(spread, [times * size for times, size in pairs])


def _infer_tile(x: Spec, *, repeats: CompactShape) -> tuple[DType, Any]:
    pairs = zip(x.shape, repeats, strict=True)
    return x.dtype, compact_shape(size * times for size, times in pairs)


def _pad(
    x: jax.Array, *filler: jax.Array, paddings: Paddings, mode: Mode, value: int | None
) -> jax.Array:
    widths = list(zip(paddings[::2], paddings[1::2], strict=True))
    if mode == "constant":
        put = filler[0] if filler else jnp.zeros((), x.dtype)
        return lax.pad(x, put, [(*width, 0) for width in widths])
    _check_extendable(x.shape, paddings, mode)
    return jnp.pad(x, widths, mode) if widths else x


def _infer_pad(
    x: Spec, *filler: Spec, paddings: Paddings, mode: Mode, value: int | None
) -> tuple[DType, Any]:
    _check_extendable(x.shape, paddings, mode)
    grown = map(operator.add, paddings[::2], paddings[1::2])
    return x.dtype, compact_shape(map(operator.add, x.shape, grown))


def _check_extendable(shape: tuple[Any, ...], paddings: Paddings, mode: Mode) -> None:
    """Refuses to continue what is empty."""
    for axis, size in enumerate(shape):
        empty = isinstance(size, int) and size == 0
        if empty and mode != "constant" and any(paddings[2 * axis : 2 * axis + 2]):
            raise ValueError(
                f"pad: an axis of size 0 has no values to {mode}, got shape "
                f"{shape_text(shape)}. Use mode='constant'."
            )


def _band_part(
    x: jax.Array, *, num_lower: int, num_upper: int, exclude: bool
) -> jax.Array:
    rows, columns = x.shape[-2:]
    below = lax.iota(jnp.int64, rows)[:, None] - lax.iota(jnp.int64, columns)[None, :]
    inside = jnp.ones((rows, columns), jnp.bool_)
    if num_lower >= 0:
        inside &= below <= jnp.int64(num_lower)
    if num_upper >= 0:
        inside &= below >= jnp.int64(-num_upper)
    return jnp.where(inside ^ exclude, x, jnp.zeros((), x.dtype))


def _infer_band_part(
    x: Spec, *, num_lower: int, num_upper: int, exclude: bool
) -> tuple[DType, Any]:
    return x.dtype, x.shape


_TILE = register(
    Op(
        name="tile",
        fn=_tile,
        infer=_infer_tile,
        rule=tile_rule,
        params=("repeats",),
    )
)
_PAD = register(
    Op(
        name="pad",
        fn=_pad,
        infer=_infer_pad,
        rule=pad_rule,
        params=("paddings", "mode", "value"),
    )
)
_BAND_PART = register(
    Op(
        name="band_part",
        fn=_band_part,
        infer=_infer_band_part,
        rule=band_part_rule,
        params=("num_lower", "num_upper", "exclude"),
    )
)


@front
def tile(x: Tensor, repeats: ShapeLike) -> Tensor:
    """Repeats the whole tensor along its axes.

    Args:
        x: Any shape.
        repeats: How often along each axis, 1 or more; may be symbolic.

    Returns:
        Each size times its number of repeats.

    Raises:
        ValueError: There is not one number per axis, or one is below 1.

    Source: max.experimental.functional.tile.

    >>> tile(Tensor([1.0, 2.0]), [2]).to_numpy().tolist()
    [1.0, 2.0, 1.0, 2.0]
    """
    as_tensor("tile", x)
    times = compact_shape(repeats)
    if len(times) != x.rank or any(isinstance(n, int) and n < 1 for n in times):
        raise ValueError(
            f"tile: repeats must be one number of 1 or more per axis, got "
            f"{shape_text(times)} for shape {shape_text(x._spec.shape)}. Unsqueeze x "
            "to repeat it along more axes."
        )
    return apply(_TILE, (x,), times)


@front
def pad(
    input: Tensor,
    paddings: Iterable[int],
    mode: Mode = "constant",
    value: Tensor | bool | int | float = 0,
) -> Tensor:
    """Puts elements before and after along the axes.

    Args:
        input: Any shape.
        paddings: How many, 0 or more: before and after along axis 0, then along axis
            1, and so on, in one flat list.
        mode: ``"constant"`` puts ``value``; ``"edge"`` repeats the outermost element;
            ``"reflect"`` mirrors at it, and again at the other end if need be.
        value: A number that the dtype can hold, or a tensor of rank 0.

    Returns:
        Each size plus what is put before and after. A pending sum stays one under a
        constant 0 and is an error under any other.

    Raises:
        ValueError: A wrong number of paddings, a negative one, another mode, an empty
            axis to be continued, or a value that does not fit.
        TypeError: ``paddings`` is no list of ints, or ``value`` no number.

    Source: max.experimental.functional.pad.

    >>> pad(Tensor([1.0, 2.0]), [1, 2]).to_numpy().tolist()
    [0.0, 1.0, 2.0, 0.0, 0.0]
    """
    as_tensor("pad", input, "input")
    widths = _paddings(paddings)
    if len(widths) != 2 * input.rank or any(width < 0 for width in widths):
        raise ValueError(
            "pad: paddings must be two numbers of 0 or more per axis, got "
            f"{list(widths)} for shape {shape_text(input._spec.shape)}. List (before, "
            "after) of axis 0, then of axis 1, in one flat list."
        )
    if mode not in ("constant", "reflect", "edge"):
        raise ValueError(
            f"pad: mode must be 'constant', 'reflect' or 'edge', got {mode!r}."
        )
    filler = _filler(input, value) if mode == "constant" else ()
    return apply(_PAD, (input, *filler), widths, mode, None if filler else 0)


@front
def band_part(
    x: Tensor,
    num_lower: int | None = None,
    num_upper: int | None = None,
    exclude: bool = False,
) -> Tensor:
    """Keeps a band around the diagonal of matrices, and makes the rest zero.

    Args:
        x: Shape ``[*batch, m, n]``.
        num_lower: Diagonals kept below the main one; None or -1 for all.
        num_upper: Diagonals kept above the main one; None or -1 for all.
        exclude: Makes the band zero and keeps the rest instead.

    Raises:
        TypeError: A number is no int.
        ValueError: ``x`` has no matrices, or a number is below -1 or not below the
            size of its axis.

    Source: max.experimental.functional.band_part.

    >>> band_part(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0, 0).to_numpy().tolist()
    [[1.0, 0.0], [0.0, 4.0]]
    """
    as_tensor("band_part", x)
    if x.rank < 2:
        raise ValueError(
            "band_part: x must have at least two axes, got shape "
            f"{shape_text(x._spec.shape)}. Unsqueeze it first."
        )
    rows, columns = x._spec.shape[-2:]
    lower = _band_limit("num_lower", num_lower, rows)
    upper = _band_limit("num_upper", num_upper, columns)
    return apply(_BAND_PART, (x,), lower, upper, bool(exclude))


def _paddings(paddings: Any) -> Paddings:
    if not isinstance(paddings, Iterable):
        raise TypeError(
            f"pad: paddings must be a list of ints, got {type(paddings).__name__}. "
            "List (before, after) of each axis, in one flat list."
        )
    widths = cast("Iterable[Any]", paddings)
    return tuple(whole_number("pad", width, "a padding") for width in widths)


def _filler(x: Tensor, value: Any) -> tuple[Operand, ...]:
    """Gives the operand that is padded with; a constant zero needs none."""
    operand = as_operand("pad", value, x)
    if isinstance(operand, Tensor):
        if operand.rank or operand.dtype is not x.dtype:
            raise ValueError(
                f"pad: value must have rank 0 and dtype {x.dtype.name}, got "
                f"{operand.dtype.name}{shape_text(operand._spec.shape)}. Index or cast "
                "it."
            )
        return (operand,)
    # -0.0 equals 0, but is another number.
    return () if str(value) in ("0", "0.0", "False") else (operand,)


def _band_limit(name: str, limit: int | None, size: int | Dim) -> int:
    if limit is None:
        return -1
    limit = whole_number("band_part", limit, name)
    if limit < -1 or (isinstance(size, int) and 0 < size <= limit):
        raise ValueError(
            f"band_part: {name} must be -1 or more and below the size of the axis, got "
            f"{limit} for size {size}. Pass None for no limit."
        )
    return limit
