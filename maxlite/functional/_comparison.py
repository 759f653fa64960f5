"""Comparisons, and choices that depend on truth values.

Comparing with NaN gives False, except that NaN is not equal to anything.

Beyond the reference: ``less`` and ``less_equal``, which there are :func:`greater` and
:func:`greater_equal` with the operands swapped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import BOOL, DType, promote
from maxlite.functional._binary import binary_row, promoted
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import broadcast_shapes, check_dtype, promoted_dtype
from maxlite.functional._operands import (
    as_operand,
    as_operands,
    as_positions,
    as_tensor,
)
from maxlite.sharding.rules import ternary_rule
from maxlite.tensor._tensor import Tensor

if TYPE_CHECKING:
    from maxlite.graph._spec import Spec


def _where(cond: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.where(cond, *promoted(x, y))


def _infer_where(cond: Spec, x: Spec, y: Spec) -> tuple[DType, Any]:
    check_dtype("where", cond, BOOL, ValueError, "cond")
    dtype = promoted_dtype("where", x, y)
    return dtype, broadcast_shapes("where", cond.shape, x.shape, y.shape)


def _clamp(x: jax.Array, lower: jax.Array, upper: jax.Array) -> jax.Array:
    bounded = jnp.minimum(*promoted(x, upper))
    return jnp.maximum(*promoted(bounded, lower))


def _infer_clamp(x: Spec, lower: Spec, upper: Spec) -> tuple[DType, Any]:
    dtype = promote(promoted_dtype("clamp", x, upper), lower.dtype, who="clamp")
    return dtype, broadcast_shapes("clamp", x.shape, lower.shape, upper.shape)


_EQUAL = binary_row("equal", jnp.equal, to=DType.bool)
_NOT_EQUAL = binary_row("not_equal", jnp.not_equal, to=DType.bool)
_GREATER = binary_row("greater", jnp.greater, to=DType.bool)
_GREATER_EQUAL = binary_row("greater_equal", jnp.greater_equal, to=DType.bool)
_LESS = binary_row("less", jnp.less, to=DType.bool)
_LESS_EQUAL = binary_row("less_equal", jnp.less_equal, to=DType.bool)
_WHERE = register(
    Op(name="where", fn=_where, infer=_infer_where, rule=ternary_rule, dtypes=BOOL)
)
_CLAMP = register(Op(name="clamp", fn=_clamp, infer=_infer_clamp, rule=ternary_rule))


# Comparisons --------------------------------------------------------------------------


@front
def equal(lhs: Tensor | float, rhs: Tensor | float) -> Tensor:
    """Tells where two operands are equal; NaN equals nothing.

    Args:
        lhs: A tensor, or a number.
        rhs: A tensor, or a number; shapes broadcast, dtypes promote.

    Returns:
        Bool, in the broadcast shape.

    Raises:
        TypeError: Neither is a tensor, or one is no number.
        ValueError: Shapes or dtypes do not fit.

    Source: max.experimental.functional.equal.

    >>> from maxlite.tensor import Tensor
    >>> equal(Tensor([1.0, 2.0]), 2.0).to_numpy().tolist()
    [False, True]
    """
    return apply(_EQUAL, as_operands("equal", lhs, rhs))


@front
def not_equal(lhs: Tensor | float, rhs: Tensor | float) -> Tensor:
    """Tells where two operands differ; NaN differs from everything.

    Args:
        lhs: A tensor, or a number.
        rhs: A tensor, or a number; shapes broadcast, dtypes promote.

    Returns:
        Bool, in the broadcast shape.

    Raises:
        TypeError: Neither is a tensor, or one is no number.
        ValueError: Shapes or dtypes do not fit.

    Source: max.experimental.functional.not_equal.

    >>> from maxlite.tensor import Tensor
    >>> not_equal(Tensor([1.0, 2.0]), 2.0).to_numpy().tolist()
    [True, False]
    """
    return apply(_NOT_EQUAL, as_operands("not_equal", lhs, rhs))


@front
def greater(lhs: Tensor | float, rhs: Tensor | float) -> Tensor:
    """Tells where ``lhs`` is greater than ``rhs``; never where one is NaN.

    Args:
        lhs: A tensor, or a number.
        rhs: A tensor, or a number; shapes broadcast, dtypes promote.

    Returns:
        Bool, in the broadcast shape.

    Raises:
        TypeError: Neither is a tensor, or one is no number.
        ValueError: Shapes or dtypes do not fit.

    Source: max.experimental.functional.greater.

    >>> from maxlite.tensor import Tensor
    >>> greater(Tensor([1.0, 2.0, 3.0]), 2.0).to_numpy().tolist()
    [False, False, True]
    """
    return apply(_GREATER, as_operands("greater", lhs, rhs))


@front
def greater_equal(lhs: Tensor | float, rhs: Tensor | float) -> Tensor:
    """Tells where ``lhs`` is at least ``rhs``; never where one is NaN.

    Args:
        lhs: A tensor, or a number.
        rhs: A tensor, or a number; shapes broadcast, dtypes promote.

    Returns:
        Bool, in the broadcast shape.

    Raises:
        TypeError: Neither is a tensor, or one is no number.
        ValueError: Shapes or dtypes do not fit.

    Source: max.experimental.functional.greater_equal.

    >>> from maxlite.tensor import Tensor
    >>> greater_equal(Tensor([1.0, 2.0, 3.0]), 2.0).to_numpy().tolist()
    [False, True, True]
    """
    return apply(_GREATER_EQUAL, as_operands("greater_equal", lhs, rhs))


@front
def less(lhs: Tensor | float, rhs: Tensor | float) -> Tensor:
    """Tells where ``lhs`` is less than ``rhs``; never where one is NaN.

    Args:
        lhs: A tensor, or a number.
        rhs: A tensor, or a number; shapes broadcast, dtypes promote.

    Returns:
        Bool, in the broadcast shape.

    Raises:
        TypeError: Neither is a tensor, or one is no number.
        ValueError: Shapes or dtypes do not fit.

    Source: ours; numpy's less.

    >>> from maxlite.tensor import Tensor
    >>> less(Tensor([1.0, 2.0, 3.0]), 2.0).to_numpy().tolist()
    [True, False, False]
    """
    return apply(_LESS, as_operands("less", lhs, rhs))


@front
def less_equal(lhs: Tensor | float, rhs: Tensor | float) -> Tensor:
    """Tells where ``lhs`` is at most ``rhs``; never where one is NaN.

    Args:
        lhs: A tensor, or a number.
        rhs: A tensor, or a number; shapes broadcast, dtypes promote.

    Returns:
        Bool, in the broadcast shape.

    Raises:
        TypeError: Neither is a tensor, or one is no number.
        ValueError: Shapes or dtypes do not fit.

    Source: ours; numpy's less_equal.

    >>> from maxlite.tensor import Tensor
    >>> less_equal(Tensor([1.0, 2.0, 3.0]), 2.0).to_numpy().tolist()
    [True, True, False]
    """
    return apply(_LESS_EQUAL, as_operands("less_equal", lhs, rhs))


# Choices ------------------------------------------------------------------------------


@front
def where(cond: Tensor, x: Tensor | float, y: Tensor | float) -> Tensor:
    """Takes elements of ``x`` where ``cond`` is True, of ``y`` elsewhere.

    Args:
        cond: Bool.
        x: A tensor, or a number.
        y: A tensor, or a number; all three shapes broadcast, and ``x`` and ``y``
            promote. A number takes the dtype of the other one, or of ``cond`` when
            both are numbers.

    Returns:
        The broadcast shape in the promoted dtype; what is not taken does not matter,
        NaN included.

    Raises:
        TypeError: ``cond`` is no tensor, or one of the others is no number.
        ValueError: ``cond`` is not bool, or shapes or dtypes do not fit.

    Source: max.experimental.functional.where.

    >>> from maxlite.tensor import Tensor
    >>> cond = Tensor([True, False], dtype=DType.bool)
    >>> where(cond, Tensor([1.0, 2.0]), 0.0).to_numpy().tolist()
    [1.0, 0.0]
    """
    like = x if isinstance(x, Tensor) else y if isinstance(y, Tensor) else cond
    cond = as_positions("where", cond, "cond", like)
    weak = not isinstance(x, Tensor) and not isinstance(y, Tensor)
    if weak and not all(isinstance(v, int) and v in (0, 1) for v in (x, y)):
        raise ValueError(
            f"where: one of x and y must be a tensor, which says the dtype, got {x} "
            f"and {y}. Write Tensor({x})."
        )
    chosen = (as_operand("where", x, like), as_operand("where", y, like))
    return apply(_WHERE, (cond, *chosen))


@front
def clamp(
    x: Tensor, lower_bound: Tensor | float, upper_bound: Tensor | float
) -> Tensor:
    """Bounds the elements on both sides; NaN stays NaN.

    Args:
        x: Any shape.
        lower_bound: A tensor, or a number; it wins where the bounds cross.
        upper_bound: A tensor, or a number; all three shapes broadcast.

    Returns:
        The broadcast shape in the promoted dtype.

    Raises:
        TypeError: ``x`` is no tensor, or a bound is no number.
        ValueError: Shapes or dtypes do not fit.

    Source: max.experimental.functional.clamp.

    >>> from maxlite.tensor import Tensor
    >>> clamp(Tensor([-2.0, 0.5, 9.0]), 0.0, 1.0).to_numpy().tolist()
    [0.0, 0.5, 1.0]
    """
    as_tensor("clamp", x)
    return apply(_CLAMP, as_operands("clamp", x, lower_bound, upper_bound))
