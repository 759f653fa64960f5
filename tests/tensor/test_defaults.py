"""Default dtype and device: nesting, errors, threads and tasks, and who reads them."""

import asyncio
import threading

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph import DeviceRef
from maxlite.sharding import DeviceMapping, DeviceMesh, NamedMapping, Sharded
from maxlite.tensor import (
    Tensor,
    default_device,
    default_dtype,
    defaults,
    defaults_like,
)
from tests.sharding.meshes import cpu_mesh


def test_without_a_word_it_is_float32_on_the_first_cpu():
    assert defaults() == (DType.float32, DeviceMesh.single(CPU()))


def test_what_is_given_wins():
    with default_dtype(DType.int8), default_device(CPU(1)):
        chosen = defaults(DType.int64, CPU(2))
    assert chosen == (DType.int64, DeviceMesh.single(CPU(2)))
    assert defaults(device=cpu_mesh(2))[1] == cpu_mesh(2)


def test_blocks_nest_and_restore():
    with default_dtype(DType.float64):
        with default_dtype(DType.int32), default_device(CPU(1)):
            assert defaults() == (DType.int32, DeviceMesh.single(CPU(1)))
        assert defaults() == (DType.float64, DeviceMesh.single(CPU()))
    assert defaults()[0] is DType.float32


def leave_by_an_error():
    with default_dtype(DType.float64), default_device(CPU(1)):
        raise KeyError("on the way out")


def test_an_error_restores_too():
    with pytest.raises(KeyError, match="on the way out"):
        leave_by_an_error()
    assert defaults() == (DType.float32, DeviceMesh.single(CPU()))


def test_a_device_may_be_given_in_each_form():
    for device in (CPU(1), DeviceRef.CPU(1), DeviceMesh.single(CPU(1))):
        with default_device(device):
            assert Tensor([1.0]).device == CPU(1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Tensor([1]),
        lambda: F.constant(1),
        lambda: F.full([1], 1),
        lambda: F.ones([2]),
        lambda: F.arange(0, 3),
        lambda: Tensor.zeros([2]),
        lambda: Tensor.arange(3),
    ],
)
def test_everything_that_makes_a_tensor_reads_them(make):
    mesh = cpu_mesh(2)
    with default_dtype(DType.float64), default_device(mesh):
        x = make()
    assert x.dtype is DType.float64
    assert x.mapping == DeviceMapping.replicated(mesh)


def test_what_has_a_dtype_or_a_place_keeps_it():
    there = Tensor([1.0], device=CPU(1))
    with default_dtype(DType.float64), default_device(cpu_mesh(2)):
        assert Tensor(np.ones(2, np.int8)).dtype is DType.int8
        assert Tensor(there).device == CPU(1)
        assert Tensor.from_dlpack(np.ones(2)).device == CPU()
        like = F.zeros_like(there)
        assert (like.dtype, like.device) == (DType.float32, CPU(1))
        assert (there + 1).dtype is DType.float32


def test_a_named_mapping_takes_the_mesh_of_the_block():
    mesh = cpu_mesh(2)
    with default_device(mesh):
        assert Tensor([1.0, 2.0]).to(NamedMapping(spec=("x",))).placements == (
            Sharded(0),
        )


def test_defaults_like_takes_both_from_a_tensor():
    like = Tensor(np.ones(2, np.int16), device=cpu_mesh(2))
    with defaults_like(like):
        assert defaults() == (DType.int16, cpu_mesh(2))
    assert defaults()[0] is DType.float32


def test_another_thread_does_not_see_them():
    seen = []
    with default_dtype(DType.float64), default_device(CPU(1)):
        thread = threading.Thread(target=lambda: seen.append(defaults()))
        thread.start()
        thread.join()
    assert seen == [(DType.float32, DeviceMesh.single(CPU()))]


def test_tasks_do_not_see_each_other():
    async def work(dtype):
        with default_dtype(dtype):
            await asyncio.sleep(0)
            return Tensor([1]).dtype

    async def both():
        return await asyncio.gather(work(DType.int32), work(DType.float64))

    assert asyncio.run(both()) == [DType.int32, DType.float64]
