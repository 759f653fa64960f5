"""Where floats below 32 bits are computed: in float32, rounded once at the end."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax
from jax import numpy as jnp

if TYPE_CHECKING:
    from collections.abc import Callable


def widened(x: jax.Array) -> jax.Array:
    """Converts floats below 32 bits to float32, in which they are accumulated."""
    narrow = jnp.issubdtype(x.dtype, jnp.floating) and x.dtype.itemsize < 4
    return x.astype(jnp.float32) if narrow else x


def in_float32(fn: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """Makes a function of floats compute those below 32 bits in float32.

    Args:
        fn: Takes arrays of one dtype and gives one of that dtype.
    """

    @functools.wraps(fn)
    def wide(*arrays: jax.Array, **params: Any) -> jax.Array:
        return fn(*map(widened, arrays), **params).astype(arrays[0].dtype)

    return wide
