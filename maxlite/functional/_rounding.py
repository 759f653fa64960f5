"""Rounding to whole numbers, and conversion between dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import DType
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import whole_number
from maxlite.functional._operands import as_tensor
from maxlite.functional._precision import divided
from maxlite.functional._unary import unary_row
from maxlite.sharding.rules import unary_rule
from maxlite.tensor._data import require_dtype

if TYPE_CHECKING:
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _round(x: jax.Array, *, decimals: int) -> jax.Array:
    if not decimals:
        return _nearest(x)
    info = np.finfo(x.dtype)
    most = int(np.log10(info.max))  # 10 to this power is still a number
    if decimals > most + info.precision + 2:
        return x
    if decimals < -most:
        return jnp.where(jnp.isfinite(x), jnp.copysign(jnp.zeros((), x.dtype), x), x)
    # In two steps: the factor alone may be beyond the range.
    places = abs(decimals)
    first, second = (
        jnp.asarray(10.0**power, x.dtype)
        for power in (min(places, most), max(places - most, 0))
    )
    if decimals < 0:
        scaled = divided(x, first)
        rounded = _nearest(scaled) * first
    else:
        scaled = x * first * second
        rounded = divided(divided(_nearest(scaled), second), first)
    # A number whose multiple is infinite has no digits there.
    return jnp.where(jnp.isfinite(scaled), rounded, lax.stop_gradient(x))


def _nearest(x: jax.Array) -> jax.Array:
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


_CEIL = unary_row("ceil", jnp.ceil)
_FLOOR = unary_row("floor", jnp.floor)
_ROUND = unary_row("round", _round, params=("decimals",))
_TRUNC = unary_row("trunc", jnp.trunc)


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
def round(x: Tensor, *, decimals: int = 0) -> Tensor:
    """Rounds to whole numbers, halves to the even one.

    Args:
        x: Any shape; floats.
        decimals: Places to keep after the decimal point, or before it when negative.

    Raises:
        TypeError: ``x`` is no float, or ``decimals`` is no int.

    Source: max.experimental.functional.round; decimals is ours, as in numpy's round.

    >>> from maxlite.tensor import Tensor
    >>> round(Tensor([0.5, 1.5])).to_numpy().tolist()
    [0.0, 2.0]
    >>> round(Tensor([1.25]), decimals=1).item()
    1.2000000476837158
    """
    places = whole_number("round", decimals, "decimals")
    return apply(_ROUND, (as_tensor("round", x),), places)


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
    require_dtype("cast", dtype)
    as_tensor("cast", x)
    return x if x.dtype is dtype else apply(_CAST, (x,), dtype)
