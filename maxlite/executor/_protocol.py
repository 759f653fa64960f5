"""What an executor is: whatever runs a finished graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.driver import Buffer
    from maxlite.graph import Graph


@runtime_checkable
class Executor(Protocol):
    """Runs what eager ops, blocks and groups of ops have recorded.

    Source: max.experimental.executor.Executor.

    >>> from maxlite.executor import InterpreterExecutor
    >>> isinstance(InterpreterExecutor(), Executor)
    True
    """

    def execute(self, graph: Graph, inputs: Sequence[Buffer]) -> Sequence[Buffer]:
        """Runs a graph.

        Args:
            graph: Finished: ``graph.inputs`` and ``graph.output_types`` say what comes
                in and goes out.
            inputs: One buffer per input: for a distributed tensor one per device, in
                mesh order.

        Returns:
            One buffer per output type.

        Raises:
            UnsupportedGraphError: The executor cannot run such a graph.
        """
        ...


class UnsupportedGraphError(RuntimeError):
    """A graph that an executor does not run.

    Source: max.experimental.executor.UnsupportedGraphError.
    """
