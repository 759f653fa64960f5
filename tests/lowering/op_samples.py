"""One or more small uses of every op that has placement rows.

A sample is a function and the shapes of its operands; every size divides by two. The op
under test is found in what the function records, so fronts that record several ops will
do.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from maxlite import DType
from maxlite import functional as F


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


def scatter(name: str) -> list[Sample]:
    function = getattr(F, name)
    return [
        use(lambda x, u, i: function(x, u, i, axis=0), "4,6", "2,6", "2,6:int64"),
        use(lambda x, u, i: function(x, u, i, axis=1), "4,6", "4,2", "4,2:int64"),
    ]


def scatter_nd(name: str) -> list[Sample]:
    return [use(getattr(F, name), "4,6", "2,6", "2,1:int64")]


SAMPLES: dict[str, list[Sample]] = {
    # Unary
    **{
        name: unary(name)
        for name in (
            *("abs", "acos", "atanh", "cos", "erf", "exp", "is_inf", "is_nan", "log"),
            *("log1p", "negate", "rsqrt", "sin", "sqrt", "tanh"),
            *("gelu", "relu", "sigmoid", "silu"),
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
            *("equal", "not_equal", "greater", "greater_equal"),
        )
    },
    **{name: linear_binary(name) for name in ("add", "sub", "mul", "div")},
    **{name: logical(name) for name in ("logical_and", "logical_or", "logical_xor")},
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
    # Reductions and scans
    **{
        name: along_axis(name)
        for name in (
            *("sum", "mean", "prod", "max", "min", "argmax", "argmin"),
            *("cumsum", "softmax", "logsoftmax"),
        )
    },
    "top_k": along_axis("top_k", 2),
    "bottom_k": along_axis("bottom_k", 2),
    "argsort": [use(F.argsort, "6")],
    # Norms
    "layer_norm": [
        use(lambda x, g, b: F.layer_norm(x, g, b, 1e-5), "4,6", "6", "6"),
        use(lambda x, g, b: F.layer_norm(x, g, b, 1e-5), "2,4,6", "6", "6"),
    ],
    "rms_norm": [use(lambda x, w: F.rms_norm(x, w, 1e-5), "2,4,6", "6")],
    "group_norm": [
        use(lambda x, g, b: F.group_norm(x, g, b, 2, 1e-5), "2,4,6", "4", "4")
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
        use(lambda x: x[None, :, None, 2], "4,6,2"),
        use(lambda x, i: x[:, i], "4,6", ":int64"),
    ],
    "slice_update": [
        use(lambda x, y: F.buffer_store_slice(x, y, [slice(None), 1]), "4,6", "4"),
        use(lambda x, y: F.buffer_store_slice(x, y, [slice(1, 3)]), "4,6", "2,6"),
    ],
    "gather": [
        use(lambda x, i: F.gather(x, i, 0), "4,6", "2:int64"),
        use(lambda x, i: F.gather(x, i, 1), "2,4,6", "2,4:int64"),
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
}
