"""Placement rules by family: one function per kind of op, each a list of rows."""

from maxlite.sharding.rules._complex import (
    complex_mul_rule,
    interleaved_rule,
    irfft_rule,
)
from maxlite.sharding.rules._conv import conv_rule
from maxlite.sharding.rules._custom import custom_rule
from maxlite.sharding.rules._diagonal import diagonal_rule
from maxlite.sharding.rules._einsum import einsum_rule
from maxlite.sharding.rules._elementwise import (
    binary_rule,
    div_rule,
    linear_binary_rule,
    linear_unary_rule,
    mul_rule,
    ternary_rule,
    unary_rule,
)
from maxlite.sharding.rules._flip import flip_rule
from maxlite.sharding.rules._indexing import (
    gather_nd_rule,
    gather_rule,
    index_rule,
    index_update_rule,
    mask_update_rule,
    scatter_rule,
    slice_rule,
    slice_update_rule,
)
from maxlite.sharding.rules._matmul import matmul_rule, outer_rule
from maxlite.sharding.rules._norm import norm_rule
from maxlite.sharding.rules._pooling import avg_pool_rule, fold_rule, max_pool_rule
from maxlite.sharding.rules._products import cross_rule, kron_rule
from maxlite.sharding.rules._quantization import dequantize_rule, qmatmul_rule
from maxlite.sharding.rules._reduction import (
    all_replicated_rule,
    along_axis_rule,
    count_rule,
    reduce_rule,
    sum_rule,
    top_k_rule,
)
from maxlite.sharding.rules._reshape import flatten_rule, reshape_rule
from maxlite.sharding.rules._resize import resize_rule
from maxlite.sharding.rules._roi_align import roi_align_rule
from maxlite.sharding.rules._select import (
    one_hot_rule,
    searchsorted_rule,
    take_along_axis_rule,
)
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
    "avg_pool_rule",
    "band_part_rule",
    "binary_rule",
    "broadcast_to_rule",
    "chunk_rule",
    "complex_mul_rule",
    "concat_rule",
    "conv_rule",
    "count_rule",
    "cross_rule",
    "custom_rule",
    "dequantize_rule",
    "diagonal_rule",
    "div_rule",
    "einsum_rule",
    "flatten_rule",
    "flip_rule",
    "fold_rule",
    "gather_nd_rule",
    "gather_rule",
    "index_rule",
    "index_update_rule",
    "interleaved_rule",
    "irfft_rule",
    "kron_rule",
    "linear_binary_rule",
    "linear_unary_rule",
    "mask_update_rule",
    "matmul_rule",
    "max_pool_rule",
    "mul_rule",
    "norm_rule",
    "one_hot_rule",
    "outer_rule",
    "pad_rule",
    "permute_rule",
    "qmatmul_rule",
    "reduce_rule",
    "repeat_interleave_rule",
    "reshape_rule",
    "resize_rule",
    "roi_align_rule",
    "scatter_rule",
    "searchsorted_rule",
    "slice_rule",
    "slice_update_rule",
    "split_rule",
    "squeeze_rule",
    "stack_rule",
    "sum_rule",
    "take_along_axis_rule",
    "ternary_rule",
    "tile_rule",
    "top_k_rule",
    "transpose_rule",
    "unary_rule",
    "unsqueeze_rule",
]
