"""Arithmetic on two operands, element by element.

The operands broadcast, and promote to one of their two dtypes. A Python number takes
the dtype of the tensor beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import FLOATS, INTEGERS, NUMBERS, DType, promote
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import broadcast_shapes, check_dtype, promoted_dtype
from maxlite.functional._operands import as_operands
from maxlite.functional._precision import divided, in_float32
from maxlite.sharding.rules import (
    binary_rule,
    div_rule,
    linear_binary_rule,
    mul_rule,
    unary_rule,
)
from maxlite.tensor._number import Number

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor

MAX_STATIC_POWER = 64
"""Whole powers of floats up to this one are multiplied out."""


def binary_row(
    name: str,
    fn: Callable[..., Any],
    rule: Callable[..., Any] = binary_rule,
    *,
    to: DType | None = None,
    allowed: frozenset[DType] = frozenset(),
    error: type[Exception] = TypeError,
) -> Op:
    """Makes the row of an op on two operands that broadcast and promote.

    Args:
        name: The op.
        fn: Takes both arrays in the promoted dtype.
        rule: Placement rows.
        to: Dtype of the result, the promoted one when None.
        allowed: Dtypes that they may promote to; empty means all.
        error: Raised for others.
    """

    def meaning(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
        return fn(*promoted(lhs, rhs))

    def infer(lhs: Spec, rhs: Spec) -> tuple[DType, Any]:
        dtype = promoted_dtype(name, lhs, rhs)
        if allowed and dtype not in allowed:
            check_dtype(
                name, lhs if lhs.dtype is dtype else rhs, allowed, error, "operands"
            )
        return to or dtype, broadcast_shapes(name, lhs.shape, rhs.shape)

    return register(Op(name=name, fn=meaning, infer=infer, rule=rule, dtypes=allowed))


def promoted(lhs: jax.Array, rhs: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Converts two arrays to the dtype that both promote to."""
    if lhs.dtype == rhs.dtype:
        return lhs, rhs
    dtype = promote(DType.from_jax(lhs.dtype), DType.from_jax(rhs.dtype)).to_jax()
    return lhs.astype(dtype), rhs.astype(dtype)


def _div(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
    if not _is_float(lhs) and not _is_float(rhs):
        lhs, rhs = lhs.astype(jnp.float64), rhs.astype(jnp.float64)
    return divided(*promoted(lhs, rhs))


def _is_float(x: jax.Array) -> bool:
    return jnp.issubdtype(x.dtype, jnp.floating)


def _floor_div(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
    by_zero = rhs == jnp.zeros((), rhs.dtype)
    quotient = jnp.floor_divide(lhs, _without_zeros(rhs, by_zero))
    # By 0, numpy divides floats as usual and gives 0 for integers (and warns).
    instead = lhs / rhs if _is_float(lhs) else jnp.zeros((), lhs.dtype)
    return jnp.where(by_zero, instead, quotient)


def _without_zeros(divisor: jax.Array, by_zero: jax.Array) -> jax.Array:
    return jnp.where(by_zero, jnp.ones((), divisor.dtype), divisor)


def _mod(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
    if _is_float(lhs):
        return jnp.remainder(lhs, rhs)
    by_zero = rhs == jnp.zeros((), rhs.dtype)
    remainder = jnp.remainder(lhs, _without_zeros(rhs, by_zero))
    return jnp.where(by_zero, jnp.zeros((), lhs.dtype), remainder)


def _infer_div(lhs: Spec, rhs: Spec) -> tuple[DType, Any]:
    shape = broadcast_shapes("div", lhs.shape, rhs.shape)
    if lhs.dtype not in FLOATS and rhs.dtype not in FLOATS:
        return DType.float64, shape
    return promoted_dtype("div", lhs, rhs), shape


def _pow(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
    return jnp.power(lhs, rhs) if _is_float(lhs) else _integer_pow(lhs, rhs)


def _integer_pow(base: jax.Array, exponent: jax.Array) -> jax.Array:
    """Squares and multiplies, bit by bit; what is too large wraps around."""
    zero, one = (jnp.asarray(value, base.dtype) for value in (0, 1))
    power, square = jnp.ones_like(base), base
    for bit in range(jnp.iinfo(base.dtype).bits):
        taken = (exponent >> jnp.asarray(bit, base.dtype)) & one
        power = jnp.where(taken == one, power * square, power)
        square = square * square
    if jnp.issubdtype(base.dtype, jnp.unsignedinteger):
        return power
    # 1 and -1 have whole reciprocals; those of others are cut to 0.
    is_cut = (exponent < zero) & (jnp.abs(base) != one)
    return jnp.where(is_cut, zero, power)


def _static_pow(x: jax.Array, *, exponent: int) -> jax.Array:
    return lax.integer_pow(x, exponent)


def _infer_static_pow(x: Spec, *, exponent: int) -> tuple[DType, Any]:
    check_dtype("pow", x, NUMBERS, name="operands")
    return x.dtype, x.shape


_ADD = binary_row("add", jnp.add, linear_binary_rule)
_SUB = binary_row("sub", jnp.subtract, linear_binary_rule, allowed=NUMBERS)
_MUL = binary_row("mul", jnp.multiply, mul_rule)
_DIV = register(Op(name="div", fn=_div, infer=_infer_div, rule=div_rule))
_FLOOR_DIV = binary_row("floor_div", in_float32(_floor_div), allowed=NUMBERS)
_MOD = binary_row("mod", _mod, allowed=NUMBERS)
_POW = binary_row("pow", in_float32(_pow), allowed=NUMBERS)
_STATIC_POW = register(
    Op(
        name="static_pow",
        fn=in_float32(_static_pow),
        infer=_infer_static_pow,
        rule=unary_rule,
        params=("exponent",),
    )
)
ELEMENTWISE_MAX = binary_row("elementwise_max", jnp.maximum)
ELEMENTWISE_MIN = binary_row("elementwise_min", jnp.minimum)


@front
def add(lhs: Tensor | float, rhs: Tensor | float) -> Tensor:
    """Adds two operands; pending sums stay pending.

    Args:
        lhs: A tensor, or a number.
        rhs: A tensor, or a number; shapes broadcast.

    Returns:
        The broadcast shape in the promoted dtype.

    Raises:
        TypeError: Neither is a tensor, or one is no number.
        ValueError: Shapes or dtypes do not fit.

    Source: max.experimental.functional.add.

    >>> from maxlite.tensor import Tensor
    >>> add(Tensor([1.0]), 2.0).item()
    3.0
    """
    return apply(_ADD, as_operands("add", lhs, rhs))


@front
def sub(lhs: Tensor | float, rhs: Tensor | float) -> Tensor:
    """Subtracts ``rhs`` from ``lhs``; pending sums stay pending.

    Args:
        lhs: A tensor, or a number.
        rhs: A tensor, or a number; shapes broadcast.

    Returns:
        The broadcast shape in the promoted dtype.

    Raises:
        TypeError: Neither is a tensor, one is no number, or both are bool.
        ValueError: Shapes or dtypes do not fit.

    Source: max.experimental.functional.sub.

    >>> from maxlite.tensor import Tensor
    >>> sub(Tensor([1.0]), 2.0).item()
    -1.0
    """
    return apply(_SUB, as_operands("sub", lhs, rhs))


@front
def mul(lhs: Tensor | float, rhs: Tensor | float) -> Tensor:
    """Multiplies two operands; a pending sum times a whole factor stays pending.

    Args:
        lhs: A tensor, or a number.
        rhs: A tensor, or a number; shapes broadcast.

    Returns:
        The broadcast shape in the promoted dtype.

    Raises:
        TypeError: Neither is a tensor, or one is no number.
        ValueError: Shapes or dtypes do not fit.

    Source: max.experimental.functional.mul.

    >>> from maxlite.tensor import Tensor
    >>> mul(Tensor([3.0]), 2.0).item()
    6.0
    """
    return apply(_MUL, as_operands("mul", lhs, rhs))


@front
def div(lhs: Tensor | float, rhs: Tensor | float) -> Tensor:
    """Divides ``lhs`` by ``rhs``; two integers give float64.

    Args:
        lhs: A tensor, or a number.
        rhs: A tensor, or a number; shapes broadcast.

    Returns:
        The broadcast shape, in float64 for integers, else in the promoted dtype.

    Raises:
        TypeError: Neither is a tensor, or one is no number.
        ValueError: Shapes or dtypes do not fit.

    Source: max.experimental.functional.div.

    >>> from maxlite.tensor import Tensor
    >>> div(Tensor([3.0]), 2.0).item()
    1.5
    """
    return apply(_DIV, as_operands("div", lhs, rhs))


@front
def floor_div(lhs: Tensor | float, rhs: Tensor | float) -> Tensor:
    """Divides and rounds down, with Python's signs.

    Args:
        lhs: A tensor, or a number.
        rhs: A tensor, or a number; shapes broadcast.

    Returns:
        The broadcast shape in the promoted dtype. By 0: infinite or NaN for floats, 0
        for integers.

    Raises:
        TypeError: Neither is a tensor, one is no number, or both are bool.
        ValueError: Shapes or dtypes do not fit.

    Source: max.experimental.functional.floor_div.

    >>> from maxlite.tensor import Tensor
    >>> floor_div(Tensor([-3.0]), 2.0).item()
    -2.0
    """
    return apply(_FLOOR_DIV, as_operands("floor_div", lhs, rhs))


@front
def mod(lhs: Tensor | float, rhs: Tensor | float) -> Tensor:
    """Takes the remainder of :func:`floor_div`; it has the sign of ``rhs``.

    Args:
        lhs: A tensor, or a number.
        rhs: A tensor, or a number; shapes broadcast.

    Returns:
        The broadcast shape in the promoted dtype. By 0: NaN for floats, 0 for
        integers.

    Raises:
        TypeError: Neither is a tensor, one is no number, or both are bool.
        ValueError: Shapes or dtypes do not fit.

    Source: max.experimental.functional.mod.

    >>> from maxlite.tensor import Tensor
    >>> mod(Tensor([-3.0]), 2.0).item()
    1.0
    """
    return apply(_MOD, as_operands("mod", lhs, rhs))


@front
def pow(lhs: Tensor | float, rhs: Tensor | float) -> Tensor:
    """Raises ``lhs`` to the power ``rhs``.

    Args:
        lhs: A tensor, or a number.
        rhs: A tensor, or a number; shapes broadcast.

    Returns:
        The broadcast shape in the promoted dtype. Integers wrap around; where a tensor
        of them holds a negative exponent, the power is cut to 0, but for powers of 1
        and -1.

    Raises:
        TypeError: Neither is a tensor, one is no number, or both are bool.
        ValueError: Shapes or dtypes do not fit, or an integer is raised to a negative
            number.

    Source: max.experimental.functional.pow.

    >>> from maxlite.tensor import Tensor
    >>> pow(Tensor([3.0]), 2).item()
    9.0
    """
    base, exponent = as_operands("pow", lhs, rhs)
    if isinstance(exponent, Number) and not isinstance(base, Number):
        value = exponent.value
        if base.dtype in INTEGERS and value < 0:
            raise ValueError(
                f"pow: an integer to a negative power is no integer, got {value} for "
                f"{base.dtype.name}. Cast the base to a float dtype."
            )
        is_small = 0 <= value <= MAX_STATIC_POWER and float(value).is_integer()
        if is_small or base.dtype not in FLOATS:
            return apply(_STATIC_POW, (base,), int(value))
    return apply(_POW, (base, exponent))


@front
def elementwise_max(lhs: Tensor | float, rhs: Tensor | float) -> Tensor:
    """Takes the larger of two elements; NaN wins.

    Args:
        lhs: A tensor, or a number.
        rhs: A tensor, or a number; shapes broadcast.

    Returns:
        The broadcast shape in the promoted dtype.

    Raises:
        TypeError: Neither is a tensor, or one is no number.
        ValueError: Shapes or dtypes do not fit.

    Source: max.experimental.functional.elementwise_max.

    >>> from maxlite.tensor import Tensor
    >>> elementwise_max(Tensor([1.0]), 2.0).item()
    2.0
    """
    return apply(ELEMENTWISE_MAX, as_operands("max", lhs, rhs))


@front
def elementwise_min(lhs: Tensor | float, rhs: Tensor | float) -> Tensor:
    """Takes the smaller of two elements; NaN wins.

    Args:
        lhs: A tensor, or a number.
        rhs: A tensor, or a number; shapes broadcast.

    Returns:
        The broadcast shape in the promoted dtype.

    Raises:
        TypeError: Neither is a tensor, or one is no number.
        ValueError: Shapes or dtypes do not fit.

    Source: max.experimental.functional.elementwise_min.

    >>> from maxlite.tensor import Tensor
    >>> elementwise_min(Tensor([1.0]), 2.0).item()
    1.0
    """
    return apply(ELEMENTWISE_MIN, as_operands("min", lhs, rhs))
