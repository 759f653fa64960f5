"""Functions of your own on JAX arrays, for ``F.custom`` and ``F.inplace_custom``."""

from maxlite._custom_registry import declare

__all__ = ["declare"]
