"""Functions of tensors on values of a graph, and what a graph built by hand needs.

A value of a graph and a pending tensor are two views of one thing: the tensor says in
addition which context will compute it. So a function on values is the function on
tensors between two changes of view, and nothing is written twice.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from maxlite._op_table import front, fronts
from maxlite.graph import BufferType, TensorType
from maxlite.graph._building import BufferValue
from maxlite.graph._node import (
    Captured,
    External,
    Literal,
    Node,
    Parameter,
    TensorValue,
    exact,
)
from maxlite.graph._shape import compact_shape
from maxlite.graph._spec import spec
from maxlite.lowering import stablehlo_text
from maxlite.realization_context import GraphRealizationContext
from maxlite.realization_context._eager import value_in
from maxlite.tensor._context import (
    innermost,
    open_contexts,
    realization_context,
)
from maxlite.tensor._defaults import on_device
from maxlite.tensor._tensor import Tensor, wrap_pending

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from maxlite.graph import Graph
    from maxlite.tensor._context import RealizationContext


# Between values and tensors -----------------------------------------------------------


@front
def on_values(function: str | Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function of tensors with values of the open graph.

    Args:
        function: The function, or the name of a front.
        *args: Values may stand in lists, tuples, dicts and slices; tensors do as well.
        **kwargs: The same by name.

    Returns:
        The result, with a value in place of each tensor.

    Raises:
        LookupError: No graph is open.
        TypeError: A value is of another graph.
    """
    current_graph()
    called = fronts[function] if isinstance(function, str) else function
    return as_values(called(*as_tensors(args), **as_tensors(kwargs)))


def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes the function on values of a function on tensors."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return on_values(function, *args, **kwargs)

    return call


def as_tensors(tree: Any) -> Any:
    """Puts a tensor in place of each value.

    A function on values becomes one on tensors: a branch, or the body of a loop.
    """
    if not isinstance(tree, type) and callable(tree):
        function: Callable[..., Any] = tree

        def call(*args: Any) -> Any:
            return as_tensors(function(*as_values(args)))

        return call
    return _mapped(tree, TensorValue, _tensor_of, as_tensors)


def with_tensors(tree: Any) -> Any:
    """Puts a tensor that the context takes care of in place of each value."""
    return _mapped(tree, TensorValue, _lasting_tensor, with_tensors)


def as_values(tree: Any) -> Any:
    """Puts a value of the open graph in place of each tensor."""
    return _mapped(tree, Tensor, _value_of, as_values)


@front
def graph_value(tensor: TensorValue | Tensor) -> TensorValue:
    """Gives the value of a tensor in the open graph; a value is itself.

    Raises:
        LookupError: No graph is open.
        TypeError: ``tensor`` is something else.
    """
    if isinstance(tensor, TensorValue):
        return tensor
    if not isinstance(cast("object", tensor), Tensor):
        raise TypeError(
            "TensorValue: value must be a TensorValue or a Tensor, got "
            f"{type(tensor).__name__}. Use ops.constant for numbers."
        )
    current_graph()
    return _value_of(tensor)


def _mapped(
    x: Any, kind: type, change: Callable[[Any], Any], visit: Callable[[Any], Any]
) -> Any:
    """Changes what is of a kind, and visits what containers hold."""
    if isinstance(x, kind):
        return change(x)
    if type(x) in (list, tuple):
        return type(x)(map(visit, x))
    if type(x) is dict:
        items = cast("dict[Any, Any]", x).items()
        return {key: visit(value) for key, value in items}
    if isinstance(x, slice):
        return slice(visit(x.start), visit(x.stop), visit(x.step))
    if isinstance(x, Iterator):
        return [visit(item) for item in cast("Iterator[Any]", x)]
    return x


def _tensor_of(value: TensorValue) -> Tensor:
    # Not taken care of by the context: it lives for one call.
    return wrap_pending(value, owner(value))


def _lasting_tensor(value: TensorValue) -> Tensor:
    return owner(value).create_unrealized((value,))


def _value_of(tensor: Tensor) -> TensorValue:
    ctx = innermost()
    assert ctx is not None
    return value_in(ctx, tensor)


def owner(value: TensorValue | BufferValue) -> RealizationContext:
    """Finds the open context that a value is of: the current one, or one around it.

    Raises:
        TypeError: There is none.
    """
    for ctx in open_contexts():
        if isinstance(value, BufferValue):
            if ctx.graph is value.graph:
                return ctx
        elif _owns(ctx.graph, value):
            return ctx
    raise TypeError(
        f"graph: a value must be one of the graph that is open, got {value!r}. Open "
        "its graph with a with-statement, and pass it as an input to others."
    )


def _owns(graph: Graph, value: TensorValue) -> bool:
    origin = value.origin
    match origin:
        case Node():
            return any(node is origin for node in reversed(graph.nodes))
        case Parameter(index):
            held = graph.parameters[index : index + 1]
            return bool(held) and held[0] is value
        case Literal(number):
            return graph.literals.get((value.spec, exact(number))) is value
        case Captured(array):
            return graph.captures.get(id(array)) is value
        case External():
            return graph.externals.get(origin) is value
        case _:
            return graph.seed is value


# Graphs that are built by hand --------------------------------------------------------


@front
def current_graph() -> Graph:
    """Gives the graph that is open.

    Raises:
        LookupError: There is none.
    """
    ctx = innermost()
    if ctx is None:
        raise LookupError(
            "graph: no graph is open. Open one with a with-statement: with Graph(...) "
            "as graph."
        )
    return ctx.graph


@front
@contextmanager
def open_graph(graph: Graph) -> Generator[None]:
    """Makes a graph the one that is open, for a with-block."""
    if graph.context is None:
        graph.context = GraphRealizationContext(graph)
    with realization_context(graph.context):
        yield


@front
def declare_inputs(graph: Graph) -> None:
    """Adds a parameter for each declared type.

    Raises:
        TypeError: Something else was declared.
    """
    for kind in graph.input_types:
        if not isinstance(kind, (TensorType, BufferType)):
            raise TypeError(
                "Graph: input_types must be TensorTypes or BufferTypes, got "
                f"{type(kind).__name__}. Use tensor.type."
            )
        mapping = on_device(kind.device.to_device())
        described = spec(kind.dtype, compact_shape(kind.shape), mapping)
        graph.add_parameter(described, mutable=isinstance(kind, BufferType))


@front
def set_outputs(graph: Graph, outputs: tuple[Any, ...]) -> None:
    """Says what a graph gives. See ``Graph.output``."""
    if graph.is_built:
        raise ValueError(
            f"{graph.name}: output must be called once, and was called before. Pass "
            "all outputs in one call."
        )
    graph.outputs = [_output(graph, x) for x in outputs]
    graph.is_built = True


def _output(graph: Graph, x: Any) -> TensorValue:
    if isinstance(x, BufferValue) and x.graph is graph:
        return x.content
    if isinstance(x, TensorValue) and _owns(graph, x):
        return x
    if isinstance(x, Tensor):
        state = x._state
        if state is None:
            return graph.capture(x._stored(), x._spec)
        if state.ctx.graph is graph:
            return state.value
    raise TypeError(
        f"{graph.name}: an output must be a value or a tensor of this graph, got "
        f"{x!r}. Compute it while the graph is open."
    )


@front
def graph_text(graph: Graph) -> str:
    """Writes a graph as StableHLO."""
    inputs = [f"input{i}" for i, _ in enumerate(graph.parameters)]
    outputs = [f"output{i}" for i, _ in enumerate(graph.outputs)]
    return stablehlo_text(graph, inputs, outputs)


@front
def store_value(buffer: BufferValue, value: Any, index: Any = ...) -> None:
    """Writes to a buffer of the open graph, or to a part of it.

    Raises:
        TypeError: ``buffer`` is no buffer, or ``value`` no value or tensor.
        ValueError: ``value`` has another dtype or shape.
    """
    if not isinstance(cast("object", buffer), BufferValue):
        raise TypeError(
            f"buffer_store: destination must be a BufferValue, got {buffer!r}. Declare "
            "the input by BufferType."
        )
    target = buffer_tensor(buffer)
    if isinstance(index, list):
        index = tuple(cast("list[Any]", index))
    fronts["buffer_store_slice"](target, as_tensors(value), as_tensors(index))


def buffer_tensor(buffer: BufferValue) -> Tensor:
    """Gives the tensor of a buffer of the open graph: written when it is written to.

    Raises:
        TypeError: The buffer is of another graph.
    """
    ctx = owner(buffer)
    assert isinstance(ctx, GraphRealizationContext)
    return ctx.buffer(buffer.index)
