"""Evaluating nodes under their placements: local work, right values, nothing twice."""

import jax
import numpy as np
import pytest
from jax import export

from maxlite import (
    CPU,
    DType,
    Tensor,
    TensorLayout,
    as_subgraph,
    auto_reshard,
    compile,
    stage,
)
from maxlite import functional as F
from maxlite._op_table import Op
from maxlite.functional._dispatch import apply
from maxlite.lowering import export_module, find_collectives
from maxlite.lowering._evaluate import _split_blocks
from maxlite.sharding.rules import unary_rule
from tests.compilation.layouts import layout, tensor, values
from tests.lowering.stored import distributed, mapping, placed, short, whole


def ints(rng, *shape, dtype=np.float32):
    return rng.integers(-5, 5, shape).astype(dtype)


# Contractions -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "lhs", "at_lhs", "rhs", "at_rhs", "at_result"),
    [
        ((2,), (4, 6), "S1", (6, 2), "S0", "P"),
        ((4,), (3, 8), "S1", (8, 3), "S0", "P"),
        # One of two mesh axes cuts the contraction, the other something else.
        ((2, 2), (4, 6), "S1 R", (6, 4), "S0 R", "P R"),
        ((2, 2), (4, 6), "S0 S1", (6, 4), "R S0", "S0 P"),
        ((2, 2), (4, 6), "S1 S0", (6, 4), "S0 R", "P S0"),
        ((2, 2), (4, 6), "R S1", (6, 4), "S1 S0", "S1 P"),
        # Both cut it.
        ((2, 2), (4, 8), "S1 S1", (8, 4), "S0 S0", "P P"),
        ((2, 4), (2, 16), "S1 S1", (16, 3), "S0 S0", "P P"),
        # One operand is a pending sum already.
        ((2,), (4, 6), "P", (6, 3), "R", "P"),
        ((2, 2), (4, 6), "P S1", (6, 4), "R S0", "P P"),
        ((2, 2), (4, 6), "S1 R", (6, 4), "S0 P", "P P"),
        ((2, 2), (4, 6), "P R", (6, 4), "R P", "P P"),
        # Batches.
        ((2, 2), (2, 4, 6), "S2 S0", (2, 6, 4), "S1 S0", "P S0"),
        ((2, 2), (2, 4, 6), "S0 S2", (2, 6, 4), "S0 S1", "S0 P"),
        ((2, 2), (2, 4, 6), "S2 S1", (6, 4), "S0 R", "P S1"),
        ((2, 2), (2, 4, 8), "S2 S2", (8, 4), "S0 S0", "P P"),
        # Vectors.
        ((2,), (6,), "S0", (6,), "S0", "P"),
        ((2, 2), (8,), "S0 S0", (8,), "S0 S0", "P P"),
        ((2,), (4, 6), "S1", (6,), "S0", "P"),
        ((2, 2), (6,), "S0 R", (6, 4), "S0 S1", "P S0"),
        # Empty.
        ((2,), (0, 6), "S1", (6, 3), "S0", "P"),
        ((2,), (2, 0), "S1", (0, 3), "S0", "P"),
    ],
)
def test_a_product_is_local(rng, shape, lhs, at_lhs, rhs, at_rhs, at_result):
    a, b = ints(rng, *lhs), ints(rng, *rhs)
    x, y = distributed(a, shape, at_lhs), distributed(b, shape, at_rhs)
    program = compile(lambda x, y: x @ y)(x.layout, y.layout)
    result = program(x, y)
    assert short(result.placements) == at_result
    assert program.collectives() == []
    np.testing.assert_array_equal(whole(result._stored(), result.mapping), a @ b)
    np.testing.assert_array_equal(result.to_numpy(), a @ b)


def test_each_device_multiplies_its_own_blocks(rng):
    a, b = ints(rng, 3, 4), ints(rng, 4, 2)
    result = distributed(a, (2,), "S1") @ distributed(b, (2,), "S0")
    terms = [shard.to_numpy().tolist() for shard in result.local_shards]
    assert terms == [(a[:, :2] @ b[:2]).tolist(), (a[:, 2:] @ b[2:]).tolist()]


@pytest.mark.parametrize("size", [0, 1, 5, 7])
@pytest.mark.parametrize(
    ("cut_lhs", "cut_rhs"), [("S1 R", "S0 R"), ("S1 S1", "S0 S0"), ("S0 S1", "R S0")]
)
def test_a_named_size_need_not_divide_inside_a_program(rng, size, cut_lhs, cut_rhs):
    a, b = ints(rng, 4, size), ints(rng, size, 3)
    x, y = distributed(a, (2, 2), "R R"), distributed(b, (2, 2), "R R")

    def product(x, y):
        x, y = x.to(mapping((2, 2), cut_lhs)), y.to(mapping((2, 2), cut_rhs))
        return (x @ y).to(mapping((2, 2), "S0 R"))

    program = compile(product)(
        TensorLayout(DType.float32, [4, "k"], x.mapping),
        TensorLayout(DType.float32, ["k", 3], y.mapping),
    )
    np.testing.assert_array_equal(program(x, y).to_numpy(), a @ b)


@pytest.mark.parametrize(
    ("needed", "split", "after"),
    [
        ("S1 R", [0], "P R"),
        ("S1 S1", [0, 1], "P P"),
        ("S1 S1", [0], "P S1"),
        ("S1 S1", [1], "S1 P"),
        ("S0 S1", [1], "S0 P"),
        ("S0 S1", [0, 1], "P P"),
        ("P S1", [1], "P P"),
        ("P S0", [0, 1], "P P"),
    ],
)
def test_blocks_keep_their_elements(needed, split, after):
    """Cut along ``k`` and laid out in blocks, every device keeps what it has."""
    where, blocks = mapping((2, 2), needed), mapping((2, 2), after)
    value = np.arange(32, dtype=np.float32).reshape(4, 8)

    def program(x):
        return _split_blocks(x, where.mesh, where.placements, split)

    array = placed(value, where)
    compiled = jax.jit(program).lower(array).compile()
    assert find_collectives(compiled.as_text(), where.mesh) == []
    moved = compiled(array)
    assert moved.sharding.is_equivalent_to(blocks.named_sharding(2), moved.ndim)
    for old, new in zip(
        array.addressable_shards, moved.addressable_shards, strict=True
    ):
        assert np.ravel(new.data).tolist() == np.ravel(old.data).tolist()


# Linear ops on pending sums ---------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "value"),
    [
        (lambda x: -x, lambda a: -a),
        (lambda x: x * 3, lambda a: a * 3),
        (lambda x: 3 * x, lambda a: a * 3),
        (lambda x: x / 2, lambda a: a / 2),
        (lambda x: x + x, lambda a: a + a),
        (lambda x: x + 10, lambda a: a + 10),
        (lambda x: 10 + x, lambda a: a + 10),
        (lambda x: x - 10, lambda a: a - 10),
        (lambda x: 10 - x, lambda a: 10 - a),
        (lambda x: -(x * 2 + 1) - x, lambda a: -(a * 2 + 1) - a),
    ],
)
@pytest.mark.parametrize(
    ("shape", "where"), [((2,), "P"), ((4,), "P"), ((2, 2), "P P"), ((2, 2), "S1 P")]
)
def test_linear_ops_go_through_a_pending_sum(rng, shape, where, op, value):
    a = ints(rng, 4, 4)
    x = distributed(a, shape, where)
    program = compile(op)(x.layout)
    assert program.collectives() == []
    for result in (op(x), program(x)):
        assert short(result.placements) == where
        np.testing.assert_array_equal(result.to_numpy(), value(a))


def test_a_number_is_added_to_the_first_term_only(rng):
    x = distributed(ints(rng, 2), (2, 2), "P P")
    before, after = np.asarray(x._stored()), np.asarray((x + 5)._stored())
    assert (after - before).tolist() == [[[5, 5], [0, 0]], [[0, 0], [0, 0]]]


def test_sums_of_two_contractions_are_resolved_once(rng):
    a, b = ints(rng, 4, 4), ints(rng, 4, 4)
    x, y = distributed(a, (2,), "S1"), distributed(b, (2,), "S0")
    program = compile(lambda x, y: (x @ y - x @ (y * 2)).to(mapping((2,), "R")))(
        x.layout, y.layout
    )
    (found,) = program.collectives()
    assert (found.kind, found.count, found.bytes) == ("allreduce", 1, 64)
    np.testing.assert_array_equal(program(x, y).to_numpy(), a @ b - a @ (b * 2))


def test_int64_stays_exact(rng):
    a = np.array([[2**40, 3], [5, -(2**41)]])
    b = np.array([[2**20 + 1, 7], [11, 2**19]])
    result = distributed(a, (2,), "S1") @ distributed(b, (2,), "S0") + 2**33
    assert result.to_numpy().tolist() == (a @ b + 2**33).tolist()


# Operands that move, and results that are placed -------------------------------------


@pytest.mark.parametrize(
    ("op", "places", "cost"),
    [
        (lambda x, y: x + y, ("S0", "R"), ""),
        (lambda x, y: x + y, ("S0", "S1"), "all-to-all x 32"),
        (lambda x, y: x * y, ("P", "P"), "allreduce x 64"),
        (lambda x, y: F.exp(x) + y, ("P", "R"), "allreduce x 64"),
        (lambda x, y: x @ y, ("R", "S0"), ""),
        (lambda x, y: x @ y, ("S0", "S0"), "allgather x 32"),
    ],
)
def test_an_operand_moves_once_and_nothing_else_does(rng, op, places, cost):
    a, b = ints(rng, 4, 4), ints(rng, 4, 4)
    x, y = (distributed(v, (2,), at) for v, at in zip((a, b), places, strict=True))
    with auto_reshard(mode="silent"):
        program = compile(op)(x.layout, y.layout)
    found = [
        f"{c.kind} {' '.join(c.mesh_axes)} {c.bytes}" for c in program.collectives()
    ]
    assert ", ".join(found) == cost
    one_device = op(Tensor(a), Tensor(b)).to_numpy()
    np.testing.assert_allclose(program(x, y).to_numpy(), one_device, rtol=1e-6)


@pytest.mark.parametrize("where", ["R R", "S0 R", "S0 S1", "P S0", "P P"])
def test_what_is_made_on_a_mesh_costs_nothing(where):
    target = mapping((2, 2), where)
    program = compile(lambda: F.full([4, 4], 3.0, device=target))()
    assert program.collectives() == []
    result = program()
    assert result.mapping == target
    np.testing.assert_array_equal(
        whole(result._stored(), target), np.full((4, 4), 3, np.float32)
    )


@pytest.mark.parametrize("source", ["R", "S0", "S1", "P"])
@pytest.mark.parametrize("target", ["R R", "S1 S0", "R S1"])
def test_a_program_crosses_meshes_of_the_same_devices(rng, source, target):
    a = ints(rng, 4, 4)
    there, back = mapping((2, 2), target), mapping((4,), source.replace("P", "R"))
    x = distributed(a, (4,), source)

    def model(x):
        first = x.to(there) * 2
        return first, first.to(back)

    first, second = compile(model)(x.layout)(x)
    assert (first.mapping, second.mapping) == (there, back)
    np.testing.assert_array_equal(whole(first._stored(), there), a * 2)
    np.testing.assert_array_equal(whole(second._stored(), back), a * 2)


def test_crossing_to_where_the_pieces_are_costs_nothing(rng):
    x = distributed(ints(rng, 8), (4,), "S0")
    program = compile(lambda x: x.to(mapping((2, 2), "S0 S0")))(x.layout)
    assert program.collectives() == []


@pytest.mark.parametrize("where", ["R", "S0", "P"])
def test_a_program_goes_to_one_device_and_comes_back(rng, where):
    a = ints(rng, 4)
    x = distributed(a, (2,), where)

    def model(x):
        alone = x.to(CPU(3)) + 1
        return alone, alone.to(x.mapping if where != "P" else x.mesh) * 2

    alone, again = compile(model)(x.layout)(x)
    assert alone.device == CPU(3)
    assert (values(alone), values(again)) == ((a + 1).tolist(), ((a + 1) * 2).tolist())


# What is evaluated, and how often ---------------------------------------------------


def counting():
    """Makes a function in front of an op that counts how often it is traced."""
    calls = []

    def fn(x):
        calls.append(x.shape)
        return x + 1

    op = Op(name="count", fn=fn, infer=lambda x: (x.dtype, x.shape), rule=unary_rule)
    return (lambda x: apply(op, (x,))), calls


def test_dead_nodes_are_not_evaluated():
    count, calls = counting()
    program = compile(lambda x: (count(count(x)), x + count(x))[1])(layout(2))
    assert values(program(tensor([1, 2]))) == [3.0, 5.0]
    assert len(calls) == 1


def test_a_body_is_traced_once_however_often_it_is_called():
    count, calls = counting()
    block = as_subgraph(count)
    x = distributed(np.zeros(4, np.float32), (2,), "S0")
    program = compile(lambda x: block(block(block(x))))(x.layout)
    assert values(program(x)) == [3.0] * 4
    assert calls == [(4,)]


def test_a_body_with_names_of_its_own_is_traced_once_per_set_of_sizes():
    count, calls = counting()
    body = compile(count)(layout("k"))
    program = compile(lambda x, y: (body(body(x)), body(y)))(layout("a"), layout("b"))
    program(tensor([1, 2]), tensor([1, 2]))
    assert calls == [(2,)]
    program(tensor([1, 2]), tensor([1, 2, 3]))
    assert sorted(calls) == [(2,), (2,), (3,)]


# Symbolic sizes, as jax.export has them -----------------------------------------------


def exported(program, *layouts):
    return export.deserialize(bytearray(export_module(stage(program)(*layouts).graph)))


@pytest.mark.parametrize("rows", [2, 6])
def test_a_sharded_batch_is_exported(rng, rows):
    lhs, rhs, out = (mapping((2, 2), t) for t in ("S0 S1", "R S0", "S0 R"))

    def model(x, w):
        return ((x @ w) + 1).to(out)

    module = exported(
        model,
        TensorLayout(DType.int64, ["n", 4], lhs),
        TensorLayout(DType.int64, [4, 3], rhs),
    )
    a, b = ints(rng, rows, 4, dtype=np.int64) * 2**40, ints(rng, 4, 3, dtype=np.int64)
    (result,) = jax.jit(module.call)(placed(a, lhs), placed(b, rhs))
    assert np.asarray(result).tolist() == (a @ b + 1).tolist()


@pytest.mark.parametrize("size", [2, 8])
def test_a_contraction_of_symbolic_size_is_exported(rng, size):
    lhs, rhs, out = (mapping((2,), t) for t in ("S1", "S0", "R"))
    module = exported(
        lambda x, w: (x @ w).to(out),
        TensorLayout(DType.float32, [3, "k"], lhs),
        TensorLayout(DType.float32, ["k", 2], rhs),
    )
    a, b = ints(rng, 3, size), ints(rng, size, 2)
    (result,) = jax.jit(module.call)(placed(a, lhs), placed(b, rhs))
    np.testing.assert_array_equal(np.asarray(result), a @ b)


def test_symbolic_parameters_are_resolved():
    program = compile(lambda x: F.full([x.shape[0] * 2, 3], 1.0))(layout("n", 1))
    for n in (0, 1, 4):
        x = Tensor(np.zeros((n, 1), np.float32))
        assert program(x).shape == [2 * n, 3]
