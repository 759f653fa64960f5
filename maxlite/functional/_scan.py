"""Ops along one tensor axis that keep its size: running sums and softmax.

Beyond the reference: the running products and extrema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import FLOATS, NUMBERS
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import check_dtype, normal_axis
from maxlite.functional._operands import as_tensor
from maxlite.functional._precision import widened
from maxlite.sharding.rules import along_axis_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxlite.dtype import DType
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _running_row(name: str, fn: Callable[..., Any], start: int | None = None) -> Op:
    """Makes the row of an op that combines each element with those before it.

    Args:
        name: The op.
        fn: Takes the array, an axis and ``reverse``.
        start: What stands before the first element, for an op that may be exclusive.
    """

    def meaning(
        x: jax.Array, *, axis: int, reverse: bool, exclusive: bool = False
    ) -> jax.Array:
        joined = fn(widened(x), axis, reverse=reverse).astype(x.dtype)
        if not exclusive:
            return joined
        # Moved on by one place. Taking x off again would not be exact, and fail at inf.
        widths = [(0, 0, 0)] * x.ndim
        widths[axis] = (-1, 1, 0) if reverse else (1, -1, 0)
        return lax.pad(joined, jnp.asarray(start, x.dtype), widths)

    def infer(x: Spec, **_: Any) -> tuple[DType, Any]:
        check_dtype(name, x, NUMBERS)
        return x.dtype, x.shape

    return register(
        Op(
            name=name,
            fn=meaning,
            infer=infer,
            rule=along_axis_rule,
            params=("axis", "reverse", *([] if start is None else ["exclusive"])),
            dtypes=NUMBERS,
        )
    )


def _softmax_row(name: str, fn: Callable[..., Any]) -> Op:
    def meaning(x: jax.Array, *, axis: int) -> jax.Array:
        return fn(widened(x), axis=axis).astype(x.dtype)

    def infer(x: Spec, *, axis: int) -> tuple[DType, Any]:
        check_dtype(name, x, FLOATS, name="value")
        return x.dtype, x.shape

    return register(
        Op(
            name=name,
            fn=meaning,
            infer=infer,
            rule=along_axis_rule,
            params=("axis",),
            dtypes=FLOATS,
        )
    )


_CUMSUM = _running_row("cumsum", lax.cumsum, 0)
_CUMPROD = _running_row("cumprod", lax.cumprod, 1)
_CUMMAX = _running_row("cummax", lax.cummax)
_CUMMIN = _running_row("cummin", lax.cummin)
_SOFTMAX = _softmax_row("softmax", jax.nn.softmax)
_LOGSOFTMAX = _softmax_row("logsoftmax", jax.nn.log_softmax)


@front
def cumsum(
    x: Tensor, axis: int = -1, exclusive: bool = False, reverse: bool = False
) -> Tensor:
    """Adds up each element and those before it along one tensor axis.

    Floats below 32 bits are added up in float32.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``; integers or floats.
        axis: Tensor axis to add along; a negative one counts from the end.
        exclusive: Whether each element is left out of its own sum; the first is 0.
        reverse: Whether to start from the end.

    Returns:
        Shape, dtype and placement of ``x``; integers wrap around.

    Raises:
        TypeError: ``x`` is no tensor or bool, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``.

    Source: max.experimental.functional.cumsum.

    >>> from maxlite.tensor import Tensor
    >>> cumsum(Tensor([1.0, 2.0, 3.0])).to_numpy().tolist()
    [1.0, 3.0, 6.0]
    >>> cumsum(Tensor([1.0, 2.0, 3.0]), exclusive=True).to_numpy().tolist()
    [0.0, 1.0, 3.0]
    """
    index = normal_axis("cumsum", axis, as_tensor("cumsum", x).rank)
    return apply(_CUMSUM, (x,), index, bool(reverse), bool(exclusive))


@front
def cumprod(
    x: Tensor, axis: int = -1, exclusive: bool = False, reverse: bool = False
) -> Tensor:
    """Multiplies up each element and those before it along one tensor axis.

    Floats below 32 bits are multiplied up in float32.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``; integers or floats.
        axis: Tensor axis to multiply along; a negative one counts from the end.
        exclusive: Whether each element is left out of its own product; the first is 1.
        reverse: Whether to start from the end.

    Returns:
        Shape, dtype and placement of ``x``; integers wrap around.

    Raises:
        TypeError: ``x`` is no tensor or bool, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``.

    Source: ours; numpy's cumprod, options as in :func:`cumsum`.

    >>> from maxlite.tensor import Tensor
    >>> cumprod(Tensor([1.0, 2.0, 3.0])).to_numpy().tolist()
    [1.0, 2.0, 6.0]
    """
    index = normal_axis("cumprod", axis, as_tensor("cumprod", x).rank)
    return apply(_CUMPROD, (x,), index, bool(reverse), bool(exclusive))


@front
def cummax(x: Tensor, axis: int = -1, reverse: bool = False) -> Tensor:
    """Takes the largest of each element and those before it along one tensor axis.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``; integers or floats.
        axis: Tensor axis to go along; a negative one counts from the end.
        reverse: Whether to start from the end.

    Returns:
        Shape, dtype and placement of ``x``: the values, without the indices that
        torch's cummax adds. From a NaN on, NaN.

    Raises:
        TypeError: ``x`` is no tensor or bool, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``.

    Source: ours; numpy's maximum.accumulate.

    >>> from maxlite.tensor import Tensor
    >>> cummax(Tensor([1.0, 3.0, 2.0])).to_numpy().tolist()
    [1.0, 3.0, 3.0]
    """
    index = normal_axis("cummax", axis, as_tensor("cummax", x).rank)
    return apply(_CUMMAX, (x,), index, bool(reverse))


@front
def cummin(x: Tensor, axis: int = -1, reverse: bool = False) -> Tensor:
    """Takes the smallest of each element and those before it along one tensor axis.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``; integers or floats.
        axis: Tensor axis to go along; a negative one counts from the end.
        reverse: Whether to start from the end.

    Returns:
        Shape, dtype and placement of ``x``: the values, without the indices that
        torch's cummin adds. From a NaN on, NaN.

    Raises:
        TypeError: ``x`` is no tensor or bool, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``x``.

    Source: ours; numpy's minimum.accumulate.

    >>> from maxlite.tensor import Tensor
    >>> cummin(Tensor([2.0, 3.0, 1.0])).to_numpy().tolist()
    [2.0, 2.0, 1.0]
    """
    index = normal_axis("cummin", axis, as_tensor("cummin", x).rank)
    return apply(_CUMMIN, (x,), index, bool(reverse))


@front
def softmax(value: Tensor, axis: int = -1) -> Tensor:
    """Turns scores into shares that add up to 1 along one tensor axis.

    Computed relative to the largest score, so that none overflows; floats below 32 bits
    in float32.

    Args:
        value: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``; floats.
        axis: Tensor axis to share out; a negative one counts from the end.

    Returns:
        Shape, dtype and placement of ``value``. NaN where a score is NaN or infinite,
        and where all of them are minus infinite.

    Raises:
        TypeError: ``value`` is no tensor or no float, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``value``.

    Source: max.experimental.functional.softmax.

    >>> from maxlite.tensor import Tensor
    >>> softmax(Tensor([5.0, 5.0])).to_numpy().tolist()
    [0.5, 0.5]
    """
    index = normal_axis("softmax", axis, as_tensor("softmax", value, "value").rank)
    return apply(_SOFTMAX, (value,), index)


@front
def logsoftmax(value: Tensor, axis: int = -1) -> Tensor:
    """Computes the logarithm of :func:`softmax`, exact for small shares.

    Args:
        value: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``; floats.
        axis: Tensor axis to share out; a negative one counts from the end.

    Returns:
        Shape, dtype and placement of ``value``. NaN where a score is NaN or infinite,
        and where all of them are minus infinite.

    Raises:
        TypeError: ``value`` is no tensor or no float, or ``axis`` is no int.
        ValueError: ``axis`` is not an axis of ``value``.

    Source: max.experimental.functional.logsoftmax.

    >>> from maxlite.tensor import Tensor
    >>> logsoftmax(Tensor([5.0])).item()
    0.0
    """
    who = "logsoftmax"
    index = normal_axis(who, axis, as_tensor(who, value, "value").rank)
    return apply(_LOGSOFTMAX, (value,), index)
