"""Ops that give the same elements another shape, or state what the shape is.

Sizes may be numbers, names and expressions in names. What cannot be proven of them is
refused while recording; ``rebind`` states it instead, and is checked at each new size.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import normal_axis
from maxlite.functional._operands import as_tensor
from maxlite.graph import Dim
from maxlite.graph._shape import compact_dim, compact_shape, num_elements, shape_text
from maxlite.lowering._rebind import REBIND, solve_sizes
from maxlite.realization_context._default import graph_context
from maxlite.sharding.rules import (
    broadcast_to_rule,
    flatten_rule,
    reshape_rule,
)

if TYPE_CHECKING:
    from maxlite.dtype import DType
    from maxlite.graph import ShapeLike
    from maxlite.graph._shape import CompactShape
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _reshape(x: jax.Array, *, shape: Any) -> jax.Array:
    return jnp.reshape(x, shape)


def _infer_reshape(x: Spec, *, shape: CompactShape) -> tuple[DType, Any]:
    if num_elements(x.shape) != num_elements(shape):
        raise ValueError(
            "reshape: the number of elements must stay, got "
            f"{shape_text(x.shape)} to {shape_text(shape)}. {_reshape_advice(x, shape)}"
        )
    return x.dtype, shape


def _reshape_advice(x: Spec, shape: CompactShape) -> str:
    if all(isinstance(dim, int) for dim in (*x.shape, *shape)):
        return "Pass sizes with the same product, or -1 for one of them."
    return "If they are equal all the same, say so first with rebind."


def _broadcast_to(x: jax.Array, *, shape: Any) -> jax.Array:
    return jnp.broadcast_to(x, shape)


def _infer_broadcast_to(x: Spec, *, shape: CompactShape) -> tuple[DType, Any]:
    aligned = shape[len(shape) - x.rank :]
    fits = len(shape) >= x.rank and all(
        dim in (1, target) for dim, target in zip(x.shape, aligned, strict=True)
    )
    if not fits:
        raise ValueError(
            "broadcast_to: each size must stay or be 1, aligned from the right, got "
            f"{shape_text(x.shape)} to {shape_text(shape)}. Unsqueeze, or rebind."
        )
    return x.dtype, shape


def _flatten(x: jax.Array, *, start_dim: int, end_dim: int) -> jax.Array:
    return jnp.reshape(x, _flat_shape(x.shape, start_dim, end_dim))


def _flat_shape(shape: tuple[Any, ...], start: int, end: int) -> tuple[Any, ...]:
    merged = math.prod(shape[start : end + 1])
    return (*shape[:start], merged, *shape[end + 1 :])


def _infer_flatten(x: Spec, *, start_dim: int, end_dim: int) -> tuple[DType, Any]:
    return x.dtype, compact_shape(_flat_shape(x.shape, start_dim, end_dim))


_RESHAPE = register(
    Op(
        name="reshape",
        fn=_reshape,
        infer=_infer_reshape,
        rule=reshape_rule,
        params=("shape",),
    )
)
_BROADCAST_TO = register(
    Op(
        name="broadcast_to",
        fn=_broadcast_to,
        infer=_infer_broadcast_to,
        rule=broadcast_to_rule,
        params=("shape",),
    )
)
_FLATTEN = register(
    Op(
        name="flatten",
        fn=_flatten,
        infer=_infer_flatten,
        rule=flatten_rule,
        params=("start_dim", "end_dim"),
    )
)


@front
def reshape(x: Tensor, shape: ShapeLike) -> Tensor:
    """Gives the elements another shape, in the same row-major order.

    A sharded axis stays sharded where each device keeps its own elements: where it
    leads the axes that it is merged with, or is cut into.

    Args:
        x: Any shape.
        shape: Sizes with the same product. One may be -1, which takes what is left.

    Returns:
        Shape ``shape``, dtype of ``x``.

    Raises:
        ValueError: The products differ or, with names, are not known to be equal; see
            :func:`rebind`. Or -1 cannot be worked out.
        TypeError: ``shape`` is no list of sizes.

    Source: max.experimental.functional.reshape.

    >>> from maxlite.tensor import Tensor
    >>> reshape(Tensor([1.0, 2.0, 3.0, 4.0]), [-1, 2]).to_numpy().tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    as_tensor("reshape", x)
    wanted = _sizes("reshape", shape, least=-1)
    return apply(_RESHAPE, (x,), _with_rest(x._spec.shape, wanted))


@front
def broadcast_to(x: Tensor, shape: ShapeLike) -> Tensor:
    """Repeats axes of size 1, and adds axes in front, until the shape is reached.

    Args:
        x: Its shape fits the end of ``shape``, size by size: equal, or 1.
        shape: What the result has; nothing in it can be -1.

    Returns:
        Shape ``shape``, dtype of ``x``. Sharded as ``x``.

    Raises:
        ValueError: A size is neither 1 nor the wanted one, or ``shape`` is too short.
        TypeError: ``shape`` is no list of sizes.
        ShardingError: An axis that is repeated is sharded.

    Source: max.experimental.functional.broadcast_to.

    >>> from maxlite.tensor import Tensor
    >>> broadcast_to(Tensor([1.0, 2.0]), [2, 2]).to_numpy().tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    as_tensor("broadcast_to", x)
    return apply(_BROADCAST_TO, (x,), _sizes("broadcast_to", shape))


@front
def flatten(x: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merges neighbouring axes into one.

    Args:
        x: Any shape.
        start_dim: First axis that is merged; a negative one counts from the end.
        end_dim: Last axis that is merged.

    Returns:
        The other axes around one of the product's size; ``[1]`` for rank 0.

    Raises:
        IndexError: There is no such axis.
        ValueError: ``start_dim`` comes after ``end_dim``.

    Source: max.experimental.functional.flatten.

    >>> from maxlite.tensor import Tensor
    >>> flatten(Tensor([[1.0], [2.0]])).to_numpy().tolist()
    [1.0, 2.0]
    """
    as_tensor("flatten", x)
    rank = max(x.rank, 1)
    start = normal_axis("flatten", start_dim, rank, IndexError)
    end = normal_axis("flatten", end_dim, rank, IndexError)
    if start > end:
        raise ValueError(
            "flatten: start_dim must not come after end_dim, got "
            f"{start_dim} and {end_dim} for rank {x.rank}. Swap them."
        )
    return apply(_FLATTEN, (x,), start, end)


@front
def rebind(
    x: Tensor, shape: ShapeLike, message: str = "", layout: object = None
) -> Tensor:
    """States what the sizes are: gives them other names, or numbers.

    Nothing is computed. A name that the program does not know yet is introduced, and
    stands for the size found there: ``rebind(x, ["m"])`` on ``[n]`` makes ``m`` equal
    to ``n``, ``rebind(x, [Dim("m") * 2])`` makes it the half. Everything else is
    checked whenever the program meets new sizes.

    Args:
        x: Any shape.
        shape: One size per axis.
        message: Put in front of the error when the sizes differ.
        layout: Ignored.

    Returns:
        Shape ``shape`` while recording a program; outside of one, the sizes are
        checked, and the result has the shape of ``x``.

    Raises:
        ValueError: ``shape`` has another rank.
        TypeError: Known sizes differ, or ``message`` is no string.

    Source: max.experimental.functional.rebind.

    >>> from maxlite.tensor import Tensor
    >>> rebind(Tensor([1.0, 2.0]), ["n"]).shape
    [Dim(2)]
    """
    as_tensor("rebind", x)
    if not isinstance(message, str):
        raise TypeError(
            f"rebind: message must be a string, got {type(message).__name__}. Leave it "
            "out."
        )
    wanted = _sizes("rebind", shape)
    have = x._spec.shape
    if len(wanted) != x.rank:
        raise ValueError(
            f"rebind: shape must have one size per axis, got {shape_text(wanted)} for "
            f"{shape_text(have)}. Reshape to change the rank."
        )
    if graph_context() is None:
        found = solve_sizes(zip(have, wanted, strict=True), {})
        wanted = tuple(d.substitute(found) if isinstance(d, Dim) else d for d in wanted)
        wanted = compact_shape(wanted)
    return apply(REBIND, (x,), wanted, message)


def _sizes(who: str, shape: Any, least: int = 0) -> CompactShape:
    """Reads a shape, refusing what is no size.

    Args:
        who: The op.
        shape: From the user.
        least: The smallest number allowed.

    Raises:
        TypeError: ``shape`` is no list, or an item is no size.
        ValueError: A number is too small.
    """
    if not hasattr(shape, "__iter__"):
        raise TypeError(
            f"{who}: shape must be a list of sizes, got {type(shape).__name__}. "
            f"Write [{shape}]."
        )
    sizes = compact_shape(shape)
    for size in sizes:
        if isinstance(size, int) and size < least:
            raise ValueError(
                f"{who}: a size must be {least} or more, got {shape_text(sizes)}."
            )
    return sizes


def _with_rest(have: CompactShape, wanted: CompactShape) -> CompactShape:
    """Works out the size that is written as -1.

    Raises:
        ValueError: There are two, or the others leave no whole size, or every size.
    """
    if -1 not in wanted:
        return wanted
    others = [size for size in wanted if size != -1]
    known, count = num_elements(others), num_elements(have)
    if len(others) < len(wanted) - 1:
        problem = "only one size can be -1"
    elif known == 0:
        problem = "-1 must have one meaning, which it has not beside a size of 0"
    else:
        rest = compact_dim(Dim(count) // known)
        if rest * known == count:
            return tuple(rest if size == -1 else size for size in wanted)
        problem = f"{count} elements must divide by {known}"
    raise ValueError(
        f"reshape: {problem}, got {shape_text(have)} to {shape_text(wanted)}. Write "
        "the size out, or rebind to sizes that divide."
    )
