"""In and out: what numpy, Python and JAX make of a tensor, and what is refused."""

import copy
import pickle

import jax.numpy as jnp
import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import DeviceMapping, Partial, Replicated, Sharded, TensorLayout
from maxlite.tensor import Tensor
from tests.sharding.meshes import cpu_mesh

MESH = cpu_mesh(2)

X = np.array([1.0, 2.0, 4.0], np.float32)
Y = np.array([3.0, -2.0, 0.5], np.float32)
N = np.array([5, -6, 12], np.int32)


def pending(data):
    with F.lazy():
        return Tensor(data) + 0


# numpy in ---------------------------------------------------------------------------


class Plain(np.ndarray):
    """A subclass that adds nothing."""


class Readable:
    """What numpy can read as an array, and that is none."""

    def __array__(self, dtype=None, copy=None):
        return np.array([2**40, 5], dtype)


@pytest.mark.parametrize("make", [Tensor, F.constant])
def test_whatever_numpy_reads_keeps_its_dtype(make):
    for data in (Readable(), np.array([2**40, 5]).view(Plain)):
        x = make(data)
        assert x.dtype is DType.int64
        assert x.to_numpy().tolist() == [2**40, 5]
        assert type(x.to_numpy()) is np.ndarray


def test_a_memory_map_is_copied(tmp_path):
    data = np.memmap(tmp_path / "data", np.int32, "w+", shape=(4,))
    x = Tensor(data)
    data[:] = 7
    assert not x.to_numpy().any()


MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])


@pytest.mark.parametrize(
    "use", [Tensor, F.constant, Tensor.from_dlpack, lambda m: Tensor(X) + m]
)
def test_a_mask_is_not_lost(use):
    with pytest.raises(TypeError, match=r"masked array\. Use array\.filled"):
        use(MASKED)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize(
    "use",
    [
        Tensor,
        F.constant,
        Tensor.from_dlpack,
        lambda m: Tensor(X) * m,
        lambda m: m * Tensor(X),
        lambda m: m + Tensor(X),
    ],
)
def test_a_matrix_is_refused_since_its_operators_mean_something_else(use):
    with pytest.raises(TypeError, match=r"matrix product\. Use np\.asarray"):
        use(np.matrix([[1.0, 2.0, 3.0]]))


@pytest.mark.parametrize(
    "other",
    [
        np.array([1, None, 2]),
        np.array(["a", "b", "c"]),
        np.array([1j, 2, 3]),
        np.array([1, 2, 3], "m8[ns]"),
        np.array(5, "m8[ns]"),
        np.zeros(3, [("a", "f4")]),
        np.zeros(3, np.longdouble),
    ],
)
def test_an_operand_of_another_dtype_is_refused_on_either_side(other):
    x = Tensor(X)
    for add in (lambda: x + other, lambda: other + x):
        with pytest.raises(ValueError, match="add: an array must have a dtype that"):
            add()


@pytest.mark.parametrize("number", [np.datetime64(5, "ns"), np.timedelta64(5, "ns")])
def test_a_date_is_no_number(number):
    for use in (Tensor, lambda n: Tensor([n, n]), lambda n: Tensor(X) + n):
        with pytest.raises(TypeError, match=r"must be numbers, got .*64\[ns\]"):
            use(number)


# numpy out --------------------------------------------------------------------------


def test_asarray_is_a_view_unless_more_is_asked_for():
    x = Tensor(X)
    memory = x.to_numpy().ctypes.data
    for view in (np.asarray(x), np.asarray(x, copy=False), np.array(x, copy=None)):
        assert view.ctypes.data == memory
        assert not view.flags.writeable
    for own in (np.array(x), np.asarray(x, copy=True), np.asarray(x, np.float64)):
        assert own.ctypes.data != memory
        assert own.flags.writeable
        own[0] = 9
    assert x.to_numpy().tolist() == X.tolist()


def test_asarray_converts_as_numpy_does():
    assert np.asarray(Tensor(X), np.int8).tolist() == [1, 2, 4]
    assert np.asarray(Tensor(X), ">f4").tolist() == X.tolist()
    half = np.asarray(Tensor(X).cast(DType.bfloat16))
    assert half.dtype == jnp.bfloat16


@pytest.mark.parametrize("placement", [Replicated(), Sharded(0), Partial()])
def test_without_a_copy_only_one_cpu_will_do(placement):
    x = Tensor([1.0, 2.0], device=DeviceMapping(MESH, (placement,)))
    assert np.asarray(x).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"must lie on one CPU.*Leave copy out"):
        np.asarray(x, copy=False)


def test_asarray_computes_what_is_pending_but_not_what_is_traced():
    assert np.asarray(pending(X)).tolist() == X.tolist()
    with pytest.raises(TypeError):
        compile(np.asarray)(TensorLayout(DType.float32, [2], CPU()))


def test_dlpack_hands_out_read_only_memory():
    x = Tensor(X)
    assert not np.from_dlpack(x).flags.writeable
    assert np.from_dlpack(x).ctypes.data == x.to_numpy().ctypes.data
    assert np.from_dlpack(x, copy=True).ctypes.data != x.to_numpy().ctypes.data


def test_dlpack_of_a_distributed_tensor_is_refused():
    x = Tensor(X).to(MESH)
    for read in (x.__dlpack__, x.__dlpack_device__):
        with pytest.raises(ValueError, match="must lie on one device"):
            read()


# Python's protocols -----------------------------------------------------------------


@pytest.mark.parametrize("data", [X, X.reshape(3, 1), np.float32(2)])
def test_membership_looks_at_the_elements(data):
    x = Tensor(np.asarray(data))
    assert 2 in x
    assert 2.0 in x
    assert np.float64(2) in x
    assert Tensor(2.0) in x
    assert 3 not in x
    assert None not in x
    assert "2" not in x
    assert 2**70 not in x


def test_membership_of_rows_and_exact_integers():
    big = Tensor(np.array([2**62 + 1, 3]))
    assert 2**62 + 1 in big
    assert 2**62 not in big
    assert 0 not in Tensor(np.zeros((0, 3)))
    assert 2 in pending(X)
    assert 4 in Tensor(X).to(MESH)


def test_going_backwards_goes_along_the_first_axis():
    rows = list(reversed(Tensor([[1.0, 2.0], [3.0, 4.0]])))
    assert [row.to_numpy().tolist() for row in rows] == [[3.0, 4.0], [1.0, 2.0]]


def test_rows_are_copies():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    for row in x:
        row[...] = Tensor([0.0, 0.0])
    assert x.to_numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_tensor_is_a_key_by_identity():
    x, y = Tensor(X), Tensor(X)
    found = {x: 1, y: 2}
    assert (found[x], found[y], len({x, y, x})) == (1, 2, 2)
    x[0:1] = Tensor([9.0])
    assert found[x] == 1


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_of_pickle_keeps_the_tensor(protocol):
    x = Tensor(X).cast(DType.bfloat16)
    y = pickle.loads(pickle.dumps(x, protocol))
    assert y.dtype is DType.bfloat16
    assert y.to_numpy().tolist() == X.tolist()


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))],
)
def test_copies_are_independent(duplicate):
    x = Tensor(X)
    y = duplicate(x)
    y[0:1] = Tensor([9.0])
    x[1:2] = Tensor([8.0])
    assert x.to_numpy().tolist() == [1.0, 8.0, 4.0]
    assert y.to_numpy().tolist() == [9.0, 2.0, 4.0]


def test_jax_functions_read_a_tensor_or_say_so():
    assert jnp.asarray(Tensor(X)).tolist() == X.tolist()
    with pytest.raises(TypeError, match=r"add requires ndarray .*Tensor"):
        jnp.add(Tensor(X), 1)
    for add in (lambda x, y: x + y, lambda x, y: y + x):
        with pytest.raises(TypeError, match=r"add: an operand must .*Use Tensor"):
            add(Tensor(X), jnp.asarray(X))
