"""Symbolic sizes, and the types of tensors and buffers."""

from maxlite.graph._dim import AlgebraicDim, Dim, DimLike, StaticDim, SymbolicDim
from maxlite.graph._graph import Graph, TensorValue
from maxlite.graph._shape import Shape, ShapeLike
from maxlite.graph._type import BufferType, DeviceKind, DeviceRef, TensorType, Type

__all__ = [
    "AlgebraicDim",
    "BufferType",
    "DeviceKind",
    "DeviceRef",
    "Dim",
    "DimLike",
    "Graph",
    "Shape",
    "ShapeLike",
    "StaticDim",
    "SymbolicDim",
    "TensorType",
    "TensorValue",
    "Type",
]
