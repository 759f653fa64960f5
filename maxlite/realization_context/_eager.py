"""Contexts that compute what was recorded: at the end of a block, or when asked.

The results that are still alive are cut out of the graph and run as one executable,
which is found by the structure of the cut. The graph holds its sources as they were
when they were first used, so a later write to a tensor does not leak in.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast
from weakref import ref

from maxlite._fork import check_not_forked
from maxlite._unique import Unique
from maxlite.executor import (
    CompilingExecutor,
    InterpreterExecutor,
    default_executor,
)
from maxlite.executor._block import Block, Sizes, run_block
from maxlite.executor._compute import array_of
from maxlite.executor._policy import policy
from maxlite.graph._graph import Graph, sized
from maxlite.graph._node import (
    Captured,
    External,
    Node,
    Single,
    TensorValue,
    new_node,
    new_object,
    new_value,
)
from maxlite.lowering._numbers import leaf_number, own_number, step_of, steps
from maxlite.realization_context._graph import GraphRealizationContext
from maxlite.tensor._context import (
    RealizationContext,
    RealizationState,
    innermost,
    open_contexts,
    outside,
)
from maxlite.tensor._number import Number
from maxlite.tensor._tensor import Tensor, run_now, wrap_pending
from maxlite.tensor._watching import (
    held_list,
    tell_broke,
    tell_made,
    tell_ran,
    tell_used,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jax

    from maxlite._op_table import Op
    from maxlite.executor import Executor
    from maxlite.sharding import DeviceMapping, DeviceMesh

    Operand = Tensor | Number


class EagerRealizationContext(Unique):
    """Records ops and computes the live results when its block ends.

    ``with ctx, realization_context(ctx): ...`` opens it: the context is made current
    inside, and computes after it no longer is.

    Args:
        executor: What computes; the default executor, as it is now, when None.
        use_interpreter: Without an executor: whether to compute op by op, or not to;
            None leaves it to the default executor.

    Source: max.experimental.realization_context.EagerRealizationContext.

    >>> from maxlite.tensor import Tensor, realization_context
    >>> ctx = EagerRealizationContext()
    >>> with ctx, realization_context(ctx):
    ...     y = Tensor([1.0]) + 1
    ...     y.real
    False
    >>> y.real
    True
    """

    _instead = "Pickle the tensors, which computes them"

    signal_buffers: list[Any] | None = None
    """Always None: XLA synchronizes collectives by itself."""

    _is_one_op = False
    """Whether it was opened for one op, or one group, outside of any context."""

    def __init__(
        self, executor: Executor | None = None, *, use_interpreter: bool | None = None
    ) -> None:
        if executor is None and use_interpreter is not None:
            executor = InterpreterExecutor() if use_interpreter else CompilingExecutor()
        self.executor: Executor = default_executor() if executor is None else executor
        self.unrealized: list[ref[Tensor]] = [] if policy.is_plain else held_list()
        self._graph: Graph | None = None
        self._leaves: list[TensorValue] = []
        self._arrays: list[jax.Array | None] = []
        self._numbers: dict[Number, TensorValue] = {}
        self._sources: dict[int, tuple[Tensor, TensorValue]] = {}
        self._effects: list[int] = []
        self._lock = threading.RLock()

    # What was recorded ----------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        """What was recorded since the context last computed.

        Its outputs are the pending tensors that are alive. ``repr`` lists the ops, and
        ``str`` writes the StableHLO.
        """
        graph = self._recorded()
        graph.outputs = self._block()[1].outputs
        return graph

    def _recorded(self) -> Graph:
        if self._graph is None:
            self._graph = Graph("main")
        return self._graph

    @property
    def sources(self) -> dict[TensorValue, Tensor]:
        """The tensors that came in, by their value in the graph."""
        return {value: tensor for tensor, value in self._sources.values()}

    @property
    def source_values(self) -> dict[int, TensorValue]:
        """The values of what came in, by the identity of its array."""
        return {key: value for key, (_, value) in self._sources.items()}

    def ensure_signal_buffers(self, mesh: DeviceMesh) -> None:
        """Does nothing: XLA synchronizes collectives by itself."""

    def record(
        self, op: Op, operands: Sequence[Operand], params: tuple[Any, ...]
    ) -> Any:
        """Records the application of an op.

        Returns:
            A pending tensor, or a tuple when the row gives several.
        """
        # Recording is all that a small op in a block costs, so the usual cases are
        # written out and call nothing.
        values: Any
        if len(operands) == 2:
            x, y = operands
            a: Any = x._value if x._ctx is self else self._take(x)
            b: Any = y._value if y._ctx is self else self._take(y)
            values = (a, b)
            step = steps.get((op, params, a.number, b.number))
        elif len(operands) == 1:
            (x,) = operands
            a = x._value if x._ctx is self else self._take(x)
            values = (a,)
            step = steps.get((op, params, a.number))
        else:
            values = tuple(map(self.value_of, operands))
            step = steps.get((op, params, *[value.number for value in values]))
        if step is None or step.only is None:
            made = map(self._pending, self.append(op, params, values))
            results = tuple(made)
            return results[0] if len(results) == 1 else results
        node = new_object(Single)
        node.spec, node.number = step.only, step.number
        node.op, node.params, node.inputs, node.action = op, params, values, step.action
        (self._graph or self._recorded()).nodes.append(node)
        tensor = new_object(Tensor)
        tensor._spec, tensor._array = step.only, None
        tensor._value, tensor._ctx = node, self
        self.unrealized.append(ref(tensor))
        return tensor

    def append(
        self, op: Op, params: tuple[Any, ...], values: tuple[TensorValue, ...]
    ) -> tuple[TensorValue, ...]:
        """Records the application of an op to values of the graph."""
        for value in values:
            self._numbered(value)
        step = step_of(op, params, values)
        node = new_node(op, params, values, step.specs, step.action, step.number)
        nodes = self._recorded().nodes
        # With no call in between, so that no interrupt comes in between; see _numbered.
        nodes += [node]
        if step.has_effects:
            self._effects += [step.number]
        return node.outputs

    def value_of(self, operand: Operand) -> TensorValue:
        """Gives the value of an operand, computing it if it is pending elsewhere.

        Raises:
            TypeError: It belongs to a trace.
        """
        if operand._ctx is self:
            assert operand._value is not None
            return operand._value
        return self._take(operand)

    def _take(self, operand: Operand) -> TensorValue:
        """Gives the value of an operand that is not pending here."""
        if type(operand) is Number:
            found = self._numbers.get(operand)
            if found is None:
                found = self._recorded().literal(operand.value, operand._spec)
                self._numbers[operand] = self._numbered(found, operand._array)
            return found
        array: Any = operand._array
        if array is None:
            self._settle(operand)
            array = operand._array
        if not policy.is_plain:
            tell_used((cast("Tensor", operand),))
        known = self._sources.get(id(array))
        if known is not None:
            return known[1]
        value = new_value(operand._spec, Captured(array))
        (self._graph or self._recorded()).captures[id(array)] = value
        self._numbered(value, array)
        self._sources[id(array)] = (cast("Tensor", operand), value)
        return value

    def _numbered(
        self, value: TensorValue, array: jax.Array | None = None
    ) -> TensorValue:
        """Numbers a value that has no number yet.

        A leaf gets that of its position among the leaves; what was put into the graph
        by others gets one of its own.
        """
        if value.number:
            return value
        if isinstance(value.origin, Node):
            value.number = own_number()
            return value
        if array is None and not isinstance(value.origin, External):
            array = array_of(value)
        leaves, arrays = self._leaves, self._arrays
        number = leaf_number(len(leaves), value.spec)
        # An interrupt comes behind a call, and would leave one list longer than the
        # other, or a number without a position; so there are no calls from here on.
        leaves += [value]
        arrays += [array]
        value.number = number
        return value

    def _settle(self, tensor: Any) -> None:
        """Computes a tensor that is pending in another context.

        Raises:
            TypeError: The tensor belongs to a trace.
        """
        ctx: Any = tensor._ctx
        if isinstance(ctx, GraphRealizationContext):
            raise TypeError(
                f"lazy: a traced tensor of graph {ctx.graph.name!r} cannot be used in "
                "a block that computes values. Leave the block, the trace records by "
                "itself."
            )
        with outside():
            run_now(ctx.realize_all())
        tell_broke()

    def add_source(self, tensor: Tensor) -> RealizationState:
        """Makes a tensor available as a value of the graph.

        Raises:
            TypeError: The tensor is pending in another context.
        """
        if tensor._ctx is self:
            assert tensor._value is not None
            return RealizationState((tensor._value,), self)
        if tensor._ctx is not None:
            raise TypeError(
                "add_source: the tensor must be realized, got one that is pending in "
                "another context. Await it, or read a value first."
            )
        return RealizationState((self._take(tensor),), self)

    def add_mutable_source(self, tensor: Tensor) -> RealizationState:
        """Makes a tensor available that the block writes to."""
        return self.add_source(tensor)

    def write(self, tensor: Tensor, value: TensorValue) -> None:
        """Makes ``value`` the content of a tensor, once it is computed."""
        if tensor._ctx is not self:
            self.adopt(tensor)
        tensor._wait_for(value, self)

    def create_unrealized(
        self, values: Sequence[TensorValue], *, mapping: DeviceMapping | None = None
    ) -> Tensor:
        """Makes a pending tensor over a value of the graph; it is held weakly.

        Raises:
            ValueError: There is not exactly one value.
        """
        if len(values) != 1:
            raise ValueError(
                f"create_unrealized: values must be one value, got {len(values)}. A "
                "distributed tensor is one value, too."
            )
        return self._pending(values[0])

    def _pending(self, value: TensorValue) -> Tensor:
        made = wrap_pending(value, self)
        self.adopt(made)
        return made

    def adopt(self, tensor: Tensor) -> None:
        """Takes care of one more pending tensor, which is held weakly."""
        self.unrealized.append(ref(tensor))

    # Computing ------------------------------------------------------------------------

    def finalize_graph(self) -> tuple[list[Tensor], Graph]:
        """Says what would be computed now, without computing it.

        Returns:
            The pending tensors that are alive, and a graph of what they need: the
            tensors that came in are its inputs, these its outputs.

        Raises:
            TypeError: This context is the current one: its block is still open.
        """
        self._check_left()
        with self._lock:
            pending, block = self._block()
            return pending, block.finished()[0]

    async def realize_all(self) -> list[Tensor]:
        """Computes every pending tensor that is still alive, in one executable.

        After a failure everything stays pending and can be tried again.

        Raises:
            TypeError: This context is the current one: its block is still open.
        """
        return self.compute()

    def compute(self, *, last: bool = False) -> list[Tensor]:
        """Computes as :meth:`realize_all` does, from synchronous code.

        Args:
            last: Whether nobody has the context who could use it again.
        """
        check_not_forked()  # whoever held the lock may be missing in this process
        if innermost() is not None:
            self._check_left()
        with self._lock:
            pending, block = self._block()
            if pending or block.effects:
                arrays, sizes = self._run(block)
                for tensor, array in zip(pending, arrays, strict=True):
                    if not tensor._spec.is_static:
                        tensor._spec = sized(tensor._spec, sizes)
                    tensor._array, tensor._value, tensor._ctx = array, None, None
                if not policy.is_plain:
                    self._tell(pending)
            if not last:
                self._forget()
        return pending

    def _tell(self, computed: Sequence[Tensor]) -> None:
        """Tells who watches that something was computed."""
        if self._is_one_op:
            tell_ran()
        else:
            tell_made(computed, self.unrealized)

    def _run(self, block: Block) -> tuple[Sequence[jax.Array], Sizes]:
        try:
            if innermost() is None:
                return run_block(self.executor, block)
            with outside():
                return run_block(self.executor, block)
        except Exception as error:
            story = block.story()
            if story not in getattr(error, "__notes__", ()):  # it may be raised again
                error.add_note(story)
            raise

    def _check_left(self) -> None:
        if any(ctx is self for ctx in open_contexts()):
            raise TypeError(
                "realize: the block that records this tensor is still open. Leave the "
                "block before reading a value; in F.functional choose by F.where or "
                "F.cond."
            )

    def _block(self) -> tuple[list[Tensor], Block]:
        """Lists the pending tensors that are alive, and says what they need."""
        pending: list[Tensor] = []
        outputs: list[TensorValue] = []
        for held in self.unrealized:
            tensor = held()
            if tensor is not None and tensor._ctx is self:
                pending.append(tensor)
                value = cast("TensorValue", tensor._value)
                outputs.append(value if value.number else self._numbered(value))
        return pending, Block(
            self._recorded(), self._leaves, self._arrays, outputs, self._effects
        )

    def _forget(self) -> None:
        """Starts afresh: what was recorded is computed."""
        self._graph = None
        self.unrealized = [] if policy.is_plain else held_list()
        self._leaves, self._arrays, self._numbers = [], [], {}
        self._sources, self._effects = {}, []

    def __enter__(self) -> EagerRealizationContext:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        if kind is None:
            run_now(self.realize_all())


def value_in(ctx: RealizationContext, operand: Operand) -> TensorValue:
    """Gives the value of an operand in any context."""
    if isinstance(ctx, EagerRealizationContext):
        return ctx.value_of(operand)
    if isinstance(operand, Number):
        return ctx.graph.literal(operand.value, operand._spec)
    return ctx.add_source(operand).values[0]


class LazyRealizationContext(EagerRealizationContext):
    """Records ops and computes results only when a value is asked for.

    Source: max.experimental.realization_context.LazyRealizationContext.
    """

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        return None
