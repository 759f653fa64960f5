"""How floats are kept exact: computed in float32 at least, and truly divided."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax
from jax import lax
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


def divided(x: jax.Array, by: jax.Array) -> jax.Array:
    """Divides, also where the divisor broadcasts.

    There the compiler would multiply by the reciprocal, which is off by a bit for one
    quotient in five: 3 / 10 would be 0.30000000000000004.
    """
    if x.ndim and by.shape != x.shape:
        # No mere broadcast any more, and NaN all the same where x is.
        fixed = lax.stop_gradient(x)
        by = jnp.where(jnp.isnan(fixed), fixed, by)
    return lax.div(*jnp.broadcast_arrays(x, by))
