"""Recording the bodies of a node that holds graphs: branches, loops, local functions.

The bodies of one node are recorded side by side, each once and in a context of its own.
What a body uses from around it becomes a parameter of all of them and an operand of the
node, whether it is a real tensor, a pending one of the enclosing block, or a weight. So
a body holds no values: equal bodies are one graph, and a node is an op like any other
to the context that it is recorded in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxlite.graph._graph import Graph
from maxlite.graph._interning import interned
from maxlite.graph._node import Parameter
from maxlite.realization_context._eager import value_in
from maxlite.realization_context._graph import GraphRealizationContext
from maxlite.sharding import ShardingError
from maxlite.tensor._context import (
    RealizationState,
    innermost,
    open_contexts,
    realization_context,
)
from maxlite.tensor._tensor import Tensor, wrap, wrap_pending

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import jax

    from maxlite.graph._node import Region, TensorValue
    from maxlite.graph._spec import Spec
    from maxlite.tensor._context import RealizationContext


def settle(tensor: Tensor) -> None:
    """Computes an operand that is pending elsewhere: its sizes may not be known yet."""
    ctx = innermost()
    if ctx is not None:
        value_in(ctx, tensor)
    elif not tensor._spec.is_static:
        tensor._stored()


class Bodies:
    """The bodies of one node, with what they take from around.

    Args:
        who: The function that makes the node, for errors.
        specs: Parameters that each body has.
        on_one_device: Whether they run on a device by itself, so that they can use
            nothing that is distributed.

    Attributes:
        outer: Where the node itself will be recorded; None when it runs at once.
        taken: What comes from around, in order: further operands of the node.
    """

    def __init__(
        self, who: str, specs: Sequence[Spec], *, on_one_device: bool = False
    ) -> None:
        self.who = who
        self.outer: RealizationContext | None = innermost()
        self.taken: list[Tensor] = []
        self._on_one_device = on_one_device
        self._specs = specs
        self._positions: dict[int, int] = {}
        self._held: list[object] = []
        self._contexts: list[BodyContext] = []

    def record(self, name: str, fn: Callable[..., Sequence[Tensor]]) -> list[Spec]:
        """Records one more body.

        Args:
            name: What its private function is called.
            fn: From one tensor per parameter to the results.

        Returns:
            What each result is.

        Raises:
            NotImplementedError: A size in it is known at run time only.
        """
        ctx = BodyContext(name, self)
        graph = ctx.graph
        self._contexts.append(ctx)
        arguments = [ctx.add_parameter(spec) for spec in self._specs]
        for tensor in self.taken:
            graph.add_parameter(tensor._spec)
        with realization_context(ctx), ctx:
            results = fn(*arguments)
            graph.outputs = [ctx.add_source(result).value for result in results]
        for value in (value for node in graph.nodes for value in node.outputs):
            self._check_place(value.spec)
        if graph.is_measured:
            raise NotImplementedError(
                f"{self.who}: a size that is known at run time only (nonzero, a mask) "
                "cannot arise inside a body, where a program cannot be cut. Compute it "
                "before, or use F.where."
            )
        return [value.spec for value in graph.outputs]

    def regions(self) -> list[Region]:
        """Gives the bodies in the order of recording; no more may be taken after."""
        return [interned(ctx.graph) for ctx in self._contexts]

    @property
    def graphs(self) -> list[Graph]:
        """The recorded graphs."""
        return [ctx.graph for ctx in self._contexts]

    def _check_place(self, spec: Spec) -> None:
        if self._on_one_device and spec.is_distributed:
            raise ShardingError(
                f"{self.who}: a function that runs on each device cannot use or make "
                f"a distributed tensor, got {spec!r}. Pass it as an argument, of which "
                "each device gets its shard."
            )

    def take(self, tensor: Tensor) -> int:
        """Makes a tensor from around a parameter of every body; the same value once.

        Returns:
            Its position among the parameters.
        """
        self._check_place(tensor._spec)
        state = tensor._state
        held: object = tensor._stored() if state is None else state.value
        if id(held) not in self._positions:
            # A box of its own: the tensor may be written to before the node is made.
            if state is None:
                taken = wrap(tensor._spec, tensor._stored())
            else:
                taken = wrap_pending(state.value, state.ctx)
            self._positions[id(held)] = len(self._specs) + len(self.taken)
            self._held.append(held)
            self.taken.append(taken)
            for ctx in self._contexts:
                ctx.graph.add_parameter(taken._spec)
        return self._positions[id(held)]


class BodyContext(GraphRealizationContext):
    """The context of a body: what comes from around it becomes a parameter."""

    def __init__(self, name: str, bodies: Bodies) -> None:
        super().__init__(Graph(name))
        self.outer = bodies.outer
        self._bodies = bodies
        if isinstance(self.outer, GraphRealizationContext):
            self.prefix = self.outer.prefix
            self.is_subgraph = self.outer.is_subgraph
            self.subgraph_cache = self.outer.subgraph_cache

    def add_source(self, tensor: Tensor) -> RealizationState:
        """Makes a tensor from around the body available.

        Raises:
            TypeError: The tensor belongs to a trace that is not around this body.
        """
        state = tensor._state
        if state is not None and state.ctx is self:
            return state
        if state is not None and state.ctx not in open_contexts():
            self._settle(tensor)
        return self._taken(tensor)

    def capture(self, array: jax.Array, spec: Spec) -> TensorValue:
        """Makes a realized array from outside available."""
        return self._taken(wrap(spec, array)).value

    def declare_weight(
        self, name: str, spec: Spec, *, placeholder: bool = False
    ) -> TensorValue:
        """Declares a named weight of the program around the body.

        Raises:
            RuntimeError: Nothing around is traced.
        """
        if not isinstance(self.outer, GraphRealizationContext):
            raise RuntimeError(
                f"constant_external: weight {name!r} can only be declared while a "
                f"function is staged, got a body of {self._bodies.who} that runs at "
                "once. Stage the function around it."
            )
        if placeholder:
            name = self._inner_prefix + name
        value = self.outer.declare_weight(name, spec, placeholder=placeholder)
        declared = wrap_pending(value, self.outer)
        return self._taken(declared).value

    def add_mutable_source(self, tensor: Tensor) -> RealizationState:
        """Makes a tensor available for writing: only what the body computed is.

        Raises:
            TypeError: The tensor is from around the body, or an argument of it.
        """
        state = tensor._state
        is_own = state is not None and state.ctx is self
        if state is None or not is_own or isinstance(state.value.origin, Parameter):
            raise TypeError(
                f"{self._bodies.who}: a body cannot write to "
                f"{'its argument' if is_own else 'a tensor from outside of it'}, got "
                f"{tensor._spec!r}. Write to a copy (x + 0), and return it."
            )
        return state

    def _taken(self, tensor: Tensor) -> RealizationState:
        index = self._bodies.take(tensor)
        return RealizationState((self.graph.parameters[index],), self)
