"""Complex numbers as pairs of reals on the last axis: real part, imaginary part.

Beyond the reference: ``irfft`` works on every device, and on floats of any width.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import FLOATS, NUMBERS
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import (
    broadcast_shapes,
    check_dtype,
    normal_axis,
    promoted_dtype,
)
from maxlite.functional._operands import as_tensor, beside
from maxlite.functional._precision import widened
from maxlite.graph import Dim
from maxlite.graph._normalization import Normalization
from maxlite.graph._shape import compact_dim, shape_text
from maxlite.sharding.rules import complex_mul_rule, interleaved_rule, irfft_rule

if TYPE_CHECKING:
    from maxlite.dtype import DType
    from maxlite.graph import DimLike
    from maxlite.graph._shape import CompactShape
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _interleaved(x: jax.Array) -> jax.Array:
    *batch, last = x.shape
    _check_even(last, x.shape)
    return x.reshape(*batch, last // 2, 2)


def _infer_interleaved(x: Spec) -> tuple[DType, CompactShape]:
    if not x.rank:
        raise ValueError("as_interleaved_complex: x must have an axis, got rank 0.")
    *batch, last = x.shape
    if isinstance(last, int):
        _check_even(last, x.shape)
    return x.dtype, (*batch, compact_dim(last // 2), 2)


def _check_even(size: int, shape: Any) -> None:
    if size % 2:
        raise ValueError(
            "as_interleaved_complex: the last size must be even, got shape "
            f"{shape_text(shape)}. A number is two elements."
        )


def _complex_mul(lhs: jax.Array, rhs: jax.Array, *, dtype: DType) -> jax.Array:
    target = dtype.to_jax()
    x, y = widened(lhs.astype(target)), widened(rhs.astype(target))
    a, b, c, d = x[..., 0], x[..., 1], y[..., 0], y[..., 1]
    return jnp.stack([a * c - b * d, a * d + b * c], -1).astype(target)


def _infer_complex_mul(
    lhs: Spec, rhs: Spec, *, dtype: DType
) -> tuple[DType, CompactShape]:
    for operand, name in ((lhs, "lhs"), (rhs, "rhs")):
        check_dtype("complex_mul", operand, NUMBERS, name=name)
        if not operand.rank or operand.shape[-1] != 2:
            raise ValueError(
                "complex_mul: the last size must be 2, real part and imaginary part, "
                f"got {name} {shape_text(operand.shape)}. Use as_interleaved_complex."
            )
    return dtype, broadcast_shapes("complex_mul", lhs.shape, rhs.shape)


def _irfft(
    x: jax.Array, *, size: Any, axis: int, norm: str, input_is_complex: bool
) -> jax.Array:
    wide = widened(x)
    numbers = (
        lax.complex(wide[..., 0], wide[..., 1])
        if input_is_complex
        else lax.complex(wide, jnp.zeros_like(wide))
    )
    if not size:
        # JAX refuses what is empty by any measure.
        shape = (*numbers.shape[:axis], 0, *numbers.shape[axis + 1 :])
        return jnp.zeros(shape, x.dtype)
    return jnp.fft.irfft(numbers, size, axis, norm).astype(x.dtype)


def _infer_irfft(
    x: Spec, *, size: Any, axis: int, norm: str, input_is_complex: bool
) -> tuple[DType, CompactShape]:
    check_dtype("irfft", x, FLOATS, ValueError, "input_tensor")
    shape = x.shape[:-1] if input_is_complex else x.shape
    return x.dtype, (*shape[:axis], size, *shape[axis + 1 :])


_INTERLEAVED = register(
    Op(
        name="as_interleaved_complex",
        fn=_interleaved,
        infer=_infer_interleaved,
        rule=interleaved_rule,
    )
)
_COMPLEX_MUL = register(
    Op(
        name="complex_mul",
        fn=_complex_mul,
        infer=_infer_complex_mul,
        rule=complex_mul_rule,
        params=("dtype",),
        dtypes=NUMBERS,
    )
)
_IRFFT = register(
    Op(
        name="irfft",
        fn=_irfft,
        infer=_infer_irfft,
        rule=irfft_rule,
        params=("size", "axis", "norm", "input_is_complex"),
        runs_locally=True,
        dtypes=FLOATS,
    )
)


@front
def as_interleaved_complex(x: Tensor) -> Tensor:
    """Reads pairs of elements on the last axis as complex numbers.

    Args:
        x: Shape ``[*batch, 2 * k]``; real and imaginary parts in turn.

    Returns:
        Shape ``[*batch, k, 2]``, dtype of ``x``. A cut stays where it is, if it tears
        no pair, and a pending sum stays one.

    Raises:
        TypeError: ``x`` is no tensor.
        ValueError: The last size is odd, or there is no axis.

    Source: max.experimental.functional.as_interleaved_complex.

    >>> from maxlite.tensor import Tensor
    >>> as_interleaved_complex(Tensor([1.0, 2.0, 3.0, 4.0])).to_numpy().tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return apply(_INTERLEAVED, (as_tensor("as_interleaved_complex", x),))


@front
def complex_mul(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Multiplies complex numbers that are stored as pairs.

    Args:
        lhs: Shape ``[*batch, 2]``; real part, imaginary part.
        rhs: The same; batch axes broadcast.

    Returns:
        Shape ``[*batch, 2]``, dtype as of a product. Batch axes may be sharded; one
        operand may be a pending sum if the other is whole.

    Raises:
        TypeError: An operand is no tensor of numbers.
        ValueError: The last size is not 2, or shapes or dtypes do not fit.

    Source: max.experimental.functional.complex_mul.

    >>> from maxlite.tensor import Tensor
    >>> complex_mul(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])).to_numpy().tolist()
    [-5.0, 10.0]
    """
    lhs, rhs = beside("complex_mul", lhs=lhs, rhs=rhs)
    dtype = promoted_dtype("complex_mul", lhs._spec, rhs._spec)
    return apply(_COMPLEX_MUL, (lhs, rhs), dtype)


@front
def irfft(
    input_tensor: Tensor,
    n: DimLike | None = None,
    axis: int = -1,
    normalization: Normalization | str = Normalization.BACKWARD,
    input_is_complex: bool = False,
    buffer_size_mb: int = 512,
) -> Tensor:
    """Computes real values from the first half of their Fourier transform.

    Args:
        input_tensor: The transform; floats. With ``input_is_complex`` of shape
            ``[*axes, 2]``, real part and imaginary part; without, ``[*axes]`` and the
            imaginary parts are 0.
        n: How many values; None or 0 for ``2 * (k - 1)``, with ``k`` the size of the
            axis. The transform is cut off, or filled up with 0, to ``n // 2 + 1``.
        axis: Axis of the transform, not counting that of the pairs.
        normalization: Whether the result is divided by ``n`` (BACKWARD), by its root
            (ORTHO) or by 1 (FORWARD); also as a lower-case string.
        input_is_complex: Whether the last axis holds pairs.
        buffer_size_mb: Accepted for the reference's sake.

    Returns:
        Shape ``[*axes]`` with ``n`` at ``axis``, dtype of ``input_tensor``. Other axes
        may be sharded.

    Raises:
        TypeError: ``input_tensor`` is no tensor.
        ValueError: It has no floats, or pairs are not of size 2; there is no such axis
            or normalization; ``n`` is negative.

    Source: max.experimental.functional.irfft.

    >>> from maxlite.tensor import Tensor
    >>> irfft(Tensor([4.0, 0.0, 4.0])).to_numpy().tolist()
    [2.0, 0.0, 2.0, 0.0]
    """
    as_tensor("irfft", input_tensor, "input_tensor")
    shape = input_tensor._spec.shape
    if input_is_complex:
        if not shape or shape[-1] != 2:
            raise ValueError(
                "irfft: the last size of complex input must be 2, real part and "
                f"imaginary part, got {shape_text(shape)}. Use as_interleaved_complex."
            )
        shape = shape[:-1]
    at = normal_axis("irfft", axis, len(shape))
    try:
        norm = Normalization(normalization).value
    except ValueError:
        raise ValueError(
            "irfft: normalization must be 'backward', 'ortho' or 'forward', got "
            f"{normalization!r}."
        ) from None
    size = _irfft_size(n, shape[at])
    return apply(_IRFFT, (input_tensor,), size, at, norm, bool(input_is_complex))


def _irfft_size(n: Any, present: int | Dim) -> int | Dim:
    stated = (
        None if n is None else n if isinstance(n, (Dim, str)) else operator.index(n)
    )
    if stated is None or stated == 0:
        made = (Dim(present) - 1) * 2
        return max(int(made), 0) if isinstance(present, int) else compact_dim(made)
    size = compact_dim(stated)
    if isinstance(size, int) and size < 0:
        raise ValueError(f"irfft: n must be 0 or more, got {size}.")
    return size
