"""Equal bodies as one object: loops and branches that are recorded anew at each call.

A loop in eager code runs the user's function at every call, which records a new graph,
mostly the same one. Executables are found by their static parameters, so equal graphs
must be one :class:`Region`: the first of them.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast

from maxlite._caches import Cache
from maxlite.graph._node import Literal, Region, exact

if TYPE_CHECKING:
    from maxlite._caches import Cache
    from maxlite.graph._graph import Graph
from maxlite.graph._node import TensorValue

MAX_REGIONS = 4_096
"""Bodies kept; the table starts afresh beyond. One takes a few kilobytes."""

_regions: Cache[tuple[Any, ...], Region] = Cache("bodies", MAX_REGIONS)
_lock = threading.Lock()


def interned(graph: Graph) -> Region:
    """Gives the one region of all graphs that compute the same in the same way.

    Args:
        graph: Finished. Everything that it uses from outside is a parameter, so that
            it holds no arrays.
    """
    key = structure(graph)
    with _lock:
        return _regions.get(key) or _regions.keep(key, Region(graph))


def structure(graph: Graph) -> tuple[Any, ...]:
    """Gives a key that is equal for graphs that differ in nothing but identity.

    Nodes that no result needs do not count. Graphs inside count by identity.
    """
    numbers: dict[int, int] = {}

    def number(value: TensorValue) -> Any:
        if isinstance(value.origin, Literal):
            return (value.spec, exact(value.origin.value))
        return numbers.setdefault(id(value), len(numbers))

    inputs = [*graph.hidden, *graph.parameters]
    leaves = tuple((number(value), value.spec) for value in inputs)
    nodes = tuple(
        (
            node.op,
            tuple(map(_exact, node.params)),
            tuple(map(number, node.inputs)),
            tuple((number(value), value.spec) for value in node.outputs),
            node.action,
        )
        for node in graph.live_nodes()
    )
    hidden = (len(graph.hidden), graph.draws)
    return (graph.name, hidden, leaves, nodes, tuple(map(number, graph.results)))


def _exact(param: Any) -> Any:
    """Tells apart static parameters that are merely equal: 1 and True, 0.0 and -0.0."""
    if type(param) is tuple:
        return tuple(map(_exact, cast("tuple[Any, ...]", param)))
    return exact(param) if isinstance(param, (bool, int, float)) else param
