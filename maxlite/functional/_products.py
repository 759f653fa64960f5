"""Products of vectors and of matrices that are no matrix product.

Operands promote; floats below 32 bits are computed in float32. The ops are linear in
each operand, so one may be a pending sum while the other is whole.

Beyond the reference: the whole family, with numpy's names and meaning. ``dot`` is for
two vectors only, where numpy's also multiplies matrices and pairs other axes than
matmul does.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import jax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import NUMBERS
from maxlite.functional._binary import promoted
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import (
    broadcast_shapes,
    check_dtype,
    normal_axis,
    promoted_dtype,
)
from maxlite.functional._matmul import matmul
from maxlite.functional._operands import beside
from maxlite.functional._precision import widened
from maxlite.graph._shape import compact_shape, shape_text
from maxlite.sharding.rules import cross_rule, kron_rule

if TYPE_CHECKING:
    from maxlite.dtype import DType
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _kron(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
    left, right = promoted(lhs, rhs)
    rank = max(left.ndim, right.ndim)
    blocks, sizes = _padded(left.shape, rank), _padded(right.shape, rank)
    spread = jnp.reshape(left, [n for block in blocks for n in (block, 1)])
    inner = jnp.reshape(right, [n for size in sizes for n in (1, size)])
    return jnp.reshape(spread * inner, list(map(operator.mul, blocks, sizes)))


def _infer_kron(lhs: Spec, rhs: Spec) -> tuple[DType, Any]:
    rank = max(lhs.rank, rhs.rank)
    blocks, sizes = _padded(lhs.shape, rank), _padded(rhs.shape, rank)
    dtype = promoted_dtype("kron", lhs, rhs)
    return dtype, compact_shape(map(operator.mul, blocks, sizes))


def _padded(shape: tuple[Any, ...], rank: int) -> tuple[Any, ...]:
    return (1,) * (rank - len(shape)) + shape


def _cross(lhs: jax.Array, rhs: jax.Array, *, axis: int) -> jax.Array:
    same = promoted(lhs, rhs)
    left, right = map(widened, same)
    forth = jnp.roll(left, -1, axis) * jnp.roll(right, -2, axis)
    back = jnp.roll(left, -2, axis) * jnp.roll(right, -1, axis)
    return (forth - back).astype(same[0].dtype)


def _infer_cross(lhs: Spec, rhs: Spec, *, axis: int) -> tuple[DType, Any]:
    check_dtype("cross", lhs, NUMBERS, name="lhs")
    check_dtype("cross", rhs, NUMBERS, name="rhs")
    if lhs.shape[axis] != 3 or rhs.shape[axis] != 3:
        raise ValueError(
            "cross: the axis of the vectors must have size 3, got lhs "
            f"{shape_text(lhs.shape)} and rhs {shape_text(rhs.shape)} with axis "
            f"{axis}. Name another axis, or rebind it to 3."
        )
    dtype = promoted_dtype("cross", lhs, rhs)
    return dtype, broadcast_shapes("cross", lhs.shape, rhs.shape)


_KRON = register(Op(name="kron", fn=_kron, infer=_infer_kron, rule=kron_rule))
_CROSS = register(
    Op(
        name="cross",
        fn=_cross,
        infer=_infer_cross,
        rule=cross_rule,
        params=("axis",),
        dtypes=NUMBERS,
    )
)


@front
def dot(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Multiplies two vectors and adds up the products.

    Args:
        lhs: Shape ``[n]``.
        rhs: Shape ``[n]``.

    Returns:
        Rank 0, in the promoted dtype. A pending sum where both are sharded.

    Raises:
        TypeError: An operand is no tensor.
        ValueError: An operand is no vector, or sizes or dtypes do not fit.

    Source: ours; numpy's dot, for vectors.

    >>> from maxlite.tensor import Tensor
    >>> dot(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])).item()
    11.0
    """
    lhs, rhs = beside("dot", lhs=lhs, rhs=rhs)
    if lhs.rank != 1 or rhs.rank != 1:
        raise ValueError(
            "dot: both operands must have one axis, got "
            f"{shape_text(lhs._spec.shape)} and {shape_text(rhs._spec.shape)}. Use "
            "matmul or tensordot."
        )
    return matmul(lhs, rhs)


@front
def kron(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Puts a multiple of ``rhs`` in the place of each element of ``lhs``.

    Args:
        lhs: Any shape.
        rhs: Any shape; the one of smaller rank gets axes of size 1 in front.

    Returns:
        The sizes multiplied axis by axis, in the promoted dtype. Sharded along an axis
        as ``lhs`` is, when its size divides; as ``rhs`` is where ``lhs`` has size 1.

    Raises:
        TypeError: An operand is no tensor.
        ValueError: The dtypes do not promote.

    Source: ours; numpy's kron.

    >>> from maxlite.tensor import Tensor
    >>> kron(Tensor([1.0, 10.0]), Tensor([1.0, 2.0])).to_numpy().tolist()
    [1.0, 2.0, 10.0, 20.0]
    """
    return apply(_KRON, beside("kron", lhs=lhs, rhs=rhs))


@front
def cross(lhs: Tensor, rhs: Tensor, axis: int = -1) -> Tensor:
    """Takes the cross product of vectors of three elements.

    Args:
        lhs: Size 3 at ``axis``; integers or floats.
        rhs: Size 3 at ``axis``; the other axes broadcast.
        axis: Axis of the vectors; a negative one counts from the end. It must be
            negative for operands of different ranks.

    Returns:
        The broadcast shape, in the promoted dtype. The axis of the vectors must be
        whole, the others may be sharded.

    Raises:
        TypeError: An operand is no tensor or bool, or ``axis`` no int.
        ValueError: There is no such axis, or sizes or dtypes do not fit.

    Source: ours; numpy's cross.

    >>> from maxlite.tensor import Tensor
    >>> cross(Tensor([1.0, 0.0, 0.0]), Tensor([0.0, 1.0, 0.0])).to_numpy().tolist()
    [0.0, 0.0, 1.0]
    """
    lhs, rhs = beside("cross", lhs=lhs, rhs=rhs)
    rank = min(lhs.rank, rhs.rank)
    at = normal_axis("cross", axis, rank) - rank
    if axis >= 0 and lhs.rank != rhs.rank:
        raise ValueError(
            f"cross: axis must be negative for ranks {lhs.rank} and {rhs.rank}, got "
            f"{axis}. Count it from the end."
        )
    return apply(_CROSS, (lhs, rhs), at)
