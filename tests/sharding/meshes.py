"""Meshes of simulated CPU devices."""

import math

from maxlite.driver import CPU
from maxlite.sharding import DeviceMesh


def cpu_mesh(*shape: int, names: tuple[str, ...] | None = None) -> DeviceMesh:
    """Makes a mesh of one CPU, repeated; the axes are x, y, z unless named."""
    devices = (CPU(),) * math.prod(shape)
    return DeviceMesh(devices, shape, names or tuple("xyz"[: len(shape)]))
