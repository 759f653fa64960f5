"""A recorded program as text: what comes in, each op on a line, what goes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite.graph._node import (
    Captured,
    External,
    Literal,
    Node,
    Parameter,
    Region,
    TensorValue,
)

if TYPE_CHECKING:
    from maxlite.graph._graph import Graph

MOST_NODES = 60
"""Ops shown; of a longer program the first and the last ones."""

MOST_CHARACTERS = 60
"""Of a static parameter; a longer one is cut."""


def listing(graph: Graph) -> str:
    """Writes a program, one op a line.

    >>> from maxlite.graph import Graph
    >>> print(listing(Graph("empty")))
    Graph 'empty': 0 inputs, 0 ops, 0 outputs
    """
    names = _Names()
    leaves = [*graph.parameters, *graph.hidden]
    lines = [
        f"Graph {graph.name!r}: {len(leaves)} inputs, {len(graph.nodes)} ops, "
        f"{len(graph.outputs)} outputs"
    ]
    lines += [f"  {names.of(v)}: {_kind(v)}  # {_origin(v)}" for v in leaves]
    nodes = [_node(node, names) for node in graph.nodes]
    if len(nodes) > MOST_NODES:
        half, left = MOST_NODES // 2, len(nodes) - MOST_NODES
        nodes = [*nodes[:half], f"  ... {left} more ops", *nodes[-half:]]
    lines += nodes
    if graph.outputs:
        lines.append(f"  return {', '.join(map(names.of, graph.outputs))}")
    return "\n".join(lines)


class _Names:
    """Numbers values in the order in which they are met."""

    def __init__(self) -> None:
        self._numbers: dict[int, str] = {}

    def of(self, value: TensorValue) -> str:
        if isinstance(value.origin, Literal):
            return repr(value.origin.value)
        return self._numbers.setdefault(id(value), f"%{len(self._numbers)}")


def _node(node: Node, names: _Names) -> str:
    inputs = [names.of(value) for value in node.inputs]
    params = [
        f"{name}={_param(value)}"
        for name, value in node.op.keywords(node.params).items()
    ]
    results = ", ".join(map(names.of, node.outputs))
    kinds = ", ".join(map(_kind, node.outputs))
    call = f"{node.op.name}({', '.join([*inputs, *params])})"
    return f"  {results} = {call}: {kinds}" if results else f"  {call}"


def _param(value: Any) -> str:
    if isinstance(value, Region):
        return f"<{value.graph.name}>"
    text = repr(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}..."


def _kind(value: TensorValue) -> str:
    return repr(value.spec)


def _origin(value: TensorValue) -> str:
    match value.origin:
        case Parameter(index, mutable):
            return f"argument {index}{', may be written to' if mutable else ''}"
        case Captured():
            return "a tensor, as it was"
        case External(name):
            return f"weight {name!r}"
        case _:
            return "the seed"
