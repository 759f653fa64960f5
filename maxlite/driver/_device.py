"""Devices: the CPU, its simulated siblings, and accelerators.

A device is a name, ``(label, id)``; making a CPU starts no backend. There is one object
per name, so that devices compare and hash by identity, which keeps them cheap in the
keys of caches. The JAX device behind a name is looked up when something must lie there.
"""

from __future__ import annotations

import abc
import operator
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Flag
from typing import Any, Self, cast

import jax

from maxlite._backend import JaxDevice, default_platform, devices

_TOO_FEW = """\
Device.to_jax: {device} must be one of the CPU devices that JAX has, got {count} of \
them. Set XLA_FLAGS=--xla_force_host_platform_device_count={need}, or call \
jax.config.update("jax_num_cpu_devices", {need}) before JAX is used."""


class Device(abc.ABC):
    """A place where buffers lie and programs run.

    Made as :class:`CPU` or :class:`Accelerator`. Equal names are the same object.

    Source: max.driver.Device.

    >>> CPU() is CPU(0)
    True
    """

    __slots__ = ("__weakref__", "_id")

    _id: int

    @property
    @abc.abstractmethod
    def label(self) -> str:
        """The kind of device: ``"cpu"`` or ``"gpu"``."""

    @property
    def id(self) -> int:
        """Position among the devices of the same kind, from 0."""
        return self._id

    @property
    @abc.abstractmethod
    def api(self) -> str:
        """The interface that programs the device: ``"cpu"``, ``"cuda"``, ``"hip"``."""

    @property
    @abc.abstractmethod
    def architecture_name(self) -> str:
        """The instruction set, such as ``"x86_64"`` or ``"sm_90"``."""

    @property
    def model_name(self) -> str:
        """The name by which JAX knows the hardware; ``"cpu"`` for a CPU."""
        return self.to_jax().device_kind

    @property
    def is_host(self) -> bool:
        """Whether the memory of the device is that of the Python process."""
        return self.label == "cpu"

    @property
    def is_host_unified(self) -> bool:
        """Whether host and device read the same memory without a copy."""
        return self.is_host

    @property
    def is_compatible(self) -> bool:
        """Whether programs can be run on the device, which holds for all of JAX's."""
        return True

    @property
    def max_single_alloc_size(self) -> int:
        """The most bytes that one buffer can take."""
        return int(self.stats["total_memory"])

    @property
    @abc.abstractmethod
    def stats(self) -> Mapping[str, Any]:
        """Memory of the device in bytes, as far as it is known.

        ``total_memory`` and ``free_memory``, then whatever JAX's ``memory_stats``
        counts for an accelerator.
        """

    @property
    def default_queue(self) -> DeviceQueue:
        """The queue in which the device runs its work."""
        return DeviceQueue(self)

    @staticmethod
    def cpu(id: int = -1) -> CPU:
        """Gives the CPU with this id, the first by default."""
        return CPU(id)

    def can_access(self, other: Device) -> bool:
        """Tells whether this device reads the memory of another one directly.

        Returns:
            False: JAX moves data between devices by copies, and says of none that it
            can do without.

        Raises:
            TypeError: ``other`` is no device.
        """
        check_device(other, "Device.can_access")
        return False

    def synchronize(self) -> None:
        """Waits until every array on the device is computed.

        Raises:
            jax.errors.JaxRuntimeError: A program that was still running failed.
        """
        target = self.to_jax()
        for array in cast("list[jax.Array]", jax.live_arrays(target.platform)):
            if target in array.devices():
                array.block_until_ready()

    def to_jax(self, occurrence: int = 0, *, everywhere: bool = False) -> JaxDevice:
        """Gives the JAX device behind this one, starting JAX when needed.

        Args:
            occurrence: How often this device came before in the same mesh. A mesh of
                ``(CPU(), CPU())`` is laid over two simulated CPUs.
            everywhere: Whether the id counts through the devices of all processes, as
                in a mesh, and not through those of this one.

        Raises:
            ValueError: JAX has too few devices.

        >>> CPU(1).to_jax() == CPU(0).to_jax(occurrence=1)
        True
        """
        key = self, occurrence, everywhere
        found = _to_jax.get(key)
        if found is None:
            # Threads that meet here find the same device.
            found = _to_jax[key] = self._find(occurrence, everywhere)
        return found

    @staticmethod
    def from_jax(device: JaxDevice, *, everywhere: bool = False) -> Device:
        """Gives the name of a JAX device; ``everywhere`` as for :meth:`to_jax`.

        >>> Device.from_jax(CPU(2).to_jax())
        Device(type=cpu,id=2)
        """
        found = _from_jax.get((device, everywhere))
        if found is None:
            on_cpu = device.platform == "cpu"
            siblings = (
                devices("cpu", everywhere=everywhere)
                if on_cpu
                else _accelerators(everywhere)
            )
            kind = CPU if on_cpu else Accelerator
            found = _from_jax[device, everywhere] = kind(siblings.index(device))
        return found

    @classmethod
    def _intern(cls, position: int, known: dict[int, Self]) -> Self:
        found = known.get(position)
        if found is None:
            made = object.__new__(cls)
            made._id = position
            found = known.setdefault(position, made)  # one, whichever thread wins
        return found

    @abc.abstractmethod
    def _find(self, occurrence: int, everywhere: bool) -> JaxDevice: ...

    def __reduce__(self) -> tuple[type[Self], tuple[int]]:
        """Pickles the name; a copy is the same object again."""
        return type(self), (self._id,)

    def __repr__(self) -> str:
        """Writes the kind and the id, as an error or a tensor shows them."""
        return f"Device(type={self.label},id={self._id})"


class CPU(Device):
    """A CPU: the process's own for id 0, simulated siblings for the others.

    All of them compute on the same cores and lie in the same memory; they let programs
    for several devices run on one machine.

    Args:
        id: Position among the CPUs; -1 is the first.

    Raises:
        ValueError: ``id`` is below -1.

    Source: max.driver.CPU.

    >>> CPU(), CPU(3)
    (Device(type=cpu,id=0), Device(type=cpu,id=3))
    """

    __slots__ = ()

    def __new__(cls, id: int = -1) -> CPU:
        """Finds the one object for this id."""
        return CPU._intern(_position(id, "CPU"), _cpus)

    @property
    def label(self) -> str:
        """The kind of device, ``"cpu"``."""
        return "cpu"

    @property
    def api(self) -> str:
        """The interface that programs the device, ``"cpu"``."""
        return "cpu"

    @property
    def architecture_name(self) -> str:
        """The instruction set of the machine, such as ``"x86_64"``."""
        return platform.machine()

    @property
    def stats(self) -> Mapping[str, Any]:
        """Memory of the machine in bytes: ``total_memory`` and ``free_memory``.

        Raises:
            NotImplementedError: The operating system does not tell (Windows).
        """
        try:
            page = os.sysconf("SC_PAGE_SIZE")
            total = os.sysconf("SC_PHYS_PAGES")
            free = os.sysconf("SC_AVPHYS_PAGES")
        except (AttributeError, ValueError) as e:
            raise NotImplementedError(
                f"CPU.stats: memory must be told by os.sysconf, got {e}. "
                "Ask the operating system by other means."
            ) from e
        return {"free_memory": page * free, "total_memory": page * total}

    def _find(self, occurrence: int, everywhere: bool) -> JaxDevice:
        known = devices("cpu", everywhere=everywhere)
        position = self._id + occurrence
        if position >= len(known):
            raise ValueError(
                _TOO_FEW.format(
                    device=CPU(position), count=len(known), need=position + 1
                )
            )
        return known[position]


class Accelerator(Device):
    """A GPU, or whichever accelerator JAX has.

    Args:
        id: Position among the accelerators; -1 is the first.

    Raises:
        ValueError: JAX has no such accelerator.

    Source: max.driver.Accelerator.

    >>> [Accelerator(i).is_host for i in range(accelerator_count())] == [
    ...     False for _ in range(accelerator_count())
    ... ]
    True
    """

    __slots__ = ()

    def __new__(cls, id: int = -1) -> Accelerator:
        """Finds the one object for this id."""
        position = _position(id, "Accelerator")
        count = len(_accelerators(everywhere=True))
        if position >= count:
            raise ValueError(
                f"Accelerator: id must be below the number of accelerators that JAX "
                f"has, got id {position} of {count}. Use CPU(), or install a JAX "
                "with support for the accelerator."
            )
        return Accelerator._intern(position, _gpus)

    @property
    def label(self) -> str:
        """The kind of device, ``"gpu"``, whatever the accelerator is."""
        return "gpu"

    @property
    def api(self) -> str:
        """The interface that programs the device: ``"cuda"``, ``"hip"`` or JAX's."""
        version: str = self.to_jax().client.platform_version.lower()
        names = {"cuda": "cuda", "rocm": "hip", "hip": "hip"}
        found = (api for word, api in names.items() if word in version)
        return next(found, self.to_jax().platform)

    @property
    def architecture_name(self) -> str:
        """The instruction set: ``"sm_90"`` and the like on CUDA, else the model."""
        capability = getattr(self.to_jax(), "compute_capability", None)
        if capability is None:
            return self.model_name
        name = str(capability)
        return f"sm_{name.replace('.', '')}" if self.api == "cuda" else name

    @property
    def stats(self) -> Mapping[str, Any]:
        """Memory of the accelerator in bytes, as JAX counts it.

        ``total_memory`` and ``free_memory`` are those that JAX may use, then come the
        counters of ``memory_stats``.

        Raises:
            NotImplementedError: JAX counts nothing for this accelerator.
        """
        counted = self.to_jax().memory_stats()
        if not counted or "bytes_limit" not in counted:
            raise NotImplementedError(
                f"Accelerator.stats: memory must be counted by JAX, got nothing for "
                f"{self}. Ask the driver of the accelerator by other means."
            )
        total = counted["bytes_limit"]
        free = total - counted.get("bytes_in_use", 0)
        return {"free_memory": free, "total_memory": total, **counted}

    def _find(self, occurrence: int, everywhere: bool) -> JaxDevice:
        if occurrence:
            raise ValueError(
                f"Device.to_jax: an accelerator must stand in a mesh once, got {self} "
                f"{occurrence + 1} times. Name another accelerator, or simulate the "
                "mesh on CPU()."
            )
        return _accelerators(everywhere)[self._id]


class Usage(Flag):
    """What a buffer is for.

    On a CPU it changes nothing: all memory there is read and copied alike.

    Source: max.driver.Usage.
    """

    DEFAULT = 0
    STAGING = 1
    UNTRACKED = 2


@dataclass(frozen=True)
class DeviceQueue:
    """The work of one device, in the order in which it was given.

    JAX orders it by what depends on what, so that only waiting is left to ask for.

    Source: max.driver.DeviceQueue.

    >>> CPU().default_queue
    cpu[0]
    """

    device: Device

    def synchronize(self) -> None:
        """Waits until every array on the device is computed."""
        self.device.synchronize()

    def __repr__(self) -> str:
        """Writes the kind and the id of the device."""
        return f"{self.device.label}[{self.device.id}]"


def accelerator_count() -> int:
    """Counts the accelerators that JAX has, starting JAX when needed.

    Source: max.driver.accelerator_count.

    >>> accelerator_count() >= 0
    True
    """
    return len(_accelerators())


def accelerator_api() -> str:
    """Names the interface of the accelerators; ``"cpu"`` when there is none.

    Source: max.driver.accelerator_api.

    >>> accelerator_api() in ("cpu", "cuda", "hip", "tpu")
    True
    """
    return Accelerator().api if accelerator_count() else CPU().api


def check_usage(usage: Usage, device: Device) -> None:
    """Raises a NotImplementedError for what a device has no memory for."""
    if Usage.STAGING in usage and not device.is_host:
        raise NotImplementedError(
            f"Buffer: staging memory must be that of a CPU, got {device}. "
            "Make the buffer on CPU() and move it with to()."
        )


def cpu_count() -> int:
    """Counts the CPUs that JAX has, simulated ones included."""
    return len(devices("cpu"))


def check_device(device: object, who: str) -> None:
    """Raises a TypeError unless the argument is a device."""
    if not isinstance(device, Device):
        raise TypeError(
            f"{who}: the device must be a Device, got {type(device).__name__}. "
            "Pass CPU() or Accelerator()."
        )


def _accelerators(everywhere: bool = False) -> list[JaxDevice]:
    # The preferred platform may be the CPU on a machine with a GPU, and may be a
    # plugin of another name.
    for name in ("gpu", "tpu", default_platform()):
        known = devices(name, everywhere=everywhere)
        found = [d for d in known if d.platform != "cpu"]
        if found:
            return found
    return []


def _position(id: int, who: str) -> int:
    try:
        position = operator.index(id)
    except TypeError:
        raise TypeError(
            f"{who}: id must be an int, got {type(id).__name__}. "
            "Count the devices from 0."
        ) from None
    if position < -1:
        raise ValueError(
            f"{who}: id must be at least -1, got {position}. "
            "Count the devices from 0, or pass -1 for the first."
        )
    return max(position, 0)


_cpus: dict[int, CPU] = {}
_gpus: dict[int, Accelerator] = {}
_to_jax: dict[tuple[Device, int, bool], JaxDevice] = {}
_from_jax: dict[tuple[JaxDevice, bool], Device] = {}
