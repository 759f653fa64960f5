"""Block quantization: weights stored as packed blocks of a few bits per element.

A block holds a fixed number of neighbouring elements of a row in a fixed number of
bytes: small integers, and the scales that turn them back into numbers. The encodings
with blocks are those of GGUF files, where the bytes of each are published.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True)
class BlockParameters:
    """How much a block holds.

    Attributes:
        elements_per_block: Number of elements.
        block_size: Number of bytes.

    Source: max.graph.quantization.BlockParameters.

    >>> BlockParameters(elements_per_block=32, block_size=18)
    BlockParameters(elements_per_block=32, block_size=18)
    """

    elements_per_block: int
    block_size: int


@dataclass(frozen=True)
class QuantizationConfig:
    """How a checkpoint says that it was quantized; GPTQ needs it, blocks do not.

    Attributes:
        quant_method: Name of the method, such as ``"gptq"``.
        bits: Bits per element.
        group_size: Elements that share a scale.
        desc_act: Whether columns were reordered by the size of their activations.
        sym: Whether the integers are symmetric around 0.

    Source: max.graph.quantization.QuantizationConfig.

    >>> QuantizationConfig("gptq", bits=4, group_size=128).sym
    False
    """

    quant_method: str
    bits: int
    group_size: int
    desc_act: bool = False
    sym: bool = False


class QuantizationEncoding(Enum):
    """The known ways to store quantized weights.

    Source: max.graph.quantization.QuantizationEncoding.

    >>> QuantizationEncoding.Q4_K.elements_per_block
    256
    >>> QuantizationEncoding("Q4_0").name
    'q4_0'
    """

    Q4_0 = "Q4_0"
    Q4_K = "Q4_K"
    Q5_K = "Q5_K"
    Q6_K = "Q6_K"
    GPTQ = "GPTQ"

    @property
    def name(self) -> str:
        """The name in lower case."""
        return self.value.lower()

    @property
    def is_gguf(self) -> bool:
        """Whether it is an encoding of GGUF files, which has blocks."""
        return self.value in _BLOCKS

    @property
    def block_parameters(self) -> BlockParameters:
        """How much a block holds.

        Raises:
            ValueError: The encoding has no blocks.
        """
        if not self.is_gguf:
            raise ValueError(
                f"block_parameters: the encoding must have blocks, got {self}. Use one "
                f"of {', '.join(_BLOCKS)}."
            )
        return _BLOCKS[self.value]

    @property
    def elements_per_block(self) -> int:
        """Number of elements in a block.

        Raises:
            ValueError: The encoding has no blocks.
        """
        return self.block_parameters.elements_per_block

    @property
    def block_size(self) -> int:
        """Number of bytes of a block.

        Raises:
            ValueError: The encoding has no blocks.
        """
        return self.block_parameters.block_size


_BLOCKS = {
    "Q4_0": BlockParameters(32, 18),
    "Q4_K": BlockParameters(256, 144),
    "Q5_K": BlockParameters(256, 176),
    "Q6_K": BlockParameters(256, 210),
}

__all__ = ["BlockParameters", "QuantizationConfig", "QuantizationEncoding"]
