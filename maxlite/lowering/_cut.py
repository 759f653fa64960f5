"""Cutting the part that is wanted out of a recorded graph, and finding its executable.

The cut program has every leaf as a parameter: captured arrays because their values are
not part of the program, and numbers because another number must not be another
program. Two cuts with one key are the same program, so each is compiled once.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from maxlite._caches import Cache
from maxlite._fork import check_not_forked
from maxlite.graph._graph import Graph
from maxlite.graph._node import Literal, Node, TensorValue
from maxlite.lowering._program import Executable, compile_graph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_EXECUTABLES = 4_096
"""Executables kept; the cache starts afresh beyond. One takes about 100 kilobytes."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The part of a graph that some values need.

    Attributes:
        key: Equal for equal programs.
        leaves: What comes in, in the order of first use.
        nodes: What is computed, in program order.
        outputs: What is wanted.
    """

    key: tuple[Any, ...]
    leaves: list[TensorValue]
    nodes: list[Node]
    outputs: list[TensorValue]

    def as_graph(self, name: str, *, keep_numbers: bool = False) -> Graph:
        """Makes a graph of its own with the leaves as parameters.

        Args:
            name: What it is called.
            keep_numbers: Whether numbers stay what they are.
        """
        graph = Graph(name)
        known: dict[int, TensorValue] = {}
        for leaf in self.leaves:
            origin = leaf.origin
            if keep_numbers and isinstance(origin, Literal):
                known[id(leaf)] = graph.literal(origin.value, leaf.spec)
            else:
                known[id(leaf)] = graph.add_parameter(leaf.spec)
        for node in self.nodes:
            inputs = tuple(known[id(value)] for value in node.inputs)
            specs = [value.spec for value in node.outputs]
            made = graph.append(node.op, node.params, inputs, specs, node.action)
            for old, new in zip(node.outputs, made, strict=True):
                known[id(old)] = new
        graph.outputs = [known[id(value)] for value in self.outputs]
        return graph


def cut(graph: Graph, outputs: Sequence[TensorValue]) -> Cut:
    """Cuts out of a graph what the outputs need."""
    numbers: dict[int, int] = {}
    leaves: list[TensorValue] = []
    parts: list[Any] = []

    def number(value: TensorValue) -> int:
        if id(value) not in numbers:
            numbers[id(value)] = len(numbers)
            leaves.append(value)
            parts.append((numbers[id(value)], value.spec))
        return numbers[id(value)]

    nodes = graph.live_nodes(outputs)
    for node in nodes:
        inputs = tuple(number(value) for value in node.inputs)
        parts.append((node.op, node.params, inputs, node.action))
        for value in node.outputs:
            numbers[id(value)] = len(numbers)
            parts.append(value.spec)
    wanted = tuple(number(value) for value in outputs)
    return Cut((*parts, wanted), leaves, nodes, list(outputs))


_executables: Cache[tuple[Any, ...], Executable] = Cache(
    "programs of blocks", MAX_EXECUTABLES
)
_lock = threading.RLock()


def is_compiled(program: Cut) -> bool:
    """Whether the executable of a cut program without symbols is at hand."""
    return (program.key, ()) in _executables


def executable_of(
    program: Cut, name: str, sizes: Mapping[str, int] = MappingProxyType({})
) -> Executable:
    """Finds or compiles the executable of a cut program.

    Args:
        program: What is to be computed.
        name: What the program is called.
        sizes: What each symbol in it stands for.
    """
    key = (program.key, tuple(sizes.items()))
    found = _executables.get(key)
    if found is not None:
        return found
    check_not_forked()  # whoever held the lock may be missing in this process
    with _lock:
        found = _executables.get(key)
        if found is None:
            found = compile_graph(program.as_graph(name), sizes)
            _executables.keep(key, found)
    return found
