"""Sizes that stand for every size: the symbols of a program as JAX's symbolic dims.

They serve the printed and the portable module only. JAX takes each symbol to be at
least 1 and wants sharded sizes to divide, which is told to it as a constraint; calls
are specialised from the recorded graph instead and know neither limit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from maxlite.graph import Dim, SymbolicDim
from maxlite.graph._shape import symbols_of
from maxlite.lowering._rebind import complete_sizes
from maxlite.sharding import Sharded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maxlite.graph import Graph
    from maxlite.graph._node import TensorValue


def symbols(graph: Graph) -> list[str]:
    """Lists the names of a program's symbols, in order of appearance."""
    values = [*graph.parameters, *graph.hidden]
    values += [value for node in graph.nodes for value in node.outputs]
    return symbols_of(dim for value in values for dim in value.spec.shape)


def free_symbols(graph: Graph) -> list[str]:
    """Lists the symbols that stand for any size: no rebind ties them to others."""
    free: list[str] = []
    known = complete_sizes(graph, {})
    for name in symbols(graph):
        if name not in known:
            free.append(name)
            known = complete_sizes(graph, {**known, name: Dim(name)})
    return free


def symbolic_sizes(graph: Graph) -> Mapping[str, Any]:
    """Gives each symbol of a program a symbolic dim of JAX, or what it is tied to."""
    from jax import export  # takes a while to import, and few programs need it

    names = free_symbols(graph)
    if not names:
        return complete_sizes(graph, {})
    ways = _ways(graph)
    shown = [_shown(name) for name in names]
    constraints = [
        f"mod({text}, {ways[name]}) == 0"
        for name, text in zip(names, shown, strict=True)
        if name in ways
    ]
    dims = export.symbolic_shape(", ".join(shown), constraints=constraints)
    return complete_sizes(graph, dict(zip(names, dims, strict=True)))


def _shown(name: str) -> str:
    """Renames a symbol whose name means something else to JAX."""
    taken = name in ("mod", "max", "min", "floordiv") or name.startswith("_")
    return f"size_{name}" if taken else name


def example_sizes(graph: Graph) -> Mapping[str, int]:
    """Gives every symbol a small size that divides wherever it is sharded."""
    ways = _ways(graph)
    sizes = {name: 2 * ways.get(name, 1) for name in free_symbols(graph)}
    return complete_sizes(graph, sizes)


def _ways(graph: Graph) -> dict[str, int]:
    """Over how many devices each symbol is cut at most."""
    ways: dict[str, int] = {}
    for value in (*graph.parameters, *graph.hidden, *graph.results):
        for axis, dim in enumerate(value.spec.shape):
            if isinstance(dim, SymbolicDim):
                cut = _cut_along(value, axis)
                if cut > 1:
                    ways[dim.name] = math.lcm(ways.get(dim.name, 1), cut)
    return ways


def _cut_along(value: TensorValue, axis: int) -> int:
    mapping = value.spec.mapping
    cut = 1
    for size, placement in zip(
        mapping.mesh.mesh_shape, mapping.placements, strict=True
    ):
        if isinstance(placement, Sharded) and placement.axis == axis:
            cut *= size
    return cut
