"""Staging and compiling functions."""

from maxlite.compilation._compile import CompiledCallable, compile, load
from maxlite.compilation._stage import StagedGraph, stage
from maxlite.compilation._subgraph import as_subgraph
from maxlite.sharding._layout import as_layout

__all__ = [
    "CompiledCallable",
    "StagedGraph",
    "as_layout",
    "as_subgraph",
    "compile",
    "load",
    "stage",
]
