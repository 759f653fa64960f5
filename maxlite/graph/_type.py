"""Types: what a value is before it exists, and the device that it is meant for.

A :class:`TensorType` or :class:`BufferType` says dtype, shape and device of one value
on one device. The device is a :class:`DeviceRef`, a kind and a number: it may name a
device that this machine does not have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from maxlite.driver import CPU, Accelerator, Device
from maxlite.dtype import DType
from maxlite.graph._dim import StaticDim
from maxlite.graph._shape import Shape, ShapeLike

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from maxlite.graph._dim import SymbolicDim


class DeviceKind(StrEnum):
    """The kinds of device. Each one equals its name.

    Source: max.graph.DeviceKind.

    >>> DeviceKind("gpu"), DeviceKind.CPU == "cpu", str(DeviceKind.CPU)
    (<DeviceKind.GPU: 'gpu'>, True, 'cpu')
    """

    CPU = "cpu"
    GPU = "gpu"

    __hash__ = str.__hash__


@dataclass(frozen=True, init=False, repr=False, slots=True)
class DeviceRef:
    """A device by kind and number, whether or not this machine has it.

    Args:
        device_type: ``"cpu"``, ``"gpu"`` or a :class:`DeviceKind`.
        id: Number among the devices of that kind; a negative one means 0.

    Raises:
        TypeError: ``id`` is not an int.
        ValueError: ``device_type`` is no kind of device.

    Source: max.graph.DeviceRef.

    >>> DeviceRef.GPU(1), DeviceRef("cpu") == DeviceRef.CPU()
    (gpu:1, True)
    """

    device_type: DeviceKind
    id: int

    def __init__(self, device_type: DeviceKind | str, id: int = 0) -> None:
        _check_kind(device_type)
        _check_instance(id, int, "DeviceRef: id", "Pass the number of the device.")
        object.__setattr__(self, "device_type", DeviceKind(device_type))
        object.__setattr__(self, "id", max(int(id), 0))

    @staticmethod
    def CPU(id: int = 0) -> DeviceRef:
        """Names a CPU."""
        return DeviceRef(DeviceKind.CPU, id)

    @staticmethod
    def GPU(id: int = 0) -> DeviceRef:
        """Names an accelerator, whatever its make."""
        return DeviceRef(DeviceKind.GPU, id)

    @staticmethod
    def from_device(device: Device | DeviceRef) -> DeviceRef:
        """Names a device; a reference is itself.

        >>> from maxlite.driver import CPU
        >>> DeviceRef.from_device(CPU())
        cpu:0
        """
        if isinstance(device, DeviceRef):
            return device
        _check_instance(device, Device, "DeviceRef: device", "Pass CPU(), say.")
        return DeviceRef(device.label, device.id)

    def to_device(self) -> Device:
        """Finds the device on this machine.

        Raises:
            ValueError: There is no such device.
        """
        return CPU(self.id) if self.is_cpu() else Accelerator(self.id)

    def is_cpu(self) -> bool:
        """Answers whether it is a CPU."""
        return self.device_type is DeviceKind.CPU

    def is_gpu(self) -> bool:
        """Answers whether it is an accelerator."""
        return self.device_type is DeviceKind.GPU

    def __repr__(self) -> str:
        return f"{self.device_type}:{self.id}"


class Type:
    """What a value in a graph is; the base of all types."""

    __slots__ = ()


@dataclass(frozen=True, init=False)
class _ArrayType(Type):
    """Dtype, shape and device: what a tensor and a buffer have in common."""

    dtype: DType
    shape: Shape
    device: DeviceRef

    def __init__(
        self, dtype: DType, shape: ShapeLike, device: Device | DeviceRef
    ) -> None:
        who = type(self).__name__
        _check_instance(dtype, DType, f"{who}: dtype", "Use DType.float32, say.")
        dims = Shape(shape)
        if any(isinstance(dim, StaticDim) and dim < 0 for dim in dims):
            raise TypeError(
                f"{who}: shape must not have negative sizes, got {dims}. "
                "Give a size, or a name for one that is not known yet."
            )
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "shape", dims)
        object.__setattr__(self, "device", DeviceRef.from_device(device))

    def __hash__(self) -> int:
        return hash((type(self), self.dtype, tuple(self.shape), self.device))

    @property
    def rank(self) -> int:
        """Number of tensor axes."""
        return self.shape.rank

    @property
    def parameters(self) -> Iterator[SymbolicDim]:
        """The symbols in the shape, in order, as often as they appear."""
        return self.shape.parameters

    def num_elements(self) -> int:
        """Counts the elements.

        Raises:
            RuntimeError: A dim is not static, so that there is no number yet.
        """
        if not self.shape.is_static():
            raise RuntimeError(
                "num_elements: every dim must be static, "
                f"got shape {self.shape}. Substitute the symbols first."
            )
        return math.prod(self.shape.static_dims)

    def cast(self, dtype: DType) -> Self:
        """Gives the same type with another dtype."""
        return replace(self, dtype=dtype)


class TensorType(_ArrayType):
    """The type of an immutable array on one device.

    Args:
        dtype: Type of the elements.
        shape: Ints, names and dims.
        device: Where it lies, as a device or a reference to one.

    Raises:
        TypeError: An argument is of another kind, or a size is negative.
        ValueError: A name in ``shape`` is no name.

    Source: max.graph.TensorType.

    >>> from maxlite.dtype import DType
    >>> TensorType(DType.float32, [2, "n"], DeviceRef.CPU())
    TensorType(dtype=float32, shape=[Dim(2), Dim('n')], device=cpu:0)
    """

    def as_buffer(self) -> BufferType:
        """Gives the type of a buffer of the same dtype, shape and device."""
        return BufferType(self.dtype, self.shape, self.device)


class BufferType(_ArrayType):
    """The type of an array that a program may write to.

    Takes and raises what :class:`TensorType` does. The two are never equal.

    Source: max.graph.BufferType.

    >>> from maxlite.dtype import DType
    >>> BufferType(DType.int8, [4], DeviceRef.GPU()).cast(DType.int32)
    BufferType(dtype=int32, shape=[Dim(4)], device=gpu:0)
    """

    def as_tensor(self) -> TensorType:
        """Gives the type of a tensor of the same dtype, shape and device."""
        return TensorType(self.dtype, self.shape, self.device)


def _check_instance(value: object, kind: type, what: str, remedy: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(
            f"{what} must be of type {kind.__name__}, "
            f"got {value!r} of type {type(value).__name__}. {remedy}"
        )


def _check_kind(name: object) -> None:
    kinds = [kind.value for kind in DeviceKind]
    if name not in kinds:
        raise ValueError(
            f"DeviceRef: device_type must be one of {', '.join(kinds)}, got {name!r}. "
            "Every accelerator is a gpu."
        )
