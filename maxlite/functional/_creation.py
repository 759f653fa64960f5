"""Making tensors: of one value, of a range, of data, of a named weight.

Where a tensor is asked for over a mesh it is made there, each device its own piece. A
pending sum keeps the value on the first shard and zeros elsewhere, so that the global
value is what was asked for.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.driver import CPU
from maxlite.dtype import FLOATS, DType
from maxlite.functional._dispatch import Number, Operand, apply, as_tensor
from maxlite.graph import Dim
from maxlite.graph._graph import TensorValue
from maxlite.graph._shape import compact_dim, compact_shape
from maxlite.graph._spec import Spec, spec
from maxlite.realization_context._eager import graph_context
from maxlite.sharding import (
    BufferLayout,
    DeviceMapping,
    ShardingError,
    TensorLayout,
)
from maxlite.tensor._context import current_realization_context, outside
from maxlite.tensor._data import as_array, check_number
from maxlite.tensor._defaults import as_mapping, defaults, on_device, plain
from maxlite.tensor._tensor import Tensor, from_data, from_foreign, from_numpy

if TYPE_CHECKING:
    from maxlite.driver import Device
    from maxlite.graph import DeviceRef, DimLike, ShapeLike
    from maxlite.sharding import DeviceMesh
    from maxlite.tensor._data import NestedArray
    from maxlite.tensor._data import Number as Scalar

    Where = Device | DeviceMapping | DeviceMesh | DeviceRef | None


def _full(value: jax.Array, *, shape: Any, mapping: DeviceMapping) -> jax.Array:
    return jnp.broadcast_to(value, shape)


def _infer_full(
    value: Spec, *, shape: Any, mapping: DeviceMapping
) -> tuple[DType, Any, DeviceMapping]:
    _check_shape("full", shape, mapping)
    return value.dtype, shape, mapping


def _range(
    start: jax.Array, step: jax.Array, *, size: Any, dtype: DType, mapping: Any
) -> jax.Array:
    target = dtype.to_jax()
    steps = lax.iota(target, size)
    return start.astype(target) + steps * step.astype(target)


def _infer_range(
    start: Spec, step: Spec, *, size: Any, dtype: DType, mapping: DeviceMapping
) -> tuple[DType, Any, DeviceMapping]:
    _check_shape("range", (size,), mapping)
    return dtype, (size,), mapping


def _dim(*, dim: Any, mapping: Any) -> jax.Array:
    return jnp.asarray(dim, jnp.int64)


def _infer_dim(*, dim: Any, mapping: Any) -> tuple[DType, Any, Any]:
    return DType.int64, (), mapping


_FULL = register(
    Op(
        name="full",
        fn=_full,
        infer=_infer_full,
        params=("shape", "mapping"),
        places=True,
    )
)
_RANGE = register(
    Op(
        name="range",
        fn=_range,
        infer=_infer_range,
        params=("size", "dtype", "mapping"),
        places=True,
    )
)
_FROM_DIM = register(
    Op(
        name="from_dim",
        fn=_dim,
        infer=_infer_dim,
        params=("dim", "mapping"),
        places=True,
    )
)


@front
def full(
    shape: ShapeLike,
    value: Scalar,
    *,
    dtype: DType | None = None,
    device: Where = None,
) -> Tensor:
    """Makes a tensor of one value.

    Args:
        shape: Sizes; inside a trace they may be symbolic.
        value: A number that the dtype can hold.
        dtype: The default dtype when None.
        device: A device, a mesh (replicated) or a mapping; the default when None.

    Raises:
        TypeError: ``shape`` cannot be iterated, or ``value`` is no number.
        ValueError: The dtype cannot hold ``value``, or a size is negative.

    Source: max.experimental.functional.full.

    >>> full([2], 7.0).to_numpy().tolist()
    [7.0, 7.0]
    """
    chosen, _ = defaults(dtype)
    mapping = as_mapping(device)
    number = _number("full", value, chosen, mapping)
    return apply(_FULL, (number,), compact_shape(shape), mapping)


@front
def zeros(
    shape: ShapeLike, *, dtype: DType | None = None, device: Where = None
) -> Tensor:
    """Makes a tensor of zeros. See :func:`full`.

    Source: max.experimental.functional.zeros.

    >>> zeros([2]).to_numpy().tolist()
    [0.0, 0.0]
    """
    return full(shape, 0, dtype=dtype, device=device)


@front
def ones(
    shape: ShapeLike, *, dtype: DType | None = None, device: Where = None
) -> Tensor:
    """Makes a tensor of ones. See :func:`full`.

    Source: max.experimental.functional.ones.

    >>> ones([2]).to_numpy().tolist()
    [1.0, 1.0]
    """
    return full(shape, 1, dtype=dtype, device=device)


@front
def full_like(like: Tensor, value: Scalar) -> Tensor:
    """Makes a tensor of one value, with dtype, shape and mapping of another.

    Source: max.experimental.functional.full_like.

    >>> full_like(ones([2]), 3.0).to_numpy().tolist()
    [3.0, 3.0]
    """
    as_tensor("full_like", like, "like")
    return full(like._spec.shape, value, dtype=like.dtype, device=like.mapping)


@front
def zeros_like(like: Tensor) -> Tensor:
    """Makes a tensor of zeros, with dtype, shape and mapping of another.

    Source: max.experimental.functional.zeros_like.

    >>> zeros_like(ones([2])).to_numpy().tolist()
    [0.0, 0.0]
    """
    return full_like(like, 0)


@front
def ones_like(like: Tensor) -> Tensor:
    """Makes a tensor of ones, with dtype, shape and mapping of another.

    Source: max.experimental.functional.ones_like.

    >>> ones_like(zeros([2])).to_numpy().tolist()
    [1.0, 1.0]
    """
    return full_like(like, 1)


@front
def range(
    start: Any,
    stop: Any,
    step: Any = 1,
    out_dim: DimLike | None = None,
    *,
    dtype: DType | None = None,
    device: Where = None,
) -> Tensor:
    """Counts from ``start`` up to, but not including, ``stop``.

    Args:
        start: A number, a Dim or a tensor of rank 0.
        stop: Likewise.
        step: Likewise; not 0.
        out_dim: The length, where it cannot be computed from numbers and Dims.
        dtype: The default dtype when None, also for whole numbers.
        device: A device, a mesh (replicated) or a mapping; the default when None.

    Returns:
        Shape ``[ceil((stop - start) / step)]``.

    Raises:
        ValueError: The step is 0 or leads away from ``stop``, or the length is not
            known.
        TypeError: ``out_dim`` contradicts the length.

    Source: max.experimental.functional.range.

    >>> range(0, 3).to_numpy().tolist()
    [0.0, 1.0, 2.0]
    """
    chosen, _ = defaults(dtype)
    mapping = as_mapping(device)
    size = _range_size(start, stop, step, out_dim)
    operands = tuple(_range_operand(x, chosen, mapping) for x in (start, step))
    return apply(_RANGE, operands, size, chosen, mapping)


@front
def arange(
    start: Any,
    stop: Any,
    step: Any = 1,
    out_dim: DimLike | None = None,
    *,
    dtype: DType | None = None,
    device: Where = None,
) -> Tensor:
    """Counts from ``start`` up to ``stop``. The same as :func:`range`.

    Source: max.experimental.functional.arange.

    >>> arange(1, 7, 2).to_numpy().tolist()
    [1.0, 3.0, 5.0]
    """
    return range(start, stop, step, out_dim, dtype=dtype, device=device)


@front
def range_like(like: Tensor) -> Tensor:
    """Counts along the last axis, in dtype, shape and place of another tensor.

    Raises:
        ValueError: ``like`` has no axis.

    Source: max.experimental.tensor.Tensor.range_like.

    >>> range_like(zeros([2, 2])).to_numpy().tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    as_tensor("range_like", like, "like")
    if not like.rank:
        raise ValueError("range_like: the tensor must have an axis, got rank 0.")
    last = like._spec.shape[-1]
    counted = range(0, last, dtype=like.dtype, device=like.mesh)
    return full_like(like, 0) + counted


@front
def constant(
    value: NestedArray | Scalar | Any,
    dtype: DType | None = None,
    device: Where = None,
) -> Tensor:
    """Makes a tensor of numbers. The values are copied.

    Args:
        value: A number, a nested list or tuple of numbers, or an array.
        dtype: The default dtype when None; an array keeps its own.
        device: A device, a mesh (replicated) or a mapping; the default when None.

    Raises:
        ValueError: A ragged list, or a value that the dtype cannot hold.
        TypeError: Something that is no number.

    Source: max.experimental.functional.constant.

    >>> constant([1, 2]).to_numpy().tolist()
    [1.0, 2.0]
    """
    with outside():
        return Tensor(from_data("constant", value, dtype, device))


@front
def from_dlpack(array: Any) -> Tensor:
    """Makes a realized tensor from anything that speaks DLPack.

    Args:
        array: A numpy array, which is copied; a Tensor, Buffer, JAX or other array,
            which is shared where the memory allows it.

    Raises:
        TypeError: ``array`` does not speak DLPack.
        ValueError: It has a dtype that maxlite lacks.

    Source: max.experimental.tensor.Tensor.from_dlpack.

    >>> import numpy as np
    >>> from_dlpack(np.ones(2, np.int64)).dtype
    int64
    """
    if isinstance(array, Tensor):
        return array
    if isinstance(array, np.ndarray):
        checked = as_array("from_dlpack", array, None, DType.float32)
        return from_numpy(checked, on_device(CPU()))
    return from_foreign(array)


@front
def from_graph_value(value: TensorValue) -> Tensor:
    """Makes a pending tensor of the current context from a recorded value.

    Args:
        value: A value of the context's graph.

    Raises:
        LookupError: No context is open.
        TypeError: ``value`` is no recorded value.

    Source: max.experimental.tensor.Tensor.from_graph_value.
    """
    if not isinstance(value, TensorValue):
        raise TypeError(
            "from_graph_value: value must be a TensorValue of a graph, got "
            f"{type(value).__name__}. Use Tensor(value) for data."
        )
    return current_realization_context().create_unrealized((value,))


@front
def from_dim(dim: DimLike) -> Tensor:
    """Makes an int64 tensor of rank 0 from a size.

    Raises:
        ValueError: The size is symbolic, and there is no trace that knows it.

    Source: max.experimental.tensor.Tensor.from_dim.

    >>> from_dim(3).item()
    3
    """
    size = compact_dim(dim)
    if isinstance(size, Dim) and graph_context() is None:
        raise ValueError(
            f"from_dim: the size of {size} is only known inside a trace. Pass a number."
        )
    return apply(_FROM_DIM, (), size, as_mapping(None))


@front
def constant_external(
    name: str,
    layout: TensorLayout,
    align: int | None = None,
    is_placeholder: bool = False,
) -> Tensor:
    """Declares a named weight of the program that is being traced.

    Its value is supplied when the program is compiled, and never becomes part of it.

    Args:
        name: What ``weights=`` calls it.
        layout: Dtype, shape and place.
        align: Ignored.
        is_placeholder: Whether the prefix of the enclosing subgraph call is put in
            front of ``name``.

    Raises:
        TypeError: ``layout`` is a BufferLayout, or no layout.
        RuntimeError: There is no trace.
        ValueError: ``name`` was declared before with another layout.

    Source: max.experimental.functional.constant_external.
    """
    if isinstance(layout, BufferLayout) or not isinstance(layout, TensorLayout):
        raise TypeError(
            f"constant_external: layout of {name!r} must be a TensorLayout, got "
            f"{type(layout).__name__}. A weight cannot be written to."
        )
    ctx = graph_context()
    if ctx is None:
        raise RuntimeError(
            f"constant_external: weight {name!r} can only be declared while a function "
            "is staged. Call it inside the function, or make a tensor with constant."
        )
    described = spec(layout.dtype, compact_shape(layout.shape), plain(layout.mapping))
    value = ctx.declare_weight(name, described, placeholder=is_placeholder)
    return ctx.create_unrealized((value,))


def _check_shape(who: str, shape: Any, mapping: DeviceMapping) -> None:
    for size in shape:
        if not isinstance(size, Dim) and size < 0:
            raise ValueError(f"{who}: a size must be 0 or more, got {size}.")
    if mapping.is_unknown:
        raise ShardingError(
            f"{who}: nothing can be made as Unknown, got {mapping!r}. Use "
            "Tensor.from_shard_values."
        )
    mapping.check_shape(shape)


def _number(who: str, value: Any, dtype: DType, mapping: DeviceMapping) -> Number:
    if isinstance(value, np.generic):
        value = cast("Any", value).item()
    if not isinstance(value, (bool, int, float)):
        raise TypeError(
            f"{who}: value must be a number, got {type(value).__name__}. Use constant "
            "for arrays, and broadcast_to for tensors."
        )
    check_number(who, value, dtype)
    whole = as_mapping(mapping.mesh)
    return Number(value, spec(dtype, (), whole, literal=True))


def _range_operand(x: Any, dtype: DType, mapping: DeviceMapping) -> Operand:
    if isinstance(x, Tensor):
        if x.rank:
            raise ValueError(
                f"range: a bound must have rank 0, got shape {x.shape}. Index it first."
            )
        return x
    if isinstance(x, Dim):
        return from_dim(x)
    exact = DType.float64 if dtype in FLOATS else dtype
    return _number("range", x, exact, mapping)


def _range_size(start: Any, stop: Any, step: Any, out_dim: Any) -> int | Dim:
    size = _computed_size(start, stop, step)
    if out_dim is None:
        if size is None:
            raise ValueError(
                "range: the length must be known, got traced tensors. Pass out_dim."
            )
        return size
    wanted = compact_dim(out_dim)
    if isinstance(size, int) and isinstance(wanted, int) and wanted != size:
        raise TypeError(f"range: out_dim must be the length {size}, got {wanted}.")
    return wanted


def _computed_size(start: Any, stop: Any, step: Any) -> int | Dim | None:
    bounds: list[Any] = [start, stop, step]
    if any(isinstance(x, Tensor) and not x.real for x in bounds):
        return None
    bounds = [x.item() if isinstance(x, Tensor) else x for x in bounds]
    first, last, by = bounds
    if any(isinstance(x, Dim) for x in (first, last, by)):
        return compact_dim((Dim(last) - Dim(first) + Dim(by) - 1) // Dim(by))
    if by == 0 or (last - first) / by < 0:
        raise ValueError(
            f"range: the step must lead from start to stop, got {first}, {last} and "
            f"step {by}. Change its sign."
        )
    length: int = math.ceil((last - first) / by)
    return length
