"""Turning what a user has (numbers, lists, arrays) into numpy data of one dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from maxlite.dtype import DType, check_scalar

if TYPE_CHECKING:
    NestedArray = Sequence["NestedArray"] | bool | int | float
    Number = bool | int | float | np.number[Any]


def as_array(who: str, data: Any, dtype: DType | None, default: DType) -> np.ndarray:
    """Makes numpy data from numbers, nested lists or an array.

    Args:
        who: Function that asks, for errors.
        data: A number, a nested list, tuple or range of numbers, or a numpy array.
        dtype: Wanted element type; None means the default, or the array's own.
        default: What numbers and lists become when no dtype is wanted.

    Returns:
        An array whose dtype is ``dtype.to_jax()``. It may share memory with ``data``.

    Raises:
        ValueError: A ragged list, a value that the dtype cannot hold, or an array of
            another dtype.
        TypeError: Anything that is no number.
    """
    if isinstance(data, np.ndarray):
        return _from_numpy(who, cast("np.ndarray", data), dtype)
    if isinstance(data, np.generic):
        # A numpy scalar says its dtype, as an array does, unless another is wanted.
        scalar = cast("np.generic[Any]", data)
        chosen = dtype or DType.from_jax(scalar.dtype)
        check_scalar(scalar.item(), chosen)
        return np.asarray(scalar).astype(chosen.to_jax())
    chosen = dtype or default
    try:
        values = np.array(data)
    except ValueError:
        raise ValueError(
            f"{who}: nested lists must have one length per axis, got a ragged list. "
            "Pad the shorter ones."
        ) from None
    return _from_values(who, data, values, chosen)


def _from_numpy(who: str, data: np.ndarray, dtype: DType | None) -> np.ndarray:
    own = DType.from_jax(data.dtype.newbyteorder("="))
    if dtype is not None and dtype is not own:
        raise ValueError(
            f"{who}: an array keeps its dtype, got {own} for dtype={dtype}. "
            "Use array.astype(...) first, or cast the tensor."
        )
    return data


def _from_values(who: str, data: Any, values: np.ndarray, dtype: DType) -> np.ndarray:
    if values.size == 0:
        return values.astype(dtype.to_jax())
    if values.dtype.kind not in "biuf":
        raise TypeError(
            f"{who}: data must be numbers, got {_first_stranger(data)}. Pass numbers, "
            "nested lists of numbers, or a numpy array."
        )
    # Two numbers stand for all: the extremes fit exactly when every value does.
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    for value in (finite.min(), finite.max()) if finite.size else ():
        check_scalar(_plain(value, values), dtype)
    return values.astype(dtype.to_jax())


def _plain(value: Any, values: np.ndarray) -> bool | int | float:
    number = value.item()
    return float(number) if values.dtype.kind == "f" else number


def _first_stranger(data: Any) -> str:
    while data.__class__ in (list, tuple) and data:
        data = next((x for x in data if not isinstance(x, (int, float))), data[0])
    return type(data).__name__
