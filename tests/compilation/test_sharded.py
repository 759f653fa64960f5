"""Compiled programs on meshes: placements in and out, checks, many calls."""

import threading

import jax
import numpy as np
import pytest

from maxlite import (
    CPU,
    BufferLayout,
    CompiledCallable,
    DeviceMapping,
    DeviceMesh,
    DType,
    Sharded,
    Tensor,
    TensorLayout,
    auto_reshard,
    compile,
    stage,
)
from maxlite import functional as F
from tests.compilation.layouts import layout, mesh, tensor, values
from tests.lowering.stored import distributed, mapping, parts, short, whole


def on(shape, text, *sizes, dtype=DType.float32):
    return TensorLayout(dtype, sizes, mapping(shape, text))


def f32(rng, *shape):
    return rng.integers(-4, 5, shape).astype(np.float32)


# Placements --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "places"),
    [
        ((2,), ["R", "S0", "S1", "P"]),
        ((4,), ["R", "S0", "S1", "P"]),
        ((2, 2), ["R R", "S0 S1", "S1 S0", "S0 S0", "P P", "S0 P", "P S1", "R S1"]),
        ((2, 4), ["R R", "S0 S1", "S1 S0", "S0 S0", "P P", "S0 P", "P S1", "R S1"]),
    ],
)
def test_arguments_of_every_placement(rng, shape, places):
    a = f32(rng, 8, 8)
    for place in places:
        x = distributed(a, shape, place)
        program = compile(lambda x: (-x, x * 2 + 1, x))(x.layout)
        assert [short(out.placements) for out in program.out_layouts] == [place] * 3
        for result, want in zip(program(x), (-a, a * 2 + 1, a), strict=True):
            assert result.mapping == x.mapping
            assert result._stored().sharding.is_equivalent_to(
                x.mapping.named_sharding(2), result._stored().ndim
            )
            np.testing.assert_array_equal(whole(result._stored(), x.mapping), want)
            np.testing.assert_array_equal(result.to_numpy(), want)


def layers(x, w1, w2, b):
    return F.relu(x @ w1) @ w2 + b


@pytest.mark.parametrize(
    ("shape", "places", "result"),
    [
        ((2,), ["S0", "R", "R", "R"], "S0"),
        ((2,), ["R", "S1", "S0", "P"], "P"),
        ((4,), ["R", "S1", "S0", "P"], "P"),
        ((2, 2), ["S0 R", "R S1", "R S0", "R P"], None),
        ((2, 2), ["R S0", "S1 R", "S0 R", "P R"], None),
        ((2, 4), ["S0 S0", "R R", "R R", "R R"], "S0 S0"),
        ((2, 4), ["R R", "S1 S1", "S0 S0", "P P"], "P P"),
    ],
)
def test_a_network_gives_what_one_device_gives(rng, shape, places, result):
    arrays = [f32(rng, 8, 16), f32(rng, 16, 16), f32(rng, 16, 8), f32(rng, 8)]
    sharded = [
        distributed(array, shape, place)
        for array, place in zip(arrays, places, strict=True)
    ]
    with auto_reshard(mode="silent"):
        program = compile(layers)(*[x.layout for x in sharded])
    got = program(*sharded)
    assert result is None or short(got.placements) == result
    assert got.mapping == program.out_layouts[0].mapping
    want = layers(*[Tensor(array) for array in arrays]).to_numpy()
    np.testing.assert_array_equal(got.to_numpy(), want)


def test_several_results_lie_each_where_the_rules_say():
    x, w = on((2, 2), "S0 R", 4, 8), on((2, 2), "R S1", 8, 6)
    program = compile(lambda x, w: {"y": x @ w, "t": x.T, "w": w})(x, w)
    assert program.out_tree.leaf_paths == ("t", "w", "y")
    places = [short(out.placements) for out in program.out_layouts]
    assert places == ["S1 R", "R S1", "S0 S1"]


# Sizes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mesh", "where", "shape"),
    [
        ((2,), "S1", (4, 5)),
        ((4,), "S0", (6, 4)),
        ((2, 2), "S0 S0", (6, 1)),
        ((2, 4), "R S0", (6, 1)),
        ((4,), "S0", (1, 3)),
    ],
)
def test_a_size_need_not_divide(rng, mesh, where, shape):
    program = compile(lambda x: (x, x * 2 + 1))(on(mesh, where, *shape))
    data = f32(rng, *shape)
    same, made = program(distributed(data, mesh, where))
    for found, want in ((same, data), (made, data * 2 + 1)):
        assert short(found.placements) == where
        np.testing.assert_array_equal(found.to_numpy(), want)


def test_nor_need_that_of_a_result():
    cut = mapping((2,), "S0")
    made = compile(lambda: F.full([3], 1.0, device=cut))()()
    assert [shard.shape for shard in made.local_shards] == [[2], [1]]
    program = compile(lambda x: x.to(cut))(on((2,), "R", 3))
    moved = program(distributed(np.arange(3, dtype=np.float32), (2,), "R"))
    assert moved.to_numpy().tolist() == [0, 1, 2]


def test_a_named_batch_is_cut_over_the_data_axis(rng):
    runs = []

    def f(x, w):
        runs.append(1)
        return F.exp(x @ w)

    program = compile(f)(on((2, 2), "S0 R", "batch", 4), on((2, 2), "R S1", 4, 6))
    assert short(program.out_layouts[0].placements) == "S0 S1"
    assert [str(dim) for dim in program.out_layouts[0].shape] == ["batch", "6"]
    w = f32(rng, 4, 6)
    for batch in (2, 8, 0, 2):
        a = f32(rng, batch, 4)
        y = program(distributed(a, (2, 2), "S0 R"), distributed(w, (2, 2), "R S1"))
        assert y.shape == [batch, 6]
        np.testing.assert_allclose(y.to_numpy(), np.exp(a @ w), rtol=1e-6)
    assert runs == [1]


def test_a_named_size_need_not_divide_when_it_comes():
    program = compile(lambda x: (x + 1).to(mapping((2,), "S0")), name="g")(
        on((2,), "S0", "n")
    )
    for size in (1, 2, 3, 4, 5, 0):
        data = np.arange(size, dtype=np.float32)
        found = program(distributed(data, (2,), "S0"))
        np.testing.assert_array_equal(found.to_numpy(), data + 1)


# Checks at a call --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (
            lambda a: distributed(a, (2,), "R"),
            r"argument 0: .*Sharded.*got .*Replicated",
        ),
        (lambda a: distributed(a, (2,), "S1"), r"argument 0: .*axis=0.*got .*axis=1"),
        (lambda a: distributed(a, (2,), "P"), r"argument 0: .*got .*Partial"),
        (lambda a: distributed(a, (4,), "S0"), r"argument 0: .*x=2.*got .*x=4"),
        (lambda a: Tensor(a), r"argument 0: .*x=2.*got .*Device\(type=cpu,id=0\)"),
        (
            lambda a: distributed(a[:2], (2,), "S0"),
            r"argument 0: .*\[4, 4\].*got .*\[2, 4\]",
        ),
    ],
)
def test_a_wrong_placement_is_refused_by_name(argument, message):
    program = compile(lambda x: x + 1)(on((2,), "S0", 4, 4))
    with pytest.raises(ValueError, match=message):
        program(argument(np.ones((4, 4), np.float32)))


def test_a_mesh_tensor_for_a_one_device_layout_is_refused():
    program = compile(lambda x, y: y)(layout(2), layout(4))
    with pytest.raises(ValueError, match=r"argument 1: .*id=0\), got .*DeviceMesh"):
        program(tensor([1, 2]), distributed(np.ones(4, np.float32), (2,), "S0"))


@pytest.mark.parametrize("devices", [(2, 3), (1, 0), (0, 1, 2, 3)])
def test_meshes_of_different_devices_are_refused(devices):
    other = DeviceMesh(tuple(map(CPU, devices)), (len(devices),), ("x",))
    listed = ", ".join(f"'cpu:{i}'" for i in devices)
    with pytest.raises(
        ValueError,
        match=rf"h: .*one list of devices, got .*'cpu:1'\] and .* on \[{listed}\]",
    ):
        compile(lambda a, b: (a + 1, b + 1), name="h")(
            on((2,), "S0", 4),
            TensorLayout(DType.float32, [4], DeviceMapping.replicated(other)),
        )


def test_meshes_of_the_same_devices_may_meet(rng):
    a, b = f32(rng, 8), f32(rng, 8)
    program = compile(lambda x, y: (x + 1, x.to(y.mapping) * y))(
        on((4,), "S0", 8), on((2, 2), "S0 R", 8)
    )
    x, y = distributed(a, (4,), "S0"), distributed(b, (2, 2), "S0 R")
    first, second = program(x, y)
    np.testing.assert_array_equal(first.to_numpy(), a + 1)
    np.testing.assert_array_equal(second.to_numpy(), a * b)


# One device beside a mesh ------------------------------------------------------------


def test_one_device_tensors_stand_beside_mesh_tensors(rng):
    """As argument, captured, as weight and as result, from several devices."""
    a, w, c = f32(rng, 4, 4), f32(rng, 4, 4), f32(rng, 4, 4)
    captured = Tensor(c).to(CPU(3))

    def f(x, scale):
        weight = F.constant_external("w", layout(4, 4))
        y = x @ weight * scale + 1
        return y, (x @ captured).to(CPU(2)), scale * 2

    program = compile(f, weights={"w": w})(on((2,), "S0", 4, 4), layout())
    y, alone, doubled = program(distributed(a, (2,), "S0"), tensor(3))
    assert short(y.placements) == "S0"
    assert (alone.device, doubled.device) == (CPU(2), CPU(0))
    np.testing.assert_array_equal(y.to_numpy(), a @ w * 3 + 1)
    np.testing.assert_array_equal(alone.to_numpy(), a @ c)
    assert doubled.item() == 6.0


@pytest.mark.parametrize("place", ["R", "S0", "P"])
def test_a_result_is_gathered_to_one_device(rng, place):
    a = f32(rng, 4)
    x = distributed(a, (4,), place)
    result = compile(lambda x: x.to(CPU()))(x.layout)(x)
    assert result.device == CPU()
    assert not result.is_distributed
    assert values(result) == a.tolist()


def test_a_program_moves_between_single_devices():
    program = compile(lambda x, y: (x + 1, y * 2, x.to(CPU(5))))(
        layout(2), TensorLayout(DType.float32, [2], CPU(1))
    )
    first, second, third = program(tensor([1, 2]), tensor([3, 4]).to(CPU(1)))
    assert [t.device for t in (first, second, third)] == [CPU(0), CPU(1), CPU(5)]
    assert [values(t) for t in (first, second, third)] == [[2, 3], [6, 8], [1, 2]]


def test_a_written_argument_may_be_sharded(rng):
    where = mapping((2,), "S1")

    def f(b, x):
        F.buffer_store(b, b + x)
        return b * 2

    program = compile(f)(
        BufferLayout(DType.float32, [4, 2], where), on((2,), "S1", 4, 2)
    )
    a, b = f32(rng, 4, 2), f32(rng, 4, 2)
    x, y = distributed(a, (2,), "S1"), distributed(b, (2,), "S1")
    for times in (1, 2):
        result = program(x, y)
        np.testing.assert_array_equal(x.to_numpy(), a + times * b)
        np.testing.assert_array_equal(result.to_numpy(), 2 * (a + times * b))
    assert x.mapping == where


def test_weights_are_cut_as_declared(rng):
    w = f32(rng, 4, 8)

    def f(x):
        return x @ F.constant_external("w", on((2, 2), "S0 S1", 4, 8))

    program = compile(f, weights={"w": w})(on((2, 2), "S1 R", 2, 4))
    a = f32(rng, 2, 4)
    y = program(distributed(a, (2, 2), "S1 R"))
    assert short(y.placements) == "P S1"
    assert program.collectives() == []
    np.testing.assert_array_equal(y.to_numpy(), a @ w)


# Raw buffers -------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["R R", "S0 S1", "S1 S1", "P R", "S0 P"])
def test_raw_execution_takes_one_buffer_per_shard(rng, place):
    a = f32(rng, 4, 4)
    x = distributed(a, (2, 2), place)
    program = compile(lambda x, k: x * 2)(x.layout, layout())
    buffers = program.execute_raw(*x.buffers, *tensor(1).buffers)
    assert len(buffers) == 4
    want = program(x, tensor(1)).buffers
    for got, expected in zip(buffers, want, strict=True):
        np.testing.assert_array_equal(got.to_numpy(), expected.to_numpy())
    with pytest.raises(ValueError, match="expected 5, got 4"):
        program.execute_raw(*x.buffers)


def test_raw_execution_joins_a_named_batch(rng):
    a = f32(rng, 6, 2)
    program = compile(lambda x: x + 1)(on((2,), "S0", "n", 2))
    shards = distributed(a, (2,), "S0").buffers
    results = [b.to_numpy() for b in program.execute_raw(*shards)]
    np.testing.assert_array_equal(np.concatenate(results), a + 1)


# Collectives -------------------------------------------------------------------------


def test_collectives_of_a_named_size():
    program = compile(lambda x: x.to(mapping((2,), "R")), name="g")(
        on((2,), "P", "n", 2)
    )
    with pytest.raises(ValueError, match=r"needs the size of 'n', got {}"):
        program.collectives()
    with pytest.raises(ValueError, match=r"needs the size of 'n', got {'k': 3}"):
        program.collectives(k=3)
    (found,) = program.collectives(n=3)
    assert (found.kind, found.mesh_axes, found.bytes) == ("allreduce", ("x",), 24)
    program(distributed(np.ones((5, 2), np.float32), (2,), "P"))
    assert [found.bytes for found in program.collectives()] == [40]
    with pytest.raises(ValueError, match="needs the size of no symbol"):
        compile(lambda x: x)(on((2,), "R", 2)).collectives(n=1)


# Many calls --------------------------------------------------------------------------


def reduced():
    return compile(lambda x: x.to(mapping((8,), "R")) + 1)(on((8,), "P", 64))


def test_hundreds_of_calls_with_collectives_may_be_in_flight():
    """Plain JAX hangs for ever beyond about 30 (CPU collectives)."""
    program = reduced()
    x = distributed(np.ones(64, np.float32), (8,), "P")
    results = [program(x) for _ in range(300)]
    assert all((r.to_numpy() == 2).all() for r in results)


def test_so_may_eager_moves():
    x = distributed(np.ones(64, np.float32), (8,), "P")
    target = mapping((8,), "S0")
    results = [x.to(target) for _ in range(300)]
    assert (results[-1].to_numpy() == 1).all()


def test_threads_may_call_at_once():
    program, other = reduced(), reduced()
    failed = []

    def call(program, value):
        x = distributed(np.full(64, value, np.float32), (8,), "P")
        results = [program(x) for _ in range(100)]
        failed.extend(r for r in results if not (r.to_numpy() == value + 1).all())

    threads = [
        threading.Thread(target=call, args=(p, v))
        for v, p in enumerate((program, other, program))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_a_program_staged_once_runs_on_real_and_lazy_tensors(rng):
    program = CompiledCallable(stage(lambda x: x * 2)(on((2,), "P", 4)))
    a = f32(rng, 4)
    x = distributed(a, (2,), "P")
    assert (
        np.asarray(program(x)._stored()).tolist() == (2 * parts(a, x.mapping)).tolist()
    )
    with F.lazy():
        pending = x + 1
    assert values(program(pending)) == (2 * (a + 1)).tolist()


def test_a_mesh_that_the_user_set_for_jax_does_not_reach_in():
    with jax.set_mesh(jax.make_mesh((8,), ("x",))):
        total = compile(lambda x: F.sum(x * 2, axis=0))(
            layout(8, on=mesh(4), placements=[Sharded(0)])
        )
        x = tensor(np.ones(8))
        assert (x + 7).to_numpy().sum() == 64.0
        assert total(x.to(total.in_layouts[0].mapping)).to_numpy() == [16.0]
        assert "sdy.mesh" in str(stage(lambda x: x)(total.in_layouts[0]))
