"""Devices and the buffers that lie on them."""

from maxlite.driver._buffer import Buffer
from maxlite.driver._device import (
    CPU,
    Accelerator,
    Device,
    DeviceQueue,
    Usage,
    accelerator_api,
    accelerator_count,
)
from maxlite.driver._memory import DLPackArray
from maxlite.driver._spec import (
    DeviceSpec,
    devices_exist,
    load_devices,
    scan_available_devices,
)

__all__ = [
    "CPU",
    "Accelerator",
    "Buffer",
    "DLPackArray",
    "Device",
    "DeviceQueue",
    "DeviceSpec",
    "Usage",
    "accelerator_api",
    "accelerator_count",
    "devices_exist",
    "load_devices",
    "scan_available_devices",
]
