"""Spread and size of the elements along tensor axes: var, std, norm, logsumexp.

They take their axes as ``sum`` does: ``axis`` is -1 unless told otherwise, one axis or
several, the reduced axes stay with size 1 unless ``keepdims=False``, and ``axis=None``
flattens first. Floats below 32 bits are computed in float32.

Beyond the reference: all of this family. Where numpy has an op of the name, the values
are numpy's and the conventions for axes those of this package. ``norm`` takes its
elements as one vector, also over two axes, where numpy's takes a matrix.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import front
from maxlite.dtype import FLOATS
from maxlite.functional._infer import real_number
from maxlite.functional._operands import as_tensor
from maxlite.functional._precision import in_float32
from maxlite.functional._reduction_row import reduce, reduction_row
from maxlite.graph._shape import shape_text

if TYPE_CHECKING:
    from typing import Literal

    from maxlite.functional._reduction_row import Axes
    from maxlite.tensor._tensor import Tensor


@in_float32
def _var(x: jax.Array, axes: tuple[int, ...], *, correction: float) -> jax.Array:
    count = jnp.asarray(math.prod(x.shape[axis] for axis in axes), x.dtype)
    divisor = jnp.maximum(count - correction, jnp.zeros((), x.dtype))
    centered = x - jnp.mean(x, axes, keepdims=True)
    return jnp.sum(jnp.square(centered), axes, keepdims=True) / divisor


@in_float32
def _std(x: jax.Array, axes: tuple[int, ...], *, correction: float) -> jax.Array:
    return _root(_var(x, axes=axes, correction=correction), 0.5)


@in_float32
def _norm(x: jax.Array, axes: tuple[int, ...], *, ord: float) -> jax.Array:
    size = jnp.abs(x)
    if ord == math.inf:
        return jnp.max(size, axes, keepdims=True, initial=0)
    if ord == -math.inf:
        return jnp.min(size, axes, keepdims=True, initial=math.inf)
    if ord == 0:
        return jnp.sum((x != 0).astype(x.dtype), axes, keepdims=True)
    if ord == 1:
        return jnp.sum(size, axes, keepdims=True)
    powers = jnp.square(x) if ord == 2 else jnp.power(size, jnp.asarray(ord, x.dtype))
    return _root(jnp.sum(powers, axes, keepdims=True), 1 / ord)


def _root(x: jax.Array, exponent: float) -> jax.Array:
    """Raises to a power; the derivative at 0 is taken to be 0, and not infinite."""
    zero = x == 0
    other = jnp.where(zero, jnp.ones((), x.dtype), x)
    raised = (
        jnp.sqrt(other)
        if exponent == 0.5
        else jnp.power(other, jnp.asarray(exponent, x.dtype))
    )
    at_zero = jnp.asarray(0 if exponent > 0 else math.inf, x.dtype)
    return jnp.where(zero, at_zero, raised)


@in_float32
def _logsumexp(x: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    largest = jnp.max(x, axes, keepdims=True, initial=-math.inf)
    # Relative to an infinite one, the others would be NaN.
    finite = jnp.where(jnp.isfinite(largest), largest, jnp.zeros((), x.dtype))
    offset = lax.stop_gradient(finite)
    total = jnp.sum(jnp.exp(x - offset), axes, keepdims=True)
    none = total == 0
    log = jnp.log(jnp.where(none, jnp.ones((), x.dtype), total))
    return jnp.where(none, jnp.asarray(-math.inf, x.dtype), log + offset)


_VAR = reduction_row("var", _var, allowed=FLOATS, params=("correction",))
_STD = reduction_row("std", _std, allowed=FLOATS, params=("correction",))
_NORM = reduction_row("norm", _norm, allowed=FLOATS, params=("ord",))
_LOGSUMEXP = reduction_row("logsumexp", _logsumexp, allowed=FLOATS)


@front
def var(
    x: Tensor, axis: Axes = -1, *, correction: float = 0, keepdims: bool = True
) -> Tensor:
    """Computes the variance: the mean square of the distances from the mean.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``; floats.
        axis: Tensor axis, or several; a negative one counts from the end. None
            flattens ``x`` first.
        correction: Taken off the number of elements that the sum of squares is divided
            by. 0, numpy's default ``ddof``, is for all there is; 1, torch's default,
            for a sample.
        keepdims: Whether the axes stay, with size 1, or are removed.

    Returns:
        Shape ``[*batch, 1, *rest]``, dtype of ``x``. NaN for no elements, or where
        ``correction`` leaves nothing to divide by.

    Raises:
        TypeError: ``x`` is no tensor or no float, ``axis`` no int, ``correction`` no
            number.
        ValueError: ``axis`` is not an axis of ``x``, or is named twice.

    Source: ours; numpy's var, axes as in :func:`sum`.

    >>> from maxlite.tensor import Tensor
    >>> var(Tensor([1.0, 3.0])).item()
    1.0
    >>> var(Tensor([1.0, 3.0]), correction=1).item()
    2.0
    """
    return reduce(_VAR, x, axis, keepdims, _number("var", correction, "correction"))


@front
def std(
    x: Tensor, axis: Axes = -1, *, correction: float = 0, keepdims: bool = True
) -> Tensor:
    """Computes the standard deviation, the square root of :func:`var`.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``; floats.
        axis: Tensor axis, or several; a negative one counts from the end. None
            flattens ``x`` first.
        correction: Taken off the number of elements that the sum of squares is divided
            by. 0, numpy's default ``ddof``, is for all there is; 1, torch's default,
            for a sample.
        keepdims: Whether the axes stay, with size 1, or are removed.

    Returns:
        Shape ``[*batch, 1, *rest]``, dtype of ``x``. NaN for no elements, or where
        ``correction`` leaves nothing to divide by.

    Raises:
        TypeError: ``x`` is no tensor or no float, ``axis`` no int, ``correction`` no
            number.
        ValueError: ``axis`` is not an axis of ``x``, or is named twice.

    Source: ours; numpy's std, axes as in :func:`sum`.

    >>> from maxlite.tensor import Tensor
    >>> std(Tensor([1.0, 5.0])).item()
    2.0
    """
    return reduce(_STD, x, axis, keepdims, _number("std", correction, "correction"))


@front
def norm(
    x: Tensor,
    ord: float | Literal["fro"] = 2,
    axis: Axes = -1,
    *,
    keepdims: bool = True,
) -> Tensor:
    """Measures the elements along tensor axes as one vector.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``; floats.
        ord: Kind of norm. 2 is the Euclidean one, 1 the sum of the absolute values,
            ``inf`` the largest of them and ``-inf`` the smallest, 0 the number of
            elements that are not 0; any other ``p`` is
            ``sum(abs(x) ** p) ** (1 / p)``. ``"fro"``, Frobenius, is 2 over the two
            axes of matrices.
        axis: Tensor axis, or several; a negative one counts from the end. None
            flattens ``x`` first.
        keepdims: Whether the axes stay, with size 1, or are removed.

    Returns:
        Shape ``[*batch, 1, *rest]``, dtype of ``x``. For no elements 0, or infinite if
        ``ord`` is negative.

    Raises:
        TypeError: ``x`` is no tensor or no float, ``axis`` no int, ``ord`` no number.
        ValueError: ``axis`` is not an axis of ``x``, or is named twice; ``ord`` is NaN,
            another name, or ``"fro"`` without two axes.

    Source: ours; numpy's linalg.vector_norm, axes as in :func:`sum`.

    >>> from maxlite.tensor import Tensor
    >>> norm(Tensor([3.0, -4.0])).item()
    5.0
    >>> norm(Tensor([[1.0, 1.0], [1.0, 1.0]]), "fro", axis=(-2, -1)).item()
    2.0
    """
    as_tensor("norm", x)
    if ord == "fro":
        _check_matrix(x, axis)
        return reduce(_NORM, x, axis, keepdims, 2.0)
    return reduce(_NORM, x, axis, keepdims, _number("norm", ord, "ord"))


@front
def logsumexp(x: Tensor, axis: Axes = -1, *, keepdims: bool = True) -> Tensor:
    """Computes ``log(sum(exp(x)))``, relative to the largest so that none overflows.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``; floats.
        axis: Tensor axis, or several; a negative one counts from the end. None
            flattens ``x`` first.
        keepdims: Whether the axes stay, with size 1, or are removed.

    Returns:
        Shape ``[*batch, 1, *rest]``, dtype of ``x``. Minus infinite for no elements.

    Raises:
        TypeError: ``x`` is no tensor or no float, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``, or is named twice.

    Source: ours; scipy's special.logsumexp, axes as in :func:`sum`.

    >>> from maxlite.tensor import Tensor
    >>> logsumexp(Tensor([1000.0, float("-inf")])).item()
    1000.0
    """
    return reduce(_LOGSUMEXP, x, axis, keepdims)


def _number(who: str, value: Any, name: str) -> float:
    number = real_number(who, value, name)
    if math.isnan(number):
        raise ValueError(f"{who}: {name} must not be NaN. Pass another number.")
    return number


def _check_matrix(x: Tensor, axis: Axes) -> None:
    axes = range(x.rank) if axis is None else axis
    if isinstance(axes, int) or len(axes) != 2:
        raise ValueError(
            f"norm: 'fro' must have two axes, got axis={axis} for a tensor "
            f"{shape_text(x._spec.shape)}. Pass axis=(-2, -1), or ord=2."
        )
