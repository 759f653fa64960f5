"""Ops that order the elements along one tensor axis.

Equal elements keep their order, the lower index first; -0.0 equals 0.0. NaN counts as
the largest, as numpy sorts it: the last one upwards, the first one downwards.

Beyond the reference: ``sort``, and ``argsort`` along an axis.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import DType
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import normal_axis
from maxlite.functional._operands import as_tensor
from maxlite.graph._shape import shape_text
from maxlite.sharding.rules import along_axis_rule, top_k_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _argsort(x: jax.Array, *, ascending: bool, axis: int) -> jax.Array:
    return jnp.argsort(x, axis, descending=not ascending).astype(jnp.int64)


def _infer_argsort(x: Spec, *, ascending: bool, axis: int) -> tuple[DType, Any]:
    return DType.int64, x.shape


def _sort(x: jax.Array, *, axis: int, descending: bool) -> jax.Array:
    if not descending:
        return jnp.sort(x, axis)
    # Turned round before and after, so that equal elements (zeros) keep their order.
    return jnp.flip(jnp.sort(jnp.flip(x, axis), axis), axis)


def _infer_sort(x: Spec, *, axis: int, descending: bool) -> tuple[DType, Any]:
    return x.dtype, x.shape


def _selection_row(name: str, choose: Callable[..., jax.Array]) -> Op:
    """Makes the row of an op that takes k elements along an axis, with their indices.

    Args:
        name: The op.
        choose: Takes the array, ``k`` and ``axis``, and gives the indices in order.
    """

    def meaning(x: jax.Array, *, k: int, axis: int) -> tuple[jax.Array, jax.Array]:
        _check_k(name, k, x.shape, axis)
        indices = choose(x, k, axis)
        values = jnp.take_along_axis(x, indices, axis, mode="promise_in_bounds")
        return values, indices.astype(jnp.int64)

    def infer(x: Spec, *, k: int, axis: int) -> list[tuple[DType, Any]]:
        _check_k(name, k, x.shape, axis)
        shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
        return [(x.dtype, shape), (DType.int64, shape)]

    return register(
        Op(
            name=name,
            fn=meaning,
            infer=infer,
            rule=top_k_rule,
            params=("k", "axis"),
            # XLA gathers the operand of a top-k, whatever axis is cut.
            runs_locally=True,
        )
    )


def _check_k(who: str, k: int, shape: tuple[Any, ...], axis: int) -> None:
    """Refuses a ``k`` beyond the axis; what is named is checked again at each size."""
    size = shape[axis]
    if k < 0 or (isinstance(size, int) and k > size):
        raise ValueError(
            f"{who}: k must be from 0 to the size of the axis, got {k} for axis {axis} "
            f"of shape {shape_text(shape)}. Pass one in this range."
        )


def _largest(x: jax.Array, k: int, axis: int) -> jax.Array:
    if jnp.issubdtype(x.dtype, jnp.floating):
        # JAX tells the two zeros apart here, and the two signs of NaN.
        x = jnp.where(x == 0, jnp.zeros((), x.dtype), x)
        x = jnp.where(jnp.isnan(x), jnp.full((), jnp.nan, x.dtype), x)
    return lax.top_k(x, k, axis=axis)[1]


def _smallest(x: jax.Array, k: int, axis: int) -> jax.Array:
    return lax.slice_in_dim(jnp.argsort(x, axis), 0, k, axis=axis)


_ARGSORT = register(
    Op(
        name="argsort",
        fn=_argsort,
        infer=_infer_argsort,
        rule=along_axis_rule,
        params=("ascending", "axis"),
    )
)
_SORT = register(
    Op(
        name="sort",
        fn=_sort,
        infer=_infer_sort,
        rule=along_axis_rule,
        params=("axis", "descending"),
    )
)
_TOP_K = _selection_row("top_k", _largest)
_BOTTOM_K = _selection_row("bottom_k", _smallest)


def _select(op: Op, x: Any, k: Any, axis: int) -> tuple[Tensor, Tensor]:
    as_tensor(op.name, x, "input")
    if isinstance(k, bool) or not hasattr(k, "__index__"):
        raise TypeError(f"{op.name}: k must be an int, got {type(k).__name__}.")
    return apply(op, (x,), operator.index(k), normal_axis(op.name, axis, x.rank))


@front
def argsort(x: Tensor, ascending: bool = True, axis: int | None = None) -> Tensor:
    """Finds the indices that would sort a tensor along one axis.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``.
        ascending: Whether the smallest comes first. Equal elements keep their order
            either way.
        axis: A negative one counts from the end. It may be left out for a vector only.

    Returns:
        Shape of ``x``, int64. NaN counts as the largest. The axis must be whole, the
        others may be sharded.

    Raises:
        TypeError: ``x`` is no tensor, or ``axis`` no int.
        ValueError: There is no such axis, or it is left out and ``x`` is no vector.

    Source: max.experimental.functional.argsort.

    >>> from maxlite.tensor import Tensor
    >>> argsort(Tensor([3.0, 1.0, 2.0])).to_numpy().tolist()
    [1, 2, 0]
    """
    as_tensor("argsort", x)
    if axis is None:
        if x.rank != 1:
            raise ValueError(
                f"argsort: x must have one axis, got {shape_text(x._spec.shape)}. Pass "
                "axis, or flatten it."
            )
        axis = 0
    return apply(_ARGSORT, (x,), bool(ascending), normal_axis("argsort", axis, x.rank))


@front
def sort(x: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    """Sorts the elements along one axis.

    Args:
        x: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``.
        axis: A negative one counts from the end.
        descending: Whether the largest comes first. Equal elements keep their order
            either way.

    Returns:
        Shape and dtype of ``x``. NaN counts as the largest. The axis must be whole, the
        others may be sharded.

    Raises:
        TypeError: ``x`` is no tensor, or ``axis`` no int.
        ValueError: There is no such axis.

    Source: ours; numpy's sort.

    >>> from maxlite.tensor import Tensor
    >>> sort(Tensor([3.0, 1.0, 2.0])).to_numpy().tolist()
    [1.0, 2.0, 3.0]
    """
    as_tensor("sort", x)
    return apply(_SORT, (x,), normal_axis("sort", axis, x.rank), bool(descending))


@front
def top_k(input: Tensor, k: int, axis: int = -1) -> tuple[Tensor, Tensor]:
    """Takes the largest elements along one tensor axis, the largest first.

    Args:
        input: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``.
        k: How many, from 0 to ``n``.
        axis: Tensor axis to search; a negative one counts from the end.

    Returns:
        The values and their int64 indices, both of shape ``[*batch, k, *rest]``. NaN
        counts as the largest.

    Raises:
        TypeError: ``input`` is no tensor, or ``k`` or ``axis`` is no int.
        ValueError: ``k`` is out of range, or ``axis`` is not an axis of ``input``.

    Source: max.experimental.functional.top_k.

    >>> from maxlite.tensor import Tensor
    >>> values, indices = top_k(Tensor([1.0, 4.0, 2.0]), 2)
    >>> values.to_numpy().tolist(), indices.to_numpy().tolist()
    ([4.0, 2.0], [1, 2])
    """
    return _select(_TOP_K, input, k, axis)


@front
def bottom_k(input: Tensor, k: int, axis: int = -1) -> tuple[Tensor, Tensor]:
    """Takes the smallest elements along one tensor axis, the smallest first.

    Args:
        input: Shape ``[*batch, n, *rest]``, with ``n`` at ``axis``.
        k: How many, from 0 to ``n``.
        axis: Tensor axis to search; a negative one counts from the end.

    Returns:
        The values and their int64 indices, both of shape ``[*batch, k, *rest]``. NaN
        counts as the largest.

    Raises:
        TypeError: ``input`` is no tensor, or ``k`` or ``axis`` is no int.
        ValueError: ``k`` is out of range, or ``axis`` is not an axis of ``input``.

    Source: max.experimental.functional.bottom_k.

    >>> from maxlite.tensor import Tensor
    >>> values, indices = bottom_k(Tensor([3.0, 1.0, 2.0]), 2)
    >>> values.to_numpy().tolist(), indices.to_numpy().tolist()
    ([1.0, 2.0], [1, 2])
    """
    return _select(_BOTTOM_K, input, k, axis)
