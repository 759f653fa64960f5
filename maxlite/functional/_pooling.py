"""Pooling: a window slides over images, and of each place one number is kept.

Averages of floats below 32 bits are taken in float32. Those of integers are truncated
toward zero, as :func:`mean`; sums of 64-bit ones may wrap around.

Differs from the reference: NaN in a window makes its maximum NaN, and averages of small
integers do not overflow. Where ``count_boundary=False`` meets ``ceil_mode`` or a window
without any element of the input, the reference divides by a wrong number.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import ALL, NUMBERS
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import check_dtype
from maxlite.functional._operands import as_tensor
from maxlite.functional._precision import widened
from maxlite.functional._sliding import in_pairs, one_or_two, two_sizes, window_shape
from maxlite.graph._shape import compact_shape, shape_text
from maxlite.sharding.rules import avg_pool_rule, max_pool_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxlite.dtype import DType
    from maxlite.graph import DimLike
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor

    Numbers = tuple[int, ...]


# The window ---------------------------------------------------------------------------


def _window(
    who: str,
    shape: tuple[Any, ...],
    kernel: tuple[Any, ...],
    strides: Numbers,
    dilations: Numbers,
    paddings: Numbers,
    ceil_mode: bool,
) -> tuple[tuple[Any, ...], list[tuple[Any, Any]]]:
    """Works out how a window goes over height and width.

    Returns:
        The number of places along each, and the elements to put before and after.
    """
    sizes = shape[1:3]
    places = window_shape(
        who, sizes, kernel, strides, dilations, paddings, ceil_mode=ceil_mode
    )
    widths = in_pairs(paddings)
    if ceil_mode:
        # The last window ends where it ends.
        widths = [
            (before, (n - 1) * s + (k - 1) * d + 1 - size - before)
            for n, s, k, d, size, (before, _) in zip(
                places, strides, kernel, dilations, sizes, widths, strict=True
            )
        ]
    return places, widths


def _reduced(
    x: jax.Array,
    start: Any,
    combine: Callable[..., Any],
    kernel: tuple[Any, ...],
    strides: Numbers,
    dilations: Numbers,
    widths: list[tuple[Any, Any]],
) -> jax.Array:
    """Combines the elements of each window; ``start`` stands for those around."""
    return lax.reduce_window(
        x,
        start,
        combine,
        (1, *kernel, 1),
        (1, *strides, 1),
        ((0, 0), *widths, (0, 0)),
        window_dilation=(1, *dilations, 1),
    )


def _infer_pool(name: str, allowed: frozenset[DType]) -> Callable[..., Any]:
    def infer(
        x: Spec,
        *,
        kernel: tuple[Any, ...],
        strides: Numbers,
        dilations: Numbers,
        paddings: Numbers,
        ceil_mode: bool,
        **_: Any,
    ) -> tuple[DType, Any]:
        check_dtype(name, x, allowed, name="input")
        if x.rank != 4:
            raise ValueError(
                f"{name}: input must have 4 axes, [batch, height, width, channels], "
                f"got shape {shape_text(x.shape)}. Unsqueeze or permute it."
            )
        places, _widths = _window(
            name, x.shape, kernel, strides, dilations, paddings, ceil_mode
        )
        return x.dtype, compact_shape((x.shape[0], *places, x.shape[3]))

    return infer


# Rows ---------------------------------------------------------------------------------


def _avg_pool2d(
    x: jax.Array,
    *,
    kernel: tuple[Any, ...],
    strides: Numbers,
    dilations: Numbers,
    paddings: Numbers,
    ceil_mode: bool,
    count_boundary: bool,
) -> jax.Array:
    places, widths = _window(
        "avg_pool2d", x.shape, kernel, strides, dilations, paddings, ceil_mode
    )
    wide = _summable(x)
    zero = np.zeros((), wide.dtype)
    sums = _reduced(wide, zero, lax.add, kernel, strides, dilations, widths)
    if count_boundary:
        count = jnp.asarray(kernel[0] * kernel[1], wide.dtype)
    else:
        rows, columns = (
            _inside(
                x.shape[axis + 1],
                places[axis],
                kernel[axis],
                stride=strides[axis],
                dilation=dilations[axis],
                before=widths[axis][0],
            )
            for axis in (0, 1)
        )
        inside = rows[:, None, None] * columns[:, None]
        # A window without any element has the sum 0, and stays so.
        count = jnp.maximum(inside, 1).astype(wide.dtype)
    if jnp.issubdtype(wide.dtype, jnp.integer):
        return lax.div(sums, jnp.broadcast_to(count, sums.shape)).astype(x.dtype)
    return (sums / count).astype(x.dtype)


def _summable(x: jax.Array) -> jax.Array:
    """Converts to the dtype in which elements are added up."""
    if jnp.issubdtype(x.dtype, jnp.signedinteger):
        return x.astype(jnp.int64)
    if jnp.issubdtype(x.dtype, jnp.integer):
        return x.astype(jnp.uint64)
    return widened(x)


def _inside(
    size: Any, places: Any, kernel: Any, *, stride: int, dilation: int, before: int
) -> jax.Array:
    """Counts for each place of a window how much of it lies on the axis."""
    starts = lax.iota(jnp.int64, places) * stride - before
    at = starts[:, None] + lax.iota(jnp.int64, kernel)[None, :] * dilation
    return jnp.sum((at >= 0) & (at < size), 1, jnp.int64)


def _max_pool2d(
    x: jax.Array,
    *,
    kernel: tuple[Any, ...],
    strides: Numbers,
    dilations: Numbers,
    paddings: Numbers,
    ceil_mode: bool,
) -> jax.Array:
    places, widths = _window(
        "max_pool2d", x.shape, kernel, strides, dilations, paddings, ceil_mode
    )
    # Some floats of 8 bits have no infinity to start from.
    wide = widened(x) if x.dtype.itemsize == 1 else x
    lowest = _lowest(wide.dtype)
    if dilations == (1, 1) or not all(isinstance(k, int) for k in kernel):
        best = _reduced(wide, lowest, lax.max, kernel, strides, dilations, widths)
        return best.astype(x.dtype)
    # JAX cannot differentiate a maximum over a dilated window.
    padded = lax.pad(
        wide, lowest, [(0, 0, 0), *((*pair, 0) for pair in widths), (0, 0, 0)]
    )
    for axis in (0, 1):
        padded = _max_along(
            padded,
            axis + 1,
            places[axis],
            kernel[axis],
            stride=strides[axis],
            dilation=dilations[axis],
        )
    return padded.astype(x.dtype)


def _lowest(dtype: np.dtype[Any]) -> Any:
    if jnp.issubdtype(dtype, jnp.bool_):
        return np.zeros((), dtype)
    if jnp.issubdtype(dtype, jnp.integer):
        return np.asarray(jnp.iinfo(dtype).min, dtype)
    return np.asarray(-np.inf, dtype)


def _max_along(
    x: jax.Array, axis: int, places: Any, kernel: int, *, stride: int, dilation: int
) -> jax.Array:
    """Takes the maximum over the window along one axis, element by element."""

    def element(i: int) -> jax.Array:
        start = i * dilation
        stop = start + (places - 1) * stride + 1
        return lax.slice_in_dim(x, start, stop, stride, axis)

    return functools.reduce(lax.max, map(element, range(kernel)))


_AVG_POOL2D = register(
    Op(
        name="avg_pool2d",
        fn=_avg_pool2d,
        infer=_infer_pool("avg_pool2d", NUMBERS),
        rule=avg_pool_rule,
        params=(
            *("kernel", "strides", "dilations", "paddings", "ceil_mode"),
            "count_boundary",
        ),
        dtypes=NUMBERS,
    )
)
_MAX_POOL2D = register(
    Op(
        name="max_pool2d",
        fn=_max_pool2d,
        infer=_infer_pool("max_pool2d", ALL),
        rule=max_pool_rule,
        params=("kernel", "strides", "dilations", "paddings", "ceil_mode"),
        dtypes=ALL,
    )
)


@front
def avg_pool2d(
    input: Tensor,
    kernel_size: tuple[DimLike, DimLike],
    stride: int | tuple[int, int] = 1,
    dilation: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] = 0,
    ceil_mode: bool = False,
    count_boundary: bool = True,
) -> Tensor:
    """Averages the elements under a window at each of its places.

    Args:
        input: Shape ``[n, height, width, channels]``; integers or floats.
        kernel_size: Height and width of the window; may be named, such as the sizes of
            ``input`` for one average over all.
        stride: Steps from one place to the next, one number or one per axis.
        dilation: Steps from one element of the window to the next.
        padding: Zeros on both sides, by height and width. Negative numbers cut off rows
            and columns instead.
        ceil_mode: Whether a last window may reach beyond the end.
        count_boundary: Whether to divide by the size of the window, or only by how much
            of it lies on the input; 0 where nothing does.

    Returns:
        Shape ``[n, h, w, channels]`` in the dtype of ``input``, with ``h = (height + 2
        * padding - dilation * (kh - 1) - 1) // stride + 1``, rounded up under
        ``ceil_mode``, and ``w`` alike. A sharded batch or channel axis stays sharded,
        a pending sum of floats stays pending.

    Raises:
        TypeError: ``input`` is no tensor or of bool dtype, ``kernel_size`` no pair, or
            an option holds no ints.
        ValueError: ``input`` has not 4 axes, the window is larger than the padded
            input, or an option is out of range.

    Source: max.experimental.functional.avg_pool2d.

    >>> from maxlite.functional import arange, reshape
    >>> image = reshape(arange(0, 16), [1, 4, 4, 1])
    >>> avg_pool2d(image, (2, 2), stride=2).to_numpy()[0, :, :, 0].tolist()
    [[2.5, 4.5], [10.5, 12.5]]
    """
    as_tensor("avg_pool2d", input, "input")
    return apply(
        _AVG_POOL2D,
        (input,),
        *_options("avg_pool2d", kernel_size, stride, dilation, padding),
        bool(ceil_mode),
        bool(count_boundary),
    )


@front
def max_pool2d(
    input: Tensor,
    kernel_size: tuple[DimLike, DimLike],
    stride: int | tuple[int, int] = 1,
    dilation: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] = 0,
    ceil_mode: bool = False,
) -> Tensor:
    """Takes the largest element under a window at each of its places.

    Args:
        input: Shape ``[n, height, width, channels]``.
        kernel_size: Height and width of the window; may be named.
        stride: Steps from one place to the next, one number or one per axis.
        dilation: Steps from one element of the window to the next.
        padding: How far the window reaches out on both sides, by height and width; what
            lies there is never the largest. Negative numbers cut off rows and columns
            instead.
        ceil_mode: Whether a last window may reach beyond the end.

    Returns:
        Shape as of :func:`avg_pool2d`, in the dtype of ``input``; NaN where there is
        one, and the least number of the dtype where a window lies outside. A sharded
        batch or channel axis stays sharded.

    Raises:
        TypeError: ``input`` is no tensor, ``kernel_size`` no pair, or an option holds
            no ints.
        ValueError: ``input`` has not 4 axes, the window is larger than the padded
            input, or an option is out of range.

    Source: max.experimental.functional.max_pool2d.

    >>> from maxlite.functional import arange, reshape
    >>> image = reshape(arange(0, 16), [1, 4, 4, 1])
    >>> max_pool2d(image, (2, 2), stride=2).to_numpy()[0, :, :, 0].tolist()
    [[5.0, 7.0], [13.0, 15.0]]
    """
    as_tensor("max_pool2d", input, "input")
    return apply(
        _MAX_POOL2D,
        (input,),
        *_options("max_pool2d", kernel_size, stride, dilation, padding),
        bool(ceil_mode),
    )


def _options(
    who: str, kernel_size: Any, stride: Any, dilation: Any, padding: Any
) -> tuple[Any, ...]:
    above, beside = one_or_two(who, padding, "padding")
    return (
        two_sizes(who, kernel_size, "kernel_size"),
        one_or_two(who, stride, "stride", least=1),
        one_or_two(who, dilation, "dilation", least=1),
        (above, above, beside, beside),
    )
