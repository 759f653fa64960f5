"""Ops that choose among elements: by a mask, by positions, or as one of many classes.

Positions are read as :func:`gather` reads them: a negative one counts from the end, and
one that is out of range is an error where it can be seen at no cost.

Beyond the reference: the whole family, with the names and the meaning of numpy, and of
torch for what numpy lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import INTEGERS, DType
from maxlite.functional._comparison import where
from maxlite.functional._dispatch import apply
from maxlite.functional._gather import check_not_empty, check_range, gather
from maxlite.functional._index import wide_positions
from maxlite.functional._infer import broadcast_shapes, check_dtype, normal_axis
from maxlite.functional._operands import as_positions, as_tensor
from maxlite.functional._reshape import flatten
from maxlite.graph import Dim
from maxlite.graph._shape import compact_dim, shape_text
from maxlite.sharding.rules import one_hot_rule, take_along_axis_rule
from maxlite.tensor._defaults import defaults
from maxlite.tensor._tensor import Tensor

if TYPE_CHECKING:
    from maxlite.graph import DimLike
    from maxlite.graph._spec import Spec


def _take_along_axis(x: jax.Array, indices: jax.Array, *, axis: int) -> jax.Array:
    check_not_empty("take_along_axis", x.shape[axis : axis + 1], indices)
    return jnp.take_along_axis(x, wide_positions(indices), axis, mode="fill")


def _infer_take_along_axis(x: Spec, indices: Spec, *, axis: int) -> tuple[DType, Any]:
    check_dtype("take_along_axis", indices, INTEGERS, ValueError, "indices")
    if x.rank != indices.rank:
        raise ValueError(
            "take_along_axis: x and indices must have the same rank, got "
            f"{shape_text(x.shape)} and {shape_text(indices.shape)}. Unsqueeze one of "
            "them, or use take."
        )
    before, after = (
        broadcast_shapes("take_along_axis", x.shape[part], indices.shape[part])
        for part in (slice(None, axis), slice(axis + 1, None))
    )
    return x.dtype, (*before, indices.shape[axis], *after)


def _one_hot(x: jax.Array, *, num_classes: Any, axis: int, dtype: DType) -> jax.Array:
    # Wide enough for every class; what is beyond it turns negative, and matches none.
    wanted = jnp.expand_dims(x.astype(jnp.int64), axis)
    classes = lax.broadcasted_iota(
        jnp.int64, [num_classes if i == axis else 1 for i in range(x.ndim + 1)], axis
    )
    return (wanted == classes).astype(dtype.to_jax())


def _infer_one_hot(
    x: Spec, *, num_classes: int | Dim, axis: int, dtype: DType
) -> tuple[DType, Any]:
    check_dtype("one_hot", x, INTEGERS, name="indices")
    if isinstance(num_classes, int) and num_classes < 0:
        raise ValueError(f"one_hot: num_classes must be 0 or more, got {num_classes}.")
    return dtype, (*x.shape[:axis], num_classes, *x.shape[axis:])


_TAKE_ALONG_AXIS = register(
    Op(
        name="take_along_axis",
        fn=_take_along_axis,
        infer=_infer_take_along_axis,
        rule=take_along_axis_rule,
        params=("axis",),
    )
)
_ONE_HOT = register(
    Op(
        name="one_hot",
        fn=_one_hot,
        infer=_infer_one_hot,
        rule=one_hot_rule,
        params=("num_classes", "axis", "dtype"),
        dtypes=INTEGERS,
    )
)


@front
def masked_fill(x: Tensor, mask: Tensor, value: Tensor | float) -> Tensor:
    """Puts a value where a mask is True.

    Args:
        x: Any shape.
        mask: Bool; broadcasts to the shape of ``x``.
        value: A number that the dtype of ``x`` can hold, or a tensor of rank 0 in this
            dtype.

    Returns:
        Shape and dtype of ``x``. Sharded alike when the mask is, too.

    Raises:
        TypeError: An operand is no tensor, or ``value`` no number.
        ValueError: The mask is not bool or larger than ``x``, or ``value`` does not
            fit.

    Source: ours; torch's masked_fill.

    >>> from maxlite.tensor import Tensor
    >>> x = Tensor([1.0, 2.0, 3.0])
    >>> masked_fill(x, x > 1.5, 0.0).to_numpy().tolist()
    [1.0, 0.0, 0.0]
    """
    as_tensor("masked_fill", x)
    mask = as_positions("masked_fill", mask, "mask", x)
    shape = x._spec.shape
    if broadcast_shapes("masked_fill", shape, mask._spec.shape) != shape:
        raise ValueError(
            "masked_fill: mask must broadcast to the shape of x, got "
            f"{shape_text(mask._spec.shape)} for {shape_text(shape)}. Broadcast x "
            "first."
        )
    if isinstance(value, Tensor) and (value.rank or value.dtype is not x.dtype):
        raise ValueError(
            f"masked_fill: value must have rank 0 and dtype {x.dtype.name}, got "
            f"{value.dtype.name}{shape_text(value._spec.shape)}. Index or cast it, or "
            "use where."
        )
    return where(mask, value, x)


@front
def take(x: Tensor, indices: Tensor, axis: int | None = None) -> Tensor:
    """Picks elements by position: :func:`gather`, which can flatten first.

    Args:
        x: Shape ``[*before, n, *after]``, with ``n`` at ``axis``.
        indices: Any shape; integers from ``-n`` to ``n - 1``.
        axis: A negative one counts from the end. None flattens ``x`` first.

    Returns:
        Shape ``[*before, *shape of indices, *after]``, dtype of ``x``. Placed as by
        :func:`gather`.

    Raises:
        IndexError: There is no such axis.
        ValueError: ``indices`` are no integers or, outside of a program, out of range.
        TypeError: An operand is no tensor.

    Source: ours; numpy's take.

    >>> from maxlite.dtype import DType
    >>> from maxlite.tensor import Tensor
    >>> x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> take(x, Tensor([0, -1], dtype=DType.int64)).to_numpy().tolist()
    [1.0, 4.0]
    """
    as_tensor("take", x)
    indices = as_positions("take", indices, "indices", x)
    if axis is None:
        x, axis = (x if x.rank == 1 else flatten(x)), 0
    return gather(x, indices, axis)


@front
def take_along_axis(x: Tensor, indices: Tensor, axis: int = -1) -> Tensor:
    """Picks elements along one axis, at positions of their own in each row.

    It undoes what :func:`argsort` does: ``take_along_axis(x, argsort(x, axis=1), 1)``
    is ``sort(x, 1)``.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``.
        indices: Shape ``[*batch, k, *rest]``; integers from ``-n`` to ``n - 1``. The
            other axes broadcast.
        axis: A negative one counts from the end.

    Returns:
        Shape ``[*batch, k, *rest]``, dtype of ``x``. ``x`` must be whole along the
        axis; the indices may be sharded along it, and both along another one.

    Raises:
        TypeError: An operand is no tensor, or ``axis`` no int.
        ValueError: There is no such axis, the shapes do not fit, or ``indices`` are no
            integers or, outside of a program, out of range.

    Source: ours; numpy's take_along_axis.

    >>> from maxlite.dtype import DType
    >>> from maxlite.tensor import Tensor
    >>> x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> last = Tensor([[1], [0]], dtype=DType.int64)
    >>> take_along_axis(x, last).to_numpy().tolist()
    [[2.0], [3.0]]
    """
    as_tensor("take_along_axis", x)
    indices = as_positions("take_along_axis", indices, "indices", x)
    at = normal_axis("take_along_axis", axis, x.rank)
    if indices.dtype in INTEGERS:
        check_range("take_along_axis", indices, (x._spec.shape[at],))
    return apply(_TAKE_ALONG_AXIS, (x, indices), at)


@front
def one_hot(
    indices: Tensor,
    num_classes: DimLike,
    axis: int = -1,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """Turns the number of a class into a vector: 1 at this place, 0 at the others.

    Args:
        indices: Shape ``[*before, *after]``; integers. One below 0 or not below
            ``num_classes`` gives zeros only, which leaves room for a class to ignore.
        num_classes: Size of the new axis; may be symbolic.
        axis: Where the new axis is in the result; a negative one counts from the
            result's end.
        dtype: The default dtype when None.

    Returns:
        Shape ``[*before, num_classes, *after]``, sharded as the indices are.

    Raises:
        TypeError: ``indices`` are no tensor of integers, or ``axis`` is no int.
        ValueError: The result has no such axis, or ``num_classes`` is negative.

    Source: ours; torch's one_hot.

    >>> from maxlite.dtype import DType
    >>> from maxlite.tensor import Tensor
    >>> one_hot(Tensor([2, 0], dtype=DType.int64), 3).to_numpy().tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    as_tensor("one_hot", indices, "indices")
    at = normal_axis("one_hot", axis, indices.rank + 1)
    chosen, _ = defaults(dtype)
    return apply(_ONE_HOT, (indices,), compact_dim(num_classes), at, chosen)
