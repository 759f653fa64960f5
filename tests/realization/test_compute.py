"""Blocks on several sets of devices: one program each, and moves between them."""

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.driver import CPU
from maxlite.sharding import DeviceMapping, DeviceMesh, Partial, Sharded
from maxlite.tensor import Tensor
from tests.sharding.meshes import cpu_mesh


def on(mesh):
    return DeviceMapping(mesh, (Sharded(0),) * mesh.ndim)


ONE, LINE = cpu_mesh(2), cpu_mesh(4)
ELSEWHERE = DeviceMesh((CPU(6), CPU(7)), (2,), ("x",))
DATA = np.arange(8) + 2**40


def test_a_block_may_use_several_meshes():
    x, y, z = (Tensor(DATA, device=on(mesh)) for mesh in (ONE, LINE, ELSEWHERE))
    with F.lazy():
        results = [t + t for t in (x, y, z, Tensor(DATA))]
    for result, mesh in zip(results, (ONE, LINE, ELSEWHERE), strict=False):
        assert result.mesh == mesh
        np.testing.assert_array_equal(result.to_numpy(), DATA * 2, strict=True)
    np.testing.assert_array_equal(results[-1].to_numpy(), DATA * 2, strict=True)


def test_values_travel_between_the_meshes_of_a_block():
    x = Tensor(DATA, device=on(ONE))
    with F.lazy():
        y = (x + x).to(on(LINE))
        z = (y + y).to(on(ELSEWHERE))
        w = z.to(CPU(3)) + (y * y).to(CPU(3))
        back = (z + z).to(on(ONE)) + x
        sums = y.to(DeviceMapping(LINE, (Partial(),)))
    np.testing.assert_array_equal(back.to_numpy(), DATA * 9, strict=True)
    np.testing.assert_array_equal(y.to_numpy(), DATA * 2, strict=True)
    np.testing.assert_array_equal(z.to_numpy(), DATA * 4, strict=True)
    np.testing.assert_array_equal(w.to_numpy(), DATA * 4 + (DATA * 2) ** 2)
    np.testing.assert_array_equal(sums.to_numpy(), DATA * 2, strict=True)
    assert w.device == CPU(3)
    assert z.mesh == ELSEWHERE


def test_a_block_on_several_meshes_can_be_tried_again(runs):
    x = Tensor(DATA, device=on(ONE))
    with F.lazy():
        y = (x + x).to(on(LINE)) * 2
    runs.fail = MemoryError("full")
    with pytest.raises(MemoryError, match="full"):
        y.to_numpy()
    np.testing.assert_array_equal(y.to_numpy(), DATA * 4, strict=True)
