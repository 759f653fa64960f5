"""Reading and writing ``x[...]``.

Bounds are strict: nothing is clipped. Where sizes are symbolic they are checked when
the program meets new sizes; a position that is itself a tensor can only be checked
where its value is at hand, outside of a program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.functional._dispatch import apply, as_tensor, write
from maxlite.functional._index import Cut, Step, cuts_of, read_index, sliced_shape
from maxlite.functional._infer import shape_text
from maxlite.sharding.rules import slice_rule, slice_update_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.dtype import DType
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor

    Index = tuple[Step, ...]


def _slice(x: jax.Array, *positions: jax.Array, index: Index) -> jax.Array:
    cuts = cuts_of("x[...]", x.shape, index, positions)
    taken = _strided(_block(x, cuts), cuts)
    taken = lax.squeeze(taken, [i for i, cut in enumerate(cuts) if not cut.kept])
    present = [kind for kind, *_ in index if kind not in ("int", "dynamic")]
    return lax.expand_dims(taken, [i for i, k in enumerate(present) if k == "new"])


def _infer_slice(x: Spec, *positions: Spec, index: Index) -> tuple[DType, Any]:
    return x.dtype, sliced_shape(index, cuts_of("x[...]", x.shape, index))


def _slice_update(
    x: jax.Array, value: jax.Array, *positions: jax.Array, index: Index
) -> jax.Array:
    cuts = cuts_of("x[...] =", x.shape, index, positions, IndexError)
    value = lax.expand_dims(value, [i for i, cut in enumerate(cuts) if not cut.kept])
    if all(cut.step == 1 and cut.bounded for cut in cuts):
        return _written(x, value, cuts)
    # Between the elements written, and where a position is out of range, the old
    # ones stay.
    gaps = [(0, 0, cut.step - 1) for cut in cuts]
    written = lax.pad(jnp.ones(value.shape, jnp.bool_), jnp.bool_(False), gaps)
    for cut, size in zip(cuts, x.shape, strict=True):
        if not cut.bounded:
            limit = jnp.asarray(size, jnp.int64)
            written &= (cut.start >= 0) & (cut.start < limit)
    spread = lax.pad(value, jnp.zeros((), x.dtype), gaps)
    block = jnp.where(written, spread, _block(x, cuts))
    return _written(x, block, cuts)


def _infer_slice_update(
    x: Spec, value: Spec, *positions: Spec, index: Index
) -> tuple[DType, Any]:
    cuts = cuts_of("x[...] =", x.shape, index, error=IndexError)
    wanted = sliced_shape(index, cuts)
    if value.shape != wanted or value.dtype is not x.dtype:
        raise ValueError(
            "x[...] =: the value must have dtype and shape of the slice, "
            f"{x.dtype.name}{shape_text(wanted)}, got "
            f"{value.dtype.name}{shape_text(value.shape)}. Cast or broadcast it."
        )
    return x.dtype, x.shape


def _starts(cuts: Sequence[Cut]) -> list[jax.Array]:
    return [jnp.asarray(cut.start, jnp.int64) for cut in cuts]


def _block(x: jax.Array, cuts: Sequence[Cut]) -> jax.Array:
    """Takes the smallest block that holds everything that the cuts keep."""
    spans = [cut.span for cut in cuts]
    if any(cut.moving for cut in cuts):
        return lax.dynamic_slice(x, _starts(cuts), spans, allow_negative_indices=False)
    starts = [cut.start for cut in cuts]
    stops = [start + span for start, span in zip(starts, spans, strict=True)]
    return lax.slice(x, starts, stops)


def _written(x: jax.Array, block: jax.Array, cuts: Sequence[Cut]) -> jax.Array:
    starts = _starts(cuts)
    return lax.dynamic_update_slice(x, block, starts, allow_negative_indices=False)


def _strided(block: jax.Array, cuts: Sequence[Cut]) -> jax.Array:
    if all(cut.step == 1 for cut in cuts):
        return block
    return lax.slice(block, (0,) * len(cuts), block.shape, [cut.step for cut in cuts])


_SLICE = register(
    Op(
        name="slice",
        fn=_slice,
        infer=_infer_slice,
        rule=slice_rule,
        params=("index",),
    )
)
_SLICE_UPDATE = register(
    Op(
        name="slice_update",
        fn=_slice_update,
        infer=_infer_slice_update,
        rule=slice_update_rule,
        params=("index",),
    )
)


@front
def slice_tensor(x: Tensor, indices: Any) -> Tensor:
    """Takes a part of a tensor; what ``x[...]`` calls.

    Args:
        x: Any shape.
        indices: One entry per axis from the left; a list is read as a tuple. An int
            drops its axis, and counts from the end when negative. A slice keeps a
            range; its bounds are ints, or Dims, which count from the front. ``None``
            adds an axis, one ``Ellipsis`` stands for the axes in between. A Tensor of
            rank 0 is a position known only at run time.

    Returns:
        A copy, dtype of ``x``. An axis with a bare ``:`` may be sharded, and stays so.

    Raises:
        ValueError: An index or a bound is out of range, or start is above stop; too
            many indices; a step below 1. For symbolic sizes, when the program is first
            called with sizes that do not fit.
        TypeError: Something that is no index.

    Note:
        In a program, a position in a Tensor that is out of range is clamped.

    Source: max.experimental.functional.slice_tensor.

    >>> from maxlite.tensor import Tensor
    >>> Tensor([[1.0, 2.0], [3.0, 4.0]])[:, -1].to_numpy().tolist()
    [2.0, 4.0]
    """
    as_tensor("slice_tensor", x)
    index, positions = read_index("x[...]", x, indices)
    return apply(_SLICE, (x, *positions), index)


@front
def buffer_store(destination: Tensor, source: Tensor) -> None:
    """Writes over a whole tensor, in place.

    Every name of the tensor sees it; values computed from it before keep theirs.

    Args:
        destination: A tensor, or in a program a ``BufferLayout`` argument.
        source: Same shape and dtype.

    Raises:
        TypeError: An argument is no tensor, or ``destination`` cannot be written to.
        ValueError: Shapes or dtypes differ.

    Source: max.experimental.functional.buffer_store.

    >>> from maxlite.tensor import Tensor
    >>> x = Tensor([1.0, 2.0])
    >>> buffer_store(x, Tensor([3.0, 4.0]))
    >>> x.to_numpy().tolist()
    [3.0, 4.0]
    """
    as_tensor("buffer_store", destination, "destination")
    as_tensor("buffer_store", source, "source")
    write(_SLICE_UPDATE, destination, (source,), ())


@front
def buffer_store_slice(destination: Tensor, source: Tensor, indices: Any) -> None:
    """Writes over a part of a tensor, in place; what ``x[...] = value`` calls.

    Args:
        destination: A tensor, or in a program a ``BufferLayout`` argument.
        source: Shape of ``destination[indices]``, same dtype.
        indices: As in :func:`slice_tensor`, without ``None``.

    Raises:
        TypeError: An argument is no tensor, or ``destination`` cannot be written to.
        IndexError: An index or a bound is out of range.
        ValueError: Shape or dtype do not fit, or there is a ``None``.
        ShardingError: The write would move ``destination`` to another placement.

    Note:
        In a program, a write at a position in a Tensor that is out of range is left
        out.

    Source: max.experimental.functional.buffer_store_slice.

    >>> from maxlite.tensor import Tensor
    >>> x = Tensor([1.0, 2.0, 3.0])
    >>> x[1:] = Tensor([8.0, 9.0])
    >>> x.to_numpy().tolist()
    [1.0, 8.0, 9.0]
    """
    as_tensor("buffer_store_slice", destination, "destination")
    as_tensor("x[...] =", source, "value")
    index, positions = read_index("x[...] =", destination, indices, IndexError)
    if ("new",) in index:
        raise ValueError(
            "x[...] =: None adds no axis where a value is written. Leave it out."
        )
    write(_SLICE_UPDATE, destination, (source, *positions), index)
