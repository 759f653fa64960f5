"""Staging and compiling functions."""

from maxlite.compilation._compile import CompiledCallable, EngineModel, compile, load
from maxlite.compilation._stage import StagedGraph, stage
from maxlite.compilation._subgraph import as_subgraph
from maxlite.lowering import Collective
from maxlite.sharding._layout import as_layout

__all__ = [
    "Collective",
    "CompiledCallable",
    "EngineModel",
    "StagedGraph",
    "as_layout",
    "as_subgraph",
    "compile",
    "load",
    "stage",
]
