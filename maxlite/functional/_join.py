"""Ops that join tensors along an axis, or cut one into pieces."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import normal_axis, whole_number
from maxlite.functional._operands import as_tensor, as_tensors
from maxlite.functional._transfer import move
from maxlite.graph import Dim
from maxlite.graph._shape import compact_dim, compact_shape, shape_text
from maxlite.sharding.rules import chunk_rule, concat_rule, split_rule, stack_rule
from maxlite.tensor._tensor import Tensor

if TYPE_CHECKING:
    from maxlite.dtype import DType
    from maxlite.graph import DimLike
    from maxlite.graph._shape import CompactShape
    from maxlite.graph._spec import Spec
    from maxlite.sharding import DeviceMapping


def _concat(*arrays: jax.Array, axis: int) -> jax.Array:
    # XLA ends the process when a slice meets the end of a concatenation with nothing.
    filled = [x for x in arrays if x.shape[axis] != 0]
    return lax.concatenate(filled or arrays, axis)


def _infer_concat(*operands: Spec, axis: int) -> tuple[DType, Any]:
    others = [(*s.shape[:axis], *s.shape[axis + 1 :]) for s in operands]
    _check_alike("concat", operands, others)
    joined = compact_dim(
        sum((s.shape[axis] for s in operands[1:]), operands[0].shape[axis])
    )
    shape = operands[0].shape
    return operands[0].dtype, (*shape[:axis], joined, *shape[axis + 1 :])


def _stack(*arrays: jax.Array, axis: int) -> jax.Array:
    return jnp.stack(arrays, axis)


def _infer_stack(*operands: Spec, axis: int) -> tuple[DType, Any]:
    _check_alike("stack", operands, [s.shape for s in operands])
    shape = operands[0].shape
    return operands[0].dtype, (*shape[:axis], len(operands), *shape[axis:])


def _check_alike(
    who: str, operands: Sequence[Spec], shapes: Sequence[CompactShape]
) -> None:
    """Refuses operands of different dtypes, or whose given shapes differ."""
    dtypes = {s.dtype for s in operands}
    if len(dtypes) > 1:
        raise ValueError(
            f"{who}: the dtypes must be equal, got "
            f"{' and '.join(s.dtype.name for s in operands)}. Cast to one first."
        )
    if any(shape != shapes[0] for shape in shapes):
        listed = " and ".join(shape_text(s.shape) for s in operands)
        allowed = " but along the axis" if who == "concat" else ""
        raise ValueError(
            f"{who}: the shapes must be equal{allowed}, got {listed}. Reshape, "
            "broadcast or rebind them."
        )


def _split(x: jax.Array, *, axis: int, sizes: tuple[Any, ...]) -> Any:
    _check_sizes(x.shape[axis], sizes)
    starts = [0, *itertools.accumulate(sizes)]
    return [
        lax.slice_in_dim(x, start, stop, axis=axis)
        for start, stop in itertools.pairwise(starts)
    ]


def _infer_split(
    x: Spec, *, axis: int, sizes: tuple[int | Dim, ...]
) -> list[tuple[DType, Any]]:
    _check_sizes(x.shape[axis], sizes)
    return [(x.dtype, (*x.shape[:axis], n, *x.shape[axis + 1 :])) for n in sizes]


def _check_sizes(have: Any, sizes: Sequence[Any]) -> None:
    if sum(sizes) != have or any(isinstance(n, int) and n < 0 for n in sizes):
        raise ValueError(
            f"split: the sizes must be 0 or more and add up to {have}, got "
            f"{shape_text(sizes)}. Change a size, or rebind the axis."
        )


_CONCAT = register(
    Op(
        name="concat",
        fn=_concat,
        infer=_infer_concat,
        rule=concat_rule,
        params=("axis",),
    )
)
_STACK = register(
    Op(
        name="stack",
        fn=_stack,
        infer=_infer_stack,
        rule=stack_rule,
        params=("axis",),
    )
)
_SPLIT = register(
    Op(
        name="split",
        fn=_split,
        infer=_infer_split,
        rule=split_rule,
        params=("axis", "sizes"),
    )
)
_CHUNK = register(
    Op(
        name="chunk",
        fn=_split,
        infer=_infer_split,
        rule=chunk_rule,
        params=("axis", "sizes"),
    )
)


@front
def concat(original_vals: Iterable[Tensor], axis: int = 0) -> Tensor:
    """Joins tensors end to end along an axis.

    Args:
        original_vals: Shapes ``[*batch, n_i, *rest]``, equal but for ``n_i`` at
            ``axis``; equal dtypes.
        axis: A negative one counts from the end.

    Returns:
        Shape ``[*batch, sum of n_i, *rest]``. Placed as the operands, which must lie
        alike; along a sharded axis elements change devices.

    Raises:
        ValueError: Nothing to join, or shapes or dtypes do not fit.
        IndexError: There is no such axis.
        TypeError: An operand is no tensor.

    Source: max.experimental.functional.concat.

    >>> concat([Tensor([1.0]), Tensor([2.0, 3.0])]).to_numpy().tolist()
    [1.0, 2.0, 3.0]
    """
    operands = _listed("concat", original_vals, "original_vals")
    ranks = {x.rank for x in operands}
    if len(ranks) > 1:
        listed = " and ".join(shape_text(x._spec.shape) for x in operands)
        raise ValueError(
            f"concat: the ranks must be equal, got shapes {listed}. Unsqueeze first."
        )
    at = normal_axis("concat", axis, operands[0].rank, IndexError)
    return apply(_CONCAT, operands, at)


@front
def stack(
    values: Iterable[Any], axis: int = 0, device: DeviceMapping | None = None
) -> Tensor:
    """Joins tensors along a new axis.

    Args:
        values: Tensors of one shape and dtype.
        axis: Where the new axis is in the result; a negative one counts from the
            result's end.
        device: Where the result goes; where the operands lie when None.

    Returns:
        Shape ``[*before, number of tensors, *after]``.

    Raises:
        ValueError: Nothing to join, or shapes or dtypes differ.
        IndexError: The result has no such axis.
        TypeError: An operand is no tensor.

    Source: max.experimental.functional.stack.

    >>> stack([Tensor([1.0, 2.0]), Tensor([3.0, 4.0])]).to_numpy().tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    operands = _listed("stack", values, "values")
    at = normal_axis("stack", axis, operands[0].rank + 1, IndexError)
    stacked = apply(_STACK, operands, at)
    return stacked if device is None else move(stacked, device)


@front
def split(
    x: Tensor, split_size_or_sections: int | Sequence[DimLike], axis: int = 0
) -> list[Tensor]:
    """Cuts along an axis into pieces of given sizes.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``.
        split_size_or_sections: An int is the size of every piece, the last of which
            may be shorter. A list names the size of each; they add up to ``n``, and
            may be symbolic.
        axis: A negative one counts from the end.

    Returns:
        The pieces in order; none when an axis of size 0 is cut by an int.

    Raises:
        ValueError: The sizes do not add up, or a size is negative, or the size of every
            piece is less than 1.
        TypeError: An int is given for a symbolic ``n``, or what is no size.
        IndexError: There is no such axis.

    Source: max.experimental.functional.split.

    >>> [piece.to_numpy().tolist() for piece in split(Tensor([1.0, 2.0, 3.0]), 2)]
    [[1.0, 2.0], [3.0]]
    """
    as_tensor("split", x)
    at = normal_axis("split", axis, x.rank, IndexError)
    have = x._spec.shape[at]
    if isinstance(split_size_or_sections, Iterable):
        sizes = compact_shape(split_size_or_sections)
    else:
        name = "split_size_or_sections"
        sizes = _equal_sizes(have, whole_number("split", split_size_or_sections, name))
    return _pieces(_SPLIT, x, at, sizes)


@front
def chunk(x: Tensor, chunks: int, axis: int = 0) -> list[Tensor]:
    """Cuts along an axis into equal pieces.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``.
        chunks: How many pieces; ``n`` is a multiple of it.
        axis: A negative one counts from the end.

    Returns:
        The pieces in order.

    Raises:
        ValueError: ``n`` does not divide, or is not known to.
        IndexError: There is no such axis.
        TypeError: ``chunks`` is no int.

    Source: max.experimental.functional.chunk.

    >>> [piece.to_numpy().tolist() for piece in chunk(Tensor([1.0, 2.0]), 2)]
    [[1.0], [2.0]]
    """
    as_tensor("chunk", x)
    at = normal_axis("chunk", axis, x.rank, IndexError)
    have = x._spec.shape[at]
    _check_int("chunk", "chunks", chunks)
    if chunks < 1 or Dim(have) // chunks * chunks != have:
        raise ValueError(
            f"chunk: the axis must divide into {chunks} equal pieces, got size {have}. "
            "Use split, or rebind to a size that divides."
        )
    return _pieces(_CHUNK, x, at, (compact_dim(Dim(have) // chunks),) * chunks)


def _listed(who: str, operands: Any, name: str) -> tuple[Tensor, ...]:
    """Coerces a list of tensors, which one tensor is not.

    Raises:
        TypeError: It is no list, or an item is no tensor.
        ValueError: It is empty.
    """
    tensors = tuple(as_tensors(who, operands, name))
    if not tensors:
        raise ValueError(f"{who}: {name} must hold at least one tensor, got none.")
    return tensors


def _equal_sizes(have: int | Dim, size: int) -> CompactShape:
    if isinstance(have, Dim):
        raise TypeError(
            f"split: the number of pieces of {have} by {size} is not known. List the "
            f"sizes, as in [{size}, {have - size}]."
        )
    if size < 1:
        raise ValueError(
            f"split: the size of the pieces must be 1 or more, got {size}. List the "
            "sizes for pieces of size 0."
        )
    whole, rest = divmod(have, size)
    return (size,) * whole + (rest,) * bool(rest)


def _pieces(op: Op, x: Tensor, axis: int, sizes: CompactShape) -> list[Tensor]:
    if not sizes:
        _check_sizes(x._spec.shape[axis], sizes)
        return []
    made = apply(op, (x,), axis, sizes)
    return [made] if isinstance(made, Tensor) else list(made)


def _check_int(who: str, name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{who}: {name} must be an int, got {type(value).__name__}.")
