"""Turning what a user has (numbers, lists, arrays) into numpy data of one dtype.

Arrays say their dtype and keep it. Numbers and lists take the dtype that is asked for:
one that counts must hold every value exactly, a float dtype rounds, and what lies
beyond its range becomes infinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np

from maxlite.dtype import FLOATS, DType

if TYPE_CHECKING:
    NestedArray = Sequence["NestedArray"] | bool | int | float
    Number = bool | int | float | np.number[Any]


def as_array(who: str, data: Any, dtype: DType | None, default: DType) -> np.ndarray:
    """Makes numpy data from numbers, nested lists or an array.

    Args:
        who: Function that asks, for errors.
        data: A number (Python's or numpy's), a nested list, tuple or range of numbers,
            a numpy array, or what numpy reads as one.
        dtype: Wanted element type; None means the default, or the array's own.
        default: What numbers and lists become when no dtype is wanted.

    Returns:
        An array whose dtype is ``dtype.to_jax()``. It may share memory with ``data``.

    Raises:
        ValueError: A ragged list, a value that the dtype cannot hold, or an array of
            another dtype.
        TypeError: Anything that is no number.
    """
    if dtype is not None:
        require_dtype(who, dtype)
    if hasattr(data, "__array__") and not isinstance(data, np.generic):
        array: np.ndarray = np.asanyarray(data)  # a mask is not lost, but refused
        check_own_dtype(who, check_array(who, array), dtype)
        return np.asarray(array)
    chosen = dtype or default
    values = _numbers(who, data)
    if chosen not in FLOATS:
        values = _counted(who, data, values, chosen)
    with np.errstate(over="ignore"):
        return values.astype(chosen.to_jax())


def require_dtype(who: str, dtype: object) -> None:
    """Checks that an argument is a DType.

    Raises:
        TypeError: It is something else, such as a numpy dtype or a name.

    >>> require_dtype("zeros", "int8")
    Traceback (most recent call last):
    TypeError: zeros: dtype must be a DType, got 'int8'. Use DType.int8.
    """
    if isinstance(dtype, DType):
        return
    try:
        meant = str(DType.from_numpy(np.dtype(cast("Any", dtype))))
    except (TypeError, ValueError):
        meant = "DType.float32, for example"
    raise TypeError(f"{who}: dtype must be a DType, got {dtype!r}. Use {meant}.")


def check_number(who: str, number: bool | int | float, dtype: DType) -> None:
    """Checks that a dtype can hold a number; a float dtype holds any, rounded.

    Raises:
        ValueError: It cannot.
    """
    if dtype in FLOATS:
        return
    if not isinstance(number, int):
        raise ValueError(
            f"{who}: values of {dtype} must be whole, got {number}. Round it with "
            "int(...), or ask for a float dtype."
        )
    least, most = _bounds(dtype)
    if not least <= number <= most:
        raise ValueError(
            f"{who}: values of {dtype} must lie in [{least}, {most}], got {number}. "
            "Ask for a wider dtype."
        )


def check_own_dtype(who: str, own: DType, wanted: DType | None) -> None:
    """Refuses to convert what has a dtype of its own.

    Raises:
        ValueError: Another dtype is wanted.
    """
    if wanted is not None and wanted is not own:
        raise ValueError(
            f"{who}: an array keeps its dtype, got {own} for dtype={wanted}. Use "
            "array.astype(...) first, or cast the tensor."
        )


def is_foreign_array(data: Any) -> bool:
    """Whether data speak DLPack and are not numpy's: JAX, PyTorch, a Buffer."""
    if isinstance(data, (np.ndarray, np.generic)):
        return False
    # JAX's PRNG keys do not speak it, and are refused by name.
    return hasattr(data, "__dlpack__") or isinstance(data, jax.Array)


def check_array(who: str, data: np.ndarray) -> DType:
    """Checks that a numpy array holds plain numbers, and gives their dtype.

    Raises:
        TypeError: It is masked, or a matrix, whose operators mean something else.
        ValueError: It has a dtype that maxlite lacks.
    """
    if isinstance(data, np.ma.MaskedArray):
        raise TypeError(
            f"{who}: an array must hold a value everywhere, got a masked array. Use "
            "array.filled(value)."
        )
    if isinstance(data, np.matrix):
        raise TypeError(
            f"{who}: an array must be a plain one, got a np.matrix, whose * is a "
            "matrix product. Use np.asarray(matrix)."
        )
    try:
        return DType.from_jax(data.dtype.newbyteorder("="))
    except ValueError:
        raise ValueError(
            f"{who}: an array must have a dtype that maxlite has, got {data.dtype}. "
            "Use array.astype(...) first."
        ) from None


def plain_number(who: str, value: np.generic | np.ndarray) -> Any:
    """Gives the number that a numpy scalar, or an array of rank 0, stands for.

    Raises:
        TypeError: It is a date or a duration, which numpy would read as a count.
    """
    if value.dtype.kind in "mM":
        raise TypeError(
            f"{who}: data must be numbers, got {value.dtype}. Use "
            "value.astype(np.int64) to count its units."
        )
    return cast("Any", value).item()


def _numbers(who: str, data: Any) -> np.ndarray:
    """Lets numpy read numbers and lists, in whatever dtype it finds for them."""
    try:
        values = np.array(data)
    except ValueError:
        raise ValueError(
            f"{who}: nested lists must have one length per axis, got a ragged list. "
            "Pad the shorter ones."
        ) from None
    if values.dtype.kind in "biuf" or _is_float(values.dtype):
        return values
    # Integers of more than 64 bits are numbers too, in an array of objects.
    for value in (_plain(who, each) for each in values.flat):
        if not isinstance(value, (bool, int, float)):
            raise TypeError(
                f"{who}: data must be numbers, got {type(value).__name__}. Pass "
                "numbers, nested lists of numbers, or a numpy array."
            )
    return values


def _counted(who: str, data: Any, values: np.ndarray, dtype: DType) -> np.ndarray:
    """Checks values of a dtype that counts; the two extremes stand for all."""
    if values.dtype.kind not in "biu":
        # numpy reads signed beside unsigned integers as floats, which lose digits.
        values = np.array(data, dtype=object)
        for value in (_plain(who, each) for each in values.flat):
            check_number(who, value, dtype)
    elif values.size:
        check_number(who, values.min().item(), dtype)
        check_number(who, values.max().item(), dtype)
    return values


def _plain(who: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        return plain_number(who, cast("Any", value))
    return value


def _is_float(dtype: np.dtype) -> bool:
    """Whether it is one of the float dtypes that numpy itself lacks."""
    try:
        return DType.from_jax(dtype) in FLOATS
    except ValueError:
        return False


def _bounds(dtype: DType) -> tuple[int, int]:
    if dtype is DType.bool:
        return 0, 1
    limits = np.iinfo(dtype.to_jax())
    return int(limits.min), int(limits.max)
