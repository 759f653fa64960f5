"""Placement rules by family: one function per kind of op, each a list of rows."""

from maxlite.sharding.rules._elementwise import (
    binary_rule,
    div_rule,
    linear_binary_rule,
    linear_unary_rule,
    mul_rule,
    ternary_rule,
    unary_rule,
)
from maxlite.sharding.rules._indexing import (
    gather_nd_rule,
    gather_rule,
    scatter_rule,
    slice_rule,
    slice_update_rule,
)
from maxlite.sharding.rules._matmul import matmul_rule, outer_rule
from maxlite.sharding.rules._norm import norm_rule
from maxlite.sharding.rules._reduction import (
    all_replicated_rule,
    along_axis_rule,
    reduce_rule,
    sum_rule,
    top_k_rule,
)
from maxlite.sharding.rules._reshape import flatten_rule, reshape_rule
from maxlite.sharding.rules._shape import (
    band_part_rule,
    broadcast_to_rule,
    chunk_rule,
    concat_rule,
    pad_rule,
    permute_rule,
    repeat_interleave_rule,
    split_rule,
    squeeze_rule,
    stack_rule,
    tile_rule,
    transpose_rule,
    unsqueeze_rule,
)

__all__ = [
    "all_replicated_rule",
    "along_axis_rule",
    "band_part_rule",
    "binary_rule",
    "broadcast_to_rule",
    "chunk_rule",
    "concat_rule",
    "div_rule",
    "flatten_rule",
    "gather_nd_rule",
    "gather_rule",
    "linear_binary_rule",
    "linear_unary_rule",
    "matmul_rule",
    "mul_rule",
    "norm_rule",
    "outer_rule",
    "pad_rule",
    "permute_rule",
    "reduce_rule",
    "repeat_interleave_rule",
    "reshape_rule",
    "scatter_rule",
    "slice_rule",
    "slice_update_rule",
    "split_rule",
    "squeeze_rule",
    "stack_rule",
    "sum_rule",
    "ternary_rule",
    "tile_rule",
    "top_k_rule",
    "transpose_rule",
    "unary_rule",
    "unsqueeze_rule",
]
