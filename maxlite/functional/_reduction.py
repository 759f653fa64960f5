"""Ops that bring one tensor axis down to size 1.

The axis is kept, so the others keep their numbers. ``axis=None`` flattens first and
gives shape ``[1]``. Floats below 32 bits are added up and multiplied in float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import ALL, NUMBERS, DType
from maxlite.functional._binary import ELEMENTWISE_MAX, ELEMENTWISE_MIN
from maxlite.functional._dispatch import apply, as_operands, as_tensor
from maxlite.functional._infer import check_dtype, normal_axis
from maxlite.functional._reshape import reshape
from maxlite.sharding.rules import reduce_rule, sum_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _row(
    name: str,
    fn: Callable[..., Any],
    rule: Callable[..., Any] = reduce_rule,
    *,
    allowed: frozenset[DType] = NUMBERS,
    to: DType | None = None,
    starts: bool = True,
) -> Op:
    """Makes the row of a reduction.

    Args:
        name: The op.
        fn: Takes the array and ``axis``, and keeps the axis.
        rule: Placement rows.
        allowed: Dtypes of the operand.
        to: Dtype of the result, that of the operand when None.
        starts: Whether there is a value to start from, the result for no elements.
    """

    def meaning(x: jax.Array, *, axis: int) -> jax.Array:
        if not starts:
            _check_not_empty(name, x.shape, axis)
        return fn(x, axis)

    def infer(x: Spec, *, axis: int) -> tuple[DType, Any]:
        check_dtype(name, x, allowed)
        if not starts:
            _check_not_empty(name, x.shape, axis)
        return to or x.dtype, (*x.shape[:axis], 1, *x.shape[axis + 1 :])

    return register(
        Op(
            name=name,
            fn=meaning,
            infer=infer,
            rule=rule,
            params=("axis",),
            dtypes=allowed,
        )
    )


def _check_not_empty(who: str, shape: tuple[Any, ...], axis: int) -> None:
    """Refuses an axis of size 0; what is named is checked again at each size."""
    if isinstance(shape[axis], int) and not shape[axis]:
        raise ValueError(
            f"{who}: the reduced axis must not be empty, got size 0 at axis {axis} "
            f"of shape {list(shape)}. Handle the empty tensor apart."
        )


def widened(x: jax.Array) -> jax.Array:
    """Converts floats below 32 bits to float32, in which they are accumulated."""
    narrow = jnp.issubdtype(x.dtype, jnp.floating) and x.dtype.itemsize < 4
    return x.astype(jnp.float32) if narrow else x


def _sum(x: jax.Array, axis: int) -> jax.Array:
    wide = widened(x)
    # Without the dtype JAX would widen small integers, and uint8 would not wrap.
    return jnp.sum(wide, axis, wide.dtype, keepdims=True).astype(x.dtype)


def _prod(x: jax.Array, axis: int) -> jax.Array:
    wide = widened(x)
    return jnp.prod(wide, axis, wide.dtype, keepdims=True).astype(x.dtype)


def _mean(x: jax.Array, axis: int) -> jax.Array:
    if jnp.issubdtype(x.dtype, jnp.integer):
        return _integer_mean(x, axis)
    return jnp.mean(widened(x), axis, keepdims=True).astype(x.dtype)


def _integer_mean(x: jax.Array, axis: int) -> jax.Array:
    """Averages and truncates toward zero; 0 for no elements.

    Quotients and remainders are added up apart, so no sum overflows.
    """
    signed = jnp.issubdtype(x.dtype, jnp.signedinteger)
    wide = jnp.int64 if signed else jnp.uint64
    size = jnp.maximum(jnp.asarray(x.shape[axis], wide), jnp.ones((), wide))
    quotients, remainders = jnp.divmod(x.astype(wide), size)
    carry, rest = jnp.divmod(jnp.sum(remainders, axis, keepdims=True), size)
    floor = jnp.sum(quotients, axis, keepdims=True) + carry
    below = (floor < 0) & (rest > 0)
    return (floor + below.astype(wide)).astype(x.dtype)


def _max(x: jax.Array, axis: int) -> jax.Array:
    return jnp.max(x, axis, keepdims=True)


def _min(x: jax.Array, axis: int) -> jax.Array:
    return jnp.min(x, axis, keepdims=True)


def _argmax(x: jax.Array, axis: int) -> jax.Array:
    return jnp.expand_dims(lax.argmax(x, axis, jnp.int64), axis)


def _argmin(x: jax.Array, axis: int) -> jax.Array:
    return jnp.expand_dims(lax.argmin(x, axis, jnp.int64), axis)


_SUM = _row("sum", _sum, sum_rule)
_MEAN = _row("mean", _mean)
_PROD = _row("prod", _prod)
_MAX = _row("max", _max, allowed=ALL, starts=False)
_MIN = _row("min", _min, allowed=ALL, starts=False)
_ARGMAX = _row("argmax", _argmax, allowed=ALL, to=DType.int64, starts=False)
_ARGMIN = _row("argmin", _argmin, allowed=ALL, to=DType.int64, starts=False)


def _reduce(op: Op, x: Any, axis: int | None) -> Tensor:
    as_tensor(op.name, x)
    if axis is None:
        x, axis = (x if x.rank == 1 else reshape(x, [-1])), 0
    return apply(op, (x,), normal_axis(op.name, axis, x.rank))


@front
def sum(x: Tensor, axis: int | None = -1) -> Tensor:
    """Adds up one tensor axis, which stays with size 1; pending sums stay pending.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``; integers or floats.
        axis: Tensor axis to add up; a negative one counts from the end. None flattens
            ``x`` first.

    Returns:
        Shape ``[*batch, 1, *rest]``, dtype of ``x``; integers wrap around. Partial over
        a mesh axis that shards ``axis``. 0 for no elements.

    Raises:
        TypeError: ``x`` is no tensor or bool, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``.

    Source: max.experimental.functional.sum.

    >>> from maxlite.tensor import Tensor
    >>> sum(Tensor([1.0, 3.0])).item()
    4.0
    """
    return _reduce(_SUM, x, axis)


@front
def mean(x: Tensor, axis: int | None = -1) -> Tensor:
    """Averages one tensor axis, which stays with size 1.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``; integers or floats.
        axis: Tensor axis to average; a negative one counts from the end. None flattens
            ``x`` first.

    Returns:
        Shape ``[*batch, 1, *rest]``, dtype of ``x``: the mean of integers is truncated
        toward zero. NaN for no elements, 0 of integers.

    Raises:
        TypeError: ``x`` is no tensor or bool, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``.

    Source: max.experimental.functional.mean.

    >>> from maxlite.tensor import Tensor
    >>> mean(Tensor([1.0, 2.0])).item()
    1.5
    """
    return _reduce(_MEAN, x, axis)


@front
def prod(x: Tensor, axis: int | None = -1) -> Tensor:
    """Multiplies up one tensor axis, which stays with size 1.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``; integers or floats.
        axis: Tensor axis to multiply up; a negative one counts from the end. None
            flattens ``x`` first.

    Returns:
        Shape ``[*batch, 1, *rest]``, dtype of ``x``; integers wrap around. 1 for no
        elements.

    Raises:
        TypeError: ``x`` is no tensor or bool, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``.

    Source: max.experimental.functional.prod.

    >>> from maxlite.tensor import Tensor
    >>> prod(Tensor([2.0, 3.0])).item()
    6.0
    """
    return _reduce(_PROD, x, axis)


@front
def max(
    x: Tensor | float, y: Tensor | float | None = None, /, axis: int | None = -1
) -> Tensor:
    """Takes the largest element along one tensor axis, or of two operands.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``.
        y: With it the op is :func:`elementwise_max` of ``x`` and ``y``; ``axis`` does
            not matter then.
        axis: Tensor axis to reduce; a negative one counts from the end. None flattens
            ``x`` first.

    Returns:
        Shape ``[*batch, 1, *rest]``, dtype of ``x``; NaN where there is one.

    Raises:
        TypeError: ``x`` is no tensor, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``, or has no elements.

    Source: max.experimental.functional.max.

    >>> from maxlite.tensor import Tensor
    >>> max(Tensor([1.0, 3.0])).item()
    3.0
    >>> max(Tensor([1.0, 3.0]), 2.0).to_numpy().tolist()
    [2.0, 3.0]
    """
    if y is None:
        return _reduce(_MAX, x, axis)
    return apply(ELEMENTWISE_MAX, as_operands("max", x, y))


@front
def min(
    x: Tensor | float, y: Tensor | float | None = None, /, axis: int | None = -1
) -> Tensor:
    """Takes the smallest element along one tensor axis, or of two operands.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``.
        y: With it the op is :func:`elementwise_min` of ``x`` and ``y``; ``axis`` does
            not matter then.
        axis: Tensor axis to reduce; a negative one counts from the end. None flattens
            ``x`` first.

    Returns:
        Shape ``[*batch, 1, *rest]``, dtype of ``x``; NaN where there is one.

    Raises:
        TypeError: ``x`` is no tensor, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``, or has no elements.

    Source: max.experimental.functional.min.

    >>> from maxlite.tensor import Tensor
    >>> min(Tensor([1.0, 3.0])).item()
    1.0
    >>> min(Tensor([1.0, 3.0]), 2.0).to_numpy().tolist()
    [1.0, 2.0]
    """
    if y is None:
        return _reduce(_MIN, x, axis)
    return apply(ELEMENTWISE_MIN, as_operands("min", x, y))


@front
def argmax(x: Tensor, axis: int | None = -1) -> Tensor:
    """Finds where the largest element along one tensor axis is.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``.
        axis: Tensor axis to search; a negative one counts from the end. None flattens
            ``x`` first, and the index counts in the flat tensor.

    Returns:
        Shape ``[*batch, 1, *rest]``, int64: the first index of the largest, or of NaN
        where there is one.

    Raises:
        TypeError: ``x`` is no tensor, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``, or has no elements.

    Source: max.experimental.functional.argmax.

    >>> from maxlite.tensor import Tensor
    >>> argmax(Tensor([1.0, 3.0, 3.0])).item()
    1
    """
    return _reduce(_ARGMAX, x, axis)


@front
def argmin(x: Tensor, axis: int | None = -1) -> Tensor:
    """Finds where the smallest element along one tensor axis is.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``.
        axis: Tensor axis to search; a negative one counts from the end. None flattens
            ``x`` first, and the index counts in the flat tensor.

    Returns:
        Shape ``[*batch, 1, *rest]``, int64: the first index of the smallest, or of NaN
        where there is one.

    Raises:
        TypeError: ``x`` is no tensor, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``, or has no elements.

    Source: max.experimental.functional.argmin.

    >>> from maxlite.tensor import Tensor
    >>> argmin(Tensor([3.0, 1.0, 1.0])).item()
    1
    """
    return _reduce(_ARGMIN, x, axis)
