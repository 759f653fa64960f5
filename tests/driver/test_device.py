"""Devices by name, with and without JAX behind them."""

import copy
import pickle
import subprocess
import sys
from dataclasses import dataclass, field
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from maxlite.driver import (
    CPU,
    Accelerator,
    Device,
    DeviceSpec,
    _device,
    accelerator_api,
    accelerator_count,
    devices_exist,
    load_devices,
    scan_available_devices,
)


@dataclass(eq=False)
class FakeGpu:
    """As much of a CUDA device as is used."""

    id: int
    platform: str = "gpu"
    device_kind: str = "NVIDIA Test"
    compute_capability: str = "9.0"
    client: SimpleNamespace = field(
        default_factory=lambda: SimpleNamespace(platform_version="cuda 12080")
    )

    def memory_stats(self):
        return {"bytes_limit": 1000, "bytes_in_use": 400, "num_allocs": 3}


@pytest.fixture
def gpus(monkeypatch):
    """Two accelerators beside the CPUs, for as long as a test runs."""
    real, fakes = _device.devices, [FakeGpu(0), FakeGpu(1)]
    monkeypatch.setattr(
        _device, "devices", lambda name, **_: fakes if name == "gpu" else real(name)
    )
    for cache in ("_to_jax", "_from_jax", "_gpus"):
        monkeypatch.setattr(_device, cache, {})
    return fakes


@pytest.fixture
def no_gpus(monkeypatch):
    """A machine of CPUs only, whatever there is."""
    real = _device.devices
    monkeypatch.setattr(
        _device, "devices", lambda name, **_: real("cpu") if name == "cpu" else []
    )


class TestNames:
    def test_print_as_in_the_reference(self):
        assert repr(CPU()) == str(CPU()) == "Device(type=cpu,id=0)"
        assert repr(CPU(3)) == "Device(type=cpu,id=3)"

    def test_equal_names_are_one_object(self):
        assert CPU() is CPU(0) is CPU(-1) is Device.cpu()
        assert CPU(2) is CPU(2) is Device.cpu(2)

    @pytest.mark.parametrize("id", [np.int64(1), np.uint8(1), True])
    def test_any_integer_counts(self, id):
        assert CPU(id) is CPU(1)

    def test_hash_by_identity_and_differ_by_id(self):
        assert type(CPU()).__hash__ is object.__hash__
        assert CPU(0) != CPU(1)
        assert len({CPU(), CPU(0), CPU(1)}) == 2
        assert CPU() != "cpu"

    def test_stay_the_same_object_under_pickle_and_copy(self):
        assert pickle.loads(pickle.dumps(CPU(5))) is CPU(5)
        assert copy.copy(CPU(5)) is CPU(5)
        assert copy.deepcopy([CPU(5)])[0] is CPU(5)

    @pytest.mark.parametrize("device", [CPU()])
    def test_a_name_cannot_be_changed(self, device):
        with pytest.raises(AttributeError, match="no setter"):
            device.id = 3

    @pytest.mark.parametrize("kind", [Device])
    def test_a_device_is_made_as_one_kind_or_the_other(self, kind):
        with pytest.raises(TypeError, match="abstract class Device"):
            kind()
        assert isinstance(CPU(), kind)

    @pytest.mark.parametrize("kind", [CPU, Accelerator])
    def test_the_id_is_checked(self, kind):
        with pytest.raises(TypeError, match="id must be an int, got str"):
            kind("a")
        with pytest.raises(ValueError, match="id must be at least -1, got -2"):
            kind(-2)

    def test_making_a_cpu_starts_no_backend(self):
        code = (
            "from maxlite.driver import CPU\n"
            "import jax\n"
            "CPU(3)\n"
            "jax.config.update('jax_num_cpu_devices', 5)  # raises once JAX runs\n"
            "print(CPU(4).to_jax().id)"
        )
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert ran.stdout.strip() == "4"


class TestFacts:
    def test_of_a_cpu(self):
        device = CPU(1)
        assert (device.label, device.id, device.api) == ("cpu", 1, "cpu")
        assert device.model_name == "cpu"
        assert device.is_host
        assert device.is_host_unified
        assert device.is_compatible
        assert device.architecture_name != ""

    def test_memory_is_counted_in_bytes(self):
        stats = CPU().stats
        assert 0 < stats["free_memory"] <= stats["total_memory"]
        assert CPU().max_single_alloc_size == stats["total_memory"]

    def test_memory_that_the_system_does_not_tell(self, monkeypatch):
        monkeypatch.delattr(_device.os, "sysconf")
        with pytest.raises(NotImplementedError, match="memory must be told by"):
            _ = CPU().stats

    def test_no_device_reads_another_s_memory(self):
        assert not CPU().can_access(CPU(1))
        with pytest.raises(TypeError, match="the device must be a Device, got int"):
            CPU().can_access(3)  # pyright: ignore[reportArgumentType]

    def test_synchronize_waits_for_what_is_on_the_device(self):
        x = jax.jit(lambda x: x @ x)(
            jax.device_put(np.ones((300, 300)), CPU(1).to_jax())
        )
        CPU(1).synchronize()
        assert x.is_ready()

    def test_the_queue_prints_as_in_the_reference(self):
        queue = CPU(2).default_queue
        assert repr(queue) == "cpu[2]"
        assert queue.device is CPU(2)
        assert queue == CPU(2).default_queue
        queue.synchronize()


class TestJax:
    @pytest.mark.parametrize("id", range(8))
    def test_goes_both_ways(self, id):
        assert CPU(id).to_jax() == jax.devices("cpu")[id]
        assert Device.from_jax(CPU(id).to_jax()) is CPU(id)

    def test_an_occurrence_counts_on_from_the_id(self):
        assert CPU(2).to_jax(occurrence=3) == CPU(5).to_jax()

    def test_too_few_names_the_setting(self):
        count = len(jax.devices("cpu"))
        with pytest.raises(
            ValueError,
            match=rf"got {count} of them.*xla_force_host_platform_device_count="
            rf"{count + 3}.*\"jax_num_cpu_devices\", {count + 3}",
        ):
            CPU(count).to_jax(occurrence=2)


class TestAccelerators:
    def test_none_is_a_value_error(self, no_gpus):
        with pytest.raises(ValueError, match=r"got id 0 of 0\. Use CPU\(\)"):
            Accelerator()
        assert accelerator_count() == 0
        assert accelerator_api() == "cpu"
        assert scan_available_devices() == [DeviceSpec.cpu()]

    def test_are_found_by_position(self, gpus):
        assert accelerator_count() == 2
        assert Accelerator() is Accelerator(0) is Accelerator(-1)
        assert Accelerator(1) != Accelerator(0) != CPU(0)
        assert Accelerator(1).to_jax() is gpus[1]
        assert Device.from_jax(gpus[1]) is Accelerator(1)
        assert repr(Accelerator(1)) == "Device(type=gpu,id=1)"
        with pytest.raises(ValueError, match="got id 2 of 2"):
            Accelerator(2)

    def test_facts_come_from_jax(self, gpus):
        device = Accelerator()
        assert (device.label, device.api) == ("gpu", "cuda")
        assert device.architecture_name == "sm_90"
        assert device.model_name == "NVIDIA Test"
        assert not device.is_host
        assert not device.is_host_unified
        assert accelerator_api() == "cuda"
        assert device.default_queue.device is device

    def test_rocm_is_called_hip(self, gpus):
        gpus[0].client.platform_version = "rocm 60000"
        gpus[0].compute_capability = "gfx942"
        assert Accelerator().api == "hip"
        assert Accelerator().architecture_name == "gfx942"

    def test_others_go_by_jax_s_names(self, gpus):
        gpus[0].client.platform_version = "libtpu"
        gpus[0].platform = "tpu"
        gpus[0].compute_capability = None
        assert Accelerator().api == "tpu"
        assert Accelerator().architecture_name == "NVIDIA Test"

    def test_memory_is_what_jax_counts(self, gpus):
        assert Accelerator().stats == {
            "free_memory": 600,
            "total_memory": 1000,
            "bytes_limit": 1000,
            "bytes_in_use": 400,
            "num_allocs": 3,
        }
        assert Accelerator().max_single_alloc_size == 1000

    def test_memory_that_jax_does_not_count(self, gpus):
        gpus[0].memory_stats = lambda: None
        with pytest.raises(NotImplementedError, match="memory must be counted by JAX"):
            _ = Accelerator().stats

    def test_stands_in_a_mesh_once(self, gpus):
        with pytest.raises(ValueError, match=r"got Device\(type=gpu,id=0\) 2 times"):
            Accelerator().to_jax(occurrence=1)

    def test_are_found_beside_a_preferred_cpu_and_under_another_name(self, monkeypatch):
        npu = FakeGpu(0, platform="npu")
        found = {"npu": [npu], "cpu": _device.devices("cpu")}
        monkeypatch.setattr(_device, "devices", lambda name, **_: found.get(name, []))
        monkeypatch.setattr(_device, "default_platform", lambda: "npu")
        assert accelerator_count() == 1


class TestSpecs:
    def test_default_to_the_first(self):
        assert DeviceSpec.cpu() == DeviceSpec(-1) == DeviceSpec(-1, "cpu")
        assert DeviceSpec.accelerator() == DeviceSpec(0, "gpu")
        assert repr(DeviceSpec.cpu(3)) == "DeviceSpec(id=3, device_type='cpu')"
        assert len({DeviceSpec.cpu(), DeviceSpec.cpu(), DeviceSpec.accelerator()}) == 2

    @pytest.mark.parametrize(
        ("id", "kind", "message"),
        [
            (-1, "gpu", "id must be at least 0 for a gpu, got -1"),
            (-2, "cpu", "id must be at least -1 for a cpu, got -2"),
            (0, "tpu", "device_type must be 'cpu' or 'gpu', got 'tpu'"),
        ],
    )
    def test_are_checked(self, id, kind, message):
        with pytest.raises(ValueError, match=message):
            DeviceSpec(id, kind)

    def test_load_in_order(self, gpus):
        specs = [DeviceSpec.cpu(2), DeviceSpec.accelerator(1), DeviceSpec.cpu()]
        assert load_devices(specs) == [CPU(2), Accelerator(1), CPU()]
        assert load_devices([]) == []

    def test_loading_what_is_not_there_raises(self, no_gpus):
        with pytest.raises(ValueError, match="Accelerator: id must be below"):
            load_devices([DeviceSpec.accelerator()])

    def test_exist_when_jax_has_them(self, no_gpus):
        assert devices_exist([])
        assert devices_exist([DeviceSpec.cpu(), DeviceSpec.cpu(7)])
        assert not devices_exist([DeviceSpec.cpu(1000)])
        assert not devices_exist([DeviceSpec.cpu(), DeviceSpec.accelerator()])

    def test_scanning_lists_accelerators_first_of_all(self, gpus):
        assert scan_available_devices() == [
            DeviceSpec.accelerator(0),
            DeviceSpec.accelerator(1),
        ]
        assert devices_exist(scan_available_devices())
