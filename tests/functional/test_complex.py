"""Pairs of reals, against numpy's complex numbers."""

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph._normalization import Normalization
from maxlite.sharding import ShardingError, TensorLayout
from maxlite.tensor import Tensor
from tests.functional._cross import (
    FLOATS,
    INTEGERS,
    NUMBERS,
    check,
    check_eager,
    check_sharded,
    place,
)


def numbers(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    return wide[..., 0] + 1j * wide[..., 1]


def pairs(z: np.ndarray) -> np.ndarray:
    return np.stack([np.real(z), np.imag(z)], -1)


# as_interleaved_complex ---------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4,), (2, 6), (2, 0), (0, 2), (1, 3, 2)])
def test_pairs_get_an_axis_of_their_own(shape):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    want = x.reshape(*shape[:-1], shape[-1] // 2, 2)
    check(F.as_interleaved_complex, x, want=want)


@pytest.mark.parametrize("dtype", [*NUMBERS, np.dtype(bool)], ids=str)
def test_pairs_may_be_of_any_dtype(dtype):
    x = np.array([1, 0, 1, 1]).astype(dtype)
    check_eager(F.as_interleaved_complex, x, want=x.reshape(2, 2))


def test_half_of_a_named_size_is_named_too():
    def run(x: Tensor) -> Tensor:
        return F.as_interleaved_complex(F.concat([x, x]))

    program = compile(run)(TensorLayout(DType.float32, ["k"], CPU()))
    assert program.out_layouts[0].shape == ["k", 2]
    assert program(Tensor([1.0, 2.0, 3.0])).shape == [3, 2]


def test_a_pair_must_be_whole():
    with pytest.raises(ValueError, match=r"last size must be even, got shape \[1, 3\]"):
        F.as_interleaved_complex(Tensor([[1.0, 2.0, 3.0]]))
    with pytest.raises(ValueError, match="x must have an axis, got rank 0"):
        F.as_interleaved_complex(Tensor(1.0))
    with pytest.raises(TypeError, match="x must be a Tensor, got float"):
        F.as_interleaved_complex(1.0)  # pyright: ignore[reportArgumentType]
    layout = TensorLayout(DType.float32, ["n"], CPU())
    with pytest.raises(ValueError, match=r"last size must be even, got shape \[3\]"):
        compile(F.as_interleaved_complex)(layout)(Tensor([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("given", ["S0", "S1", "P", "S1 S0"])
def test_pairs_stay_where_they_are(given):
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    check_sharded(F.as_interleaved_complex, (x, given), lands=given)


def test_a_cut_through_a_pair_is_refused():
    with pytest.raises(ShardingError, match="as_interleaved_complex"):
        F.as_interleaved_complex(place(np.ones((4, 6), np.float32), "S1"))


# complex_mul --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"),
    [((2,), (2,)), ((3, 2), (2,)), ((2, 1, 2), (3, 2)), ((0, 2), (1, 2))],
)
def test_products_broadcast(left, right):
    x = np.arange(1, 1 + np.prod(left), dtype=np.float32).reshape(left)
    y = np.arange(3, 3 + np.prod(right), dtype=np.float32).reshape(right) ** 2
    want = pairs(numbers(x) * numbers(y)).astype(np.float32)

    def product(x: Tensor, y: Tensor) -> Tensor:
        twos = [F.rebind(t, [*t.shape[:-1], 2]) for t in (x, y)]
        return F.complex_mul(*twos)

    check(product, x, y, want=want)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_each_dtype_of_numbers_is_kept(dtype):
    x, y = np.array([2, 1]).astype(dtype), np.array([5, 2]).astype(dtype)
    check_eager(F.complex_mul, x, y, want=np.array([8, 9]).astype(dtype))


def test_the_terms_of_halves_are_rounded_once():
    """The two products are near 2500 each, where a half has steps of two."""
    x, y = np.array([50.03, 50.0], np.float16), np.array([50.0, 50.03], np.float16)
    want = pairs(numbers(x) * numbers(y)).astype(np.float16)
    assert F.complex_mul(Tensor(x), Tensor(y)).to_numpy().tolist() == want.tolist()


def test_dtypes_are_promoted():
    x, y = Tensor([1.0, 2.0]), Tensor(np.array([3.0, 4.0]))
    assert F.complex_mul(x, y).dtype is DType.float64
    with pytest.raises(ValueError, match=r"int32.*float32|float32.*int32"):
        F.complex_mul(F.cast(x, DType.int32), x)


@pytest.mark.parametrize("shape", [(3,), (1,), (), (2, 3)])
def test_the_last_size_must_be_two(shape):
    good, bad = Tensor([1.0, 2.0]), Tensor(np.ones(shape, np.float32))
    with pytest.raises(ValueError, match=r"complex_mul: the last size .* got lhs \["):
        F.complex_mul(bad, good)
    with pytest.raises(ValueError, match=r"complex_mul: the last size .* got rhs \["):
        F.complex_mul(good, bad)


def test_products_are_of_tensors_of_numbers():
    pair = Tensor([1.0, 2.0])
    with pytest.raises(TypeError, match="rhs must be a Tensor, got float"):
        F.complex_mul(pair, 3.0)  # pyright: ignore[reportArgumentType]
    flags = Tensor(np.ones(2, bool))
    with pytest.raises(TypeError, match="lhs must be of integer or floating dtype"):
        F.complex_mul(flags, flags)
    with pytest.raises(ValueError, match="complex_mul: sizes must be equal or 1"):
        F.complex_mul(Tensor(np.ones((3, 2))), Tensor(np.ones((4, 2))))


@pytest.mark.parametrize(
    ("left", "right", "lands"),
    [("S0", "S0", "S0"), ("S1", "S1", "S1"), ("P", "R", "P"), ("R", "P", "P")],
)
def test_products_run_on_shards(left, right, lands):
    x = np.arange(16, dtype=np.float32).reshape(2, 4, 2) % 5
    y = np.arange(16, dtype=np.float32).reshape(2, 4, 2) % 3
    check_sharded(F.complex_mul, (x, left), (y, right), lands=lands)


def test_products_broadcast_on_shards():
    x = np.arange(16, dtype=np.float32).reshape(2, 4, 2) % 5
    y = np.arange(8, dtype=np.float32).reshape(4, 2)
    check_sharded(F.complex_mul, (x, "S1 S0"), (y, "S0 R"), lands="S1 S0")
    with pytest.raises(ShardingError, match="complex_mul"):
        F.complex_mul(place(x, "S2"), place(x, "S2"))


# irfft --------------------------------------------------------------------------------

SPECTRUM = np.arange(40, dtype=np.float32).reshape(4, 5, 2) % 7 - 2
NORMS = ["backward", "ortho", "forward"]


def inverse(x, n=None, axis=-1, norm="backward", complex_input=True):
    wide = numbers(x) if complex_input else x.astype(np.float64)
    return np.fft.irfft(wide, n, axis, norm).astype(x.dtype)


@pytest.mark.parametrize("norm", NORMS)
def test_every_normalization_agrees_with_numpy(norm):
    want = inverse(SPECTRUM, norm=norm)
    for given in (norm, Normalization(norm)):
        check_eager(
            lambda x, g=given: F.irfft(x, normalization=g, input_is_complex=True),
            SPECTRUM,
            want=want,
        )


@pytest.mark.parametrize("n", [None, 0, 1, 2, 5, 8, 9, 20])
@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_the_transform_is_cut_off_or_filled_up(n, axis):
    want = inverse(SPECTRUM, n or None, axis)
    check_eager(lambda x: F.irfft(x, n, axis, "backward", True), SPECTRUM, want=want)


def test_transforms_run_in_every_way():
    check(
        lambda x: F.irfft(F.rebind(x, [*x.shape[:2], 2]), input_is_complex=True),
        SPECTRUM,
        want=inverse(SPECTRUM),
    )
    real = SPECTRUM[..., 0]
    want = inverse(real, axis=0, complex_input=False)
    check(lambda x: F.irfft(x, axis=0), real, want=want)


def test_the_number_of_values_may_be_named():
    program = compile(lambda x, y: F.irfft(x, y.shape[0]) + y)(
        TensorLayout(DType.float32, ["k"], CPU()),
        TensorLayout(DType.float32, ["n"], CPU()),
    )
    x = np.array([1, 2, 3], np.float32)
    for n in (4, 7):
        found = program(Tensor(x), Tensor(np.zeros(n, np.float32)))
        np.testing.assert_allclose(found.to_numpy(), np.fft.irfft(x, n), 1e-6, 1e-6)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_each_float_dtype_is_transformed(dtype):
    x = SPECTRUM.astype(dtype)
    check_eager(lambda x: F.irfft(x, input_is_complex=True), x, want=inverse(x))


def test_one_number_gives_no_values():
    """As in the reference, n is twice one less than the size; numpy refuses it."""
    assert F.irfft(Tensor([[3.0], [4.0]])).shape == [2, 0]
    assert F.irfft(Tensor([[3.0], [4.0]]), axis=0).shape == [2, 1]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_only_floats_are_transformed(dtype):
    with pytest.raises(ValueError, match="input_tensor must be of floating dtype"):
        F.irfft(Tensor(np.ones(3, dtype)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"axis": 2}, "irfft: axis must be from -2 to 1, got 2"),
        ({"axis": 1, "input_is_complex": True}, "irfft: axis must be from -1 to 0"),
        ({"normalization": "bad"}, "normalization must be 'backward', .* got 'bad'"),
        ({"n": -2}, "irfft: n must be 0 or more, got -2"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        F.irfft(Tensor(np.ones((3, 2), np.float32)), **options)


def test_complex_input_has_pairs():
    with pytest.raises(ValueError, match=r"last size of complex input .* \[3\]"):
        F.irfft(Tensor([1.0, 2.0, 3.0]), input_is_complex=True)
    with pytest.raises(TypeError, match="input_tensor must be a Tensor, got list"):
        F.irfft([1.0])  # pyright: ignore[reportArgumentType]


def test_other_axes_may_be_sharded():
    check_sharded(
        lambda x: F.irfft(x, axis=1, input_is_complex=True),
        (SPECTRUM, "S0"),
        lands="S0",
    )
    with pytest.raises(ShardingError, match="irfft"):
        F.irfft(place(SPECTRUM, "P"), axis=1, input_is_complex=True)
