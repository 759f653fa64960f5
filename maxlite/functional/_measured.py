"""Ops whose results have a size that only the values tell.

Such an op is two rows: one counts, the other is told the size. In eager code the count
is read and the second row runs at that size. In a lazy block or a program the size gets
a name, and what comes behind is computed once the count is there: the program is cut in
two. Neither can be done inside a loop, a branch or a derivative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maxlite.functional._dispatch import apply
from maxlite.graph._shape import compact_dim
from maxlite.lowering._rebind import check_size
from maxlite.realization_context._eager import value_in
from maxlite.tensor._context import innermost
from maxlite.tensor._tensor import Tensor, from_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite._op_table import Op
    from maxlite.functional._operands import Operand
    from maxlite.graph import DimLike
    from maxlite.tensor._context import RealizationContext

LEAST_ROOM = 16
"""Smallest size that an eager result is computed at before it is cut to length."""


def apply_measured(
    count: Op,
    op: Op,
    operands: Sequence[Operand],
    size: DimLike | None,
    *params: Any,
    axis: int = 0,
    measured: Sequence[bool] = (True,),
) -> Any:
    """Runs a pair of rows, or records it where a context is open.

    Args:
        count: Row from the operands to the size, int64 of rank 0; takes ``params``.
        op: Row from the operands and the count to the results; its first static
            parameter is the size, followed by ``params``. Results at a larger size
            than the count begin with those at the count.
        operands: Coerced operands.
        size: Name of the size, or what it must be; None makes up a name, the same for
            the same operands.
        *params: Values of the other static parameters.
        axis: Where the size stands in the results that have it.
        measured: Which results have it.

    Raises:
        ValueError: The size is not as stated.
    """
    ctx = innermost()
    if ctx is not None and size is None:
        found = _recorded(ctx, op, operands, params)
        if found is not None:
            return found
    told = apply(count, operands, *params)
    if ctx is not None:
        if size is None:
            taken = sum(node.op.measured is not None for node in ctx.graph.nodes)
            size = f"{op.name}_{taken}"
        return apply(op, (*operands, told), compact_dim(size), *params)
    length = int(told.item())
    stated = None if size is None else compact_dim(size)
    if isinstance(stated, int):
        check_size(op.name, stated, length, {})
    # Sizes are rounded up, so that few of them are ever compiled.
    room = max(LEAST_ROOM, 1 << (length - 1).bit_length() if length else 0)
    made = apply(op, (*operands, told), room, *params)
    parts: tuple[Tensor, ...] = (made,) if isinstance(made, Tensor) else made
    cut = [
        _shortened(part, axis, length) if has_size else part
        for part, has_size in zip(parts, measured, strict=True)
    ]
    return cut[0] if isinstance(made, Tensor) else tuple(cut)


def _recorded(
    ctx: RealizationContext,
    op: Op,
    operands: Sequence[Operand],
    params: tuple[Any, ...],
) -> Any:
    """Finds the results of the same rows on the same values, which have one size."""
    values = [value_in(ctx, operand) for operand in operands]
    for node in ctx.graph.nodes:
        if node.op is op and node.params[1:] == params:
            pairs = zip(node.inputs, values, strict=False)
            if all(a is b for a, b in pairs):
                made = [ctx.create_unrealized((value,)) for value in node.outputs]
                return made[0] if len(made) == 1 else tuple(made)
    return None


def _shortened(x: Tensor, axis: int, length: int) -> Tensor:
    index = (*[slice(None)] * axis, slice(length))
    return from_numpy(np.ascontiguousarray(x.to_numpy()[index]), x.mapping)
