"""Computing values of a recorded graph: as one program, or as one per set of devices.

A program runs on one list of devices. A block may use several (two meshes, say), and is
then computed in turns: all that can run on one list of devices, then what needs its
results on another, until nothing is left. A move from one list to another is no part of
any program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite._op_table import fronts
from maxlite.graph._graph import Captured, Graph, Literal, Node, TensorValue
from maxlite.lowering._cut import Cut, cut, executable_of, is_compiled
from maxlite.lowering._literals import literal_argument
from maxlite.tensor._tensor import wrap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import jax

    from maxlite._backend import JaxDevice

Known = dict[int, "jax.Array"]
"""Arrays of computed values, by identity of the value."""


def compute(graph: Graph, outputs: Sequence[TensorValue]) -> list[jax.Array]:
    """Computes stored arrays of recorded values, in the order asked for."""
    program = cut(graph, outputs)
    if is_compiled(program) or len(_device_lists(program)) < 2:
        return _run(program, graph.name, {})
    return _compute_in_turns(program, graph.name)


def _run(program: Cut, name: str, known: Known) -> list[jax.Array]:
    leaves = [_array_of(leaf, known) for leaf in program.leaves]
    return list(executable_of(program, name)(leaves))


def _compute_in_turns(program: Cut, name: str) -> list[jax.Array]:
    known: Known = {}
    waiting = program.nodes
    while waiting:
        turn = _next_turn(waiting, known)
        now = {id(node) for node in turn}
        waiting = [node for node in waiting if id(node) not in now]
        if _is_crossing(turn[0]):
            known[id(turn[0].outputs[0])] = _moved(turn[0], known)
            continue
        used = {id(value) for node in waiting for value in node.inputs}
        used.update(map(id, program.outputs))
        wanted = [v for node in turn for v in node.outputs if id(v) in used]
        part = cut(Graph(name, nodes=turn), wanted)
        results = _run(part, name, known)
        known.update(zip(map(id, wanted), results, strict=True))
    return [_array_of(value, known) for value in program.outputs]


def _next_turn(waiting: Sequence[Node], known: Mapping[int, Any]) -> list[Node]:
    """Lists what can run on the devices of the first node that waits."""
    first = waiting[0]
    if _is_crossing(first):
        return [first]
    made: set[int] = set(known)
    turn: list[Node] = []
    for node in waiting:
        if (
            _devices(node.outputs[0]) == _devices(first.outputs[0])
            and not _is_crossing(node)
            and all(
                id(v) in made or not isinstance(v.origin, Node) for v in node.inputs
            )
        ):
            turn.append(node)
            made.update(map(id, node.outputs))
    return turn


def _is_crossing(node: Node) -> bool:
    """Whether a node is a move between two lists of devices."""
    return (
        node.op.places
        and bool(node.inputs)
        and not node.inputs[0].spec.literal
        and _devices(node.inputs[0]) != _devices(node.outputs[0])
    )


def _moved(node: Node, known: Known) -> jax.Array:
    source, target = node.inputs[0], node.outputs[0].spec.mapping
    tensor = wrap(source.spec, _array_of(source, known))
    return fronts["move"](tensor, target)._stored()


def _device_lists(program: Cut) -> set[tuple[JaxDevice, ...]]:
    """Finds the meshes of a program, by their devices; single devices fit anywhere."""
    values = [*program.leaves, *(v for node in program.nodes for v in node.outputs)]
    return {_devices(v) for v in values if v.spec.is_distributed}


def _devices(value: TensorValue) -> tuple[JaxDevice, ...]:
    return tuple(value.spec.mapping.mesh.to_jax().devices.flat)


def _array_of(value: TensorValue, known: Mapping[int, jax.Array]) -> jax.Array:
    origin = value.origin
    if isinstance(origin, Captured):
        return origin.array
    if isinstance(origin, Literal):
        return literal_argument(origin.value, value.spec)
    return known[id(value)]
