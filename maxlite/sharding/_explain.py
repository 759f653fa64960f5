"""Says in words why an op needs a move: the rows it had, their price, and the way out.

The messages are long because the answer to "why does this raise" is the table of rows.
An example, the whole text of one::

    add(lhs, rhs): the operands must lie as a row of the placement rule says, got
    placements that need a move, and this region does not reshard.
      lhs    : float32[4, 4]@mesh(x=2){"x":S0}
      rhs    : float32[4, 4]@mesh(x=2){"x":R}
      region : auto_reshard(DEFAULT_TRANSITIONS, mode="raise")

      axis    lhs          rhs          -> out     collective        bytes  status
      "x"     lhs{S0}      rhs{R->S0}   -> S0      local_slice(rhs)  0.5    chosen, ...
              lhs{S0->R}   rhs{R}       -> R       allgather(lhs)    32
      result  lhs{"x":S0}  rhs{"x":S0}  -> {"x":S0}

    Move the operands first:
      rhs = F.transfer_to(rhs, DeviceMapping(mesh, (Sharded(0),)))
    or let ops reshard by themselves:
      with auto_reshard(mode="silent"):
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from maxlite.sharding._auto_reshard import transitions_text
from maxlite.sharding._placements import Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from maxlite.sharding._assignment import Operand
    from maxlite.sharding._auto_reshard import Region
    from maxlite.sharding._cost import Candidate
    from maxlite.sharding._mesh import DeviceMesh
    from maxlite.sharding._placements import Placement

_REFUSED = (
    "{call}: the operands must lie as a row of the placement rule says, got placements "
    "that need a move, and this region does not reshard."
)
_BLOCKED = (
    "{call}: a row of the placement rule must be reachable on mesh axis {axis!r} by "
    "moves that this region allows, got none."
)
_UNREACHABLE = (
    "{call}: a row of the placement rule must be reachable on mesh axis {axis!r}, got "
    "none. {hint}"
)
_MOVED = "{call}: reshards {moved}, as this region allows."

_UNKNOWN_HINT = (
    "An Unknown placement cannot be moved: say what the shards hold with "
    "t.rebind_mapping(mapping)."
)
_OTHER_HINT = "Move the operands with F.transfer_to(t, mapping)."


@dataclass(frozen=True, slots=True)
class Call:
    """An op with its operands, as messages name them.

    Attributes:
        op: Name of the op.
        operands: What it is given.
        names: One per operand.
        mesh: The mesh that they share.
        region: What is allowed where the op is called.
    """

    op: str
    operands: tuple[Operand, ...]
    names: tuple[str, ...]
    mesh: DeviceMesh
    region: Region

    def __str__(self) -> str:
        """Writes the op as a call."""
        return f"{self.op}({', '.join(self.names)})"


@dataclass(frozen=True, slots=True)
class Decision:
    """What was found for one mesh axis.

    Attributes:
        axis: Name of the mesh axis.
        candidates: The rows in reach, the cheapest first.
        chosen: The cheapest that is allowed, None if there is none.
    """

    axis: str
    candidates: Sequence[Candidate]
    chosen: Candidate | None


def refused_text(call: Call, decisions: Sequence[Decision]) -> str:
    """Explains that moves would help but the region makes none."""
    way_out = _way_out(call, decisions, 'auto_reshard(mode="silent")')
    return "\n".join([_REFUSED.format(call=call), *_body(call, decisions), *way_out])


def moved_text(call: Call, decisions: Sequence[Decision]) -> str:
    """Explains which operands are moved, and why."""
    moved = ", ".join(_moved_names(call, decisions))
    way_out = _way_out(call, decisions, 'auto_reshard(mode="silent")')
    head = _MOVED.format(call=call, moved=moved)
    return "\n".join([head, *_body(call, decisions), *way_out])


def blocked_text(call: Call, decisions: Sequence[Decision]) -> str:
    """Explains that the last mesh axis decided has no row that is allowed."""
    last = decisions[-1]
    if not last.candidates:
        unknown = any(
            isinstance(p, Unknown)
            for operand in call.operands
            for p in operand.mapping.placements
        )
        hint = _UNKNOWN_HINT if unknown else _OTHER_HINT
        head = _UNREACHABLE.format(call=call, axis=last.axis, hint=hint)
        return "\n".join([head, *_operand_lines(call)])
    best = last.candidates[0]
    needed = frozenset(
        (type(best.held[i]), type(best.row.needed_inputs[i])) for i in best.moved
    )
    region = f'auto_reshard({transitions_text(needed)}, mode="silent")'
    # As if the cheapest row were allowed, so that the way out shows where it leads.
    reached = [*decisions[:-1], Decision(last.axis, last.candidates, best)]
    way_out = _way_out(call, reached, region)
    head = _BLOCKED.format(call=call, axis=last.axis)
    return "\n".join([head, *_body(call, decisions), *way_out])


def operand_text(operand: Operand) -> str:
    """Writes dtype, shape and place of an operand."""
    if operand.literal:
        return "a Python number"
    sizes = ", ".join(map(str, operand.shape))
    mesh = operand.mapping.mesh
    if mesh.is_single:
        return f"{operand.dtype.name}[{sizes}]@{mesh.devices[0]}"
    axes = zip(mesh.axis_names, mesh.mesh_shape, strict=True)
    where = ", ".join(f"{name}={size}" for name, size in axes)
    placed = _placements_text(mesh, operand.mapping.placements)
    return f"{operand.dtype.name}[{sizes}]@mesh({where}){placed}"


def _body(call: Call, decisions: Sequence[Decision]) -> list[str]:
    return [*_operand_lines(call), "", *_table(call, decisions), ""]


def _operand_lines(call: Call) -> list[str]:
    lines = [*zip(call.names, map(operand_text, call.operands), strict=True)]
    lines.append(("region", str(call.region)))
    width = max(len(name) for name, _ in lines)
    return [f"  {name:<{width}} : {text}" for name, text in lines]


def _table(call: Call, decisions: Sequence[Decision]) -> list[str]:
    header = ["axis", *call.names, "-> out", "collective", "bytes", "status"]
    cells = [header]
    for decision in decisions:
        axis = f'"{decision.axis}"'
        for candidate in decision.candidates:
            cells.append([axis, *_row_cells(call, decision, candidate)])
            axis = ""
    if all(decision.chosen for decision in decisions):
        cells.append(["result", *_result_cells(call, decisions), "", "", ""])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  " + "  ".join(map(str.ljust, line, widths)).rstrip() for line in cells]


def _row_cells(call: Call, decision: Decision, candidate: Candidate) -> list[str]:
    row = candidate.row
    moves = zip(call.names, candidate.held, row.needed_inputs, strict=True)
    collectives = ", ".join(
        f"{candidate.collectives[i].value}({call.names[i]})" for i in candidate.moved
    )
    return [
        *(f"{name}{{{_move_text(held, needed)}}}" for name, held, needed in moves),
        f"-> {_outputs_text(map(short, row.outputs))}",
        collectives or "keep",
        f"{candidate.cost:g}",
        _status(call, decision, candidate),
    ]


def _status(call: Call, decision: Decision, candidate: Candidate) -> str:
    if candidate is decision.chosen:
        moved = ", ".join(call.names[i] for i in candidate.moved)
        return f"chosen, reshards {moved}" if moved else "chosen"
    return "" if candidate.is_allowed(call.region) else "not allowed"


def _result_cells(call: Call, decisions: Sequence[Decision]) -> list[str]:
    rows = [decision.chosen.row for decision in decisions if decision.chosen]
    needed = zip(*(row.needed_inputs for row in rows), strict=True)
    outputs = zip(*(row.outputs for row in rows), strict=True)
    placed = (_placements_text(call.mesh, placements) for placements in needed)
    return [
        *map("".join, zip(call.names, placed, strict=True)),
        f"-> {_outputs_text(_placements_text(call.mesh, out) for out in outputs)}",
    ]


def _way_out(call: Call, decisions: Sequence[Decision], region: str) -> list[str]:
    chosen = [decision.chosen for decision in decisions if decision.chosen]
    moves: list[str] = []
    for name in _moved_names(call, decisions):
        i = call.names.index(name)
        placements = [c.row.needed_inputs[i] for c in chosen]
        rest = call.operands[i].mapping.placements[len(placements) :]
        written = ", ".join(map(_written, (*placements, *rest)))
        comma = "," if len(placements) + len(rest) == 1 else ""
        mapping = f"DeviceMapping(mesh, ({written}{comma}))"
        moves.append(f"  {name} = F.transfer_to({name}, {mapping})")
    return [
        "Move the operands first:",
        *moves,
        "or let ops reshard by themselves:",
        f"  with {region}:",
    ]


def _moved_names(call: Call, decisions: Sequence[Decision]) -> list[str]:
    moved = {i for d in decisions if d.chosen for i in d.chosen.moved}
    return [call.names[i] for i in sorted(moved)]


def _placements_text(mesh: DeviceMesh, placements: Iterable[Placement]) -> str:
    pairs = zip(mesh.axis_names, placements, strict=False)
    return "{" + ", ".join(f'"{name}":{short(p)}' for name, p in pairs) + "}"


def _outputs_text(outputs: Iterable[str]) -> str:
    texts = list(outputs)
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _move_text(held: Placement, needed: Placement) -> str:
    if held == needed:
        return short(held)
    return f"{short(held)}->{short(needed)}"


def short(placement: Placement) -> str:
    """Writes a placement as in the tables of the documentation."""
    axis = placement.localized_axis()
    return type(placement).__name__[0] + ("" if axis is None else str(axis))


def _written(placement: Placement) -> str:
    axis = placement.localized_axis()
    return f"{type(placement).__name__}({'' if axis is None else axis})"
