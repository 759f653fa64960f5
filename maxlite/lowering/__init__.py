"""From recorded graphs to JAX: evaluating, lowering, compiling and executing."""

from maxlite.lowering._collectives import Collective, find_collectives
from maxlite.lowering._export import export_module
from maxlite.lowering._program import (
    Executable,
    check_divisible,
    compile_graph,
    edge_sharding,
    program_mesh,
)
from maxlite.lowering._rebind import complete_sizes
from maxlite.lowering._text import stablehlo_text

__all__ = [
    "Collective",
    "Executable",
    "check_divisible",
    "compile_graph",
    "complete_sizes",
    "edge_sharding",
    "export_module",
    "find_collectives",
    "program_mesh",
    "stablehlo_text",
]
