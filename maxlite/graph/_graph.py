"""The recorded program: values, nodes and the graph that holds them.

One graph serves lazy blocks and staging alike. It is recorded by calling the user's
function once; everything after that (running it, lowering it to StableHLO, drawing it)
walks its nodes. Its leaves are of five kinds, one class each, because they travel
differently: parameters come with the call, literals are written into the program,
captured arrays, external weights and the seed are hidden inputs. Everything else is
computed by a node.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from maxlite.graph._dim import Dim
from maxlite.graph._shape import Shape
from maxlite.graph._spec import Spec
from maxlite.graph._type import BufferType, DeviceRef, TensorType, Type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import jax

    from maxlite._op_table import Op


@dataclass(frozen=True, slots=True)
class Parameter:
    """A leaf that the caller passes.

    Attributes:
        index: Position among the graph's parameters.
        mutable: Whether the program may write to it (a ``BufferLayout`` argument).
    """

    index: int
    mutable: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A leaf that is a Python number, written into the program."""

    value: bool | int | float


def exact(value: bool | int | float) -> tuple[type, bool | int | str]:
    """Gives a key that is equal for one number only.

    1 == 1.0 == True and 0.0 == -0.0, though they are different numbers, and NaN is not
    even equal to itself.

    >>> exact(0.0) == exact(-0.0), exact(float("nan")) == exact(float("nan"))
    (False, True)
    """
    return (type(value), value.hex() if isinstance(value, float) else value)


@dataclass(frozen=True, slots=True, eq=False)
class Captured:
    """A leaf that is a realized array, taken as it was when it was first used."""

    array: jax.Array


@dataclass(frozen=True, slots=True)
class External:
    """A leaf that is a weight, supplied by name when the program is compiled.

    Attributes:
        name: The weight's name; for a placeholder, what comes after the prefix.
        placeholder: Whether the prefix of the enclosing subgraph call is put in front.
    """

    name: str
    placeholder: bool = False


@dataclass(frozen=True, slots=True)
class Seed:
    """A leaf that is the state of random numbers when the program starts."""


class Node:
    """One recorded application of an op.

    Attributes:
        op: The row of the op table.
        params: Values of the row's static parameters.
        inputs: Operands.
        outputs: Results, in order.
        action: Placements the operands are moved to and the results have, one choice
            for the whole node; None when nothing is distributed.
    """

    __slots__ = ("action", "inputs", "op", "outputs", "params")

    def __init__(
        self,
        op: Op,
        params: tuple[Any, ...],
        inputs: tuple[TensorValue, ...],
        specs: Iterable[Spec],
        action: object = None,
    ) -> None:
        self.op = op
        self.params = params
        self.inputs = inputs
        self.action: Any = action
        self.outputs = tuple(TensorValue(s, self, i) for i, s in enumerate(specs))


Origin = Parameter | Literal | Captured | External | Seed | Node


class TensorValue:
    """A value of a recorded program: what is known of it, and where it comes from."""

    __slots__ = ("__weakref__", "index", "origin", "spec")

    def __init__(self, spec: Spec, origin: Origin, index: int = 0) -> None:
        self.spec = spec
        self.origin = origin
        self.index = index

    @property
    def is_mutable(self) -> bool:
        """Whether it is a parameter that the program may write to."""
        return isinstance(self.origin, Parameter) and self.origin.mutable

    @property
    def types(self) -> list[TensorType | BufferType]:
        """One type per shard, in mesh order."""
        kind = BufferType if self.is_mutable else TensorType
        mapping = self.spec.mapping
        shapes = mapping.local_shapes(Shape(self.spec.shape))
        return [
            kind(self.spec.dtype, shape, DeviceRef.from_device(device))
            for shape, device in zip(shapes, mapping.mesh.devices, strict=True)
        ]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec!r})"


@dataclass(frozen=True, slots=True)
class Region:
    """A graph as the static parameter of a node: a subgraph, a branch, a loop body.

    Attributes:
        graph: The recorded body. Compared by identity.
        bindings: Sizes of the body's symbols in terms of the enclosing graph's, as
            pairs; empty when the body uses the enclosing graph's own symbols.
    """

    graph: Graph
    bindings: tuple[tuple[str, int | Dim], ...] = ()


@dataclass(eq=False)
class Graph:
    """A recorded program.

    Args:
        name: Shown in the printed module.
        input_types: What will come in, one type per input and shard; empty leaves it
            to whoever records.

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
    """

    name: str
    input_types: Sequence[Type] = ()
    parameters: list[TensorValue] = field(default_factory=list["TensorValue"])
    captures: dict[int, TensorValue] = field(default_factory=dict[int, "TensorValue"])
    literals: dict[tuple[Any, ...], TensorValue] = field(
        default_factory=dict[tuple[Any, ...], "TensorValue"]
    )
    externals: dict[External, TensorValue] = field(
        default_factory=dict["External", "TensorValue"]
    )
    seed: TensorValue | None = None
    draws: int = 0
    nodes: list[Node] = field(default_factory=list["Node"])
    outputs: list[TensorValue] = field(default_factory=list["TensorValue"])
    writes: dict[int, TensorValue] = field(default_factory=dict[int, "TensorValue"])

    def add_parameter(self, spec: Spec, *, mutable: bool = False) -> TensorValue:
        """Adds a leaf that the caller passes."""
        value = TensorValue(spec, Parameter(len(self.parameters), mutable))
        self.parameters.append(value)
        return value

    def capture(self, array: jax.Array, spec: Spec) -> TensorValue:
        """Adds a realized array as a hidden input; the same array once."""
        if id(array) not in self.captures:
            self.captures[id(array)] = TensorValue(spec, Captured(array))
        return self.captures[id(array)]

    def literal(self, value: bool | int | float, spec: Spec) -> TensorValue:
        """Adds a number as a leaf; the same number in one dtype once."""
        key = (spec, exact(value))
        if key not in self.literals:
            self.literals[key] = TensorValue(spec, Literal(value))
        return self.literals[key]

    def add_external(self, external: External, spec: Spec) -> TensorValue:
        """Adds a named weight as a hidden input; the same name once.

        Raises:
            ValueError: The name was declared before with another layout.
        """
        value = self.externals.setdefault(external, TensorValue(spec, external))
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
            self.seed = TensorValue(spec, Seed())
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
        node = Node(op, params, inputs, specs, action)
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
    def results(self) -> list[TensorValue]:
        """Everything the program gives back: outputs, then written parameters."""
        return [*self.outputs, *(self.writes[i] for i in sorted(self.writes))]

    @property
    def inputs(self) -> list[TensorValue]:
        """One value per parameter and shard, in order."""
        return [
            value
            for value in self.parameters
            for _ in range(value.spec.mapping.mesh.num_devices)
        ]

    @property
    def output_types(self) -> list[TensorType | BufferType]:
        """One type per output and shard, in order."""
        return [kind for value in self.outputs for kind in value.types]

    def live_nodes(self, outputs: Sequence[TensorValue] | None = None) -> list[Node]:
        """Lists the nodes that outputs (or the graph's results) need, in order."""
        ends = self.results if outputs is None else outputs
        wanted = {id(value.origin) for value in ends}
        live: list[Node] = []
        for node in reversed(self.nodes):
            if id(node) in wanted:
                live.append(node)
                wanted.update(id(value.origin) for value in node.inputs)
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


def _compact(dim: int | Dim) -> int | Dim:
    return int(dim) if isinstance(dim, Dim) and not tuple(dim.parameters) else dim
