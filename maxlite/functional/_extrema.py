"""The largest and the smallest of a tensor axis, and where they are.

NaN wins, and of equal elements the first is found. As in other reductions the axis
stays with size 1, and ``axis=None`` flattens first.

Beyond the reference: ``max`` and ``min`` take several axes, and ``keepdims=False``
removes what is reduced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import front
from maxlite.dtype import ALL, DType
from maxlite.functional._binary import ELEMENTWISE_MAX, ELEMENTWISE_MIN
from maxlite.functional._dispatch import apply
from maxlite.functional._operands import as_operands, as_tensor
from maxlite.functional._reduction_row import reduce, reduce_one, reduction_row

if TYPE_CHECKING:
    from maxlite.functional._reduction_row import Axes
    from maxlite.tensor._tensor import Tensor


def _max(x: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    return jnp.max(x, axes, keepdims=True)


def _min(x: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    return jnp.min(x, axes, keepdims=True)


def _argmax(x: jax.Array, axes: tuple[int]) -> jax.Array:
    return jnp.expand_dims(lax.argmax(x, axes[0], jnp.int64), axes)


def _argmin(x: jax.Array, axes: tuple[int]) -> jax.Array:
    return jnp.expand_dims(lax.argmin(x, axes[0], jnp.int64), axes)


_MAX = reduction_row("max", _max, allowed=ALL, starts=False)
_MIN = reduction_row("min", _min, allowed=ALL, starts=False)
_ARGMAX = reduction_row("argmax", _argmax, allowed=ALL, to=DType.int64, starts=False)
_ARGMIN = reduction_row("argmin", _argmin, allowed=ALL, to=DType.int64, starts=False)


@front
def max(
    x: Tensor | float,
    y: Tensor | float | None = None,
    /,
    axis: Axes = -1,
    *,
    keepdims: bool = True,
) -> Tensor:
    """Takes the largest element along tensor axes, or of two operands.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``.
        y: With it the op is :func:`elementwise_max` of ``x`` and ``y``; ``axis`` and
            ``keepdims`` do not matter then.
        axis: Tensor axis to reduce, or several; a negative one counts from the end.
            None flattens ``x`` first.
        keepdims: Whether the axes stay, with size 1, or are removed.

    Returns:
        Shape ``[*batch, 1, *rest]``, dtype of ``x``; NaN where there is one.

    Raises:
        TypeError: ``x`` is no tensor, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``, is named twice, or has no
            elements.

    Source: max.experimental.functional.max; several axes and keepdims are ours.

    >>> from maxlite.tensor import Tensor
    >>> max(Tensor([1.0, 3.0])).item()
    3.0
    >>> max(Tensor([1.0, 3.0]), 2.0).to_numpy().tolist()
    [2.0, 3.0]
    """
    if y is None:
        return reduce(_MAX, as_tensor("max", x), axis, keepdims)
    return apply(ELEMENTWISE_MAX, as_operands("max", x, y))


@front
def min(
    x: Tensor | float,
    y: Tensor | float | None = None,
    /,
    axis: Axes = -1,
    *,
    keepdims: bool = True,
) -> Tensor:
    """Takes the smallest element along tensor axes, or of two operands.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``.
        y: With it the op is :func:`elementwise_min` of ``x`` and ``y``; ``axis`` and
            ``keepdims`` do not matter then.
        axis: Tensor axis to reduce, or several; a negative one counts from the end.
            None flattens ``x`` first.
        keepdims: Whether the axes stay, with size 1, or are removed.

    Returns:
        Shape ``[*batch, 1, *rest]``, dtype of ``x``; NaN where there is one.

    Raises:
        TypeError: ``x`` is no tensor, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``, is named twice, or has no
            elements.

    Source: max.experimental.functional.min; several axes and keepdims are ours.

    >>> from maxlite.tensor import Tensor
    >>> min(Tensor([1.0, 3.0])).item()
    1.0
    >>> min(Tensor([1.0, 3.0]), 2.0).to_numpy().tolist()
    [1.0, 2.0]
    """
    if y is None:
        return reduce(_MIN, as_tensor("min", x), axis, keepdims)
    return apply(ELEMENTWISE_MIN, as_operands("min", x, y))


@front
def argmax(x: Tensor, axis: int | None = -1, *, keepdims: bool = True) -> Tensor:
    """Finds where the largest element along one tensor axis is.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``.
        axis: Tensor axis to search; a negative one counts from the end. None flattens
            ``x`` first, and the index counts in the flat tensor.
        keepdims: Whether the axis stays, with size 1, or is removed.

    Returns:
        Shape ``[*batch, 1, *rest]``, int64: the first index of the largest, or of NaN
        where there is one.

    Raises:
        TypeError: ``x`` is no tensor, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``, or has no elements.

    Source: max.experimental.functional.argmax; keepdims is ours.

    >>> from maxlite.tensor import Tensor
    >>> argmax(Tensor([1.0, 3.0, 3.0])).item()
    1
    """
    return reduce_one(_ARGMAX, x, axis, keepdims)


@front
def argmin(x: Tensor, axis: int | None = -1, *, keepdims: bool = True) -> Tensor:
    """Finds where the smallest element along one tensor axis is.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``.
        axis: Tensor axis to search; a negative one counts from the end. None flattens
            ``x`` first, and the index counts in the flat tensor.
        keepdims: Whether the axis stays, with size 1, or is removed.

    Returns:
        Shape ``[*batch, 1, *rest]``, int64: the first index of the smallest, or of NaN
        where there is one.

    Raises:
        TypeError: ``x`` is no tensor, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``, or has no elements.

    Source: max.experimental.functional.argmin; keepdims is ours.

    >>> from maxlite.tensor import Tensor
    >>> argmin(Tensor([3.0, 1.0, 1.0])).item()
    1
    """
    return reduce_one(_ARGMIN, x, axis, keepdims)
