"""Ops on the bits of integers; of bools, which have one bit, also ``and`` to ``not``.

They are what ``&``, ``|``, ``^``, ``~``, ``<<`` and ``>>`` mean for tensors. Bits of
floats are not for combining: that is an error of the class that ``logical_and`` raises.

Beyond the reference: all of this family. Its operators combine bools alone, and it has
no shifts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jax import numpy as jnp

from maxlite._op_table import front
from maxlite.dtype import INTEGERS
from maxlite.functional._binary import binary_row
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import BITS
from maxlite.functional._operands import as_operands, as_tensor
from maxlite.functional._unary import unary_row

if TYPE_CHECKING:
    from maxlite.tensor._tensor import Tensor

_BITWISE_AND = binary_row(
    "bitwise_and", jnp.bitwise_and, allowed=BITS, error=ValueError
)
_BITWISE_NOT = unary_row("bitwise_not", jnp.bitwise_not, BITS, error=ValueError)
_BITWISE_OR = binary_row("bitwise_or", jnp.bitwise_or, allowed=BITS, error=ValueError)
_BITWISE_XOR = binary_row(
    "bitwise_xor", jnp.bitwise_xor, allowed=BITS, error=ValueError
)
_LEFT_SHIFT = binary_row("left_shift", jnp.left_shift, allowed=INTEGERS)
_RIGHT_SHIFT = binary_row("right_shift", jnp.right_shift, allowed=INTEGERS)


@front
def bitwise_and(lhs: Tensor | int, rhs: Tensor | int) -> Tensor:
    """Keeps the bits that both operands have.

    Args:
        lhs: Integers or bools: a tensor, or a number.
        rhs: Integers or bools: a tensor, or a number; shapes broadcast.

    Returns:
        The broadcast shape in the promoted dtype.

    Raises:
        TypeError: Neither is a tensor, or one is no number.
        ValueError: An operand is a float, or shapes or dtypes do not fit.

    Source: ours; numpy's bitwise_and.

    >>> from maxlite.tensor import Tensor
    >>> from maxlite.dtype import DType
    >>> bitwise_and(Tensor([12, 10], dtype=DType.int32), 6).to_numpy().tolist()
    [4, 2]
    """
    return apply(_BITWISE_AND, as_operands("bitwise_and", lhs, rhs))


@front
def bitwise_not(x: Tensor) -> Tensor:
    """Inverts every bit; of signed integers ``-x - 1``, of bools the truth value.

    Args:
        x: Any shape; integers or bools.

    Raises:
        TypeError: ``x`` is no tensor.
        ValueError: ``x`` is a float.

    Source: ours; numpy's bitwise_not.

    >>> from maxlite.tensor import Tensor
    >>> from maxlite.dtype import DType
    >>> bitwise_not(Tensor([0, 5], dtype=DType.int32)).to_numpy().tolist()
    [-1, -6]
    """
    return apply(_BITWISE_NOT, (as_tensor("bitwise_not", x),))


@front
def bitwise_or(lhs: Tensor | int, rhs: Tensor | int) -> Tensor:
    """Keeps the bits that one operand has, or both.

    Args:
        lhs: Integers or bools: a tensor, or a number.
        rhs: Integers or bools: a tensor, or a number; shapes broadcast.

    Returns:
        The broadcast shape in the promoted dtype.

    Raises:
        TypeError: Neither is a tensor, or one is no number.
        ValueError: An operand is a float, or shapes or dtypes do not fit.

    Source: ours; numpy's bitwise_or.

    >>> from maxlite.tensor import Tensor
    >>> from maxlite.dtype import DType
    >>> bitwise_or(Tensor([12, 10], dtype=DType.int32), 6).to_numpy().tolist()
    [14, 14]
    """
    return apply(_BITWISE_OR, as_operands("bitwise_or", lhs, rhs))


@front
def bitwise_xor(lhs: Tensor | int, rhs: Tensor | int) -> Tensor:
    """Keeps the bits that exactly one operand has.

    Args:
        lhs: Integers or bools: a tensor, or a number.
        rhs: Integers or bools: a tensor, or a number; shapes broadcast.

    Returns:
        The broadcast shape in the promoted dtype.

    Raises:
        TypeError: Neither is a tensor, or one is no number.
        ValueError: An operand is a float, or shapes or dtypes do not fit.

    Source: ours; numpy's bitwise_xor.

    >>> from maxlite.tensor import Tensor
    >>> from maxlite.dtype import DType
    >>> bitwise_xor(Tensor([12, 10], dtype=DType.int32), 6).to_numpy().tolist()
    [10, 12]
    """
    return apply(_BITWISE_XOR, as_operands("bitwise_xor", lhs, rhs))


@front
def left_shift(lhs: Tensor | int, rhs: Tensor | int) -> Tensor:
    """Multiplies by powers of two: moves the bits to the left, zeros follow.

    Args:
        lhs: Integers: a tensor, or a number.
        rhs: By how many places; a tensor, or a number; shapes broadcast.

    Returns:
        The broadcast shape in the promoted dtype. 0 for as many places as
        there are bits, or more, or less than none.

    Raises:
        TypeError: Neither is a tensor, one is no number, or none is an integer.
        ValueError: Shapes or dtypes do not fit.

    Source: ours; numpy's left_shift.

    >>> from maxlite.tensor import Tensor
    >>> from maxlite.dtype import DType
    >>> left_shift(Tensor([12, -3], dtype=DType.int32), 1).to_numpy().tolist()
    [24, -6]
    """
    return apply(_LEFT_SHIFT, as_operands("left_shift", lhs, rhs))


@front
def right_shift(lhs: Tensor | int, rhs: Tensor | int) -> Tensor:
    """Divides by powers of two, rounding down: moves the bits to the right.

    Args:
        lhs: Integers: a tensor, or a number.
        rhs: By how many places; a tensor, or a number; shapes broadcast.

    Returns:
        The broadcast shape in the promoted dtype. 0, or -1 below 0, for as
        many places as there are bits, or more, or less than none.

    Raises:
        TypeError: Neither is a tensor, one is no number, or none is an integer.
        ValueError: Shapes or dtypes do not fit.

    Source: ours; numpy's right_shift.

    >>> from maxlite.tensor import Tensor
    >>> from maxlite.dtype import DType
    >>> right_shift(Tensor([12, -3], dtype=DType.int32), 1).to_numpy().tolist()
    [6, -2]
    """
    return apply(_RIGHT_SHIFT, as_operands("right_shift", lhs, rhs))
