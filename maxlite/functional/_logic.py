"""Logic on truth values: bool only; ``bitwise_and`` and the like take integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import BOOL, DType
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import broadcast_shapes, check_dtype
from maxlite.functional._operands import as_operands, as_tensor
from maxlite.functional._unary import unary_row
from maxlite.sharding.rules import binary_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _logical_row(name: str, fn: Callable[..., Any]) -> Op:
    def infer(lhs: Spec, rhs: Spec) -> tuple[DType, Any]:
        check_dtype(name, lhs, BOOL, ValueError, "lhs")
        check_dtype(name, rhs, BOOL, ValueError, "rhs")
        return DType.bool, broadcast_shapes(name, lhs.shape, rhs.shape)

    return register(Op(name=name, fn=fn, infer=infer, rule=binary_rule, dtypes=BOOL))


_LOGICAL_AND = _logical_row("logical_and", jnp.logical_and)
_LOGICAL_NOT = unary_row("logical_not", jnp.logical_not, BOOL, error=ValueError)
_LOGICAL_OR = _logical_row("logical_or", jnp.logical_or)
_LOGICAL_XOR = _logical_row("logical_xor", jnp.logical_xor)


@front
def logical_and(lhs: Tensor | float, rhs: Tensor | float) -> Tensor:
    """Tells where both operands are True.

    Args:
        lhs: Bool: a tensor, or one of True, False, 1, 0.
        rhs: Bool: a tensor, or one of True, False, 1, 0; shapes broadcast.

    Returns:
        Bool, in the broadcast shape.

    Raises:
        TypeError: Neither is a tensor, or one is no number.
        ValueError: An operand is not bool (bits of integers are not combined), or the
            shapes do not fit.

    Source: max.experimental.functional.logical_and.

    >>> from maxlite.tensor import Tensor
    >>> from maxlite.dtype import DType
    >>> logical_and(Tensor([True, False], dtype=DType.bool), True).to_numpy().tolist()
    [True, False]
    """
    return apply(_LOGICAL_AND, as_operands("logical_and", lhs, rhs))


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
def logical_or(lhs: Tensor | float, rhs: Tensor | float) -> Tensor:
    """Tells where one operand is True, or both are.

    Args:
        lhs: Bool: a tensor, or one of True, False, 1, 0.
        rhs: Bool: a tensor, or one of True, False, 1, 0; shapes broadcast.

    Returns:
        Bool, in the broadcast shape.

    Raises:
        TypeError: Neither is a tensor, or one is no number.
        ValueError: An operand is not bool (bits of integers are not combined), or the
            shapes do not fit.

    Source: max.experimental.functional.logical_or.

    >>> from maxlite.tensor import Tensor
    >>> from maxlite.dtype import DType
    >>> logical_or(Tensor([True, False], dtype=DType.bool), True).to_numpy().tolist()
    [True, True]
    """
    return apply(_LOGICAL_OR, as_operands("logical_or", lhs, rhs))


@front
def logical_xor(lhs: Tensor | float, rhs: Tensor | float) -> Tensor:
    """Tells where exactly one operand is True.

    Args:
        lhs: Bool: a tensor, or one of True, False, 1, 0.
        rhs: Bool: a tensor, or one of True, False, 1, 0; shapes broadcast.

    Returns:
        Bool, in the broadcast shape.

    Raises:
        TypeError: Neither is a tensor, or one is no number.
        ValueError: An operand is not bool (bits of integers are not combined), or the
            shapes do not fit.

    Source: max.experimental.functional.logical_xor.

    >>> from maxlite.tensor import Tensor
    >>> from maxlite.dtype import DType
    >>> logical_xor(Tensor([True, False], dtype=DType.bool), True).to_numpy().tolist()
    [False, True]
    """
    return apply(_LOGICAL_XOR, as_operands("logical_xor", lhs, rhs))
