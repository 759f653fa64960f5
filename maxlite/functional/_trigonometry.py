"""Trigonometric and hyperbolic functions, and their inverses. Angles are in radians.

The reference's names come first (``acos``); numpy's are further names (``arccos``).

Beyond the reference: all but ``acos``, ``atanh``, ``cos``, ``sin`` and ``tanh``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import front
from maxlite.dtype import FLOATS
from maxlite.functional._binary import binary_row
from maxlite.functional._dispatch import apply
from maxlite.functional._operands import as_operands, as_tensor
from maxlite.functional._precision import in_float32
from maxlite.functional._unary import unary_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxlite.tensor._tensor import Tensor


@in_float32
def _atan2(y: jax.Array, x: jax.Array) -> jax.Array:
    return _at_origin(y, x, jnp.arctan2, lax.stop_gradient(jnp.arctan2(y, x)))


@in_float32
def _hypot(x: jax.Array, y: jax.Array) -> jax.Array:
    return _at_origin(x, y, jnp.hypot, jnp.zeros((), x.dtype))


def _at_origin(
    lhs: jax.Array, rhs: jax.Array, fn: Callable[..., jax.Array], value: jax.Array
) -> jax.Array:
    """Applies a function that has no derivative where both operands are 0.

    The derivative there is taken to be 0, and not NaN.
    """
    origin = (lhs == 0) & (rhs == 0)
    moved = jnp.where(origin, jnp.ones((), lhs.dtype), lhs)
    return jnp.where(origin, value, fn(moved, rhs))


_ACOS = unary_row("acos", jnp.arccos)
_ACOSH = unary_row("acosh", jnp.arccosh)
_ASIN = unary_row("asin", jnp.arcsin)
_ASINH = unary_row("asinh", jnp.arcsinh)
_ATAN = unary_row("atan", jnp.arctan)
_ATAN2 = binary_row("atan2", _atan2, allowed=FLOATS)
_ATANH = unary_row("atanh", jnp.arctanh)
_COS = unary_row("cos", jnp.cos)
_COSH = unary_row("cosh", jnp.cosh)
_HYPOT = binary_row("hypot", _hypot, allowed=FLOATS)
_SIN = unary_row("sin", jnp.sin)
_SINH = unary_row("sinh", jnp.sinh)
_TAN = unary_row("tan", jnp.tan)
_TANH = unary_row("tanh", jnp.tanh)


@front
def acos(x: Tensor) -> Tensor:
    """Computes the arc cosine, in radians from 0 to pi; NaN outside -1 to 1.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.acos.

    >>> from maxlite.tensor import Tensor
    >>> acos(Tensor([1.0])).item()
    0.0
    """
    return apply(_ACOS, (as_tensor("acos", x),))


@front
def acosh(x: Tensor) -> Tensor:
    """Computes the inverse hyperbolic cosine; NaN below 1.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; numpy's arccosh.

    >>> from maxlite.tensor import Tensor
    >>> acosh(Tensor([1.0])).item()
    0.0
    """
    return apply(_ACOSH, (as_tensor("acosh", x),))


@front
def asin(x: Tensor) -> Tensor:
    """Computes the arc sine, from -pi/2 to pi/2; NaN outside -1 to 1.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; numpy's arcsin.

    >>> from maxlite.tensor import Tensor
    >>> asin(Tensor([0.0])).item()
    0.0
    """
    return apply(_ASIN, (as_tensor("asin", x),))


@front
def asinh(x: Tensor) -> Tensor:
    """Computes the inverse hyperbolic sine.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; numpy's arcsinh.

    >>> from maxlite.tensor import Tensor
    >>> asinh(Tensor([0.0])).item()
    0.0
    """
    return apply(_ASINH, (as_tensor("asinh", x),))


@front
def atan(x: Tensor) -> Tensor:
    """Computes the arc tangent, from -pi/2 to pi/2.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; numpy's arctan.

    >>> from maxlite.tensor import Tensor
    >>> atan(Tensor([0.0])).item()
    0.0
    """
    return apply(_ATAN, (as_tensor("atan", x),))


@front
def atan2(y: Tensor | float, x: Tensor | float) -> Tensor:
    """Computes the angle of the point ``(x, y)``, from -pi to pi.

    Args:
        y: A tensor of floats, or a number.
        x: A tensor of floats, or a number; shapes broadcast.

    Returns:
        The broadcast shape in the promoted dtype. The signs of zeros
        count.

    Raises:
        TypeError: Neither is a tensor, one is no number, or both are integers.
        ValueError: Shapes or dtypes do not fit.

    Source: ours; numpy's arctan2.

    >>> from maxlite.tensor import Tensor
    >>> atan2(Tensor([0.0]), 1.0).item()
    0.0
    """
    return apply(_ATAN2, as_operands("atan2", y, x))


@front
def atanh(x: Tensor) -> Tensor:
    """Computes the inverse hyperbolic tangent: infinite at 1, NaN beyond.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.atanh.

    >>> from maxlite.tensor import Tensor
    >>> atanh(Tensor([0.0])).item()
    0.0
    """
    return apply(_ATANH, (as_tensor("atanh", x),))


@front
def cos(x: Tensor) -> Tensor:
    """Computes the cosine of angles in radians.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.cos.

    >>> from maxlite.tensor import Tensor
    >>> cos(Tensor([0.0])).item()
    1.0
    """
    return apply(_COS, (as_tensor("cos", x),))


@front
def cosh(x: Tensor) -> Tensor:
    """Computes the hyperbolic cosine.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; numpy's cosh.

    >>> from maxlite.tensor import Tensor
    >>> cosh(Tensor([0.0])).item()
    1.0
    """
    return apply(_COSH, (as_tensor("cosh", x),))


@front
def hypot(x: Tensor | float, y: Tensor | float) -> Tensor:
    """Computes ``sqrt(x**2 + y**2)``; no square overflows.

    Args:
        x: A tensor of floats, or a number.
        y: A tensor of floats, or a number; shapes broadcast.

    Returns:
        The broadcast shape in the promoted dtype. Infinite
        where one operand is, also beside NaN.

    Raises:
        TypeError: Neither is a tensor, one is no number, or both are integers.
        ValueError: Shapes or dtypes do not fit.

    Source: ours; numpy's hypot.

    >>> from maxlite.tensor import Tensor
    >>> hypot(Tensor([3.0]), 4.0).item()
    5.0
    """
    return apply(_HYPOT, as_operands("hypot", x, y))


@front
def sin(x: Tensor) -> Tensor:
    """Computes the sine of angles in radians.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.sin.

    >>> from maxlite.tensor import Tensor
    >>> sin(Tensor([0.0])).item()
    0.0
    """
    return apply(_SIN, (as_tensor("sin", x),))


@front
def sinh(x: Tensor) -> Tensor:
    """Computes the hyperbolic sine.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; numpy's sinh.

    >>> from maxlite.tensor import Tensor
    >>> sinh(Tensor([0.0])).item()
    0.0
    """
    return apply(_SINH, (as_tensor("sinh", x),))


@front
def tan(x: Tensor) -> Tensor:
    """Computes the tangent of angles in radians.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; numpy's tan.

    >>> from maxlite.tensor import Tensor
    >>> tan(Tensor([0.0])).item()
    0.0
    """
    return apply(_TAN, (as_tensor("tan", x),))


@front
def tanh(x: Tensor) -> Tensor:
    """Computes the hyperbolic tangent.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.tanh.

    >>> from maxlite.tensor import Tensor
    >>> tanh(Tensor([0.0])).item()
    0.0
    """
    return apply(_TANH, (as_tensor("tanh", x),))
