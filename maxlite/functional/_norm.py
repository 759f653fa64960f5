"""Normalisations: elements brought to a common scale by their own statistics.

Statistics of floats below 32 bits are taken in float32.
"""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import FLOATS
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import check_dtype, real_number
from maxlite.functional._operands import beside
from maxlite.functional._reduction import widened
from maxlite.graph._shape import shape_text
from maxlite.sharding.rules import all_replicated_rule, norm_rule

if TYPE_CHECKING:
    from maxlite.dtype import DType
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _layer_norm(
    x: jax.Array, gamma: jax.Array, beta: jax.Array, *, epsilon: float
) -> jax.Array:
    scaled = _standardised(widened(x), epsilon) * widened(gamma) + widened(beta)
    return scaled.astype(x.dtype)


def _standardised(x: jax.Array, epsilon: float) -> jax.Array:
    """Brings the last axis to mean 0 and variance 1."""
    centered = x - jnp.mean(x, -1, keepdims=True)
    variance = jnp.mean(jnp.square(centered), -1, keepdims=True)
    return centered * lax.rsqrt(variance + epsilon)


def _infer_layer_norm(
    x: Spec, gamma: Spec, beta: Spec, *, epsilon: float
) -> tuple[DType, Any]:
    _check_input("layer_norm", x, 1)
    _check_weight("layer_norm", gamma, "gamma", x, -1)
    _check_weight("layer_norm", beta, "beta", x, -1)
    return x.dtype, x.shape


def _rms_norm(
    x: jax.Array,
    weight: jax.Array,
    *,
    epsilon: float,
    weight_offset: float,
    multiply_before_cast: bool,
) -> jax.Array:
    wide = widened(x)
    square = jnp.mean(jnp.square(wide), -1, keepdims=True)
    normed = wide * lax.rsqrt(square + epsilon)
    factor = widened(weight) + weight_offset
    if multiply_before_cast:
        return (normed * factor).astype(x.dtype)
    return normed.astype(x.dtype) * factor.astype(x.dtype)


def _infer_rms_norm(x: Spec, weight: Spec, **_: Any) -> tuple[DType, Any]:
    _check_input("rms_norm", x, 1)
    _check_weight("rms_norm", weight, "weight", x, -1)
    return x.dtype, x.shape


def _group_norm(
    x: jax.Array, gamma: jax.Array, beta: jax.Array, *, num_groups: int, epsilon: float
) -> jax.Array:
    size = x.shape[1] // num_groups * math.prod(x.shape[2:])
    groups = jnp.reshape(widened(x), (x.shape[0], num_groups, size))
    normed = jnp.reshape(_standardised(groups, epsilon), x.shape)
    per_channel = (x.shape[1], *(1 for _ in x.shape[2:]))
    scale, shift = (jnp.reshape(widened(w), per_channel) for w in (gamma, beta))
    return (normed * scale + shift).astype(x.dtype)


def _infer_group_norm(
    x: Spec, gamma: Spec, beta: Spec, *, num_groups: int, epsilon: float
) -> tuple[DType, Any]:
    _check_input("group_norm", x, 2)
    _check_weight("group_norm", gamma, "gamma", x, 1)
    _check_weight("group_norm", beta, "beta", x, 1)
    channels = x.shape[1]
    if num_groups < 1 or (isinstance(channels, int) and channels % num_groups):
        raise ValueError(
            f"group_norm: the channels must divide into num_groups, got {channels} "
            f"channels and {num_groups} groups. Pass a divisor of the channels."
        )
    return x.dtype, x.shape


def _check_input(who: str, x: Spec, rank: int) -> None:
    check_dtype(who, x, FLOATS, name="input")
    if x.rank < rank:
        raise ValueError(
            f"{who}: the rank of input must be at least {rank}, got "
            f"{shape_text(x.shape)}. Unsqueeze it."
        )


def _check_weight(who: str, weight: Spec, name: str, x: Spec, axis: int) -> None:
    if weight.shape != (x.shape[axis],):
        raise ValueError(
            f"{who}: {name} must have one element for each of axis {axis} of the "
            f"input, got {name} {shape_text(weight.shape)} and input "
            f"{shape_text(x.shape)}. Reshape or rebind one of them."
        )
    if weight.dtype is not x.dtype:
        raise ValueError(
            f"{who}: {name} must have the dtype of the input, got {weight.dtype.name} "
            f"and {x.dtype.name}. Cast one of them."
        )


def _checked_epsilon(who: str, epsilon: Any, *, zero: bool = True) -> float:
    if not isinstance(epsilon, numbers.Real):
        raise TypeError(
            f"{who}: epsilon must be a number, got {type(epsilon).__name__}. Pass a "
            "Python float."
        )
    value = float(epsilon)
    if not (value > 0 or (zero and value == 0)):
        wanted = "at least 0" if zero else "above 0"
        raise ValueError(
            f"{who}: epsilon must be {wanted}, got {value}. Pass a small one, such as "
            "1e-5."
        )
    return value


_LAYER_NORM = register(
    Op(
        name="layer_norm",
        fn=_layer_norm,
        infer=_infer_layer_norm,
        rule=norm_rule,
        params=("epsilon",),
        dtypes=FLOATS,
    )
)
_RMS_NORM = register(
    Op(
        name="rms_norm",
        fn=_rms_norm,
        infer=_infer_rms_norm,
        rule=norm_rule,
        params=("epsilon", "weight_offset", "multiply_before_cast"),
        dtypes=FLOATS,
    )
)
_GROUP_NORM = register(
    Op(
        name="group_norm",
        fn=_group_norm,
        infer=_infer_group_norm,
        rule=all_replicated_rule,
        params=("num_groups", "epsilon"),
        dtypes=FLOATS,
    )
)


@front
def layer_norm(input: Tensor, gamma: Tensor, beta: Tensor, epsilon: float) -> Tensor:
    """Normalises the last axis to mean 0 and variance 1, then scales and shifts it.

    Computes ``(x - mean(x)) / sqrt(var(x) + epsilon) * gamma + beta``.

    Args:
        input: Shape ``[*batch, n]``; floats.
        gamma: Scale, shape ``[n]``, in the dtype of ``input``.
        beta: Shift, shape ``[n]``, in the dtype of ``input``.
        epsilon: Above 0; keeps the divisor from being 0.

    Returns:
        Shape and dtype of ``input``. A sharded batch axis stays sharded; the last axis
        and the weights must be whole.

    Raises:
        TypeError: An operand is no tensor, ``input`` no float, ``epsilon`` no number.
        ValueError: Shapes or dtypes do not fit, or ``epsilon`` is not above 0.

    Source: max.experimental.functional.layer_norm.

    >>> from maxlite.tensor import Tensor
    >>> ones, zeros = Tensor([1.0, 1.0]), Tensor([0.0, 0.0])
    >>> layer_norm(Tensor([[0.0, 2.0]]), ones, zeros, epsilon=3.0).to_numpy().tolist()
    [[-0.5, 0.5]]
    """
    operands = beside("layer_norm", input=input, gamma=gamma, beta=beta)
    small = _checked_epsilon("layer_norm", epsilon, zero=False)
    return apply(_LAYER_NORM, operands, small)


@front
def rms_norm(
    input: Tensor,
    weight: Tensor,
    epsilon: float,
    weight_offset: float = 0.0,
    multiply_before_cast: bool = False,
) -> Tensor:
    """Divides the last axis by the root of its mean square, then scales it.

    Computes ``x / sqrt(mean(x**2) + epsilon) * (weight + weight_offset)``.

    Args:
        input: Shape ``[*batch, n]``; floats.
        weight: Scale, shape ``[n]``, in the dtype of ``input``.
        epsilon: At least 0; keeps the divisor from being 0.
        weight_offset: Added to the weight; 1 in models that store the scale less 1.
        multiply_before_cast: Whether floats below 32 bits are scaled in float32, or
            only after they are back in the dtype of ``input``.

    Returns:
        Shape and dtype of ``input``. A sharded batch axis stays sharded; the last axis
        and the weight must be whole.

    Raises:
        TypeError: An operand is no tensor, ``input`` no float, or a number is none.
        ValueError: Shapes or dtypes do not fit, or ``epsilon`` is below 0.

    Source: max.experimental.functional.rms_norm.

    >>> from maxlite.tensor import Tensor
    >>> x, weight = Tensor([[3.0, 3.0]]), Tensor([1.0, 0.5])
    >>> rms_norm(x, weight, epsilon=0.0).to_numpy().tolist()
    [[1.0, 0.5]]
    """
    operands = beside("rms_norm", input=input, weight=weight)
    small = _checked_epsilon("rms_norm", epsilon)
    offset = real_number("rms_norm", weight_offset, "weight_offset")
    early = bool(multiply_before_cast)
    return apply(_RMS_NORM, operands, small, offset, early)


@front
def group_norm(
    input: Tensor, gamma: Tensor, beta: Tensor, num_groups: int, epsilon: float
) -> Tensor:
    """Normalises groups of channels to mean 0 and variance 1, then scales and shifts.

    Args:
        input: Shape ``[n, channels, *rest]``; floats.
        gamma: Scale, shape ``[channels]``, in the dtype of ``input``.
        beta: Shift, shape ``[channels]``, in the dtype of ``input``.
        num_groups: Divides the channels; a group is neighbouring channels, with all of
            the axes after them.
        epsilon: At least 0; keeps the divisor from being 0.

    Returns:
        Shape and dtype of ``input``; every operand must be whole.

    Raises:
        TypeError: An operand is no tensor, ``input`` no float, ``epsilon`` no number.
        ValueError: Shapes or dtypes do not fit, the channels do not divide, or
            ``epsilon`` is below 0.

    Source: max.experimental.functional.group_norm.

    >>> from maxlite.tensor import Tensor
    >>> x = Tensor([[[0.0], [2.0], [5.0], [5.0]]])
    >>> ones, zeros = Tensor([1.0] * 4), Tensor([0.0] * 4)
    >>> group_norm(x, ones, zeros, num_groups=2, epsilon=3.0).to_numpy().tolist()
    [[[-0.5], [0.5], [0.0], [0.0]]]
    """
    operands = beside("group_norm", input=input, gamma=gamma, beta=beta)
    if isinstance(num_groups, bool) or not hasattr(num_groups, "__index__"):
        raise TypeError(
            f"group_norm: num_groups must be an int, got {type(num_groups).__name__}."
        )
    small = _checked_epsilon("group_norm", epsilon)
    return apply(_GROUP_NORM, operands, num_groups.__index__(), small)
