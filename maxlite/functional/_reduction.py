"""Sums, means and products over one tensor axis, several, or all.

The reduced axes stay with size 1, so the others keep their numbers; ``axis=None``
flattens first and gives shape ``[1]``. Floats below 32 bits are added up and multiplied
in float32.

Beyond the reference: ``axis`` may name several axes, which are reduced at once, and
``keepdims=False`` removes them; with ``axis=None`` the result then has rank 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import jax
from jax import numpy as jnp

from maxlite._op_table import front
from maxlite.functional._precision import widened
from maxlite.functional._reduction_row import reduce, reduction_row
from maxlite.sharding.rules import sum_rule

if TYPE_CHECKING:
    from maxlite.functional._reduction_row import Axes
    from maxlite.tensor._tensor import Tensor


def _sum(x: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    wide = widened(x)
    # Without the dtype JAX would widen small integers, and uint8 would not wrap.
    return jnp.sum(wide, axes, wide.dtype, keepdims=True).astype(x.dtype)


def _prod(x: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    wide = widened(x)
    return jnp.prod(wide, axes, wide.dtype, keepdims=True).astype(x.dtype)


def _mean(x: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    if jnp.issubdtype(x.dtype, jnp.integer):
        return _integer_mean(x, axes)
    return jnp.mean(widened(x), axes, keepdims=True).astype(x.dtype)


def _integer_mean(x: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    """Averages and truncates toward zero; 0 for no elements.

    Quotients and remainders are added up apart, so no sum overflows.
    """
    signed = jnp.issubdtype(x.dtype, jnp.signedinteger)
    wide = jnp.int64 if signed else jnp.uint64
    count = math.prod(x.shape[axis] for axis in axes)
    size = jnp.maximum(jnp.asarray(count, wide), jnp.ones((), wide))
    quotients, remainders = jnp.divmod(x.astype(wide), size)
    carry, rest = jnp.divmod(jnp.sum(remainders, axes, keepdims=True), size)
    floor = jnp.sum(quotients, axes, keepdims=True) + carry
    below = (floor < 0) & (rest > 0)
    return (floor + below.astype(wide)).astype(x.dtype)


_SUM = reduction_row("sum", _sum, sum_rule)
_MEAN = reduction_row("mean", _mean)
_PROD = reduction_row("prod", _prod)


@front
def sum(x: Tensor, axis: Axes = -1, *, keepdims: bool = True) -> Tensor:
    """Adds up tensor axes, which stay with size 1; pending sums stay pending.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``; integers or floats.
        axis: Tensor axis to add up, or several; a negative one counts from the end.
            None flattens ``x`` first.
        keepdims: Whether the axes stay, with size 1, or are removed.

    Returns:
        Shape ``[*batch, 1, *rest]``, dtype of ``x``; integers wrap around. Partial over
        a mesh axis that shards ``axis``. 0 for no elements.

    Raises:
        TypeError: ``x`` is no tensor or bool, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``, or is named twice.

    Source: max.experimental.functional.sum; several axes and keepdims are ours.

    >>> from maxlite.tensor import Tensor
    >>> sum(Tensor([1.0, 3.0])).item()
    4.0
    >>> sum(Tensor([[1.0, 2.0], [3.0, 4.0]]), axis=(0, 1), keepdims=False).item()
    10.0
    """
    return reduce(_SUM, x, axis, keepdims)


@front
def mean(x: Tensor, axis: Axes = -1, *, keepdims: bool = True) -> Tensor:
    """Averages tensor axes, which stay with size 1.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``; integers or floats.
        axis: Tensor axis to average, or several; a negative one counts from the end.
            None flattens ``x`` first.
        keepdims: Whether the axes stay, with size 1, or are removed.

    Returns:
        Shape ``[*batch, 1, *rest]``, dtype of ``x``: the mean of integers is truncated
        toward zero. NaN for no elements, 0 of integers.

    Raises:
        TypeError: ``x`` is no tensor or bool, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``, or is named twice.

    Source: max.experimental.functional.mean; several axes and keepdims are ours.

    >>> from maxlite.tensor import Tensor
    >>> mean(Tensor([1.0, 2.0])).item()
    1.5
    >>> mean(Tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0, keepdims=False).shape
    [Dim(2)]
    """
    return reduce(_MEAN, x, axis, keepdims)


@front
def prod(x: Tensor, axis: Axes = -1, *, keepdims: bool = True) -> Tensor:
    """Multiplies up tensor axes, which stay with size 1.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``; integers or floats.
        axis: Tensor axis to multiply up, or several; a negative one counts from the
            end. None flattens ``x`` first.
        keepdims: Whether the axes stay, with size 1, or are removed.

    Returns:
        Shape ``[*batch, 1, *rest]``, dtype of ``x``; integers wrap around. 1 for no
        elements.

    Raises:
        TypeError: ``x`` is no tensor or bool, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``, or is named twice.

    Source: max.experimental.functional.prod; several axes and keepdims are ours.

    >>> from maxlite.tensor import Tensor
    >>> prod(Tensor([2.0, 3.0])).item()
    6.0
    """
    return reduce(_PROD, x, axis, keepdims)
