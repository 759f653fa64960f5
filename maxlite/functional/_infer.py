"""Checks that rows share: which dtypes an op takes, and how shapes broadcast."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from maxlite.dtype import BOOL, FLOATS, INTEGERS, NUMBERS, SIGNED, DType, promote
from maxlite.graph._shape import shape_text

if TYPE_CHECKING:
    from maxlite.graph import Dim
    from maxlite.graph._shape import CompactShape
    from maxlite.graph._spec import Spec

SIGNED_NUMBERS = SIGNED | FLOATS
"""What can be negative."""

BITS = INTEGERS | BOOL
"""What consists of bits that mean something one by one."""

_NAMES = {
    BOOL: "bool",
    FLOATS: "floating",
    INTEGERS: "integer",
    BITS: "integer or bool",
    NUMBERS: "integer or floating",
    SIGNED_NUMBERS: "signed integer or floating",
}


def check_dtype(
    who: str,
    x: Spec,
    allowed: frozenset[DType],
    error: type[Exception] = TypeError,
    name: str = "x",
) -> None:
    """Refuses an operand whose dtype an op does not take.

    Raises:
        TypeError: Or ``error``, naming the op, the operand and the way out.
    """
    if x.dtype not in allowed:
        wanted = _NAMES[allowed]
        raise error(
            f"{who}: {name} must be of {wanted} dtype, got {x.dtype.name}. Cast it "
            "first."
        )


def promoted_dtype(who: str, lhs: Spec, rhs: Spec) -> DType:
    """Finds the dtype that two operands are computed in.

    Raises:
        ValueError: Neither dtype holds every value of the other.
    """
    if lhs.dtype is rhs.dtype:
        return lhs.dtype
    return promote(lhs.dtype, rhs.dtype, who=who)


def broadcast_shapes(who: str, *shapes: CompactShape) -> CompactShape:
    """Joins shapes as numpy does: axes align from the right, size 1 stretches.

    Symbolic sizes are equal when their expressions are.

    Raises:
        ValueError: Two sizes differ and neither is 1; both are named.
    """
    rank = max(map(len, shapes))
    joined: list[int | Dim] = []
    for axis in range(-rank, 0):
        sizes = [shape[axis] for shape in shapes if len(shape) >= -axis]
        wide = [size for size in sizes if size != 1]
        if any(size != wide[0] for size in wide):
            other = next(size for size in wide if size != wide[0])
            listed = " and ".join(shape_text(shape) for shape in shapes)
            raise ValueError(
                f"{who}: sizes must be equal or 1, got {wide[0]} and {other} at axis "
                f"{axis} of shapes {listed}. Reshape, slice or rebind one operand."
            )
        joined.append(wide[0] if wide else 1)
    return tuple(joined)


def whole_number(who: str, value: Any, name: str) -> int:
    """Checks that an argument is an int.

    Raises:
        TypeError: It is something else, also a bool.
    """
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass  # also from arrays, which have the method and refuse when it is called
    raise TypeError(f"{who}: {name} must be an int, got {type(value).__name__}.")


def real_number(who: str, value: Any, name: str) -> float:
    """Checks that an argument is a number, and makes it a float.

    Raises:
        TypeError: It is something else.
        ValueError: It is too large for a float.
    """
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{who}: {name} must be a number, got {type(value).__name__}.")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(
            f"{who}: {name} must be a number that a float can hold, got one of "
            f"{int(cast('Any', value)).bit_length()} bits."
        ) from None


def one_or_several(value: Any) -> list[Any]:
    """Lists what an argument holds, which may be one item by itself."""
    if isinstance(value, np.ndarray):
        value = cast("Any", value).tolist()
    return list(cast("Any", value)) if isinstance(value, Iterable) else [value]


def normal_axis(
    who: str, axis: int, rank: int, error: type[Exception] = ValueError
) -> int:
    """Counts an axis from the front.

    Raises:
        ValueError: Or ``error``, when there is no such axis.
        TypeError: ``axis`` is no int.
    """
    if type(axis) is int and -rank <= axis < rank:
        return axis % rank
    index = whole_number(who, axis, "axis")
    if not rank:
        raise error(f"{who}: axis must exist, got {axis} for a tensor of rank 0.")
    if not -rank <= index < rank:
        raise error(
            f"{who}: axis must be from {-rank} to {rank - 1}, got {axis} for a tensor "
            f"of rank {rank}. Pass one of its axes."
        )
    return index % rank
