"""Tensors made from nothing that hold a pattern: a diagonal, a triangle, even steps.

Over a mesh each device makes its own piece, as for the other ops that make tensors.

Beyond the reference: the whole family, with numpy's names and meaning, but for the
dtype, which is the default one when none is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import DType
from maxlite.functional._bounds import bound_operand, check_holds, known_bound
from maxlite.functional._creation import check_shape
from maxlite.functional._diagonal import diagonal_number, diagonal_numbers
from maxlite.functional._dispatch import apply
from maxlite.graph import Dim
from maxlite.graph._shape import compact_dim
from maxlite.tensor._defaults import as_mapping, defaults

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxlite.driver import Device
    from maxlite.graph import DeviceRef, DimLike
    from maxlite.graph._spec import Spec
    from maxlite.sharding import DeviceMapping, DeviceMesh
    from maxlite.tensor._tensor import Tensor

    Where = Device | DeviceMapping | DeviceMesh | DeviceRef | None


def _matrix_row(name: str, kept: Callable[[jax.Array, jax.Array], jax.Array]) -> Op:
    """Makes the row of an op that makes a matrix of ones and zeros.

    Args:
        name: The op.
        kept: Tells where the ones are, from the numbers of the diagonals and ``k``.
    """

    def meaning(
        *, rows: Any, columns: Any, k: int, dtype: DType, mapping: Any
    ) -> jax.Array:
        ones = kept(diagonal_numbers(rows, columns), jnp.int64(k))
        return ones.astype(dtype.to_jax())

    def infer(
        *, rows: Any, columns: Any, k: int, dtype: DType, mapping: DeviceMapping
    ) -> tuple[DType, Any, DeviceMapping]:
        check_shape(name, (rows, columns), mapping)
        return dtype, (rows, columns), mapping

    return register(
        Op(
            name=name,
            fn=meaning,
            infer=infer,
            params=("rows", "columns", "k", "dtype", "mapping"),
            places=True,
        )
    )


def _linspace(
    start: jax.Array,
    stop: jax.Array,
    *,
    num: Any,
    endpoint: bool,
    dtype: DType,
    mapping: Any,
) -> jax.Array:
    first, last = start.astype(jnp.float64), stop.astype(jnp.float64)
    steps = jnp.asarray(num - 1 if endpoint else num, jnp.float64)
    position = lax.iota(jnp.float64, num)
    step = (last - first) / jnp.maximum(steps, 1.0)
    values = first + position * step
    if endpoint:
        # Not a step too far by rounding; and one element alone is the start.
        values = jnp.where((position == steps) & (steps > 0.0), last, values)
    target = dtype.to_jax()
    whole = jnp.issubdtype(target, jnp.integer)
    return (jnp.floor(values) if whole else values).astype(target)


def _infer_linspace(
    start: Spec,
    stop: Spec,
    *,
    num: Any,
    endpoint: bool,
    dtype: DType,
    mapping: DeviceMapping,
) -> tuple[DType, Any, DeviceMapping]:
    check_shape("linspace", (num,), mapping)
    return dtype, (num,), mapping


_EYE = _matrix_row("eye", jnp.equal)
_TRI = _matrix_row("tri", jnp.less_equal)
_LINSPACE = register(
    Op(
        name="linspace",
        fn=_linspace,
        infer=_infer_linspace,
        params=("num", "endpoint", "dtype", "mapping"),
        places=True,
    )
)


def _matrix(
    op: Op,
    rows: DimLike,
    columns: DimLike | None,
    k: int,
    dtype: DType | None,
    device: Where,
) -> Tensor:
    chosen, _ = defaults(dtype)
    height = compact_dim(rows)
    width = height if columns is None else compact_dim(columns)
    number = diagonal_number(op.name, k, "k")
    return apply(op, (), height, width, number, chosen, as_mapping(device))


@front
def eye(
    n: DimLike,
    m: DimLike | None = None,
    k: int = 0,
    *,
    dtype: DType | None = None,
    device: Where = None,
) -> Tensor:
    """Makes a matrix with ones on a diagonal, and zeros elsewhere.

    Args:
        n: Rows; inside a trace the sizes may be symbolic.
        m: Columns, as many as rows when None.
        k: Number of the diagonal: above the main one if positive, below it if negative;
            one that misses the matrix leaves zeros only.
        dtype: The default dtype when None.
        device: A device, a mesh (replicated) or a mapping; the default when None.

    Raises:
        TypeError: A size or ``k`` is no int.
        ValueError: A size is negative.

    Source: ours; numpy's eye.

    >>> eye(2).to_numpy().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return _matrix(_EYE, n, m, k, dtype, device)


@front
def tri(
    n: DimLike,
    m: DimLike | None = None,
    k: int = 0,
    *,
    dtype: DType | None = None,
    device: Where = None,
) -> Tensor:
    """Makes a matrix with ones on and below a diagonal, and zeros above it.

    Args:
        n: Rows; inside a trace the sizes may be symbolic.
        m: Columns, as many as rows when None.
        k: Number of the last diagonal of ones: above the main one if positive, below it
            if negative.
        dtype: The default dtype when None.
        device: A device, a mesh (replicated) or a mapping; the default when None.

    Raises:
        TypeError: A size or ``k`` is no int.
        ValueError: A size is negative.

    Source: ours; numpy's tri.

    >>> tri(2).to_numpy().tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return _matrix(_TRI, n, m, k, dtype, device)


@front
def linspace(
    start: Tensor | Dim | float,
    stop: Tensor | Dim | float,
    num: DimLike = 50,
    *,
    endpoint: bool = True,
    dtype: DType | None = None,
    device: Where = None,
) -> Tensor:
    """Makes numbers at even steps from ``start`` to ``stop``.

    They are computed in float64 and rounded once.

    Args:
        start: A number, a Dim or a tensor of rank 0.
        stop: Likewise.
        num: How many; inside a trace it may be symbolic.
        endpoint: Whether the last one is ``stop``, rather than one step before it.
        dtype: The default dtype when None; integers are rounded down.
        device: A device, a mesh (replicated) or a mapping; the default when None.

    Returns:
        Shape ``[num]``.

    Raises:
        TypeError: A bound is no number, or ``num`` no int.
        ValueError: ``num`` is negative, a bound has axes or is not finite, or the dtype
            cannot hold the first or the last number.

    Source: ours; numpy's linspace.

    >>> linspace(0, 1, 3).to_numpy().tolist()
    [0.0, 0.5, 1.0]
    """
    chosen, _ = defaults(dtype)
    mapping = as_mapping(device)
    first = known_bound("linspace", "start", start)
    last = known_bound("linspace", "stop", stop)
    count = compact_dim(num)
    _check_ends(first, last, count, bool(endpoint), chosen)
    bounds = [
        bound_operand("linspace", x, DType.float64, mapping) for x in (start, stop)
    ]
    return apply(_LINSPACE, bounds, count, bool(endpoint), chosen, mapping)


def _check_ends(
    first: Any, last: Any, count: int | Dim, endpoint: bool, dtype: DType
) -> None:
    """Refuses a dtype that cannot hold the outermost numbers, where they are known."""
    if not isinstance(count, int) or {type(first), type(last)} - {int, float}:
        return
    if count > 0:
        check_holds("linspace", first, dtype)
    if count > 1:
        at_end = last if endpoint else last - (last - first) / count
        check_holds("linspace", at_end, dtype)
