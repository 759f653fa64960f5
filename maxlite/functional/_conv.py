"""Convolutions: a small filter slides over an image or a volume and weighs it.

They are cross-correlations, as everywhere in machine learning: the filter is not
flipped. Operands promote; floats below 32 bits are added up in float32. Integers wrap
around.

Differs from the reference: a filter layout that does not fit the op is refused, where
the reference takes it for another one. With ``groups``, ``x`` and ``filter`` are cut
along the channels together or not at all: the reference also keeps ``x`` whole beside
a filter that is cut.

``ConvInputLayout`` and ``FilterLayout`` lie in ``maxlite.graph.type``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from maxlite._op_table import Op, front, register
from maxlite.dtype import NUMBERS
from maxlite.functional._convolution import (
    Axes,
    check_channels,
    checked_dtype,
    coerced,
    convolved,
    order_of_axes,
    result_shape,
    sizes_of,
)
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import whole_number
from maxlite.functional._operands import Operand
from maxlite.functional._sliding import in_pairs, whole_numbers, window_shape
from maxlite.graph.type import ConvInputLayout, FilterLayout
from maxlite.sharding.rules import conv_rule

if TYPE_CHECKING:
    import numpy as np

    from maxlite.dtype import DType
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor

    Letters = tuple[str, str, str]
    Numbers = tuple[int, ...]


def _conv_row(name: str) -> Op:
    """Makes the row of a convolution."""

    def meaning(
        x: jax.Array,
        filter: jax.Array,
        *bias: jax.Array,
        strides: Numbers,
        dilations: Numbers,
        paddings: Numbers,
        groups: int,
        axes: Letters,
    ) -> jax.Array:
        order = Axes(*axes)
        window_shape(
            name,
            sizes_of(x.shape, order.x, order.spatial),
            sizes_of(filter.shape, order.filter, order.spatial),
            strides,
            dilations,
            paddings,
        )
        return convolved(
            x,
            filter,
            *bias,
            window_strides=strides,
            padding=in_pairs(paddings),
            rhs_dilation=dilations,
            dimension_numbers=order,
            feature_group_count=_own_groups(x.shape, filter.shape, groups, order),
        )

    def infer(
        x: Spec,
        filter: Spec,
        *bias: Spec,
        strides: Numbers,
        dilations: Numbers,
        paddings: Numbers,
        groups: int,
        axes: Letters,
    ) -> tuple[DType, Any]:
        order = Axes(*axes)
        dtype = checked_dtype(name, x, filter, bias)
        check_channels(name, x, filter, bias, groups, order)
        space = window_shape(
            name,
            sizes_of(x.shape, order.x, order.spatial),
            sizes_of(filter.shape, order.filter, order.spatial),
            strides,
            dilations,
            paddings,
        )
        return dtype, result_shape(x, filter, space, order)

    return register(
        Op(
            name=name,
            fn=meaning,
            infer=infer,
            rule=conv_rule,
            params=("strides", "dilations", "paddings", "groups", "axes"),
            # XLA gathers the operands of a sum over channels, and all of a grouped one.
            runs_locally=True,
            dtypes=NUMBERS,
        )
    )


def _own_groups(
    x: tuple[Any, ...], filter: tuple[Any, ...], groups: int, order: Axes
) -> int:
    """Counts the groups that a device holds: one per filter's worth of channels."""
    (channels,), (inner,) = (
        sizes_of(x, order.x, "C"),
        sizes_of(filter, order.filter, "I"),
    )
    known = isinstance(channels, int) and isinstance(inner, int)
    return channels // inner if known and channels and inner else groups


_CONV2D = _conv_row("conv2d")
_CONV3D = _conv_row("conv3d")


@front
def conv2d(
    x: Tensor,
    filter: Tensor,
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    groups: int = 1,
    bias: Tensor | np.ndarray | None = None,
    input_layout: ConvInputLayout = ConvInputLayout.NHWC,
    filter_layout: FilterLayout = FilterLayout.RSCF,
) -> Tensor:
    """Slides a filter over images and adds up the products.

    Args:
        x: Shape ``[n, height, width, channels]``, or ``[n, channels, height, width]``
            under ``NCHW``; integers or floats.
        filter: Shape ``[kh, kw, channels / groups, out]``, or ``[out, channels /
            groups, kh, kw]`` under ``FCRS``.
        stride: Steps from one place of the filter to the next.
        dilation: Steps from one element of the filter to the next.
        padding: Zeros around the image: top, bottom, left, right. Negative numbers cut
            off rows and columns instead.
        groups: Into how many groups the channels are divided; each makes ``out /
            groups`` of the output channels by itself.
        bias: Shape ``[out]``; added to each output channel.
        input_layout: The order of axes of ``x``.
        filter_layout: ``RSCF`` or ``FCRS``.

    Returns:
        Shape ``[n, h, w, out]`` in the promoted dtype, also under ``NCHW``, with ``h =
        (height + top + bottom - dilation * (kh - 1) - 1) // stride + 1``, and ``w``
        alike. Sharded as the batch is, or as the output channels of ``filter`` and
        ``bias`` are; a pending sum where the input channels of both are. The axes in
        space must be whole.

    Raises:
        TypeError: An operand is no tensor or of bool dtype, or an option holds no ints.
        ValueError: Ranks, channels or dtypes do not fit, the filter is larger than the
            padded image, or an option is out of range.

    Source: max.experimental.functional.conv2d.

    >>> from maxlite.functional import arange, ones, reshape
    >>> image = reshape(arange(0, 9), [1, 3, 3, 1])
    >>> conv2d(image, ones([2, 2, 1, 1])).to_numpy()[0, :, :, 0].tolist()
    [[8.0, 12.0], [20.0, 24.0]]
    """
    order = order_of_axes("conv2d", input_layout, filter_layout)
    operands = coerced("conv2d", x, filter, bias)
    return _conv(_CONV2D, operands, stride, dilation, padding, groups, order)


@front
def conv3d(
    x: Tensor,
    filter: Tensor,
    stride: tuple[int, int, int] = (1, 1, 1),
    dilation: tuple[int, int, int] = (1, 1, 1),
    padding: tuple[int, int, int, int, int, int] = (0, 0, 0, 0, 0, 0),
    groups: int = 1,
    bias: Tensor | np.ndarray | None = None,
    input_layout: ConvInputLayout = ConvInputLayout.NHWC,
    filter_layout: FilterLayout = FilterLayout.QRSCF,
) -> Tensor:
    """Slides a filter over volumes and adds up the products.

    As :func:`conv2d`, with one axis in space more.

    Args:
        x: Shape ``[n, depth, height, width, channels]``, or ``[n, channels, depth,
            height, width]`` under ``NCHW``; integers or floats.
        filter: Shape ``[kd, kh, kw, channels / groups, out]``, or ``[out, channels /
            groups, kd, kh, kw]`` under ``FCQRS``.
        stride: Steps from one place of the filter to the next.
        dilation: Steps from one element of the filter to the next.
        padding: Zeros before and after, by depth, height and width. Negative numbers
            cut off elements instead.
        groups: Into how many groups the channels are divided.
        bias: Shape ``[out]``; added to each output channel.
        input_layout: The order of axes of ``x``.
        filter_layout: ``QRSCF`` or ``FCQRS``.

    Returns:
        Shape ``[n, d, h, w, out]`` in the promoted dtype, also under ``NCHW``; placed
        as by :func:`conv2d`.

    Raises:
        TypeError: An operand is no tensor or of bool dtype, or an option holds no ints.
        ValueError: Ranks, channels or dtypes do not fit, the filter is larger than the
            padded volume, or an option is out of range.

    Source: max.experimental.functional.conv3d.

    >>> from maxlite.functional import arange, ones, reshape
    >>> volume = reshape(arange(0, 8), [1, 2, 2, 2, 1])
    >>> conv3d(volume, ones([2, 2, 2, 1, 1])).item()
    28.0
    """
    order = order_of_axes("conv3d", input_layout, filter_layout)
    operands = coerced("conv3d", x, filter, bias)
    return _conv(_CONV3D, operands, stride, dilation, padding, groups, order)


def _conv(
    op: Op,
    operands: tuple[Operand, ...],
    stride: Any,
    dilation: Any,
    padding: Any,
    groups: Any,
    order: Axes,
) -> Tensor:
    count = len(order.spatial)
    many = whole_number(op.name, groups, "groups")
    if many < 1:
        raise ValueError(f"{op.name}: groups must be at least 1, got {many}.")
    return apply(
        op,
        operands,
        whole_numbers(op.name, stride, "stride", count, least=1),
        whole_numbers(op.name, dilation, "dilation", count, least=1),
        whole_numbers(op.name, padding, "padding", 2 * count),
        many,
        tuple(order),
    )
