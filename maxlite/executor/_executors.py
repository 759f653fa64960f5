"""Executors that answer at once: compiled as a whole, or op by op."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxlite.executor._block import NO_SIZES, ArrayExecutor, Block, Sizes
from maxlite.executor._compute import compute
from maxlite.executor._prepared import find_prepared, prepare
from maxlite.executor._protocol import UnsupportedGraphError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jax

    from maxlite.graph._graph import Graph
    from maxlite.graph._node import TensorValue


class CompilingExecutor(ArrayExecutor):
    """Compiles a graph as a whole when it is first met, and keeps the executable.

    Source: max.experimental.executor.CompilingExecutor.
    """

    def run(self, block: Block) -> tuple[Sequence[jax.Array], Sizes]:
        """Computes a block."""
        found = find_prepared(block)[0] or prepare(block)
        if found is not None:
            return found.run(block), NO_SIZES
        return compute(block.graph, block.outputs)

    def run_graph(
        self, graph: Graph, arrays: Sequence[jax.Array], sizes: Sizes
    ) -> tuple[Sequence[jax.Array], Sizes]:
        """Computes the results of a graph."""
        return compute(graph, graph.results, _known(graph, arrays), sizes)


class InterpreterExecutor(ArrayExecutor):
    """Runs a graph op by op, each through an executable of its own.

    Args:
        max_ops: How many ops a graph may have; None for any number.

    Raises:
        TypeError: ``max_ops`` is neither an int nor None.
        ValueError: It is negative.

    Source: max.experimental.executor.InterpreterExecutor.
    """

    def __init__(self, max_ops: int | None = None) -> None:
        if max_ops is not None and (
            isinstance(max_ops, bool) or not isinstance(max_ops, int)
        ):
            raise TypeError(
                "InterpreterExecutor: max_ops must be an int or None, got "
                f"{type(max_ops).__name__}."
            )
        if max_ops is not None and max_ops < 0:
            raise ValueError(
                f"InterpreterExecutor: max_ops must be 0 or more, got {max_ops}. Pass "
                "None for any number."
            )
        self.max_ops = max_ops

    def run(self, block: Block) -> tuple[Sequence[jax.Array], Sizes]:
        """Computes a block.

        Raises:
            UnsupportedGraphError: It has too many ops.
        """
        self._check(block.graph, block.outputs)
        return compute(block.graph, block.outputs, one_by_one=True)

    def run_graph(
        self, graph: Graph, arrays: Sequence[jax.Array], sizes: Sizes
    ) -> tuple[Sequence[jax.Array], Sizes]:
        """Computes the results of a graph.

        Raises:
            UnsupportedGraphError: It has too many ops.
        """
        self._check(graph, graph.results)
        known = _known(graph, arrays)
        return compute(graph, graph.results, known, sizes, one_by_one=True)

    def _check(self, graph: Graph, outputs: Sequence[TensorValue]) -> None:
        if self.max_ops is None:
            return
        count = len(graph.live_nodes(outputs))
        if count > self.max_ops:
            raise UnsupportedGraphError(
                f"{graph.name}: a graph for this InterpreterExecutor must have at most "
                f"{self.max_ops} ops, got {count}. Raise max_ops, or use a "
                "CompilingExecutor."
            )


def _known(graph: Graph, arrays: Sequence[jax.Array]) -> dict[int, jax.Array]:
    return {id(v): a for v, a in zip(graph.parameters, arrays, strict=True)}
