"""Who computes an op, and when: eager and lazy blocks, and traces."""

from maxlite.realization_context._default import (
    default_realization_context,
    ensure_context,
    in_graph_context,
    lazy,
    set_default_realization_context,
    subgraph_context,
)
from maxlite.realization_context._eager import (
    EagerRealizationContext,
    LazyRealizationContext,
)
from maxlite.realization_context._graph import GraphRealizationContext
from maxlite.realization_context._seed import seed, set_seed

__all__ = [
    "EagerRealizationContext",
    "GraphRealizationContext",
    "LazyRealizationContext",
    "default_realization_context",
    "ensure_context",
    "in_graph_context",
    "lazy",
    "seed",
    "set_default_realization_context",
    "set_seed",
    "subgraph_context",
]
