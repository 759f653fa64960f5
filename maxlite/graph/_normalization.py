"""Ways to scale a Fourier transform."""

from __future__ import annotations

from enum import Enum


class Normalization(Enum):
    """Where the factor of a Fourier transform of ``n`` values stands.

    BACKWARD divides the inverse transform by ``n``, FORWARD the transform itself, and
    ORTHO either by the root of ``n``.

    Source: max.graph.ops.irfft.Normalization.
    """

    BACKWARD = "backward"
    ORTHO = "ortho"
    FORWARD = "forward"
