"""Questions about truth along tensor axes: any, all, and how many.

Whatever is not 0 counts as true, NaN included. The axes are taken as ``sum`` takes
them: ``axis`` is -1 unless told otherwise, one axis or several, the reduced axes stay
with size 1 unless ``keepdims=False``, and ``axis=None`` flattens first.

Beyond the reference: all of this family.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
from jax import numpy as jnp

from maxlite._op_table import front
from maxlite.dtype import ALL, DType
from maxlite.functional._reduction_row import reduce, reduction_row
from maxlite.sharding.rules import count_rule

if TYPE_CHECKING:
    from maxlite.functional._reduction_row import Axes
    from maxlite.tensor._tensor import Tensor


def _any(x: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    return jnp.any(_is_true(x), axes, keepdims=True)


def _all(x: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    return jnp.all(_is_true(x), axes, keepdims=True)


def _count_nonzero(x: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    return jnp.sum(_is_true(x), axes, jnp.int64, keepdims=True)


def _is_true(x: jax.Array) -> jax.Array:
    return x.astype(jnp.bool)


_ANY = reduction_row("any", _any, allowed=ALL, to=DType.bool)
_ALL = reduction_row("all", _all, allowed=ALL, to=DType.bool)
_COUNT_NONZERO = reduction_row(
    "count_nonzero", _count_nonzero, count_rule, allowed=ALL, to=DType.int64
)


@front
def any(x: Tensor, axis: Axes = -1, *, keepdims: bool = True) -> Tensor:
    """Tells whether some element along tensor axes is true.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``; what is not 0 is true.
        axis: Tensor axis, or several; a negative one counts from the end. None
            flattens ``x`` first.
        keepdims: Whether the axes stay, with size 1, or are removed.

    Returns:
        Bool, shape ``[*batch, 1, *rest]``; False for no elements.

    Raises:
        TypeError: ``x`` is no tensor, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``, or is named twice.

    Source: ours; numpy's any, axes as in :func:`sum`.

    >>> from maxlite.tensor import Tensor
    >>> any(Tensor([0.0, 2.0])).item()
    True
    """
    return reduce(_ANY, x, axis, keepdims)


@front
def all(x: Tensor, axis: Axes = -1, *, keepdims: bool = True) -> Tensor:
    """Tells whether every element along tensor axes is true.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``; what is not 0 is true.
        axis: Tensor axis, or several; a negative one counts from the end. None
            flattens ``x`` first.
        keepdims: Whether the axes stay, with size 1, or are removed.

    Returns:
        Bool, shape ``[*batch, 1, *rest]``; True for no elements.

    Raises:
        TypeError: ``x`` is no tensor, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``, or is named twice.

    Source: ours; numpy's all, axes as in :func:`sum`.

    >>> from maxlite.tensor import Tensor
    >>> all(Tensor([0.0, 2.0])).item()
    False
    """
    return reduce(_ALL, x, axis, keepdims)


@front
def count_nonzero(x: Tensor, axis: Axes = -1, *, keepdims: bool = True) -> Tensor:
    """Counts the elements along tensor axes that are not 0.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``.
        axis: Tensor axis, or several; a negative one counts from the end. None
            flattens ``x`` first.
        keepdims: Whether the axes stay, with size 1, or are removed.

    Returns:
        int64, shape ``[*batch, 1, *rest]``. Partial over a mesh axis that shards
        ``axis``.

    Raises:
        TypeError: ``x`` is no tensor, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``, or is named twice.

    Source: ours; numpy's count_nonzero, axes as in :func:`sum`.

    >>> from maxlite.tensor import Tensor
    >>> count_nonzero(Tensor([0.0, 2.0, -1.0])).item()
    2
    """
    return reduce(_COUNT_NONZERO, x, axis, keepdims)
