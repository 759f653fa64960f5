"""The recorded program: values, nodes and the graph that holds them.

One graph serves lazy blocks and staging alike. It is recorded by calling the user's
function once; everything after that (running it, lowering it to StableHLO, drawing it)
walks its nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite._op_table import fronts
from maxlite.graph._building import BufferValue, Building, buffer_of
from maxlite.graph._dim import Dim
from maxlite.graph._listing import listing
from maxlite.graph._node import (
    Captured,
    External,
    Literal,
    Node,
    Parameter,
    Region,
    Seed,
    TensorValue,
    exact,
    new_node,
    new_value,
)
from maxlite.graph._spec import Spec
from maxlite.graph._type import BufferType, TensorType, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    import jax

    from maxlite._op_table import Op


class Graph(Building):
    """A recorded program.

    Args:
        name: Shown in the printed module.
        forward: Called with the inputs while the graph is open; what it returns are the
            outputs. None leaves both to the caller.
        input_types: What will come in, one type per input and shard; empty leaves it
            to whoever records.

    Raises:
        TypeError: ``input_types`` holds something else than types.

    Source: max.graph.Graph.

    Attributes:
        parameters: Leaves that the caller passes, in order.
        captures: Realized arrays that the program uses, by identity; hidden inputs.
        literals: Numbers that the program uses, each once.
        externals: Weights by their leaf; hidden inputs.
        seed: State of random numbers, a hidden input; None when nothing is drawn.
        draws: How many steps the seed is moved on by one run.
        nodes: Everything recorded, in program order.
        outputs: Results, in order.
        writes: Last value of each mutable parameter that was written, by index.
        context: What records it while it is open, if it was opened by itself.
        is_built: Whether ``output`` was called.
        lines: The user's line of some nodes, by identity: where data may be sent.
    """

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any] | None = None,
        input_types: Sequence[Type] = (),
    ) -> None:
        self.name = name
        self.input_types = input_types
        self.parameters: list[TensorValue] = []
        self.captures: dict[int, TensorValue] = {}
        self.literals: dict[tuple[Any, ...], TensorValue] = {}
        self.externals: dict[External, TensorValue] = {}
        self.seed: TensorValue | None = None
        self.draws = 0
        self.nodes: list[Node] = []
        self.outputs: list[TensorValue] = []
        self.writes: dict[int, TensorValue] = {}
        self.context: Any = None
        self.is_built = False
        self.lines: dict[int, str] = {}
        self._opened: list[AbstractContextManager[Any]] = []
        if input_types:
            fronts["declare_inputs"](self)
        if forward is not None:
            with self:
                given = forward(*self.inputs)
                several = isinstance(given, (list, tuple))
                self.output(*([] if given is None else given if several else [given]))

    def __repr__(self) -> str:
        return listing(self)

    def add_parameter(self, spec: Spec, *, mutable: bool = False) -> TensorValue:
        """Adds a leaf that the caller passes."""
        value = new_value(spec, Parameter(len(self.parameters), mutable))
        self.parameters.append(value)
        return value

    def capture(self, array: jax.Array, spec: Spec) -> TensorValue:
        """Adds a realized array as a hidden input; the same array once."""
        if id(array) not in self.captures:
            self.captures[id(array)] = new_value(spec, Captured(array))
        return self.captures[id(array)]

    def literal(self, value: bool | int | float, spec: Spec) -> TensorValue:
        """Adds a number as a leaf; the same number in one dtype once."""
        key = (spec, exact(value))
        if key not in self.literals:
            self.literals[key] = new_value(spec, Literal(value))
        return self.literals[key]

    def add_external(self, external: External, spec: Spec) -> TensorValue:
        """Adds a named weight as a hidden input; the same name once.

        Raises:
            ValueError: The name was declared before with another layout.
        """
        value = self.externals.setdefault(external, new_value(spec, external))
        if value.spec is not spec:
            raise ValueError(
                f"constant_external: weight {external.name!r} must have one layout, "
                f"got {value.spec!r} and {spec!r}. Use another name."
            )
        return value

    def draw(self, spec: Spec, count: int = 1) -> tuple[TensorValue, int]:
        """Reserves steps of the seed.

        Args:
            spec: What the seed is, if the graph has none so far.
            count: How many steps.

        Returns:
            The seed as it is when the program starts, and how many steps lie between
            that and the ones reserved.
        """
        if self.seed is None:
            self.seed = new_value(spec, Seed())
        first = self.draws
        self.draws += count
        return self.seed, first

    def append(
        self,
        op: Op,
        params: tuple[Any, ...],
        inputs: tuple[TensorValue, ...],
        specs: Iterable[Spec],
        action: object = None,
    ) -> tuple[TensorValue, ...]:
        """Records one application of an op and returns its results."""
        node = new_node(op, params, inputs, tuple(specs), action)
        self.nodes.append(node)
        return node.outputs

    @property
    def bound(self) -> list[TensorValue]:
        """Inputs that stay the same from call to call: weights, captured arrays."""
        return [*self.externals.values(), *self.captures.values()]

    @property
    def hidden(self) -> list[TensorValue]:
        """Inputs that the caller does not pass: what is bound, then the seed."""
        return self.bound if self.seed is None else [*self.bound, self.seed]

    @property
    def is_measured(self) -> bool:
        """Whether a size is known at run time only, here or in a graph inside."""
        return any(
            node.op.measured is not None
            for graph in self.regions()
            for node in graph.nodes
        )

    @property
    def has_effects(self) -> bool:
        """Whether a run acts on the world outside, here or in a graph inside."""
        return any(node.has_effects for node in self.nodes)

    @property
    def results(self) -> list[TensorValue]:
        """Everything the program gives back: outputs, then written parameters."""
        return [*self.outputs, *(self.writes[i] for i in sorted(self.writes))]

    @property
    def inputs(self) -> list[TensorValue | BufferValue]:
        """One value per parameter and shard, in order; a buffer for a mutable one."""
        return [
            buffer_of(self, i, value.spec) if value.is_mutable else value
            for i, value in enumerate(self.parameters)
            for _ in range(value.spec.mapping.mesh.num_devices)
        ]

    @property
    def output_types(self) -> list[TensorType | BufferType]:
        """One type per output and shard, in order."""
        return [kind for value in self.outputs for kind in value.types]

    def live_nodes(self, outputs: Sequence[TensorValue] | None = None) -> list[Node]:
        """Lists the nodes that outputs (or the graph's results) need, in order.

        Nodes that act on the world outside are needed though nothing uses them, and so
        are those that tell a size which a needed node has.
        """
        ends = self.results if outputs is None else outputs
        wanted = {id(value.origin) for value in ends}
        sizes: set[str] = set()
        named = any(node.names_a_size for node in self.nodes)
        live: list[Node] = []
        for node in reversed(self.nodes):
            tells = named and node.names_a_size and not sizes.isdisjoint(node.symbols)
            if id(node) in wanted or node.has_effects or tells:
                live.append(node)
                wanted.update(id(value.origin) for value in node.inputs)
                if named:
                    sizes.update(node.symbols)
        live.reverse()
        return live

    def regions(self) -> Iterator[Graph]:
        """Visits this graph and every graph inside it, each once, inner ones last."""
        seen: dict[int, Graph] = {}
        waiting: list[Graph] = [self]
        while waiting:
            graph = waiting.pop()
            if id(graph) in seen:
                continue
            seen[id(graph)] = graph
            waiting.extend(
                param.graph
                for node in graph.nodes
                for param in node.params
                if isinstance(param, Region)
            )
        yield from seen.values()


def substitute_shape(
    shape: Sequence[int | Dim], sizes: Mapping[str, int | Dim]
) -> tuple[int | Dim, ...]:
    """Replaces symbols in a shape by what they stand for."""
    replaced = (d.substitute(sizes) if isinstance(d, Dim) else d for d in shape)
    return tuple(_compact(d) for d in replaced)


def sized(spec: Spec, sizes: Mapping[str, int | Dim]) -> Spec:
    """Gives a spec with its symbols replaced by what they stand for."""
    if spec.is_static or not sizes:
        return spec
    return spec.with_shape(substitute_shape(spec.shape, sizes))


def _compact(dim: int | Dim) -> int | Dim:
    return int(dim) if isinstance(dim, Dim) and not tuple(dim.parameters) else dim
