"""Placements written as text, and what the picker makes of them.

An operand is written ``"4,4 S0 P"``: sizes, then one placement per mesh axis; sizes may
be names. ``"4,4"`` alone is a one-device tensor, ``"() R"`` a distributed scalar, and
``"number"`` a Python number. A mesh axis has 2 devices unless ``mesh`` says otherwise.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph._shape import compact_dim
from maxlite.sharding import (
    ALL_TRANSITIONS,
    DeviceMapping,
    DeviceMesh,
    Partial,
    Placement,
    Replicated,
    Sharded,
    ShardingError,
    Unknown,
)
from maxlite.sharding._auto_reshard import auto_reshard
from maxlite.sharding._picker import pick_action
from tests.sharding.meshes import cpu_mesh

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.graph import Dim
    from maxlite.sharding._action import Action
    from maxlite.sharding._assignment import Rule

REGIONS = {
    "default": nullcontext,
    "silent": lambda: auto_reshard(mode="silent"),
    "all": lambda: auto_reshard(ALL_TRANSITIONS, mode="silent"),
}
"""The regions of the tables in the tests."""


@dataclass(frozen=True)
class Operand:
    """What the picker needs to know of an operand, without a tensor."""

    shape: tuple[int | Dim, ...]
    dtype: DType
    mapping: DeviceMapping
    literal: bool = False


def operand(
    text: str, mesh: Sequence[int] | None = None, dtype: DType = DType.float32
) -> Operand:
    """Reads an operand."""
    one_device = DeviceMapping.replicated(DeviceMesh.single(CPU()))
    if text == "number":
        return Operand((), dtype, one_device, literal=True)
    sizes, *placements = text.split()
    if not placements:
        return Operand(_shape(sizes), dtype, one_device)
    shape = mesh or (2,) * len(placements)
    mapping = DeviceMapping(cpu_mesh(*shape), tuple(map(_placement, placements)))
    return Operand(_shape(sizes), dtype, mapping)


def act(
    rule: Rule,
    operands: Sequence[str],
    *,
    region: str = "default",
    mesh: Sequence[int] | None = None,
    **params: Any,
) -> Action:
    """Asks the picker, in one of the regions."""
    with REGIONS[region]():
        return pick_action(
            "op", [operand(text, mesh) for text in operands], rule, params
        )


def plan(
    rule: Rule,
    operands: Sequence[str],
    *,
    region: str = "default",
    mesh: Sequence[int] | None = None,
    **params: Any,
) -> str:
    """Writes how the results lie, ``"S0 P"``; several are separated by a bar."""
    try:
        action = act(rule, operands, region=region, mesh=mesh, **params)
    except ShardingError:
        return "raises"
    return " | ".join(" ".join(map(short, output)) for output in action.outputs)


def short(placement: Placement) -> str:
    """Writes a placement as an operand's text has it."""
    axis = placement.localized_axis()
    return type(placement).__name__[0] + ("" if axis is None else str(axis))


def _shape(text: str) -> tuple[int | Dim, ...]:
    if text == "()":
        return ()
    return tuple(
        compact_dim(int(size) if size.isdecimal() else size) for size in text.split(",")
    )


def _placement(text: str) -> Placement:
    if text.startswith("S"):
        return Sharded(int(text[1:]))
    return {"R": Replicated(), "P": Partial(), "U": Unknown()}[text]
