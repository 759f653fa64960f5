"""Default dtype and device: what a tensor gets when nobody says.

Both are local to a thread and an asyncio task. The default mesh lives with the sharding
types, which read it too.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING

from maxlite._backend import default_platform
from maxlite.driver import CPU, Accelerator, Device
from maxlite.dtype import DType
from maxlite.graph import DeviceRef
from maxlite.sharding import DeviceMapping, DeviceMesh, Replicated
from maxlite.sharding._default_mesh import current_mesh, default_mesh
from maxlite.support import contextvar_context
from maxlite.tensor._data import require_dtype

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager

    from maxlite.tensor._tensor import Tensor

_dtype: ContextVar[DType | None] = ContextVar("maxlite_default_dtype", default=None)


def defaults(
    dtype: DType | None = None, device: Device | DeviceMesh | None = None
) -> tuple[DType, DeviceMesh]:
    """Fills in dtype and mesh where they are None.

    Source: max.experimental.tensor.defaults.

    >>> defaults()[0]
    float32
    """
    if dtype is None:
        dtype = _dtype.get() or DType.float32
    elif type(dtype) is not DType:
        require_dtype("defaults", dtype)
    return dtype, as_mesh(device) if device is not None else _mesh_by_default()


def default_dtype(dtype: DType) -> AbstractContextManager[DType | None]:
    """Makes ``dtype`` the default for the length of a with-block.

    Source: max.experimental.tensor.default_dtype.

    >>> with default_dtype(DType.float64):
    ...     defaults()[0]
    float64
    """
    require_dtype("default_dtype", dtype)
    return contextvar_context(_dtype, dtype)


def default_device(
    device: Device | DeviceMesh | DeviceRef,
) -> AbstractContextManager[DeviceMesh | None]:
    """Makes a device or mesh the default for the length of a with-block.

    On a mesh, new tensors are replicated.

    Source: max.experimental.tensor.default_device.
    """
    return contextvar_context(current_mesh, as_mesh(device))


@contextmanager
def defaults_like(like: Tensor) -> Generator[None]:
    """Takes default dtype and device from a tensor, for a with-block.

    Source: max.experimental.tensor.defaults_like.
    """
    with ExitStack() as stack:
        stack.enter_context(default_dtype(like.dtype))
        stack.enter_context(default_device(like.mesh))
        yield


def as_mesh(device: Device | DeviceMesh | DeviceRef) -> DeviceMesh:
    """Coerces a device to the mesh that holds just it."""
    if isinstance(device, DeviceMesh):
        return device
    return single(device.to_device() if isinstance(device, DeviceRef) else device)


@cache
def single(device: Device) -> DeviceMesh:
    """Gives the one mesh of one device."""
    return DeviceMesh.single(device)


@cache
def on_device(device: Device) -> DeviceMapping:
    """Gives the one mapping of a tensor that lies on one device."""
    return DeviceMapping(single(device), (Replicated(),))


def as_mapping(
    target: Device | DeviceMesh | DeviceRef | DeviceMapping | None,
) -> DeviceMapping:
    """Coerces to a plain mapping: a mesh is replicated, None the default device.

    Raises:
        TypeError: ``target`` is none of these.
    """
    if target is None:
        return _replicated(_mesh_by_default())
    if isinstance(target, DeviceMapping):
        return plain(target)
    if isinstance(target, (Device, DeviceMesh, DeviceRef)):
        return _replicated(as_mesh(target))
    raise TypeError(
        "device: must be a Device, DeviceRef, DeviceMesh or DeviceMapping, got "
        f"{type(target).__name__}. Use CPU(), for example."
    )


def plain(mapping: DeviceMapping) -> DeviceMapping:
    """Gives the mapping that a tensor keeps: no names, and one device is replicated."""
    if mapping.mesh.num_devices == 1:
        return on_device(mapping.mesh.devices[0])
    if type(mapping) is DeviceMapping:
        return mapping
    return DeviceMapping(mapping.mesh, mapping.placements)


def _replicated(mesh: DeviceMesh) -> DeviceMapping:
    if mesh.num_devices == 1:
        return on_device(mesh.devices[0])
    return DeviceMapping(mesh, (Replicated(),) * mesh.ndim)


def _mesh_by_default() -> DeviceMesh:
    return default_mesh() or single(_preferred())


@cache
def _preferred() -> Device:
    return CPU() if default_platform() == "cpu" else Accelerator()
