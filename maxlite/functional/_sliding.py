"""Windows that slide over axes: what convolutions, pooling and fold have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from maxlite.functional._infer import whole_number
from maxlite.graph import Dim
from maxlite.graph._shape import compact_dim, compact_shape, shape_text

if TYPE_CHECKING:
    from maxlite.graph._shape import CompactShape


def window_count(
    who: str,
    size: Any,
    kernel: Any,
    *,
    stride: int,
    dilation: int,
    padding: tuple[int, int],
    ceil_mode: bool = False,
) -> Any:
    """Counts the places of a window along one axis.

    Sizes may be names; what is named is checked again at each size.

    Args:
        who: The op.
        size: Size of the axis.
        kernel: Elements in the window.
        stride: Steps from one place to the next.
        dilation: Steps from one element of the window to the next.
        padding: Elements added before and after the axis; negative ones are cut off.
        ceil_mode: Whether a last window may reach beyond the end.

    Raises:
        ValueError: The window is empty, or does not fit once.
    """
    if isinstance(kernel, int) and kernel < 1:
        raise ValueError(
            f"{who}: a kernel must have at least one element along each axis, got size "
            f"{kernel}."
        )
    extent = (kernel - 1) * dilation + 1
    padded = size + sum(padding)
    if isinstance(padded, int) and isinstance(extent, int) and extent > padded:
        raise ValueError(
            f"{who}: the kernel must fit into the padded input, got a kernel of size "
            f"{kernel} with dilation {dilation} for size {size} with padding "
            f"{padding}. Pad the input, or take a smaller kernel."
        )
    room = padded - extent + (stride - 1 if ceil_mode else 0)
    count = (room + stride) // stride
    return compact_dim(count) if isinstance(count, Dim) else count


def window_shape(
    who: str,
    sizes: Iterable[Any],
    kernel: Iterable[Any],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    paddings: tuple[int, ...],
    *,
    ceil_mode: bool = False,
) -> tuple[Any, ...]:
    """Counts the places of a window along several axes.

    Args:
        who: The op.
        sizes: Size of each axis.
        kernel: Elements in the window, one number per axis.
        strides: One per axis.
        dilations: One per axis.
        paddings: Before and after the first axis, then the second, and so on.
        ceil_mode: Whether last windows may reach beyond the end.
    """
    return tuple(
        window_count(
            who,
            size,
            elements,
            stride=stride,
            dilation=dilation,
            padding=padding,
            ceil_mode=ceil_mode,
        )
        for size, elements, stride, dilation, padding in zip(
            sizes, kernel, strides, dilations, in_pairs(paddings), strict=True
        )
    )


def in_pairs(paddings: tuple[int, ...]) -> list[tuple[int, int]]:
    """Groups a flat list of paddings by axis."""
    return list(zip(paddings[::2], paddings[1::2], strict=True))


# What users write ---------------------------------------------------------------------


def whole_numbers(
    who: str, values: Any, name: str, count: int, *, least: int | None = None
) -> tuple[int, ...]:
    """Checks that an argument is so many ints.

    Raises:
        TypeError: It is no tuple or list, or holds something else.
        ValueError: The number of ints is another, or one is below ``least``.
    """
    items = _listed(who, values, name, count)
    found = tuple(whole_number(who, item, f"an item of {name}") for item in items)
    if least is not None and any(number < least for number in found):
        raise ValueError(
            f"{who}: {name} must be at least {least} along each axis, got {found}."
        )
    return found


def one_or_two(
    who: str, value: Any, name: str, *, least: int | None = None
) -> tuple[int, ...]:
    """Reads an argument that is one int for both axes, or one for each.

    Raises:
        TypeError: It is neither an int nor a pair of ints.
        ValueError: It has another length, or an int is below ``least``.
    """
    if hasattr(value, "__index__") or not isinstance(value, Iterable):
        value = (whole_number(who, value, name),) * 2
    return whole_numbers(who, value, name, 2, least=least)


def two_sizes(who: str, values: Any, name: str) -> CompactShape:
    """Reads an argument that is two sizes, each a number or a dim.

    Raises:
        TypeError: It is no pair, or an item is no size.
        ValueError: It has another length, or a number is below 1.
    """
    sizes = compact_shape(_listed(who, values, name, 2))
    if any(isinstance(size, int) and size < 1 for size in sizes):
        raise ValueError(
            f"{who}: {name} must be at least 1 along each axis, got "
            f"{shape_text(sizes)}."
        )
    return sizes


def _listed(who: str, values: Any, name: str, count: int) -> list[Any]:
    if not isinstance(values, Iterable) or isinstance(values, str):
        raise TypeError(
            f"{who}: {name} must be a tuple of {count} ints, got "
            f"{type(values).__name__}. Write one number per axis."
        )
    items: list[Any] = list(cast("Iterable[Any]", values))
    if len(items) != count:
        raise ValueError(f"{who}: {name} must be {count} numbers, got {len(items)}.")
    return items
