"""A row of a placement rule that needs no move runs without a collective, and is right.

Proved for every row of the op table by brute force: the op is compiled for a mesh of
two under every row of its rule, its HLO is searched, and what it computes is compared
with one device. Pending sums are made of unequal terms.
"""

import itertools

import jax
import numpy as np
import pytest

from maxlite import BufferLayout, DType, TensorLayout, stage
from maxlite._op_table import rows
from maxlite.driver import CPU
from maxlite.functional import _dispatch
from maxlite.graph._graph import Graph, Literal
from maxlite.graph._spec import spec
from maxlite.lowering import compile_graph, find_collectives
from maxlite.sharding import (
    DeviceMapping,
    Partial,
    Replicated,
    Sharded,
    ShardingError,
)
from maxlite.sharding._action import Action
from tests.compilation.layouts import mesh
from tests.lowering.op_samples import SAMPLES
from tests.lowering.stored import placed, short, whole

TWO = mesh(2)

RULED = [name for name, op in rows().items() if op.rule is not None]

COSTS = {
    "concat": "S0 along axis 0: the pieces of the operands take turns",
}
"""Rows that send data by their nature: op to what is told of it."""
