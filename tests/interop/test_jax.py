"""JAX arrays in and out: on one device and over a mesh, shared and never changed."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.layout import Format, Layout
from jax.sharding import (
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    SingleDeviceSharding,
)

from maxlite import functional as F
from maxlite import interop
from maxlite.compilation import compile
from maxlite.driver import CPU, Buffer
from maxlite.dtype import DType
from maxlite.sharding import (
    DeviceMapping,
    Partial,
    Replicated,
    Sharded,
    ShardingError,
    TensorLayout,
    Unknown,
)
from maxlite.tensor import Tensor
from tests.sharding.meshes import cpu_mesh

P = PartitionSpec
R, S0, S1 = Replicated(), Sharded(0), Sharded(1)

DATA = np.arange(32, dtype=np.float32).reshape(8, 4)


def jax_mesh(kind=AxisType.Auto, names=("a", "b"), shape=(2, 4)):
    devices = np.array([CPU(i).to_jax() for i in range(8)]).reshape(shape)
    return Mesh(devices, names, axis_types=(kind,) * len(shape))


def spread(data, spec, **options):
    return jax.device_put(data, NamedSharding(jax_mesh(**options), spec))


def addresses(array):
    return sorted(s.data.unsafe_buffer_pointer() for s in array.addressable_shards)


IN = [Tensor.from_jax, interop.from_jax, Tensor, Tensor.from_dlpack]


# On one device ----------------------------------------------------------------------


@pytest.mark.parametrize("make", IN)
@pytest.mark.parametrize("shape", [(), (3,), (0, 3), (2, 3)])
def test_an_array_is_shared(make, shape):
    array = jnp.ones(shape)
    x = make(array)
    assert (x.dtype, x.shape, x.device) == (DType.float32, list(shape), CPU())
    assert x.to_jax() is array
    assert interop.to_jax(x) is array


@pytest.mark.parametrize(
    "dtype", sorted(d.name for d in DType if "float6" not in d.name)
)
def test_every_dtype_goes_there_and_back(dtype):
    with jax.enable_x64(True):
        array = jnp.ones((2, 3), dtype)
    x = Tensor.from_jax(array)
    assert x.dtype is DType(dtype)
    assert x.to_jax().dtype == array.dtype


def test_64_bits_stay_whole_outside_of_the_scope():
    x = Tensor(np.array([2**40 + 5]))
    array = x.to_jax()
    assert array.dtype == np.int64
    assert Tensor.from_jax(array).item() == 2**40 + 5


def test_weak_and_uncommitted_arrays_compute_like_any():
    weak = jnp.asarray(2.0)
    assert weak.weak_type
    assert not weak.committed
    x = Tensor.from_jax(weak)
    assert x.dtype is DType.float32
    assert (x + Tensor([1.0, 2.0])).to_numpy().tolist() == [3.0, 4.0]
    assert (Tensor.from_jax(jnp.arange(2)) * 3).to_numpy().tolist() == [0, 3]


def test_an_array_keeps_its_device():
    x = Tensor.from_jax(jax.device_put(DATA, CPU(3).to_jax()))
    assert x.device == CPU(3)
    assert x.to_jax().devices() == {CPU(3).to_jax()}


def test_a_mesh_of_one_device_is_that_device():
    mesh = Mesh(np.array([CPU(1).to_jax()]), ("a",))
    array = jax.device_put(DATA, NamedSharding(mesh, P("a")))
    x = Tensor.from_jax(array)
    assert (x.device, x.is_distributed) == (CPU(1), False)
    assert addresses(x.to_jax()) == addresses(array)
    np.testing.assert_array_equal((x + 1).to_numpy(), DATA + 1)


@pytest.mark.parametrize("make", [*IN, lambda a: Tensor(storage=Buffer.from_jax(a))])
def test_an_array_in_an_order_of_its_own_is_put_in_ours(make):
    plain = jnp.asarray(DATA)
    array = jax.device_put(plain, Format(Layout((1, 0)), plain.sharding))
    x = make(array)
    np.testing.assert_array_equal(x.to_numpy(), DATA)
    np.testing.assert_array_equal((x + 1).to_numpy(), DATA + 1)


# Over a mesh ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
@pytest.mark.parametrize(
    ("spec", "placements"),
    [
        (P(), (R, R)),
        (P("a"), (S0, R)),
        (P(None, "b"), (R, S1)),
        (P("a", "b"), (S0, S1)),
        (P("b", "a"), (S1, S0)),
        (P(("a", "b")), (S0, S0)),
        (P(("a",), None), (S0, R)),
    ],
)
def test_a_sharding_by_name_is_a_mapping(kind, spec, placements):
    array = spread(DATA, spec, kind=kind)
    x = Tensor.from_jax(array)
    assert x.placements == placements
    assert (x.mesh.axis_names, x.mesh.mesh_shape) == (("a", "b"), (2, 4))
    assert x.mesh.devices == tuple(CPU(i) for i in range(8))
    assert addresses(x.to_jax()) == addresses(array)
    np.testing.assert_array_equal(x.to_numpy(), DATA)
    np.testing.assert_array_equal((x * 2).to_numpy(), DATA * 2)
    assert (x * 2).placements == placements


def test_devices_in_another_order_keep_it():
    devices = np.array([CPU(i).to_jax() for i in (5, 2, 7, 0)])
    mesh = Mesh(devices, ("x",))
    x = Tensor.from_jax(jax.device_put(DATA, NamedSharding(mesh, P("x"))))
    assert x.mesh.devices == (CPU(5), CPU(2), CPU(7), CPU(0))
    assert x.local_shards[0].to_numpy().tolist() == DATA[:2].tolist()
    np.testing.assert_array_equal(x.to(CPU()).to_numpy(), DATA)


def test_a_constructor_takes_it_too_and_moves_it():
    array = spread(DATA, P("a"))
    assert Tensor(array).placements == (S0, R)
    assert Tensor.from_dlpack(array).placements == (S0, R)
    assert Tensor(array, device=CPU(1)).device == CPU(1)
    moved = Tensor(array, device=cpu_mesh(2, 4, names=("a", "b")))
    np.testing.assert_array_equal(moved.to_numpy(), DATA)


def test_it_serves_as_a_weight():
    def apply(x):
        layout = TensorLayout(DType.float32, [8, 4], CPU())
        return x @ F.constant_external("w", layout)

    array = spread(DATA, P("a"))
    program = compile(apply, weights={"w": array})(
        TensorLayout(DType.float32, [2, 8], CPU())
    )
    ones = np.ones((2, 8), np.float32)
    np.testing.assert_array_equal(program(Tensor(ones)).to_numpy(), ones @ DATA)


def test_mesh_axes_out_of_order_are_refused():
    with pytest.raises(ValueError, match=r"order of the mesh, \('a', 'b'\), got"):
        Tensor.from_jax(spread(DATA, P(("b", "a"))))


def test_a_pending_sum_of_jax_is_refused():
    mesh = jax_mesh(AxisType.Explicit)
    with jax.set_mesh(mesh):
        lhs = jax.device_put(DATA.T, NamedSharding(mesh, P(None, "a")))
        rhs = jax.device_put(DATA, NamedSharding(mesh, P("a", None)))
        out = NamedSharding(mesh, P(None, None, unreduced={"a"}))
        sums = jax.jit(lambda x, y: jnp.dot(x, y, out_sharding=out))(lhs, rhs)
    with pytest.raises(ValueError, match="NamedSharding without pending sums, got"):
        Tensor.from_jax(sums)


# Out --------------------------------------------------------------------------------


@pytest.mark.parametrize("placements", [(R, R), (S0, R), (S1, S0), (S0, S0)])
def test_a_distributed_tensor_comes_out_over_its_mesh(placements):
    x = Tensor(DATA, device=DeviceMapping(cpu_mesh(2, 4), placements))
    array = x.to_jax()
    assert array.sharding == x.mapping.named_sharding(2)
    np.testing.assert_array_equal(np.asarray(array), DATA)
    again = Tensor.from_jax(array)
    assert again.placements == placements
    assert addresses(again.to_jax()) == addresses(array)


def test_a_pending_sum_comes_out_added_up_and_still_cut():
    mesh = cpu_mesh(2, 2)
    x = Tensor(DATA, device=DeviceMapping(mesh, (S0, R)))
    sums = x.rebind_mapping(DeviceMapping(mesh, (S0, Partial())))
    array = sums.to_jax()
    assert array.sharding == DeviceMapping(mesh, (S0, R)).named_sharding(2)
    np.testing.assert_array_equal(np.asarray(array), 2 * DATA)
    assert sums.placements == (S0, Partial())


def test_unknown_shards_do_not_come_out():
    mesh = cpu_mesh(2)
    x = Tensor(DATA).to(mesh).rebind_mapping(DeviceMapping(mesh, (Unknown(),)))
    with pytest.raises(ShardingError, match="to_jax: the global value of Unknown"):
        x.to_jax()


def test_what_is_pending_is_computed_and_what_is_traced_is_refused():
    with F.lazy():
        x = Tensor([1.0, 2.0]) + 1
    assert x.to_jax().tolist() == [2.0, 3.0]

    def body(x):
        x.to_jax()
        return x

    with pytest.raises(TypeError):
        compile(body)(TensorLayout(DType.float32, [2], CPU()))


@pytest.mark.parametrize("data", [[1.0], np.ones(2), 1.0])
def test_only_tensors_come_out(data):
    with pytest.raises(TypeError, match="to_jax: x must be a Tensor, got"):
        interop.to_jax(data)


# Nobody's values change -------------------------------------------------------------


@pytest.mark.parametrize("spec", [None, P("a", "b"), P()])
@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_a_write_to_the_tensor_does_not_reach_the_array(spec, kind):
    array = jnp.asarray(DATA) if spec is None else spread(DATA, spec, kind=kind)
    x = Tensor.from_jax(array)
    x[...] = F.zeros_like(x)
    np.testing.assert_array_equal(np.asarray(array), DATA)
    assert not x.to_numpy().any()


def test_what_came_out_keeps_its_value():
    x = Tensor(DATA)
    array = x.to_jax()
    alias = jax.device_put(array, CPU().to_jax())
    del array
    x[...] = F.zeros_like(x)
    np.testing.assert_array_equal(np.asarray(alias), DATA)


def test_an_array_that_is_given_away_later_is_not_the_tensors():
    array = jnp.asarray(DATA)
    x = Tensor.from_jax(array)
    jax.jit(lambda a: a + 1, donate_argnums=0)(array)
    if not array.is_deleted():
        np.testing.assert_array_equal(x.to_numpy(), DATA)


# Refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("data", [[1.0], np.ones(2), 1.0, None, Tensor([1.0])])
def test_only_jax_arrays_come_in(data):
    with pytest.raises(TypeError, match=r"must be a jax.Array, got .*Use Tensor\(data"):
        Tensor.from_jax(data)


@pytest.mark.parametrize("make", IN)
def test_prng_keys_are_refused(make):
    with pytest.raises(TypeError, match=r"PRNG keys .*Use jax\.random\.key_data"):
        make(jax.random.key(0))
    assert make(jax.random.key_data(jax.random.key(0))).dtype is DType.uint32


@pytest.mark.parametrize("dtype", ["complex64", "int4", "uint2"])
def test_dtypes_that_maxlite_lacks_are_refused(dtype):
    with pytest.raises(ValueError, match=f"a dtype that maxlite has, got {dtype}"):
        Tensor.from_jax(jnp.ones(2, dtype))


def test_a_deleted_array_is_refused():
    array = jnp.ones(2)
    array.delete()
    with pytest.raises(ValueError, match="deleted or donated"):
        Tensor.from_jax(array)


def test_an_array_in_other_memory_is_refused():
    away = SingleDeviceSharding(CPU().to_jax(), memory_kind="pinned_host")
    with pytest.raises(ValueError, match=r"memory of its device, got 'pinned_host'"):
        Tensor.from_jax(jax.device_put(DATA, away))


@pytest.mark.parametrize("make", IN)
@pytest.mark.parametrize("transform", [jax.jit, jax.grad, jax.vmap])
def test_a_traced_array_is_refused(make, transform):
    def body(x):
        return make(x).to_jax()

    with pytest.raises(TypeError, match="must have values, got one that a JAX transf"):
        transform(body)(jnp.ones(()) if transform is jax.grad else jnp.ones(2))


def test_interop_imports_no_other_library():
    code = """
import sys
import maxlite
assert "maxlite.interop" not in sys.modules
import maxlite.interop
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
