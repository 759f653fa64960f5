"""Looking up where values belong among sorted ones.

As in sorting, NaN counts as the largest, and -0.0 equals 0.0.

Beyond the reference: the whole family, with numpy's names and meaning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import jax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import DType
from maxlite.functional._binary import promoted
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import promoted_dtype
from maxlite.functional._operands import as_operand, as_tensor
from maxlite.graph._shape import shape_text
from maxlite.sharding.rules import searchsorted_rule

if TYPE_CHECKING:
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor

    Side = Literal["left", "right"]


def _searchsorted(x: jax.Array, values: jax.Array, *, side: Side) -> jax.Array:
    return jnp.searchsorted(*promoted(x, values), side=side).astype(jnp.int64)


def _infer_searchsorted(x: Spec, values: Spec, *, side: Side) -> tuple[DType, Any]:
    promoted_dtype("searchsorted", x, values)
    if x.rank != 1:
        raise ValueError(
            "searchsorted: sorted_sequence must have one axis, got "
            f"{shape_text(x.shape)}. Index one row of it."
        )
    return DType.int64, values.shape


_SEARCHSORTED = register(
    Op(
        name="searchsorted",
        fn=_searchsorted,
        infer=_infer_searchsorted,
        rule=searchsorted_rule,
        params=("side",),
    )
)


@front
def searchsorted(
    sorted_sequence: Tensor, values: Tensor | float, side: Side = "left"
) -> Tensor:
    """Finds where values would have to be put in for a sorted vector to stay sorted.

    Args:
        sorted_sequence: Shape ``[n]``, in ascending order, which is not checked.
        values: Any shape, or a number; the two promote.
        side: Which place it is among equal elements: ``"left"`` before them,
            ``"right"`` after them.

    Returns:
        Shape of ``values``, int64, from 0 to ``n``. NaN counts as the largest. The
        vector must be whole, the values may be sharded.

    Raises:
        TypeError: ``sorted_sequence`` is no tensor, or ``values`` no number.
        ValueError: ``sorted_sequence`` is no vector, the dtypes do not promote, or
            there is no such side.

    Source: ours; numpy's searchsorted.

    >>> from maxlite.tensor import Tensor
    >>> bounds = Tensor([0.0, 1.0, 2.0])
    >>> searchsorted(bounds, Tensor([0.5, 1.0, 9.0])).to_numpy().tolist()
    [1, 1, 3]
    """
    x = as_tensor("searchsorted", sorted_sequence, "sorted_sequence")
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}.")
    return apply(_SEARCHSORTED, (x, as_operand("searchsorted", values, x)), side)
