"""Moves between placements: right values, at the least traffic."""

import itertools

import jax
import numpy as np
import pytest
from jax import export

from maxlite import DType
from maxlite._backend import x64
from maxlite.lowering._redistribute import redistribute
from tests.lowering.stored import collectives, mapping, move, parts, placed, whole

ONE = ["R", "S0", "S1", "P"]
TWO = [" ".join(pair) for pair in itertools.product(ONE, repeat=2)]
SOURCES = [
    *(((2,), one, ONE) for one in ONE),
    *(((4,), one, ONE) for one in ONE),
    *(((2, 2), two, TWO) for two in TWO),
]


@pytest.mark.parametrize(("shape", "source", "targets"), SOURCES)
def test_every_move_keeps_the_value_and_lands_where_declared(shape, source, targets):
    value = np.arange(-20, 44, dtype=np.float32).reshape(8, 8)
    before = mapping(shape, source)
    afters = [mapping(shape, target) for target in targets]
    for after, array in zip(
        afters, move(placed(value, before), before, *afters), strict=True
    ):
        wanted = after.named_sharding(2)
        assert array.sharding.is_equivalent_to(wanted, array.ndim), after
        np.testing.assert_array_equal(whole(array, after), value, err_msg=repr(after))
        _check_new_sums(np.asarray(array), before, after)


def _check_new_sums(stored, before, after):
    """A sum that starts holds everything in its first slot."""
    for slot, axis in enumerate(after.partial_axes):
        if axis not in before.partial_axes:
            assert not np.moveaxis(stored, slot, 0)[1:].any()


@pytest.mark.parametrize(
    ("shape", "source", "target", "cost"),
    [
        # One mesh axis.
        ((4,), "R", "S0", ""),
        ((4,), "R", "P", ""),
        ((4,), "S0", "R", "allgather x 64"),
        ((4,), "S0", "S1", "all-to-all x 64"),
        ((4,), "S1", "P", "allgather x 64"),
        ((4,), "P", "R", "allreduce x 256"),
        ((4,), "P", "S0", "reduce-scatter x 256"),
        ((4,), "P", "S1", "reduce-scatter x 256"),
        # The other mesh axis stays, and what lies on it is not touched.
        ((2, 2), "P S0", "R S0", "allreduce x 128"),
        ((2, 2), "S1 P", "S1 R", "allreduce y 128"),
        ((2, 2), "S1 P", "S1 S0", "reduce-scatter y 128"),
        ((2, 2), "S0 P", "S0 S0", "reduce-scatter y 128"),
        ((2, 2), "S0 S1", "S0 R", "allgather y 64"),
        ((2, 2), "P S0", "P R", "allgather y 128"),
        # Both move: slices first, then reduce-scatters, then one sum.
        ((2, 2), "R R", "S0 S0", ""),
        ((2, 2), "R R", "S1 P", ""),
        ((2, 2), "S0 S0", "R R", "allgather x y 64"),
        ((2, 2), "P P", "R R", "allreduce x y 256"),
        ((2, 2), "P P", "S0 S0", "reduce-scatter x 256, reduce-scatter y 128"),
        ((2, 2), "P P", "S1 R", "reduce-scatter x 256, allreduce y 128"),
        ((2, 2), "P P", "R S1", "reduce-scatter y 256, allreduce x 128"),
        ((2, 2), "R P", "S0 R", "allreduce y 128"),
        ((2, 2), "R P", "S0 S0", "reduce-scatter y 128"),
        ((2, 2), "P R", "S1 S0", "reduce-scatter x 128"),
        ((2, 2), "P R", "R S0", "allreduce x 128"),
        # A slice of y would be a slice of what x is going to scatter.
        ((2, 2), "P R", "S0 S0", "reduce-scatter x 256"),
        # x cuts outside of y: scattered inside, then put in order.
        ((2, 2), "P S0", "S0 S0", "reduce-scatter x 128, permute x y 64"),
        # What becomes a sum is gathered on the way to where the rest goes.
        ((2, 2), "S0 S0", "P R", "allgather x y 64"),
    ],
)
def test_the_cheapest_collective_is_taken(shape, source, target, cost):
    assert collectives(shape, source, target) == cost


@pytest.mark.parametrize("target", ["R R", "S0 R", "S1 S1", "P R"])
def test_a_move_to_where_it_lies_is_none(target):
    assert collectives((2, 2), target, target) == ""


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int64", [2**62 + 1, -(2**53) - 1]),
        ("uint64", [2**64 - 1, 2**63 + 1]),
        ("int8", [127, -128]),
        ("float64", [0.1, 1e300]),
        ("bool", [True, False]),
    ],
)
@pytest.mark.parametrize("target", ["R", "S0", "P"])
def test_every_bit_is_kept(dtype, value, target):
    where, after = mapping((2,), "S0"), mapping((2,), target)
    value = np.array(value, dtype)
    (array,) = move(placed(value, where), where, after)
    assert array.dtype == value.dtype
    np.testing.assert_array_equal(whole(array, after), value)


@pytest.mark.parametrize("target", ["R", "S0"])
@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_sums_are_added_in_their_own_dtype(dtype, target):
    before, after = mapping((4,), "P"), mapping((4,), target)
    value = np.array([2**53 + 1, 2**60 + 3, -7, 0], dtype)
    (array,) = move(placed(value, before), before, after)
    np.testing.assert_array_equal(np.asarray(array), parts(value, before).sum(0))


@pytest.mark.parametrize("target", ["R", "S0"])
def test_a_pending_sum_of_booleans_is_an_or(target):
    before, after = mapping((2,), "P"), mapping((2,), target)
    terms = np.array([[True, False, True, False], [True, True, False, False]])
    array = jax.device_put(terms, before.named_sharding(1))
    (moved,) = move(array, before, after)
    assert np.asarray(moved).tolist() == [True, True, True, False]


@pytest.mark.parametrize("target", ["R", "S0"])
def test_bfloat16_is_sent_as_bfloat16(target):
    before, after = mapping((2,), "P"), mapping((2,), target)
    spec = jax.ShapeDtypeStruct((2, 4), DType.bfloat16.to_jax())

    def program(x):
        return redistribute(x, before.mesh, before.placements, after.placements)

    shardings = before.named_sharding(1)
    text = jax.jit(program, in_shardings=shardings).lower(spec).as_text()
    assert "bf16" in text
    assert "f32" not in text


@pytest.mark.parametrize("rows", [0, 3])
@pytest.mark.parametrize(
    ("source", "on_the_way", "target"),
    [
        ("P R", "S1 R", "S1 R"),
        ("P R", "S0 R", "R R"),
        ("P P", "R S0", "R R"),
        ("R R", "P S0", "P R"),
        ("P S1", "S0 S1", "R R"),
        ("P R", "S1 S0", "S1 R"),
    ],
)
def test_sizes_may_be_empty_and_inside_a_program_odd(rows, source, on_the_way, target):
    before, between, after = (
        mapping((2, 2), text) for text in (source, on_the_way, target)
    )
    value = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)

    def program(x):
        x = redistribute(x, before.mesh, before.placements, between.placements)
        return redistribute(x, after.mesh, between.placements, after.placements)

    array = jax.jit(program)(placed(value, before))
    np.testing.assert_array_equal(whole(array, after), value)


@pytest.mark.parametrize("target", ["R R", "R P", "P R"])
def test_a_scalar_moves(target):
    before, after = mapping((2, 2), "P P"), mapping((2, 2), target)
    (array,) = move(placed(np.array(7, np.int32), before), before, after)
    assert whole(array, after) == 7


def test_a_mesh_axis_may_have_one_position():
    before = mapping((2, 1), "P P")
    afters = [mapping((2, 1), text) for text in ("R R", "S0 S0", "R P", "P S0")]
    value = np.arange(4)
    for after, array in zip(
        afters, move(placed(value, before), before, *afters), strict=True
    ):
        np.testing.assert_array_equal(whole(array, after), value)


def test_three_mesh_axes_on_one_tensor_axis():
    before = mapping((2, 2, 2), "P S0 P")
    afters = [mapping((2, 2, 2), t) for t in ("S0 S0 S0", "R S0 S0", "S0 R R")]
    value = np.arange(16, dtype=np.float32)
    for after, array in zip(
        afters, move(placed(value, before), before, *afters), strict=True
    ):
        np.testing.assert_array_equal(whole(array, after), value)


@pytest.mark.parametrize("target", ["R", "S0", "S1"])
def test_symbolic_sizes_are_exported(target):
    """A real reduce-scatter of a symbolic size would crash the process."""
    before, after = mapping((2,), "P"), mapping((2,), target)
    (rows,) = export.symbolic_shape("n", constraints=["mod(n, 2) == 0"])

    def program(x):
        return redistribute(x, before.mesh, before.placements, after.placements)

    function = jax.jit(program, in_shardings=before.named_sharding(2))
    with x64():
        exported = export.export(function)(jax.ShapeDtypeStruct((2, rows, 4), np.int64))
        value = np.arange(8).reshape(2, 4)
        array = jax.jit(exported.call)(placed(value, before))
    np.testing.assert_array_equal(np.asarray(array), value)
