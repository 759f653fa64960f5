"""Ways to compute what lies between the elements of a grid."""

from __future__ import annotations

from enum import Enum


class InterpolationMode(Enum):
    """How resizing computes values between pixels.

    Source: max.graph.ops.InterpolationMode.
    """

    NEAREST = "nearest"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
