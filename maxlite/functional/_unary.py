"""Ops on one tensor, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import BOOL, FLOATS, NUMBERS, DType
from maxlite.functional._dispatch import apply, as_tensor
from maxlite.functional._infer import SIGNED_NUMBERS, check_dtype
from maxlite.sharding.rules import linear_unary_rule, unary_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _row(
    name: str,
    fn: Callable[..., Any],
    allowed: frozenset[DType] = FLOATS,
    *,
    to: DType | None = None,
    error: type[Exception] = TypeError,
    linear: bool = False,
    params: tuple[str, ...] = (),
) -> Op:
    def infer(x: Spec, **_: Any) -> tuple[DType, Any]:
        check_dtype(name, x, allowed, error)
        return to or x.dtype, x.shape

    rule = linear_unary_rule if linear else unary_rule
    return register(
        Op(
            name=name,
            fn=fn,
            infer=infer,
            rule=rule,
            params=params,
            linear=linear,
            dtypes=allowed,
        )
    )


def _relu(x: jax.Array) -> jax.Array:
    return jnp.maximum(x, jnp.zeros((), x.dtype))


def _gelu(x: jax.Array, *, approximate: str) -> jax.Array:
    if approximate == "quick":
        return x * jax.nn.sigmoid(x * jnp.asarray(1.702, x.dtype))
    return jax.nn.gelu(x, approximate=approximate == "tanh")


_ABS = _row("abs", jnp.abs, SIGNED_NUMBERS)
_ACOS = _row("acos", jnp.arccos)
_ATANH = _row("atanh", jnp.arctanh)
_CEIL = _row("ceil", jnp.ceil)
_COS = _row("cos", jnp.cos)
_ERF = _row("erf", lax.erf)
_EXP = _row("exp", jnp.exp)
_FLOOR = _row("floor", jnp.floor)
_GELU = _row("gelu", _gelu, params=("approximate",))
_IS_INF = _row("is_inf", jnp.isinf, FLOATS, to=DType.bool)
_IS_NAN = _row("is_nan", jnp.isnan, FLOATS, to=DType.bool)
_LOG = _row("log", jnp.log)
_LOG1P = _row("log1p", jnp.log1p)
_LOGICAL_NOT = _row("logical_not", jnp.logical_not, BOOL, error=ValueError)
_NEGATE = _row("negate", jnp.negative, SIGNED_NUMBERS, linear=True)
_RELU = _row("relu", _relu, NUMBERS)
_ROUND = _row("round", jnp.round)
_RSQRT = _row("rsqrt", lax.rsqrt)
_SIGMOID = _row("sigmoid", jax.nn.sigmoid)
_SILU = _row("silu", jax.nn.silu)
_SIN = _row("sin", jnp.sin)
_SQRT = _row("sqrt", jnp.sqrt)
_TANH = _row("tanh", jnp.tanh)
_TRUNC = _row("trunc", jnp.trunc)


def _cast(x: jax.Array, *, dtype: DType) -> jax.Array:
    target = dtype.to_jax()
    if jnp.issubdtype(x.dtype, jnp.inexact) and jnp.issubdtype(target, jnp.integer):
        return _float_to_integer(x, target)
    return x.astype(target)


def _float_to_integer(x: jax.Array, target: Any) -> jax.Array:
    """Truncates; what does not fit saturates and NaN becomes 0, on every backend."""
    info = jnp.iinfo(target)
    # The largest integer need not be a float: compare with the power of two above it.
    wide = x.astype(jnp.float64)
    above = wide >= float(info.max) + 1.0
    below = wide <= float(info.min) - 1.0
    inside = jnp.where(above | below | jnp.isnan(x), jnp.zeros((), x.dtype), x)
    cut = inside.astype(target)
    cut = jnp.where(above, jnp.asarray(info.max, target), cut)
    return jnp.where(below, jnp.asarray(info.min, target), cut)


def _infer_cast(x: Spec, *, dtype: DType) -> tuple[DType, Any]:
    return dtype, x.shape


_CAST = register(
    Op(
        name="cast",
        fn=_cast,
        infer=_infer_cast,
        rule=unary_rule,
        params=("dtype",),
    )
)


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
def ceil(x: Tensor) -> Tensor:
    """Rounds up to whole numbers, keeping the float dtype.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.ceil.

    >>> from maxlite.tensor import Tensor
    >>> ceil(Tensor([1.2])).item()
    2.0
    """
    return apply(_CEIL, (as_tensor("ceil", x),))


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
def floor(x: Tensor) -> Tensor:
    """Rounds down to whole numbers, keeping the float dtype.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.floor.

    >>> from maxlite.tensor import Tensor
    >>> floor(Tensor([-1.2])).item()
    -2.0
    """
    return apply(_FLOOR, (as_tensor("floor", x),))


@front
def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """Applies the Gaussian error linear unit.

    Args:
        x: Any shape; floats.
        approximate: ``"none"`` is exact, through erf; ``"tanh"`` and ``"quick"``
            (``x * sigmoid(1.702 x)``) are cheaper.

    Raises:
        TypeError: ``x`` is no float.
        ValueError: An unknown approximation.

    Source: max.experimental.functional.gelu.

    >>> from maxlite.tensor import Tensor
    >>> gelu(Tensor([0.0]), approximate="tanh").item()
    0.0
    """
    if approximate not in ("none", "tanh", "quick"):
        raise ValueError(
            "gelu: approximate must be 'none', 'tanh' or 'quick', got "
            f"{approximate!r}. Choose one of them."
        )
    return apply(_GELU, (as_tensor("gelu", x),), approximate)


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
def relu(x: Tensor) -> Tensor:
    """Replaces negative elements by 0; NaN stays NaN.

    Args:
        x: Any shape; integers or floats.

    Raises:
        TypeError: ``x`` is bool.

    Source: max.experimental.functional.relu.

    >>> from maxlite.tensor import Tensor
    >>> relu(Tensor([-1.0, 2.0])).to_numpy().tolist()
    [0.0, 2.0]
    """
    return apply(_RELU, (as_tensor("relu", x),))


@front
def round(x: Tensor) -> Tensor:
    """Rounds to whole numbers, halves to the even one.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.round.

    >>> from maxlite.tensor import Tensor
    >>> round(Tensor([0.5, 1.5])).to_numpy().tolist()
    [0.0, 2.0]
    """
    return apply(_ROUND, (as_tensor("round", x),))


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
def sigmoid(x: Tensor) -> Tensor:
    """Computes ``1 / (1 + exp(-x))``.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.sigmoid.

    >>> from maxlite.tensor import Tensor
    >>> sigmoid(Tensor([0.0])).item()
    0.5
    """
    return apply(_SIGMOID, (as_tensor("sigmoid", x),))


@front
def silu(x: Tensor) -> Tensor:
    """Computes ``x * sigmoid(x)``, also known as swish.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.silu.

    >>> from maxlite.tensor import Tensor
    >>> silu(Tensor([0.0])).item()
    0.0
    """
    return apply(_SILU, (as_tensor("silu", x),))


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


@front
def trunc(x: Tensor) -> Tensor:
    """Drops the fraction, keeping the float dtype.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.trunc.

    >>> from maxlite.tensor import Tensor
    >>> trunc(Tensor([-1.7])).item()
    -1.0
    """
    return apply(_TRUNC, (as_tensor("trunc", x),))


@front
def cast(x: Tensor, dtype: DType) -> Tensor:
    """Converts the elements to another dtype.

    Floats become integers by truncation; what does not fit saturates, and NaN becomes
    0. Integers wrap around. What is not zero becomes True.

    Args:
        x: Any shape and dtype.
        dtype: A DType.

    Returns:
        Shape and placement of ``x``; ``x`` itself when it has the dtype already.

    Raises:
        TypeError: ``dtype`` is no DType.

    Source: max.experimental.functional.cast.

    >>> from maxlite.tensor import Tensor
    >>> cast(Tensor([1.7, -1.7]), DType.int32).to_numpy().tolist()
    [1, -1]
    """
    if not isinstance(dtype, DType):
        raise TypeError(
            f"cast: dtype must be a DType, got {type(dtype).__name__}. Use "
            "DType.float32, or DType.from_numpy(dtype)."
        )
    as_tensor("cast", x)
    return x if x.dtype is dtype else apply(_CAST, (x,), dtype)
