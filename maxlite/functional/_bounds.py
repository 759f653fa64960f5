"""Where counting starts and stops: numbers, Dims and tensors of rank 0."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from maxlite._op_table import fronts
from maxlite.dtype import BOOL, FLOATS, DType, finfo
from maxlite.functional._creation import number_of
from maxlite.graph import Dim
from maxlite.graph._shape import shape_text
from maxlite.tensor._data import check_number
from maxlite.tensor._tensor import Tensor

if TYPE_CHECKING:
    from maxlite.functional._operands import Operand
    from maxlite.sharding import DeviceMapping


def known_bound(who: str, name: str, bound: Any) -> int | float | Dim | None:
    """Reads a bound, and refuses what is none.

    Args:
        who: The op.
        name: The argument.
        bound: From the user.

    Returns:
        The number or Dim; None for a tensor that has no value yet.

    Raises:
        TypeError: It is something else.
        ValueError: A tensor has axes, or a number is not finite.
    """
    if isinstance(bound, Dim):
        return bound
    if isinstance(bound, Tensor):
        if bound.rank:
            raise ValueError(
                f"{who}: {name} must have rank 0, got shape "
                f"{shape_text(bound._spec.shape)}. Index it first."
            )
        if not bound.real:
            return None
        bound = bound.item()
    elif isinstance(bound, np.generic):
        bound = cast("Any", bound).item()
    if not isinstance(bound, (bool, int, float)):
        raise TypeError(
            f"{who}: {name} must be a number, a Dim or a tensor of rank 0, got "
            f"{type(bound).__name__}. Use Tensor(value) for other numbers."
        )
    if isinstance(bound, float) and not math.isfinite(bound):
        raise ValueError(
            f"{who}: {name} must be finite, got {bound}. Pass a number to count to."
        )
    return bound


def bound_operand(
    who: str, bound: Any, dtype: DType, mapping: DeviceMapping
) -> Operand:
    """Makes the operand of a bound that :func:`known_bound` took.

    Args:
        who: The op.
        bound: From the user.
        dtype: What a number must fit; floats are not rounded to it yet.
        mapping: Where the result is made.
    """
    if isinstance(bound, Tensor):
        return bound
    if isinstance(bound, Dim):
        return fronts["from_dim"](bound)
    exact = DType.float64 if dtype in FLOATS else dtype
    return number_of(who, bound, exact, mapping)


def check_holds(who: str, value: int | float, dtype: DType) -> None:
    """Refuses a dtype whose range a counted number is out of.

    Raises:
        ValueError: It is.
    """
    if dtype in BOOL:
        return
    if dtype not in FLOATS:
        check_number(who, math.floor(value), dtype)
        return
    limits = finfo(dtype)
    if not limits.min <= value <= limits.max:
        raise ValueError(
            f"{who}: values of {dtype} must lie in [{limits.min:g}, {limits.max:g}], "
            f"got {value}. Ask for a wider dtype."
        )
