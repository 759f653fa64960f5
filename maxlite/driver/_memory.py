"""Memory that others own: lent by DLPack, mapped from a file, or moved by JAX.

JAX can share memory on a CPU that starts at a multiple of 64 bytes and is not marked
read-only. It never writes there, nor gives it to the result of a donated argument, so
that sharing is one-sided: the owner's writes are seen, and none are made.
"""

from __future__ import annotations

import os
from typing import Any, Protocol, cast, runtime_checkable

import jax
import numpy as np

from maxlite._backend import devices, is_row_major, put, row_major, x64
from maxlite.driver._device import CPU, Device
from maxlite.dtype import DType

_ALIGNMENT = 64


@runtime_checkable
class DLPackArray(Protocol):
    """An array that lends its memory by the DLPack protocol.

    Source: max.driver.DLPackArray.

    >>> isinstance(np.zeros(2), DLPackArray), isinstance([0.0, 0.0], DLPackArray)
    (True, False)
    """

    def __dlpack__(self, *, stream: None = None) -> Any:
        """Lends the memory in a capsule."""
        ...

    def __dlpack_device__(self) -> Any:
        """Tells where the memory lies, by kind and id."""
        ...


def borrowed(array: object, copy: bool | None) -> jax.Array:
    """Shares or copies what another library lends; see ``Buffer.from_dlpack``."""
    if isinstance(array, np.ndarray):
        return _from_numpy_memory(cast("np.ndarray", array), copy)
    if not isinstance(array, DLPackArray):
        raise TypeError(
            "Buffer.from_dlpack: the array must have __dlpack__ and __dlpack_device__, "
            f"got {type(array).__name__}. Make a numpy array of it first."
        )
    try:
        return _imported(array, copy)
    except (BufferError, RuntimeError, ValueError) as e:
        raise ValueError(
            "Buffer.from_dlpack: the array must be a row-major one without gaps, of a "
            f"dtype that JAX has, got {type(array).__name__} with "
            f"copy={copy} ({_first_line(e)}). Copy it in its own library first."
        ) from e


def mapped(
    filename: os.PathLike[str] | str,
    dtype: DType,
    shape: tuple[int, ...],
    mode: str,
    offset: int,
) -> jax.Array:
    """Maps a part of a file; see ``Buffer.mmap``."""
    if mode in ("r+", "readwrite", "w+", "write"):
        raise NotImplementedError(
            f"Buffer.mmap: mode must be 'copyonwrite' or 'readonly', got {mode!r}. "
            "Write the file with np.memmap."
        )
    if mode not in ("r", "readonly", "c", "copyonwrite"):
        raise ValueError(
            f"Buffer.mmap: mode must be 'copyonwrite' or 'readonly', got {mode!r}. "
            "Pass one of the two."
        )
    # Copy on write in both modes: DLPack cannot lend what is marked read-only.
    data = np.memmap(filename, dtype.to_jax(), "c", offset, shape)
    return _from_numpy_memory(data, copy=None)


def device_of(array: jax.Array) -> Device:
    """Gives the one device on which an array lies; see ``Buffer.from_jax``."""
    devices = array.devices()
    if len(devices) != 1:
        raise ValueError(
            f"Buffer.from_jax: the array must lie on one device, got {len(devices)}. "
            "Box the data of each of its addressable_shards."
        )
    return Device.from_jax(next(iter(devices)))


def copied(array: jax.Array, device: Device) -> jax.Array:
    """Copies an array to a device, in new memory also when it lies there already.

    Waits for the copy: an owner of borrowed memory may write there right after.
    """
    with x64():
        made: Any = jax.device_put(array, device.to_jax(), may_alias=False)
    return cast("jax.Array", made).block_until_ready()


def _from_numpy_memory(data: np.ndarray, copy: bool | None) -> jax.Array:
    dtype = DType.from_numpy(data.dtype).to_jax()
    if not data.flags.c_contiguous:
        raise ValueError(
            "Buffer.from_dlpack: the array must be row-major without gaps, got shape "
            f"{data.shape} with strides {data.strides} in bytes. Call "
            "np.ascontiguousarray first, or use Buffer.from_numpy."
        )
    obstacle = _obstacle(data)
    if obstacle and copy is False:
        raise ValueError(
            "Buffer.from_dlpack: with copy=False the memory must be shareable, got "
            f"an array of {dtype} that {obstacle}. Leave copy out."
        )
    if copy or obstacle:
        return put(data, CPU().to_jax())
    return _imported(data, copy=False)


def _obstacle(data: np.ndarray) -> str:
    """Tells why JAX cannot share a numpy array's memory; nothing when it can."""
    if data.dtype.isbuiltin != 1 or not data.dtype.isnative:
        return "DLPack cannot describe"
    if not data.flags.writeable:
        return "is marked read-only"
    if data.ctypes.data % _ALIGNMENT:
        return f"does not start at a multiple of {_ALIGNMENT} bytes"
    return ""


def _imported(array: Any, copy: bool | None) -> jax.Array:
    # JAX's own copy=True shares nonetheless, and what it cannot share it reads later.
    shared = None if copy else copy
    devices("cpu")  # starts JAX, if nobody has, with the devices that meshes need
    with x64():  # without it the import truncates 64-bit elements
        lent = cast("jax.Array", jax.dlpack.from_dlpack(array, copy=shared))
    if copy:
        ordered = row_major(lent)
        return copied(lent, device_of(lent)) if ordered is lent else ordered
    if not is_row_major(lent):
        raise ValueError("the axes are transposed")
    return lent.block_until_ready()


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
