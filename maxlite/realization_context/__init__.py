"""Who computes an op, and when: eager and lazy blocks, and traces."""

from maxlite.realization_context._eager import (
    EagerRealizationContext,
    LazyRealizationContext,
    ensure_context,
    in_graph_context,
    lazy,
)
from maxlite.realization_context._graph import GraphRealizationContext
from maxlite.realization_context._seed import seed, set_seed

__all__ = [
    "EagerRealizationContext",
    "GraphRealizationContext",
    "LazyRealizationContext",
    "ensure_context",
    "in_graph_context",
    "lazy",
    "seed",
    "set_seed",
]
