"""The box itself: what it knows, its values, its copies, and Python's protocols."""

import asyncio
import copy
import pickle
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maxlite import functional as F
from maxlite.driver import CPU, Buffer
from maxlite.dtype import DType
from maxlite.graph import TensorType
from maxlite.sharding import (
    DeviceMapping,
    DeviceMesh,
    Partial,
    Replicated,
    Sharded,
    ShardingError,
    TensorLayout,
    Unknown,
)
from maxlite.tensor import Tensor
from maxlite.tensor._tensor import run_now
from tests.sharding.meshes import cpu_mesh

MESH = cpu_mesh(2)
EXACT = [
    np.array([2**40 + 5, -(2**62) - 1]),
    np.array([2**63 + 1, 1], np.uint64),
    np.array([1 / 3, 1e300]),
    np.array([True, False]),
    np.array([1.5, -0.0], jnp.bfloat16),
    np.array([], np.int64),
]
"""Values that 32 bits cannot hold, and dtypes of every kind."""


def on_mesh(data, *placements):
    return Tensor(data, device=DeviceMapping(MESH, placements))


def pending(data):
    with F.lazy():
        return Tensor(data) + 0


# What is known ----------------------------------------------------------------------


def test_what_it_knows_on_one_device():
    x = Tensor(np.zeros((2, 3), np.int16))
    assert (x.dtype, x.rank, x.num_elements()) == (DType.int16, 2, 6)
    assert x.shape == [2, 3]
    assert (x.device, x.mesh) == (CPU(), DeviceMesh.single(CPU()))
    assert x.placements == (Replicated(),)
    assert x.mapping == DeviceMapping(DeviceMesh.single(CPU()), (Replicated(),))
    assert (x.is_distributed, x.num_shards) == (False, 1)
    assert x.layout == TensorLayout(DType.int16, [2, 3], x.mapping)
    assert isinstance(x.type, TensorType)
    assert (x.type.dtype, x.type.shape) == (DType.int16, [2, 3])
    assert x.real
    assert x.state is None


def test_what_it_knows_on_a_mesh():
    x = on_mesh(np.zeros((2, 3), np.int16), Sharded(0))
    assert (x.shape, x.rank, x.num_elements()) == ([2, 3], 2, 6)
    assert (x.is_distributed, x.num_shards) == (True, 2)
    assert x.placements == (Sharded(0),)
    assert x.layout == TensorLayout(DType.int16, [2, 3], x.mapping)
    assert len(x.buffers) == len(x.local_shards) == 2


def test_a_shape_that_is_changed_does_not_change_the_tensor():
    x = Tensor([1.0])
    x.shape.append(2)
    assert x.shape == [1]


@pytest.mark.parametrize(
    "name", ["device", "storage", "driver_tensor", "state", "dlpack", "bool", "item"]
)
def test_what_needs_one_device_is_refused_on_a_mesh(name):
    read = {
        "dlpack": lambda x: x.__dlpack__(),
        "bool": bool,
        "item": lambda x: x.item(),
    }.get(name, lambda x: getattr(x, name))
    with pytest.raises(ValueError, match="must lie on one device"):
        read(on_mesh([1.0, 2.0], Sharded(0)))


def test_a_tensor_on_a_mesh_has_no_single_type():
    with pytest.raises(TypeError, match=r"has no single type.*Use layout"):
        _ = on_mesh([1.0], Replicated()).type


def test_item_works_on_a_mesh_where_every_device_has_the_value():
    assert on_mesh([3.0], Replicated()).item() == 3.0
    with pytest.raises(ValueError, match="item: the tensor must lie on one device"):
        on_mesh([3.0], Partial()).item()


@pytest.mark.parametrize("name", ["dtype", "shape", "device", "real", "T", "other"])
def test_nothing_can_be_assigned(name):
    with pytest.raises(AttributeError, match=name):
        setattr(Tensor([1.0]), name, None)


# Values -----------------------------------------------------------------------------


@pytest.mark.parametrize("data", [True, 3, -2.5])
def test_item_gives_a_number_of_python(data):
    for array in (np.array(data), np.array([[data]])):
        item = Tensor(array).item()
        assert item == data
        assert type(item) is type(data)


def test_item_is_exact_and_plain_for_every_dtype():
    assert Tensor(2**62 + 1, dtype=DType.int64).item() == 2**62 + 1
    assert Tensor(2**63 + 1, dtype=DType.uint64).item() == 2**63 + 1
    half = Tensor(1.5, dtype=DType.bfloat16).item()
    assert (half, type(half)) == (1.5, float)


@pytest.mark.parametrize("data", [[], [1.0, 2.0], [[1.0], [2.0]]])
@pytest.mark.parametrize("read", [lambda x: x.item(), bool])
def test_anything_but_one_element_has_no_item(data, read):
    with pytest.raises(TypeError, match="must have one element, got shape"):
        read(Tensor(data))


def test_bool_reads_the_one_element():
    assert bool(Tensor([[2.0]]))
    assert not bool(Tensor(0.0))


@pytest.mark.parametrize("data", EXACT)
def test_values_are_exact(data):
    x = Tensor(data)
    for read in (x.to_numpy(), np.asarray(x), np.asarray(x.driver_tensor.to_jax())):
        assert read.dtype == data.dtype
        np.testing.assert_array_equal(read, data)
    if data.dtype.kind != "V":
        np.testing.assert_array_equal(np.from_dlpack(x), data, strict=True)


@pytest.mark.parametrize("data", EXACT)
@pytest.mark.parametrize("placement", [Replicated(), Sharded(0), Partial()])
def test_values_are_exact_on_a_mesh(data, placement):
    x = on_mesh(data, placement)
    assert x.to_numpy().dtype == data.dtype
    np.testing.assert_array_equal(x.to_numpy(), data)


def test_an_array_of_rank_0_is_an_array():
    assert isinstance(Tensor(1.0).to_numpy(), np.ndarray)


def test_numpy_leaves_an_operator_to_the_tensor():
    for x in (np.ones(2) + Tensor([1.0, 2.0]), np.float64(1) + Tensor([1.0, 2.0])):
        assert isinstance(x, Tensor)
        assert x.to_numpy().tolist() == [2.0, 3.0]


def test_np_array_copies():
    x = Tensor([1.0, 2.0])
    array = np.array(x)
    array[0] = 5
    assert x.to_numpy().tolist() == [1.0, 2.0]
    assert np.asarray(x, np.float64).dtype == np.float64


def test_dlpack_lends_the_memory():
    x = Tensor(np.arange(4))
    assert np.from_dlpack(x).ctypes.data == x.to_numpy().ctypes.data
    assert x.__dlpack_device__() == (1, 0)


def test_going_through_a_tensor_goes_along_its_first_axis():
    rows = list(Tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert [row.to_numpy().tolist() for row in rows] == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(TypeError, match="rank 0 has no axis"):
        iter(Tensor(1.0))


def test_the_storage_is_a_buffer_of_the_value():
    x = Tensor(np.array([2**40, 5]))
    assert isinstance(x.storage, Buffer)
    assert x.driver_tensor.to_numpy().tolist() == [2**40, 5]
    assert [b.to_numpy().tolist() for b in x.buffers] == [[2**40, 5]]


def test_a_write_to_the_storage_does_not_reach_the_tensor():
    x = Tensor([1.0, 2.0])
    x.driver_tensor[0] = 7.0
    assert x.to_numpy().tolist() == [1.0, 2.0]


def test_unknown_shards_have_no_value():
    x = on_mesh([1.0], Replicated()).rebind_mapping(DeviceMapping(MESH, (Unknown(),)))
    with pytest.raises(ShardingError, match=r"Unknown .*not defined"):
        x.to_numpy()
    assert [s.to_numpy().tolist() for s in x.local_shards] == [[1.0], [1.0]]


def test_values_of_a_real_tensor_may_be_read_in_any_block():
    sums = on_mesh([1.0, 2.0], Partial())
    one = Tensor([5.0])
    with F.lazy():
        assert sums.to_numpy().tolist() == [1.0, 2.0]
        assert one.item() == 5.0
        assert bool(one)
    with F.ensure_context():
        assert sums.to_numpy().tolist() == [1.0, 2.0]


def test_buffers_of_a_pending_tensor_are_refused_and_do_not_compute_it():
    x = pending([1.0])
    for name in ("buffers", "driver_tensor"):
        with pytest.raises(TypeError, match="must be realized"):
            getattr(x, name)
    assert x.storage is None
    assert not x.real


def test_a_context_that_waits_says_to_use_await():
    async def wait():
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="Use await tensor"):
        run_now(wait())


# Copies -----------------------------------------------------------------------------


def through_pickle(x):
    return pickle.loads(pickle.dumps(x))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, through_pickle])
@pytest.mark.parametrize("data", EXACT)
def test_a_copy_is_exact(duplicate, data):
    x = Tensor(data, device=CPU(1))
    y = duplicate(x)
    assert y is not x
    assert (y.dtype, y.device) == (x.dtype, CPU(1))
    assert y.to_numpy().dtype == data.dtype
    np.testing.assert_array_equal(y.to_numpy(), data)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, through_pickle])
@pytest.mark.parametrize("placement", [Replicated(), Sharded(0), Partial()])
def test_a_copy_lies_where_the_original_does(duplicate, placement):
    data = np.array([2**40 + 5, -(2**62) - 1])
    x = on_mesh(data, placement)
    y = duplicate(x)
    assert y.mapping == x.mapping
    np.testing.assert_array_equal(y.to_numpy(), data, strict=True)
    for a, b in zip(x.local_shards, y.local_shards, strict=True):
        np.testing.assert_array_equal(a.to_numpy(), b.to_numpy(), strict=True)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, Tensor])
def test_a_copy_of_a_pending_tensor_is_pending_too(duplicate):
    with F.lazy():
        x = Tensor([1.0, 2.0]) + 1
        y = duplicate(x)
        z = y * 2
    assert (x.real, y.real) == (False, False)
    assert z.to_numpy().tolist() == [4.0, 6.0]
    assert (x.real, y.real) == (True, True)
    assert y.to_numpy().tolist() == [2.0, 3.0]


def test_pickling_a_pending_tensor_computes_it():
    x = pending(np.array([2**40]))
    assert through_pickle(x).item() == 2**40
    assert x.real


def test_a_tensor_that_occurs_twice_is_one_after_pickling_and_deepcopy():
    x = Tensor([1.0])
    for duplicate in (copy.deepcopy, through_pickle):
        a, b = duplicate([x, x])
        assert a is b


# The process ------------------------------------------------------------------------


def test_importing_and_using_maxlite_leaves_jax_at_32_bits():
    code = """
import jax, jax.numpy as jnp, numpy as np
import maxlite.functional as F
from maxlite.tensor import Tensor
assert jnp.ones(2).dtype == "float32"
x = Tensor(np.array([2**40 + 5])) + 1
assert x.item() == 2**40 + 6
with F.lazy():
    y = x + 1
assert y.item() == 2**40 + 7
assert jnp.ones(2).dtype == "float32" and jnp.arange(2).dtype == "int32"
assert not jax.config.jax_enable_x64
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_jax_arrays_come_and_go_without_a_copy():
    array = jnp.arange(4, dtype=jnp.float32)
    x = Tensor(array)
    assert x.driver_tensor.to_jax() is array
    assert isinstance(x.driver_tensor.to_jax(), jax.Array)
