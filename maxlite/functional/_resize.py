"""Resizing: each axis is sampled anew at evenly spaced positions.

A position of the result is mapped to one between the elements of the input; what lies
there is computed from a few elements around it, by weights that add up to 1. Axes are
resized one after the other, and an axis that keeps its size is not touched. An element
of weight 0 does not count, be it infinite.

Beyond the reference: elements of any dtype can be repeated by ``resize_nearest``, sizes
may be symbols, and floats below 32 bits are computed in float32.

Images here are ``[n, channels, height, width]``, while convolutions and pooling take
``[n, height, width, channels]`` by default. ``InterpolationMode`` lies in
``maxlite.graph.ops``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import FLOATS
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import check_dtype
from maxlite.functional._operands import as_tensor
from maxlite.functional._precision import widened
from maxlite.functional._sampling import (
    HALF_PIXEL,
    cubic_taps,
    linear_taps,
    positions,
    rounded,
    sampled,
    triangle_taps,
)
from maxlite.graph._interpolation import InterpolationMode
from maxlite.graph._shape import compact_shape, shape_text
from maxlite.sharding.rules import resize_rule

if TYPE_CHECKING:
    from maxlite.dtype import DType
    from maxlite.graph import ShapeLike
    from maxlite.graph._shape import CompactShape
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _linear(
    x: jax.Array, *, sizes: tuple[Any, ...], mode: int, antialias: bool
) -> jax.Array:
    wide = widened(x)
    for axis, new in enumerate(sizes):
        if new is not None:
            old = x.shape[axis]
            at = positions(old, new, mode)
            taps = triangle_taps if antialias else linear_taps
            wide = sampled(wide, axis, *taps(at, old, new))
    return wide.astype(x.dtype)


def _bicubic(x: jax.Array, *, sizes: tuple[Any, ...]) -> jax.Array:
    wide = widened(x)
    for axis, new in enumerate(sizes):
        if new is not None:
            at = positions(x.shape[axis], new, HALF_PIXEL)
            wide = sampled(wide, axis, *cubic_taps(at))
    return wide.astype(x.dtype)


def _nearest(
    x: jax.Array, *, sizes: tuple[Any, ...], mode: int, rounding: int
) -> jax.Array:
    for axis, new in enumerate(sizes):
        if new is not None:
            at = rounded(positions(x.shape[axis], new, mode), rounding)
            x = jnp.take(x, at, axis, mode="clip")
    return x


def _infer(who: str, x: Spec, sizes: tuple[Any, ...]) -> tuple[DType, CompactShape]:
    made: list[Any] = []
    for axis, (old, new) in enumerate(zip(x.shape, sizes, strict=True)):
        if isinstance(new, int) and new < 0:
            raise ValueError(f"{who}: a size must be 0 or more, got {new}.")
        if old == 0 and new is not None:
            raise ValueError(
                f"{who}: an axis without elements cannot be resized, got axis {axis} "
                f"of shape {shape_text(x.shape)} to size {new}."
            )
        made.append(old if new is None else new)
    return x.dtype, tuple(made)


def _infer_linear(
    x: Spec, *, sizes: tuple[Any, ...], mode: int, antialias: bool
) -> tuple[DType, CompactShape]:
    check_dtype("resize_linear", x, FLOATS, name="input")
    return _infer("resize_linear", x, sizes)


def _infer_bicubic(x: Spec, *, sizes: tuple[Any, ...]) -> tuple[DType, CompactShape]:
    check_dtype("resize_bicubic", x, FLOATS, name="input")
    return _infer("resize_bicubic", x, sizes)


def _infer_nearest(
    x: Spec, *, sizes: tuple[Any, ...], mode: int, rounding: int
) -> tuple[DType, CompactShape]:
    return _infer("resize_nearest", x, sizes)


_LINEAR = register(
    Op(
        name="resize_linear",
        fn=_linear,
        infer=_infer_linear,
        rule=resize_rule,
        params=("sizes", "mode", "antialias"),
        dtypes=FLOATS,
    )
)
_BICUBIC = register(
    Op(
        name="resize_bicubic",
        fn=_bicubic,
        infer=_infer_bicubic,
        rule=resize_rule,
        params=("sizes",),
        dtypes=FLOATS,
    )
)
_NEAREST = register(
    Op(
        name="resize_nearest",
        fn=_nearest,
        infer=_infer_nearest,
        rule=resize_rule,
        params=("sizes", "mode", "rounding"),
    )
)


@front
def resize(
    input: Tensor,
    shape: ShapeLike,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
) -> Tensor:
    """Resizes images to a shape.

    Args:
        input: Shape ``[n, channels, height, width]``.
        shape: All four sizes of the result.
        interpolation: BILINEAR as :func:`resize_linear`, BICUBIC as
            :func:`resize_bicubic`, NEAREST as :func:`resize_nearest`, each with its
            defaults.

    Returns:
        Shape ``shape``, dtype of ``input``. An axis that keeps its size may be sharded,
        and a pending sum stays one.

    Raises:
        TypeError: ``input`` is no tensor, ``interpolation`` no InterpolationMode, or
            the dtype is no float where values are computed.
        ValueError: ``input`` or ``shape`` does not have four axes.

    Source: max.experimental.functional.resize.

    >>> from maxlite.tensor import Tensor
    >>> resize(Tensor([[[[0.0, 2.0]]]]), [1, 1, 1, 4]).to_numpy().tolist()
    [[[[0.0, 0.5, 1.5, 2.0]]]]
    """
    as_tensor("resize", input, "input")
    if not isinstance(interpolation, InterpolationMode):
        raise TypeError(
            "resize: interpolation must be an InterpolationMode, got "
            f"{type(interpolation).__name__}. Use InterpolationMode.BILINEAR."
        )
    _check_images("resize", input)
    sizes = compact_shape(shape)
    _check_rank("resize", input, sizes, "shape")
    if interpolation is InterpolationMode.BICUBIC:
        return resize_bicubic(input, sizes)
    if interpolation is InterpolationMode.NEAREST:
        return resize_nearest(input, sizes)
    return resize_linear(input, sizes)


@front
def resize_linear(
    input: Tensor,
    size: ShapeLike,
    coordinate_transform_mode: int = 0,
    antialias: bool = False,
) -> Tensor:
    """Resizes by straight lines between neighbouring elements.

    With ``old`` and ``new`` the sizes of an axis, element ``i`` of the result lies at

    ==== ======================================= ==================================
    mode position in ``input``                   name
    ==== ======================================= ==================================
    0    ``(i + 0.5) * old / new - 0.5``         half-pixel
    1    ``i * (old - 1) / (new - 1)``           align-corners; 0 if ``new`` is 1
    2    ``i * old / new``                       asymmetric
    3    as 0                                    half-pixel-1D; 0 if ``new`` is 1
    ==== ======================================= ==================================

    Outside of ``input`` its outermost elements go on.

    Args:
        input: Any rank; floats.
        size: One size per axis.
        coordinate_transform_mode: How positions are mapped, from 0 to 3.
        antialias: Whether an axis that shrinks is smoothed by a triangle as wide as
            what an element of the result covers.

    Returns:
        Shape ``size``, dtype of ``input``. An axis that keeps its size may be sharded,
        and a pending sum stays one.

    Raises:
        TypeError: ``input`` is no tensor or has no floats.
        ValueError: ``size`` has not one size per axis, a size is negative, an axis is
            empty, or there is no such mode.

    Source: max.experimental.functional.resize_linear.

    >>> from maxlite.tensor import Tensor
    >>> resize_linear(Tensor([0.0, 2.0]), [3], 1).to_numpy().tolist()
    [0.0, 1.0, 2.0]
    """
    who = "resize_linear"
    sizes = _changed_sizes(who, input, size)
    mode = _checked_mode(who, coordinate_transform_mode, "coordinate_transform_mode")
    return apply(_LINEAR, (input,), sizes, mode, bool(antialias))


@front
def resize_nearest(
    input: Tensor,
    size: ShapeLike,
    coordinate_transform_mode: int = 0,
    round_mode: int = 0,
) -> Tensor:
    """Resizes by repeating, or leaving out, elements.

    Args:
        input: Any rank and dtype.
        size: One size per axis.
        coordinate_transform_mode: How positions are mapped, as in
            :func:`resize_linear`.
        round_mode: How a position between two elements is rounded: 0 to the nearest,
            half down; 1 to the nearest, half up; 2 down; 3 up.

    Returns:
        Shape ``size``, dtype of ``input``. An axis that keeps its size may be sharded,
        and a pending sum stays one.

    Raises:
        TypeError: ``input`` is no tensor.
        ValueError: ``size`` has not one size per axis, a size is negative, an axis is
            empty, or there is no such mode.

    Source: max.experimental.functional.resize_nearest.

    >>> from maxlite.tensor import Tensor
    >>> resize_nearest(Tensor([5.0, 7.0]), [4]).to_numpy().tolist()
    [5.0, 5.0, 7.0, 7.0]
    """
    who = "resize_nearest"
    sizes = _changed_sizes(who, input, size)
    mode = _checked_mode(who, coordinate_transform_mode, "coordinate_transform_mode")
    rounding = _checked_mode(who, round_mode, "round_mode")
    return apply(_NEAREST, (input,), sizes, mode, rounding)


@front
def resize_bicubic(input: Tensor, size: ShapeLike) -> Tensor:
    """Resizes images by cubic curves through four neighbouring elements.

    Positions are mapped half-pixel (mode 0 of :func:`resize_linear`), the kernel has
    slope -0.75, and the outermost elements go on outside.

    Args:
        input: Shape ``[n, channels, height, width]``; floats.
        size: All four sizes of the result.

    Returns:
        Shape ``size``, dtype of ``input``. An axis that keeps its size may be sharded,
        and a pending sum stays one.

    Raises:
        TypeError: ``input`` is no tensor or has no floats.
        ValueError: ``input`` or ``size`` does not have four axes, a size is negative,
            or an axis is empty.

    Source: max.experimental.functional.resize_bicubic.

    >>> from maxlite.tensor import Tensor
    >>> resize_bicubic(Tensor([[[[0.0, 64.0]]]]), [1, 1, 1, 4]).to_numpy().tolist()
    [[[[-6.75, 14.5, 49.5, 70.75]]]]
    """
    as_tensor("resize_bicubic", input, "input")
    _check_images("resize_bicubic", input)
    return apply(_BICUBIC, (input,), _changed_sizes("resize_bicubic", input, size))


def _changed_sizes(who: str, x: Tensor, size: ShapeLike) -> tuple[Any, ...]:
    """Lists the new sizes, None where an axis keeps its size."""
    as_tensor(who, x, "input")
    sizes = compact_shape(size)
    _check_rank(who, x, sizes, "size")
    pairs = zip(sizes, x._spec.shape, strict=True)
    return tuple(None if new == old else new for new, old in pairs)


def _check_rank(who: str, x: Tensor, sizes: CompactShape, name: str) -> None:
    if len(sizes) != x.rank:
        raise ValueError(
            f"{who}: {name} must have one size per axis of input, got "
            f"{shape_text(sizes)} for {shape_text(x._spec.shape)}. Repeat the sizes of "
            "the axes that stay."
        )


def _check_images(who: str, x: Tensor) -> None:
    if x.rank != 4:
        raise ValueError(
            f"{who}: input must have shape [n, channels, height, width], got "
            f"{shape_text(x._spec.shape)}. Reshape it, or use resize_linear."
        )


def _checked_mode(who: str, mode: int, name: str) -> int:
    if mode not in (0, 1, 2, 3):
        raise ValueError(f"{who}: {name} must be 0, 1, 2 or 3, got {mode}.")
    return int(mode)
