"""The functions of ``maxlite.functional`` on values of a graph.

Inside ``with Graph(...) as graph`` they are recorded into it, and give TensorValues in
place of Tensors; see ``docs/graphs.md``. Arguments may be values or tensors. What each
does, and raises, is written at the function of the same name in ``functional``.

Beyond the reference: every function of ``functional`` is here, also under names that
the reference's room lacks. Collectives work on one distributed value in place of a list
with a value per device.

Source: max.graph.ops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import maxlite.functional as F
from maxlite.dtype import DType
from maxlite.functional._graph_building import (
    buffer_tensor,
    lifted,
    on_values,
    store_value,
)
from maxlite.graph._building import BufferValue
from maxlite.graph._interpolation import InterpolationMode
from maxlite.graph._type import TensorType
from maxlite.sharding import TensorLayout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maxlite.driver import Device
    from maxlite.graph._dim import DimLike
    from maxlite.graph._node import TensorValue
    from maxlite.graph._type import DeviceRef

__all__ = [
    "InterpolationMode",
    "abs",
    "acos",
    "add",
    "argmax",
    "argmin",
    "argsort",
    "as_interleaved_complex",
    "atanh",
    "avg_pool2d",
    "band_part",
    "bottom_k",
    "broadcast_to",
    "buffer_load",
    "buffer_store",
    "buffer_store_slice",
    "cast",
    "ceil",
    "chunk",
    "concat",
    "cond",
    "constant",
    "constant_external",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "cos",
    "cumsum",
    "custom",
    "dequantize",
    "div",
    "equal",
    "erf",
    "exp",
    "flatten",
    "floor",
    "floor_div",
    "fold",
    "gather",
    "gather_nd",
    "gelu",
    "greater",
    "greater_equal",
    "group_norm",
    "hann_window",
    "inplace_custom",
    "irfft",
    "is_inf",
    "is_nan",
    "layer_norm",
    "log",
    "log1p",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsoftmax",
    "masked_scatter",
    "matmul",
    "max",
    "max_pool2d",
    "mean",
    "min",
    "mod",
    "mul",
    "negate",
    "non_maximum_suppression",
    "nonzero",
    "not_equal",
    "outer",
    "pad",
    "permute",
    "pow",
    "print",
    "prod",
    "qmatmul",
    "random",
    "range",
    "rebind",
    "relu",
    "repeat_interleave",
    "reshape",
    "resize",
    "resize_bicubic",
    "resize_linear",
    "resize_nearest",
    "rms_norm",
    "roi_align",
    "round",
    "rsqrt",
    "scatter",
    "scatter_add",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd",
    "scatter_nd_add",
    "scatter_nd_max",
    "scatter_nd_min",
    "scatter_nd_mul",
    "shape_to_tensor",
    "side_stream",
    "sigmoid",
    "silu",
    "sin",
    "slice_tensor",
    "softmax",
    "split",
    "sqrt",
    "squeeze",
    "stack",
    "sub",
    "sum",
    "tanh",
    "tile",
    "top_k",
    "transfer_to",
    "transpose",
    "trunc",
    "unsqueeze",
    "where",
    "while_loop",
]

_NOT_HERE = {"call_on_mesh", "ensure_context", "functional", "in_graph_context", "lazy"}
"""Functions on functions, and contexts: they stand around a graph."""


def _value(function: Callable[..., Any]) -> Callable[..., TensorValue]:
    return lifted(function)


def _pair(
    function: Callable[..., Any],
) -> Callable[..., tuple[TensorValue, TensorValue]]:
    return lifted(function)


def _values(function: Callable[..., Any]) -> Callable[..., list[TensorValue]]:
    return lifted(function)


abs = _value(F.abs)
acos = _value(F.acos)
add = _value(F.add)
argmax = _value(F.argmax)
argmin = _value(F.argmin)
argsort = _value(F.argsort)
as_interleaved_complex = _value(F.as_interleaved_complex)
atanh = _value(F.atanh)
avg_pool2d = _value(F.avg_pool2d)
band_part = _value(F.band_part)
bottom_k = _pair(F.bottom_k)
broadcast_to = _value(F.broadcast_to)
cast = _value(F.cast)
ceil = _value(F.ceil)
chunk = _values(F.chunk)
concat = _value(F.concat)
cond = _values(F.cond)
constant = _value(F.constant)
conv2d = _value(F.conv2d)
conv2d_transpose = _value(F.conv2d_transpose)
conv3d = _value(F.conv3d)
cos = _value(F.cos)
cumsum = _value(F.cumsum)
custom = _values(F.custom)
dequantize = _value(F.dequantize)
div = _value(F.div)
equal = _value(F.equal)
erf = _value(F.erf)
exp = _value(F.exp)
flatten = _value(F.flatten)
floor = _value(F.floor)
floor_div = _value(F.floor_div)
fold = _value(F.fold)
gather = _value(F.gather)
gather_nd = _value(F.gather_nd)
gelu = _value(F.gelu)
greater = _value(F.greater)
greater_equal = _value(F.greater_equal)
group_norm = _value(F.group_norm)
irfft = _value(F.irfft)
is_inf = _value(F.is_inf)
is_nan = _value(F.is_nan)
layer_norm = _value(F.layer_norm)
log = _value(F.log)
log1p = _value(F.log1p)
logical_and = _value(F.logical_and)
logical_not = _value(F.logical_not)
logical_or = _value(F.logical_or)
logical_xor = _value(F.logical_xor)
logsoftmax = _value(F.logsoftmax)
masked_scatter = _value(F.masked_scatter)
matmul = _value(F.matmul)
max = _value(F.max)
max_pool2d = _value(F.max_pool2d)
mean = _value(F.mean)
min = _value(F.min)
mod = _value(F.mod)
mul = _value(F.mul)
negate = _value(F.negate)
non_maximum_suppression = _value(F.non_maximum_suppression)
nonzero = _value(F.nonzero)
not_equal = _value(F.not_equal)
outer = _value(F.outer)
pad = _value(F.pad)
permute = _value(F.permute)
pow = _value(F.pow)
prod = _value(F.prod)
qmatmul = _value(F.qmatmul)
range = _value(F.range)
rebind = _value(F.rebind)
relu = _value(F.relu)
repeat_interleave = _value(F.repeat_interleave)
reshape = _value(F.reshape)
resize_bicubic = _value(F.resize_bicubic)
resize_linear = _value(F.resize_linear)
resize_nearest = _value(F.resize_nearest)
rms_norm = _value(F.rms_norm)
roi_align = _value(F.roi_align)
round = _value(F.round)
rsqrt = _value(F.rsqrt)
scatter = _value(F.scatter)
scatter_add = _value(F.scatter_add)
scatter_max = _value(F.scatter_max)
scatter_min = _value(F.scatter_min)
scatter_mul = _value(F.scatter_mul)
scatter_nd = _value(F.scatter_nd)
scatter_nd_add = _value(F.scatter_nd_add)
scatter_nd_max = _value(F.scatter_nd_max)
scatter_nd_min = _value(F.scatter_nd_min)
scatter_nd_mul = _value(F.scatter_nd_mul)
shape_to_tensor = _value(F.shape_to_tensor)
side_stream = _values(F.side_stream)
sigmoid = _value(F.sigmoid)
silu = _value(F.silu)
sin = _value(F.sin)
slice_tensor = _value(F.slice_tensor)
softmax = _value(F.softmax)
sqrt = _value(F.sqrt)
squeeze = _value(F.squeeze)
stack = _value(F.stack)
sub = _value(F.sub)
sum = _value(F.sum)
tanh = _value(F.tanh)
tile = _value(F.tile)
top_k = _pair(F.top_k)
transpose = _value(F.transpose)
trunc = _value(F.trunc)
unsqueeze = _value(F.unsqueeze)
while_loop = _values(F.while_loop)


# Functions that differ from their namesakes -------------------------------------------


def split(
    x: TensorValue, split_sizes: int | Sequence[DimLike], axis: int = 0
) -> list[TensorValue]:
    """Cuts along an axis into pieces of given sizes. See ``functional.split``."""
    return on_values(F.split, x, split_sizes, axis)


def where(condition: TensorValue, x: Any, y: Any) -> TensorValue:
    """Chooses between elements. See ``functional.where``."""
    return on_values(F.where, condition, x, y)


def transfer_to(x: TensorValue, device: Device | DeviceRef) -> TensorValue:
    """Moves to a device. See ``functional.transfer_to``."""
    return on_values(F.transfer_to, x, device)


def hann_window(
    window_length: int,
    device: Device | DeviceRef | None = None,
    periodic: bool = True,
    dtype: DType = DType.float32,
) -> TensorValue:
    """Makes a Hann window. See ``functional.hann_window``."""
    return on_values(
        F.hann_window, window_length, periodic=periodic, dtype=dtype, device=device
    )


def resize(
    input: TensorValue,
    shape: Sequence[DimLike],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
) -> TensorValue:
    """Interpolates between the elements of a grid. See ``functional.resize``."""
    return on_values(F.resize, input, shape, interpolation)


def constant_external(
    name: str,
    type: TensorType | TensorLayout,
    align: int | None = None,
    is_placeholder: bool = False,
) -> TensorValue:
    """Declares a named weight of the graph. See ``functional.constant_external``."""
    layout: Any = type
    if isinstance(type, TensorType):
        layout = TensorLayout(type.dtype, type.shape, type.device)
    return on_values(F.constant_external, name, layout, align, is_placeholder)


def print(value: TensorValue, label: str = "debug_tensor") -> None:
    """Prints a value when the program runs. See ``functional.print``."""
    on_values(F.print, value, label)


# Buffers ------------------------------------------------------------------------------


def buffer_load(x: BufferValue) -> TensorValue:
    """Gives what a buffer holds at this point of the program.

    Raises:
        TypeError: ``x`` is no buffer.
    """
    return x.buffer.content


def buffer_store(destination: BufferValue, source: TensorValue) -> None:
    """Writes to a buffer.

    Raises:
        TypeError: ``destination`` is no buffer, or ``source`` no value.
        ValueError: ``source`` has another dtype or shape.
    """
    store_value(destination, source)


def buffer_store_slice(
    destination: BufferValue, source: TensorValue, indices: Any
) -> None:
    """Writes to a part of a buffer; ``indices`` is what ``buffer[...]`` takes.

    Raises:
        TypeError: ``destination`` is no buffer, or ``source`` no value.
        ValueError: ``source`` has another dtype, or another shape than the part.
    """
    store_value(destination, source, indices)


def inplace_custom(
    name: str,
    device: Device | DeviceRef,
    values: Sequence[TensorValue | BufferValue],
    out_types: Sequence[TensorType] | None = None,
    parameters: dict[str, Any] | None = None,
) -> list[TensorValue]:
    """Calls a declared function that writes. See ``functional.inplace_custom``."""
    operands = [buffer_tensor(x) if isinstance(x, BufferValue) else x for x in values]
    return on_values(F.inplace_custom, name, device, operands, out_types, parameters)


# Random numbers, and what the reference lacks -----------------------------------------


class random:
    """Draws from the seed of the program. See ``functional.uniform``.

    Source: max.graph.ops.random.
    """

    @staticmethod
    def uniform(like: TensorType, range: tuple[float, float] = (0, 1)) -> TensorValue:
        """Draws numbers that are equally likely everywhere in a range."""
        to = {"dtype": like.dtype, "device": like.device}
        return on_values(F.uniform, like.shape, range, **to)

    @staticmethod
    def normal(like: TensorType, mean: float = 0.0, std: float = 1.0) -> TensorValue:
        """Draws numbers from a normal distribution."""
        to = {"dtype": like.dtype, "device": like.device}
        return on_values(F.normal, like.shape, mean, std, **to)

    gaussian = normal


def __getattr__(name: str) -> Callable[..., Any]:
    if name in F.__all__ and name not in _NOT_HERE:
        return lifted(getattr(F, name))
    raise AttributeError(
        f"maxlite.graph.ops has no function {name!r}. It has those of "
        "maxlite.functional; write others on tensors, with F.functional."
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *F.__all__} - _NOT_HERE)
