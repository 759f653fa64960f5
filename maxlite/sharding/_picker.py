"""Chooses how an op runs on a mesh: one row of its rule for each mesh axis.

Mesh axes are decided one after the other. On each, the cheapest row wins that feasible
and allowed moves reach. If no operand moves the op just runs; otherwise the region says
whether it may, see :func:`maxlite.sharding.auto_reshard`.
"""

from __future__ import annotations

import itertools
import warnings
from typing import TYPE_CHECKING, Any

from maxlite._errors import ShardingError
from maxlite._frames import levels_to_user
from maxlite.sharding._action import Action
from maxlite.sharding._auto_reshard import current_region
from maxlite.sharding._cost import candidates, is_lifted
from maxlite.sharding._explain import (
    Call,
    Decision,
    blocked_text,
    moved_text,
    operand_text,
    refused_text,
)
from maxlite.sharding._placements import Replicated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.sharding._assignment import AxisAssignment, Operand, Rule
    from maxlite.sharding._mesh import DeviceMesh
    from maxlite.sharding._placements import Placement

_USUAL_NAMES: dict[int, tuple[str, ...]] = {1: ("x",), 2: ("lhs", "rhs")}


def pick_action(
    op: str,
    operands: Sequence[Operand],
    rule: Rule,
    params: Mapping[str, Any],
    names: Sequence[str] = (),
) -> Action:
    """Decides where the operands of an op must lie, and where its results then lie.

    Args:
        op: Name of the op, for messages.
        operands: Tensors and Python numbers; at least one is a tensor. A one-device
            tensor beside distributed ones counts as Replicated and is not cut.
        rule: The rows of the op.
        params: The op's static parameters, handed to ``rule``.
        names: One name per operand for messages; usual ones by default.

    Returns:
        Placements for all mesh axes of the mesh that the operands share.

    Raises:
        ShardingError: The operands are on different meshes, no row can be reached, or
            the region does not allow the moves.

    Warns:
        UserWarning: Operands are resharded, and the region asks to be told.
    """
    names = names or _usual_names(len(operands))
    mesh = _common_mesh(op, operands, names)
    call = Call(op, tuple(operands), tuple(names), mesh, current_region())
    rows = [rule(operands, params, n) for n in mesh.mesh_shape]
    _check_rows(call, rows)
    decisions = _decide(call, rows)
    taken = [decision.chosen.row for decision in decisions if decision.chosen]
    action = Action(
        needed=tuple(zip(*(row.needed_inputs for row in taken), strict=True)),
        outputs=tuple(zip(*(row.outputs for row in taken), strict=True)),
        moved=any(d.chosen.moved for d in decisions if d.chosen),
    )
    if action.moved and call.region.mode == "raise":
        raise ShardingError(refused_text(call, decisions))
    if action.moved and call.region.mode == "warn":
        text = moved_text(call, decisions)
        warnings.warn(text, UserWarning, stacklevel=levels_to_user())
    return action


def _decide(call: Call, rows: Sequence[Sequence[AxisAssignment]]) -> list[Decision]:
    """Takes a row on each mesh axis, in view of those taken on the axes before."""
    mesh = call.mesh
    placements = [_present(operand, mesh) for operand in call.operands]
    decisions: list[Decision] = []
    for axis, name in enumerate(mesh.axis_names):
        reached = candidates(rows[axis], call.operands, placements, mesh, axis)
        chosen = next((c for c in reached if c.is_allowed(call.region)), None)
        decisions.append(Decision(name, reached, chosen))
        if chosen is None:
            raise ShardingError(blocked_text(call, decisions))
        for present, needed in zip(placements, chosen.row.needed_inputs, strict=True):
            present[axis] = needed
    return decisions


def _present(operand: Operand, mesh: DeviceMesh) -> list[Placement]:
    if operand.literal or is_lifted(operand, mesh):
        return [Replicated()] * mesh.ndim
    return list(operand.mapping.placements)


def _common_mesh(
    op: str, operands: Sequence[Operand], names: Sequence[str]
) -> DeviceMesh:
    tensors = [
        (name, operand)
        for name, operand in zip(names, operands, strict=True)
        if not operand.literal
    ]
    wide = [(name, o) for name, o in tensors if not o.mapping.mesh.is_single]
    (first_name, first), *others = wide or tensors
    for name, operand in others:
        if operand.mapping.mesh != first.mapping.mesh:
            raise ShardingError(
                f"{op}: distributed operands must be on one mesh, got {first_name} "
                f"{operand_text(first)} and {name} {operand_text(operand)}. Move one "
                "with to(mesh), or make both on the same mesh."
            )
    return first.mapping.mesh


def _check_rows(call: Call, rows: Sequence[Sequence[AxisAssignment]]) -> None:
    """Checks what a rule returned; rules may be written by users."""
    if not all(rows):
        raise ShardingError(
            f"{call.op}: a placement rule must return at least one row, got none. "
            "Add the row with every operand Replicated."
        )
    for row in itertools.chain(*rows):
        if len(row.needed_inputs) != len(call.operands):
            raise ShardingError(
                f"{call.op}: a row must place each of the {len(call.operands)} tensor "
                f"operands, got {row.needed_inputs}. Return one placement per operand."
            )


def _usual_names(count: int) -> tuple[str, ...]:
    return _USUAL_NAMES.get(count) or tuple(f"x{i}" for i in range(count))
