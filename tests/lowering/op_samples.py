"""One or more small uses of every op that has placement rows.

A sample is a function and the shapes of its operands; sizes divide by two, but for what
an op fixes otherwise. The op under test is found in what the function records, so
fronts that record several ops will do.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from maxlite import CPU, DType
from maxlite import functional as F
from maxlite.custom import declare
from maxlite.graph import TensorType
from maxlite.graph.quantization import QuantizationEncoding
from maxlite.graph.type import ConvInputLayout, FilterLayout
from maxlite.sharding.rules import binary_rule


class Sample(NamedTuple):
    """A use of an op: ``run`` on operands written as ``"4,6"`` or ``"4,6:int64"``."""

    run: Callable[..., Any]
    operands: tuple[str, ...]


def use(run: Callable[..., Any], *operands: str) -> Sample:
    return Sample(run, operands)


def unary(name: str) -> list[Sample]:
    return [use(lambda x: getattr(F, name)(x), "4,6")]


def binary(name: str) -> list[Sample]:
    function = getattr(F, name)
    return [
        use(function, "4,1", "4,6"),
        use(lambda x: function(x, 2.5), "4,6"),
    ]


def linear_binary(name: str) -> list[Sample]:
    function = getattr(F, name)
    return [
        *binary(name),
        use(function, "4,6", "6"),
        use(lambda x: function(2.5, x), "4,6"),
    ]


def logical(name: str) -> list[Sample]:
    return [use(getattr(F, name), "4,6:bool", "6:bool")]


def along_axis(name: str, *options: Any) -> list[Sample]:
    function = getattr(F, name)
    return [
        use(lambda x: function(x, *options, axis=0), "4,6"),
        use(lambda x: function(x, *options, axis=1), "2,4,6"),
    ]


def along_axes(name: str) -> list[Sample]:
    function = getattr(F, name)
    return [
        *along_axis(name),
        use(lambda x: function(x, axis=(0, 2)), "4,6,2"),
        use(lambda x: function(x, axis=(0, 2), keepdims=False), "4,6,2,2"),
        use(lambda x: function(x, axis=None, keepdims=False), "4,6"),
    ]


def scatter(name: str) -> list[Sample]:
    function = getattr(F, name)
    return [
        use(lambda x, u, i: function(x, u, i, axis=0), "4,6", "2,6", "2,6:int64"),
        use(lambda x, u, i: function(x, u, i, axis=1), "4,6", "4,2", "4,2:int64"),
    ]


def scatter_nd(name: str) -> list[Sample]:
    return [use(getattr(F, name), "4,6", "2,6", "2,1:int64")]


Q4_0 = QuantizationEncoding.Q4_0
GRID = TensorType(DType.float32, [4, 6], CPU())

declare("samples.less", lambda x, y: x - y, rule=binary_rule)
declare("samples.add_to", lambda x, y: x + y, rule=binary_rule, inplace=(0,))

WRITES = ("slice_update", "index_update", "mask_update", "inplace_custom")
"""Ops that write to their first operand."""


def write(x: Any, value: Any, index: Any) -> None:
    x[index] = value


def after_draws(x: Any) -> Any:
    """Gives what it takes; on the way two draws move the seed on."""
    noise = [F.uniform([4, 6], device=x.mapping) for _ in range(2)]
    return x + 0.0 * (noise[0] + noise[1])


SAMPLES: dict[str, list[Sample]] = {
    # Unary
    **{
        name: unary(name)
        for name in (
            *("abs", "erf", "negate", "reciprocal", "rsqrt", "sign", "sqrt", "square"),
            *("exp", "exp2", "expm1", "log", "log10", "log1p", "log2"),
            *("acos", "acosh", "asin", "asinh", "atan", "atanh"),
            *("cos", "cosh", "sin", "sinh", "tan", "tanh"),
            *("is_finite", "is_inf", "is_nan", "nan_to_num"),
            *("gelu", "log_sigmoid", "logit", "mish", "sigmoid", "silu", "softplus"),
            *("elu", "hard_sigmoid", "hard_swish", "leaky_relu"),
            *("relu", "relu6", "selu"),
            *("ceil", "floor", "round", "trunc"),
        )
    },
    "logical_not": [use(F.logical_not, "4,6:bool")],
    "cast": [use(lambda x: x.cast(DType.int32), "4,6")],
    "rebind": [use(lambda x: F.rebind(x, [4, 6]), "4,6")],
    "static_pow": [use(lambda x: x**3, "4,6")],
    # Binary and ternary
    **{
        name: binary(name)
        for name in (
            *("floor_div", "mod", "pow", "elementwise_max", "elementwise_min"),
            *("equal", "not_equal", "greater", "greater_equal", "less", "less_equal"),
            *("atan2", "hypot"),
        )
    },
    **{name: linear_binary(name) for name in ("add", "sub", "mul", "div")},
    **{name: logical(name) for name in ("logical_and", "logical_or", "logical_xor")},
    **{
        name: [use(getattr(F, name), "4,6:int32", "6:int32")]
        for name in (
            *("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"),
        )
    },
    "bitwise_not": [use(F.bitwise_not, "4,6:int32")],
    "where": [
        use(F.where, "4,6:bool", "4,6", "4,6"),
        use(F.where, "6:bool", "4,1", "4,6"),
        use(lambda c, x: F.where(c, x, 0.0), "4,6:bool", "4,6"),
    ],
    "clamp": [
        use(F.clamp, "4,6", "4,6", "6"),
        use(lambda x: F.clamp(x, 0.0, 1.0), "4,6"),
    ],
    # Products
    "matmul": [
        use(F.matmul, "4,6", "6,2"),
        use(F.matmul, "2,4,6", "2,6,4"),
        use(F.matmul, "2,4,6", "6,4"),
        use(F.matmul, "4,6", "2,6,4"),
        use(F.matmul, "6", "6"),
        use(F.matmul, "4,6", "6"),
        use(F.matmul, "6", "6,4"),
    ],
    "outer": [use(F.outer, "4", "6")],
    "einsum": [
        use(lambda x, y: F.einsum("ij,jk->ik", x, y), "4,6", "6,2"),
        use(lambda x, y: F.einsum("...ij,...kj->...ik", x, y), "2,4,6", "1,2,6"),
        use(lambda x, y, z: F.einsum("ij,jk,kl->il", x, y, z), "4,6", "6,2", "2,4"),
        use(lambda x, y: F.einsum("bii,bj->bij", x, y), "2,4,4", "2,6"),
        use(lambda x: F.einsum("ij->j", x), "4,6"),
        use(lambda x, y: F.tensordot(x, y, axes=2), "2,4,6", "4,6,2"),
    ],
    "kron": [
        use(F.kron, "4,6", "2,4"),
        use(F.kron, "4", "1,6,2"),
        use(F.kron, "1,4", "6,2"),
    ],
    "cross": [
        use(F.cross, "4,3", "4,3"),
        use(lambda x, y: F.cross(x, y, axis=-2), "4,3,1", "3,6"),
    ],
    # Reductions and scans
    **{
        name: along_axis(name)
        for name in (
            *("cummax", "cummin", "cumprod", "cumsum", "softmax", "logsoftmax"),
        )
    },
    **{name: along_axis(name) for name in ("argmax", "argmin")},
    **{
        name: along_axes(name)
        for name in (
            *("sum", "mean", "prod", "max", "min", "var", "std", "norm", "logsumexp"),
            *("any", "all", "count_nonzero"),
        )
    },
    "top_k": along_axis("top_k", 2),
    "bottom_k": along_axis("bottom_k", 2),
    "argsort": [use(F.argsort, "6"), *along_axis("argsort")],
    "sort": along_axis("sort"),
    "searchsorted": [use(F.searchsorted, "6", "4,6")],
    # Norms
    "layer_norm": [
        use(lambda x, g, b: F.layer_norm(x, g, b, 1e-5), "4,6", "6", "6"),
        use(lambda x, g, b: F.layer_norm(x, g, b, 1e-5), "2,4,6", "6", "6"),
    ],
    "rms_norm": [use(lambda x, w: F.rms_norm(x, w, 1e-5), "2,4,6", "6")],
    "group_norm": [
        use(lambda x, g, b: F.group_norm(x, g, b, 2, 1e-5), "2,4,6", "4", "4")
    ],
    # Convolutions and windows
    "conv2d": [
        use(F.conv2d, "4,4,4,2", "3,3,2,4"),
        use(lambda x, w, b: F.conv2d(x, w, bias=b), "4,4,4,2", "1,1,2,4", "4"),
        use(lambda x, w: F.conv2d(x, w, (2, 2), groups=2), "2,4,4,4", "3,3,2,8"),
        use(
            lambda x, w: F.conv2d(
                x,
                w,
                input_layout=ConvInputLayout.NCHW,
                filter_layout=FilterLayout.FCRS,
            ),
            *("4,2,4,4", "4,2,3,3"),
        ),
    ],
    "conv2d_transpose": [
        use(lambda x, w: F.conv2d_transpose(x, w, (2, 2)), "4,4,4,2", "3,3,4,2"),
        use(
            lambda x, w, b: F.conv2d_transpose(
                x, w, bias=b, input_layout=ConvInputLayout.NCHW
            ),
            *("4,2,4,4", "2,2,4,2", "4"),
        ),
    ],
    "conv3d": [
        use(F.conv3d, "2,2,4,4,2", "1,3,3,2,4"),
        use(lambda x, w: F.conv3d(x, w, groups=4), "2,2,2,2,4", "1,1,1,1,4"),
    ],
    "avg_pool2d": [
        use(lambda x: F.avg_pool2d(x, (2, 2)), "4,4,4,2"),
        use(
            lambda x: F.avg_pool2d(x, (3, 2), 2, 1, 1, True, count_boundary=False),
            "2,4,4,2",
        ),
    ],
    "max_pool2d": [
        use(lambda x: F.max_pool2d(x, (2, 2)), "4,4,4,2"),
        use(lambda x: F.max_pool2d(x, (2, 2), 1, 2, 1, True), "2,4,4,2"),
    ],
    "fold": [
        use(lambda x: F.fold(x, (3, 3), (2, 2)), "4,8,4"),
        use(lambda x: F.fold(x, (4, 4), (2, 2), 2), "2,4,4"),
    ],
    # Images
    "resize_linear": [
        use(lambda x: F.resize_linear(x, [4, 2, 3, 8]), "4,2,6,4"),
        use(lambda x: F.resize_linear(x, [4, 3], antialias=True), "4,6"),
    ],
    "resize_nearest": [
        use(lambda x: F.resize_nearest(x, [4, 3]), "4,6"),
        use(lambda x: F.resize_nearest(x, [8, 6, 2], 1, 2), "4,6,2"),
    ],
    "resize_bicubic": [use(lambda x: F.resize_bicubic(x, [4, 2, 3, 8]), "4,2,6,4")],
    "roi_align": [
        use(lambda x, r: F.roi_align(x, r, 2, 2), "2,4,6,2", "4,5"),
        use(lambda x, r: F.roi_align(x, r, 2, 2, mode="MAX"), "2,4,6,2", "4,5"),
        use(lambda x, r: F.roi_align(x, r, 2, 2, 3.0, 2.0), "2,4,6,2", "4,5"),
    ],
    # Complex numbers
    "as_interleaved_complex": [
        use(F.as_interleaved_complex, "2,4"),
        use(F.as_interleaved_complex, "4,6"),
    ],
    "complex_mul": [
        use(F.complex_mul, "4,2", "4,2"),
        use(F.complex_mul, "4,6,2", "6,2"),
        use(F.complex_mul, "4,1,2", "4,6,2"),
    ],
    "irfft": [
        use(lambda x: F.irfft(x, axis=0), "4,6"),
        use(lambda x: F.irfft(x, input_is_complex=True), "4,6,2"),
    ],
    # Shapes
    "reshape": [
        use(lambda x: F.reshape(x, [24]), "4,6"),
        use(lambda x: F.reshape(x, [2, 2, 6]), "4,6"),
        use(lambda x: F.reshape(x, [2, 8, 3]), "4,6,2"),
        use(lambda x: F.reshape(x, [1, 4, 1, 6]), "4,6"),
    ],
    "flatten": [
        use(lambda x: F.flatten(x, 1, 2), "2,4,6"),
        use(lambda x: F.flatten(x, 0, 1), "2,4,6"),
    ],
    "transpose": [use(lambda x: F.transpose(x, 0, 2), "2,4,6")],
    "flip": [use(lambda x: F.flip(x, 1), "2,4,6"), use(F.flip, "4,6")],
    "roll": [
        use(lambda x: F.roll(x, 1, 1), "2,4,6"),
        use(lambda x: F.roll(x, [1, -3], [0, 2]), "2,4,6"),
        use(lambda x: F.roll(x, 5), "4,6"),
    ],
    "diagonal": [
        use(F.diagonal, "4,6,2"),
        use(lambda x: F.diagonal(x, -1, axis1=-1, axis2=0), "4,2,6"),
    ],
    "trace": [
        use(F.trace, "4,6,2"),
        use(lambda x: F.trace(x, 2, axis1=0, axis2=2), "4,2,6"),
    ],
    **{
        name: [use(lambda x, name=name: getattr(F, name)(x, 1), "2,4,6")]
        for name in ("tril", "triu")
    },
    "permute": [use(lambda x: F.permute(x, [2, 0, 1]), "2,4,6")],
    "unsqueeze": [use(lambda x: F.unsqueeze(x, 1), "4,6")],
    "squeeze": [use(lambda x: F.squeeze(x, 1), "4,1,6")],
    "broadcast_to": [
        use(lambda x: F.broadcast_to(x, [2, 4, 6]), "4,6"),
        use(lambda x: F.broadcast_to(x, [4, 6]), "4,1"),
    ],
    "tile": [use(lambda x: F.tile(x, [1, 2]), "4,6")],
    "repeat_interleave": [use(lambda x: F.repeat_interleave(x, 2, axis=1), "4,6")],
    "pad": [
        use(lambda x: F.pad(x, [0, 0, 1, 1]), "4,6"),
        use(lambda x: F.pad(x, [0, 0, 1, 1], value=3.0), "4,6"),
        use(lambda x: F.pad(x, [0, 0, 1, 1], mode="reflect"), "4,6"),
        use(lambda x: F.pad(x, [0, 0, 1, 1], mode="edge"), "4,6"),
        use(lambda x, v: F.pad(x, [0, 0, 1, 1], value=v), "4,6", ""),
    ],
    "band_part": [use(lambda x: F.band_part(x, 1, 1), "2,4,6")],
    # Joining and taking apart
    "concat": [
        use(lambda x, y: F.concat([x, y], axis=0), "4,6", "4,6"),
        use(lambda x, y: F.concat([x, y], axis=1), "4,6", "4,2"),
    ],
    "stack": [use(lambda x, y: F.stack([x, y], axis=1), "4,6", "4,6")],
    "split": [
        use(lambda x: F.split(x, [2, 4], axis=1), "4,6"),
        use(lambda x: F.split(x, 2, axis=0), "4,6"),
    ],
    "chunk": [use(lambda x: F.chunk(x, 2, axis=1), "4,6")],
    # Indexing
    "slice": [
        use(lambda x: x[:, 1], "4,6"),
        use(lambda x: x[1:3], "4,6"),
        use(lambda x: x[:, ::2], "4,6"),
        use(lambda x: x[::-1], "4,6"),
        use(lambda x: x[None, :, None, 2], "4,6,2"),
        use(lambda x, i: x[:, i], "4,6", ":int64"),
    ],
    "slice_update": [
        use(lambda x, y: F.buffer_store_slice(x, y, [slice(None), 1]), "4,6", "4"),
        use(lambda x, y: F.buffer_store_slice(x, y, [slice(1, 3)]), "4,6", "2,6"),
        use(lambda x, y: F.buffer_store_slice(x, y, [slice(1, 3)]), "4,6", "1,6"),
        use(
            lambda x, y: F.buffer_store_slice(x, y, [slice(None, None, -2)]), "4,6", "6"
        ),
    ],
    "index": [
        use(lambda x, i: x[i], "4,6", "2,4:int64"),
        use(lambda x, i, j: x[i, :, j], "4,6,2", "2,1:int64", "4:int64"),
        use(lambda x, i: x[:, None, 1, i], "4,2,6", "4:int64"),
        use(lambda x, i: x[::-1, :, i], "4,2,6", "4:int64"),
    ],
    "index_update": [
        use(lambda x, i, y: write(x, y, i), "4,6", "2:int64", "2,6"),
        use(lambda x, i, y: write(x, y, (slice(None), i)), "4,6", "2:int64", "2"),
        use(lambda x, i, y: write(x, y, (i, slice(None), i)), "4,6,2", "2:int64", "6"),
        use(lambda x, i: write(x, 2.5, (slice(1, 3), i)), "4,6,2", "2:int64"),
    ],
    "mask_update": [
        use(lambda x, m: write(x, 2.5, m), "4,6", "4,6:bool"),
        use(lambda x, m, y: write(x, y, m), "4,6", "4:bool", "6"),
        use(lambda x, m, y: write(x, y, (slice(None), m, 1)), "4,6,2", "6:bool", "4,1"),
    ],
    "gather": [
        use(lambda x, i: F.gather(x, i, 0), "4,6", "2:int64"),
        use(lambda x, i: F.gather(x, i, 1), "2,4,6", "2,4:int64"),
    ],
    "take_along_axis": [
        use(lambda x, i: F.take_along_axis(x, i, 0), "4,6", "2,6:int64"),
        use(lambda x, i: F.take_along_axis(x, i, 1), "4,6", "4,2:int64"),
        use(lambda x, i: F.take_along_axis(x, i, 1), "1,4,6", "2,4,1:int64"),
    ],
    "one_hot": [
        use(lambda i: F.one_hot(i, 4), "4,6:int64"),
        use(lambda i: F.one_hot(i, 2, axis=0), "4,6:int64"),
    ],
    "gather_nd": [
        use(lambda x, i: F.gather_nd(x, i), "4,6", "2,1:int64"),
        use(lambda x, i: F.gather_nd(x, i, 1), "2,4,6", "2,4,1:int64"),
    ],
    **{
        name: scatter(name)
        for name in (
            *("scatter", "scatter_add", "scatter_max", "scatter_min", "scatter_mul"),
        )
    },
    **{
        name: scatter_nd(name)
        for name in (
            *("scatter_nd", "scatter_nd_add", "scatter_nd_max", "scatter_nd_min"),
            "scatter_nd_mul",
        )
    },
    # Sizes that values tell
    **{op: [use(F.nonzero, "4,6:int32")] for op in ("nonzero", "nonzero_count")},
    **{
        op: [
            use(F.unique, "4,6"),
            use(lambda x: F.unique(x, return_inverse=True), "4,6:int32"),
            use(lambda x: F.unique(x, return_counts=True), "4,6:int32"),
        ]
        for op in ("unique", "unique_count")
    },
    **{
        op: [
            use(lambda x, n: F.repeat_interleave(x, n, axis=0), "4,6", "4:int64"),
            use(lambda x, n: F.repeat_interleave(x, n, axis=1), "4,6", "1:int64"),
        ]
        for op in ("repeat_each", "repeat_count")
    },
    **{
        op: [use(lambda b, s: F.non_maximum_suppression(b, s, 2, 0.5, 0.0), *operands)]
        for op in ("non_maximum_suppression", "non_maximum_suppression_count")
        for operands in [("2,4,4", "2,2,4")]
    },
    "masked_scatter": [
        use(
            lambda x, m, u: F.masked_scatter(x, m, u, "picked"),
            *("4,6", "4,6:bool", "12"),
        ),
        use(
            lambda x, m, u: F.masked_scatter(x, m, u, "picked"),
            *("4,6", "6:bool", "4,3"),
        ),
    ],
    # Random numbers
    "advance_seed": [use(after_draws, "4,6")],
    # Packed blocks
    "dequantize": [
        use(lambda x: F.dequantize(Q4_0, x), "4,36:uint8"),
        use(lambda x: F.dequantize(Q4_0, x), "2,4,18:uint8"),
    ],
    "qmatmul": [
        use(lambda x, w: F.qmatmul(Q4_0, None, x, w), "4,64", "6,36:uint8"),
        use(lambda x, w: F.qmatmul(Q4_0, None, x, w), "2,4,32", "6,18:uint8"),
    ],
    # Declared functions
    "custom": [
        use(lambda x, y: F.custom("samples.less", CPU(), [x, y], [GRID]), "4,6", "4,6")
    ],
    "inplace_custom": [
        use(
            lambda x, y: F.inplace_custom("samples.add_to", CPU(), [x, y]), "4,6", "4,6"
        )
    ],
}
