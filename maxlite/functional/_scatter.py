"""Ops that put elements at positions, into a copy of a tensor.

Arguments come in the order input, updates, indices. A negative position counts from the
end, and an update whose position is out of range is left out. Of several updates for
one element the combining ops use all, in an order that is not fixed; plain ones keep
the last on a CPU, and any of them elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import jax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import ALL, INTEGERS, NUMBERS
from maxlite.functional._dispatch import apply
from maxlite.functional._index import wide_positions
from maxlite.functional._infer import check_dtype, normal_axis
from maxlite.functional._operands import as_positions, beside
from maxlite.functional._precision import widened
from maxlite.graph._shape import shape_text
from maxlite.sharding.rules import all_replicated_rule, scatter_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxlite.dtype import DType
    from maxlite.graph._shape import CompactShape
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor

    Combine = Literal["set", "add", "max", "min", "mul"]

_ACCUMULATING = ("add", "mul")
"""What rounds at each step, and has no meaning for truth values."""


def _put(
    x: jax.Array, updates: jax.Array, at: tuple[jax.Array, ...], combine: Combine
) -> jax.Array:
    if combine in _ACCUMULATING:
        wide, terms = widened(x), widened(updates)
    else:
        wide, terms = x, updates
    target = wide.at[tuple(map(wide_positions, at))]
    methods = {
        "set": target.set,
        "add": target.add,
        "max": target.max,
        "min": target.min,
        "mul": target.multiply,
    }
    return methods[combine](terms, mode="drop").astype(x.dtype)


def _row(name: str, combine: Combine) -> Op:
    """Makes the row of a scatter along one axis."""
    allowed = _dtypes(combine)

    def scatter_along(
        x: jax.Array, updates: jax.Array, indices: jax.Array, *, axis: int
    ) -> jax.Array:
        def put(x: jax.Array, updates: jax.Array, indices: jax.Array) -> jax.Array:
            return _put(x, updates, (indices,), combine)

        # Mapped over the other axes, so that the compiler sees that a cut along one
        # of them needs no communication.
        return _over_other_axes(put, x.ndim, axis)(x, updates, indices)

    def infer(x: Spec, updates: Spec, indices: Spec, *, axis: int) -> tuple[DType, Any]:
        _check_operands(name, allowed, x, updates, indices)
        fits = updates.shape == indices.shape and updates.rank == x.rank
        if not fits or _without(updates.shape, axis) != _without(x.shape, axis):
            raise ValueError(
                f"{name}: updates and indices must have one shape, equal to that of "
                f"input but along axis {axis}, got updates "
                f"{shape_text(updates.shape)}, indices {shape_text(indices.shape)} "
                f"and input {shape_text(x.shape)}. "
                "Broadcast or rebind them."
            )
        return x.dtype, x.shape

    return register(
        Op(
            name=name,
            fn=scatter_along,
            infer=infer,
            rule=scatter_rule,
            params=("axis",),
            dtypes=allowed,
        )
    )


def _nd_row(name: str, combine: Combine) -> Op:
    """Makes the row of a scatter to vectors of positions."""
    allowed = _dtypes(combine)

    def scatter_vectors(
        x: jax.Array, updates: jax.Array, indices: jax.Array
    ) -> jax.Array:
        return _put(x, updates, tuple(jnp.moveaxis(indices, -1, 0)), combine)

    def infer(x: Spec, updates: Spec, indices: Spec) -> tuple[DType, Any]:
        _check_operands(name, allowed, x, updates, indices)
        length = indices.shape[-1] if indices.rank else None
        if not isinstance(length, int) or not 0 < length <= x.rank:
            raise ValueError(
                f"{name}: the last size of indices must be a number from 1 to the rank "
                f"of input, got indices {shape_text(indices.shape)} for input "
                f"{shape_text(x.shape)}. Each vector along it is one position."
            )
        wanted = (*indices.shape[:-1], *x.shape[length:])
        if updates.shape != wanted:
            raise ValueError(
                f"{name}: updates must have the shape {shape_text(wanted)} that "
                f"indices {shape_text(indices.shape)} pick from input "
                f"{shape_text(x.shape)}, got {shape_text(updates.shape)}. Broadcast or "
                "rebind them."
            )
        return x.dtype, x.shape

    return register(
        Op(
            name=name,
            fn=scatter_vectors,
            infer=infer,
            rule=all_replicated_rule,
            dtypes=allowed,
        )
    )


def _dtypes(combine: Combine) -> frozenset[DType]:
    return NUMBERS if combine in _ACCUMULATING else ALL


def _check_operands(
    name: str, allowed: frozenset[DType], x: Spec, updates: Spec, indices: Spec
) -> None:
    check_dtype(name, x, allowed, name="input")
    check_dtype(name, indices, INTEGERS, ValueError, "indices")
    if updates.dtype is not x.dtype:
        raise ValueError(
            f"{name}: input and updates must have one dtype, got {x.dtype.name} and "
            f"{updates.dtype.name}. Cast the updates."
        )


def _without(shape: CompactShape, axis: int) -> CompactShape:
    return (*shape[:axis], *shape[axis + 1 :])


def _over_other_axes(
    fn: Callable[..., jax.Array], rank: int, axis: int
) -> Callable[..., jax.Array]:
    """Maps a function of vectors over all axes but one."""
    for i in range(rank - 1, -1, -1):
        if i > axis:
            fn = jax.vmap(fn, in_axes=1, out_axes=1)
        elif i < axis:
            fn = jax.vmap(fn)
    return fn


_SCATTER = _row("scatter", "set")
_SCATTER_ADD = _row("scatter_add", "add")
_SCATTER_MAX = _row("scatter_max", "max")
_SCATTER_MIN = _row("scatter_min", "min")
_SCATTER_MUL = _row("scatter_mul", "mul")
_SCATTER_ND = _nd_row("scatter_nd", "set")
_SCATTER_ND_ADD = _nd_row("scatter_nd_add", "add")
_SCATTER_ND_MAX = _nd_row("scatter_nd_max", "max")
_SCATTER_ND_MIN = _nd_row("scatter_nd_min", "min")
_SCATTER_ND_MUL = _nd_row("scatter_nd_mul", "mul")


@front
def scatter(input: Tensor, updates: Tensor, indices: Tensor, axis: int = -1) -> Tensor:
    """Replaces elements along an axis: ``out[.., indices[i], ..] = updates[i]``.

    Args:
        input: Any shape.
        updates: Shape of ``input`` but along ``axis``; same dtype.
        indices: Integers, shape of ``updates``: for each update, where it goes.
        axis: A negative one counts from the end.

    Returns:
        A new tensor like ``input``. All three may be sharded alike along another axis.

    Raises:
        ValueError: Shapes, dtypes or the axis do not fit.
        TypeError: An operand is no tensor.

    Source: max.experimental.functional.scatter.

    >>> from maxlite.dtype import DType
    >>> from maxlite.tensor import Tensor
    >>> last = Tensor([-1], dtype=DType.int64)
    >>> scatter(Tensor([1.0, 2.0]), Tensor([9.0]), last).to_numpy().tolist()
    [1.0, 9.0]
    """
    return _scatter(_SCATTER, input, updates, indices, axis)


@front
def scatter_add(
    input: Tensor, updates: Tensor, indices: Tensor, axis: int = -1
) -> Tensor:
    """Adds updates to elements along an axis. See :func:`scatter`.

    Source: max.experimental.functional.scatter_add.

    >>> from maxlite.dtype import DType
    >>> from maxlite.tensor import Tensor
    >>> first = Tensor([0, 0], dtype=DType.int64)
    >>> scatter_add(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), first).to_numpy().tolist()
    [8.0, 2.0]
    """
    return _scatter(_SCATTER_ADD, input, updates, indices, axis)


@front
def scatter_max(
    input: Tensor, updates: Tensor, indices: Tensor, axis: int = -1
) -> Tensor:
    """Takes the larger of element and update along an axis. See :func:`scatter`.

    Source: max.experimental.functional.scatter_max.

    >>> from maxlite.dtype import DType
    >>> from maxlite.tensor import Tensor
    >>> both = Tensor([0, 1], dtype=DType.int64)
    >>> scatter_max(Tensor([1.0, 5.0]), Tensor([3.0, 4.0]), both).to_numpy().tolist()
    [3.0, 5.0]
    """
    return _scatter(_SCATTER_MAX, input, updates, indices, axis)


@front
def scatter_min(
    input: Tensor, updates: Tensor, indices: Tensor, axis: int = -1
) -> Tensor:
    """Takes the smaller of element and update along an axis. See :func:`scatter`.

    Source: max.experimental.functional.scatter_min.

    >>> from maxlite.dtype import DType
    >>> from maxlite.tensor import Tensor
    >>> both = Tensor([0, 1], dtype=DType.int64)
    >>> scatter_min(Tensor([1.0, 5.0]), Tensor([3.0, 4.0]), both).to_numpy().tolist()
    [1.0, 4.0]
    """
    return _scatter(_SCATTER_MIN, input, updates, indices, axis)


@front
def scatter_mul(
    input: Tensor, updates: Tensor, indices: Tensor, axis: int = -1
) -> Tensor:
    """Multiplies elements along an axis by updates. See :func:`scatter`.

    Source: max.experimental.functional.scatter_mul.

    >>> from maxlite.dtype import DType
    >>> from maxlite.tensor import Tensor
    >>> first = Tensor([0, 0], dtype=DType.int64)
    >>> scatter_mul(Tensor([2.0, 5.0]), Tensor([3.0, 4.0]), first).to_numpy().tolist()
    [24.0, 5.0]
    """
    return _scatter(_SCATTER_MUL, input, updates, indices, axis)


@front
def scatter_nd(input: Tensor, updates: Tensor, indices: Tensor) -> Tensor:
    """Replaces elements, or whole parts, at vectors of positions.

    Args:
        input: Shape ``[*axes, *rest]``, with ``k`` axes that positions are on.
        updates: Shape ``[*picked, *rest]``; same dtype.
        indices: Integers, shape ``[*picked, k]``; each vector is one position.

    Returns:
        A new tensor like ``input``.

    Raises:
        ValueError: Shapes or dtypes do not fit.
        TypeError: An operand is no tensor.

    Source: max.experimental.functional.scatter_nd.

    >>> from maxlite.dtype import DType
    >>> from maxlite.tensor import Tensor
    >>> row = Tensor([[1]], dtype=DType.int64)
    >>> x, update = Tensor([[1.0], [2.0]]), Tensor([[9.0]])
    >>> scatter_nd(x, update, row).to_numpy().tolist()
    [[1.0], [9.0]]
    """
    return _scatter_nd(_SCATTER_ND, input, updates, indices)


@front
def scatter_nd_add(input: Tensor, updates: Tensor, indices: Tensor) -> Tensor:
    """Adds updates at vectors of positions. See :func:`scatter_nd`.

    Source: max.experimental.functional.scatter_nd_add.

    >>> from maxlite.dtype import DType
    >>> from maxlite.tensor import Tensor
    >>> first = Tensor([[0], [0]], dtype=DType.int64)
    >>> x, updates = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    >>> scatter_nd_add(x, updates, first).to_numpy().tolist()
    [8.0, 2.0]
    """
    return _scatter_nd(_SCATTER_ND_ADD, input, updates, indices)


@front
def scatter_nd_max(input: Tensor, updates: Tensor, indices: Tensor) -> Tensor:
    """Takes the larger of element and update. See :func:`scatter_nd`.

    Source: max.experimental.functional.scatter_nd_max.

    >>> from maxlite.dtype import DType
    >>> from maxlite.tensor import Tensor
    >>> first = Tensor([[0]], dtype=DType.int64)
    >>> scatter_nd_max(Tensor([1.0]), Tensor([3.0]), first).to_numpy().tolist()
    [3.0]
    """
    return _scatter_nd(_SCATTER_ND_MAX, input, updates, indices)


@front
def scatter_nd_min(input: Tensor, updates: Tensor, indices: Tensor) -> Tensor:
    """Takes the smaller of element and update. See :func:`scatter_nd`.

    Source: max.experimental.functional.scatter_nd_min.

    >>> from maxlite.dtype import DType
    >>> from maxlite.tensor import Tensor
    >>> first = Tensor([[0]], dtype=DType.int64)
    >>> scatter_nd_min(Tensor([1.0]), Tensor([3.0]), first).to_numpy().tolist()
    [1.0]
    """
    return _scatter_nd(_SCATTER_ND_MIN, input, updates, indices)


@front
def scatter_nd_mul(input: Tensor, updates: Tensor, indices: Tensor) -> Tensor:
    """Multiplies by updates at vectors of positions. See :func:`scatter_nd`.

    Source: max.experimental.functional.scatter_nd_mul.

    >>> from maxlite.dtype import DType
    >>> from maxlite.tensor import Tensor
    >>> first = Tensor([[0], [0]], dtype=DType.int64)
    >>> x, updates = Tensor([2.0, 5.0]), Tensor([3.0, 4.0])
    >>> scatter_nd_mul(x, updates, first).to_numpy().tolist()
    [24.0, 5.0]
    """
    return _scatter_nd(_SCATTER_ND_MUL, input, updates, indices)


def _scatter(
    op: Op, input: Tensor, updates: Tensor, indices: Tensor, axis: int
) -> Tensor:
    operands = _operands(op, input, updates, indices)
    return apply(op, operands, normal_axis(op.name, axis, input.rank))


def _scatter_nd(op: Op, input: Tensor, updates: Tensor, indices: Tensor) -> Tensor:
    return apply(op, _operands(op, input, updates, indices))


def _operands(
    op: Op, input: Tensor, updates: Tensor, indices: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    input, updates = beside(op.name, input=input, updates=updates)
    return input, updates, as_positions(op.name, indices, "indices", input)
