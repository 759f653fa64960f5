"""What a user should hear of while a function is staged."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from maxlite._frames import levels_to_user

if TYPE_CHECKING:
    from maxlite.graph import Graph

LARGE_CAPTURE = 1 << 20
"""Bytes from which a captured tensor is worth a warning."""


def warn_of_large_captures(graph: Graph) -> None:
    """Warns of each large realized tensor that a program has taken in.

    Such a tensor keeps its memory for as long as the program lives, and cannot be
    exchanged; a weight can.
    """
    for value in graph.captures.values():
        size = value.spec.dtype.size_in_bytes
        for dim in value.spec.shape:
            size *= int(dim)
        if size >= LARGE_CAPTURE:
            warnings.warn(
                f"{graph.name}: the function closes over a tensor of {size / 2**20:.1f}"
                f" MB, {value.spec!r}. It became a hidden argument whose value stays "
                "as it is now. Pass it as an argument, or declare it with "
                "constant_external to be able to exchange it.",
                stacklevel=levels_to_user(),
            )
