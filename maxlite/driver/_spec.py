"""Wishes for devices, and what there is to fulfil them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from maxlite.driver._device import (
    CPU,
    Accelerator,
    Device,
    accelerator_count,
    cpu_count,
)


@dataclass(frozen=True)
class DeviceSpec:
    """The wish for a device, before it is known whether there is one.

    Args:
        id: Position among the devices of the kind; -1 is the first CPU.
        device_type: The kind of device.

    Raises:
        ValueError: ``id`` is negative for an accelerator or below -1, or
            ``device_type`` is another word.

    Source: max.driver.DeviceSpec.

    >>> DeviceSpec.accelerator(1)
    DeviceSpec(id=1, device_type='gpu')
    """

    id: int
    device_type: Literal["cpu", "gpu"] = "cpu"

    def __post_init__(self) -> None:
        """Checks the values."""
        if self.device_type not in ("cpu", "gpu"):
            raise ValueError(
                f"DeviceSpec: device_type must be 'cpu' or 'gpu', got "
                f"{self.device_type!r}. Use DeviceSpec.cpu() or "
                "DeviceSpec.accelerator()."
            )
        least = -1 if self.device_type == "cpu" else 0
        if self.id < least:
            raise ValueError(
                f"DeviceSpec: id must be at least {least} for a {self.device_type}, "
                f"got {self.id}. Count from 0."
            )

    @staticmethod
    def cpu(id: int = -1) -> DeviceSpec:
        """Asks for a CPU."""
        return DeviceSpec(id, "cpu")

    @staticmethod
    def accelerator(id: int = 0) -> DeviceSpec:
        """Asks for an accelerator."""
        return DeviceSpec(id, "gpu")


def scan_available_devices() -> list[DeviceSpec]:
    """Lists the accelerators, or the CPU when there is none.

    Source: max.driver.scan_available_devices.

    >>> devices_exist(scan_available_devices())
    True
    """
    found = [DeviceSpec.accelerator(i) for i in range(accelerator_count())]
    return found or [DeviceSpec.cpu()]


def load_devices(device_specs: Sequence[DeviceSpec]) -> list[Device]:
    """Makes a device for each wish.

    Raises:
        ValueError: There is no such accelerator.

    Source: max.driver.load_devices.

    >>> load_devices([DeviceSpec.cpu()])
    [Device(type=cpu,id=0)]
    """
    return [
        CPU(spec.id) if spec.device_type == "cpu" else Accelerator(spec.id)
        for spec in device_specs
    ]


def devices_exist(devices: list[DeviceSpec]) -> bool:
    """Tells whether JAX has all of these devices, simulated CPUs included.

    Source: max.driver.devices_exist.

    >>> devices_exist([DeviceSpec.cpu(), DeviceSpec.accelerator(1000)])
    False
    """
    return all(
        spec.id < cpu_count()
        if spec.device_type == "cpu"
        else spec.id < accelerator_count()
        for spec in devices
    )
