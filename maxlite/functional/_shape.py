"""Ops on the axes of a tensor: one more, one less, or another order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import normal_axis, one_or_several
from maxlite.functional._operands import as_tensor
from maxlite.graph._shape import shape_text
from maxlite.sharding.rules import (
    permute_rule,
    squeeze_rule,
    transpose_rule,
    unsqueeze_rule,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.dtype import DType
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _squeeze(x: jax.Array, *, axis: int) -> jax.Array:
    return lax.squeeze(x, (axis,))


def _infer_squeeze(x: Spec, *, axis: int) -> tuple[DType, Any]:
    if x.shape[axis] != 1:
        raise ValueError(
            f"squeeze: the axis must have size 1, got {x.shape[axis]} at axis {axis} "
            f"of {shape_text(x.shape)}. Index it, or rebind it to 1."
        )
    return x.dtype, (*x.shape[:axis], *x.shape[axis + 1 :])


def _unsqueeze(x: jax.Array, *, axis: int) -> jax.Array:
    return lax.expand_dims(x, (axis,))


def _infer_unsqueeze(x: Spec, *, axis: int) -> tuple[DType, Any]:
    return x.dtype, (*x.shape[:axis], 1, *x.shape[axis:])


def _transpose(x: jax.Array, *, axis_1: int, axis_2: int) -> jax.Array:
    return jnp.swapaxes(x, axis_1, axis_2)


def _infer_transpose(x: Spec, *, axis_1: int, axis_2: int) -> tuple[DType, Any]:
    shape = list(x.shape)
    shape[axis_1], shape[axis_2] = shape[axis_2], shape[axis_1]
    return x.dtype, tuple(shape)


def _permute(x: jax.Array, *, dims: tuple[int, ...]) -> jax.Array:
    return lax.transpose(x, dims)


def _infer_permute(x: Spec, *, dims: tuple[int, ...]) -> tuple[DType, Any]:
    return x.dtype, tuple(x.shape[dim] for dim in dims)


_SQUEEZE = register(
    Op(
        name="squeeze",
        fn=_squeeze,
        infer=_infer_squeeze,
        rule=squeeze_rule,
        params=("axis",),
    )
)
_UNSQUEEZE = register(
    Op(
        name="unsqueeze",
        fn=_unsqueeze,
        infer=_infer_unsqueeze,
        rule=unsqueeze_rule,
        params=("axis",),
    )
)
_TRANSPOSE = register(
    Op(
        name="transpose",
        fn=_transpose,
        infer=_infer_transpose,
        rule=transpose_rule,
        params=("axis_1", "axis_2"),
    )
)
_PERMUTE = register(
    Op(
        name="permute",
        fn=_permute,
        infer=_infer_permute,
        rule=permute_rule,
        params=("dims",),
    )
)


@front
def squeeze(x: Tensor, axis: int) -> Tensor:
    """Drops an axis of size 1.

    Args:
        x: Size 1 at ``axis``.
        axis: A negative one counts from the end.

    Raises:
        IndexError: There is no such axis.
        ValueError: Its size is not 1.

    Source: max.experimental.functional.squeeze.

    >>> from maxlite.tensor import Tensor
    >>> squeeze(Tensor([[1.0, 2.0]]), 0).to_numpy().tolist()
    [1.0, 2.0]
    """
    as_tensor("squeeze", x)
    return apply(_SQUEEZE, (x,), normal_axis("squeeze", axis, x.rank, IndexError))


@front
def unsqueeze(x: Tensor, axis: int) -> Tensor:
    """Adds an axis of size 1.

    Args:
        x: Any shape.
        axis: Where it is in the result; a negative one counts from the result's end.

    Raises:
        ValueError: The result has no such axis.

    Source: max.experimental.functional.unsqueeze.

    >>> from maxlite.tensor import Tensor
    >>> unsqueeze(Tensor([1.0, 2.0]), -1).to_numpy().tolist()
    [[1.0], [2.0]]
    """
    as_tensor("unsqueeze", x)
    return apply(_UNSQUEEZE, (x,), normal_axis("unsqueeze", axis, x.rank + 1))


@front
def transpose(x: Tensor, axis_1: int, axis_2: int) -> Tensor:
    """Swaps two axes.

    Args:
        x: Any shape.
        axis_1: A negative one counts from the end.
        axis_2: Likewise.

    Raises:
        IndexError: There is no such axis.

    Source: max.experimental.functional.transpose.

    >>> from maxlite.tensor import Tensor
    >>> transpose(Tensor([[1.0, 2.0]]), 0, 1).to_numpy().tolist()
    [[1.0], [2.0]]
    """
    as_tensor("transpose", x)
    first = normal_axis("transpose", axis_1, x.rank, IndexError)
    second = normal_axis("transpose", axis_2, x.rank, IndexError)
    return apply(_TRANSPOSE, (x,), min(first, second), max(first, second))


@front
def permute(x: Tensor, dims: Sequence[int]) -> Tensor:
    """Reorders the axes.

    Args:
        x: Any shape.
        dims: For each axis of the result, the axis of ``x`` that goes there; a
            negative one counts from the end.

    Raises:
        IndexError: There is no such axis.
        ValueError: An axis is named twice, or not at all.
        TypeError: ``dims`` is no list of ints.

    Source: max.experimental.functional.permute.

    >>> from maxlite.tensor import Tensor
    >>> permute(Tensor([[[1.0, 2.0]]]), [2, 0, 1]).to_numpy().tolist()
    [[[1.0]], [[2.0]]]
    """
    as_tensor("permute", x)
    if not isinstance(dims, Iterable):
        raise TypeError(
            f"permute: dims must be a list of axes, got {type(dims).__name__}. List "
            "them all."
        )
    order = tuple(normal_axis("permute", dim, x.rank, IndexError) for dim in dims)
    if sorted(order) != list(range(x.rank)):
        raise ValueError(
            f"permute: dims must name each of the {x.rank} axes once, got "
            f"{list(dims)}. List them all."
        )
    return apply(_PERMUTE, (x,), order)


@front
def moveaxis(
    x: Tensor, source: int | Sequence[int], destination: int | Sequence[int]
) -> Tensor:
    """Moves axes to other places; the rest stay in order.

    Args:
        x: Any shape.
        source: One axis or several; negative ones count from the end.
        destination: Where they are in the result, one for each.

    Raises:
        TypeError: ``x`` is no tensor, or an axis is no int.
        ValueError: There is no such axis, one is named twice, or they do not pair.

    Source: ours; numpy's moveaxis.

    >>> from maxlite.tensor import Tensor
    >>> moveaxis(Tensor([[[1.0, 2.0]]]), -1, 0).to_numpy().tolist()
    [[[1.0]], [[2.0]]]
    """
    as_tensor("moveaxis", x)
    taken, put = (
        [normal_axis("moveaxis", axis, x.rank) for axis in one_or_several(side)]
        for side in (source, destination)
    )
    if len(taken) != len(put) or any(
        len(set(side)) < len(side) for side in (taken, put)
    ):
        raise ValueError(
            "moveaxis: source and destination must pair, each axis named once, got "
            f"{taken} and {put}. List a destination for each source."
        )
    order = [axis for axis in range(x.rank) if axis not in taken]
    for place, axis in sorted(zip(put, taken, strict=True)):
        order.insert(place, axis)
    return permute(x, order)
