"""Windows, against their formula in numpy."""

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import DeviceMapping, Sharded, TensorLayout
from maxlite.tensor import Tensor, default_dtype
from tests.functional._cross import check
from tests.sharding.meshes import cpu_mesh


def hann(n: int, *, periodic: bool) -> np.ndarray:
    if n == 1:
        return np.ones(1)
    steps = n if periodic else n - 1
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / max(steps, 1))


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 64, 101])
def test_a_window_is_a_raised_cosine(n, periodic):
    found = F.hann_window(n, periodic=periodic, dtype=DType.float64)
    want = hann(n, periodic=periodic)
    np.testing.assert_allclose(found.to_numpy(), want, 1e-12, 1e-12)


@pytest.mark.parametrize("n", [7, 8, 1001])
def test_a_window_that_is_not_periodic_is_its_own_mirror_image(n):
    found = F.hann_window(n, periodic=False, dtype=DType.float64).to_numpy()
    assert (found == found[::-1]).all()
    assert found[0] == found[-1] == 0


def test_a_window_is_made_in_every_way():
    x = np.arange(4, dtype=np.float32)
    check(lambda x: x * F.hann_window(4), x[:1], want=np.zeros(4, np.float32))
    check(lambda x: x * F.hann_window(x.shape[0]), x, want=np.float32([0, 0.5, 2, 1.5]))


def test_a_window_may_have_a_named_length():
    layout = TensorLayout(DType.float32, ["n"], CPU())
    program = compile(lambda x: F.hann_window(x.shape[0], periodic=False) + x)(layout)
    assert program.out_layouts[0].shape == ["n"]
    for n in (1, 2, 5):
        found = program(Tensor(np.zeros(n, np.float32))).to_numpy()
        np.testing.assert_allclose(found, hann(n, periodic=False), 1e-6, 1e-6)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_the_dtype_may_be_chosen(name):
    found = F.hann_window(3, dtype=DType[name])
    assert found.dtype is DType[name]
    assert found.to_numpy().astype(float) == pytest.approx([0, 0.75, 0.75])


def test_the_default_dtype_is_taken():
    assert F.hann_window(3).dtype is DType.float32
    with default_dtype(DType.float64):
        assert F.hann_window(3).dtype is DType.float64


def test_each_device_of_a_mesh_makes_its_part():
    mapping = DeviceMapping(cpu_mesh(2), (Sharded(0),))
    found = F.hann_window(4, device=mapping)
    assert found.mapping == mapping
    assert found.to_numpy().tolist() == [0, 0.5, 1, 0.5]


def test_lengths_and_dtypes_are_checked():
    with pytest.raises(ValueError, match="size must be 0 or more, got -1"):
        F.hann_window(-1)
    for length in (2.0, "a"):
        with pytest.raises(TypeError, match="window_length must be an int, got"):
            F.hann_window(length)  # pyright: ignore[reportArgumentType]
    for dtype in (DType.int32, DType.bool):
        with pytest.raises(ValueError, match="dtype must be floating, got"):
            F.hann_window(4, dtype=dtype)
