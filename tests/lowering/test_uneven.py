"""Sharded sizes that do not divide: right in every way to run, and cut as said."""

import copy
import itertools
import pickle

import numpy as np
import pytest

from maxlite import CPU, DType, Tensor, TensorLayout, compile, random
from maxlite import functional as F
from maxlite.executor import InterpreterExecutor
from maxlite.lowering._uneven import pieces
from maxlite.realization_context import LazyRealizationContext
from maxlite.sharding import (
    BufferLayout,
    DeviceMapping,
    Partial,
    Replicated,
    Sharded,
    auto_reshard,
)
from maxlite.tensor import realization_context
from tests.functional._cross import every_third
from tests.sharding.meshes import cpu_mesh

R, S0, S1, P = Replicated(), Sharded(0), Sharded(1), Partial()


def on(*placements, ways=None):
    return DeviceMapping(cpu_mesh(*(ways or (2,) * len(placements))), placements)


LYING = {
    "S0 of 2": on(S0),
    "S1 of 2": on(S1),
    "S0 of 4": on(S0, ways=(4,)),
    "S0 S1": on(S0, S1),
    "S0 S0": on(S0, S0),
    "S1 P": on(S1, P),
}


SLOW = {"S1 of 2", "S0 of 4", "S0 S0"}


@pytest.fixture(
    params=[
        pytest.param(where, id=name, marks=[pytest.mark.slow] * (name in SLOW))
        for name, where in LYING.items()
    ]
)
def where(request):
    return request.param


def data(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


# Values -----------------------------------------------------------------------------

FUNCTIONS = {
    "elementwise": lambda x: F.exp(x * 0.5) + 1.0,
    "sum 0": lambda x: F.sum(x, axis=0),
    "sum 1": lambda x: F.sum(x, axis=1),
    "mean of all": lambda x: F.mean(x, axis=None),
    "max": lambda x: F.max(x, axis=1),
    "softmax": lambda x: F.softmax(x, axis=0),
    "cumsum": lambda x: F.cumsum(x, axis=1),
    "sort": lambda x: F.sort(x, axis=0),
    "matmul": lambda x: x @ x.T,
    "contraction": lambda x: x.T @ x,
    "transpose": lambda x: F.transpose(x, 0, 1),
    "reshape": lambda x: F.reshape(x, [-1]),
    "slice": lambda x: x[1:, :2],
    "flip": lambda x: F.flip(x, 0),
    "concat": lambda x: F.concat([x, x], axis=0),
    "pad": lambda x: F.pad(x, [1, 2, 0, 1]),
    "gather": lambda x: F.gather(x, Tensor(np.array([2, 0, 1])), axis=0),
    "where": lambda x: F.where(x > 0, x, 0.0),
    "roll": lambda x: F.roll(x, 1, 0),
    "top_k": lambda x: F.top_k(x, 2, axis=1)[0],
    "layer_norm": lambda x: F.layer_norm(x, F.ones([3]), F.zeros([3]), 1e-5),
}


@pytest.mark.parametrize("name", every_third(FUNCTIONS))
def test_functions_give_what_one_device_gives(name, where):
    fn, array = FUNCTIONS[name], data(5, 3)
    want = fn(Tensor(array)).to_numpy()
    x = Tensor(array).to(DeviceMapping.replicated(where.mesh)).to(where)
    with auto_reshard(mode="silent"):
        eager = fn(x)
        with F.lazy():
            lazy = fn(x)
        program = compile(fn)(x.layout)
    for found in (eager, lazy, program(x)):
        assert found.placements == program.out_layouts[0].placements
        assert found.shape == list(want.shape)
        np.testing.assert_allclose(found.to_numpy(), want, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(
    "size", [1, 5, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 2, 3, 7, 9))]
)
def test_every_size_can_be_placed_moved_and_read(size):
    array = data(size, 3)
    x = Tensor(array)
    many = [on(S0), on(S1), on(S0, ways=(4,)), on(S0, S0), on(S1, S0), on(R)]
    if size == 1:  # scattering a size of 1 is refused
        x = x.to(DeviceMapping.replicated(cpu_mesh(2)))
    for first, second in itertools.product(many, many):
        moved = x.to(first).to(second)
        np.testing.assert_array_equal(moved.to_numpy(), array)
        assert moved.to(CPU()).to_numpy().tolist() == array.tolist()
        assert moved.materialize().device == CPU()


# Pieces -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "where", "want"),
    [
        (5, on(S0), [3, 2]),
        (5, on(S0, ways=(4,)), [2, 1, 1, 1]),
        (3, on(S0, ways=(4,)), [1, 1, 1, 0]),
        (7, on(S0, S0), [2, 2, 2, 1]),
        (1, on(S0), [1, 0]),
        (0, on(S0), [0, 0]),
    ],
)
def test_the_first_pieces_are_longer(size, where, want):
    x = F.arange(0, size, device=where)
    assert [shard.shape[0] for shard in x.local_shards] == want
    assert [shape[0] for shape in where.local_shapes(x.shape)] == want
    assert [s.stop - s.start for (s,) in pieces(where, (size,))] == want
    joined = [v for shard in x.local_shards for v in shard.to_numpy().tolist()]
    assert joined == list(range(size))
    assert [buffer.shape[0] for buffer in x.buffers] == want
    for shard, device in zip(x.local_shards, where.mesh.devices, strict=True):
        assert shard.device == device


def test_pieces_of_pending_sums():
    x = Tensor(data(5, 3)).to(DeviceMapping.replicated(cpu_mesh(2, 2))).to(on(S0, P))
    first, second, third, fourth = (s.to_numpy() for s in x.local_shards)
    np.testing.assert_array_equal(np.concatenate([first, third]), data(5, 3))
    assert not second.any()
    assert not fourth.any()


def test_pieces_of_any_size_are_joined():
    def join(values, where):
        with F.ensure_context():
            return Tensor.from_shard_values([Tensor(v) for v in values], where)

    joined = join([[1.0], [2.0, 3.0, 4.0]], on(S0))
    assert joined.shape == [4]
    assert joined.to_numpy().tolist() == [1, 2, 3, 4]
    grid = [data(2, 1), data(2, 3), data(3, 1), data(3, 3)]
    whole = np.block([grid[:2], grid[2:]])
    np.testing.assert_array_equal(join(grid, on(S0, S1)).to_numpy(), whole)
    with pytest.raises(ValueError, match="one shape but for sharded axes"):
        join([data(2, 1), data(2, 2), data(3, 2), data(3, 2)], on(S0, S1))


def test_shards_may_be_named_anew():
    x = Tensor([1.0, 2.0, 3.0]).to(on(S0))
    with pytest.raises(ValueError, match=r"float32\[2\] and float32\[1\]"):
        x.rebind_mapping(on(R))
    assert x.rebind_mapping(on(S0)).to_numpy().tolist() == [1, 2, 3]


# Everything else ----------------------------------------------------------------------


def test_made_straight_on_a_mesh(where):
    made = [
        F.zeros([5, 3], device=where),
        F.full([5, 3], 2.5, device=where),
        F.ones([5, 3], device=where),
        F.eye(5, 3, device=where),
    ]
    wants = [np.zeros((5, 3)), np.full((5, 3), 2.5), np.ones((5, 3)), np.eye(5, 3)]
    for found, want in zip(made, wants, strict=True):
        assert found.placements == where.placements
        np.testing.assert_array_equal(found.to_numpy(), want)


def test_draws_are_those_of_one_device():
    random.set_seed(3)
    whole = F.normal([5, 3]).to_numpy()
    random.set_seed(3)
    np.testing.assert_array_equal(F.normal([5, 3], device=on(S0)).to_numpy(), whole)


def test_writes_go_where_they_belong():
    x = Tensor(data(5, 3)).to(on(S1))
    want = data(5, 3)
    x[1] = Tensor([9.0, 8.0, 7.0]).to(on(S0))
    want[1] = [9, 8, 7]
    np.testing.assert_array_equal(x.to_numpy(), want)

    def step(state, by):
        state[...] = state + by
        return state * 2

    layout = BufferLayout(DType.float32, [5, 3], on(S1))
    program = compile(step)(layout, TensorLayout(DType.float32, [5, 3], on(S1)))
    doubled = program(x, Tensor(data(5, 3)).to(on(S1)))
    np.testing.assert_allclose(x.to_numpy(), want + data(5, 3), rtol=1e-6)
    np.testing.assert_allclose(doubled.to_numpy(), 2 * x.to_numpy(), rtol=1e-6)


@pytest.mark.parametrize("given", ["numpy", "tensor", "placed"])
def test_weights(given):
    def fn(x):
        return x @ F.constant_external("w", TensorLayout(DType.float32, [3, 5], on(S1)))

    array = data(3, 5)
    weight = {
        "numpy": array,
        "tensor": Tensor(array),
        "placed": Tensor(array).to(on(S1)),
    }[given]
    program = compile(fn, weights={"w": weight})(
        TensorLayout(DType.float32, [2, 3], on(R))
    )
    x = Tensor(data(2, 3)).to(on(R))
    np.testing.assert_allclose(program(x).to_numpy(), data(2, 3) @ array, rtol=1e-5)


def test_collectives_that_keep_the_value():
    x = Tensor([1.0, 2.0, 3.0]).to(on(S0))
    gathered = F.allgather(x)
    assert gathered.placements == (R,)
    assert [s.to_numpy().tolist() for s in gathered.local_shards] == [[1, 2, 3]] * 2
    sums = Tensor([1.0, 2.0, 3.0]).to(cpu_mesh(2)).to(on(P))
    assert F.reduce_scatter(sums).placements == (S0,)
    assert F.reduce_scatter(sums).to_numpy().tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="divide"):
        F.allreduce_sum(x)
    program = compile(lambda x: F.allgather(x) * 2)(x.layout)
    assert program(x).to_numpy().tolist() == [2, 4, 6]


def test_executors_copies_and_numpy():
    x = Tensor(data(5, 3)).to(on(S0))
    ctx = LazyRealizationContext(InterpreterExecutor())
    with realization_context(ctx):
        y = F.tanh(x) * 2
    np.testing.assert_allclose(y.to_numpy(), np.tanh(data(5, 3)) * 2, rtol=1e-5)
    for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert made.placements == (S0,)
        np.testing.assert_array_equal(made.to_numpy(), data(5, 3))
    np.testing.assert_array_equal(np.asarray(x), data(5, 3))
    np.testing.assert_array_equal(np.asarray(x.to_jax()), data(5, 3))
    assert x.to_jax().shape == (5, 3)
    assert Tensor(np.arange(3) + 2**40).to(on(S0)).to_jax().dtype == np.int64
    assert "shape=[5, 3]" in repr(x)
    assert "5" in x._repr_html_()


def test_no_row_of_padding_is_ever_seen():
    x = F.full([5], -1.0, device=on(S0, ways=(4,)))
    for fn, want in (
        (lambda x: F.max(x, axis=None), -1),
        (lambda x: F.sum(x, axis=None), -5),
        (lambda x: F.mean(x, axis=None), -1),
        (lambda x: F.count_nonzero(x, axis=None), 5),
        (lambda x: F.prod(F.exp(x), axis=None), np.exp(-5)),
    ):
        with auto_reshard(mode="silent"):
            found = fn(x)
        assert found.to(CPU()).item() == pytest.approx(want, rel=1e-6)
