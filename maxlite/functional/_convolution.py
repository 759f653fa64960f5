"""What all convolutions share: the order of axes, the checks, and the convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import jax
from jax import lax
from jax import numpy as jnp

from maxlite.dtype import NUMBERS, promote
from maxlite.functional._binary import promoted
from maxlite.functional._infer import check_dtype, promoted_dtype
from maxlite.functional._operands import Operand, as_operand, as_tensor
from maxlite.functional._precision import widened
from maxlite.graph._shape import compact_shape, shape_text
from maxlite.graph.type import ConvInputLayout, FilterLayout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.dtype import DType
    from maxlite.graph._shape import CompactShape
    from maxlite.graph._spec import Spec


_Layout = TypeVar("_Layout", ConvInputLayout, FilterLayout)


class Axes(NamedTuple):
    """The order of axes, as JAX writes it: ``NHWC, HWIO, NHWC``."""

    x: str
    filter: str
    result: str

    @property
    def spatial(self) -> str:
        """The axes in space, in the order in which options name them."""
        return "DHW" if "D" in self.x else "HW"


_FILTER_AXES = {
    "conv2d": {FilterLayout.RSCF: "HWIO", FilterLayout.FCRS: "OIHW"},
    "conv2d_transpose": {FilterLayout.RSCF: "HWOI", FilterLayout.CFRS: "IOHW"},
    "conv3d": {FilterLayout.QRSCF: "DHWIO", FilterLayout.FCQRS: "OIDHW"},
}
"""What each op can read, and how JAX writes it."""


def order_of_axes(who: str, input_layout: Any, filter_layout: Any) -> Axes:
    """Reads the layouts that a user names, by member or by value.

    Raises:
        ValueError: There is no such layout, or the op does not take it.
    """
    given = _member(who, ConvInputLayout, input_layout, "input_layout")
    wanted = _member(who, FilterLayout, filter_layout, "filter_layout")
    known = _FILTER_AXES[who]
    if wanted not in known:
        names = " or ".join(f"FilterLayout.{layout.name}" for layout in known)
        raise ValueError(
            f"{who}: filter_layout must be {names}, got {wanted}. Permute the filter."
        )
    space = "DHW" if "D" in known[wanted] else "HW"
    channels_first = given is ConvInputLayout.NCHW
    x = f"NC{space}" if channels_first else f"N{space}C"
    transposed = who == "conv2d_transpose"
    return Axes(x, known[wanted], x if transposed else f"N{space}C")


def _member(who: str, kind: type[_Layout], value: Any, name: str) -> _Layout:
    try:
        return kind(value)
    except ValueError:
        raise ValueError(
            f"{who}: {name} must be one of {', '.join(map(str, kind))}, got {value!r}."
        ) from None


def sizes_of(shape: Sequence[Any], axes: str, letters: str) -> list[Any]:
    """Picks sizes by the letters of their axes."""
    return [shape[axes.index(letter)] for letter in letters]


def coerced(who: str, x: Any, filter: Any, bias: Any) -> tuple[Operand, ...]:
    """Coerces the operands of a convolution, with the bias if there is one."""
    tensors = (as_tensor(who, x), as_tensor(who, filter, "filter"))
    return tensors if bias is None else (*tensors, as_operand(who, bias, x))


def convolved(
    x: jax.Array,
    filter: jax.Array,
    *bias: jax.Array,
    dimension_numbers: Axes,
    **options: Any,
) -> jax.Array:
    """Convolves in the promoted dtype, and adds the bias along the channels."""
    lhs, rhs = promoted(x, filter)
    dtype = lhs.dtype
    if dtype.itemsize == 1:
        # XLA adds up 16-bit floats in float32 by itself, but not those of 8 bits.
        lhs, rhs = widened(lhs), widened(rhs)
    result = lax.conv_general_dilated(
        lhs, rhs, dimension_numbers=dimension_numbers, **options
    ).astype(dtype)
    for shift in bias:
        channel = dimension_numbers.result.index("C")
        others = [axis for axis in range(result.ndim) if axis != channel]
        left, right = promoted(result, jnp.expand_dims(shift, others))
        result = left + right
    return result


# Checks -------------------------------------------------------------------------------


def checked_dtype(who: str, x: Spec, filter: Spec, bias: Sequence[Spec]) -> DType:
    """Finds the dtype of the result.

    Raises:
        TypeError: An operand is of bool dtype.
        ValueError: The dtypes do not promote.
    """
    for name, operand in (("x", x), ("filter", filter), *(("bias", b) for b in bias)):
        check_dtype(who, operand, NUMBERS, name=name)
    dtype = promoted_dtype(who, x, filter)
    for shift in bias:
        dtype = promote(dtype, shift.dtype, who=who)
    return dtype


def check_channels(
    who: str,
    x: Spec,
    filter: Spec,
    bias: Sequence[Spec],
    groups: int,
    order: Axes,
) -> None:
    """Checks that ranks and channels fit.

    Raises:
        ValueError: They do not; both sizes are named.
    """
    for name, operand, axes in (("x", x, order.x), ("filter", filter, order.filter)):
        if operand.rank != len(axes):
            raise ValueError(
                f"{who}: {name} must have {len(axes)} axes, {_words(axes)}, got shape "
                f"{shape_text(operand.shape)}. Unsqueeze or permute it."
            )
    (channels,) = sizes_of(x.shape, order.x, "C")
    inner, outer = sizes_of(filter.shape, order.filter, "IO")
    if compact_shape([inner * groups]) != (channels,):
        times, count = (
            (", times groups,", f" times {groups}") if groups > 1 else ("", "")
        )
        raise ValueError(
            f"{who}: the filter's input channels{times} must be the channels of x, got "
            f"{inner}{count} and {channels}: filter {shape_text(filter.shape)} and x "
            f"{shape_text(x.shape)}. Permute or rebind one of them."
        )
    if isinstance(outer, int) and outer % groups:
        raise ValueError(
            f"{who}: the output channels must divide into groups, got {outer} channels "
            f"and {groups} groups. Pass a divisor of the channels."
        )
    for shift in bias:
        if shift.shape != (outer,):
            raise ValueError(
                f"{who}: bias must have one number per output channel, [{outer}], got "
                f"shape {shape_text(shift.shape)}. Reshape or rebind it."
            )


_WORDS = {
    "N": "batch",
    "D": "depth",
    "H": "height",
    "W": "width",
    "C": "channels",
    "I": "input channels",
    "O": "output channels",
}


def _words(axes: str) -> str:
    return shape_text([_WORDS[letter] for letter in axes])


def result_shape(
    x: Spec, filter: Spec, space: Sequence[Any], order: Axes
) -> CompactShape:
    """Puts batch, channels and the sizes in space in order."""
    sizes = dict(zip(order.spatial, space, strict=True))
    (sizes["N"],) = sizes_of(x.shape, order.x, "N")
    (sizes["C"],) = sizes_of(filter.shape, order.filter, "O")
    return compact_shape(sizes[letter] for letter in order.result)
