"""Elements that are no finite number: finding and replacing them.

Beyond the reference: ``is_finite`` and ``nan_to_num``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import FLOATS, DType, finfo
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import check_dtype, real_number
from maxlite.functional._operands import as_tensor, number
from maxlite.functional._unary import unary_row
from maxlite.sharding.rules import ternary_rule

if TYPE_CHECKING:
    from maxlite.graph._shape import CompactShape
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _nan_to_num(
    x: jax.Array, nan: jax.Array, posinf: jax.Array, neginf: jax.Array
) -> jax.Array:
    infinite = jnp.where(x > 0, posinf, neginf)
    return jnp.where(jnp.isnan(x), nan, jnp.where(jnp.isinf(x), infinite, x))


def _infer_nan_to_num(x: Spec, *_: Spec) -> tuple[DType, CompactShape]:
    return x.dtype, x.shape


_IS_FINITE = unary_row("is_finite", jnp.isfinite, FLOATS, to=DType.bool)
_IS_INF = unary_row("is_inf", jnp.isinf, FLOATS, to=DType.bool)
_IS_NAN = unary_row("is_nan", jnp.isnan, FLOATS, to=DType.bool)
_NAN_TO_NUM = register(
    Op(
        name="nan_to_num",
        fn=_nan_to_num,
        infer=_infer_nan_to_num,
        rule=ternary_rule,
        dtypes=FLOATS,
    )
)


@front
def is_finite(x: Tensor) -> Tensor:
    """Tells which elements are neither infinite nor NaN.

    Args:
        x: Any shape; floats.

    Returns:
        Bool, in the shape and placement of ``x``.

    Raises:
        TypeError: ``x`` is no float.

    Source: ours; numpy's isfinite.

    >>> from maxlite.tensor import Tensor
    >>> is_finite(Tensor([1.0, float("inf")])).to_numpy().tolist()
    [True, False]
    """
    return apply(_IS_FINITE, (as_tensor("is_finite", x),))


@front
def is_inf(x: Tensor) -> Tensor:
    """Tells which elements are infinite.

    Args:
        x: Any shape; floats.

    Returns:
        Bool, in the shape and placement of ``x``.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.is_inf.

    >>> from maxlite.tensor import Tensor
    >>> is_inf(Tensor([1.0, float("inf")])).to_numpy().tolist()
    [False, True]
    """
    return apply(_IS_INF, (as_tensor("is_inf", x),))


@front
def is_nan(x: Tensor) -> Tensor:
    """Tells which elements are not a number.

    Args:
        x: Any shape; floats.

    Returns:
        Bool, in the shape and placement of ``x``.

    Raises:
        TypeError: ``x`` is no float.

    Source: max.experimental.functional.is_nan.

    >>> from maxlite.tensor import Tensor
    >>> is_nan(Tensor([1.0, float("nan")])).to_numpy().tolist()
    [False, True]
    """
    return apply(_IS_NAN, (as_tensor("is_nan", x),))


@front
def nan_to_num(
    x: Tensor,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """Replaces NaN and infinities by numbers.

    Args:
        x: Any shape; floats.
        nan: Stands in for NaN.
        posinf: Stands in for infinity; the largest number of the dtype when None.
        neginf: Stands in for minus infinity; the least number of the dtype when None.

    Returns:
        Shape, dtype and placement of ``x``.

    Raises:
        TypeError: ``x`` is no float, or a replacement is no number.

    Source: ours; numpy's nan_to_num.

    >>> from maxlite.tensor import Tensor
    >>> nan_to_num(Tensor([float("nan"), 2.0]), nan=-1.0).to_numpy().tolist()
    [-1.0, 2.0]
    """
    who = "nan_to_num"
    like = as_tensor(who, x)._spec
    check_dtype(who, like, FLOATS)
    limits = finfo(like.dtype)
    replacements = {
        "nan": nan,
        "posinf": limits.max if posinf is None else posinf,
        "neginf": limits.min if neginf is None else neginf,
    }
    numbers = (
        number(who, real_number(who, value, name), like)
        for name, value in replacements.items()
    )
    return apply(_NAN_TO_NUM, (x, *numbers))
