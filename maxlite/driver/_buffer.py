"""Buffers: mutable boxes, each around one immutable array on one device.

A write puts a changed copy into the box. Whoever held the array before (another box, a
numpy view, a consumer of DLPack) keeps the value that it saw, and nothing that is
borrowed is ever written.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, Literal, cast, overload

import jax
import numpy as np

from maxlite._backend import put, x64
from maxlite.driver._checks import (
    check_numpy,
    check_shape,
    check_single,
    check_source,
    checked_element,
    checked_index,
    viewed_shape,
)
from maxlite.driver._device import (
    CPU,
    Device,
    DeviceQueue,
    Usage,
    check_device,
    check_usage,
)
from maxlite.driver._memory import borrowed, copied, device_of, mapped
from maxlite.dtype import DType


class Buffer:
    """Elements of one dtype on one device.

    The elements are 0 until they are written. Buffers compare and hash by identity.

    Args:
        dtype: Type of the elements.
        shape: Sizes of the axes.
        device: Where the buffer lies; the first CPU by default.
        usage: What it is for.

    Raises:
        TypeError: An argument of the wrong kind.
        ValueError: A negative size, or a device that JAX has not.
        NotImplementedError: ``dtype`` is one that JAX has not, or ``usage`` asks for
            staging memory of an accelerator.

    Source: max.driver.Buffer.

    >>> buffer = Buffer(DType.int32, (2, 2))
    >>> buffer[0, 1] = 7
    >>> buffer[0, :].to_numpy()
    array([0, 7], dtype=int32)
    """

    __slots__ = ("__weakref__", "_array", "_device", "_dtype", "_usage")

    _array: jax.Array
    _device: Device
    _dtype: DType
    _usage: Usage

    def __init__(
        self,
        dtype: DType,
        shape: Sequence[int],
        device: Device | None = None,
        usage: Usage = Usage.DEFAULT,
    ) -> None:
        device = CPU() if device is None else device
        check_device(device, "Buffer")
        check_usage(usage, device)
        check_shape(shape)
        zeros = np.zeros(tuple(shape), dtype.to_jax())
        self._array = put(zeros, device.to_jax())
        self._device = device
        self._dtype = dtype
        self._usage = usage

    @staticmethod
    def from_jax(array: jax.Array) -> Buffer:
        """Boxes a JAX array, which is shared, not copied.

        Raises:
            ValueError: The array lies on several devices, or has a dtype that is no
                member of :class:`~maxlite.dtype.DType`.

        >>> import jax.numpy as jnp
        >>> Buffer.from_jax(jnp.ones(2)).dtype
        float32
        """
        made = object.__new__(Buffer)
        made._array = array
        made._dtype = DType.from_jax(array.dtype)
        made._device = device_of(array)
        made._usage = Usage.DEFAULT
        return made

    @staticmethod
    def from_numpy(arr: np.ndarray) -> Buffer:
        """Copies a numpy array to the first CPU.

        Args:
            arr: Any strides, byte order and flags. It stays independent of the buffer;
                :meth:`from_dlpack` shares.

        Raises:
            TypeError: ``arr`` is no numpy array.
            ValueError: Its dtype is none that JAX stores (complex, strings, ...).

        Source: max.driver.Buffer.from_numpy.

        >>> Buffer.from_numpy(np.array([2**40 + 5])).to_numpy()
        array([1099511627781])
        """
        check_numpy(arr)
        return _placed(arr, CPU())

    @staticmethod
    def from_dlpack(array: Any, *, copy: bool | None = None) -> Buffer:
        """Takes an array of any library that speaks DLPack.

        Args:
            array: Shape of any rank, in row-major order without gaps. A Buffer is
                given back as it is unless ``copy`` is True.
            copy: False shares the memory or raises, True copies, None shares where the
                memory allows. It must start at a multiple of 64 bytes, which numpy's
                own does only by chance, and must not be marked read-only.

        Returns:
            A buffer on the device of ``array``. Shared memory is only ever read: a
            write to the buffer leaves ``array`` as it is, while a write to ``array``
            shows in the buffer.

        Raises:
            TypeError: ``array`` does not speak DLPack.
            ValueError: It has gaps or another order, its dtype is no DType, or
                ``copy`` is False and the memory cannot be shared.

        Source: max.driver.Buffer.from_dlpack.

        >>> Buffer.from_dlpack(np.array([1.5, 2.5])).to_numpy()
        array([1.5, 2.5])
        """
        if isinstance(array, Buffer):
            return array.copy() if copy else array
        return Buffer.from_jax(borrowed(array, copy))

    @staticmethod
    def scalar(value: Any, dtype: DType, device: Device | None = None) -> Buffer:
        """Makes a buffer of rank 0.

        Args:
            value: A number. A float dtype rounds it, another must hold it exactly.
            dtype: Type of the element.
            device: Where the buffer lies; the first CPU by default.

        Raises:
            TypeError: ``value`` is no number.
            ValueError: ``dtype`` cannot hold it.

        Source: max.driver.Buffer.scalar.

        >>> Buffer.scalar(3, DType.int64).item()
        3
        """
        made = Buffer(dtype, (), device)
        made[()] = value
        return made

    @staticmethod
    def zeros(
        shape: Sequence[int],
        dtype: DType,
        device: Device | None = None,
        usage: Usage = Usage.DEFAULT,
    ) -> Buffer:
        """Makes a buffer of zeros, like the constructor.

        >>> Buffer.zeros((2,), DType.float16).to_numpy()
        array([0., 0.], dtype=float16)
        """
        return Buffer(dtype, shape, device, usage)

    @staticmethod
    def mmap(
        filename: os.PathLike[str] | str,
        dtype: DType,
        shape: Sequence[int] | int,
        mode: Literal["r", "readonly", "c", "copyonwrite"] = "copyonwrite",
        offset: int = 0,
    ) -> Buffer:
        """Reads a file of raw elements page by page, as they are used.

        The file is never written: in both modes a write to the buffer stays there.
        Where the memory cannot be shared the part is read at once, which holds for an
        ``offset`` that is no multiple of 64 and for dtypes that numpy has not.

        Args:
            filename: Holds the elements in the byte order of the machine.
            dtype: Type of the elements.
            shape: Sizes of the axes.
            mode: ``"copyonwrite"`` or ``"readonly"``, or the first letter of it.
            offset: Where the elements begin, in bytes.

        Raises:
            FileNotFoundError: There is no such file.
            NotImplementedError: A mode that writes to the file.
            ValueError: The file is too short, or the mode unknown.

        Source: max.driver.Buffer.mmap.

        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     _ = file.write(np.arange(6.0).tobytes())
        ...     file.flush()
        ...     Buffer.mmap(file.name, DType.float64, (2, 3))[1, 2].item()
        5.0
        """
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        check_shape(sizes)
        return Buffer.from_jax(mapped(filename, dtype, sizes, mode, offset))

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return self._array.shape

    @property
    def device(self) -> Device:
        """Where the buffer lies."""
        return self._device

    @property
    def usage(self) -> Usage:
        """What the buffer was made for."""
        return self._usage

    @property
    def rank(self) -> int:
        """Number of axes."""
        return self._array.ndim

    @property
    def num_elements(self) -> int:
        """Number of elements: the product of the sizes."""
        return self._array.size

    @property
    def element_size(self) -> int:
        """Bytes of one element."""
        return self._dtype.size_in_bytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Distance between neighbours along each axis, in elements."""
        return tuple(math.prod(self.shape[i + 1 :]) for i in range(self.rank))

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie in row-major order without gaps: always."""
        return True

    @property
    def is_host(self) -> bool:
        """Whether the buffer lies on a CPU."""
        return self._device.is_host

    @property
    def pinned(self) -> bool:
        """Whether the memory is locked for an accelerator: JAX locks none."""
        return False

    @property
    def stream(self) -> DeviceQueue:
        """The queue of the device."""
        return self._device.default_queue

    def to_jax(self) -> jax.Array:
        """Gives the array that is in the box now; a later write replaces it.

        >>> Buffer.zeros((2,), DType.int64).to_jax().dtype
        dtype('int64')
        """
        return self._array

    def to_numpy(self) -> np.ndarray:
        """Gives the elements as a read-only array.

        Returns:
            A view that keeps its value when the buffer is written; a copy of what lies
            on an accelerator.

        Raises:
            ValueError: numpy has no such dtype (bfloat16, floats of 8 bits or less).

        Source: max.driver.Buffer.to_numpy.

        >>> Buffer.zeros((1,), DType.int8).to_numpy()
        array([0], dtype=int8)
        """
        if self._dtype.to_jax().isbuiltin != 1:
            bits = f"DType.uint{8 * self.element_size}"
            raise ValueError(
                f"Buffer.to_numpy: the dtype must be one that numpy has, got "
                f"{self._dtype}. Use np.asarray(buffer.to_jax()) for an array of "
                f"ml_dtypes, or view({bits}) for the bits."
            )
        return np.asarray(self._array)

    def item(self) -> Any:
        """Gives the one element as a bool, int or float.

        Raises:
            ValueError: There is not exactly one element.

        Source: max.driver.Buffer.item.

        >>> Buffer.scalar(1.5, DType.bfloat16).item()
        1.5
        """
        check_single(self.shape)
        return np.asarray(self._array).item()

    def copy(self, device: Device | None = None) -> Buffer:
        """Makes an independent buffer of the same elements.

        Args:
            device: Where it lies; where this one lies by default.

        Source: max.driver.Buffer.copy.

        >>> Buffer.scalar(1, DType.int8).copy(CPU(1)).device
        Device(type=cpu,id=1)
        """
        target = self._device if device is None else device
        check_device(target, "Buffer.copy")
        return Buffer.from_jax(copied(self._array, target))

    def contiguous(self) -> Buffer:
        """Gives this buffer, which is contiguous already."""
        return self

    @overload
    def to(self, device: Device, /) -> Buffer: ...
    @overload
    def to(self, device: Sequence[Device], /) -> list[Buffer]: ...
    def to(self, device: Device | Sequence[Device], /) -> Buffer | list[Buffer]:
        """Gives the elements on another device, or on each of several.

        Args:
            device: One device, or a sequence of them.

        Returns:
            This very buffer where it lies on that device already, else a copy.

        Raises:
            TypeError: ``device`` is neither.

        Source: max.driver.Buffer.to.

        >>> buffer = Buffer.scalar(1, DType.int8)
        >>> buffer.to(CPU()) is buffer
        True
        """
        if isinstance(device, Sequence):
            return [self._moved(each) for each in device]
        return self._moved(device)

    def view(self, dtype: DType, shape: Sequence[int] | None = None) -> Buffer:
        """Reads the same bytes as elements of another dtype or shape.

        Args:
            dtype: Type of the new elements.
            shape: Sizes of as many bytes; by default the last axis takes up the change.

        Returns:
            An independent buffer: a later write to either does not show in the other.

        Raises:
            ValueError: The bytes do not come out even.

        Source: max.driver.Buffer.view.

        >>> Buffer.zeros((2, 3), DType.float32).view(DType.int8).shape
        (2, 12)
        """
        sizes = viewed_shape(self.shape, self._dtype, dtype, shape)
        flat = np.asarray(self._array).reshape(-1).view(dtype.to_jax())
        return _placed(flat.reshape(sizes), self._device)

    def inplace_copy_from(self, src: Buffer) -> None:
        """Writes all elements of another buffer into this one.

        Args:
            src: As many elements of the same dtype, on any device. They are taken in
                row-major order where the shapes differ.

        Raises:
            TypeError: ``src`` is no buffer.
            ValueError: Another dtype or number of elements.

        Source: max.driver.Buffer.inplace_copy_from.

        >>> buffer = Buffer.zeros((2,), DType.int8)
        >>> buffer.inplace_copy_from(Buffer.from_numpy(np.array([3, 4], np.int8)))
        >>> buffer.to_numpy()
        array([3, 4], dtype=int8)
        """
        check_source(src, self)
        array = copied(src.to_jax(), self._device)
        if src.shape != self.shape:
            with x64():
                array = array.reshape(self.shape)
        self._array = array

    def __getitem__(self, idx: int | slice | Sequence[int | slice]) -> Buffer:
        """Copies a part: one index per axis, an integer or a slice.

        An integer removes its axis; slices are cut to the size as in Python. The
        elements go through the host.

        Raises:
            TypeError: An index of another kind.
            ValueError: Not as many indices as axes.
            IndexError: An integer beyond the size.
        """
        index = checked_index(idx, self.shape)
        return _placed(np.asarray(np.asarray(self._array)[index]), self._device)

    def __setitem__(self, idx: int | slice | Sequence[int | slice], value: Any) -> None:
        """Writes one number to a part; the buffer is copied once for it.

        Raises:
            TypeError: An index of another kind, or ``value`` is no number.
            ValueError: Not as many indices as axes, or the dtype cannot hold it.
            IndexError: An integer beyond the size.
        """
        index = checked_index(idx, self.shape)
        number = checked_element(value, self._dtype)
        data = np.array(self._array)
        with np.errstate(over="ignore"):  # beyond the range of a float is infinite
            data[index] = number
        self._array = put(data, self._device.to_jax())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.to_numpy(), dtype=dtype, copy=copy)

    def __dlpack__(self, *, stream: Any = None, **kwargs: Any) -> Any:
        return cast("Any", self._array).__dlpack__(stream=stream, **kwargs)

    def __dlpack_device__(self) -> Any:
        return cast("Any", self._array).__dlpack_device__()

    def __copy__(self) -> Buffer:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Buffer:
        return self.copy()

    def __reduce__(self) -> tuple[Any, tuple[np.ndarray, Device]]:
        # Not the JAX array: loading one outside of the 64-bit scope truncates it.
        return _placed, (np.asarray(self._array), self._device)

    def __repr__(self) -> str:
        return f"maxlite.driver.Buffer({self._dtype}, {self.shape}, {self.stream})"

    def __str__(self) -> str:
        data = np.asarray(self._array)
        if data.dtype.isbuiltin != 1:  # numpy prints those of ml_dtypes otherwise
            data = data.astype(np.float32)
        values = np.array2string(data, prefix="Buffer(")
        return (
            f"Buffer({values}, dtype={self._dtype}, shape={self.shape}, "
            f"device={self._device})"
        )

    def _moved(self, device: Device) -> Buffer:
        check_device(device, "Buffer.to")
        return self if device is self._device else self.copy(device)


def _placed(data: np.ndarray, device: Device) -> Buffer:
    """Copies numpy data, those of ml_dtypes included, to a device."""
    DType.from_numpy(data.dtype).to_jax()  # refuses what JAX cannot store
    return Buffer.from_jax(put(data, device.to_jax()))
