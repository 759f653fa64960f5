"""Ops on block-quantized weights, which stay packed until they are used.

A packed weight is a uint8 tensor: along its last axis stand the bytes of whole blocks,
as a GGUF file holds them. What the bytes mean is written in ``_block_formats``; here
are the ops on them. Elements are float32, and products are taken in float32.

Beyond the reference: Q5_K, and any number of rows, of which its kernels want a multiple
of 32.

Differs from the reference: activations are not quantized on the way, so ``qmatmul`` is
the product with the dequantized weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import DType
from maxlite.functional._block_formats import decode
from maxlite.functional._dispatch import apply
from maxlite.functional._operands import as_tensor
from maxlite.graph._shape import compact_dim, shape_text
from maxlite.graph.quantization import QuantizationConfig, QuantizationEncoding
from maxlite.sharding.rules import dequantize_rule, qmatmul_rule

if TYPE_CHECKING:
    from maxlite.graph import Dim
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor

_SUPPORTED = [encoding.value for encoding in QuantizationEncoding if encoding.is_gguf]


def _dequantize(packed: jax.Array, *, encoding: str) -> jax.Array:
    _check_bytes("dequantize", packed.shape, encoding)
    return decode(packed, encoding)


def _infer_dequantize(packed: Spec, *, encoding: str) -> tuple[DType, Any]:
    who = "dequantize"
    _check_packed(who, packed, "quantized")
    if not packed.rank:
        raise ValueError(
            f"{who}: quantized must have an axis of bytes, got rank 0. Pass the packed "
            "rows as they are stored."
        )
    _check_bytes(who, packed.shape, encoding)
    return DType.float32, (*packed.shape[:-1], _elements(packed, encoding))


def _qmatmul(lhs: jax.Array, rhs: jax.Array, *, encoding: str) -> jax.Array:
    _check_bytes("qmatmul", rhs.shape, encoding)
    return jnp.matmul(lhs, decode(rhs, encoding).T)


def _infer_qmatmul(lhs: Spec, rhs: Spec, *, encoding: str) -> tuple[DType, Any]:
    who = "qmatmul"
    if lhs.dtype is not DType.float32:
        raise TypeError(f"{who}: lhs must be float32, got {lhs.dtype.name}. Cast it.")
    _check_packed(who, rhs, "rhs")
    if rhs.rank != 2:
        raise TypeError(
            f"{who}: rhs must be a matrix of packed rows, got {shape_text(rhs.shape)}. "
            "Reshape it to [n, bytes]."
        )
    _check_bytes(who, rhs.shape, encoding)
    inner = _elements(rhs, encoding)
    if not lhs.rank or lhs.shape[-1] != inner:
        raise ValueError(
            f"{who}: the last axis of lhs must have the {inner} elements of a row of "
            f"rhs, got lhs {shape_text(lhs.shape)} and rhs {shape_text(rhs.shape)} in "
            f"{encoding}. Reshape or rebind one of them."
        )
    return DType.float32, (*lhs.shape[:-1], rhs.shape[0])


def _check_packed(who: str, packed: Spec, name: str) -> None:
    if packed.dtype is not DType.uint8:
        raise TypeError(
            f"{who}: {name} must be uint8, the bytes of packed blocks, got "
            f"{packed.dtype.name}. View the stored bytes as uint8."
        )


def _elements(packed: Spec, encoding: str) -> int | Dim:
    """Counts the elements of a packed row."""
    blocks = QuantizationEncoding(encoding).block_parameters
    return compact_dim(
        packed.shape[-1] // blocks.block_size * blocks.elements_per_block
    )


def _check_bytes(who: str, shape: tuple[Any, ...], encoding: str) -> None:
    """Refuses rows that are no whole blocks; named sizes are checked at each size."""
    block_size = QuantizationEncoding(encoding).block_size
    if isinstance(shape[-1], int) and shape[-1] % block_size:
        raise ValueError(
            f"{who}: the last axis must be whole blocks of {block_size} bytes, got "
            f"{list(shape)}. Check the encoding, or pass whole rows."
        )


_DEQUANTIZE = register(
    Op(
        name="dequantize",
        fn=_dequantize,
        infer=_infer_dequantize,
        rule=dequantize_rule,
        params=("encoding",),
        dtypes=frozenset({DType.uint8}),
    )
)
_QMATMUL = register(
    Op(
        name="qmatmul",
        fn=_qmatmul,
        infer=_infer_qmatmul,
        rule=qmatmul_rule,
        params=("encoding",),
        dtypes=frozenset({DType.float32}),
    )
)


def _block_format(who: str, encoding: object) -> str:
    """Gives the static parameter of the rows: the value of an encoding with blocks."""
    if not isinstance(encoding, QuantizationEncoding):
        raise TypeError(
            f"{who}: encoding must be a QuantizationEncoding, got "
            f"{type(encoding).__name__}. Use QuantizationEncoding.Q4_0, say."
        )
    if not encoding.is_gguf:
        raise NotImplementedError(
            f"{who}: {encoding} is not supported; {', '.join(_SUPPORTED)} are. Convert "
            "the weights to one of these, or dequantize them before."
        )
    return encoding.value


@front
def dequantize(encoding: QuantizationEncoding, quantized: Tensor) -> Tensor:
    """Turns packed blocks into numbers.

    Args:
        encoding: One with blocks: Q4_0, Q4_K, Q5_K or Q6_K.
        quantized: Shape ``[*batch, bytes]``, uint8: whole blocks along the last axis.

    Returns:
        Shape ``[*batch, bytes // block_size * elements_per_block]``, float32. Sharded
        axes stay sharded, the last one if no device has part of a block.

    Raises:
        TypeError: ``encoding`` is no encoding, or ``quantized`` no tensor of uint8.
        ValueError: ``quantized`` has no axis, or its last one is no whole blocks.
        NotImplementedError: The encoding is GPTQ.

    Source: max.experimental.functional.dequantize.

    >>> import numpy as np
    >>> from maxlite.tensor import Tensor
    >>> half = np.array([0.5], np.float16).view(np.uint8)
    >>> block = np.concatenate([half, np.full(16, 0x9A, np.uint8)])
    >>> x = dequantize(QuantizationEncoding.Q4_0, Tensor(block)).to_numpy()
    >>> x.shape, x[0].item(), x[16].item()  # 0.5 * (10 - 8), 0.5 * (9 - 8)
    ((32,), 1.0, 0.5)
    """
    packed = as_tensor("dequantize", quantized, "quantized")
    return apply(_DEQUANTIZE, (packed,), _block_format("dequantize", encoding))


@front
def qmatmul(
    encoding: QuantizationEncoding,
    config: QuantizationConfig | None,
    lhs: Tensor,
    *rhs: Tensor,
) -> Tensor:
    """Multiplies with a packed weight: ``lhs @ dequantize(encoding, rhs).T``.

    Args:
        encoding: One with blocks: Q4_0, Q4_K, Q5_K or Q6_K.
        config: Not needed by these.
        lhs: Shape ``[*batch, k]``, float32.
        *rhs: One tensor, shape ``[n, bytes]``, uint8: rows of packed blocks.

    Returns:
        Shape ``[*batch, n]``, float32. A batch axis of ``lhs`` and the rows of ``rhs``
        may be sharded, and the axis of the result is then. Partial where both shard
        their last axis and no device has part of a block.

    Raises:
        TypeError: An operand is no tensor of its dtype, ``rhs`` no single matrix, or
            ``encoding`` or ``config`` something else.
        ValueError: ``rhs`` is no whole blocks, or has rows of another length than
            ``lhs``.
        NotImplementedError: The encoding is GPTQ.

    Source: max.experimental.functional.qmatmul.

    >>> import numpy as np
    >>> from maxlite.tensor import Tensor
    >>> half = np.array([0.5], np.float16).view(np.uint8)
    >>> block = np.concatenate([half, np.full(16, 0x9A, np.uint8)])
    >>> weight = Tensor(np.stack([block, block]))
    >>> x = Tensor(np.ones((1, 32), np.float32))
    >>> qmatmul(QuantizationEncoding.Q4_0, None, x, weight).to_numpy().tolist()
    [[24.0, 24.0]]
    """
    who = "qmatmul"
    block_format = _block_format(who, encoding)
    if config is not None and not isinstance(config, QuantizationConfig):
        raise TypeError(
            f"{who}: config must be a QuantizationConfig or None, got "
            f"{type(config).__name__}. Pass None: {encoding} needs none."
        )
    if len(rhs) != 1:
        raise TypeError(
            f"{who}: rhs must be one tensor for {encoding}, got {len(rhs)}. Pass the "
            "packed weight, scales inside."
        )
    operands = (as_tensor(who, lhs, "lhs"), as_tensor(who, rhs[0], "rhs"))
    return apply(_QMATMUL, operands, block_format)
