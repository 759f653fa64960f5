"""What a value of a graph can do: properties, operators, and methods that are ops.

Each op is called by name through the table, because the functions stand in a room below
this one. It is recorded into the graph that is open, and gives a value again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from maxlite._op_table import fronts
from maxlite.graph._shape import Shape
from maxlite.graph._type import DeviceRef, TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.driver import Device
    from maxlite.dtype import DType
    from maxlite.graph._building import BufferValue
    from maxlite.graph._node import TensorValue
    from maxlite.graph._shape import ShapeLike
    from maxlite.graph._spec import Spec

    Operand = Any
    """A TensorValue, a Tensor, a Python or numpy number, a numpy array, or a Dim."""


def _call(name: str, *operands: Any, **options: Any) -> Any:
    return fronts["on_values"](name, *operands, **options)


class Value:
    """A value of a graph: a tensor, or a buffer that the program may write to.

    Source: max.graph.Value.
    """

    __slots__ = ()

    spec: Spec

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.spec.dtype

    @property
    def shape(self) -> Shape:
        """Global sizes of the tensor axes, as a new list of Dims."""
        return Shape(self.spec.shape)

    @property
    def rank(self) -> int:
        """Number of tensor axes."""
        return self.spec.rank

    @property
    def device(self) -> DeviceRef:
        """The device.

        Raises:
            ValueError: The value is distributed.
        """
        if self.spec.is_distributed:
            raise ValueError(
                "device: the value must lie on one device, got "
                f"{self.spec.mapping!r}. Use spec.mapping."
            )
        return DeviceRef.from_device(self.spec.mapping.mesh.devices[0])

    @property
    def tensor(self) -> TensorValue:
        """This value, if it is a tensor.

        Raises:
            TypeError: It is a buffer.
        """
        raise TypeError(
            f"tensor: the value must be a TensorValue, got {self!r}. Load it: "
            "buffer[...]."
        )

    @property
    def buffer(self) -> BufferValue:
        """This value, if it is a buffer.

        Raises:
            TypeError: It is a tensor.
        """
        raise TypeError(
            f"buffer: the value must be a BufferValue, got {self!r}. Declare the input "
            "by BufferType."
        )

    def __repr__(self) -> str:
        where = (
            f"mapping={self.spec.mapping!r}"
            if self.spec.is_distributed
            else f"device={self.device}"
        )
        name = type(self).__name__
        return f"{name}(dtype={self.dtype!r}, shape={self.shape}, {where})"


class ValueOperators(Value):
    """Operators and op methods of TensorValue. See the function of the same name."""

    __slots__ = ()

    @property
    def type(self) -> TensorType:
        """Dtype, shape and device.

        Raises:
            ValueError: The value is distributed.
        """
        return TensorType(self.dtype, self.shape, self.device)

    # Arithmetic -----------------------------------------------------------------

    def __add__(self, other: Operand) -> TensorValue:
        return _call("add", self, other)

    def __radd__(self, other: Operand) -> TensorValue:
        return _call("add", other, self)

    def __sub__(self, other: Operand) -> TensorValue:
        return _call("sub", self, other)

    def __rsub__(self, other: Operand) -> TensorValue:
        return _call("sub", other, self)

    def __mul__(self, other: Operand) -> TensorValue:
        return _call("mul", self, other)

    def __rmul__(self, other: Operand) -> TensorValue:
        return _call("mul", other, self)

    def __truediv__(self, other: Operand) -> TensorValue:
        return _call("div", self, other)

    def __rtruediv__(self, other: Operand) -> TensorValue:
        return _call("div", other, self)

    def __floordiv__(self, other: Operand) -> TensorValue:
        return _call("floor_div", self, other)

    def __rfloordiv__(self, other: Operand) -> TensorValue:
        return _call("floor_div", other, self)

    def __mod__(self, other: Operand) -> TensorValue:
        return _call("mod", self, other)

    def __rmod__(self, other: Operand) -> TensorValue:
        return _call("mod", other, self)

    def __divmod__(self, other: Operand) -> tuple[TensorValue, TensorValue]:
        return _call("floor_div", self, other), _call("mod", self, other)

    def __pow__(self, other: Operand) -> TensorValue:
        return _call("pow", self, other)

    def __rpow__(self, other: Operand) -> TensorValue:
        return _call("pow", other, self)

    def __matmul__(self, other: Operand) -> TensorValue:
        return _call("matmul", self, other)

    def __rmatmul__(self, other: Operand) -> TensorValue:
        return _call("matmul", other, self)

    def __neg__(self) -> TensorValue:
        return _call("negate", self)

    def __abs__(self) -> TensorValue:
        return _call("abs", self)

    # Comparison and logic -------------------------------------------------------

    def __eq__(self, other: Operand) -> TensorValue:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _call("equal", self, other)

    def __ne__(self, other: Operand) -> TensorValue:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _call("not_equal", self, other)

    __hash__ = object.__hash__

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "bool: a value of a graph is not known until the program runs. Use "
            "ops.where, ops.cond or ops.while_loop."
        )

    def __lt__(self, other: Operand) -> TensorValue:
        return _call("greater", other, self)

    def __le__(self, other: Operand) -> TensorValue:
        return _call("greater_equal", other, self)

    def __gt__(self, other: Operand) -> TensorValue:
        return _call("greater", self, other)

    def __ge__(self, other: Operand) -> TensorValue:
        return _call("greater_equal", self, other)

    def __and__(self, other: Operand) -> TensorValue:
        return _call("logical_and", self, other)

    def __rand__(self, other: Operand) -> TensorValue:
        return _call("logical_and", other, self)

    def __or__(self, other: Operand) -> TensorValue:
        return _call("logical_or", self, other)

    def __ror__(self, other: Operand) -> TensorValue:
        return _call("logical_or", other, self)

    def __xor__(self, other: Operand) -> TensorValue:
        return _call("logical_xor", self, other)

    def __rxor__(self, other: Operand) -> TensorValue:
        return _call("logical_xor", other, self)

    def __invert__(self) -> TensorValue:
        return _call("logical_not", self)

    # Indexing and shape -----------------------------------------------------------

    def __getitem__(self, index: Any) -> TensorValue:
        return _call("slice_tensor", self, index)

    __iter__ = None
    """A graph has no loop over an axis whose size may be symbolic."""

    @property
    def T(self) -> TensorValue:
        """The value with its last two axes swapped."""
        return _call("transpose", self, -2, -1)

    def reshape(self, shape: ShapeLike) -> TensorValue:
        """Gives the elements another shape. See ``functional.reshape``."""
        return _call("reshape", self, shape)

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> TensorValue:
        """Joins axes. See ``functional.flatten``."""
        return _call("flatten", self, start_dim, end_dim)

    def broadcast_to(self, shape: ShapeLike) -> TensorValue:
        """Repeats axes of size 1. See ``functional.broadcast_to``."""
        return _call("broadcast_to", self, shape)

    def rebind(self, shape: ShapeLike, message: str = "") -> TensorValue:
        """States what the sizes are. See ``functional.rebind``."""
        return _call("rebind", self, shape, message)

    def squeeze(self, axis: int) -> TensorValue:
        """Drops an axis of size 1. See ``functional.squeeze``."""
        return _call("squeeze", self, axis)

    def unsqueeze(self, axis: int) -> TensorValue:
        """Adds an axis of size 1. See ``functional.unsqueeze``."""
        return _call("unsqueeze", self, axis)

    def transpose(self, dim_1: int, dim_2: int) -> TensorValue:
        """Swaps two axes. See ``functional.transpose``."""
        return _call("transpose", self, dim_1, dim_2)

    def permute(self, dims: Sequence[int]) -> TensorValue:
        """Reorders the axes. See ``functional.permute``."""
        return _call("permute", self, dims)

    def split(
        self, split_size_or_sections: int | Sequence[Any], axis: int = 0
    ) -> list[TensorValue]:
        """Cuts along an axis. See ``functional.split``."""
        return _call("split", self, split_size_or_sections, axis)

    # Reductions -----------------------------------------------------------------

    def sum(self, axis: int | None = -1) -> TensorValue:
        """Adds up an axis. See ``functional.sum``."""
        return _call("sum", self, axis)

    def mean(self, axis: int | None = -1) -> TensorValue:
        """Averages an axis. See ``functional.mean``."""
        return _call("mean", self, axis)

    def prod(self, axis: int | None = -1) -> TensorValue:
        """Multiplies up an axis. See ``functional.prod``."""
        return _call("prod", self, axis)

    def max(self, axis: int | None = -1) -> TensorValue:
        """Takes the largest along an axis. See ``functional.max``."""
        return _call("max", self, axis=axis)

    def min(self, axis: int | None = -1) -> TensorValue:
        """Takes the smallest along an axis. See ``functional.min``."""
        return _call("min", self, axis=axis)

    def argmax(self, axis: int | None = -1) -> TensorValue:
        """Finds the largest along an axis. See ``functional.argmax``."""
        return _call("argmax", self, axis)

    def var(self, axis: int | None = -1) -> TensorValue:
        """Averages the squared distance from the mean. See ``functional.var``."""
        return _call("var", self, axis)

    def stdev(self, axis: int | None = -1) -> TensorValue:
        """Takes the square root of :meth:`var`. See ``functional.std``."""
        return _call("std", self, axis)

    # Values ---------------------------------------------------------------------

    def cast(self, dtype: DType) -> TensorValue:
        """Converts the elements. See ``functional.cast``."""
        return _call("cast", self, dtype)

    def to(self, device: Device | DeviceRef) -> TensorValue:
        """Moves to a device. See ``functional.transfer_to``."""
        return _call("move", self, device)

    def print(self, label: str = "debug_tensor") -> None:
        """Prints the values when the program runs. See ``functional.print``."""
        _call("print", self, label)
