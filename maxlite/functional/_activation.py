"""Smooth activations of neural networks, element by element.

Beyond the reference: ``log_sigmoid``, ``logit``, ``mish`` and ``softplus``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
from jax import numpy as jnp

from maxlite._op_table import front
from maxlite.functional._dispatch import apply
from maxlite.functional._operands import as_tensor
from maxlite.functional._unary import unary_row

if TYPE_CHECKING:
    from maxlite.tensor._tensor import Tensor


def _gelu(x: jax.Array, *, approximate: str) -> jax.Array:
    if approximate == "quick":
        return x * jax.nn.sigmoid(x * jnp.asarray(1.702, x.dtype))
    return jax.nn.gelu(x, approximate=approximate == "tanh")


def _logit(x: jax.Array) -> jax.Array:
    return jnp.log(x) - jnp.log1p(-x)


def _mish(x: jax.Array) -> jax.Array:
    return x * jnp.tanh(jax.nn.softplus(x))


_GELU = unary_row("gelu", _gelu, params=("approximate",))
_LOG_SIGMOID = unary_row("log_sigmoid", jax.nn.log_sigmoid)
_LOGIT = unary_row("logit", _logit)
_MISH = unary_row("mish", _mish)
_SIGMOID = unary_row("sigmoid", jax.nn.sigmoid)
_SILU = unary_row("silu", jax.nn.silu)
_SOFTPLUS = unary_row("softplus", jax.nn.softplus)


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
def log_sigmoid(x: Tensor) -> Tensor:
    """Computes the logarithm of :func:`sigmoid`, exact far below 0.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; torch's nn.functional.logsigmoid.

    >>> from maxlite.tensor import Tensor
    >>> log_sigmoid(Tensor([-1000.0])).item()
    -1000.0
    """
    return apply(_LOG_SIGMOID, (as_tensor("log_sigmoid", x),))


@front
def logit(x: Tensor) -> Tensor:
    """Computes ``log(x / (1 - x))``, the inverse of :func:`sigmoid`.

    Infinite at 0 and 1, NaN outside.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; torch's logit.

    >>> from maxlite.tensor import Tensor
    >>> logit(Tensor([0.5])).item()
    0.0
    """
    return apply(_LOGIT, (as_tensor("logit", x),))


@front
def mish(x: Tensor) -> Tensor:
    """Computes ``x * tanh(softplus(x))``.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; torch's nn.functional.mish.

    >>> from maxlite.tensor import Tensor
    >>> mish(Tensor([0.0])).item()
    0.0
    """
    return apply(_MISH, (as_tensor("mish", x),))


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
def softplus(x: Tensor) -> Tensor:
    """Computes ``log(1 + exp(x))``, a smooth :func:`relu`; never overflows.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; torch's nn.functional.softplus.

    >>> from maxlite.tensor import Tensor
    >>> softplus(Tensor([1000.0])).item()
    1000.0
    """
    return apply(_SOFTPLUS, (as_tensor("softplus", x),))
