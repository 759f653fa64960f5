"""Reading and writing ``x[...]``.

Bounds are strict: nothing is clipped. Where sizes are symbolic they are checked when
the program meets new sizes; a position that is itself a tensor can only be checked
where its value is at hand, outside of a program.

Beyond the reference: slices with a negative step; tensors and numpy arrays of positions
or of bools as indices, with numpy's meaning; and what is written may be a number, a
list or an array, and broadcasts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.functional._advanced_index import read_picked, write_picked
from maxlite.functional._dispatch import apply, write
from maxlite.functional._index import Step, cuts_of, sliced_shape
from maxlite.functional._index_parts import check_value, put_part, take_part
from maxlite.functional._index_reading import read_index
from maxlite.functional._operands import as_operand, as_tensor
from maxlite.graph._shape import shape_text
from maxlite.sharding.rules import slice_rule, slice_update_rule
from maxlite.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.dtype import DType
    from maxlite.functional._operands import Operand
    from maxlite.graph._spec import Spec

    Index = tuple[Step, ...]
    Value = Tensor | float | np.ndarray | Sequence[Any]


def _slice(x: jax.Array, *positions: jax.Array, index: Index) -> jax.Array:
    cuts = cuts_of("x[...]", x.shape, index, positions)
    dropped = [i for i, cut in enumerate(cuts) if not cut.kept]
    taken = lax.squeeze(take_part(x, cuts), dropped)
    present = [kind for kind, *_ in index if kind not in ("int", "dynamic")]
    return lax.expand_dims(taken, [i for i, k in enumerate(present) if k == "new"])


def _infer_slice(x: Spec, *positions: Spec, index: Index) -> tuple[DType, Any]:
    return x.dtype, sliced_shape(index, cuts_of("x[...]", x.shape, index))


def _slice_update(
    x: jax.Array, value: jax.Array, *positions: jax.Array, index: Index
) -> jax.Array:
    cuts = cuts_of("x[...] =", x.shape, index, positions, IndexError)
    value = jnp.broadcast_to(value, [cut.length for cut in cuts if cut.kept])
    dropped = [i for i, cut in enumerate(cuts) if not cut.kept]
    return put_part(x, lax.expand_dims(value, dropped), cuts)


def _infer_slice_update(
    x: Spec, value: Spec, *positions: Spec, index: Index
) -> tuple[DType, Any]:
    cuts = cuts_of("x[...] =", x.shape, index, error=IndexError)
    check_value(x, value, sliced_shape(index, cuts))
    return x.dtype, x.shape


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
            range, backwards with a negative step; its bounds are ints, or Dims, which
            count from the front. ``None`` adds an axis, one ``Ellipsis`` stands for the
            axes in between. A Tensor or a numpy array of integers picks positions; the
            shapes of several broadcast. One of bools is a mask over as many axes as it
            has: the positions of what it marks.

    Returns:
        A copy, dtype of ``x``. An axis with a bare ``:`` may be sharded, and stays so.
        The axes of positions stand where the first of them is, or in front when a
        slice, ``None`` or ``Ellipsis`` is in between. They are sharded as the positions
        are.

    Raises:
        ValueError: An index or a bound is out of range, or start is behind stop; too
            many indices; a step of 0; a mask of another shape than its axes; positions
            that do not broadcast. For symbolic sizes, when the program is first called
            with sizes that do not fit.
        TypeError: Something that is no index.

    Note:
        In a program, a position in a Tensor of rank 0 that is out of range is clamped;
        where another is, the result is as of :func:`gather`.

    Source: max.experimental.functional.slice_tensor.

    >>> from maxlite.tensor import Tensor
    >>> x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x[:, -1].to_numpy().tolist()
    [2.0, 4.0]
    >>> x[x > 1.5].to_numpy().tolist()
    [2.0, 3.0, 4.0]
    """
    as_tensor("slice_tensor", x)
    reading = read_index("x[...]", x, indices)
    if reading.in_front is not None:
        return read_picked(x, reading)
    return apply(_SLICE, (x, *reading.operands), reading.steps)


@front
def buffer_store(destination: Tensor, source: Value) -> None:
    """Writes over a whole tensor, in place.

    Every name of the tensor sees it; values computed from it before keep theirs.

    Args:
        destination: A tensor, or in a program a ``BufferLayout`` argument.
        source: A tensor of the same shape and dtype. Or numbers that the dtype can
            hold, alone or in lists or a numpy array, which broadcast.

    Raises:
        TypeError: ``source`` is no number, or ``destination`` is no tensor or cannot be
            written to.
        ValueError: Shapes do not fit, or dtypes differ.

    Source: max.experimental.functional.buffer_store.

    >>> from maxlite.tensor import Tensor
    >>> x = Tensor([1.0, 2.0])
    >>> buffer_store(x, Tensor([3.0, 4.0]))
    >>> x.to_numpy().tolist()
    [3.0, 4.0]
    """
    as_tensor("buffer_store", destination, "destination")
    value = _as_value("buffer_store", source, destination)
    stored, wanted = value._spec.shape, destination._spec.shape
    if isinstance(source, Tensor) and stored != wanted:
        raise ValueError(
            "buffer_store: source must have the shape of destination, "
            f"{shape_text(wanted)}, got {shape_text(stored)}. Write destination[...] = "
            "source to broadcast it."
        )
    write(_SLICE_UPDATE, (destination, value), ())


@front
def buffer_store_slice(destination: Tensor, source: Value, indices: Any) -> None:
    """Writes over a part of a tensor, in place; what ``x[...] = value`` calls.

    Args:
        destination: A tensor, or in a program a ``BufferLayout`` argument.
        source: A tensor of the same dtype, or numbers that it can hold, alone or in
            lists or a numpy array; broadcasts to the shape of ``destination[indices]``.
        indices: As in :func:`slice_tensor`, without ``None``.

    Raises:
        TypeError: ``source`` is no number, or ``destination`` is no tensor or cannot be
            written to.
        IndexError: An index or a bound is out of range.
        ValueError: Shape or dtype do not fit, or there is a ``None``.
        ShardingError: The write would move ``destination`` to another placement.

    Note:
        In a program, a write at a position in a Tensor that is out of range is left
        out. Of several values for one element the last one stays on a CPU, any of them
        elsewhere.

    Source: max.experimental.functional.buffer_store_slice.

    >>> from maxlite.tensor import Tensor
    >>> x = Tensor([1.0, 2.0, 3.0])
    >>> x[1:] = Tensor([8.0, 9.0])
    >>> x[x > 8.5] = 0
    >>> x.to_numpy().tolist()
    [1.0, 8.0, 0.0]
    """
    as_tensor("buffer_store_slice", destination, "destination")
    value = _as_value("x[...] =", source, destination)
    reading = read_index("x[...] =", destination, indices, IndexError)
    if ("new",) in reading.steps:
        raise ValueError(
            "x[...] =: None adds no axis where a value is written. Leave it out."
        )
    if reading.in_front is not None:
        write_picked(destination, value, reading)
    else:
        write(_SLICE_UPDATE, (destination, value, *reading.operands), reading.steps)


def _as_value(who: str, value: Any, like: Tensor) -> Operand:
    """Coerces what is written: numbers take the dtype that is there already."""
    if isinstance(value, (list, tuple)):
        value = _as_array(who, cast("Sequence[Any]", value))
    return as_operand(who, value, like)


def _as_array(who: str, values: Sequence[Any]) -> np.ndarray:
    try:
        array = np.array(values)
    except ValueError:
        raise ValueError(
            f"{who}: nested lists must have one length per axis, got a ragged list. "
            "Pad the shorter ones."
        ) from None
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"{who}: a list must hold numbers, got {array.dtype}. Pass numbers, nested "
            "lists of numbers, a numpy array or a Tensor."
        )
    return array
