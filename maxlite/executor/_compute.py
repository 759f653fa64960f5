"""Computing values of a recorded graph: as one program, or in turns.

A program runs on one list of devices, at sizes that are known when it starts. A graph
may use several lists (two meshes, say), or contain sizes that only a computed value
tells (how many elements are not zero). It is then computed in turns: all that can run
now on one list of devices, then what needs its results, until nothing is left. A move
from one list to another is no part of any program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from maxlite._op_table import fronts
from maxlite._processes import fetch
from maxlite.graph._graph import Graph, sized
from maxlite.graph._node import (
    Captured,
    External,
    Literal,
    Node,
    Seed,
    TensorValue,
)
from maxlite.lowering._cut import Cut, cut, executable_of, is_compiled
from maxlite.lowering._literals import literal_argument
from maxlite.lowering._rebind import check_size, size_equations, solve_sizes

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    import jax

    from maxlite._backend import JaxDevice
    from maxlite.lowering._rebind import Equation

Known = dict[int, "jax.Array"]
"""Arrays of computed values, by identity of the value."""

_NOTHING: Mapping[Any, Any] = MappingProxyType({})


def compute(
    graph: Graph,
    outputs: Sequence[TensorValue],
    known: Mapping[int, jax.Array] = _NOTHING,
    sizes: Mapping[str, int] = _NOTHING,
    *,
    one_by_one: bool = False,
) -> tuple[list[jax.Array], Mapping[str, int]]:
    """Computes recorded values.

    Args:
        graph: Where they were recorded.
        outputs: The values.
        known: Arrays of the leaves that the graph has no arrays of.
        sizes: What symbols stand for that the leaves bring with them.
        one_by_one: Whether each node runs by itself.

    Returns:
        Stored arrays in the order of ``outputs``, and what every symbol stands for.

    Raises:
        ValueError: Two sizes are not the same though they have one name.
    """
    program = cut(graph, outputs)
    if not one_by_one and (is_compiled(program) or fits_in_one(program, sizes)):
        return _run(program, graph.name, known, sizes), sizes
    turns = _Turns(graph.name, program.nodes, dict(known), dict(sizes), one_by_one)
    turns.run(program.outputs)
    return [array_of(value, turns.known) for value in program.outputs], turns.sizes


def _run(
    program: Cut, name: str, known: Mapping[int, jax.Array], sizes: Mapping[str, int]
) -> list[jax.Array]:
    leaves = [array_of(leaf, known) for leaf in program.leaves]
    return list(executable_of(program, name, sizes)(leaves))


def fits_in_one(program: Cut, sizes: Mapping[str, int] = _NOTHING) -> bool:
    """Whether one executable can compute a program, as far as sizes are known."""
    nodes = program.nodes
    measured = any(node.op.measured is not None for node in nodes)
    if measured or len(_device_lists(program)) > 1:
        return False
    names = {name for node in nodes for name in node.symbols}
    return not names or solve_sizes(size_equations(nodes), sizes).keys() >= names


@dataclass(slots=True)
class _Turns:
    """A program that is computed in turns.

    Attributes:
        name: What it is called.
        waiting: Nodes not computed yet, in program order.
        known: Arrays of computed values, by identity of the value.
        sizes: What symbols stand for, as far as that is known.
        one_by_one: Whether a turn is a single node.
        measured: Nodes whose size was taken.
    """

    name: str
    waiting: list[Node]
    known: Known
    sizes: dict[str, int]
    one_by_one: bool = False
    measured: set[int] = field(default_factory=set[int])

    def run(self, outputs: Sequence[TensorValue]) -> None:
        """Computes everything that waits, and keeps the outputs."""
        equations = list(size_equations(self.waiting))
        self.sizes = solve_sizes(equations, self.sizes)
        if self.one_by_one:
            self._run_in_order(outputs, equations)
        while self.waiting:
            for node in self.waiting:
                self._measure(node)
            self.sizes = solve_sizes(equations, self.sizes)
            turn = self._next()
            now = {id(node) for node in turn}
            self.waiting = [node for node in self.waiting if id(node) not in now]
            used = {id(value) for node in self.waiting for value in node.inputs}
            used.update(map(id, outputs))
            self._run_turn(turn, used)

    def _run_in_order(
        self, outputs: Sequence[TensorValue], equations: Sequence[Equation]
    ) -> None:
        """Runs node by node up to one that needs a size which is not known yet.

        What no later node needs is let go of, as eager code does it.
        """
        ends = {id(value) for value in outputs}
        last = {id(v): i for i, node in enumerate(self.waiting) for v in node.inputs}
        used = ends | last.keys()
        for i, node in enumerate(self.waiting):
            if self._measure(node):
                self.sizes = solve_sizes(equations, self.sizes)
            if not self._has_sizes(node):
                self.waiting = self.waiting[i:]
                return
            self._run_turn([node], used)
            for value in node.inputs:
                if last[id(value)] == i and id(value) not in ends:
                    self.known.pop(id(value), None)
        self.waiting = []

    def _run_turn(self, turn: list[Node], used: Container[int]) -> None:
        """Computes nodes on one list of devices, and keeps the values that are used."""
        if _is_crossing(turn[0]):
            self.known[id(turn[0].outputs[0])] = self._moved(turn[0])
            return
        wanted = [v for node in turn for v in node.outputs if id(v) in used]
        graph = Graph(self.name)
        graph.nodes = turn
        part = cut(graph, wanted)
        results = _run(part, self.name, self.known, self.sizes)
        self.known.update(zip(map(id, wanted), results, strict=True))

    def _moved(self, node: Node) -> jax.Array:
        source, target = node.inputs[0], node.outputs[0].spec.mapping
        described = sized(source.spec, self.sizes)
        return fronts["moved_array"](array_of(source, self.known), described, target)

    def _measure(self, node: Node) -> bool:
        """Takes the size of a node's results where a computed value tells it by now.

        Raises:
            ValueError: The size is another than it was stated, or measured, to be.
        """
        measure = node.measure
        if measure is None or id(node) in self.measured:
            return False
        dim, told_by = measure
        if id(told_by) not in self.known:
            return False
        self.measured.add(id(node))
        size = int(fetch(self.known[id(told_by)]))
        self.sizes = solve_sizes([(dim, size)], self.sizes)
        check_size(node.op.name, dim, size, self.sizes)
        return True

    def _next(self) -> list[Node]:
        """Lists what can run on the devices of the first node that can run."""
        ready: list[Node] = []
        made: set[int] = set(self.known)
        for node in self.waiting:
            if not self._can_run(node, made):
                continue
            if _is_crossing(node):
                if not ready:
                    return [node]
                continue
            if not ready or _place(node) == _place(ready[0]):
                ready.append(node)
                if self.one_by_one:
                    break
                made.update(map(id, node.outputs))
        if not ready:
            raise ValueError(
                f"{self.name}: the sizes {', '.join(self._missing())} must be known, "
                "got no value that tells them. Use sizes of tensors of the block."
            )
        return ready

    def _can_run(self, node: Node, made: set[int]) -> bool:
        ready = all(
            id(v) in made or not isinstance(v.origin, Node) for v in node.inputs
        )
        return ready and self._has_sizes(node)

    def _has_sizes(self, node: Node) -> bool:
        """Whether every size in a node's results is known, and the one it measures."""
        if node.op.measured is not None and id(node) not in self.measured:
            return False
        return self.sizes.keys() >= set(node.symbols)

    def _missing(self) -> list[str]:
        names = {name: None for node in self.waiting for name in node.symbols}
        return [name for name in names if name not in self.sizes]


def _place(node: Node) -> tuple[JaxDevice, ...]:
    """Tells where a node runs; an effect has no results, and needs no operands."""
    values = node.outputs or node.inputs
    return _devices(values[0]) if values else ()


def _is_crossing(node: Node) -> bool:
    """Whether a node is a move between two lists of devices."""
    return (
        node.op.places
        and bool(node.inputs)
        and not node.inputs[0].spec.literal
        and _devices(node.inputs[0]) != _devices(node.outputs[0])
    )


def _device_lists(program: Cut) -> set[tuple[JaxDevice, ...]]:
    """Finds the meshes of a program, by their devices; single devices fit anywhere."""
    values = [*program.leaves, *(v for node in program.nodes for v in node.outputs)]
    return {_devices(v) for v in values if v.spec.is_distributed}


def _devices(value: TensorValue) -> tuple[JaxDevice, ...]:
    return tuple(value.spec.mapping.mesh.to_jax().devices.flat)


def array_of(
    value: TensorValue, known: Mapping[int, jax.Array] = _NOTHING
) -> jax.Array:
    """Gives the array of a leaf, or of what was computed.

    Raises:
        TypeError: It is a weight or the seed of a traced graph, without a value here.
    """
    origin = value.origin
    if id(value) in known:
        return known[id(value)]
    if isinstance(origin, Literal):
        return literal_argument(origin.value, value.spec)
    if isinstance(origin, External):
        raise TypeError(
            f"realize: weight {origin.name!r} has no value in a lazy block, so nothing "
            "that depends on it can be computed. Stage the function, and pass weights=."
        )
    if isinstance(origin, Seed):
        raise TypeError(
            "execute: a traced graph that draws random numbers has no seed here. "
            "Compile the function, which takes a seed at each call."
        )
    assert isinstance(origin, Captured)
    return origin.array
