"""A part of a program that the reference runs on a stream of its own.

XLA orders and overlaps work by itself, so the part is recorded where it stands.

Beyond the reference: outside of a program the part runs at once, and on a mesh it runs
like any other; a stated device counts for results on one device.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from maxlite._op_table import front
from maxlite.functional._operands import as_tensor, as_tensors
from maxlite.graph import DeviceRef, TensorType
from maxlite.graph._shape import compact_shape, shape_text
from maxlite.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maxlite.dtype import DType
    from maxlite.graph._shape import CompactShape

    Stated = tuple[DType, CompactShape, DeviceRef | None]
    """Dtype, shape and device of a result; no device for one on a mesh."""


@front
def side_stream(
    inputs: Sequence[Tensor],
    body_fn: Callable[..., Tensor | Iterable[Tensor]],
    *,
    result_types: Sequence[TensorType] | None = None,
    stream_id: int = 1,
) -> list[Tensor]:
    """Runs a function on tensors, for the reference on a stream beside the main one.

    Args:
        inputs: Arguments of ``body_fn``.
        body_fn: Takes one tensor per input and gives one or an iterable of several; it
            is called once, in its place among the other ops.
        result_types: What it must give. None: one result of the type of each input.
        stream_id: Number of the stream, from 0 on; it makes no difference here.

    Returns:
        The results. They are tensors of their own, also where ``body_fn`` returns an
        input.

    Raises:
        TypeError: ``inputs`` is no list, an input or a result no tensor, a stated type
            no TensorType, ``body_fn`` no function, or ``stream_id`` no int.
        ValueError: The results are not as stated, or ``stream_id`` is negative.

    Source: max.experimental.functional.side_stream.

    >>> (y,) = side_stream([Tensor([1.0, 2.0])], lambda x: x * 2)
    >>> y.to_numpy().tolist()
    [2.0, 4.0]
    """
    who = "side_stream"
    tensors = as_tensors(who, inputs, "inputs")
    if not callable(body_fn):
        raise TypeError(
            f"{who}: body_fn must be a function, got {type(body_fn).__name__}."
        )
    _check_stream(stream_id)
    stated = _stated(result_types, tensors)
    made = _listed(body_fn(*tensors))
    _check_results(made, stated)
    known = [*tensors]
    for i, x in enumerate(made):
        if any(x is other for other in known):
            made[i] = copy.copy(x)
        known.append(x)
    return made


def _check_stream(stream_id: object) -> None:
    if isinstance(stream_id, bool) or not isinstance(stream_id, int):
        raise TypeError(
            f"side_stream: stream_id must be an int, got {type(stream_id).__name__}."
        )
    if stream_id < 0:
        raise ValueError(
            f"side_stream: stream_id must be 0 or more, got {stream_id}. Leave it out."
        )


def _stated(types: object, inputs: Sequence[Tensor]) -> list[Stated]:
    if types is None:
        return [_described(x) for x in inputs]
    if not isinstance(types, Iterable):
        raise TypeError(
            "side_stream: result_types must be a sequence of TensorTypes, got "
            f"{type(types).__name__}. Put it into a list."
        )
    found: list[Stated] = []
    for i, stated in enumerate(cast("Iterable[object]", types)):
        if not isinstance(stated, TensorType):
            raise TypeError(
                f"side_stream: result_types[{i}] must be a TensorType, got "
                f"{type(stated).__name__}. Say dtype, shape and device."
            )
        found.append((stated.dtype, compact_shape(stated.shape), stated.device))
    return found


def _described(x: Tensor) -> Stated:
    device = None if x.is_distributed else DeviceRef.from_device(x.device)
    return x.dtype, x._spec.shape, device


def _listed(made: Any) -> list[Tensor]:
    if isinstance(made, Tensor):
        return [made]
    if not isinstance(made, Iterable):
        raise TypeError(
            "side_stream: body_fn must return a Tensor or several, got "
            f"{type(made).__name__}. Return a list for none."
        )
    results = list(cast("Iterable[Any]", made))
    return [as_tensor("side_stream", x, f"result {i}") for i, x in enumerate(results)]


def _check_results(made: Sequence[Tensor], stated: Sequence[Stated]) -> None:
    if len(made) != len(stated):
        raise ValueError(
            f"side_stream: body_fn must return {len(stated)} tensors, one per result "
            f"type (those of the inputs by default), got {len(made)}. State "
            "result_types."
        )
    for i, (want, x) in enumerate(zip(stated, made, strict=True)):
        got = _described(x)
        same_place = None in (want[2], got[2]) or want[2] == got[2]
        if want[0] is not got[0] or want[1] != got[1] or not same_place:
            raise ValueError(
                f"side_stream: result {i} must be {_text(want)}, as its type states, "
                f"got {_text(got)}. Mend result_types, or what body_fn returns."
            )


def _text(described: Stated) -> str:
    dtype, shape, device = described
    return f"{dtype.name}{shape_text(shape)}" + (f" on {device}" if device else "")
