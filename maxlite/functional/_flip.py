"""Ops that move elements along axes: turned round, or shifted in a circle.

Nothing is computed, so every dtype will do, and a pending sum stays one. An axis along
which elements move must be whole; the others may be sharded.

Beyond the reference: the whole family, with numpy's names and meaning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import normal_axis, one_or_several, whole_number
from maxlite.functional._operands import as_tensor
from maxlite.graph import Dim
from maxlite.graph._shape import compact_dim, num_elements
from maxlite.sharding.rules import flip_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.dtype import DType
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _flip(x: jax.Array, *, axes: tuple[int, ...]) -> jax.Array:
    return lax.rev(x, axes)


def _roll(
    x: jax.Array, *, shifts: tuple[Any, ...], axes: tuple[int, ...] | None
) -> jax.Array:
    return jnp.roll(x, shifts[0] if axes is None else shifts, axes)


def _infer_moved(x: Spec, **_: Any) -> tuple[DType, Any]:
    return x.dtype, x.shape


_FLIP = register(
    Op(name="flip", fn=_flip, infer=_infer_moved, rule=flip_rule, params=("axes",))
)
_ROLL = register(
    Op(
        name="roll",
        fn=_roll,
        infer=_infer_moved,
        rule=flip_rule,
        params=("shifts", "axes"),
    )
)


@front
def flip(x: Tensor, axis: int | Sequence[int] | None = None) -> Tensor:
    """Reverses the order of the elements along axes.

    Args:
        x: Any shape.
        axis: One axis or several; negative ones count from the end. None for all.

    Returns:
        Shape and dtype of ``x``, sharded alike. The axes named must be whole.

    Raises:
        TypeError: ``x`` is no tensor, or an axis is no int.
        ValueError: There is no such axis, or one is named twice.

    Source: ours; numpy's flip.

    >>> from maxlite.tensor import Tensor
    >>> flip(Tensor([[1.0, 2.0], [3.0, 4.0]]), 1).to_numpy().tolist()
    [[2.0, 1.0], [4.0, 3.0]]
    """
    as_tensor("flip", x)
    named = range(x.rank) if axis is None else one_or_several(axis)
    axes = tuple(sorted(normal_axis("flip", one, x.rank) for one in named))
    if len(set(axes)) < len(axes):
        raise ValueError(
            f"flip: each axis must be named once, got {list(named)} for rank {x.rank}. "
            "Drop one."
        )
    return apply(_FLIP, (x,), axes)


@front
def roll(
    x: Tensor,
    shift: int | Dim | Sequence[int | Dim],
    axis: int | Sequence[int] | None = None,
) -> Tensor:
    """Shifts the elements along axes; what leaves at the end comes in at the start.

    Args:
        x: Any shape.
        shift: By how many places, forwards; a negative number shifts backwards. One for
            all axes, or one for each.
        axis: One axis or several; negative ones count from the end, and shifts along
            the same one add up. None shifts the flattened tensor, which keeps its
            shape.

    Returns:
        Shape and dtype of ``x``, sharded alike. The axes named must be whole, all of
        them for None.

    Raises:
        TypeError: ``x`` is no tensor, or a shift or an axis is no int.
        ValueError: There is no such axis, not one shift for each, or a huge shift for a
            size that is not known.

    Source: ours; numpy's roll.

    >>> from maxlite.tensor import Tensor
    >>> roll(Tensor([1.0, 2.0, 3.0]), 1).to_numpy().tolist()
    [3.0, 1.0, 2.0]
    """
    as_tensor("roll", x)
    shifts = [_shift(one) for one in one_or_several(shift)]
    if axis is None:
        total = _reduced(_total(shifts), num_elements(x._spec.shape))
        return apply(_ROLL, (x,), (total,), None)
    axes = [normal_axis("roll", one, x.rank) for one in one_or_several(axis)]
    if len(shifts) != len(axes):
        if len(shifts) != 1:
            raise ValueError(
                f"roll: there must be one shift, or one per axis, got {len(shifts)} "
                f"shifts and {len(axes)} axes. Name the axis of each."
            )
        shifts *= len(axes)
    totals, distinct = _by_axis(shifts, axes)
    sizes = [x._spec.shape[axis] for axis in distinct]
    return apply(_ROLL, (x,), tuple(map(_reduced, totals, sizes)), distinct)


def _reduced(shift: int | Dim, size: int | Dim) -> int | Dim:
    """Leaves whole turns out, so that any number of places will do."""
    if not isinstance(shift, int):
        return shift
    if isinstance(size, int):
        return shift % max(size, 1)
    if not -(2**62) < shift < 2**62:
        raise ValueError(
            f"roll: a shift along an axis of size {size} must lie between -2**62 and "
            f"2**62, got {shift}. Take it modulo a number."
        )
    return shift


def _by_axis(
    shifts: Sequence[int | Dim], axes: Sequence[int]
) -> tuple[tuple[int | Dim, ...], tuple[int, ...]]:
    """Adds up the shifts along each axis, so that one roll has one form."""
    distinct = sorted(set(axes))
    totals = (
        _total([by for by, at in zip(shifts, axes, strict=True) if at == axis])
        for axis in distinct
    )
    return tuple(totals), tuple(distinct)


def _total(shifts: Sequence[int | Dim]) -> int | Dim:
    total: int | Dim = 0
    for by in shifts:
        total = total + by
    return compact_dim(total)


def _shift(value: Any) -> int | Dim:
    return value if isinstance(value, Dim) else whole_number("roll", value, "shift")
