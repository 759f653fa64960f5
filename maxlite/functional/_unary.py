"""Ops on one tensor, element by element: signs, powers and roots.

Beyond the reference: ``positive``, ``reciprocal``, ``sign`` and ``square``.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import FLOATS, NUMBERS, DType
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import SIGNED_NUMBERS, check_dtype
from maxlite.functional._operands import as_tensor
from maxlite.functional._precision import in_float32
from maxlite.sharding.rules import linear_unary_rule, unary_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def unary_row(
    name: str,
    fn: Callable[..., Any],
    allowed: frozenset[DType] = FLOATS,
    *,
    to: DType | None = None,
    error: type[Exception] = TypeError,
    rule: Callable[..., Any] = unary_rule,
    params: tuple[str, ...] = (),
) -> Op:
    """Makes the row of an op on one tensor, element by element.

    Args:
        name: The op.
        fn: Takes the array; floats below 32 bits come in float32 and are rounded once.
        allowed: Dtypes that it takes.
        to: Dtype of the result, that of the operand when None.
        error: Raised for other dtypes.
        rule: Placement rows.
        params: Names of the static parameters.
    """

    def infer(x: Spec, **_: Any) -> tuple[DType, Any]:
        check_dtype(name, x, allowed, error)
        return to or x.dtype, x.shape

    return register(
        Op(
            name=name,
            fn=fn if to else in_float32(fn),
            infer=infer,
            rule=rule,
            params=params,
            dtypes=allowed,
        )
    )


_ABS = unary_row("abs", jnp.abs, SIGNED_NUMBERS)
_ERF = unary_row("erf", lax.erf)
_NEGATE = unary_row("negate", jnp.negative, SIGNED_NUMBERS, rule=linear_unary_rule)
_RECIPROCAL = unary_row("reciprocal", jnp.reciprocal)
_RSQRT = unary_row("rsqrt", lax.rsqrt)
_SIGN = unary_row("sign", jnp.sign, NUMBERS)
_SQRT = unary_row("sqrt", jnp.sqrt)
_SQUARE = unary_row("square", jnp.square, NUMBERS)


@front
def abs(x: Tensor) -> Tensor:
    """Takes the absolute value of each element.

    Args:
        x: Any shape; signed integers or floats.

    Returns:
        Shape, dtype and placement of ``x``; an error under Partial.

    Raises:
        TypeError: ``x`` is unsigned or bool.

    Source: max.experimental.functional.abs.

    >>> from maxlite.tensor import Tensor
    >>> abs(Tensor([-1.5, 2.0])).to_numpy().tolist()
    [1.5, 2.0]
    """
    return apply(_ABS, (as_tensor("abs", x),))


@front
def erf(x: Tensor) -> Tensor:
    """Computes the Gauss error function.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.erf.

    >>> from maxlite.tensor import Tensor
    >>> erf(Tensor([0.0])).item()
    0.0
    """
    return apply(_ERF, (as_tensor("erf", x),))


@front
def negate(x: Tensor) -> Tensor:
    """Changes the sign; pending sums stay pending.

    Args:
        x: Any shape; signed integers or floats.

    Raises:
        TypeError: ``x`` is unsigned or bool.

    Source: max.experimental.functional.negate.

    >>> from maxlite.tensor import Tensor
    >>> negate(Tensor([1.0])).item()
    -1.0
    """
    return apply(_NEGATE, (as_tensor("negate", x),))


@front
def positive(x: Tensor) -> Tensor:
    """Gives ``+x``: a tensor of its own with the same values.

    Args:
        x: Any shape; integers or floats.

    Returns:
        Shape, dtype and placement of ``x``; later writes to either do not show in the
        other.

    Raises:
        TypeError: ``x`` is bool.

    Source: ours; numpy's positive.

    >>> from maxlite.tensor import Tensor
    >>> positive(Tensor([-1.0])).item()
    -1.0
    """
    check_dtype("positive", as_tensor("positive", x)._spec, NUMBERS)
    return copy.copy(x)


@front
def reciprocal(x: Tensor) -> Tensor:
    """Computes ``1 / x``; infinite at 0.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; numpy's reciprocal.

    >>> from maxlite.tensor import Tensor
    >>> reciprocal(Tensor([4.0])).item()
    0.25
    """
    return apply(_RECIPROCAL, (as_tensor("reciprocal", x),))


@front
def rsqrt(x: Tensor) -> Tensor:
    """Computes ``1 / sqrt(x)``: infinite at 0, NaN below.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.rsqrt.

    >>> from maxlite.tensor import Tensor
    >>> rsqrt(Tensor([4.0])).item()
    0.5
    """
    return apply(_RSQRT, (as_tensor("rsqrt", x),))


@front
def sign(x: Tensor) -> Tensor:
    """Gives 1, 0 or -1 as an element is above, at or below 0; NaN stays NaN.

    Args:
        x: Any shape; integers or floats.

    Raises:
        TypeError: ``x`` is bool.

    Source: ours; numpy's sign.

    >>> from maxlite.tensor import Tensor
    >>> sign(Tensor([-2.5, 0.0])).to_numpy().tolist()
    [-1.0, 0.0]
    """
    return apply(_SIGN, (as_tensor("sign", x),))


@front
def sqrt(x: Tensor) -> Tensor:
    """Computes the square root; NaN below 0.

    Args:
        x: Any shape; floats.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.sqrt.

    >>> from maxlite.tensor import Tensor
    >>> sqrt(Tensor([9.0])).item()
    3.0
    """
    return apply(_SQRT, (as_tensor("sqrt", x),))


@front
def square(x: Tensor) -> Tensor:
    """Multiplies each element by itself; integers wrap around.

    Args:
        x: Any shape; integers or floats.

    Raises:
        TypeError: ``x`` is bool.

    Source: ours; numpy's square.

    >>> from maxlite.tensor import Tensor
    >>> square(Tensor([-3.0])).item()
    9.0
    """
    return apply(_SQUARE, (as_tensor("square", x),))
