"""Types of values in a graph, and the orders of axes that convolutions know."""

from __future__ import annotations

from enum import Enum

from maxlite.graph._type import BufferType, DeviceKind, DeviceRef, TensorType, Type

__all__ = [
    "BufferType",
    "ConvInputLayout",
    "DeviceKind",
    "DeviceRef",
    "FilterLayout",
    "TensorType",
    "Type",
]


class ConvInputLayout(Enum):
    """The order of axes of what a convolution is applied to.

    ``N`` is the batch, ``C`` the channels, ``H`` and ``W`` height and width; with a
    third axis in space, depth stands before the height.

    Source: max.graph.type.ConvInputLayout.

    >>> ConvInputLayout("NCHW")
    <ConvInputLayout.NCHW: 'NCHW'>
    """

    NHWC = "NHWC"
    NCHW = "NCHW"


class FilterLayout(Enum):
    """The order of axes of a convolution's filter.

    ``F`` is the output channels, ``C`` the input channels; ``Q``, ``R`` and ``S`` are
    depth, height and width.

    Source: max.graph.type.FilterLayout.

    >>> FilterLayout("FCRS")
    <FilterLayout.FCRS: 'FCRS'>
    """

    RSCF = "RSCF"
    QRSCF = "QRSCF"
    FCRS = "FCRS"
    FCQRS = "FCQRS"
    CFRS = "CFRS"
