"""Making tensors: of one value, of a range, of data, of a named weight.

Where a tensor is asked for over a mesh it is made there, each device its own piece. A
pending sum keeps the value on the first shard and zeros elsewhere, so that the global
value is what was asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.functional._dispatch import apply
from maxlite.functional._operands import as_tensor
from maxlite.graph import Dim
from maxlite.graph._shape import compact_shape
from maxlite.graph._spec import Spec, spec
from maxlite.sharding import (
    DeviceMapping,
    ShardingError,
)
from maxlite.tensor._context import outside
from maxlite.tensor._data import as_array, check_number
from maxlite.tensor._defaults import as_mapping, defaults, on_device
from maxlite.tensor._number import Number
from maxlite.tensor._tensor import Tensor, from_data, from_foreign, from_numpy

if TYPE_CHECKING:
    from maxlite.driver import Device
    from maxlite.graph import DeviceRef, ShapeLike
    from maxlite.sharding import DeviceMesh
    from maxlite.tensor._data import NestedArray
    from maxlite.tensor._data import Number as Scalar

    Where = Device | DeviceMapping | DeviceMesh | DeviceRef | None


def _full(value: jax.Array, *, shape: Any, mapping: DeviceMapping) -> jax.Array:
    return jnp.broadcast_to(value, shape)


def _infer_full(
    value: Spec, *, shape: Any, mapping: DeviceMapping
) -> tuple[DType, Any, DeviceMapping]:
    check_shape("full", shape, mapping)
    return value.dtype, shape, mapping


_FULL = register(
    Op(
        name="full",
        fn=_full,
        infer=_infer_full,
        params=("shape", "mapping"),
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
    number = number_of("full", value, chosen, mapping)
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


def check_shape(who: str, shape: Any, mapping: DeviceMapping) -> None:
    """Refuses negative sizes, and placements that the rank lacks."""
    for size in shape:
        if not isinstance(size, Dim) and size < 0:
            raise ValueError(f"{who}: a size must be 0 or more, got {size}.")
    if mapping.is_unknown:
        raise ShardingError(
            f"{who}: nothing can be made as Unknown, got {mapping!r}. Use "
            "Tensor.from_shard_values."
        )
    mapping.check_shape(shape)


def number_of(who: str, value: Any, dtype: DType, mapping: DeviceMapping) -> Number:
    """Makes the operand of a number that a tensor is made from."""
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
