"""eye, tri and linspace, against numpy."""

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile
from maxlite.driver import CPU
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
from maxlite.tensor import Tensor, default_dtype
from tests.functional._cross import NUMBERS, check
from tests.sharding.meshes import cpu_mesh

BOOL = np.dtype(bool)
MATRICES = [(F.eye, np.eye), (F.tri, np.tri)]


def same(made, want):
    """Compares what a function of nothing makes with numpy's answer."""
    check(made, want=want, named=False)


@pytest.mark.parametrize("dtype", [BOOL, *NUMBERS], ids=str)
def test_each_dtype_can_be_asked_for(dtype):
    chosen = DType.from_numpy(dtype)
    options = {"dtype": chosen}
    same(
        lambda: (F.eye(2, **options), F.tri(2, **options)),
        (np.eye(2, dtype=dtype), np.tri(2, dtype=dtype)),
    )


@pytest.mark.parametrize("args", [(3,), (2, 4), (4, 2), (0,), (0, 3), (3, 0), (1,)])
@pytest.mark.parametrize("k", [0, 1, -2, 7, -7])
def test_ones_are_where_numpy_puts_them(args, k):
    for made, numpys in MATRICES:
        want = numpys(*args, k=k, dtype=np.float32)
        np.testing.assert_array_equal(made(*args, k=k).to_numpy(), want)


def test_sizes_may_be_named():
    def both(x):
        n = x.shape[0]
        return F.eye(n, n + 1, 1), F.tri(n), F.linspace(0, 1, n)

    program = compile(both)(TensorLayout(DType.float32, ["n"], CPU()))
    assert [len(layout.shape) for layout in program.out_layouts] == [2, 2, 1]
    for n in (1, 2, 5):
        ones, below, steps = program(Tensor(np.zeros(n, np.float32)))
        np.testing.assert_array_equal(ones.to_numpy(), np.eye(n, n + 1, 1))
        np.testing.assert_array_equal(below.to_numpy(), np.tri(n))
        want = np.linspace(0, 1, n, dtype=np.float32)
        np.testing.assert_array_equal(steps.to_numpy(), want)


def test_the_default_dtype_is_taken():
    made = [F.eye(1), F.tri(1), F.linspace(0, 1, 2)]
    assert [t.dtype for t in made] == [DType.float32] * 3
    with default_dtype(DType.int64):
        made = [F.eye(1), F.tri(1), F.linspace(0, 1, 2)]
    assert [t.dtype for t in made] == [DType.int64] * 3


# linspace -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_steps_of_each_dtype(dtype):
    """numpy rounds integers down, and so floats to narrower ones once."""
    chosen = DType.from_numpy(dtype)
    want = np.linspace(1, 10, 7)
    want = np.floor(want).astype(dtype) if dtype.kind in "iu" else want.astype(dtype)
    same(lambda: F.linspace(1, 10, 7, dtype=chosen), want)


@pytest.mark.parametrize("num", [0, 1, 2, 5, 50])
@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize(("start", "stop"), [(0, 1), (2.5, -1.5), (3, 3), (-0.1, 0.7)])
def test_any_number_of_steps(start, stop, num, endpoint):
    got = F.linspace(start, stop, num, endpoint=endpoint, dtype=DType.float64)
    want = np.linspace(start, stop, num, endpoint)
    np.testing.assert_allclose(got.to_numpy(), want, rtol=1e-14, atol=1e-15)
    if num > 1 and endpoint:
        assert got.to_numpy()[-1] == stop


def test_integers_are_rounded_down():
    got = F.linspace(-3, 0, 5, dtype=DType.int32).to_numpy()
    assert got.tolist() == np.linspace(-3, 0, 5, dtype=np.int32).tolist()
    assert got.tolist() == [-3, -3, -2, -1, 0]


def test_bounds_may_be_tensors_and_sizes():
    start, stop = np.array(1.5, np.float32), np.array(4, np.int64)
    want = np.linspace(1.5, 4, 6, dtype=np.float32)
    check(lambda x, y: F.linspace(x, y, 6), start, stop, want=want)
    to_size = compile(lambda x: F.linspace(0, x.shape[0], 3))(
        TensorLayout(DType.float32, ["n"], CPU())
    )
    assert to_size(Tensor([1.0] * 4)).to_numpy().tolist() == [0, 2, 4]


# Errors -------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [F.eye, F.tri])
def test_sizes_are_ints_of_zero_or_more(made):
    name = made.__name__
    with pytest.raises(ValueError, match=f"{name}: a size must be 0 or more, got -1"):
        made(2, -1)
    with pytest.raises(TypeError, match=f"{name}: k must be an int, got float"):
        made(2, k=0.5)
    with pytest.raises(TypeError):
        made(2.0)


def test_steps_lie_between_numbers():
    with pytest.raises(ValueError, match="linspace: a size must be 0 or more, got -1"):
        F.linspace(0, 1, -1)
    with pytest.raises(TypeError, match="linspace: start must be a number, a Dim"):
        F.linspace("0", 1)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="linspace: start must have rank 0, got"):
        F.linspace(Tensor([1.0]), 2)


# On a mesh ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "placements",
    [
        (Replicated(), Replicated()),
        (Sharded(0), Sharded(1)),
        (Sharded(1), Partial()),
        (Sharded(0), Sharded(0)),
    ],
)
def test_matrices_are_made_where_they_are_asked_for(placements):
    mapping = DeviceMapping(cpu_mesh(2, 2), placements)
    for made, numpys in MATRICES:

        def make(made=made):
            return made(4, 8, 1, device=mapping)

        for result in (make(), compile(make)()()):
            assert result.placements == placements
            np.testing.assert_array_equal(result.to_numpy(), numpys(4, 8, 1))


def test_each_device_makes_its_own_piece():
    mapping = DeviceMapping(cpu_mesh(2), (Sharded(0),))

    def several():
        return F.eye(8, device=mapping), F.tri(8, device=mapping)

    program = compile(several)()
    assert program.collectives() == []
    pieces = F.eye(4, device=mapping).local_shards
    np.testing.assert_array_equal(pieces[1].to_numpy(), np.eye(4)[2:])


def test_steps_are_made_where_they_are_asked_for():
    mapping = DeviceMapping(cpu_mesh(2), (Sharded(0),))
    result = F.linspace(0, 7, 8, device=mapping)
    assert result.placements == (Sharded(0),)
    assert result.to_numpy().tolist() == list(range(8))
    assert compile(lambda: F.linspace(0, 7, 8, device=mapping))().collectives() == []


def test_nothing_is_made_in_unknown_places():
    mapping = DeviceMapping(cpu_mesh(2), (Unknown(),))
    with pytest.raises(ShardingError, match="eye: nothing can be made as Unknown"):
        F.eye(2, device=mapping)
