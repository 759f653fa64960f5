"""Writing in place: the memory is reused when nothing else holds it, and only then."""

import copy
import gc
import weakref

import hypothesis
import jax
import numpy as np
import pytest
from hypothesis import strategies as st

from maxlite import functional as F
from maxlite.compilation import CompiledCallable, as_subgraph, compile, stage
from maxlite.driver import CPU
from maxlite.sharding import (
    BufferLayout,
    DeviceMapping,
    Partial,
    Replicated,
    Sharded,
    TensorLayout,
)
from maxlite.tensor import Tensor
from maxlite.tensor._ownership import holds_alone
from tests.sharding.meshes import cpu_mesh

SIZE = 1024
MESH = cpu_mesh(2)
RENAMED = cpu_mesh(2, names=("q",))
OTHER = cpu_mesh(4)


def mapped(placement, mesh=MESH):
    return DeviceMapping(mesh, (placement,) * mesh.ndim)


def zeros():
    return Tensor(np.zeros(SIZE, np.float32))


def write(x):
    """Writes sevens to the first two elements."""
    x[0:2] = Tensor([7.0, 7.0])


def is_written(x):
    array = np.asarray(x.to_numpy() if isinstance(x, Tensor) else x).ravel()
    assert not array[2:].any()
    return array[:2].tolist() == [7, 7]


def address(x):
    return [s.data.unsafe_buffer_pointer() for s in x._stored().addressable_shards]


# Alone ------------------------------------------------------------------------------


PLACES = [None, mapped(Replicated()), mapped(Sharded(0)), mapped(Partial())]


def placed(place):
    return F.zeros([SIZE], device=place)


@pytest.mark.parametrize("make", [zeros, lambda: F.zeros([SIZE]), lambda: zeros() * 2])
def test_alone_it_is_written_in_place(make):
    x = make()
    before = address(x)
    for _ in range(3):
        write(x)
        assert address(x) == before
    assert is_written(x)


def test_alone_it_is_written_in_place_on_a_mesh():
    x = placed(mapped(Replicated()))
    before = address(x)
    with F.lazy():
        sevens = Tensor([7.0, 7.0]).to(MESH)
    x[0:2] = sevens
    assert address(x) == before
    assert is_written(x)


def hold_and_let_go(x):
    view, double, lent = x.to_numpy(), copy.copy(x), np.from_dlpack(x)
    del view, double, lent


def test_what_was_let_go_does_not_count():
    x = zeros()
    before = address(x)
    hold_and_let_go(x)
    with F.lazy():
        dropped = x + 1
    del dropped
    gc.collect()
    assert holds_alone(x)
    write(x)
    assert address(x) == before


def test_a_whole_write_replaces_everything():
    x = Tensor([1.0, 2.0])
    kept = copy.copy(x)
    x[...] = Tensor([3.0, 4.0])
    assert x.to_numpy().tolist() == [3.0, 4.0]
    assert kept.to_numpy().tolist() == [1.0, 2.0]


def test_a_tensor_is_written_to_itself():
    x = Tensor([1.0, 2.0, 3.0, 4.0])
    x[...] = x
    assert x.to_numpy().tolist() == [1.0, 2.0, 3.0, 4.0]
    x[0:2] = x[2:4]
    assert x.to_numpy().tolist() == [3.0, 4.0, 3.0, 4.0]


def test_the_value_that_was_written_stays_its_own():
    x, value = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    x[...] = value
    value[0:1] = Tensor([9.0])
    assert x.to_numpy().tolist() == [3.0, 4.0]
    x[0:1] = Tensor([8.0])
    assert value.to_numpy().tolist() == [9.0, 4.0]


# Shared, on one device --------------------------------------------------------------


@pytest.mark.parametrize(
    "share",
    [
        copy.copy,
        copy.deepcopy,
        Tensor,
        lambda x: Tensor(storage=x.storage),
        lambda x: Tensor.from_dlpack(x.storage),
        lambda x: Tensor.from_dlpack(x.storage.to_jax()),
        lambda x: Tensor(np.from_dlpack(x)),
        lambda x: Tensor(jax.device_put(x.storage.to_jax(), CPU().to_jax())),
        lambda x: x.reshape([2, SIZE // 2]),
        lambda x: x.unsqueeze(0).squeeze(0),
        lambda x: x.T if x.rank > 1 else x.unsqueeze(1),
        lambda x: x.broadcast_to([1, SIZE]),
        lambda x: x[...],
        lambda x: x[0:],
        lambda x: x + 0,
        lambda x: F.split(x, [SIZE])[0],
        lambda x: x.to(MESH).to(CPU()),
        lambda x: x.to(MESH).local_shards[0],
        lambda x: x.to(CPU(1)).to(CPU()),
    ],
)
def test_whoever_shares_it_keeps_its_value(share):
    x = zeros()
    other = share(x)
    write(x)
    assert is_written(x)
    assert not np.asarray(other.to_numpy()).any()
    x = zeros()
    other = share(x)
    if other.rank == 1:
        write(other)
        assert is_written(other)
        assert not x.to_numpy().any()


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.to_numpy(),
        lambda x: x.to_numpy()[::2],
        np.asarray,
        np.from_dlpack,
        lambda x: x.storage.to_jax(),
        lambda x: x.driver_tensor.to_numpy(),
        lambda x: memoryview(x.to_numpy()),
        lambda x: jax.dlpack.from_dlpack(x.storage),
        lambda x: jax.device_put(x.storage.to_jax(), CPU().to_jax()),
        lambda x: x.storage,
        lambda x: x.buffers[0],
    ],
)
def test_whoever_looks_at_the_memory_keeps_what_it_saw(view):
    x = zeros()
    seen = view(x)
    write(x)
    write(x)
    assert is_written(x)
    assert not np.asarray(seen).any()


def test_data_that_were_copied_in_are_never_written():
    room = np.zeros(SIZE + 64, np.float32)
    for offset in range(0, 64, 4):
        data = room[offset : offset + SIZE]
        x = Tensor(data)
        write(x)
        assert is_written(x)
    assert not room.any()


def test_memory_that_was_lent_is_never_written():
    room = np.zeros(SIZE + 64, np.float32)
    data = room[-room.ctypes.data % 64 // 4 :][:SIZE]
    shared = jax.dlpack.from_dlpack(data)
    x = Tensor.from_dlpack(shared)
    del shared
    write(x)
    assert is_written(x)
    assert not room.any()


def test_a_jax_user_keeps_an_array_that_shares_memory_with_ours():
    array = jax.device_put(np.zeros(SIZE, np.float32), CPU().to_jax())
    alias = jax.device_put(array, CPU().to_jax())  # another object on the same memory
    x = Tensor.from_dlpack(alias)
    del alias
    write(x)
    assert is_written(x)
    assert not np.asarray(array).any()


# Shared, on a mesh ------------------------------------------------------------------


@pytest.mark.parametrize("place", PLACES[1:])
@pytest.mark.parametrize(
    "share",
    [
        copy.copy,
        copy.deepcopy,
        Tensor,
        lambda x: x.to(RENAMED),
        lambda x: x.to(DeviceMapping(RENAMED, x.placements)),
        lambda x: x.to(MESH),
        lambda x: x.materialize(),
        lambda x: x.rebind_mapping(mapped(Replicated())),
        lambda x: x.rebind_mapping(mapped(Partial())),
        lambda x: x.rebind_mapping(mapped(Sharded(0))),
        lambda x: x.local_shards[0],
        lambda x: x.local_shards[1],
        lambda x: Tensor(storage=x.buffers[0]),
    ],
)
def test_whoever_shares_shards_keeps_them(share, place):
    x = placed(place)
    other = share(x)
    if other is x:
        return
    other[...] = F.ones_like(other)
    assert np.asarray(other.local_shards[0].to_numpy()).any()
    assert not x.to_numpy().any()
    x = placed(place)
    other = share(x)
    x[...] = F.ones_like(x)
    assert (x.to_numpy() == 1).all()
    for shard in other.local_shards:
        assert not shard.to_numpy().any()


@pytest.mark.parametrize("target", [MESH, mapped(Sharded(0)), OTHER, CPU(1)])
def test_what_was_moved_to_a_mesh_is_independent(target):
    x = zeros()
    there = x.to(target)
    there[...] = F.ones_like(there)
    assert not x.to_numpy().any()
    x = zeros()
    there = x.to(target)
    write(x)
    assert is_written(x)
    assert not there.to_numpy().any()


def test_shards_that_were_joined_keep_their_value():
    first, second = zeros(), zeros()
    with F.ensure_context():
        joined = Tensor.from_shard_values([first, second], mapped(Sharded(0)))
    joined[...] = F.ones_like(joined)
    assert not first.to_numpy().any()
    assert not second.to_numpy().any()
    with F.ensure_context():
        joined = Tensor.from_shard_values([first, second], mapped(Sharded(0)))
    write(first)
    assert not joined.to_numpy().any()


# Recorded ---------------------------------------------------------------------------


def test_a_lazy_graph_keeps_the_value_that_it_recorded():
    x = zeros()
    with F.lazy():
        y = x + 1
    write(x)
    assert is_written(x)
    assert (y.to_numpy() == 1).all()


def test_a_value_that_has_two_tensors_gives_each_its_own():
    with F.lazy():
        x = zeros() + 0
        y = copy.copy(x)
    write(x)
    assert is_written(x)
    assert not y.to_numpy().any()


def test_a_source_that_is_its_own_result_is_not_the_results_memory():
    x = zeros()
    with F.lazy():
        y = copy.copy(x)
        y[0:2] = Tensor([7.0, 7.0])
        z = copy.copy(y)
    assert is_written(y)
    write(z)
    assert not x.to_numpy().any()


def test_a_staged_capture_keeps_its_value():
    weight = zeros()
    layout = TensorLayout(weight.dtype, [SIZE], CPU())
    compiled = CompiledCallable(stage(lambda x: x + weight)(layout))
    write(weight)
    assert is_written(weight)
    assert not compiled(zeros()).to_numpy().any()
    assert is_written(weight)


def test_a_subgraphs_capture_keeps_its_value():
    weight = zeros()
    body = as_subgraph(lambda x: x + weight)
    compiled = compile(body)(TensorLayout(weight.dtype, [SIZE], CPU()))
    write(weight)
    assert not compiled(zeros()).to_numpy().any()


def test_a_compiled_write_leaves_those_who_share_alone():
    def store(x):
        x[0:2] = Tensor([7.0, 7.0])
        return x

    compiled = compile(store)(BufferLayout(zeros().dtype, [SIZE], CPU()))
    x = zeros()
    kept, seen, there = copy.copy(x), x.to_numpy(), x.to(MESH)
    result = compiled(x)
    assert is_written(x)
    assert is_written(result)
    assert not seen.any()
    assert not kept.to_numpy().any()
    assert not there.to_numpy().any()
    x[2:4] = Tensor([5.0, 5.0])
    assert is_written(result)


def test_one_value_returned_twice_gives_independent_tensors():
    compiled = compile(lambda x: (y := x + 0, y, x))(
        TensorLayout(zeros().dtype, [SIZE], CPU())
    )
    source = zeros()
    results = compiled(source)
    for written in results:
        write(written)
        assert is_written(written)
    assert not source.to_numpy().any()
    first, second, third = compiled(source)
    write(first)
    assert not second.to_numpy().any()
    assert not third.to_numpy().any()


def test_a_tensor_lets_its_memory_go():
    x = zeros()
    gone = weakref.ref(x._stored())
    write(x)
    assert gone() is None


# Anything at all --------------------------------------------------------------------


def recorded(x):
    with F.lazy():
        return x + 0


def realized(x):
    x = x.materialize()
    x.to_numpy()
    return x


SHARERS = [
    copy.copy,
    Tensor,
    recorded,
    lambda x: Tensor(storage=realized(x).storage),
    lambda x: Tensor.from_dlpack(realized(x).storage.to_jax()),
    lambda x: x.to(MESH),
    lambda x: x.to(RENAMED),
    lambda x: x.to(mapped(Sharded(0))),
    lambda x: x.to(CPU()),
    lambda x: x.to(CPU(1)),
    lambda x: x.materialize(),
    lambda x: x.reshape([8]),
]


@hypothesis.settings(max_examples=60)
@hypothesis.given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 30)), min_size=4, max_size=16)
)
def test_no_write_ever_shows_elsewhere(steps):
    """Each step shares a tensor of the pool in some way, or writes to it."""
    pool = [(Tensor(np.zeros(8, np.float32)), np.zeros(8, np.float32))]
    for number, (which, what) in enumerate(steps):
        x, expected = pool[which % len(pool)]
        if what < len(SHARERS):
            pool.append((SHARERS[what](x), expected.copy()))
            if pool[-1][0] is x:
                pool.pop()
        else:
            x[...] = F.full_like(x, float(number))
            expected[:] = number
        for tensor, values in pool:
            if tensor.real:
                np.testing.assert_array_equal(tensor.to_numpy(), values)
    for tensor, values in pool:
        np.testing.assert_array_equal(tensor.to_numpy(), values)
