"""Packed blocks against blocks that are packed here, number by number, and GGUF's."""

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from maxlite import compile, load
from maxlite import functional as F
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph.quantization import (
    BlockParameters,
    QuantizationConfig,
    QuantizationEncoding,
)
from maxlite.sharding import ShardingError, TensorLayout, auto_reshard
from maxlite.tensor import Tensor
from tests.functional._cross import check, check_sharded, place

Q4_0, Q4_K, Q5_K, Q6_K, GPTQ = QuantizationEncoding
BLOCKS = [Q4_0, Q4_K, Q5_K, Q6_K]
Block = tuple[bytes, np.ndarray]
"""Bytes of a block, and its elements."""


def as_id(encoding: Any) -> str:
    return encoding.name


# Packing, written from the block layouts ------------------------------------------


def pack_q4_0(rng: np.random.Generator) -> Block:
    scale, digits = half(rng), rng.integers(0, 16, 32)
    stored = bytes(int(digits[i] | digits[i + 16] << 4) for i in range(16))
    return struct.pack("<e", scale) + stored, scale * (digits - 8.0)


def pack_q4_k(rng: np.random.Generator) -> Block:
    return pack_runs(rng, bits=4)


def pack_q5_k(rng: np.random.Generator) -> Block:
    return pack_runs(rng, bits=5)


def pack_runs(rng: np.random.Generator, bits: int) -> Block:
    scale, offset = half(rng), half(rng)
    factors, shifts = rng.integers(0, 64, 8), rng.integers(0, 64, 8)
    digits = rng.integers(0, 1 << bits, (8, 32))
    sixes = bytearray(12)
    for j in range(4):
        sixes[j] = int(factors[j] | factors[j + 4] >> 4 << 6)
        sixes[j + 4] = int(shifts[j] | shifts[j + 4] >> 4 << 6)
        sixes[j + 8] = int(factors[j + 4] & 15 | (shifts[j + 4] & 15) << 4)
    low = digits & 15
    stored = bytes(
        int(low[run, i] | low[run + 1, i] << 4)
        for run in (0, 2, 4, 6)
        for i in range(32)
    )
    fifth = bytes(
        sum(int(digits[run, i] >> 4) << run for run in range(8)) for i in range(32)
    )
    head = struct.pack("<ee", scale, offset) + bytes(sixes)
    values = scale * factors[:, None] * digits - offset * shifts[:, None]
    return head + (fifth if bits == 5 else b"") + stored, values.ravel()


def pack_q6_k(rng: np.random.Generator) -> Block:
    scale, factors = half(rng), rng.integers(-128, 128, 16)
    digits = rng.integers(0, 64, 256)
    lower, upper = bytearray(128), bytearray(64)
    for i, digit in enumerate(map(int, digits)):
        part, rest = divmod(i, 128)
        run, at = divmod(rest, 32)
        lower[64 * part + 32 * (run % 2) + at] |= (digit & 15) << 4 * (run // 2)
        upper[32 * part + at] |= (digit >> 4) << 2 * run
    signed = factors.astype(np.int8).tobytes()
    stored = bytes(lower) + bytes(upper) + signed + struct.pack("<e", scale)
    return stored, scale * np.repeat(factors, 16) * (digits - 32.0)


PACK: dict[QuantizationEncoding, Callable[[np.random.Generator], Block]] = {
    Q4_0: pack_q4_0,
    Q4_K: pack_q4_k,
    Q5_K: pack_q5_k,
    Q6_K: pack_q6_k,
}


def half(rng: np.random.Generator) -> float:
    return float(np.float16(rng.uniform(-1, 1)))


def packed(
    encoding: QuantizationEncoding, shape: tuple[int, ...], seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Makes packed rows of ``shape[-1]`` blocks, and what they stand for."""
    rng = np.random.default_rng(seed)
    made = [PACK[encoding](rng) for _ in range(int(np.prod(shape)))]
    stored = np.frombuffer(b"".join(data for data, _ in made), np.uint8).copy()
    values = np.array([values for _, values in made], np.float32)
    *batch, blocks = shape
    return (
        stored.reshape(*batch, blocks * encoding.block_size),
        values.reshape(*batch, blocks * encoding.elements_per_block),
    )


def exact(rows: int, blocks: int) -> np.ndarray:
    """Packs rows whose scales are 0.5, so that sums are exact in any order."""
    stored, _ = packed(Q4_0, (rows, blocks))
    stored.reshape(rows, blocks, 18)[..., :2] = np.array([0x00, 0x38], np.uint8)
    return stored


# dequantize -----------------------------------------------------------------------


def dequantize(encoding: QuantizationEncoding) -> Callable[[Tensor], Tensor]:
    return lambda x: F.dequantize(encoding, x)


@pytest.mark.parametrize("encoding", BLOCKS, ids=as_id)
def test_every_bit_of_a_block_is_read(encoding):
    stored, values = packed(encoding, (3, 2))
    check(dequantize(encoding), stored, want=values)


@pytest.mark.parametrize("shape", [(1,), (2, 1), (0, 2), (2, 0), (2, 3, 2)])
def test_any_axes_may_stand_before_the_bytes(shape):
    stored, values = packed(Q4_0, shape)
    check(dequantize(Q4_0), stored, want=values)


def test_a_block_with_the_numbers_written_out():
    """Scale 2 is 0x4000 as a half; digits 8 to 15 stand for 0 to 14 in steps of 2."""
    stored = np.array([0x00, 0x40] + [0x08 + i for i in range(8)] * 2, np.uint8)
    values = [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0] * 2 + [-16.0] * 16
    check(dequantize(Q4_0), stored, want=np.array(values, np.float32))


@pytest.mark.parametrize("encoding", BLOCKS, ids=as_id)
def test_the_package_of_the_format_reads_the_same(encoding, rng):
    gguf = pytest.importorskip("gguf")
    stored = rng.integers(0, 256, (5, 3, encoding.block_size), np.uint8)
    for at in {Q4_0: [0], Q6_K: [208]}.get(encoding, [0, 2]):
        halves = rng.uniform(-1, 1, (5, 3, 1)).astype(np.float16)
        stored[..., at : at + 2] = halves.view(np.uint8)
    rows = stored.reshape(5, -1)
    kind = gguf.GGMLQuantizationType[encoding.value]
    want = gguf.quants.dequantize(rows, kind)
    check(dequantize(encoding), rows, want=want)


@pytest.mark.parametrize("encoding", BLOCKS, ids=as_id)
def test_the_package_of_the_format_has_the_same_sizes(encoding):
    gguf = pytest.importorskip("gguf")
    kind = gguf.GGMLQuantizationType[encoding.value]
    sizes = (encoding.elements_per_block, encoding.block_size)
    assert gguf.GGML_QUANT_SIZES[kind] == sizes


def test_a_named_number_of_blocks_is_checked_when_it_is_known():
    program = compile(dequantize(Q4_0))(TensorLayout(DType.uint8, ["bytes"], CPU()))
    stored, values = packed(Q4_0, (3,))
    np.testing.assert_allclose(program(Tensor(stored)).to_numpy(), values)
    with pytest.raises(ValueError, match=r"whole blocks of 18 bytes, got \[17\]"):
        program(Tensor(stored[:17]))


# qmatmul --------------------------------------------------------------------------


def qmatmul(encoding: QuantizationEncoding) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda lhs, rhs: F.qmatmul(encoding, None, lhs, rhs)


def product(lhs: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return (lhs.astype(np.float64) @ weight.astype(np.float64).T).astype(np.float32)


def whole(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Small whole numbers, of which float32 adds up many without rounding much."""
    return rng.integers(-2, 3, shape).astype(np.float32)


def agrees(got: Tensor, want: np.ndarray) -> None:
    assert got.dtype is DType.float32
    scale = np.abs(want).max(initial=1.0)
    np.testing.assert_allclose(got.to_numpy() / scale, want / scale, atol=1e-6)


@pytest.mark.parametrize(
    ("encoding", "batch"),
    [(Q4_0, (3,)), (Q4_K, ()), (Q5_K, (2, 3)), (Q6_K, (0,))],
)
def test_it_is_the_product_with_the_dequantized_weight(encoding, batch, rng):
    stored, values = packed(encoding, (5, 2))
    lhs = whole(rng, *batch, values.shape[1])
    agrees(qmatmul(encoding)(Tensor(lhs), Tensor(stored)), product(lhs, values))


def test_it_means_one_thing_in_every_way_to_run_it(rng):
    stored = exact(4, 2)
    lhs, weight = whole(rng, 3, 64), F.dequantize(Q4_0, Tensor(stored)).to_numpy()
    check(qmatmul(Q4_0), lhs, stored, want=product(lhs, weight), named=False)
    program = compile(qmatmul(Q4_0))(
        TensorLayout(DType.float32, ["batch", 64], CPU()),
        TensorLayout(DType.uint8, ["rows", 36], CPU()),
    )
    assert program.out_layouts[0].shape == ["batch", "rows"]
    agrees(program(Tensor(lhs), Tensor(stored)), product(lhs, weight))


def test_rows_of_a_named_length_fit_what_was_made_of_them():
    program = compile(lambda x, w: F.qmatmul(Q4_0, None, F.dequantize(Q4_0, x), w))(
        TensorLayout(DType.uint8, ["batch", "bytes"], CPU()),
        TensorLayout(DType.uint8, ["rows", "bytes"], CPU()),
    )
    (left, x), (right, w) = packed(Q4_0, (2, 3)), packed(Q4_0, (4, 3), seed=1)
    agrees(program(Tensor(left), Tensor(right)), product(x, w))


def test_a_config_may_be_given_and_changes_nothing(rng):
    stored, values = packed(Q4_K, (2, 1))
    lhs = whole(rng, 2, 256)
    config = QuantizationConfig("gguf", bits=4, group_size=32)
    got = F.qmatmul(Q4_K, config, Tensor(lhs), Tensor(stored))
    agrees(got, product(lhs, values))


def test_a_program_in_a_file_keeps_the_encoding(tmp_path):
    stored, values = packed(Q6_K, (2, 1))
    layout = TensorLayout(DType.uint8, ["rows", 210], CPU())
    compile(dequantize(Q6_K))(layout).export_mef(tmp_path / "q.mef")
    got = load(tmp_path / "q.mef")(Tensor(stored))
    np.testing.assert_allclose(got.to_numpy(), values, 1e-5)


# Errors ---------------------------------------------------------------------------

BYTES = Tensor(np.zeros((2, 18), np.uint8))
LHS = Tensor(np.zeros((2, 32), np.float32))


@pytest.mark.parametrize(
    ("shape", "message"),
    [((), "must have an axis of bytes, got rank 0"), ((2, 17), r"got \[2, 17\]")],
)
def test_packed_rows_are_whole_blocks(shape, message):
    with pytest.raises(ValueError, match=f"dequantize: .*{message}"):
        F.dequantize(Q4_0, Tensor(np.zeros(shape, np.uint8)))


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_packed_rows_are_bytes(dtype):
    wrong = Tensor(np.zeros((2, 18), dtype))
    name = np.dtype(dtype).name
    with pytest.raises(TypeError, match=f"quantized must be uint8.*got {name}"):
        F.dequantize(Q4_0, wrong)
    with pytest.raises(TypeError, match=f"rhs must be uint8.*got {name}"):
        F.qmatmul(Q4_0, None, LHS, wrong)


def test_gptq_is_not_supported():
    message = r"GPTQ is not supported; Q4_0, Q4_K, Q5_K, Q6_K are"
    with pytest.raises(NotImplementedError, match=f"dequantize: .*{message}"):
        F.dequantize(GPTQ, BYTES)
    config = QuantizationConfig("gptq", bits=4, group_size=128)
    with pytest.raises(NotImplementedError, match=f"qmatmul: .*{message}"):
        F.qmatmul(GPTQ, config, LHS, BYTES)


def test_arguments_have_their_kinds():
    encoding: Any = "Q4_0"
    with pytest.raises(TypeError, match="must be a QuantizationEncoding, got str"):
        F.dequantize(encoding, BYTES)
    array: Any = np.zeros((2, 18), np.uint8)
    with pytest.raises(TypeError, match="quantized must be a Tensor, got ndarray"):
        F.dequantize(Q4_0, array)
    config: Any = "gptq"
    with pytest.raises(TypeError, match="config must be a QuantizationConfig or None"):
        F.qmatmul(Q4_0, config, LHS, BYTES)


@pytest.mark.parametrize("count", [0, 2])
def test_there_is_one_packed_weight(count):
    with pytest.raises(TypeError, match=f"rhs must be one tensor.*got {count}"):
        F.qmatmul(Q4_0, None, LHS, *[BYTES] * count)


@pytest.mark.parametrize("shape", [(18,), (1, 2, 18)])
def test_a_packed_weight_is_a_matrix(shape):
    weight = Tensor(np.zeros(shape, np.uint8))
    with pytest.raises(TypeError, match="rhs must be a matrix of packed rows, got"):
        F.qmatmul(Q4_0, None, LHS, weight)


def test_lhs_is_float32():
    half = Tensor(np.zeros((2, 32), np.float16))
    with pytest.raises(TypeError, match="lhs must be float32, got float16"):
        F.qmatmul(Q4_0, None, half, BYTES)


@pytest.mark.parametrize("shape", [(2, 64), (2, 0), ()])
def test_rows_have_one_length(shape):
    lhs = Tensor(np.zeros(shape, np.float32))
    with pytest.raises(ValueError, match=r"must have the 32 elements.*\[2, 18\]"):
        F.qmatmul(Q4_0, None, lhs, BYTES)


# The encodings --------------------------------------------------------------------


def test_an_encoding_knows_its_blocks():
    assert Q4_0.block_parameters == BlockParameters(32, 18)
    assert [e.elements_per_block for e in BLOCKS] == [32, 256, 256, 256]
    assert [e.block_size for e in BLOCKS] == [18, 144, 176, 210]
    assert [e.is_gguf for e in QuantizationEncoding] == [True] * 4 + [False]
    assert QuantizationEncoding("Q4_K") is Q4_K
    assert (Q4_K.name, Q4_K.value, str(Q4_K)) == (
        *("q4_k", "Q4_K"),
        "QuantizationEncoding.Q4_K",
    )
    with pytest.raises(ValueError, match=r"must have blocks, got.*GPTQ"):
        _ = GPTQ.block_parameters


# On a mesh ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given", ["R", "S0", "S1", "S0 S1", "S1 S1", "S0 S0", "S0 R", "S1 R"]
)
def test_rows_and_blocks_may_be_sharded(given):
    check_sharded(dequantize(Q4_0), (exact(4, 4), given), lands=given)


def test_a_block_is_never_cut():
    stored = exact(4, 3)  # 54 bytes divide by two, 3 blocks do not
    with pytest.raises(ShardingError, match=r"dequantize[\s\S]*auto_reshard"):
        dequantize(Q4_0)(place(stored, "S1"))
    with auto_reshard(mode="silent"):
        check_sharded(dequantize(Q4_0), (stored, "S1"), lands="R")
    stored = exact(4, 2)  # and 2 blocks do not divide by four
    with pytest.raises(ShardingError, match=r"dequantize[\s\S]*auto_reshard"):
        dequantize(Q4_0)(place(stored, "S1 S1"))


@pytest.mark.parametrize(
    ("lhs", "rhs", "lands"),
    [
        ("R", "R", "R"),
        ("S0", "R", "S0"),
        ("R", "S0", "S1"),
        ("S1", "S1", "P"),
        ("P", "R", "P"),
        ("S0 R", "R S0", "S0 S1"),
        ("S0 S1", "R S1", "S0 P"),
        ("S1 S1", "S1 S1", "P P"),
    ],
)
def test_products_are_placed_as_those_of_matrices(lhs, rhs, lands, rng):
    operands = (whole(rng, 4, 128), lhs), (exact(6, 4), rhs)
    check_sharded(qmatmul(Q4_0), *operands, lands=lands)


def test_a_contraction_does_not_cut_a_block(rng):
    lhs, rhs = whole(rng, 4, 96), exact(4, 3)
    with pytest.raises(ShardingError, match=r"qmatmul[\s\S]*auto_reshard"):
        qmatmul(Q4_0)(place(lhs, "S1"), place(rhs, "S1"))
    with auto_reshard(mode="silent"):
        check_sharded(qmatmul(Q4_0), (lhs, "S1"), (rhs, "S1"), lands="R")
