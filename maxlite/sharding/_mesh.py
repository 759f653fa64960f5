"""Devices arranged in a grid with named axes.

A mesh says which devices work together and gives every direction of the grid a name,
so that a placement can say "this tensor axis is cut along ``x``". The order is
row-major: the last axis varies fastest.

One device may stand in a mesh several times, which is how a machine with one CPU gets
a mesh of eight: each further occurrence is another simulated device of JAX.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeAlias

import jax
import numpy as np
from jax.sharding import AxisType

from maxlite._backend import devices as _backend_devices
from maxlite._errors import check_type
from maxlite.driver import Device

if TYPE_CHECKING:
    from maxlite._backend import JaxDevice

MeshAxes: TypeAlias = str | int | Iterable[str | int]
"""One axis of a mesh, by name or index, or several that count as one."""


@dataclass(frozen=True, eq=False, repr=False)
class DeviceMesh:
    """A grid of devices with named axes.

    Immutable, hashable, equal by its three fields.

    Args:
        devices: The devices in row-major order; one may occur several times.
        mesh_shape: Size of each mesh axis, in devices. Empty for one lone device.
        axis_names: Name of each mesh axis, all different.

    Raises:
        TypeError: A device, a size or a name is of another kind.
        ValueError: The counts disagree, a size is below 1, a name occurs twice, or
            there is no device.

    Source: max.experimental.sharding.DeviceMesh.

    >>> from maxlite.driver import CPU
    >>> mesh = DeviceMesh((CPU(),) * 6, (2, 3), ("x", "y"))
    >>> mesh
    DeviceMesh(x=2, y=3)
    >>> mesh.axis_size("y"), mesh.axis_size(("x", "y"))
    (3, 6)
    """

    devices: tuple[Device, ...]
    mesh_shape: tuple[int, ...]
    axis_names: tuple[str, ...]
    # Computed once: meshes are parts of keys on hot paths.
    _hash: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "devices", tuple(self.devices))
        object.__setattr__(self, "mesh_shape", tuple(map(_as_size, self.mesh_shape)))
        object.__setattr__(self, "axis_names", tuple(self.axis_names))
        _check_mesh(self.devices, self.mesh_shape, self.axis_names)
        key = (self.devices, self.mesh_shape, self.axis_names)
        object.__setattr__(self, "_hash", hash(key))

    @staticmethod
    def single(device: Device) -> DeviceMesh:
        """Makes the mesh of a tensor that is not distributed.

        >>> from maxlite.driver import CPU
        >>> DeviceMesh.single(CPU())
        DeviceMesh(_=1)
        """
        check_type(
            device,
            Device,
            "DeviceMesh.single: device must be a Device",
            "Pass for example CPU().",
        )
        return _single(device)

    @property
    def ndim(self) -> int:
        """Number of mesh axes."""
        return len(self.mesh_shape)

    @property
    def num_devices(self) -> int:
        """Number of devices, each occurrence counted."""
        return len(self.devices)

    @property
    def is_single(self) -> bool:
        """Whether there is only one device, so that nothing is distributed."""
        return len(self.devices) == 1

    def axis_indices(self, axis: MeshAxes) -> tuple[int, ...]:
        """Finds the indices of mesh axes, in the order given.

        Args:
            axis: A name, an index, or any number of them.

        Returns:
            One index per axis asked for; a repeated one is repeated.

        Raises:
            IndexError: An index is negative or too large.
            TypeError: Something is neither a name nor an index.
            ValueError: A name is not in the mesh.

        >>> from maxlite.driver import CPU
        >>> DeviceMesh((CPU(),) * 2, (1, 2), ("x", "y")).axis_indices(("y", 0))
        (1, 0)
        """
        if isinstance(axis, str) or not isinstance(axis, Iterable):
            return (self._axis_index(axis),)
        return tuple(map(self._axis_index, axis))

    def axis_size(self, axis: MeshAxes) -> int:
        """Counts the positions along mesh axes.

        Args:
            axis: A name, an index, or any number of them, whose sizes multiply.

        Returns:
            The number of positions; 1 for no axis at all.

        Raises:
            IndexError: An index is negative or too large.
            ValueError: A name is not in the mesh.

        >>> from maxlite.driver import CPU
        >>> DeviceMesh((CPU(),) * 2, (1, 2), ("x", "y")).axis_size(1)
        2
        """
        return math.prod(self.mesh_shape[i] for i in self.axis_indices(axis))

    def device_coord(self, device_idx: int, axis: MeshAxes) -> int:
        """Finds where a device stands along mesh axes.

        Args:
            device_idx: Position in ``devices``.
            axis: A name, an index, or any number of them, whose coordinates combine
                row-major in the order given.

        Returns:
            A number from 0 to ``axis_size(axis) - 1``.

        Raises:
            IndexError: ``device_idx`` or an axis index is negative or too large.
            ValueError: A name is not in the mesh.

        >>> from maxlite.driver import CPU
        >>> mesh = DeviceMesh((CPU(),) * 6, (2, 3), ("x", "y"))
        >>> mesh.device_coord(4, "y"), mesh.device_coord(4, ("y", "x"))
        (1, 3)
        """
        coords = self.device_coords(device_idx)
        position = 0
        for i in self.axis_indices(axis):
            position = position * self.mesh_shape[i] + coords[i]
        return position

    def device_coords(self, device_idx: int) -> tuple[int, ...]:
        """Finds where a device stands along every mesh axis.

        >>> from maxlite.driver import CPU
        >>> DeviceMesh((CPU(),) * 6, (2, 3), ("x", "y")).device_coords(4)
        (1, 1)
        """
        if not 0 <= device_idx < self.num_devices:
            raise IndexError(
                "DeviceMesh: device_idx must be at least 0 and below "
                f"{self.num_devices} on {self!r}, got {device_idx}. Pass the position "
                "of a device in .devices."
            )
        coords: list[int] = []
        for size in reversed(self.mesh_shape):
            device_idx, coord = divmod(device_idx, size)
            coords.append(coord)
        return tuple(reversed(coords))

    def to_jax(self) -> jax.sharding.Mesh:
        """Converts to a JAX mesh, whose devices are all different.

        The further occurrences of one device become the simulated devices that follow
        it and that the mesh does not name itself.

        Raises:
            ValueError: There are not enough devices; the message names the setting.

        >>> from maxlite.driver import CPU
        >>> DeviceMesh((CPU(),) * 2, (2,), ("x",)).to_jax().axis_names
        ('x',)
        """
        return self._jax_mesh

    @cached_property
    def _jax_mesh(self) -> jax.sharding.Mesh:
        grid = np.empty(self.num_devices, dtype=object)
        grid[:] = _distinct_jax_devices(self.devices)
        return jax.sharding.Mesh(
            grid.reshape(self.mesh_shape),
            self.axis_names,
            axis_types=(AxisType.Auto,) * self.ndim,
        )

    def _axis_index(self, axis: str | int) -> int:
        if isinstance(axis, str):
            if axis not in self.axis_names:
                raise ValueError(
                    f"DeviceMesh: a mesh axis must be one of {self.axis_names}, "
                    f"got {axis!r}. Use one of these names."
                )
            return self.axis_names.index(axis)
        try:
            index = operator.index(axis)
        except TypeError:
            raise _wrong_axis_kind(axis) from None
        if not 0 <= index < self.ndim:
            raise IndexError(
                "DeviceMesh: the index of a mesh axis must be at least 0 and below "
                f"{self.ndim} on {self!r}, got {index}. Use a name or such an index."
            )
        return index

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, DeviceMesh):
            return NotImplemented
        return (
            self._hash == other._hash
            and self.mesh_shape == other.mesh_shape
            and self.axis_names == other.axis_names
            and self.devices == other.devices
        )

    def __repr__(self) -> str:
        axes = zip(self.axis_names, self.mesh_shape, strict=True)
        return f"DeviceMesh({', '.join(f'{name}={size}' for name, size in axes)})"

    def __reduce__(self) -> tuple[type[DeviceMesh], tuple[object, ...]]:
        """Makes it anew, as hashes of strings differ between processes."""
        return DeviceMesh, (self.devices, self.mesh_shape, self.axis_names)


@lru_cache(maxsize=256)
def _single(device: Device) -> DeviceMesh:
    return DeviceMesh((device,), (1,), ("_",))


def _distinct_jax_devices(devices: tuple[Device, ...]) -> list[JaxDevice]:
    """Gives every position a JAX device of its own, first occurrences exactly."""
    _check_count(devices)
    several = len(devices) > 1  # one device is the process's own
    taken = {device.to_jax(everywhere=several) for device in devices}
    occurrences: dict[Device, int] = {}
    result: list[JaxDevice] = []
    for device in devices:
        if device not in occurrences:
            occurrences[device] = 0
            result.append(device.to_jax(everywhere=several))
            continue
        found = device.to_jax(everywhere=several)
        while found in taken:
            occurrences[device] += 1
            found = device.to_jax(occurrences[device], everywhere=several)
        taken.add(found)
        result.append(found)
    return result


def _check_count(devices: tuple[Device, ...]) -> None:
    wanted = sum(device.is_host for device in devices)
    found = len(_backend_devices("cpu", everywhere=True)) if wanted else 0
    if wanted > found:
        raise ValueError(
            f"DeviceMesh: a mesh of {wanted} CPU devices needs as many, JAX has {found}"
            ". Use maxlite before JAX starts, which asks for 8, or set "
            f"XLA_FLAGS=--xla_force_host_platform_device_count={wanted}, or call "
            f'jax.config.update("jax_num_cpu_devices", {wanted}) before JAX starts.'
        )


def _as_size(size: int) -> int:
    try:
        return int(operator.index(size))
    except TypeError:
        raise TypeError(
            "DeviceMesh: mesh_shape must be made of ints, "
            f"got {size!r} of type {type(size).__name__}. Convert it with int()."
        ) from None


def _check_mesh(
    devices: tuple[Device, ...], shape: tuple[int, ...], names: tuple[str, ...]
) -> None:
    for device in devices:
        check_type(
            device,
            Device,
            "DeviceMesh: devices must be made of Device",
            "Pass for example (CPU(), CPU()).",
        )
    for name in names:
        check_type(
            name,
            str,
            "DeviceMesh: axis_names must be made of str",
            "Pass for example ('x', 'y').",
        )
    if not devices:
        raise ValueError("DeviceMesh: needs at least one device, got none. Add one.")
    if any(size < 1 for size in shape):
        raise ValueError(
            f"DeviceMesh: each size in mesh_shape must be at least 1, got {shape}. "
            "Count the devices along each axis."
        )
    if math.prod(shape) != len(devices):
        raise ValueError(
            "DeviceMesh: the product of mesh_shape must be the number of devices, "
            f"got {shape} for {len(devices)}. Change one of them."
        )
    if len(names) != len(shape):
        raise ValueError(
            "DeviceMesh: axis_names must have one name per axis of mesh_shape, "
            f"got {names} for {shape}. Change one of them."
        )
    if len(set(names)) != len(names):
        raise ValueError(
            f"DeviceMesh: axis_names must all differ, got {names}. Rename one."
        )


def _wrong_axis_kind(axis: object) -> TypeError:
    return TypeError(
        "DeviceMesh: a mesh axis must be a name, an index or several of them, "
        f"got {axis!r} of type {type(axis).__name__}. Pass for example 'x' or 0."
    )
