"""Matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.functional._binary import promoted
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import broadcast_shapes, promoted_dtype
from maxlite.functional._operands import beside
from maxlite.graph._shape import shape_text
from maxlite.sharding.rules import matmul_rule, outer_rule

if TYPE_CHECKING:
    from maxlite.dtype import DType
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _matmul(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
    return jnp.matmul(*promoted(lhs, rhs))


def _infer_matmul(lhs: Spec, rhs: Spec) -> tuple[DType, Any]:
    dtype = promoted_dtype("matmul", lhs, rhs)
    if not lhs.rank or not rhs.rank:
        raise ValueError(
            "matmul: operands must have at least one axis, got "
            f"{shape_text(lhs.shape)} and {shape_text(rhs.shape)}. Use mul for numbers."
        )
    inner = rhs.shape[-2] if rhs.rank > 1 else rhs.shape[0]
    if lhs.shape[-1] != inner:
        raise ValueError(
            "matmul: the inner dims must be equal, got lhs "
            f"{shape_text(lhs.shape)} and rhs {shape_text(rhs.shape)}. Transpose or "
            "rebind one of them."
        )
    batch = broadcast_shapes("matmul", lhs.shape[:-2], rhs.shape[:-2])
    rows = lhs.shape[-2:-1]
    columns = rhs.shape[-1:] if rhs.rank > 1 else ()
    return dtype, (*batch, *rows, *columns)


def _outer(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
    left, right = promoted(lhs, rhs)
    return left[:, None] * right[None, :]


def _infer_outer(lhs: Spec, rhs: Spec) -> tuple[DType, Any]:
    dtype = promoted_dtype("outer", lhs, rhs)
    if lhs.rank != 1 or rhs.rank != 1:
        raise ValueError(
            "outer: both operands must have one axis, got "
            f"{shape_text(lhs.shape)} and {shape_text(rhs.shape)}. Flatten them first."
        )
    return dtype, (*lhs.shape, *rhs.shape)


_MATMUL = register(Op(name="matmul", fn=_matmul, infer=_infer_matmul, rule=matmul_rule))
_OUTER = register(Op(name="outer", fn=_outer, infer=_infer_outer, rule=outer_rule))


@front
def matmul(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Multiplies matrices, with numpy's rules for vectors and batches.

    A contraction over an axis that both operands shard leaves a pending sum: each
    device multiplies its blocks, and nothing is communicated.

    Args:
        lhs: Shape ``[*batch, m, k]`` or ``[k]``.
        rhs: Shape ``[*batch, k, n]`` or ``[k]``; batch axes broadcast.

    Returns:
        Shape ``[*batch, m, n]`` without the axes that a vector lacks, in the promoted
        dtype.

    Raises:
        TypeError: An operand is no tensor.
        ValueError: Inner dims, batch dims or dtypes do not fit.

    Source: max.experimental.functional.matmul.

    >>> from maxlite.tensor import Tensor
    >>> matmul(Tensor([[1.0, 2.0]]), Tensor([[3.0], [4.0]])).item()
    11.0
    """
    return apply(_MATMUL, beside("matmul", lhs=lhs, rhs=rhs))


@front
def outer(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Multiplies every element of one vector with every element of another.

    Args:
        lhs: Shape ``[m]``.
        rhs: Shape ``[n]``.

    Returns:
        Shape ``[m, n]`` in the promoted dtype.

    Raises:
        TypeError: An operand is no tensor.
        ValueError: An operand is no vector, or the dtypes do not fit.

    Source: max.experimental.functional.outer.

    >>> from maxlite.tensor import Tensor
    >>> outer(Tensor([1.0, 2.0]), Tensor([3.0])).to_numpy().tolist()
    [[3.0], [6.0]]
    """
    return apply(_OUTER, beside("outer", lhs=lhs, rhs=rhs))
