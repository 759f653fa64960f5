"""Normalisations, against their formulas in numpy."""

import jax.numpy as jnp
import numpy as np
import pytest

from maxlite import functional as F
from maxlite.dtype import DType
from maxlite.sharding import ALL_TRANSITIONS, ShardingError, auto_reshard
from maxlite.tensor import Tensor
from tests.functional._cross import FLOATS, check, check_sharded, place

EPSILON = 1e-3


def layer(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    return F.layer_norm(x, gamma, beta, EPSILON)


def rms(x: Tensor, weight: Tensor) -> Tensor:
    return F.rms_norm(x, weight, EPSILON)


def group(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    return F.group_norm(x, gamma, beta, 2, EPSILON)


def standardised(x: np.ndarray) -> np.ndarray:
    centered = x - x.mean(-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(-1, keepdims=True) + EPSILON)


def layer_answer(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    wide = [a.astype(np.float64) for a in (x, gamma, beta)]
    return (standardised(wide[0]) * wide[1] + wide[2]).astype(x.dtype)


def rms_answer(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    normed = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + EPSILON)
    return (normed * weight.astype(np.float64)).astype(x.dtype)


def group_answer(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    normed = standardised(wide.reshape(x.shape[0], 2, -1)).reshape(x.shape)
    per_channel = (-1,) + (1,) * (x.ndim - 2)
    scale, shift = (w.astype(np.float64).reshape(per_channel) for w in (gamma, beta))
    return (normed * scale + shift).astype(x.dtype)


@pytest.fixture
def draw(rng):
    return lambda shape, dtype=np.float32: rng.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_each_float_dtype_is_kept(draw, dtype):
    x, gamma, beta = draw((2, 4, 3), dtype), draw(3, dtype), draw(3, dtype)
    check(layer, x, gamma, beta, want=layer_answer(x, gamma, beta))
    want = rms_answer(x, gamma)
    check(lambda x, w: F.rms_norm(x, w, EPSILON, 0.0, True), x, gamma, want=want)
    gamma, beta = draw(4, dtype), draw(4, dtype)
    # The number of groups must divide the channels, so they keep their number.
    want = group_answer(x, gamma, beta)
    check(group, x, gamma, beta, want=want, named=False)


@pytest.mark.parametrize("shape", [(3,), (1, 3), (0, 3), (2, 1, 2, 3), (5, 1)])
def test_any_axes_may_stand_before_the_last(draw, shape):
    x, gamma, beta = draw(shape), draw(shape[-1]), draw(shape[-1])
    check(layer, x, gamma, beta, want=layer_answer(x, gamma, beta))
    check(rms, x, gamma, want=rms_answer(x, gamma))


@pytest.mark.parametrize("shape", [(2, 4), (1, 4, 1), (3, 4, 2, 2), (2, 2, 3)])
def test_any_axes_may_stand_after_the_channels(draw, shape):
    x, gamma, beta = draw(shape), draw(shape[1]), draw(shape[1])
    want = group_answer(x, gamma, beta)
    check(group, x, gamma, beta, want=want, named=False)


def test_no_elements_are_normalised_to_none():
    nothing, weights = np.zeros((2, 0), np.float32), np.zeros(0, np.float32)
    check(layer, nothing, weights, weights, want=nothing)
    check(rms, nothing, weights, want=nothing)
    nothing, weights = np.zeros((0, 4, 2), np.float32), np.ones(4, np.float32)
    check(group, nothing, weights, weights, want=nothing, named=False)


def test_a_row_of_equal_elements_becomes_the_shift():
    x, beta = np.full((2, 3), 7, np.float32), np.array([1, 2, 3], np.float32)
    ones = np.ones(3, np.float32)
    check(layer, x, ones, beta, want=np.stack([beta, beta]))


def test_large_halves_do_not_overflow():
    """The square of 300 is beyond float16."""
    x, ones = np.array([300, -300], np.float16), np.ones(2, np.float16)
    check(layer, x, ones, ones - ones, want=np.array([1, -1], np.float16))
    check(rms, x, ones, want=np.array([1, -1], np.float16))


def test_the_offset_is_added_to_the_weight():
    x, weight = np.array([[3.0, 4.0]], np.float32), np.array([0.0, 1.0], np.float32)
    want = np.array([[3.0, 8.0]], np.float32) / np.sqrt(np.float32(12.5))
    check(lambda x, w: F.rms_norm(x, w, 0.0, weight_offset=1.0), x, weight, want=want)


def test_the_weight_multiplies_before_or_after_the_cast():
    """1.5 / sqrt(1.25) is rounded once, or before and after the product."""
    x = np.array([1.5, 0.5], jnp.bfloat16)
    weight = np.array([1.2421875, 1.0], jnp.bfloat16)
    exact = np.float32(1.5) / np.sqrt(np.float32(1.25))
    factor = np.float32(weight[0])
    early = (exact * factor).astype(jnp.bfloat16)
    late = (exact.astype(jnp.bfloat16).astype(np.float32) * factor).astype(jnp.bfloat16)
    assert early != late
    tensors = Tensor(x), Tensor(weight)
    assert F.rms_norm(*tensors, 0.0).to_numpy()[0] == late
    first = F.rms_norm(*tensors, 0.0, multiply_before_cast=True)
    assert first.to_numpy()[0] == early


# Errors -------------------------------------------------------------------------------

ROW, THREE, TWO = Tensor([[1.0, 2.0, 3.0]]), Tensor([1.0] * 3), Tensor([1.0] * 2)
CHANNELS, FOUR = Tensor(np.ones((1, 4, 2), np.float32)), Tensor([1.0] * 4)


@pytest.mark.parametrize(
    ("fn", "operands", "message"),
    [
        (layer, (ROW, TWO, THREE), r"layer_norm: gamma .* axis -1 .*gamma \[2\]"),
        (layer, (ROW, THREE, TWO), r"layer_norm: beta .* axis -1 .*beta \[2\]"),
        (layer, (ROW, ROW, THREE), r"layer_norm: gamma .*gamma \[1, 3\]"),
        (rms, (ROW, TWO), r"rms_norm: weight .*weight \[2\] and input \[1, 3\]"),
        (group, (CHANNELS, TWO, FOUR), r"group_norm: gamma .* axis 1 .*gamma \[2\]"),
        (group, (CHANNELS, FOUR, TWO), r"group_norm: beta .* axis 1 .*beta \[2\]"),
        (group, (ROW, THREE, THREE), "must divide into num_groups, got 3 channels"),
        (group, (THREE, THREE, THREE), "rank of input must be at least 2"),
        (layer, (Tensor(1.0), THREE, THREE), "rank of input must be at least 1"),
    ],
)
def test_shapes_must_fit(fn, operands, message):
    with pytest.raises(ValueError, match=message):
        fn(*operands)


def test_weights_have_the_dtype_of_the_input():
    wide = Tensor(np.ones(3))
    with pytest.raises(ValueError, match=r"rms_norm: weight .* float64 and float32"):
        rms(ROW, wide)
    with pytest.raises(ValueError, match=r"layer_norm: beta .* float64 and float32"):
        layer(ROW, THREE, wide)


@pytest.mark.parametrize(
    ("fn", "operands"),
    [
        (layer, (ROW, THREE, THREE)),
        (rms, (ROW, THREE)),
        (group, (CHANNELS, FOUR, FOUR)),
    ],
)
def test_only_tensors_of_floats_are_normalised(fn, operands):
    integers = [F.cast(t, DType.int32) for t in operands]
    with pytest.raises(TypeError, match="input must be of floating dtype, got int32"):
        fn(*integers)
    with pytest.raises(TypeError, match="must be a Tensor, got float"):
        fn(*operands[:-1], 1.0)


@pytest.mark.parametrize("epsilon", [-1.0, float("nan")])
def test_epsilon_must_not_be_negative(epsilon):
    with pytest.raises(ValueError, match="rms_norm: epsilon must be at least 0, got"):
        F.rms_norm(ROW, THREE, epsilon)
    with pytest.raises(ValueError, match="group_norm: epsilon must be at least 0, got"):
        F.group_norm(CHANNELS, FOUR, FOUR, 2, epsilon)


def test_epsilon_of_a_layer_norm_must_be_positive():
    with pytest.raises(ValueError, match="layer_norm: epsilon must be above 0, got 0"):
        F.layer_norm(ROW, THREE, THREE, 0)
    with pytest.raises(
        TypeError, match="layer_norm: epsilon must be a number, got Ten"
    ):
        F.layer_norm(ROW, THREE, THREE, Tensor(1e-5))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("groups", [0, -2, 3])
def test_the_groups_must_divide_the_channels(groups):
    with pytest.raises(ValueError, match=f"got 4 channels and {groups} groups"):
        F.group_norm(CHANNELS, FOUR, FOUR, groups, EPSILON)


def test_the_number_of_groups_is_an_int():
    with pytest.raises(
        TypeError, match="group_norm: num_groups must be an int, got flo"
    ):
        F.group_norm(CHANNELS, FOUR, FOUR, 2.0, EPSILON)  # pyright: ignore[reportArgumentType]


# On a mesh ----------------------------------------------------------------------------

GRID = np.arange(16, dtype=np.float32).reshape(4, 4) % 7
SCALE = np.array([1.0, 2.0, 0.5, -1.0], np.float32)


@pytest.mark.parametrize(
    ("given", "weights"), [("R", "R"), ("S0", "R"), ("S0 S0", "R R"), ("S0 R", "R R")]
)
def test_the_batch_may_be_sharded(given, weights):
    x, scale = (GRID, given), (SCALE, weights)
    check_sharded(layer, x, scale, scale, lands=given)
    check_sharded(rms, x, scale, lands=given)


@pytest.mark.parametrize(("given", "weights"), [("S1", "R"), ("P", "R"), ("S0", "S0")])
def test_the_normalised_axis_and_the_weights_must_be_whole(given, weights):
    x, scale = place(GRID, given), place(SCALE, weights)
    with pytest.raises(ShardingError, match=r"layer_norm[\s\S]*auto_reshard"):
        layer(x, scale, scale)
    with pytest.raises(ShardingError, match=r"rms_norm[\s\S]*auto_reshard"):
        rms(x, scale)


@pytest.mark.parametrize(
    ("given", "weights", "lands"),
    [("S1", "R", "R"), ("P", "R", "R"), ("S0", "S0", "S0"), ("S0 P", "R R", "S0 R")],
)
def test_told_so_they_are_moved(given, weights, lands):
    with auto_reshard(mode="silent"):
        check_sharded(rms, (GRID, given), (SCALE, weights), lands=lands)


def test_a_pending_sum_is_scattered_where_that_is_allowed():
    with auto_reshard(ALL_TRANSITIONS, mode="silent"):
        check_sharded(rms, (GRID, "P"), (SCALE, "R"), lands="S0")


def test_group_norm_needs_everything_whole():
    x, scale = GRID.reshape(2, 4, 2), (SCALE, "R")
    check_sharded(group, (x, "R"), scale, scale, lands="R")
    with pytest.raises(ShardingError, match=r"group_norm[\s\S]*auto_reshard"):
        group(place(x, "S0"), place(SCALE, "R"), place(SCALE, "R"))
    with auto_reshard(mode="silent"):
        check_sharded(group, (x, "S0"), scale, scale, lands="R")
