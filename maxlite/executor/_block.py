"""A block that is to be computed: what contexts hand to executors.

Our own executors work on the arrays as they are stored. One of the user's gets a graph
with parameters, and buffers, one per device.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from maxlite._backend import lend, place
from maxlite.driver import Buffer
from maxlite.executor._compute import array_of, compute
from maxlite.graph._dim import Dim
from maxlite.graph._graph import sized
from maxlite.graph._node import Literal
from maxlite.lowering._cut import cut
from maxlite.lowering._numbers import line_of
from maxlite.lowering._rebind import check_size, solve_sizes
from maxlite.lowering._shards import join_arrays, split_array
from maxlite.support import contextvar_context

if TYPE_CHECKING:
    import jax

    from maxlite.executor._protocol import Executor
    from maxlite.graph._graph import Graph
    from maxlite.graph._node import TensorValue
    from maxlite.graph._spec import Spec

Sizes = Mapping[str, int]
NO_SIZES: Sizes = MappingProxyType({})

MOST_LINES = 10
"""Ops that the note of an error names."""


@dataclass(slots=True, eq=False)  # frozen would take three times as long to make
class Block:
    """What was recorded, and what is wanted of it.

    Attributes:
        graph: Everything recorded.
        leaves: What came in, in the order of first use; the values are numbered so.
        arrays: Their arrays; None for a leaf without one.
        outputs: What is wanted.
        effects: Numbers of the nodes that act on the world outside.
    """

    graph: Graph
    leaves: Sequence[TensorValue]
    arrays: Sequence[jax.Array | None]
    outputs: list[TensorValue]
    effects: Sequence[int]

    def story(self) -> str:
        """Tells which ops are computed, and the lines where they were first met."""
        nodes = self.graph.live_nodes(self.outputs)
        lines = [
            f"  {node.op.name} ({line_of(node.outputs[0])})"
            for node in nodes
            if node.outputs
        ]
        left = len(lines) - MOST_LINES
        shown = lines[-MOST_LINES:]
        return "\n".join(
            [
                f"{self.graph.name}: a block of {len(nodes)} ops failed, and its "
                "tensors are still pending. Its ops, and where such were first met:",
                *([f"  ... {left} others before"] if left > 0 else []),
                *shown,
            ]
        )

    def finished(self) -> tuple[Graph, list[TensorValue]]:
        """Cuts out what is wanted.

        Returns:
            A graph with a parameter for each leaf that is no number, and these leaves.
        """
        program = cut(self.graph, self.outputs)
        leaves = [v for v in program.leaves if not isinstance(v.origin, Literal)]
        return program.as_graph(self.graph.name, keep_numbers=True), leaves


def run_block(executor: Executor, block: Block) -> tuple[Sequence[jax.Array], Sizes]:
    """Has any executor compute a block.

    Returns:
        Stored arrays in the order of the outputs, and what symbols stand for.

    Raises:
        AttributeError: The executor is none.
        TypeError: It gave something else than a list of buffers.
        ValueError: It gave too few or too many, or one that is not what the graph says.
    """
    if isinstance(executor, ArrayExecutor) and executor.takes_arrays:
        return executor.run(block)
    if any(other is executor for other in _asked.get()):
        # An op of its own execute, which would ask it for ever.
        return compute(block.graph, block.outputs)
    with contextvar_context(_asked, (*_asked.get(), executor)):
        return _ask(executor, block)


_asked: ContextVar[tuple[Executor, ...]] = ContextVar("maxlite_executors", default=())
"""Executors of a user's that are running."""


def _ask(executor: Executor, block: Block) -> tuple[Sequence[jax.Array], Sizes]:
    """Has an executor of a user's compute a block."""
    if isinstance(executor, type) or not hasattr(executor, "execute"):
        raise AttributeError(
            "executor: must be an object with a method execute(graph, inputs), got "
            f"{executor!r}. Pass InterpreterExecutor(), for example."
        )
    graph, leaves = block.finished()
    inputs = [b for v in leaves for b in buffers_of(array_of(v), v.spec)]
    who, buffers = type(executor).__name__, executor.execute(graph, inputs)
    if not isinstance(cast("object", buffers), Iterable):
        raise TypeError(
            f"{who}: execute must return a list of Buffers, got "
            f"{type(buffers).__name__}. Return one per output of the graph."
        )
    return arrays_of(who, graph.outputs, list(buffers))


class ArrayExecutor:
    """What our executors share: they run blocks on arrays, without any buffers.

    One of the user's that extends ``execute`` is asked through it, like any other.
    """

    takes_arrays = True

    def __init_subclass__(cls) -> None:
        cls.takes_arrays = cls.execute is ArrayExecutor.execute

    def run(self, block: Block) -> tuple[Sequence[jax.Array], Sizes]:
        """Computes a block: stored arrays, and what symbols stand for."""
        raise NotImplementedError

    def execute(self, graph: Graph, inputs: Sequence[Buffer]) -> list[Buffer]:
        """Runs a graph; see :class:`Executor`.

        Raises:
            ValueError: There is not one buffer per input, or one does not fit.
        """
        arrays, sizes = arrays_of("execute", graph.parameters, inputs, what="input")
        results, sizes = self.run_graph(graph, arrays, sizes)
        return [
            buffer
            for value, array in zip(graph.results, results, strict=True)
            for buffer in buffers_of(array, sized(value.spec, sizes))
        ]

    def run_graph(
        self, graph: Graph, arrays: Sequence[jax.Array], sizes: Sizes
    ) -> tuple[Sequence[jax.Array], Sizes]:
        """Computes the results of a graph from stored arrays of its parameters."""
        raise NotImplementedError


def buffers_of(array: jax.Array, described: Spec) -> list[Buffer]:
    """Makes one buffer per device of a stored array; the memory is shared."""
    mapping = described.mapping
    hidden = len(mapping.hidden_sizes)
    shape = described.shape if described.is_static else array.shape[hidden:]
    shards = split_array(array, mapping, shape)
    devices = [device.to_jax() for device in mapping.mesh.devices]
    placed = [place(shard, to) for shard, to in zip(shards, devices, strict=True)]
    lend(*placed)  # who has a buffer may make arrays on its memory
    return list(map(Buffer.from_jax, placed))


def arrays_of(
    who: str,
    values: Sequence[TensorValue],
    buffers: Sequence[Buffer],
    what: str = "output",
) -> tuple[list[jax.Array], Sizes]:
    """Joins buffers to stored arrays; the inverse of :func:`buffers_of`.

    Raises:
        TypeError: Something is no Buffer.
        ValueError: There is not one per device of each value, one does not fit, or two
            sizes are not the same though they have one name.
    """
    ways = [value.spec.mapping.mesh.num_devices for value in values]
    _check_buffers(who, what, buffers, sum(ways))
    arrays: list[jax.Array] = []
    equations: list[tuple[Any, Any]] = []
    first = 0
    for i, (value, count) in enumerate(zip(values, ways, strict=True)):
        described = value.spec
        shards = [b.to_jax() for b in buffers[first : first + count]]
        first += count
        for shard in shards:
            if shard.ndim != described.rank:
                raise _misfit(who, f"{what} {i}", described, shard, shard.shape)
        array, shape = join_arrays(who, shards, described.mapping)
        if array.dtype != described.dtype.to_jax() or any(
            not isinstance(want, Dim) and want != got
            for want, got in zip(described.shape, shape, strict=True)
        ):
            raise _misfit(who, f"{what} {i}", described, array, shape)
        equations += zip(described.shape, shape, strict=True)
        arrays.append(array)
    sizes = solve_sizes(equations, {})
    for dim, size in equations:
        if isinstance(dim, Dim) and sizes.keys() >= {p.name for p in dim.parameters}:
            check_size(who, dim, size, sizes)
    return arrays, sizes


def _check_buffers(who: str, what: str, buffers: Sequence[Buffer], wanted: int) -> None:
    for buffer in buffers:
        if not isinstance(cast("object", buffer), Buffer):
            raise TypeError(
                f"{who}: each {what} must be a Buffer, got {type(buffer).__name__}. "
                "Use Buffer.from_numpy or Buffer.from_dlpack."
            )
    if len(buffers) != wanted:
        raise ValueError(
            f"{who}: there must be {wanted} {what} buffers, got {len(buffers)}. "
            f"Give one per {what} of the graph, and per device of a distributed one."
        )


def _misfit(
    who: str, what: str, described: Spec, array: jax.Array, shape: tuple[int, ...]
) -> ValueError:
    return ValueError(
        f"{who}: {what} must be {described!r}, got {array.dtype.name}{list(shape)}. "
        "Give what the graph says."
    )
