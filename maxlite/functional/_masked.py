"""Writing a list of values to the elements that a mask picks.

Differs from the reference: in a program, where the number of updates cannot be compared
with the mask, elements that get none become NaN (integers their least value), as
``gather`` does out of range; updates that are left over are dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import BOOL, INTEGERS, DType
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import broadcast_shapes, check_dtype
from maxlite.functional._nonzero import COUNT_NONZERO
from maxlite.functional._operands import as_positions, beside
from maxlite.graph._shape import shape_text
from maxlite.sharding.rules import all_replicated_rule
from maxlite.tensor._context import innermost

if TYPE_CHECKING:
    from maxlite.graph import DimLike
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _masked_scatter(x: jax.Array, mask: jax.Array, updates: jax.Array) -> jax.Array:
    chosen = jnp.broadcast_to(mask != jnp.zeros((), mask.dtype), x.shape)
    order = jnp.cumsum(jnp.ravel(chosen), dtype=jnp.int64) - 1
    flat = jnp.ravel(updates)
    # One more row is never read, and makes an empty list of updates readable.
    padded = jnp.concatenate([flat, jnp.zeros((1,), flat.dtype)])
    inside = jnp.where(order < flat.size, order, jnp.int64(flat.size + 1))
    taken = jnp.take(padded, inside, mode="fill").reshape(x.shape)
    return jnp.where(chosen, taken, x)


def _infer_masked_scatter(x: Spec, mask: Spec, updates: Spec) -> tuple[DType, Any]:
    check_dtype("masked_scatter", mask, BOOL | INTEGERS, ValueError, "mask")
    if updates.dtype is not x.dtype:
        raise ValueError(
            f"masked_scatter: updates must have the dtype of input, {x.dtype.name}, "
            f"got {updates.dtype.name}. Cast one of them."
        )
    if broadcast_shapes("masked_scatter", x.shape, mask.shape) != x.shape:
        raise ValueError(
            f"masked_scatter: mask must broadcast to input, {shape_text(x.shape)}, got "
            f"{shape_text(mask.shape)}. Reshape it."
        )
    return x.dtype, x.shape


_MASKED_SCATTER = register(
    Op(
        name="masked_scatter",
        fn=_masked_scatter,
        infer=_infer_masked_scatter,
        rule=all_replicated_rule,
    )
)


@front
def masked_scatter(
    input: Tensor, mask: Tensor, updates: Tensor, out_dim: DimLike
) -> Tensor:
    """Replaces the elements that a mask picks, in their order, by a list of values.

    Args:
        input: Any shape.
        mask: Bool or integers, where 0 is False; broadcasts to ``input``.
        updates: As many elements as the mask picks, dtype of ``input``.
        out_dim: Name of that number; nothing is computed from it here.

    Returns:
        Shape and dtype of ``input``, as a new tensor.

    Raises:
        TypeError: An operand is no tensor.
        ValueError: Dtypes or shapes do not fit; in eager code also when the number of
            updates is not the number of elements picked.

    Source: max.experimental.functional.masked_scatter.

    >>> from maxlite.tensor import Tensor
    >>> from maxlite.dtype import DType
    >>> mask = Tensor([True, False, True], dtype=DType.bool)
    >>> x, updates = Tensor([1.0, 2.0, 3.0]), Tensor([9.0, 8.0])
    >>> masked_scatter(x, mask, updates, "n").to_numpy().tolist()
    [9.0, 2.0, 8.0]
    """
    input, updates = beside("masked_scatter", input=input, updates=updates)
    mask = as_positions("masked_scatter", mask, "mask", input)
    result = apply(_MASKED_SCATTER, (input, mask, updates))
    if innermost() is None:
        _check_count(input, mask, updates)
    return result


def _check_count(x: Tensor, mask: Tensor, updates: Tensor) -> None:
    counted = int(apply(COUNT_NONZERO, (mask,)).item())
    picked = counted * (x.num_elements() // max(mask.num_elements(), 1))
    if picked != updates.num_elements():
        raise ValueError(
            "masked_scatter: updates must have as many elements as the mask picks, "
            f"{picked}, got {updates.num_elements()}. Slice them."
        )
