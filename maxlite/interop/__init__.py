"""Exchange of tensors with JAX and PyTorch; numpy's way in and out is on Tensor itself.

Importing this room imports neither: PyTorch is looked for when a function of it is
called.
"""

from maxlite.interop._jax import from_jax, to_jax
from maxlite.interop._torch import from_torch, to_torch

__all__ = ["from_jax", "from_torch", "to_jax", "to_torch"]
