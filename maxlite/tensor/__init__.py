"""The Tensor, the current context, and the defaults of new tensors."""

from maxlite.tensor._context import (
    RealizationContext,
    RealizationState,
    current_realization_context,
    realization_context,
)
from maxlite.tensor._defaults import (
    default_device,
    default_dtype,
    defaults,
    defaults_like,
)
from maxlite.tensor._tensor import Tensor

__all__ = [
    "RealizationContext",
    "RealizationState",
    "Tensor",
    "current_realization_context",
    "default_device",
    "default_dtype",
    "defaults",
    "defaults_like",
    "realization_context",
]
