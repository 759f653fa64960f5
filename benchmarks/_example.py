"""The main job, as the benchmarks import it: the example, and the same in plain JAX."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.sharding import Mesh
from plain_jax_decoder import PlainDecoder

if TYPE_CHECKING:
    from maxlite import DeviceMesh

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
example: Any = importlib.import_module("sharded_transformer")


def plain_decoder(config: Any, mesh: DeviceMesh) -> PlainDecoder:
    """Makes the plain decoder of the same sizes, on the same devices."""
    count, platform = mesh.num_devices, mesh.devices[0].to_jax().platform
    devices = np.array(jax.devices(platform)[:count]).reshape(mesh.mesh_shape)
    return PlainDecoder(
        Mesh(devices, mesh.axis_names),
        layers=config.layers,
        heads=config.heads,
        eps=config.eps,
        theta=config.theta,
    )
