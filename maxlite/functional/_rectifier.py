"""Activations of neural networks that are made of straight pieces, or nearly so.

Beyond the reference: all but ``relu``. The values are those of torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
from jax import numpy as jnp

from maxlite._op_table import front
from maxlite.dtype import NUMBERS
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import real_number
from maxlite.functional._operands import as_tensor
from maxlite.functional._unary import unary_row

if TYPE_CHECKING:
    from maxlite.tensor._tensor import Tensor

_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805
"""Chosen so that normal activations stay normal (Klambauer et al., 2017)."""


def _relu(x: jax.Array) -> jax.Array:
    return jnp.maximum(x, jnp.zeros((), x.dtype))


def _relu6(x: jax.Array) -> jax.Array:
    return jnp.minimum(_relu(x), jnp.asarray(6, x.dtype))


def _leaky_relu(x: jax.Array, *, negative_slope: float) -> jax.Array:
    return jnp.where(x >= 0, x, x * jnp.asarray(negative_slope, x.dtype))


def _elu(x: jax.Array, *, alpha: float) -> jax.Array:
    above = x > 0
    # Large elements are kept from the exponential, which would overflow.
    below = jnp.expm1(jnp.where(above, jnp.zeros((), x.dtype), x))
    return jnp.where(above, x, below * jnp.asarray(alpha, x.dtype))


def _selu(x: jax.Array) -> jax.Array:
    return _elu(x, alpha=_SELU_ALPHA) * jnp.asarray(_SELU_SCALE, x.dtype)


def _hard_sigmoid(x: jax.Array) -> jax.Array:
    return _relu6(x + jnp.asarray(3, x.dtype)) / jnp.asarray(6, x.dtype)


def _hard_swish(x: jax.Array) -> jax.Array:
    return x * _hard_sigmoid(x)


_ELU = unary_row("elu", _elu, params=("alpha",))
_HARD_SIGMOID = unary_row("hard_sigmoid", _hard_sigmoid)
_HARD_SWISH = unary_row("hard_swish", _hard_swish)
_LEAKY_RELU = unary_row("leaky_relu", _leaky_relu, params=("negative_slope",))
_RELU = unary_row("relu", _relu, NUMBERS)
_RELU6 = unary_row("relu6", _relu6, NUMBERS)
_SELU = unary_row("selu", _selu)


@front
def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """Replaces negative elements by ``alpha * (exp(x) - 1)``; NaN stays NaN.

    Args:
        x: Any shape; floats.
        alpha: Minus the limit far below 0.

    Raises:
        TypeError: ``x`` is no float, or ``alpha`` is no number.

    Source: ours; torch's nn.functional.elu.

    >>> from maxlite.tensor import Tensor
    >>> elu(Tensor([float("-inf")])).item()
    -1.0
    """
    factor = real_number("elu", alpha, "alpha")
    return apply(_ELU, (as_tensor("elu", x),), factor)


@front
def hard_sigmoid(x: Tensor) -> Tensor:
    """Rises from 0 at -3 to 1 at 3 in a straight line, and is flat outside.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; torch's nn.functional.hardsigmoid.

    >>> from maxlite.tensor import Tensor
    >>> hard_sigmoid(Tensor([0.0])).item()
    0.5
    """
    return apply(_HARD_SIGMOID, (as_tensor("hard_sigmoid", x),))


@front
def hard_swish(x: Tensor) -> Tensor:
    """Computes ``x * hard_sigmoid(x)``.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; torch's nn.functional.hardswish.

    >>> from maxlite.tensor import Tensor
    >>> hard_swish(Tensor([3.0])).item()
    3.0
    """
    return apply(_HARD_SWISH, (as_tensor("hard_swish", x),))


@front
def leaky_relu(x: Tensor, negative_slope: float = 0.01) -> Tensor:
    """Multiplies negative elements by a small factor; NaN stays NaN.

    Args:
        x: Any shape; floats.
        negative_slope: Factor of the negative elements.

    Raises:
        TypeError: ``x`` is no float, or ``negative_slope`` is no number.

    Source: ours; torch's nn.functional.leaky_relu.

    >>> from maxlite.tensor import Tensor
    >>> leaky_relu(Tensor([-2.0, 2.0]), 0.5).to_numpy().tolist()
    [-1.0, 2.0]
    """
    factor = real_number("leaky_relu", negative_slope, "negative_slope")
    return apply(_LEAKY_RELU, (as_tensor("leaky_relu", x),), factor)


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
def relu6(x: Tensor) -> Tensor:
    """Bounds the elements by 0 and 6; NaN stays NaN.

    Args:
        x: Any shape; integers or floats.

    Raises:
        TypeError: ``x`` is bool.

    Source: ours; torch's nn.functional.relu6.

    >>> from maxlite.tensor import Tensor
    >>> relu6(Tensor([-1.0, 7.0])).to_numpy().tolist()
    [0.0, 6.0]
    """
    return apply(_RELU6, (as_tensor("relu6", x),))


@front
def selu(x: Tensor) -> Tensor:
    """Applies the scaled exponential linear unit, which keeps normal activations so.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; torch's nn.functional.selu.

    >>> from maxlite.tensor import Tensor
    >>> selu(Tensor([0.0])).item()
    0.0
    """
    return apply(_SELU, (as_tensor("selu", x),))
