"""Exponentials and logarithms.

Beyond the reference: ``exp2``, ``expm1``, ``log2`` and ``log10``, which are exact where
both the operand and the result are whole: ``log10`` of 1000 is 3.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import front
from maxlite.functional._dispatch import apply
from maxlite.functional._operands import as_tensor
from maxlite.functional._unary import unary_row

if TYPE_CHECKING:
    from maxlite.tensor._tensor import Tensor


@jax.custom_jvp
def _exp2(x: jax.Array) -> jax.Array:
    """Scales by the whole part, which ``exp(x * log(2))`` would round off."""
    limit = 4 * np.finfo(x.dtype).maxexp
    bounded = jnp.clip(x, -limit, limit)
    whole = jnp.round(bounded)
    fraction = jnp.exp((bounded - whole) * math.log(2))
    # In two steps: either power alone may be beyond the range.
    first = jnp.floor(whole / 2)
    one = jnp.ones((), x.dtype)
    power, rest = (
        jnp.ldexp(one, part.astype(jnp.int32)) for part in (first, whole - first)
    )
    return fraction * power * rest


@_exp2.defjvp
def _exp2_slope(
    primals: tuple[jax.Array], tangents: tuple[jax.Array]
) -> tuple[jax.Array, jax.Array]:
    y = _exp2(*primals)
    return y, tangents[0] * y * math.log(2)


def _log2(x: jax.Array) -> jax.Array:
    return _rounded(jnp.log2(x))


def _log10(x: jax.Array) -> jax.Array:
    return _rounded(jnp.log10(x))


def _rounded(y: jax.Array) -> jax.Array:
    """Makes whole what differs from a whole number in the last two bits only."""
    beyond = jnp.round(y) - y
    within = jnp.abs(beyond) <= 2 * np.finfo(y.dtype).eps * jnp.abs(y)
    step = jnp.where(within, beyond, jnp.zeros((), y.dtype))
    return y + lax.stop_gradient(step)


_EXP = unary_row("exp", jnp.exp)
_EXP2 = unary_row("exp2", _exp2)
_EXPM1 = unary_row("expm1", jnp.expm1)
_LOG = unary_row("log", jnp.log)
_LOG10 = unary_row("log10", _log10)
_LOG1P = unary_row("log1p", jnp.log1p)
_LOG2 = unary_row("log2", _log2)


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
def exp2(x: Tensor) -> Tensor:
    """Computes 2 to the power ``x``; exact for whole ``x``.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; numpy's exp2.

    >>> from maxlite.tensor import Tensor
    >>> exp2(Tensor([3.0])).item()
    8.0
    """
    return apply(_EXP2, (as_tensor("exp2", x),))


@front
def expm1(x: Tensor) -> Tensor:
    """Computes ``exp(x) - 1``, exact for small ``x``.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; numpy's expm1.

    >>> from maxlite.tensor import Tensor
    >>> expm1(Tensor([0.0])).item()
    0.0
    """
    return apply(_EXPM1, (as_tensor("expm1", x),))


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
def log10(x: Tensor) -> Tensor:
    """Computes the logarithm to base 10; NaN below 0.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; numpy's log10.

    >>> from maxlite.tensor import Tensor
    >>> log10(Tensor([1000.0])).item()
    3.0
    """
    return apply(_LOG10, (as_tensor("log10", x),))


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
def log2(x: Tensor) -> Tensor:
    """Computes the logarithm to base 2; NaN below 0.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; numpy's log2.

    >>> from maxlite.tensor import Tensor
    >>> log2(Tensor([8.0])).item()
    3.0
    """
    return apply(_LOG2, (as_tensor("log2", x),))
