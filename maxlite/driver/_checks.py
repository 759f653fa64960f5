"""What a buffer takes: shapes, indices and elements, each checked at the edge."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from maxlite.dtype import FLOATS, DType, check_scalar


def check_shape(shape: Any) -> None:
    """Checks that a shape is a sequence of sizes.

    Raises:
        TypeError: It is no sequence of integers.
        ValueError: A size is negative.
    """
    try:
        sizes = [operator.index(size) for size in shape]
    except TypeError:
        raise TypeError(
            f"Buffer: the shape must be a sequence of ints, got {shape!r}. "
            "Write (n,) for one axis."
        ) from None
    if any(size < 0 for size in sizes):
        raise ValueError(
            f"Buffer: each size must be at least 0, got {sizes}. "
            "Work the size out first."
        )


def check_single(shape: tuple[int, ...]) -> None:
    """Raises a ValueError unless a shape has exactly one element."""
    if math.prod(shape) != 1:
        raise ValueError(
            f"Buffer.item: there must be one element, got shape {shape}. "
            "Index the buffer first."
        )


def check_numpy(arr: object) -> None:
    """Raises a TypeError unless the argument is a numpy array."""
    if not isinstance(arr, np.ndarray):
        raise TypeError(
            f"Buffer.from_numpy: the array must be a numpy array, got "
            f"{type(arr).__name__}. Call np.asarray first."
        )


def check_source(src: Any, target: Any) -> None:
    """Checks that one buffer can be written into another.

    Raises:
        TypeError: ``src`` is no buffer.
        ValueError: Another dtype or number of elements.
    """
    if type(src) is not type(target):
        raise TypeError(
            f"Buffer.inplace_copy_from: the source must be a Buffer, got "
            f"{type(src).__name__}. Call Buffer.from_numpy first."
        )
    if (src.dtype, src.num_elements) != (target.dtype, target.num_elements):
        raise ValueError(
            "Buffer.inplace_copy_from: dtype and number of elements must be equal, got "
            f"{src.dtype} {src.shape} for {target.dtype} {target.shape}. Convert the "
            "source first."
        )


def checked_index(idx: object, shape: tuple[int, ...]) -> tuple[int | slice, ...]:
    """Normalises an index.

    Args:
        idx: A tuple or list of integers and slices, or one of them alone.
        shape: Sizes of the axes.

    Returns:
        One integer or slice per axis.

    Raises:
        TypeError: Anything but integers and slices.
        ValueError: Not as many of them as axes.
        IndexError: An integer beyond the size.

    >>> checked_index((-1, slice(None)), (2, 3))
    (-1, slice(None, None, None))
    """
    entries = tuple(cast("Any", idx)) if isinstance(idx, tuple | list) else (idx,)
    index = tuple(_checked_entry(entry) for entry in entries)
    if len(index) != len(shape):
        raise ValueError(
            f"Buffer: there must be one index per axis, got {len(index)} for shape "
            f"{shape}. Write : for a whole axis."
        )
    for axis, (entry, size) in enumerate(zip(index, shape, strict=True)):
        if isinstance(entry, int) and not -size <= entry < size:
            raise IndexError(
                f"Buffer: an index must lie in [{-size}, {size}), got {entry} for "
                f"axis {axis} of shape {shape}. Use a slice, which is cut to the size."
            )
    return index


def checked_element(value: Any, dtype: DType) -> Any:
    """Returns a number that can be written to a buffer of a dtype.

    Args:
        value: A Python or numpy number, or a numpy array of rank 0.
        dtype: Type of the element. A float dtype rounds, another must hold the number.

    Raises:
        TypeError: ``value`` is no number.
        ValueError: ``dtype`` cannot hold it.

    >>> checked_element(2**24 + 1, DType.float32)
    16777217.0
    """
    number = value.item() if _has_rank_0(value) else value
    if dtype in FLOATS and isinstance(number, int):
        number = float(number)
    check_scalar(number, dtype, who="Buffer")
    return number


def viewed_shape(
    shape: tuple[int, ...], old: DType, new: DType, wanted: Sequence[int] | None
) -> tuple[int, ...]:
    """Finds the shape of a view of the same bytes.

    Args:
        shape: Sizes of the buffer.
        old: Dtype of the buffer.
        new: Dtype of the view.
        wanted: Sizes of the view; None lets the last axis take up the change.

    Raises:
        ValueError: The bytes do not come out even.

    >>> viewed_shape((2, 3), DType.float32, DType.int8, None)
    (2, 12)
    """
    if wanted is None:
        if old.size_in_bytes == new.size_in_bytes:
            return shape
        last = shape[-1] * old.size_in_bytes if shape else 0
        if not shape or last % new.size_in_bytes:
            raise ValueError(
                f"Buffer.view: the last axis must have a multiple of "
                f"{new.size_in_bytes} bytes, the size of {new}, got shape {shape} of "
                f"{old}. Pass a shape."
            )
        return (*shape[:-1], last // new.size_in_bytes)
    check_shape(wanted)
    have = math.prod(shape) * old.size_in_bytes
    want = math.prod(wanted) * new.size_in_bytes
    if have != want:
        raise ValueError(
            f"Buffer.view: the view must take as many bytes as the buffer, got {want} "
            f"for shape {tuple(wanted)} of {new} and {have} for shape {shape} of {old}."
            " Pass a shape that fits."
        )
    return tuple(wanted)


def _has_rank_0(value: object) -> bool:
    return isinstance(value, np.ndarray | np.generic) and value.ndim == 0


def _checked_entry(entry: object) -> int | slice:
    if isinstance(entry, slice):
        return cast("slice", entry)
    try:
        return operator.index(cast("Any", entry))
    except TypeError:
        raise TypeError(
            f"Buffer: an index must be an int or a slice, got {type(entry).__name__}. "
            "Index buffer.to_numpy() for anything else."
        ) from None
