"""The bytes of a block, and the elements that they stand for.

Written from the block layouts that the GGUF format publishes. Every number is stored
little-endian. A half is a float16; digits are unsigned integers of a few bits, the
lower ones in the low bits of a byte.

- Q4_0, 32 elements: a half ``scale`` and 16 bytes with two digits each, elements 0-15
  in the low bits and 16-31 in the high ones. Element: ``scale * (digit - 8)``.
- Q4_K, 256 elements: halves ``scale`` and ``offset``, 12 bytes with a 6-bit factor of
  each for the 8 runs of 32 elements, then 128 bytes with two digits each. A stretch of
  32 bytes holds two runs, one in the low bits and one in the high ones. Element:
  ``scale * factor * digit - offset * factor'``.
- Q5_K: as Q4_K, with 32 more bytes before the digits that hold their fifth bits, bit
  ``r`` of byte ``i`` that of element ``i`` of run ``r``.
- Q6_K, 256 elements in two halves: 128 bytes with the lower 4 bits of the digits, 64
  with the upper 2, 16 signed bytes with a factor for each run of 16 elements, and a
  half ``scale``. Element: ``scale * factor * (digit - 32)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from maxlite.graph.quantization import QuantizationEncoding

if TYPE_CHECKING:
    from collections.abc import Callable


def decode(packed: jax.Array, encoding: str) -> jax.Array:
    """Turns packed blocks into elements.

    Args:
        packed: Shape ``[*batch, bytes]``, uint8; whole blocks.
        encoding: Value of an encoding with blocks.

    Returns:
        Shape ``[*batch, elements]``, float32.
    """
    blocks = QuantizationEncoding(encoding).block_parameters
    *batch, size = packed.shape
    count: Any = size // blocks.block_size
    split = packed.reshape((*batch, count, blocks.block_size))
    elements = _FORMATS[encoding](split)
    return elements.reshape((*batch, count * blocks.elements_per_block))


# Formats: from [..., bytes of a block] to its elements, in any number of axes ---------


def _q4_0(block: jax.Array) -> jax.Array:
    low, high = _nibbles(block[..., 2:])
    digits = jnp.concatenate([low, high], axis=-1)
    return _half(block, 0) * (digits.astype(jnp.float32) - 8)


def _q4_k(block: jax.Array) -> jax.Array:
    return _scaled_runs(block, _runs_of_nibbles(block[..., 16:]))


def _q5_k(block: jax.Array) -> jax.Array:
    runs = np.arange(8, dtype=np.uint8)[:, None]
    fifth = (block[..., None, 16:48] >> runs) & 1
    return _scaled_runs(block, _runs_of_nibbles(block[..., 48:]) | (fifth << 4))


def _q6_k(block: jax.Array) -> jax.Array:
    batch = block.shape[:-1]
    # In each half the runs of 32 elements are the low bits of the first and of the
    # second 32 bytes, then the high bits of both.
    lower = jnp.stack(_nibbles(block[..., :128].reshape((*batch, 2, 2, 32))), axis=-3)
    shifts = np.arange(0, 8, 2, dtype=np.uint8)[:, None]
    upper = (block[..., 128:192].reshape((*batch, 2, 1, 32)) >> shifts) & 3
    digits = lower.reshape((*batch, 2, 4, 32)) | (upper << 4)
    signed = lax.bitcast_convert_type(block[..., 192:208], jnp.int8)
    factors = _half(block, 208) * signed.astype(jnp.float32)
    centred = digits.reshape((*batch, 16, 16)).astype(jnp.float32) - 32
    return factors[..., None] * centred


_FORMATS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "Q4_0": _q4_0,
    "Q4_K": _q4_k,
    "Q5_K": _q5_k,
    "Q6_K": _q6_k,
}


# Parts of blocks --------------------------------------------------------------------


def _half(block: jax.Array, at: int) -> jax.Array:
    """Reads a float16; keeps the axis of bytes, with size 1."""
    half = lax.bitcast_convert_type(block[..., at : at + 2], jnp.float16)
    return half[..., None].astype(jnp.float32)


def _nibbles(digits: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Takes the low and the high four bits of each byte."""
    return digits & 15, digits >> 4


def _runs_of_nibbles(digits: jax.Array) -> jax.Array:
    """Reads 128 bytes as 8 runs of 32 digits."""
    batch = digits.shape[:-1]
    stretches = digits.reshape((*batch, 4, 32))
    return jnp.stack(_nibbles(stretches), axis=-2).reshape((*batch, 8, 32))


def _scaled_runs(block: jax.Array, digits: jax.Array) -> jax.Array:
    """Scales and shifts 8 runs of digits as the first 16 bytes of a block say."""
    factors, shifts = _six_bit_pairs(block[..., 4:16])
    scale = _half(block, 0) * factors.astype(jnp.float32)
    offset = _half(block, 2) * shifts.astype(jnp.float32)
    return scale[..., None] * digits.astype(jnp.float32) - offset[..., None]


def _six_bit_pairs(packed: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Reads 8 scale factors and 8 offset factors of 6 bits from 12 bytes.

    Bytes 0-3 hold the first four scales and 4-7 the first four offsets in their lower 6
    bits. Bytes 8-11 hold the lower 4 bits of the other scales and offsets, whose upper
    two are the upper two of the bytes before.
    """
    scales, offsets, rest = packed[..., :4], packed[..., 4:8], packed[..., 8:]
    low, high = _nibbles(rest)
    return (
        jnp.concatenate([scales & 63, low | ((scales >> 6) << 4)], axis=-1),
        jnp.concatenate([offsets & 63, high | ((offsets >> 6) << 4)], axis=-1),
    )
