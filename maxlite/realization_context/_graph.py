"""The context of a trace: ops become nodes of a program, and nothing runs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from maxlite._unique import Unique
from maxlite.graph._node import External, Parameter
from maxlite.tensor._context import RealizationState, outside
from maxlite.tensor._tensor import Tensor, run_now, wrap_pending
from maxlite.tensor._watching import tell_broke

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    import jax

    from maxlite.graph._graph import Graph
    from maxlite.graph._node import TensorValue
    from maxlite.graph._spec import Spec
    from maxlite.sharding import DeviceMapping


class GraphRealizationContext(Unique):
    """Records into a graph that somebody else compiles.

    Real tensors become hidden inputs with the value they have now; results are never
    real while the trace lasts.

    Args:
        graph: Where ops are recorded.
        signal_buffers: Accepted for the reference's sake; XLA synchronizes by itself.
        prefix: What stands in front of the names of placeholder weights.

    Source: max.experimental.realization_context.GraphRealizationContext.
    """

    def __init__(
        self,
        graph: Graph,
        signal_buffers: list[Any] | None = None,
        prefix: str = "",
    ) -> None:
        self.graph = graph
        self.signal_buffers = signal_buffers
        self.prefix = prefix
        self.is_subgraph = False
        self.is_finished = False
        self.subgraph_cache: dict[Any, Any] | None = None
        self._inner_prefix = ""
        self._mutable: dict[int, tuple[Tensor, int]] = {}

    def add_parameter(self, spec: Spec, *, mutable: bool = False) -> Tensor:
        """Adds an input of the graph and gives it as a traced tensor."""
        value = self.graph.add_parameter(spec, mutable=mutable)
        tensor = self.create_unrealized((value,))
        if mutable:
            assert isinstance(value.origin, Parameter)
            self._mutable[id(tensor)] = (tensor, value.origin.index)
        return tensor

    def buffer(self, index: int) -> Tensor:
        """Gives the tensor of an input that may be written to, as it is by now."""
        held = (tensor for tensor, i in self._mutable.values() if i == index)
        value = self.graph.writes.get(index, self.graph.parameters[index])
        tensor = next(held, None)
        if tensor is None:
            tensor = self.create_unrealized((value,))
        tensor._wait_for(value, self)
        self._mutable[id(tensor)] = (tensor, index)
        return tensor

    def declare_weight(
        self, name: str, spec: Spec, *, placeholder: bool = False
    ) -> TensorValue:
        """Declares a named weight of the graph.

        In a subgraph, the name of a placeholder stays open at the front until the
        subgraph is called; in a trace of its own the prefix is known.
        """
        if placeholder:
            name = self._inner_prefix + name
        if placeholder and not self.is_subgraph:
            name, placeholder = self.prefix + name, False
        return self.graph.add_external(External(name, placeholder), spec)

    @contextmanager
    def prefixed(self, prefix: str) -> Generator[None]:
        """Puts a prefix in front of placeholder weights, for a with-block."""
        before = self._inner_prefix
        self._inner_prefix = before + prefix
        try:
            yield
        finally:
            self._inner_prefix = before

    def add_source(self, tensor: Tensor) -> RealizationState:
        """Makes a tensor from outside available: its value now is a constant.

        Raises:
            TypeError: The tensor belongs to another trace.
        """
        state = tensor._state
        if state is not None and state.ctx is self:
            return state
        self._settle(tensor)
        value = self.capture(tensor._stored(), tensor._spec)
        return RealizationState((value,), self)

    def _settle(self, tensor: Tensor) -> None:
        """Computes a tensor that is pending in a block which this trace is not in."""
        state = tensor._state
        if state is not None and isinstance(state.ctx, GraphRealizationContext):
            raise TypeError(
                f"{self.graph.name}: a traced tensor of graph "
                f"{state.ctx.graph.name!r} cannot be used here, got {tensor._spec!r}. "
                "Pass it as an argument instead of closing over it."
            )
        if state is not None:
            with outside():
                run_now(state.ctx.realize_all())
            tell_broke()

    def capture(self, array: jax.Array, spec: Spec) -> TensorValue:
        """Makes a realized array from outside available."""
        return self.graph.capture(array, spec)

    def add_mutable_source(self, tensor: Tensor) -> RealizationState:
        """Makes a tensor available for writing: only values of this trace are.

        Raises:
            TypeError: An argument that was not staged by BufferLayout, or a tensor
                from outside of the trace.
        """
        state = tensor._state
        if state is None or state.ctx is not self:
            raise TypeError(
                f"{self.graph.name}: a tensor from outside of the graph cannot be "
                f"written to, got {tensor._spec!r}. Pass it as an argument that is "
                "staged by BufferLayout."
            )
        origin = state.value.origin
        if isinstance(origin, Parameter) and not origin.mutable:
            raise TypeError(
                f"{self.graph.name}: argument {origin.index} is staged by "
                "TensorLayout and cannot be written to. Stage it by BufferLayout "
                "(layout.as_buffer())."
            )
        return state

    def write(self, tensor: Tensor, value: TensorValue) -> None:
        """Makes ``value`` the content of a tensor that may be written to."""
        tensor._wait_for(value, self)
        if id(tensor) in self._mutable:
            self.graph.writes[self._mutable[id(tensor)][1]] = value

    def create_unrealized(
        self, values: Sequence[TensorValue], *, mapping: DeviceMapping | None = None
    ) -> Tensor:
        """Makes a traced tensor over a value of the graph."""
        return wrap_pending(values[0], self)

    def adopt(self, tensor: Tensor) -> None:
        """Does nothing: a trace keeps no list of its tensors."""

    async def realize_all(self) -> NoReturn:
        """Refuses: a trace has no values.

        Raises:
            TypeError: Always.
        """
        if self.is_finished:
            raise TypeError(
                f"{self.graph.name}: a tensor of this graph was used after its trace "
                "was finished, where it has no value. Return it from the function."
            )
        raise TypeError(
            f"{self.graph.name}: a value was read while the graph is traced, where "
            "there are no values. Return the tensor and read it from the result, or "
            "choose between values with F.where."
        )

    def __enter__(self) -> GraphRealizationContext:
        return self

    def __exit__(self, *exc: object) -> None:
        self.is_finished = True
