"""Symbolic sizes, and the types of tensors and buffers."""

from maxlite.graph._building import BufferValue
from maxlite.graph._dim import AlgebraicDim, Dim, DimLike, StaticDim, SymbolicDim
from maxlite.graph._graph import Graph
from maxlite.graph._node import TensorValue
from maxlite.graph._shape import Shape, ShapeLike
from maxlite.graph._type import BufferType, DeviceKind, DeviceRef, TensorType, Type
from maxlite.graph._value_operators import Value

__all__ = [
    "AlgebraicDim",
    "BufferType",
    "BufferValue",
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
    "Value",
]
