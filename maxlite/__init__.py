"""Sharded tensors and staged functions on JAX, with the API of MAX's experimental."""

__all__ = ["__version__"]

__version__ = "0.1.0"
