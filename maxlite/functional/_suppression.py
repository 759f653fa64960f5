"""Non-maximum suppression: of boxes that overlap, the one with the best score stays.

How many boxes stay is known at run time only; see ``_measured.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import FLOATS, INTEGERS, DType
from maxlite.functional._infer import check_dtype
from maxlite.functional._measured import apply_measured
from maxlite.functional._operands import as_operands, as_tensor
from maxlite.graph._shape import shape_text
from maxlite.sharding import DeviceMapping
from maxlite.sharding.rules import all_replicated_rule
from maxlite.tensor._tensor import Tensor

if TYPE_CHECKING:
    from maxlite.graph import Dim
    from maxlite.graph._spec import Spec


def _overlaps(boxes: jax.Array) -> jax.Array:
    """Computes intersection over union of all pairs; 0 where both are empty.

    Args:
        boxes: Shape ``[n, 4]``, two opposite corners ``(y, x, y, x)`` in any order.
    """
    low = jnp.minimum(boxes[:, :2], boxes[:, 2:])
    high = jnp.maximum(boxes[:, :2], boxes[:, 2:])
    sides = jnp.minimum(high[:, None], high[None]) - jnp.maximum(
        low[:, None], low[None]
    )
    common = jnp.prod(jnp.maximum(sides, jnp.zeros((), boxes.dtype)), -1)
    area = jnp.prod(high - low, -1)
    union = area[:, None] + area[None] - common
    some = union > jnp.zeros((), boxes.dtype)
    one = jnp.ones((), boxes.dtype)
    return jnp.where(some, common / jnp.where(some, union, one), common)


def _kept_of_class(
    overlaps: jax.Array, scores: jax.Array, most: jax.Array, iou: jax.Array, least: Any
) -> tuple[jax.Array, jax.Array]:
    """Chooses among the boxes of one class.

    Returns:
        The boxes by descending score, and which of these stay; shape ``[n]`` each.
    """
    order = jnp.argsort(scores, descending=True, stable=True)
    ordered, near = scores[order], overlaps[order][:, order] > iou

    def visit(i: int, state: tuple[jax.Array, jax.Array]) -> Any:
        kept, taken = state
        stays = (ordered[i] > least) & (taken < most) & ~jnp.any(kept & near[i])
        return kept.at[i].set(stays), taken + stays.astype(taken.dtype)

    kept = jnp.zeros(scores.shape, jnp.bool_)
    loops: Any = lax
    state = loops.fori_loop(0, scores.shape[0], visit, (kept, jnp.int64(0)))
    return order.astype(jnp.int64), state[0]


def _kept(
    boxes: jax.Array,
    scores: jax.Array,
    most: jax.Array,
    iou: jax.Array,
    least: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """Chooses per image and class; both results have shape ``[b, c, n]``."""

    def of_image(boxes: jax.Array, scores: jax.Array) -> tuple[jax.Array, jax.Array]:
        overlaps = _overlaps(boxes)
        limit = most.astype(jnp.int64)

        def of_class(scores: jax.Array) -> tuple[jax.Array, jax.Array]:
            return _kept_of_class(overlaps, scores, limit, iou, least)

        return jax.vmap(of_class)(scores)

    return jax.vmap(of_image)(boxes, scores)


def _count(*operands: jax.Array) -> jax.Array:
    _, kept = _kept(*operands)
    return jnp.sum(kept, dtype=jnp.int64)


def _suppress(
    boxes: jax.Array,
    scores: jax.Array,
    most: jax.Array,
    iou: jax.Array,
    least: jax.Array,
    count: jax.Array,
    *,
    size: int,
) -> jax.Array:
    order, kept = _kept(boxes, scores, most, iou, least)
    image, kind, rank = jnp.nonzero(kept, size=size, fill_value=0)
    box = order[image, kind, rank] if kept.size else rank
    return jnp.stack([x.astype(jnp.int64) for x in (image, kind, box)], -1)


def _infer_count(
    boxes: Spec, scores: Spec, most: Spec, iou: Spec, least: Spec
) -> tuple[DType, Any]:
    who = "non_maximum_suppression"
    check_dtype(who, boxes, FLOATS, ValueError, "boxes")
    for name, x in (("scores", scores), ("iou_threshold", iou)):
        if x.dtype is not boxes.dtype:
            raise ValueError(
                f"{who}: {name} must have the dtype of boxes, {boxes.dtype.name}, got "
                f"{x.dtype.name}. Cast one of them."
            )
    check_dtype(who, least, FLOATS, ValueError, "score_threshold")
    check_dtype(who, most, INTEGERS, ValueError, "max_output_boxes_per_class")
    ranks = len(boxes.shape) == len(scores.shape) == 3
    if not ranks or boxes.shape[2] != 4 or scores.shape[::2] != boxes.shape[:2]:
        raise ValueError(
            f"{who}: boxes must have shape [b, n, 4] and scores [b, c, n], got "
            f"{shape_text(boxes.shape)} and {shape_text(scores.shape)}. Reshape them."
        )
    limits = {"max_output_boxes_per_class": most, "iou_threshold": iou}
    for name, x in {**limits, "score_threshold": least}.items():
        if x.shape:
            raise ValueError(
                f"{who}: {name} must have rank 0, got {shape_text(x.shape)}. Index it."
            )
    return DType.int64, ()


def _infer_suppress(*operands: Spec, size: int | Dim) -> tuple[DType, Any]:
    return DType.int64, (size, 3)


_COUNT = register(
    Op(
        name="non_maximum_suppression_count",
        fn=_count,
        infer=_infer_count,
        rule=all_replicated_rule,
    )
)
_SUPPRESS = register(
    Op(
        name="non_maximum_suppression",
        fn=_suppress,
        infer=_infer_suppress,
        rule=all_replicated_rule,
        params=("size",),
        measured="size",
    )
)


@front
def non_maximum_suppression(
    boxes: Tensor,
    scores: Tensor,
    max_output_boxes_per_class: Tensor | int,
    iou_threshold: Tensor | float,
    score_threshold: Tensor | float,
    out_dim: str = "num_selected",
) -> Tensor:
    """Selects boxes by descending score, without those that overlap a selected one.

    Args:
        boxes: Shape ``[b, n, 4]``, floats: two opposite corners ``(y, x, y, x)``.
        scores: Shape ``[b, c, n]``, dtype of ``boxes``.
        max_output_boxes_per_class: How many boxes are selected at most per image and
            class; rank 0.
        iou_threshold: Above which intersection over union a box is left out; rank 0.
        score_threshold: Which score a box must exceed; rank 0.
        out_dim: Name of the number of selected boxes, as in :func:`nonzero`.

    Returns:
        Shape ``[out_dim, 3]``, int64: rows (image, class, box), by image, then class,
        then descending score.

    Raises:
        TypeError: ``boxes`` or ``scores`` is no tensor.
        ValueError: Shapes or dtypes do not fit.

    Source: max.experimental.functional.non_maximum_suppression.

    >>> from maxlite.tensor import Tensor
    >>> boxes = Tensor([[[0, 0, 1, 1], [0, 0, 1, 1.1], [2, 2, 3, 3]]])
    >>> scores = Tensor([[[0.9, 0.8, 0.7]]])
    >>> non_maximum_suppression(boxes, scores, 3, 0.5, 0.0).to_numpy().tolist()
    [[0, 0, 0], [0, 0, 2]]
    """
    who = "non_maximum_suppression"
    boxes, scores = as_tensor(who, boxes, "boxes"), as_tensor(who, scores, "scores")
    most = max_output_boxes_per_class
    if not isinstance(most, Tensor):
        most = Tensor(
            most, dtype=DType.int64, device=DeviceMapping.replicated(boxes.mesh)
        )
    limits = as_operands(who, boxes, iou_threshold, score_threshold)[1:]
    operands = (boxes, scores, most, *limits)
    return apply_measured(_COUNT, _SUPPRESS, operands, out_dim)
