"""What recording an op on given operands gives, worked out once per kind of operands.

A plan joins the two questions that a row answers without looking at values: which dtype
and shape the results have (``infer``), and where everything lies (``rule``, through the
picker). Plans are cached, since eager code asks for the same ones over and over.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maxlite._caches import Cache
from maxlite.graph._spec import Spec, spec
from maxlite.sharding import DeviceMapping
from maxlite.sharding._auto_reshard import current_region
from maxlite.sharding._picker import pick_action

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite._op_table import Op
    from maxlite.dtype import DType
    from maxlite.graph import Dim
    from maxlite.sharding._action import Action

MAX_BYTES = 2**63 - 1
"""Bytes of a tensor."""

MAX_PLANS = 20_000
"""Plans kept; the cache starts afresh beyond. A plan is about a kilobyte."""


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The outcome of planning one op.

    Attributes:
        specs: One per result.
        action: Placements needed and had, None when nothing is distributed.
    """

    specs: tuple[Spec, ...]
    action: Action | None


_plans: Cache[tuple[Any, ...], Plan] = Cache("plans of ops", MAX_PLANS)


def plan(op: Op, params: tuple[Any, ...], operands: Sequence[Spec]) -> Plan:
    """Works out results and placements of an op, or remembers them.

    Raises:
        ValueError: The operands do not fit; also TypeError, as the op's row says.
        ShardingError: No placement row runs without a move that is allowed.
    """
    wide = any(operand.is_distributed for operand in operands)
    region = current_region() if wide else None
    key = (op, params, region, *operands)
    found = _plans.get(key)
    if found is None:
        found = _make(op, params, operands)
        if region is not None and found.action and found.action.moved:
            return found  # asked again next time, so that a warning is given again
        _plans.keep(key, found)
    return found


def _make(op: Op, params: tuple[Any, ...], operands: Sequence[Spec]) -> Plan:
    keywords = op.keywords(params)
    inferred: Any = op.infer(*operands, **keywords)
    results: list[Any] = [inferred] if isinstance(inferred, tuple) else inferred
    for dtype, shape, *_ in results:
        _check_size(op, dtype, shape)
    if op.rule is None:
        return Plan(tuple(spec(d, s, m) for d, s, m in results), None)
    wide = next((o for o in operands if o.is_distributed), None)
    if wide is None:
        mapping = _one_device(op, operands)
        return Plan(tuple(spec(d, s, mapping) for d, s in results), None)
    mesh = wide.mapping.mesh
    # What lies on one device counts as replicated; the evaluator lifts it.
    action = pick_action(op.name, operands, op.rule, keywords)
    return Plan(
        tuple(
            spec(dtype, shape, DeviceMapping(mesh, placements))
            for (dtype, shape), placements in zip(results, action.outputs, strict=True)
        ),
        action,
    )


def _check_size(op: Op, dtype: DType, shape: Sequence[int | Dim]) -> None:
    """Refuses what XLA cannot count, for which it would end the process."""
    known = [size for size in shape if isinstance(size, int) and size]
    if math.prod(known) * max(dtype.size_in_bytes, 1) > MAX_BYTES:
        raise ValueError(
            f"{op.name}: a tensor must have less than 2**63 bytes, got shape "
            f"{list(shape)} of {dtype}; sizes of 0 do not make it smaller. Use other "
            "sizes."
        )


def _one_device(op: Op, operands: Sequence[Spec]) -> DeviceMapping:
    tensors = [operand for operand in operands if not operand.literal]
    mapping = tensors[0].mapping
    for operand in tensors:
        if operand.mapping is not mapping and operand.mapping != mapping:
            raise ValueError(
                f"{op.name}: operands must lie on one device, got "
                f"{mapping.mesh.devices[0]} and {operand.mapping.mesh.devices[0]}. "
                "Move one with to(device)."
            )
    return mapping
