"""Rows of ops that move, join or repeat elements without computing with them.

They are linear, so a pending sum passes through all of them (but for padding with a
value, which would be added once per term). A cut follows its axis to where the axis
goes; an axis whose elements end up on other devices must be whole. Reshape, for which
that takes some arithmetic, has its own file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite._errors import ShardingError
from maxlite.sharding._assignment import AxisAssignment
from maxlite.sharding.rules._notation import (
    P,
    R,
    S,
    all_replicated,
    following_rows,
    row,
    shard_count,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from maxlite.graph import Dim
    from maxlite.sharding._assignment import Operand


def transpose_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places transpose.

    Params:
        axis_1, axis_2: The tensor axes that change places.
    """
    first, second = params["axis_1"], params["axis_2"]
    dims = list(range(_rank(operands)))
    dims[first], dims[second] = second, first
    return following_rows((dim, i) for i, dim in enumerate(dims))


def permute_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places permute.

    Params:
        dims: For each tensor axis of the result, the one that goes there.
    """
    return following_rows((dim, i) for i, dim in enumerate(params["dims"]))


def unsqueeze_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places unsqueeze.

    Params:
        axis: Where the new tensor axis is in the result.
    """
    axis = params["axis"]
    return following_rows((i, i + (i >= axis)) for i in range(_rank(operands)))


def squeeze_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places squeeze; the axis that goes must be whole.

    Params:
        axis: The tensor axis that goes.
    """
    axis = params["axis"]
    return following_rows(
        (i, i - (i > axis)) for i in range(_rank(operands)) if i != axis
    )


def broadcast_to_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places broadcast_to, which may add tensor axes in front and stretch size 1.

    Params:
        shape: Shape of the result.

    Raises:
        ShardingError: An axis to be stretched is sharded: one device has all of it.
    """
    (x,) = operands
    shape: tuple[int | Dim, ...] = params["shape"]
    new = len(shape) - len(x.shape)
    kept = [i for i, dim in enumerate(x.shape) if dim == shape[i + new]]
    for placement in x.mapping.placements:
        axis = placement.localized_axis()
        if axis is not None and axis not in kept:
            raise ShardingError(
                f"broadcast_to: a tensor axis that is stretched must not be sharded, "
                f"got {placement!r} with size {x.shape[axis]} to be "
                f"{shape[axis + new]}. Replicate it with F.transfer_to first."
            )
    return following_rows((i, i + new) for i in kept)


def concat_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places concat: all operands alike.

    Joined along the axis that is cut, the result is cut along it too, but elements
    change devices, which the compiler sees to.

    Params:
        axis: The tensor axis that grows.
    """
    return _alike(operands, lambda i: i)


def stack_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places stack: all operands alike.

    Params:
        axis: Where the new tensor axis is in the result.
    """
    return _alike(operands, lambda i: i + (i >= params["axis"]))


def split_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places split: along the axis that is cut, if every device gets equal shares.

    Params:
        axis: The tensor axis that is split.
        sizes: Size of each piece along it.
    """
    (x,) = operands
    axis: int = params["axis"]
    sizes: tuple[int | Dim, ...] = params["sizes"]
    shards = max(n, shard_count(x, axis))
    divides = all(_divides(size, shards) for size in (x.shape[axis], *sizes))
    return _pieces(x, len(sizes), None if divides else axis)


def chunk_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places chunk; the axis that is split must be whole.

    Params:
        axis: The tensor axis that is split.
        sizes: Size of each piece along it.
    """
    (x,) = operands
    return _pieces(x, len(params["sizes"]), params["axis"])


def tile_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places tile; an axis that is repeated must be whole.

    Params:
        repeats: How often each tensor axis is repeated.
    """
    return following_rows(
        (i, i) for i, times in enumerate(params["repeats"]) if times == 1
    )


def repeat_interleave_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places repeat_interleave; the axis that is repeated must be whole.

    Params:
        axis: The tensor axis along which elements are repeated.
    """
    axis = params["axis"]
    return following_rows((i, i) for i in range(_rank(operands)) if i != axis)


def pad_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places pad; an axis that is padded must be whole.

    An operand after ``x`` is what a constant padding is made of, which must be whole.

    Params:
        paddings: ``(before, after)`` of tensor axis 0, then of axis 1, and so on, flat.
        mode: ``"constant"``, ``"reflect"`` or ``"edge"``.
        value: What a constant padding is made of; None where it is an operand.
    """
    paddings = params["paddings"]
    padded = [any(paddings[2 * i : 2 * i + 2]) for i in range(_rank(operands))]
    rows = following_rows((i, i) for i, is_padded in enumerate(padded) if not is_padded)
    if params["mode"] == "constant" and params["value"] != 0:
        rows.remove(row(P, to=P))
    whole = (R,) * (len(operands) - 1)
    return [AxisAssignment((*needed, *whole), outputs) for needed, outputs in rows]


def band_part_rule(
    operands: Sequence[Operand], params: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    """Places band_part; the two axes of the matrices must be whole."""
    return following_rows((i, i) for i in range(_rank(operands) - 2))


def _rank(operands: Sequence[Operand]) -> int:
    return len(operands[0].shape)


def _alike(
    operands: Sequence[Operand], moved_to: Callable[[int], int]
) -> list[AxisAssignment]:
    """Makes the rows of an op that joins operands, all of them lying alike."""
    count = len(operands)
    return [
        all_replicated(count),
        *(row(*[S(i)] * count, to=S(moved_to(i))) for i in range(_rank(operands))),
        row(*[P] * count, to=P),
    ]


def _pieces(x: Operand, count: int, whole_axis: int | None) -> list[AxisAssignment]:
    """Makes the rows of an op that takes an operand apart.

    Args:
        x: The operand.
        count: How many pieces there are.
        whole_axis: The tensor axis that must be whole, if any.
    """
    return [
        all_replicated(1, count),
        *(
            row(S(i), to=S(i), results=count)
            for i in range(len(x.shape))
            if i != whole_axis
        ),
        row(P, to=P, results=count),
    ]


def _divides(size: int | Dim, shards: int) -> bool:
    return not isinstance(size, int) or size % shards == 0
