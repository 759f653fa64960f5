"""Values and nodes of a recorded program: what graphs are made of.

A value is a leaf, or a result of a node. Leaves are of five kinds, one class each,
because they travel differently: parameters come with the call, literals are written
into the program, captured arrays, external weights and the seed are hidden inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from maxlite._op_table import fronts
from maxlite.graph._dim import Dim
from maxlite.graph._shape import Shape, symbols_of
from maxlite.graph._type import BufferType, DeviceRef, TensorType
from maxlite.graph._value_operators import ValueOperators

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jax

    from maxlite._op_table import Op
    from maxlite.graph._graph import Graph
    from maxlite.graph._spec import Spec


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


@dataclass(slots=True, eq=False)  # frozen would take three times as long to make
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
    """One recorded application of an op; made by :func:`new_node`, in one of two forms.

    Attributes:
        op: The row of the op table.
        params: Values of the row's static parameters.
        inputs: Operands.
        outputs: Results, in order.
        action: Placements the operands are moved to and the results have, one choice
            for the whole node; None when nothing is distributed.
    """

    __slots__ = ()

    op: Op
    params: tuple[Any, ...]
    inputs: tuple[TensorValue, ...]
    action: Any

    @property
    def outputs(self) -> tuple[TensorValue, ...]:
        """Results, in order."""
        raise NotImplementedError

    @property
    def measure(self) -> tuple[int | Dim, TensorValue] | None:
        """A size that is known at run time only, and the value that tells it."""
        if self.op.measured is None:
            return None
        return self.op.keywords(self.params)[self.op.measured], self.inputs[-1]

    @property
    def names_a_size(self) -> bool:
        """Whether sizes of its results may have names that its operands have not."""
        return self.op.measured is not None or self.op.name == "rebind"

    @property
    def symbols(self) -> list[str]:
        """Names of the sizes that it has to do with, in its graphs inside as well."""
        dims: list[int | Dim] = [d for v in self.outputs for d in v.spec.shape]
        waiting = list(self.params)
        while waiting:
            param = waiting.pop()
            if isinstance(param, Dim):
                dims.append(param)
            elif isinstance(param, tuple):
                waiting.extend(cast("tuple[Any, ...]", param))
            elif isinstance(param, Region):
                waiting.extend(dim for _, dim in param.bindings)
                if not param.bindings:
                    waiting.extend(map(Dim, _all_symbols(param.graph)))
        return symbols_of(dims)

    @property
    def has_effects(self) -> bool:
        """Whether it acts on the world outside, itself or in a graph inside."""
        return has_effects(self.op, self.params)


def _all_symbols(graph: Graph) -> list[str]:
    return [name for node in graph.nodes for name in node.symbols]


def has_effects(op: Op, params: tuple[Any, ...]) -> bool:
    """Whether an application of an op acts on the world outside of the program."""
    return op.effects or (
        op.rule is None
        and any(isinstance(p, Region) and p.graph.has_effects for p in params)
    )


Origin = Parameter | Literal | Captured | External | Seed | Node


class TensorValue(ValueOperators):
    """A value of a recorded program: what is known of it, and where it comes from.

    Args:
        value: A value, which is given back, or a tensor of the open graph.

    Raises:
        LookupError: ``value`` is a tensor, and no graph is open.
        TypeError: ``value`` is something else.

    Source: max.graph.TensorValue.
    """

    __slots__ = ("__weakref__", "_origin", "index", "number", "spec")

    _origin: Origin
    index: int
    number: int
    """The same for values that are computed in the same way; 0 where none is kept."""

    def __new__(cls, value: Any) -> TensorValue:
        """Gives a tensor's value; see :func:`new_value` for new ones."""
        return fronts["graph_value"](value)

    @property
    def origin(self) -> Origin:
        """Where it comes from: a leaf, or the node that computes it."""
        return self._origin

    @property
    def tensor(self) -> TensorValue:
        """This value."""
        return self

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


new_object: Any = object.__new__
"""Makes an object without calling its class, which hot paths need."""


def new_value(
    spec: Spec, origin: Origin, index: int = 0, number: int = 0
) -> TensorValue:
    """Makes a value of a graph."""
    made = new_object(TensorValue)
    made.spec, made._origin, made.index, made.number = spec, origin, index, number
    return made


class Single(TensorValue, Node):
    """A node of one result, which it is itself: nine in ten of all.

    So there is one object to make, and no circle of references to clean up.
    """

    __slots__ = ("action", "inputs", "op", "params")

    index = 0

    @property
    def origin(self) -> Origin:
        """Itself, since it computes itself."""
        return self

    @property
    def outputs(self) -> tuple[TensorValue, ...]:
        """Itself."""
        return (self,)


class _Several(Node):
    """A node of several results, or of none."""

    __slots__ = ("_outputs", "action", "inputs", "op", "params")

    _outputs: tuple[TensorValue, ...]

    @property
    def outputs(self) -> tuple[TensorValue, ...]:
        """Results, in order."""
        return self._outputs


def new_node(
    op: Op,
    params: tuple[Any, ...],
    inputs: tuple[TensorValue, ...],
    specs: Sequence[Spec],
    action: object = None,
    number: int = 0,
) -> Node:
    """Makes a node and its results.

    Args:
        op: The row.
        params: Values of its static parameters.
        inputs: Operands.
        specs: One per result.
        action: Where everything lies.
        number: What is written as the number of the first result; see ``_numbers.py``.
    """
    made: Any
    if len(specs) == 1:
        made = new_object(Single)
        made.spec, made.number = specs[0], number
    else:
        made = new_object(_Several)
        made._outputs = tuple(
            new_value(spec, made, i, number + i) for i, spec in enumerate(specs)
        )
    made.op, made.params, made.inputs, made.action = op, params, inputs, action
    return made


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
