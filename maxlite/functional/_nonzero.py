"""Finding elements: where they are, and which ones there are.

How many there are is known at run time only; see ``_measured.py``.

Beyond the reference: ``out_dim`` may be left out, and ``unique`` is ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import DType
from maxlite.functional._measured import apply_measured
from maxlite.functional._operands import as_tensor
from maxlite.lowering._evaluate import as_tuple
from maxlite.sharding.rules import all_replicated_rule
from maxlite.sharding.rules._notation import all_replicated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.graph import Dim, DimLike
    from maxlite.graph._spec import Spec
    from maxlite.sharding._assignment import AxisAssignment, Operand
    from maxlite.tensor._tensor import Tensor


def _count_nonzero(x: jax.Array) -> jax.Array:
    return jnp.sum(_is_set(x), dtype=jnp.int64)


def _is_set(x: jax.Array) -> jax.Array:
    return x != jnp.zeros((), x.dtype)


def _infer_count(x: Spec, **params: Any) -> tuple[DType, Any]:
    return DType.int64, ()


def _nonzero(x: jax.Array, count: jax.Array, *, size: int) -> jax.Array:
    positions = jnp.nonzero(_is_set(x), size=size, fill_value=0)
    return jnp.stack(positions, -1).astype(jnp.int64)


def _infer_nonzero(x: Spec, count: Spec, *, size: int | Dim) -> tuple[DType, Any]:
    return DType.int64, (size, len(x.shape))


COUNT_NONZERO = register(
    Op(
        name="nonzero_count",
        fn=_count_nonzero,
        infer=_infer_count,
        rule=all_replicated_rule,
    )
)
"""Counts the elements that are not 0."""
_NONZERO = register(
    Op(
        name="nonzero",
        fn=_nonzero,
        infer=_infer_nonzero,
        rule=all_replicated_rule,
        params=("size",),
        measured="size",
    )
)


@front
def nonzero(x: Tensor, out_dim: DimLike | None = None) -> Tensor:
    """Finds where the elements are that are not 0.

    Args:
        x: Rank 1 or more; bool, integers or floats.
        out_dim: Name of the number of positions, in a lazy block or a program; one is
            made up when None. A number states how many there must be.

    Returns:
        Shape ``[out_dim, rank]``, int64: one row per position, in the order of the
        elements. In eager code the size is a number.

    Raises:
        TypeError: ``x`` is no tensor.
        ValueError: ``x`` has rank 0, or ``out_dim`` is a number or a known name and
            there are not as many.

    Source: max.experimental.functional.nonzero.

    >>> from maxlite.tensor import Tensor
    >>> nonzero(Tensor([0.0, 3.0, 5.0]), "n").to_numpy().tolist()
    [[1], [2]]
    """
    if not as_tensor("nonzero", x).rank:
        raise ValueError(
            "nonzero: x must have rank 1 or more, got rank 0. Reshape it to [1]."
        )
    return apply_measured(COUNT_NONZERO, _NONZERO, (x,), out_dim)


# Unique -------------------------------------------------------------------------------


def _count_unique(x: jax.Array, *, inverse: bool, counts: bool) -> jax.Array:
    ordered = jnp.sort(jnp.ravel(x))
    before, after = ordered[:-1], ordered[1:]
    new = before != after
    if jnp.issubdtype(x.dtype, jnp.floating):
        new &= ~(jnp.isnan(before) & jnp.isnan(after))
    first = jnp.asarray(min(x.size, 1), jnp.int64)
    return first + jnp.sum(new, dtype=jnp.int64)


def _unique(
    x: jax.Array, count: jax.Array, *, size: int, inverse: bool, counts: bool
) -> tuple[jax.Array, ...]:
    if not x.size:
        shapes = [(size,), *[x.shape] * inverse, *[(size,)] * counts]
        kinds = [x.dtype, *[jnp.int64] * (inverse + counts)]
        pairs = zip(shapes, kinds, strict=True)
        return tuple(jnp.zeros(shape, kind) for shape, kind in pairs)
    numpy: Any = jnp
    found = numpy.unique(x, return_inverse=inverse, return_counts=counts, size=size)
    values, *others = as_tuple(found)
    return (values, *(other.astype(jnp.int64) for other in others))


def _infer_unique(
    x: Spec, count: Spec, *, size: int | Dim, inverse: bool, counts: bool
) -> list[tuple[DType, Any]]:
    results: list[tuple[DType, Any]] = [(x.dtype, (size,))]
    if inverse:
        results.append((DType.int64, x.shape))
    if counts:
        results.append((DType.int64, (size,)))
    return results


def _unique_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Needs every element everywhere."""
    return [all_replicated(2, 1 + params["inverse"] + params["counts"])]


_COUNT_UNIQUE = register(
    Op(
        name="unique_count",
        fn=_count_unique,
        infer=_infer_count,
        rule=all_replicated_rule,
        params=("inverse", "counts"),
    )
)
_UNIQUE = register(
    Op(
        name="unique",
        fn=_unique,
        infer=_infer_unique,
        rule=_unique_rule,
        params=("size", "inverse", "counts"),
        measured="size",
    )
)


@front
def unique(
    x: Tensor,
    out_dim: DimLike | None = None,
    *,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Tensor | tuple[Tensor, ...]:
    """Finds the distinct elements, in ascending order.

    Args:
        x: Any shape.
        out_dim: Name of the number of distinct elements, as in :func:`nonzero`.
        return_inverse: Whether to give also the index of each element of ``x`` among
            the distinct ones.
        return_counts: Whether to give also how often each one occurs.

    Returns:
        Shape ``[out_dim]``, dtype of ``x``; all NaNs are one element. With an option a
        tuple: the inverse has the shape of ``x``, the counts ``[out_dim]``, both int64.

    Raises:
        TypeError: ``x`` is no tensor.
        ValueError: ``out_dim`` is a number and there are not as many.

    Source: ours; numpy's unique.

    >>> from maxlite.tensor import Tensor
    >>> unique(Tensor([3.0, 1.0, 3.0])).to_numpy().tolist()
    [1.0, 3.0]
    """
    options = (bool(return_inverse), bool(return_counts))
    operands = (as_tensor("unique", x),)
    measured = (True, *[False] * options[0], *[True] * options[1])
    return apply_measured(
        _COUNT_UNIQUE, _UNIQUE, operands, out_dim, *options, measured=measured
    )
