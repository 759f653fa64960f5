"""Constructors from data: the dtype that comes out, what is refused, and copies."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maxlite import functional as F
from maxlite.driver import CPU, Buffer
from maxlite.dtype import DType
from maxlite.graph import Dim
from maxlite.sharding import (
    DeviceMapping,
    NamedMapping,
    Partial,
    Sharded,
    ShardingError,
    Unknown,
)
from maxlite.tensor import Tensor, default_device, default_dtype
from tests.sharding.meshes import cpu_mesh

CONSTRUCTORS = [Tensor, Tensor.constant, F.constant]

NUMPY_DTYPES = ["bool", "int8", "int16", "int32", "int64"]
NUMPY_DTYPES += ["uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


class Lent:
    """An array of a library other than numpy: it speaks DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


# Numbers and lists ------------------------------------------------------------------


@pytest.mark.parametrize("make", CONSTRUCTORS)
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (3, 3.0),
        (True, 1.0),
        (2.5, 2.5),
        (np.float64(2.5), 2.5),
        (np.int64(3), 3.0),
        (np.bool_(True), 1.0),
        ([1, 2], [1.0, 2.0]),
        ([True, 2, 3.5], [1.0, 2.0, 3.5]),
        ([np.int64(3), np.uint8(4)], [3.0, 4.0]),
        (((1, 2), [3, 4]), [[1.0, 2.0], [3.0, 4.0]]),
        (range(3), [0.0, 1.0, 2.0]),
        ([], []),
        ([[], []], [[], []]),
    ],
)
def test_numbers_and_lists_become_the_default_dtype(make, data, expected):
    x = make(data)
    assert x.dtype is DType.float32
    assert x.to_numpy().tolist() == expected
    with default_dtype(DType.float64):
        assert make(data).dtype is DType.float64


@pytest.mark.parametrize("make", CONSTRUCTORS)
def test_a_wanted_dtype_holds_whole_numbers_exactly(make):
    x = make([2**40 + 5, -(2**62) - 1], dtype=DType.int64)
    assert x.to_numpy().tolist() == [2**40 + 5, -(2**62) - 1]
    assert make(2**63, dtype=DType.uint64).item() == 2**63
    assert make([True, 0], dtype=DType.bool).to_numpy().tolist() == [True, False]
    assert make([True, False], dtype=DType.int8).to_numpy().tolist() == [1, 0]


@pytest.mark.parametrize("make", [*CONSTRUCTORS, lambda x: F.full([1], x)])
@pytest.mark.parametrize("number", [2**24 + 1, 2**40, -(2**70), 1e300, float("nan")])
def test_a_float_dtype_rounds_any_number(make, number):
    with np.errstate(over="ignore"):
        expected = np.array(float(number)).astype(np.float32)
    np.testing.assert_array_equal(make(number).to_numpy().reshape(()), expected)


def test_a_float_dtype_that_numpy_lacks_rounds_too():
    x = Tensor([1 / 3, 2**40, 1e300], dtype=DType.bfloat16)
    assert x.dtype is DType.bfloat16
    expected = np.array([0.33398438, 2**40, np.inf], np.float32)
    np.testing.assert_array_equal(x.cast(DType.float32).to_numpy(), expected)
    assert Tensor(jnp.dtype("bfloat16").type(1.5)).item() == 1.5


@pytest.mark.parametrize("make", CONSTRUCTORS)
@pytest.mark.parametrize(
    ("data", "dtype", "message"),
    [
        (300, DType.int8, r"DType.int8 must lie in \[-128, 127\], got 300"),
        ([1, -1], DType.uint8, r"must lie in \[0, 255\], got -1"),
        ([2**63], DType.int64, "got 9223372036854775808"),
        ([2**63, -1], DType.uint64, "got -1"),
        ([2**63, -1], DType.int64, "got 9223372036854775808"),
        ([2**70], DType.int64, "got 1180591620717411303424"),
        ([0, 2], DType.bool, r"must lie in \[0, 1\], got 2"),
        (1.0, DType.int32, "DType.int32 must be whole, got 1.0"),
        ([1, 2.5], DType.int32, "must be whole, got 2.5"),
        (float("nan"), DType.int32, "must be whole, got nan"),
        (0.0, DType.bool, "must be whole, got 0.0"),
    ],
)
def test_a_dtype_that_counts_refuses_what_it_cannot_hold(make, data, dtype, message):
    with pytest.raises(ValueError, match=message):
        make(data, dtype=dtype)


def test_signed_beside_unsigned_integers_keep_their_digits():
    x = Tensor([np.uint64(2**60 + 1), -1], dtype=DType.int64)
    assert x.to_numpy().tolist() == [2**60 + 1, -1]


@pytest.mark.parametrize("make", CONSTRUCTORS)
@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("abc", "str"),
        (["a"], "str"),
        (b"abc", "bytes"),
        ([1, None], "NoneType"),
        (1 + 2j, "complex"),
        ({1, 2}, "set"),
        ({1: 2}, "dict"),
        ((i for i in range(3)), "generator"),
        ([Dim("n")], "SymbolicDim"),
    ],
)
def test_what_is_no_number_is_refused_by_name(make, data, name):
    with pytest.raises(TypeError, match=f"must be numbers, got {name}"):
        make(data)


@pytest.mark.parametrize("data", [[[1], [1, 2]], [1, [2]]])
def test_ragged_lists_are_refused(data):
    with pytest.raises(ValueError, match="got a ragged list"):
        Tensor(data)


# numpy ------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [*CONSTRUCTORS, Tensor.from_dlpack])
@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_an_array_keeps_its_dtype_and_rank(make, dtype):
    for data in (np.ones((2, 3), dtype), np.ones((), dtype), np.ones((0, 2), dtype)):
        x = make(data)
        assert x.dtype is DType.from_numpy(data.dtype)
        assert x.shape == list(data.shape)
        np.testing.assert_array_equal(x.to_numpy(), data, strict=True)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_an_array_of_a_dtype_of_jax_keeps_it(dtype):
    data = np.array([1, 0.5], jnp.dtype(dtype))
    x = Tensor(data)
    assert x.dtype.name == dtype
    np.testing.assert_array_equal(x.to_numpy(), data, strict=True)


def read_only(x):
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("make", [*CONSTRUCTORS, Tensor.from_dlpack])
@pytest.mark.parametrize(
    "change",
    [
        lambda x: x[::2, ::3],
        lambda x: x[::-1, ::-1],
        lambda x: x.T,
        lambda x: np.asfortranarray(x),
        lambda x: np.broadcast_to(x[:1], x.shape),
        lambda x: x[1:, 1:],
        lambda x: x.astype(x.dtype.newbyteorder(">")),
        lambda x: x.astype(x.dtype.newbyteorder(">")).T,
        read_only,
    ],
)
@pytest.mark.parametrize("dtype", ["int64", "float64", "int16"])
def test_strides_order_byte_order_and_flags_do_not_matter(make, change, dtype):
    data = change((np.arange(24) + 2**13 + 5).astype(dtype).reshape(4, 6))
    x = make(data)
    assert x.dtype.name == dtype
    np.testing.assert_array_equal(x.to_numpy(), np.asarray(data))


@pytest.mark.parametrize("make", [*CONSTRUCTORS, Tensor.from_dlpack])
@pytest.mark.parametrize("size", [1, 16, 17, 1000, 300_000])
@pytest.mark.parametrize("offset", [0, 1, 16])
def test_an_edit_of_the_array_afterwards_never_shows(make, size, offset):
    room = np.zeros(size + offset + 64, np.float32)
    start = -room.ctypes.data % 64 // 4 + offset
    data = room[start : start + size]  # aligned as JAX likes it to share, and beside
    x = make(data)
    data[:] = 7
    assert not x.to_numpy().any()


def test_an_edit_never_shows_on_a_mesh_either():
    data = np.zeros(1024, np.float32)
    mesh = cpu_mesh(2)
    whole = Tensor(data, device=mesh)
    cut = F.constant(data, device=DeviceMapping(mesh, (Sharded(0),)))
    data[:] = 7
    assert not whole.to_numpy().any()
    assert not cut.to_numpy().any()


def test_what_is_read_out_cannot_be_written_to():
    x = Tensor([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        x.to_numpy()[0] = 5
    sums = F.ones([2], device=DeviceMapping(cpu_mesh(2), (Partial(),)))
    with pytest.raises(ValueError, match="read-only"):
        sums.to_numpy()[0] = 5


@pytest.mark.parametrize("make", [*CONSTRUCTORS, Tensor.from_dlpack])
@pytest.mark.parametrize(
    "data",
    [
        np.ones(2, np.complex64),
        np.array([1, None]),
        np.array(["a"]),
        np.array(["2020"], "M8[Y]"),
        np.zeros(2, [("a", "f4")]),
    ],
)
def test_an_array_of_something_else_is_refused(make, data):
    with pytest.raises(ValueError, match="must have a dtype that maxlite has, got"):
        make(data)


@pytest.mark.parametrize("make", CONSTRUCTORS)
@pytest.mark.parametrize("data", [np.ones(2), Tensor([1.0]), jnp.ones(2)])
def test_an_array_is_never_converted_on_the_way_in(make, data):
    with pytest.raises(ValueError, match=r"keeps its dtype, got .*dtype=DType.int32"):
        make(data, dtype=DType.int32)


# Other arrays -----------------------------------------------------------------------


@pytest.mark.parametrize("make", [*CONSTRUCTORS, Tensor.from_dlpack])
def test_other_arrays_keep_dtype_and_device(make):
    x = make(Lent(np.array([2**40 + 5])))
    assert x.dtype is DType.int64
    assert x.item() == 2**40 + 5
    y = make(jax.device_put(np.ones(3, np.float32), CPU(1).to_jax()))
    assert y.device == CPU(1)
    z = make(Buffer.from_numpy(np.array([2**40 + 5])))
    assert z.item() == 2**40 + 5


@pytest.mark.parametrize("make", CONSTRUCTORS)
def test_other_arrays_are_copied_by_a_constructor(make):
    room = np.zeros(200, np.float32)
    data = room[-room.ctypes.data % 64 // 4 :][:64]
    x = make(Lent(data))
    data[:] = 7
    assert not x.to_numpy().any()


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4)])
def test_other_arrays_in_another_order_are_put_in_ours(shape):
    room = np.zeros(200, np.float32)
    data = room[-room.ctypes.data % 64 // 4 :][: np.prod(shape)]
    data[:] = np.arange(np.prod(shape))
    turned = data.reshape(shape).T
    x = Tensor(Lent(turned))
    np.testing.assert_array_equal(x.to_numpy(), turned)
    np.testing.assert_array_equal((x + 1).to_numpy(), turned + 1)
    with pytest.raises(ValueError, match=r"row-major .*the axes are transposed"):
        Tensor.from_dlpack(Lent(turned))


def test_from_dlpack_gives_tensors_back_as_they_are():
    x = Tensor([1.0])
    assert Tensor.from_dlpack(x) is x
    y = x.to(cpu_mesh(2))
    assert Tensor.from_dlpack(y) is y


@pytest.mark.parametrize("data", [[1.0], 1.0, "a", None])
def test_from_dlpack_refuses_what_does_not_speak_it(data):
    with pytest.raises(TypeError, match="must have __dlpack__"):
        Tensor.from_dlpack(data)


def test_a_tensor_makes_another_one_of_the_same_value():
    x = Tensor([1.0, 2.0])
    y = Tensor(x)
    assert y is not x
    assert y.to_numpy().tolist() == [1.0, 2.0]
    assert Tensor(x, device=CPU(1)).device == CPU(1)
    assert F.constant(Tensor([2**40], dtype=DType.int64)).item() == 2**40


def test_storage_is_wrapped():
    x = Tensor(storage=Buffer.from_numpy(np.array([2**40 + 5])))
    assert x.real
    assert x.item() == 2**40 + 5


def test_a_recorded_value_is_wrapped_and_computed_with_the_others():
    with F.lazy():
        x = Tensor([1.0, 2.0]) + 1
    y = Tensor(state=x.state)
    assert not y.real
    assert x.to_numpy().tolist() == y.to_numpy().tolist() == [2.0, 3.0]


def test_exactly_one_thing_is_wrapped():
    x = Tensor([1.0])
    with pytest.raises(TypeError, match="must be given, got 0"):
        Tensor()
    with pytest.raises(TypeError, match="must be given, got 2"):
        Tensor([1.0], storage=x.storage)
    with pytest.raises(TypeError, match="dtype and device go with data"):
        Tensor(storage=x.storage, dtype=DType.int32)


# Where it lies ----------------------------------------------------------------------


@pytest.mark.parametrize("make", CONSTRUCTORS)
def test_data_go_where_they_are_asked_for(make):
    mesh = cpu_mesh(2)
    assert make([1.0]).device == CPU()
    assert make([1.0], device=CPU(1)).device == CPU(1)
    assert make([1.0], device=mesh).mapping == DeviceMapping.replicated(mesh)
    with default_device(mesh):
        assert make([1.0]).mapping == DeviceMapping.replicated(mesh)
        assert make([1.0], device=CPU(1)).device == CPU(1)
    cut = make([1.0, 2.0], device=NamedMapping(mesh, ("x",)))
    assert cut.mapping == DeviceMapping(mesh, (Sharded(0),))
    assert [s.to_numpy().tolist() for s in cut.local_shards] == [[1.0], [2.0]]


@pytest.mark.parametrize(
    "make",
    [
        *(lambda m, c=c: c(np.array([2**40, 5]), device=m) for c in CONSTRUCTORS),
        lambda m: F.arange(2**40, 2**40 + 2, dtype=DType.int64, device=m),
        lambda m: F.full([2], 2**40, dtype=DType.int64, device=m),
    ],
)
def test_a_pending_sum_has_the_value_on_the_first_shard_only(make):
    sums = make(DeviceMapping(cpu_mesh(2, 2), (Sharded(0), Partial())))
    assert sums.dtype is DType.int64
    first, second, third, fourth = (s.item() for s in sums.local_shards)
    assert sums.to_numpy().tolist() == [first, third]
    assert first == 2**40
    assert (second, fourth) == (0, 0)


@pytest.mark.parametrize(
    "make",
    [
        lambda m: Tensor([1.0, 2.0, 3.0], device=m),
        lambda m: F.constant([1.0, 2.0, 3.0], device=m),
        lambda m: F.full([3], 1.0, device=m),
        lambda m: F.arange(0, 3, device=m),
    ],
)
def test_a_place_that_does_not_fit_is_refused(make):
    mesh = cpu_mesh(2)
    with pytest.raises(ValueError, match=r"sharded axis must be .* rank 1"):
        make(DeviceMapping(mesh, (Sharded(1),)))
    with pytest.raises(ShardingError, match="nothing can be made as Unknown"):
        make(DeviceMapping(mesh, (Unknown(),)))


@pytest.mark.parametrize("place", ["cpu", 3, [CPU()]])
def test_a_place_of_another_kind_is_refused(place):
    with pytest.raises(TypeError, match="device: must be a Device"):
        Tensor([1.0], device=place)
