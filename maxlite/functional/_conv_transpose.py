"""The transposed convolution: each element of an image spreads a filter around itself.

It goes the way of a convolution backwards, so it makes images larger. Operands promote;
floats below 32 bits are added up in float32. Integers wrap around.

Differs from the reference: ``bias`` has one number per output channel, where the
reference adds it along another axis. ``output_paddings`` below 0 are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import numpy as jnp

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
from maxlite.functional._sliding import in_pairs, whole_numbers
from maxlite.graph._shape import shape_text
from maxlite.graph.type import ConvInputLayout, FilterLayout
from maxlite.sharding.rules import conv_rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np

    from maxlite.dtype import DType
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor

    Letters = tuple[str, str, str]
    Numbers = tuple[int, ...]


def _conv2d_transpose(
    x: jax.Array,
    filter: jax.Array,
    *bias: jax.Array,
    strides: Numbers,
    dilations: Numbers,
    paddings: Numbers,
    output_paddings: Numbers,
    axes: Letters,
) -> jax.Array:
    order = Axes(*axes)
    sizes = sizes_of(x.shape, order.x, "HW")
    kernel = sizes_of(filter.shape, order.filter, "HW")
    _transposed_shape(sizes, kernel, strides, dilations, paddings, output_paddings)
    # Written as a convolution of x, spread out by the strides, with the flipped filter.
    reach = [(k - 1) * d for k, d in zip(kernel, dilations, strict=True)]
    short = [
        # Spreading out nothing gives nothing, not a negative size.
        s - 1 if isinstance(size, int) and not size else 0
        for size, s in zip(sizes, strides, strict=True)
    ]
    padding = [
        (reach[i] - before, reach[i] - after + output_paddings[i] - short[i])
        for i, (before, after) in enumerate(in_pairs(paddings))
    ]
    return convolved(
        x,
        jnp.flip(filter, [order.filter.index(letter) for letter in "HW"]),
        *bias,
        window_strides=(1, 1),
        padding=padding,
        lhs_dilation=strides,
        rhs_dilation=dilations,
        dimension_numbers=order,
    )


def _infer_conv2d_transpose(
    x: Spec,
    filter: Spec,
    *bias: Spec,
    strides: Numbers,
    dilations: Numbers,
    paddings: Numbers,
    output_paddings: Numbers,
    axes: Letters,
) -> tuple[DType, Any]:
    order = Axes(*axes)
    dtype = checked_dtype("conv2d_transpose", x, filter, bias)
    check_channels("conv2d_transpose", x, filter, bias, 1, order)
    space = _transposed_shape(
        sizes_of(x.shape, order.x, "HW"),
        sizes_of(filter.shape, order.filter, "HW"),
        strides,
        dilations,
        paddings,
        output_paddings,
    )
    return dtype, result_shape(x, filter, space, order)


def _transposed_shape(
    sizes: Iterable[Any],
    kernel: Iterable[Any],
    strides: Numbers,
    dilations: Numbers,
    paddings: Numbers,
    output_paddings: Numbers,
) -> tuple[Any, ...]:
    """Computes the sizes in space; what is named is checked again at each size."""
    found = tuple(
        (size - 1) * stride + (k - 1) * dilation + 1 - sum(padding) + more
        for size, k, stride, dilation, padding, more in zip(
            *(sizes, kernel, strides, dilations, in_pairs(paddings), output_paddings),
            strict=True,
        )
    )
    if any(isinstance(size, int) and size < 1 for size in found):
        raise ValueError(
            "conv2d_transpose: padding must leave something of the result, got "
            f"{paddings} for a result of size {shape_text(found)}. Take less off."
        )
    return found


_CONV2D_TRANSPOSE = register(
    Op(
        name="conv2d_transpose",
        fn=_conv2d_transpose,
        infer=_infer_conv2d_transpose,
        rule=conv_rule,
        params=("strides", "dilations", "paddings", "output_paddings", "axes"),
        runs_locally=True,
        dtypes=NUMBERS,
    )
)


@front
def conv2d_transpose(
    x: Tensor,
    filter: Tensor,
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    output_paddings: tuple[int, int] = (0, 0),
    bias: Tensor | np.ndarray | None = None,
    input_layout: ConvInputLayout = ConvInputLayout.NHWC,
    filter_layout: FilterLayout = FilterLayout.RSCF,
) -> Tensor:
    """Adds up copies of a filter, one for each element and weighed by it.

    Args:
        x: Shape ``[n, height, width, channels]``, or ``[n, channels, height, width]``
            under ``NCHW``; integers or floats.
        filter: Shape ``[kh, kw, out, channels]``, or ``[channels, out, kh, kw]`` under
            ``CFRS``; it is not flipped.
        stride: Steps from one copy of the filter to the next.
        dilation: Steps from one element of the filter to the next.
        padding: How much is cut off the result: top, bottom, left, right. Negative
            numbers add zeros instead.
        output_paddings: Rows and columns put at the bottom and the right after that;
            less than the stride.
        bias: Shape ``[out]``; added to each output channel.
        input_layout: The order of axes of ``x`` and of the result.
        filter_layout: ``RSCF`` or ``CFRS``.

    Returns:
        Shape ``[n, h, w, out]``, or ``[n, out, h, w]`` under ``NCHW``, in the promoted
        dtype, with ``h = (height - 1) * stride + dilation * (kh - 1) + 1 - top - bottom
        + output_padding``, and ``w`` alike. Placed as by :func:`conv2d`.

    Raises:
        TypeError: An operand is no tensor or of bool dtype, or an option holds no ints.
        ValueError: Ranks, channels or dtypes do not fit, nothing would be left, or an
            option is out of range.

    Source: max.experimental.functional.conv2d_transpose.

    >>> from maxlite.functional import arange, ones, reshape
    >>> image = reshape(arange(1, 5), [1, 2, 2, 1])
    >>> conv2d_transpose(image, ones([2, 2, 1, 1])).to_numpy()[0, :, :, 0].tolist()
    [[1.0, 3.0, 2.0], [4.0, 10.0, 6.0], [3.0, 7.0, 4.0]]
    """
    who = "conv2d_transpose"
    strides = whole_numbers(who, stride, "stride", 2, least=1)
    more = whole_numbers(who, output_paddings, "output_paddings", 2, least=0)
    if any(extra >= step for extra, step in zip(more, strides, strict=True)):
        raise ValueError(
            f"{who}: output_paddings must be less than stride along each axis, got "
            f"{more} and {strides}. Pad the result."
        )
    return apply(
        _CONV2D_TRANSPOSE,
        coerced(who, x, filter, bias),
        strides,
        whole_numbers(who, dilation, "dilation", 2, least=1),
        whole_numbers(who, padding, "padding", 4),
        more,
        tuple(order_of_axes(who, input_layout, filter_layout)),
    )
