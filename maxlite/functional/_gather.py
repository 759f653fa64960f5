"""Ops that pick elements by tensors of positions.

A negative position counts from the end. One that is out of range is an error where the
positions can be read at no cost: outside of any context, on a CPU. A program cannot
raise: it gives NaN there, for integers the least value, for bools True.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import INTEGERS
from maxlite.functional._dispatch import apply
from maxlite.functional._index import check_positions, known_values, wide_positions
from maxlite.functional._infer import check_dtype, normal_axis, whole_number
from maxlite.functional._operands import as_positions, as_tensor
from maxlite.graph._shape import shape_text
from maxlite.sharding.rules import gather_nd_rule, gather_rule

if TYPE_CHECKING:
    from maxlite.dtype import DType
    from maxlite.graph import Dim
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _gather(x: jax.Array, indices: jax.Array, *, axis: int) -> jax.Array:
    check_not_empty("gather", x.shape[axis : axis + 1], indices)
    return jnp.take(x, wide_positions(indices), axis, mode="fill")


def check_not_empty(who: str, sizes: tuple[Any, ...], indices: jax.Array) -> None:
    """Refuses to pick from nothing, where not even a wrong element could be had."""
    picked = all(not isinstance(n, int) or n > 0 for n in indices.shape)
    if picked and any(isinstance(n, int) and n == 0 for n in sizes):
        raise ValueError(
            f"{who}: an axis of size 0 has no elements to pick, got indices of shape "
            f"{shape_text(indices.shape)}."
        )


def _infer_gather(x: Spec, indices: Spec, *, axis: int) -> tuple[DType, Any]:
    check_dtype("gather", indices, INTEGERS, ValueError, "indices")
    return x.dtype, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])


def _gather_nd(x: jax.Array, indices: jax.Array, *, batch_dims: int) -> jax.Array:
    def pick(x: jax.Array, indices: jax.Array) -> jax.Array:
        if not indices.shape[-1]:
            return jnp.broadcast_to(x, (*indices.shape[:-1], *x.shape))
        check_not_empty("gather_nd", x.shape[: indices.shape[-1]], indices)
        vectors = jnp.moveaxis(wide_positions(indices), -1, 0)
        return x.at[tuple(vectors)].get(mode="fill")

    for _ in range(batch_dims):
        pick = jax.vmap(pick)
    return pick(x, indices)


def _infer_gather_nd(x: Spec, indices: Spec, *, batch_dims: int) -> tuple[DType, Any]:
    check_dtype("gather_nd", indices, INTEGERS, ValueError, "indices")
    shape, batch = indices.shape, indices.shape[:batch_dims]
    if not 0 <= batch_dims < indices.rank or x.shape[:batch_dims] != batch:
        raise ValueError(
            "gather_nd: input and indices must share the first batch_dims axes, and "
            f"indices have one more, got {shape_text(x.shape)} and {shape_text(shape)} "
            f"with batch_dims {batch_dims}. Broadcast or rebind one of them."
        )
    length = shape[-1]
    if not isinstance(length, int) or batch_dims + length > x.rank:
        raise ValueError(
            "gather_nd: the last size of indices must be a number, at most the number "
            f"of axes left to pick from, got {length} for {shape_text(x.shape)} with "
            f"batch_dims {batch_dims}. Shorten the index vectors."
        )
    return x.dtype, (*shape[:-1], *x.shape[batch_dims + length :])


_GATHER = register(
    Op(
        name="gather",
        fn=_gather,
        infer=_infer_gather,
        rule=gather_rule,
        params=("axis",),
    )
)
_GATHER_ND = register(
    Op(
        name="gather_nd",
        fn=_gather_nd,
        infer=_infer_gather_nd,
        rule=gather_nd_rule,
        params=("batch_dims",),
    )
)


@front
def gather(input: Tensor, indices: Tensor, axis: int) -> Tensor:
    """Picks elements along an axis, as numpy's take.

    Args:
        input: Shape ``[*before, n, *after]``, with ``n`` at ``axis``.
        indices: Any shape; integers from ``-n`` to ``n - 1``.
        axis: A negative one counts from the end.

    Returns:
        Shape ``[*before, *shape of indices, *after]``, dtype of ``input``. Sharded as
        the indices are, or as ``input`` is on its other axes, with no communication.

    Raises:
        IndexError: There is no such axis.
        ValueError: ``indices`` are no integers or, outside of a program, out of range.
        TypeError: An operand is no tensor.

    Source: max.experimental.functional.gather.

    >>> from maxlite.dtype import DType
    >>> from maxlite.tensor import Tensor
    >>> rows = Tensor([2, -1, 0], dtype=DType.int64)
    >>> gather(Tensor([1.0, 2.0, 3.0]), rows, 0).to_numpy().tolist()
    [3.0, 3.0, 1.0]
    """
    as_tensor("gather", input, "input")
    indices = as_positions("gather", indices, "indices", input)
    at = normal_axis("gather", axis, input.rank, IndexError)
    if indices.dtype in INTEGERS:
        check_range("gather", indices, (input._spec.shape[at],))
    return apply(_GATHER, (input, indices), at)


@front
def gather_nd(input: Tensor, indices: Tensor, batch_dims: int = 0) -> Tensor:
    """Picks elements, or whole parts, by vectors of positions.

    Args:
        input: Shape ``[*batch, *axes, *rest]``, with ``k`` axes to pick from.
        indices: Shape ``[*batch, *picked, k]``; each vector is one position.
        batch_dims: How many leading axes both share.

    Returns:
        Shape ``[*batch, *picked, *rest]``, dtype of ``input``.

    Raises:
        ValueError: The vectors are too long, the batch axes differ, or ``indices`` are
            no integers or, outside of a program, out of range.
        TypeError: An operand is no tensor, or ``batch_dims`` no int.

    Source: max.experimental.functional.gather_nd.

    >>> from maxlite.dtype import DType
    >>> from maxlite.tensor import Tensor
    >>> corner = Tensor([[1, 0]], dtype=DType.int64)
    >>> gather_nd(Tensor([[1.0, 2.0], [3.0, 4.0]]), corner).to_numpy().tolist()
    [3.0]
    """
    as_tensor("gather_nd", input, "input")
    indices = as_positions("gather_nd", indices, "indices", input)
    first = whole_number("gather_nd", batch_dims, "batch_dims")
    if indices.rank and indices.dtype in INTEGERS:
        length = indices._spec.shape[-1]
        if isinstance(length, int) and first + length <= input.rank:
            check_range("gather_nd", indices, input._spec.shape[first:][:length])
    return apply(_GATHER_ND, (input, indices), first)


def check_range(who: str, indices: Tensor, sizes: tuple[int | Dim, ...]) -> None:
    """Refuses positions out of range where they can be read at no cost.

    Args:
        who: The op.
        indices: Positions; for several sizes, vectors of them along the last axis.
        sizes: Size of each axis that is picked from.
    """
    values = known_values(indices)
    if values is None or not values.size:
        return
    columns = [values] if len(sizes) == 1 else np.moveaxis(values, -1, 0)
    for column, size in zip(columns, sizes, strict=True):
        check_positions(who, column, size)
