"""Ops on one tensor, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import BOOL, FLOATS, DType
from maxlite.functional._dispatch import apply, as_tensor
from maxlite.functional._infer import SIGNED_NUMBERS, check_dtype
from maxlite.sharding.rules import linear_unary_rule, unary_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def unary_row(
    name: str,
    fn: Callable[..., Any],
    allowed: frozenset[DType] = FLOATS,
    *,
    to: DType | None = None,
    error: type[Exception] = TypeError,
    rule: Callable[..., Any] = unary_rule,
    params: tuple[str, ...] = (),
) -> Op:
    def infer(x: Spec, **_: Any) -> tuple[DType, Any]:
        check_dtype(name, x, allowed, error)
        return to or x.dtype, x.shape

    return register(
        Op(
            name=name,
            fn=fn,
            infer=infer,
            rule=rule,
            params=params,
            dtypes=allowed,
        )
    )


_ABS = unary_row("abs", jnp.abs, SIGNED_NUMBERS)
_ACOS = unary_row("acos", jnp.arccos)
_ATANH = unary_row("atanh", jnp.arctanh)
_COS = unary_row("cos", jnp.cos)
_ERF = unary_row("erf", lax.erf)
_EXP = unary_row("exp", jnp.exp)
_IS_INF = unary_row("is_inf", jnp.isinf, FLOATS, to=DType.bool)
_IS_NAN = unary_row("is_nan", jnp.isnan, FLOATS, to=DType.bool)
_LOG = unary_row("log", jnp.log)
_LOG1P = unary_row("log1p", jnp.log1p)
_LOGICAL_NOT = unary_row("logical_not", jnp.logical_not, BOOL, error=ValueError)
_NEGATE = unary_row("negate", jnp.negative, SIGNED_NUMBERS, rule=linear_unary_rule)
_RSQRT = unary_row("rsqrt", lax.rsqrt)
_SIN = unary_row("sin", jnp.sin)
_SQRT = unary_row("sqrt", jnp.sqrt)
_TANH = unary_row("tanh", jnp.tanh)


@front
def abs(x: Tensor) -> Tensor:
    """Takes the absolute value of each element.

    Args:
        x: Any shape; signed integers or floats.

    Returns:
        Shape, dtype and placement of ``x``; an error under Partial.

    Raises:
        TypeError: ``x`` is unsigned or bool.

    Source: max.experimental.functional.abs.

    >>> from maxlite.tensor import Tensor
    >>> abs(Tensor([-1.5, 2.0])).to_numpy().tolist()
    [1.5, 2.0]
    """
    return apply(_ABS, (as_tensor("abs", x),))


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
def erf(x: Tensor) -> Tensor:
    """Computes the Gauss error function.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.erf.

    >>> from maxlite.tensor import Tensor
    >>> erf(Tensor([0.0])).item()
    0.0
    """
    return apply(_ERF, (as_tensor("erf", x),))


@front
def exp(x: Tensor) -> Tensor:
    """Computes the exponential function.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.exp.

    >>> from maxlite.tensor import Tensor
    >>> exp(Tensor([0.0])).item()
    1.0
    """
    return apply(_EXP, (as_tensor("exp", x),))


@front
def is_inf(x: Tensor) -> Tensor:
    """Tells which elements are infinite.

    Args:
        x: Any shape; floats.

    Returns:
        Bool, in the shape and placement of ``x``.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.is_inf.

    >>> from maxlite.tensor import Tensor
    >>> is_inf(Tensor([1.0, float("inf")])).to_numpy().tolist()
    [False, True]
    """
    return apply(_IS_INF, (as_tensor("is_inf", x),))


@front
def is_nan(x: Tensor) -> Tensor:
    """Tells which elements are not a number.

    Args:
        x: Any shape; floats.

    Returns:
        Bool, in the shape and placement of ``x``.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.is_nan.

    >>> from maxlite.tensor import Tensor
    >>> is_nan(Tensor([1.0, float("nan")])).to_numpy().tolist()
    [False, True]
    """
    return apply(_IS_NAN, (as_tensor("is_nan", x),))


@front
def log(x: Tensor) -> Tensor:
    """Computes the natural logarithm; NaN below 0.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.log.

    >>> from maxlite.tensor import Tensor
    >>> log(Tensor([1.0])).item()
    0.0
    """
    return apply(_LOG, (as_tensor("log", x),))


@front
def log1p(x: Tensor) -> Tensor:
    """Computes ``log(1 + x)``, exact for small ``x``.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.log1p.

    >>> from maxlite.tensor import Tensor
    >>> log1p(Tensor([0.0])).item()
    0.0
    """
    return apply(_LOG1P, (as_tensor("log1p", x),))


@front
def logical_not(x: Tensor) -> Tensor:
    """Inverts truth values.

    Args:
        x: Any shape; bool.

    Raises:
        ValueError: ``x`` is not bool; bits of integers are not inverted.

    Source: max.experimental.functional.logical_not.

    >>> from maxlite.tensor import Tensor
    >>> from maxlite.dtype import DType
    >>> logical_not(Tensor([True, False], dtype=DType.bool)).to_numpy().tolist()
    [False, True]
    """
    return apply(_LOGICAL_NOT, (as_tensor("logical_not", x),))


@front
def negate(x: Tensor) -> Tensor:
    """Changes the sign; pending sums stay pending.

    Args:
        x: Any shape; signed integers or floats.

    Raises:
        TypeError: ``x`` is unsigned or bool.

    Source: max.experimental.functional.negate.

    >>> from maxlite.tensor import Tensor
    >>> negate(Tensor([1.0])).item()
    -1.0
    """
    return apply(_NEGATE, (as_tensor("negate", x),))


@front
def rsqrt(x: Tensor) -> Tensor:
    """Computes ``1 / sqrt(x)``: infinite at 0, NaN below.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.rsqrt.

    >>> from maxlite.tensor import Tensor
    >>> rsqrt(Tensor([4.0])).item()
    0.5
    """
    return apply(_RSQRT, (as_tensor("rsqrt", x),))


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
def sqrt(x: Tensor) -> Tensor:
    """Computes the square root; NaN below 0.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.sqrt.

    >>> from maxlite.tensor import Tensor
    >>> sqrt(Tensor([9.0])).item()
    3.0
    """
    return apply(_SQRT, (as_tensor("sqrt", x),))


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
