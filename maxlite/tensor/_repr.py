"""How a tensor prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from maxlite.tensor._tensor import Tensor


def values_text(tensor: Tensor) -> str:
    return f"Tensor({np.asarray(tensor._stored())}, dtype={tensor.dtype}, device={tensor.device})"


def pending_text(tensor: Tensor) -> str:
    return "unrealized"


def sharded_text(tensor: Tensor) -> str:
    return "x"
