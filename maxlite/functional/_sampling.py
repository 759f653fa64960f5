"""Where the elements of a resized axis lie in the old one, and what they are made of.

An axis of ``old`` elements is sampled at ``new`` positions. Everything here is a small
array per axis: positions, or for each of them a few *taps*, elements around it, with
weights that add up to 1.
"""

from __future__ import annotations

from typing import Any

import jax
from jax import numpy as jnp

HALF_PIXEL, ALIGN_CORNERS, ASYMMETRIC, HALF_PIXEL_1D = range(4)
"""How positions are mapped: see ``resize_linear``."""

CUBIC = -0.75
"""Slope of the cubic kernel at distance 1."""


def positions(old: Any, new: Any, mode: int) -> jax.Array:
    """Maps the positions of a result to those of its input, in float64.

    Each is one division of whole numbers, so that a position halfway between two
    elements is exactly that.
    """
    size, count = jnp.asarray(old, jnp.int64), jnp.asarray(new, jnp.int64)
    i = jnp.arange(new, dtype=jnp.int64)
    if mode == ALIGN_CORNERS:
        return _ratio(i * (size - 1), jnp.maximum(count - 1, 1))
    if mode == ASYMMETRIC:
        return _ratio(i * size, count)
    centers = _ratio((2 * i + 1) * size - count, 2 * count)
    if mode == HALF_PIXEL_1D:
        return jnp.where(count == 1, 0.0, centers)
    return centers


def _ratio(dividend: jax.Array, divisor: jax.Array) -> jax.Array:
    return dividend.astype(jnp.float64) / divisor.astype(jnp.float64)


def rounded(at: jax.Array, mode: int) -> jax.Array:
    """Rounds positions: half down, half up, down or up."""
    if mode == 0:
        nearest = jnp.ceil(at - 0.5)
    elif mode == 1:
        nearest = jnp.floor(at + 0.5)
    else:
        nearest = jnp.floor(at) if mode == 2 else jnp.ceil(at)
    return nearest.astype(jnp.int64)


def sampled(x: jax.Array, axis: int, taps: jax.Array, weights: jax.Array) -> jax.Array:
    """Adds up weighted elements along an axis.

    Args:
        x: The input.
        axis: What is sampled.
        taps: Positions of elements, ``[new, taps]``; held to those that exist.
        weights: One per position.
    """
    picked = jnp.take(x, taps, axis, mode="clip")
    shape = [1] * picked.ndim
    shape[axis : axis + 2] = weights.shape
    factors = weights.astype(x.dtype).reshape(shape)
    zero = jnp.zeros((), x.dtype)
    return jnp.sum(jnp.where(factors == 0, zero, picked) * factors, axis + 1)


def linear_taps(at: jax.Array, old: Any, new: Any) -> tuple[jax.Array, jax.Array]:
    """Weighs the two elements around a position by how near they are."""
    low = jnp.floor(at)
    part = at - low
    first = low.astype(jnp.int64)
    return (
        jnp.stack([first, first + 1], -1),
        jnp.stack([1 - part, part], -1),
    )


def triangle_taps(at: jax.Array, old: Any, new: Any) -> tuple[jax.Array, jax.Array]:
    """Weighs by a triangle that is as wide as what one element of the result covers."""
    size, count = jnp.asarray(old, jnp.int64), jnp.asarray(new, jnp.int64)
    reach = jnp.maximum(_ratio(size, count), 1.0)
    covered = -(-old // max(new, 1))
    first = jnp.ceil(at - reach).astype(jnp.int64)
    taps = first[:, None] + jnp.arange(2 * covered + 1, dtype=jnp.int64)
    distance = jnp.abs(taps.astype(jnp.float64) - at[:, None])
    inside = (taps >= 0) & (taps < size)
    weights = jnp.where(inside, jnp.maximum(1 - distance / reach, 0.0), 0.0)
    return taps, weights / jnp.sum(weights, -1, keepdims=True)


def cubic_taps(at: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Weighs the four elements around a position by a cubic in their distance."""
    low = jnp.floor(at)
    part = at - low
    weights = [_far(1 + part), _near(part), _near(1 - part), _far(2 - part)]
    taps = low.astype(jnp.int64)[:, None] + jnp.arange(-1, 3, dtype=jnp.int64)
    return taps, jnp.stack(weights, -1)


def _near(d: jax.Array) -> jax.Array:
    """Weighs at a distance up to 1."""
    return ((CUBIC + 2) * d - (CUBIC + 3)) * d * d + 1


def _far(d: jax.Array) -> jax.Array:
    """Weighs at a distance from 1 to 2."""
    return CUBIC * (((d - 5) * d + 8) * d - 4)
