"""A program as JAX's portable export: StableHLO with a promise of compatibility."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxlite._backend import lowering_scope
from maxlite.lowering._program import argument_shapes, program_mesh, staged_function
from maxlite.lowering._symbolic import symbolic_sizes

if TYPE_CHECKING:
    from maxlite.graph import Graph


def export_module(graph: Graph) -> bytes:
    """Serializes a program with ``jax.export``, sizes symbolic.

    Returns:
        What ``jax.export.deserialize`` reads. Its inputs are the weights by
        declaration, then captured tensors, then the arguments; written arguments come
        back behind the outputs.
    """
    from jax import export  # takes a while to import, and few programs need it

    sizes = symbolic_sizes(graph)
    function = staged_function(graph, sizes, program_mesh(graph), for_reading=True)
    with lowering_scope():
        exported = export.export(function)(*argument_shapes(graph, sizes))
        return bytes(exported.serialize())
