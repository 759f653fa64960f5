"""What a Tensor can do, by name: operators and methods that are ops.

Each body calls the typed function of an op through the table, because the functions
stand in a room below this one. A test checks that every name used here is a function
of that room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite._op_table import fronts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.driver import Device
    from maxlite.dtype import DType
    from maxlite.graph import DeviceRef, ShapeLike
    from maxlite.sharding import DeviceMapping, DeviceMesh
    from maxlite.tensor._tensor import Tensor

    Operand = Any
    """A Tensor, a Python or numpy number, a numpy array, or a Dim."""

    Axes = int | Sequence[int] | None
    """One axis, several axes, or None for all."""


class Operators:
    """Operators and op methods of Tensor. See the function of the same name."""

    __slots__ = ()

    # Arithmetic -----------------------------------------------------------------

    def __add__(self, other: Operand) -> Tensor:
        return fronts["add"](self, other)

    def __radd__(self, other: Operand) -> Tensor:
        return fronts["add"](other, self)

    def __sub__(self, other: Operand) -> Tensor:
        return fronts["sub"](self, other)

    def __rsub__(self, other: Operand) -> Tensor:
        return fronts["sub"](other, self)

    def __mul__(self, other: Operand) -> Tensor:
        return fronts["mul"](self, other)

    def __rmul__(self, other: Operand) -> Tensor:
        return fronts["mul"](other, self)

    def __truediv__(self, other: Operand) -> Tensor:
        return fronts["div"](self, other)

    def __rtruediv__(self, other: Operand) -> Tensor:
        return fronts["div"](other, self)

    def __floordiv__(self, other: Operand) -> Tensor:
        return fronts["floor_div"](self, other)

    def __rfloordiv__(self, other: Operand) -> Tensor:
        return fronts["floor_div"](other, self)

    def __mod__(self, other: Operand) -> Tensor:
        return fronts["mod"](self, other)

    def __rmod__(self, other: Operand) -> Tensor:
        return fronts["mod"](other, self)

    def __divmod__(self, other: Operand) -> tuple[Tensor, Tensor]:
        return fronts["floor_div"](self, other), fronts["mod"](self, other)

    def __rdivmod__(self, other: Operand) -> tuple[Tensor, Tensor]:
        return fronts["floor_div"](other, self), fronts["mod"](other, self)

    def __pow__(self, other: Operand) -> Tensor:
        return fronts["pow"](self, other)

    def __rpow__(self, other: Operand) -> Tensor:
        return fronts["pow"](other, self)

    def __matmul__(self, other: Operand) -> Tensor:
        return fronts["matmul"](self, other)

    def __rmatmul__(self, other: Operand) -> Tensor:
        return fronts["matmul"](other, self)

    def __neg__(self) -> Tensor:
        return fronts["negate"](self)

    def __pos__(self) -> Tensor:
        return fronts["positive"](self)

    def __abs__(self) -> Tensor:
        return fronts["abs"](self)

    def __round__(self, ndigits: int | None = None) -> Tensor:
        return fronts["round"](self, decimals=ndigits or 0)

    # Comparison -----------------------------------------------------------------

    def __eq__(self, other: Operand) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return fronts["equal"](self, other)

    def __ne__(self, other: Operand) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return fronts["not_equal"](self, other)

    __hash__ = object.__hash__

    def __lt__(self, other: Operand) -> Tensor:
        return fronts["less"](self, other)

    def __le__(self, other: Operand) -> Tensor:
        return fronts["less_equal"](self, other)

    def __gt__(self, other: Operand) -> Tensor:
        return fronts["greater"](self, other)

    def __ge__(self, other: Operand) -> Tensor:
        return fronts["greater_equal"](self, other)

    # Bits of integers; a bool has one, so these are its logic too ---------------

    def __and__(self, other: Operand) -> Tensor:
        return fronts["bitwise_and"](self, other)

    def __rand__(self, other: Operand) -> Tensor:
        return fronts["bitwise_and"](other, self)

    def __or__(self, other: Operand) -> Tensor:
        return fronts["bitwise_or"](self, other)

    def __ror__(self, other: Operand) -> Tensor:
        return fronts["bitwise_or"](other, self)

    def __xor__(self, other: Operand) -> Tensor:
        return fronts["bitwise_xor"](self, other)

    def __rxor__(self, other: Operand) -> Tensor:
        return fronts["bitwise_xor"](other, self)

    def __lshift__(self, other: Operand) -> Tensor:
        return fronts["left_shift"](self, other)

    def __rlshift__(self, other: Operand) -> Tensor:
        return fronts["left_shift"](other, self)

    def __rshift__(self, other: Operand) -> Tensor:
        return fronts["right_shift"](self, other)

    def __rrshift__(self, other: Operand) -> Tensor:
        return fronts["right_shift"](other, self)

    def __invert__(self) -> Tensor:
        return fronts["bitwise_not"](self)

    # Indexing -------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Tensor:
        return fronts["slice_tensor"](self, index)

    def __setitem__(self, index: Any, value: Operand | Sequence[Any]) -> None:
        fronts["buffer_store_slice"](self, value, index)

    # Shape ----------------------------------------------------------------------

    @property
    def T(self) -> Tensor:
        """The tensor with its last two axes swapped."""
        return fronts["transpose"](self, -2, -1)

    def reshape(self, shape: ShapeLike) -> Tensor:
        """Gives the elements another shape. See ``functional.reshape``."""
        return fronts["reshape"](self, shape)

    def broadcast_to(self, shape: ShapeLike) -> Tensor:
        """Repeats axes of size 1. See ``functional.broadcast_to``."""
        return fronts["broadcast_to"](self, shape)

    def squeeze(self, axis: int) -> Tensor:
        """Drops an axis of size 1. See ``functional.squeeze``."""
        return fronts["squeeze"](self, axis)

    def unsqueeze(self, axis: int) -> Tensor:
        """Adds an axis of size 1. See ``functional.unsqueeze``."""
        return fronts["unsqueeze"](self, axis)

    def transpose(self, dim1: int, dim2: int) -> Tensor:
        """Swaps two axes. See ``functional.transpose``."""
        return fronts["transpose"](self, dim1, dim2)

    def permute(self, dims: Sequence[int]) -> Tensor:
        """Reorders the axes. See ``functional.permute``."""
        return fronts["permute"](self, dims)

    def split(
        self, split_size_or_sections: int | Sequence[Any], axis: int = 0
    ) -> list[Tensor]:
        """Cuts along an axis. See ``functional.split``."""
        return fronts["split"](self, split_size_or_sections, axis)

    # Reductions -----------------------------------------------------------------

    def sum(self, axis: Axes = -1, *, keepdims: bool = True) -> Tensor:
        """Adds up axes. See ``functional.sum``."""
        return fronts["sum"](self, axis, keepdims=keepdims)

    def mean(self, axis: Axes = -1, *, keepdims: bool = True) -> Tensor:
        """Averages axes. See ``functional.mean``."""
        return fronts["mean"](self, axis, keepdims=keepdims)

    def prod(self, axis: Axes = -1, *, keepdims: bool = True) -> Tensor:
        """Multiplies up axes. See ``functional.prod``."""
        return fronts["prod"](self, axis, keepdims=keepdims)

    def max(self, axis: Axes = -1, *, keepdims: bool = True) -> Tensor:
        """Takes the largest along axes. See ``functional.max``."""
        return fronts["max"](self, axis=axis, keepdims=keepdims)

    def min(self, axis: Axes = -1, *, keepdims: bool = True) -> Tensor:
        """Takes the smallest along axes. See ``functional.min``."""
        return fronts["min"](self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: int | None = -1, *, keepdims: bool = True) -> Tensor:
        """Finds the largest along an axis. See ``functional.argmax``."""
        return fronts["argmax"](self, axis, keepdims=keepdims)

    # Values ---------------------------------------------------------------------

    def cast(self, dtype: DType) -> Tensor:
        """Converts the elements; the tensor itself when it has the dtype already."""
        return fronts["cast"](self, dtype)

    def clip(self, *, min: Any = None, max: Any = None) -> Tensor:
        """Bounds the elements on either side, or both."""
        if min is not None and max is not None:
            return fronts["clamp"](self, min, max)
        bounded: Any = self
        if max is not None:
            bounded = fronts["min"](bounded, max)
        return bounded if min is None else fronts["max"](bounded, min)

    def to(self, target: Device | DeviceRef | DeviceMesh | DeviceMapping) -> Tensor:
        """Moves to a device, a mesh or a mapping. See ``functional.transfer_to``."""
        return fronts["move"](self, target)

    def rebind_mapping(self, mapping: DeviceMapping) -> Tensor:
        """Says anew what the shards are. See ``functional._transfer``."""
        return fronts["rebind_mapping"](self, mapping)
