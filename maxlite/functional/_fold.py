"""Fold: blocks taken out of images are put back where they came from, and add up.

Floats below 32 bits are added up in float32.

Differs from the reference: blocks that are sharded by channels stay so, where the
reference needs them whole.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import NUMBERS
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import check_dtype
from maxlite.functional._operands import as_tensor
from maxlite.functional._precision import in_float32
from maxlite.functional._sliding import in_pairs, one_or_two, two_sizes, window_shape
from maxlite.graph._shape import compact_shape, shape_text
from maxlite.sharding.rules import fold_rule

if TYPE_CHECKING:
    from maxlite.dtype import DType
    from maxlite.graph import DimLike
    from maxlite.graph._shape import CompactShape
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor

    Numbers = tuple[int, ...]


@in_float32
def _fold(
    x: jax.Array,
    *,
    output_size: tuple[Any, ...],
    kernel: tuple[Any, ...],
    strides: Numbers,
    dilations: Numbers,
    paddings: Numbers,
) -> jax.Array:
    batch, channels, places = _split_sizes(
        x.shape, output_size, kernel, strides, dilations, paddings
    )
    blocks = jnp.reshape(x, (batch, channels, *kernel, *places))
    # [n, c, kh, kw, rows, columns], then [n, c, kw, height, columns], then the images.
    for axis, (before, _) in enumerate(in_pairs(paddings)):
        blocks = _laid_out(
            blocks,
            output_size[axis],
            stride=strides[axis],
            dilation=dilations[axis],
            before=before,
        )
    return blocks


def _laid_out(
    blocks: jax.Array, size: Any, *, stride: int, dilation: int, before: int
) -> jax.Array:
    """Lays blocks out along one axis, and adds up where they overlap.

    Args:
        blocks: Elements of a block at axis 2, the places of the blocks at axis 4.
        size: Size of the axis that takes the places' place.
        stride: Steps from one place to the next.
        dilation: Steps from one element of a block to the next.
        before: How far the first place lies before the axis.

    Returns:
        An array without axis 2.
    """
    places: Any = blocks.shape[4]
    spread = (places - 1) * stride + 1

    def element(i: int) -> jax.Array:
        start = i * dilation - before
        part = lax.index_in_dim(blocks, i, 2, keepdims=False)
        return _padded(part, start, size - start - spread, stride - 1)

    if dilation == 1 and stride == blocks.shape[2]:
        # Blocks side by side are laid out by a transpose, which is faster by far.
        beside = jnp.moveaxis(blocks, 2, 4)
        shape: tuple[Any, ...] = beside.shape
        merged = jnp.reshape(beside, (*shape[:3], places * stride, *shape[5:]))
        return _padded(merged, -before, size + before - places * stride, 0)
    return functools.reduce(operator.add, map(element, range(blocks.shape[2])))


def _padded(x: jax.Array, before: Any, after: Any, between: int) -> jax.Array:
    """Puts zeros around and between the elements along axis 3, or cuts some off."""
    widths = [(0, 0, 0)] * x.ndim
    widths[3] = (before, after, between)
    return lax.pad(x, jnp.zeros((), x.dtype), widths)


def _infer_fold(
    x: Spec,
    *,
    output_size: CompactShape,
    kernel: CompactShape,
    strides: Numbers,
    dilations: Numbers,
    paddings: Numbers,
) -> tuple[DType, Any]:
    check_dtype("fold", x, NUMBERS, name="input")
    if x.rank != 3:
        raise ValueError(
            "fold: input must have 3 axes, [batch, channels * kernel elements, "
            f"blocks], got shape {shape_text(x.shape)}. Reshape it."
        )
    batch, channels, _ = _split_sizes(
        x.shape, output_size, kernel, strides, dilations, paddings
    )
    return x.dtype, compact_shape((batch, channels, *output_size))


def _split_sizes(
    shape: tuple[Any, ...],
    output_size: tuple[Any, ...],
    kernel: tuple[Any, ...],
    strides: Numbers,
    dilations: Numbers,
    paddings: Numbers,
) -> tuple[Any, Any, tuple[Any, ...]]:
    """Finds batch, channels and places; what is named is checked at each size."""
    batch, merged, blocks = shape
    elements = kernel[0] * kernel[1]
    if _both_known(merged, elements) and merged % elements:
        raise ValueError(
            "fold: axis 1 of input must divide into blocks, got size "
            f"{merged} for a kernel of {' x '.join(map(str, kernel))}. Fold with the "
            "kernel that the blocks were taken with."
        )
    places = window_shape("fold", output_size, kernel, strides, dilations, paddings)
    count = places[0] * places[1]
    if _both_known(blocks, count) and blocks != count:
        raise ValueError(
            "fold: axis 2 of input must hold one block per place of the kernel, got "
            f"{blocks} blocks for {' x '.join(map(str, places))} places. Check "
            "output_size, stride, dilation and padding."
        )
    return batch, merged // elements, places


def _both_known(*sizes: Any) -> bool:
    return all(isinstance(size, int) for size in sizes)


_FOLD = register(
    Op(
        name="fold",
        fn=_fold,
        infer=_infer_fold,
        rule=fold_rule,
        params=("output_size", "kernel", "strides", "dilations", "paddings"),
        dtypes=NUMBERS,
    )
)


@front
def fold(
    input: Tensor,
    output_size: tuple[DimLike, DimLike],
    kernel_size: tuple[DimLike, DimLike],
    stride: int | tuple[int, int] = 1,
    dilation: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] = 0,
) -> Tensor:
    """Puts blocks at the places of a sliding window, and adds up where they overlap.

    The places run over the width first.

    Args:
        input: Shape ``[n, channels * kh * kw, places]``: in each column one block, of
            all channels; integers or floats.
        output_size: Height and width of the images; may be named.
        kernel_size: Height and width of a block; named ones are known when the program
            is compiled.
        stride: Steps from one place to the next, one number or one per axis.
        dilation: Steps from one element of a block to the next.
        padding: How far the places reach out on both sides, by height and width; what
            lies there is dropped.

    Returns:
        Shape ``[n, channels, height, width]`` in the dtype of ``input``. A sharded
        batch stays sharded, and so does axis 1 where whole channels are on each device;
        a pending sum stays pending.

    Raises:
        TypeError: ``input`` is no tensor or of bool dtype, a size is no pair, or an
            option holds no ints.
        ValueError: ``input`` has not 3 axes, its sizes do not fit the places of the
            window, or an option is out of range.

    Source: max.experimental.functional.fold.

    >>> from maxlite.functional import ones
    >>> fold(ones([1, 4, 4]), (3, 3), (2, 2)).to_numpy()[0, 0].tolist()
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    as_tensor("fold", input, "input")
    above, beside = one_or_two("fold", padding, "padding")
    return apply(
        _FOLD,
        (input,),
        two_sizes("fold", output_size, "output_size"),
        two_sizes("fold", kernel_size, "kernel_size"),
        one_or_two("fold", stride, "stride", least=1),
        one_or_two("fold", dilation, "dilation", least=1),
        (above, above, beside, beside),
    )
