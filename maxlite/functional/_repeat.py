"""Repeating elements, each next to itself, equally often or each as often as told.

Beyond the reference: a tensor of repeats needs no ``out_dim``, and may hold zeros.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import jax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import INTEGERS, DType
from maxlite.functional._dispatch import apply
from maxlite.functional._extrema import min as least
from maxlite.functional._infer import check_dtype, normal_axis
from maxlite.functional._measured import apply_measured
from maxlite.functional._operands import as_tensor
from maxlite.functional._reshape import flatten
from maxlite.graph._shape import compact_dim, shape_text
from maxlite.sharding.rules import all_replicated_rule, repeat_interleave_rule
from maxlite.tensor._context import innermost
from maxlite.tensor._tensor import Tensor

if TYPE_CHECKING:
    from maxlite.graph import Dim, DimLike
    from maxlite.graph._spec import Spec


def _repeat_interleave(x: jax.Array, *, repeats: int, axis: int) -> jax.Array:
    shape: tuple[Any, ...] = x.shape
    before, size, after = shape[:axis], shape[axis], shape[axis + 1 :]
    spread = jnp.expand_dims(x, axis + 1)
    spread = jnp.broadcast_to(spread, (*before, size, repeats, *after))
    return jnp.reshape(spread, (*before, size * repeats, *after))


def _infer_repeat_interleave(x: Spec, *, repeats: int, axis: int) -> tuple[DType, Any]:
    size = compact_dim(x.shape[axis] * repeats)
    return x.dtype, (*x.shape[:axis], size, *x.shape[axis + 1 :])


def _times(x: jax.Array, repeats: jax.Array, axis: int) -> jax.Array:
    return jnp.broadcast_to(repeats, (x.shape[axis],)).astype(jnp.int64)


def _count(x: jax.Array, repeats: jax.Array, *, axis: int) -> jax.Array:
    return jnp.sum(jnp.maximum(_times(x, repeats, axis), jnp.int64(0)))


def _infer_count(x: Spec, repeats: Spec, *, axis: int) -> tuple[DType, Any]:
    check_dtype("repeat_interleave", repeats, INTEGERS, ValueError, "repeats")
    size = x.shape[axis]
    if repeats.shape not in ((), (1,), (size,)):
        raise ValueError(
            "repeat_interleave: repeats must have one element, or one per position of "
            f"axis {axis} of {shape_text(x.shape)}, got {shape_text(repeats.shape)}. "
            "Repeat or slice them."
        )
    return DType.int64, ()


def _repeat_each(
    x: jax.Array, repeats: jax.Array, count: jax.Array, *, size: int, axis: int
) -> jax.Array:
    times = jnp.maximum(_times(x, repeats, axis), jnp.int64(0))
    ends = jnp.cumsum(times)
    # The source of each position is the first element whose copies end behind it.
    positions = jnp.arange(size, dtype=jnp.int64)
    sources = jnp.searchsorted(ends, positions, side="right")
    if not x.shape[axis]:
        return jnp.zeros((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype)
    return jnp.take(x, sources, axis, mode="clip")


def _infer_repeat_each(
    x: Spec, repeats: Spec, count: Spec, *, size: int | Dim, axis: int
) -> tuple[DType, Any]:
    return x.dtype, (*x.shape[:axis], size, *x.shape[axis + 1 :])


_REPEAT_INTERLEAVE = register(
    Op(
        name="repeat_interleave",
        fn=_repeat_interleave,
        infer=_infer_repeat_interleave,
        rule=repeat_interleave_rule,
        params=("repeats", "axis"),
    )
)
_COUNT_REPEATS = register(
    Op(
        name="repeat_count",
        fn=_count,
        infer=_infer_count,
        rule=all_replicated_rule,
        params=("axis",),
    )
)
_REPEAT_EACH = register(
    Op(
        name="repeat_each",
        fn=_repeat_each,
        infer=_infer_repeat_each,
        rule=all_replicated_rule,
        params=("size", "axis"),
        measured="size",
    )
)


@front
def repeat_interleave(
    x: Tensor,
    repeats: int | Tensor,
    axis: int | None = None,
    out_dim: DimLike | None = None,
) -> Tensor:
    """Repeats each element, next to itself.

    Args:
        x: Any shape.
        repeats: How often, 1 or more; or a tensor of integers that says for each
            position of the axis how often, 0 or more.
        axis: Along which axis; None flattens first.
        out_dim: Name of the size of the result for repeats that are a tensor, as in
            :func:`nonzero`; ignored for an int.

    Returns:
        Shape of ``x`` with another size at ``axis``.

    Raises:
        ValueError: ``repeats`` is below 1, or a tensor of another size or, in eager
            code, with negative elements; or there is no such axis.
        TypeError: ``repeats`` is something else.

    Source: max.experimental.functional.repeat_interleave.

    >>> repeat_interleave(Tensor([1.0, 2.0]), 2).to_numpy().tolist()
    [1.0, 1.0, 2.0, 2.0]
    >>> from maxlite.dtype import DType
    >>> often = Tensor([2, 0], dtype=DType.int64)
    >>> repeat_interleave(Tensor([1.0, 2.0]), often).to_numpy().tolist()
    [1.0, 1.0]
    """
    as_tensor("repeat_interleave", x)
    if not isinstance(repeats, Tensor):
        _check_repeats(repeats)
    if axis is None:
        x, axis = flatten(x), 0
    at = normal_axis("repeat_interleave", axis, x.rank)
    if isinstance(repeats, Tensor):
        _check_told(repeats)
        return apply_measured(
            _COUNT_REPEATS, _REPEAT_EACH, (x, repeats), out_dim, at, axis=at
        )
    return apply(_REPEAT_INTERLEAVE, (x,), operator.index(repeats), at)


def _check_repeats(repeats: Any) -> None:
    if isinstance(repeats, bool) or not hasattr(repeats, "__index__"):
        raise TypeError(
            "repeat_interleave: repeats must be an int or a Tensor, got "
            f"{type(repeats).__name__}."
        )
    if repeats < 1:
        raise ValueError(
            f"repeat_interleave: repeats must be 1 or more, got {repeats}. Slice to "
            "drop elements."
        )


def _check_told(repeats: Tensor) -> None:
    """Refuses negative repeats where the values are at hand."""
    if innermost() is not None or repeats.dtype not in INTEGERS:
        return
    if repeats.num_elements() and least(repeats, axis=None).item() < 0:
        raise ValueError(
            "repeat_interleave: repeats must be 0 or more, got a negative element. "
            "Clamp them."
        )
