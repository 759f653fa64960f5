"""Sharded tensors and staged functions on JAX, with the API of MAX's max.experimental.

The names that most programs need are here. Each room has the rest: ``functional`` (the
ops), ``tensor``, ``sharding``, ``compilation``, ``realization_context``, ``graph``,
``driver``, ``dtype``, ``tree``, ``support``, ``testing``, ``validation``,
``distributed`` and ``interop``.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from maxlite import functional
from maxlite._names import unknown_name as _unknown_name
from maxlite.compilation import (
    CompiledCallable,
    StagedGraph,
    as_subgraph,
    compile,
    load,
    stage,
)
from maxlite.driver import CPU, Accelerator, Buffer, Device
from maxlite.dtype import DType
from maxlite.graph import Dim, Shape
from maxlite.sharding import (
    BufferLayout,
    DeviceMapping,
    DeviceMesh,
    NamedMapping,
    Partial,
    Replicated,
    Sharded,
    ShardingError,
    TensorLayout,
    auto_reshard,
)
from maxlite.tensor import Tensor, default_device, default_dtype

# It stands below functional, so that the package around it cannot import it.
_import_module("maxlite.graph.ops")

__version__ = "0.1.0"

__all__ = [
    "CPU",
    "Accelerator",
    "Buffer",
    "BufferLayout",
    "CompiledCallable",
    "DType",
    "Device",
    "DeviceMapping",
    "DeviceMesh",
    "Dim",
    "NamedMapping",
    "Partial",
    "Replicated",
    "Shape",
    "Sharded",
    "ShardingError",
    "StagedGraph",
    "Tensor",
    "TensorLayout",
    "__version__",
    "as_subgraph",
    "auto_reshard",
    "compile",
    "default_device",
    "default_dtype",
    "functional",
    "load",
    "stage",
]

_ROOMS = (
    "custom",
    "debug",
    "distributed",
    "interop",
    "random",
    "testing",
    "validation",
)
"""What few programs need, and an import of the package does not load."""

if not TYPE_CHECKING:  # a type checker would then let every name pass

    def __getattr__(name: str) -> object:
        if name in _ROOMS:
            return _import_module(f"maxlite.{name}")
        raise _unknown_name("module 'maxlite'", name, (*__all__, *_ROOMS))
