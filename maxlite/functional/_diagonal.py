"""Ops on the diagonals of matrices, and on the triangles above and below them.

A diagonal has a number: 0 is the main one, 1 the one above it, -1 the one below it. All
of these ops are linear, so a pending sum stays one.

Beyond the reference: the whole family, with numpy's names and meaning. A diagonal that
misses the matrix is an error where numpy gives an empty one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import NUMBERS
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import check_dtype, normal_axis, whole_number
from maxlite.functional._operands import as_tensor
from maxlite.functional._precision import widened
from maxlite.graph._dim import StaticDim
from maxlite.graph._shape import shape_text
from maxlite.sharding.rules import diagonal_rule, linear_unary_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxlite.dtype import DType
    from maxlite.graph import Dim
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _diagonal(x: jax.Array, *, offset: int, axis1: int, axis2: int) -> jax.Array:
    # What is named was not known to be large enough before.
    _length("diagonal", (x.shape[axis1], x.shape[axis2]), offset)
    return x.diagonal(offset, axis1, axis2)


def _infer_diagonal(
    x: Spec, *, offset: int, axis1: int, axis2: int
) -> tuple[DType, Any]:
    sizes = (x.shape[axis1], x.shape[axis2])
    return x.dtype, (*_others(x, axis1, axis2), _length("diagonal", sizes, offset))


def _trace(x: jax.Array, *, offset: int, axis1: int, axis2: int) -> jax.Array:
    found = widened(_diagonal(x, offset=offset, axis1=axis1, axis2=axis2))
    return jnp.sum(found, -1, found.dtype).astype(x.dtype)


def _infer_trace(x: Spec, *, offset: int, axis1: int, axis2: int) -> tuple[DType, Any]:
    check_dtype("trace", x, NUMBERS)
    _length("trace", (x.shape[axis1], x.shape[axis2]), offset)
    return x.dtype, _others(x, axis1, axis2)


def _others(x: Spec, axis1: int, axis2: int) -> tuple[int | Dim, ...]:
    return tuple(size for i, size in enumerate(x.shape) if i not in (axis1, axis2))


def _length(who: str, sizes: tuple[Any, Any], offset: int) -> Any:
    """Works out how long a diagonal is.

    Args:
        who: The op.
        sizes: Rows and columns: numbers, sizes of ours or of JAX.
        offset: Number of the diagonal.

    Raises:
        ValueError: The diagonal misses the matrix, or whether rows or columns end it
            hangs on the values of names.
    """
    rows, columns = sizes[0] - max(-offset, 0), sizes[1] - max(offset, 0)
    gap = rows - columns
    if isinstance(gap, StaticDim):
        gap = gap.dim
    if not isinstance(gap, int):
        raise ValueError(
            f"{who}: the length of diagonal {offset} must be known, got matrices of "
            f"{shape_text(sizes)}. Rebind the sizes to equal ones, or slice."
        )
    length = rows if gap < 0 else columns
    if isinstance(length, int) and length < 0:
        raise ValueError(
            f"{who}: the offset must be from -{sizes[0]} to {sizes[1]} for matrices of "
            f"{shape_text(sizes)}, got {offset}. Pass one in this range."
        )
    return length


def diagonal_numbers(rows: Any, columns: Any) -> jax.Array:
    """Makes a matrix of int64 in which each element is the number of its diagonal."""
    return lax.iota(jnp.int64, columns)[None, :] - lax.iota(jnp.int64, rows)[:, None]


def diagonal_number(who: str, value: Any, name: str) -> int:
    """Checks the number of a diagonal, and holds it to those of 64 bits.

    No matrix reaches beyond, so what is kept stays the same.
    """
    return max(-(2**63), min(whole_number(who, value, name), 2**63 - 1))


def _triangle_row(name: str, kept: Callable[[jax.Array, jax.Array], jax.Array]) -> Op:
    """Makes the row of an op that keeps a triangle.

    Args:
        name: The op.
        kept: Takes the numbers of the diagonals, and the last one that is kept.
    """

    def meaning(x: jax.Array, *, k: int) -> jax.Array:
        numbers = diagonal_numbers(*x.shape[-2:])
        return jnp.where(kept(numbers, jnp.int64(k)), x, jnp.zeros((), x.dtype))

    def infer(x: Spec, *, k: int) -> tuple[DType, Any]:
        if x.rank < 2:
            raise ValueError(
                f"{name}: x must have at least two axes, got shape "
                f"{shape_text(x.shape)}. Unsqueeze it first."
            )
        return x.dtype, x.shape

    return register(
        Op(
            name=name,
            fn=meaning,
            infer=infer,
            # Each device knows which rows and columns it holds, so any cut will do.
            rule=linear_unary_rule,
            params=("k",),
        )
    )


_DIAGONAL = register(
    Op(
        name="diagonal",
        fn=_diagonal,
        infer=_infer_diagonal,
        rule=diagonal_rule,
        params=("offset", "axis1", "axis2"),
    )
)
_TRACE = register(
    Op(
        name="trace",
        fn=_trace,
        infer=_infer_trace,
        rule=diagonal_rule,
        params=("offset", "axis1", "axis2"),
        dtypes=NUMBERS,
    )
)
_TRIL = _triangle_row("tril", jnp.less_equal)
_TRIU = _triangle_row("triu", jnp.greater_equal)


def _along(op: Op, x: Any, offset: Any, axis1: int, axis2: int) -> Tensor:
    as_tensor(op.name, x)
    number = whole_number(op.name, offset, "offset")
    first, second = (normal_axis(op.name, axis, x.rank) for axis in (axis1, axis2))
    if first == second:
        raise ValueError(
            f"{op.name}: axis1 and axis2 must be two axes, got {axis1} and {axis2} for "
            f"rank {x.rank}. Name the rows and the columns."
        )
    return apply(op, (x,), number, first, second)


@front
def diagonal(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Takes a diagonal of matrices.

    Args:
        x: Shape ``[m, n]``, or with more axes around these two.
        offset: Number of the diagonal: above the main one if positive, below it if
            negative.
        axis1: Axis of the rows; a negative one counts from the end.
        axis2: Axis of the columns.

    Returns:
        The other axes, in order, then the diagonal. The two axes must be whole, the
        others may be sharded.

    Raises:
        TypeError: ``x`` is no tensor, or a number is no int.
        ValueError: There is no such axis, or no such diagonal; or its length hangs on
            which of two named sizes is smaller.

    Source: ours; numpy's diagonal.

    >>> from maxlite.tensor import Tensor
    >>> x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> diagonal(x).to_numpy().tolist(), diagonal(x, 1).to_numpy().tolist()
    ([1.0, 4.0], [2.0])
    """
    return _along(_DIAGONAL, x, offset, axis1, axis2)


@front
def trace(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Adds up a diagonal of matrices.

    Args:
        x: Shape ``[m, n]``, or with more axes around these two; integers or floats.
        offset: Number of the diagonal, as for :func:`diagonal`.
        axis1: Axis of the rows; a negative one counts from the end.
        axis2: Axis of the columns.

    Returns:
        The other axes, in order; dtype of ``x``, so integers wrap around, as in
        :func:`sum`. The two axes must be whole, the others may be sharded.

    Raises:
        TypeError: ``x`` is no tensor or bool, or a number is no int.
        ValueError: There is no such axis, or no such diagonal; or its length hangs on
            which of two named sizes is smaller.

    Source: ours; numpy's trace.

    >>> from maxlite.tensor import Tensor
    >>> trace(Tensor([[1.0, 2.0], [3.0, 4.0]])).item()
    5.0
    """
    return _along(_TRACE, x, offset, axis1, axis2)


@front
def tril(x: Tensor, k: int = 0) -> Tensor:
    """Keeps the lower triangle of matrices, and makes the rest zero.

    Args:
        x: Shape ``[*batch, m, n]``.
        k: Number of the last diagonal that is kept, the main one by default; one that
            misses the matrix keeps all or nothing.

    Returns:
        Shape and dtype of ``x``, sharded or pending alike.

    Raises:
        TypeError: ``x`` is no tensor, or ``k`` no int.
        ValueError: ``x`` has no matrices.

    Source: ours; numpy's tril.

    >>> from maxlite.tensor import Tensor
    >>> tril(Tensor([[1.0, 2.0], [3.0, 4.0]])).to_numpy().tolist()
    [[1.0, 0.0], [3.0, 4.0]]
    """
    return apply(_TRIL, (as_tensor("tril", x),), diagonal_number("tril", k, "k"))


@front
def triu(x: Tensor, k: int = 0) -> Tensor:
    """Keeps the upper triangle of matrices, and makes the rest zero.

    Args:
        x: Shape ``[*batch, m, n]``.
        k: Number of the first diagonal that is kept, the main one by default; one that
            misses the matrix keeps all or nothing.

    Returns:
        Shape and dtype of ``x``, sharded or pending alike.

    Raises:
        TypeError: ``x`` is no tensor, or ``k`` no int.
        ValueError: ``x`` has no matrices.

    Source: ours; numpy's triu.

    >>> from maxlite.tensor import Tensor
    >>> triu(Tensor([[1.0, 2.0], [3.0, 4.0]])).to_numpy().tolist()
    [[1.0, 2.0], [0.0, 4.0]]
    """
    return apply(_TRIU, (as_tensor("triu", x),), diagonal_number("triu", k, "k"))
