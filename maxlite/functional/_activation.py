"""Activations of neural networks, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
from jax import numpy as jnp

from maxlite._op_table import front
from maxlite.dtype import NUMBERS
from maxlite.functional._dispatch import apply, as_tensor
from maxlite.functional._unary import unary_row

if TYPE_CHECKING:
    from maxlite.tensor._tensor import Tensor


def _relu(x: jax.Array) -> jax.Array:
    return jnp.maximum(x, jnp.zeros((), x.dtype))


def _gelu(x: jax.Array, *, approximate: str) -> jax.Array:
    if x.dtype.itemsize == 1:  # XLA has no error function of eight bits
        wide = _gelu(x.astype(jnp.float32), approximate=approximate)
        return wide.astype(x.dtype)
    if approximate == "quick":
        return x * jax.nn.sigmoid(x * jnp.asarray(1.702, x.dtype))
    return jax.nn.gelu(x, approximate=approximate == "tanh")


_GELU = unary_row("gelu", _gelu, params=("approximate",))
_RELU = unary_row("relu", _relu, NUMBERS)
_SIGMOID = unary_row("sigmoid", jax.nn.sigmoid)
_SILU = unary_row("silu", jax.nn.silu)


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
