"""Building a graph by hand: it is opened, computed on, and told its outputs.

Functions on values and tensors stand in rooms below this one and are reached through
the table. The graph that is open is the one of the current realization context.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from maxlite._op_table import fronts
from maxlite._unique import Unique
from maxlite.graph._type import BufferType
from maxlite.graph._value_operators import Value

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Self

    from maxlite.graph._graph import Graph
    from maxlite.graph._node import TensorValue
    from maxlite.graph._spec import Spec


class BufferValue(Value):
    """An input of a graph that the program may read and write.

    ``buffer[...]`` loads the content, or a part of it, and ``buffer[...] = value``
    stores one. A value that was loaded before a store keeps its content.

    Args:
        value: A BufferValue, which is given back.

    Raises:
        TypeError: ``value`` is something else.

    Source: max.graph.BufferValue.
    """

    __slots__ = ("graph", "index", "spec")

    graph: Graph
    index: int

    def __new__(cls, value: BufferValue) -> BufferValue:
        """Gives back a buffer."""
        if not isinstance(cast("object", value), BufferValue):
            raise TypeError(
                "BufferValue: value must be a BufferValue, got "
                f"{type(value).__name__}. Declare an input by BufferType."
            )
        return value

    @property
    def buffer(self) -> BufferValue:
        """This value."""
        return self

    @property
    def type(self) -> BufferType:
        """Dtype, shape and device.

        Raises:
            ValueError: The value is distributed.
        """
        return BufferType(self.dtype, self.shape, self.device)

    @property
    def content(self) -> TensorValue:
        """What the buffer holds at this point of the program."""
        return self.graph.writes.get(self.index, self.graph.parameters[self.index])

    def __getitem__(self, index: Any) -> TensorValue:
        return fronts["on_values"]("slice_tensor", self.content, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        fronts["store_value"](self, value, index)

    def print(self, label: str = "debug_buffer") -> None:
        """Prints the content when the program runs."""
        fronts["on_values"]("print", self.content, label)


def buffer_of(graph: Graph, index: int, spec: Spec) -> BufferValue:
    """Makes the value that stands for a parameter that may be written to."""
    made = object.__new__(BufferValue)
    made.graph, made.index, made.spec = graph, index, spec
    return made


class _Current:
    """The graph that is open, read off the class: ``Graph.current``."""

    def __get__(self, graph: Graph | None, owner: type[Graph]) -> Graph:
        return fronts["current_graph"]()


class Building(Unique):
    """What a user does with a graph: open it, and say what it gives.

    ``with graph: ...`` opens it: functions of ``maxlite.graph.ops`` and operators on
    values are recorded into it, and so are functions on tensors.
    """

    _instead = "Compile it; a compiled callable can be pickled, and saved as a file"

    _opened: list[AbstractContextManager[Any]]

    current = _Current()
    """The graph that is open; a LookupError when there is none."""

    def __enter__(self) -> Self:
        opened = fronts["open_graph"](self)
        opened.__enter__()
        self._opened.append(opened)
        return self

    def __exit__(self, *error: Any) -> None:
        self._opened.pop().__exit__(*error)

    def output(self, *outputs: Any) -> None:
        """Says what the program gives, once.

        Args:
            *outputs: Values of this graph, or tensors over them.

        Raises:
            TypeError: An output is no value, or one of another graph.
            ValueError: The outputs were given before.
        """
        fronts["set_outputs"](self, outputs)

    def __str__(self) -> str:
        """Writes the program as StableHLO."""
        return fronts["graph_text"](self)
