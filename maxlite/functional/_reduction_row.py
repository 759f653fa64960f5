"""What all reductions share: their axes, what stays of them, and the row.

A reduction takes an axis, several of them, or None for all. By default the reduced axes
stay with size 1, so the others keep their numbers; ``keepdims=False`` removes them.
Without an axis the elements count as one flat axis: what stays of it has shape ``[1]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import jax
import numpy as np
from jax import lax

from maxlite._op_table import Op, register
from maxlite.dtype import NUMBERS
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import check_dtype, normal_axis
from maxlite.functional._operands import as_tensor
from maxlite.functional._reshape import reshape
from maxlite.sharding.rules import reduce_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxlite.dtype import DType
    from maxlite.graph._shape import CompactShape
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor

Axes: TypeAlias = "int | Sequence[int] | None"
"""One axis, several axes, or None for all."""


def reduction_row(
    name: str,
    fn: Callable[..., jax.Array],
    rule: Callable[..., Any] = reduce_rule,
    *,
    allowed: frozenset[DType] = NUMBERS,
    to: DType | None = None,
    starts: bool = True,
    params: tuple[str, ...] = (),
) -> Op:
    """Makes the row of a reduction.

    Args:
        name: The op.
        fn: Takes the array, and by name ``axes`` and the further parameters; keeps the
            axes.
        rule: Placement rows.
        allowed: Dtypes of the operand.
        to: Dtype of the result, that of the operand when None.
        starts: Whether there is a value to start from, the result for no elements.
        params: Further parameters, after ``axes`` and ``keepdims``.
    """

    def meaning(
        x: jax.Array, *, axes: tuple[int, ...], keepdims: bool, **options: Any
    ) -> jax.Array:
        if not starts:
            _check_not_empty(name, x.shape, axes)
        kept = fn(x, axes=axes, **options)
        return kept if keepdims else lax.squeeze(kept, axes)

    def infer(
        x: Spec, *, axes: tuple[int, ...], keepdims: bool, **_: Any
    ) -> tuple[DType, CompactShape]:
        check_dtype(name, x, allowed)
        if not starts:
            _check_not_empty(name, x.shape, axes)
        return to or x.dtype, tuple(
            1 if i in axes else size
            for i, size in enumerate(x.shape)
            if keepdims or i not in axes
        )

    return register(
        Op(
            name=name,
            fn=meaning,
            infer=infer,
            rule=rule,
            params=("axes", "keepdims", *params),
            dtypes=allowed,
        )
    )


def _check_not_empty(who: str, shape: tuple[Any, ...], axes: tuple[int, ...]) -> None:
    """Refuses an axis of size 0; what is named is checked again at each size."""
    for axis in axes:
        if isinstance(shape[axis], int) and not shape[axis]:
            raise ValueError(
                f"{who}: the reduced axis must not be empty, got size 0 at axis {axis} "
                f"of shape {list(shape)}. Handle the empty tensor apart."
            )


def reduce(op: Op, x: Tensor, axis: Axes, keepdims: bool, *options: Any) -> Tensor:
    """Reduces the axes that a user names, all of them for None.

    Args:
        op: A row of :func:`reduction_row`.
        x: The operand.
        axis: As the user wrote it.
        keepdims: Whether the reduced axes stay, with size 1.
        *options: Values of the row's further parameters.
    """
    if type(axis) is int or (axis is None and keepdims):
        return reduce_one(op, x, axis, keepdims, *options)
    as_tensor(op.name, x)
    axes = range(x.rank) if axis is None else _normal_axes(op.name, axis, x.rank)
    return apply(op, (x,), tuple(axes), bool(keepdims), *options)


def reduce_one(
    op: Op, x: Tensor, axis: int | None, keepdims: bool, *options: Any
) -> Tensor:
    """Reduces a single axis; None flattens ``x`` first."""
    as_tensor(op.name, x)
    if axis is None:
        x, axis = (x if x.rank == 1 else reshape(x, [-1])), 0
    at = normal_axis(op.name, axis, x.rank)
    return apply(op, (x,), (at,), bool(keepdims), *options)


def _normal_axes(who: str, axis: Any, rank: int) -> tuple[int, ...]:
    if isinstance(axis, np.ndarray):
        axis = cast("Any", axis).tolist()
    if not isinstance(axis, Sequence):
        return (normal_axis(who, axis, rank),)
    named = cast("Sequence[Any]", axis)
    axes = sorted(normal_axis(who, each, rank) for each in named)
    if len(set(axes)) < len(axes):
        raise ValueError(
            f"{who}: the axes must be different ones, got {(*named,)} for a tensor "
            f"of rank {rank}. Name each axis once."
        )
    return tuple(axes)
