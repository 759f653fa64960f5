"""Class methods that make tensors, by name of the function that does the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite._op_table import fronts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.driver import Device
    from maxlite.dtype import DType
    from maxlite.graph import Dim, ShapeLike
    from maxlite.graph._node import TensorValue
    from maxlite.sharding import DeviceMapping, DeviceMesh
    from maxlite.tensor._data import NestedArray, Number
    from maxlite.tensor._tensor import Tensor

    Where = Device | DeviceMesh | DeviceMapping | None


class Constructors:
    """Constructors of Tensor. See the function of the same name in ``functional``."""

    __slots__ = ()

    @classmethod
    def constant(
        cls,
        value: NestedArray | Number | Any,
        *,
        dtype: DType | None = None,
        device: Where = None,
    ) -> Tensor:
        """Makes a tensor of numbers. See ``functional.constant``."""
        return fronts["constant"](value, dtype, device)

    @classmethod
    def full(
        cls,
        shape: ShapeLike,
        value: Number,
        *,
        dtype: DType | None = None,
        device: Where = None,
    ) -> Tensor:
        """Makes a tensor of one value. See ``functional.full``."""
        return fronts["full"](shape, value, dtype=dtype, device=device)

    @classmethod
    def zeros(
        cls, shape: ShapeLike, *, dtype: DType | None = None, device: Where = None
    ) -> Tensor:
        """Makes a tensor of zeros. See ``functional.zeros``."""
        return fronts["zeros"](shape, dtype=dtype, device=device)

    @classmethod
    def ones(
        cls, shape: ShapeLike, *, dtype: DType | None = None, device: Where = None
    ) -> Tensor:
        """Makes a tensor of ones. See ``functional.ones``."""
        return fronts["ones"](shape, dtype=dtype, device=device)

    @classmethod
    def full_like(cls, input: Tensor, value: Number) -> Tensor:
        """Makes a tensor of one value, laid out as ``input``."""
        return fronts["full_like"](input, value)

    @classmethod
    def zeros_like(cls, input: Tensor) -> Tensor:
        """Makes a tensor of zeros, laid out as ``input``."""
        return fronts["zeros_like"](input)

    @classmethod
    def ones_like(cls, input: Tensor) -> Tensor:
        """Makes a tensor of ones, laid out as ``input``."""
        return fronts["ones_like"](input)

    @classmethod
    def arange(
        cls,
        start: Any = 0,
        stop: Any = None,
        step: Any = 1,
        *,
        dtype: DType | None = None,
        device: Where = None,
    ) -> Tensor:
        """Counts from ``start`` to ``stop``; one argument alone is the stop."""
        if stop is None:
            start, stop = 0, start
        return fronts["range"](start, stop, step, dtype=dtype, device=device)

    @classmethod
    def range_like(cls, type: Tensor) -> Tensor:
        """Counts along the last axis, in shape and dtype of ``type``."""
        return fronts["range_like"](type)

    @classmethod
    def from_dim(cls, dim: Dim | int | str) -> Tensor:
        """Makes an int64 tensor of rank 0 from a size."""
        return fronts["from_dim"](dim)

    @classmethod
    def from_dlpack(cls, array: Any) -> Tensor:
        """Makes a tensor from anything that speaks DLPack; numpy data are copied."""
        return fronts["from_dlpack"](array)

    @classmethod
    def from_graph_value(cls, value: TensorValue) -> Tensor:
        """Makes a pending tensor of the current context from a recorded value."""
        return fronts["from_graph_value"](value)

    @classmethod
    def from_shard_values(
        cls, shard_values: Sequence[Tensor], mapping: DeviceMapping | None = None
    ) -> Tensor:
        """Joins one-device tensors to one over a mesh, each a device's piece."""
        return fronts["from_shard_values"](shard_values, mapping)
