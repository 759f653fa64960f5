"""Device references, and the types of tensors and buffers."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from maxlite.driver import CPU, accelerator_count
from maxlite.dtype import DType
from maxlite.graph import BufferType, DeviceKind, DeviceRef, Dim, TensorType, Type
from maxlite.graph import type as public

KINDS = (TensorType, BufferType)


class TestDeviceKind:
    def test_a_kind_is_its_name(self) -> None:
        assert [str(kind) for kind in DeviceKind] == ["cpu", "gpu"]
        assert DeviceKind("gpu") is DeviceKind.GPU
        assert DeviceKind.CPU == "cpu"
        assert hash(DeviceKind.CPU) == hash("cpu")
        assert f"{DeviceKind.CPU}" == "cpu"


class TestDeviceRef:
    @pytest.mark.parametrize(
        ("device", "text"),
        [
            (DeviceRef.CPU(), "cpu:0"),
            (DeviceRef.CPU(2), "cpu:2"),
            (DeviceRef.GPU(3), "gpu:3"),
            (DeviceRef("gpu"), "gpu:0"),
            (DeviceRef(DeviceKind.GPU, 1), "gpu:1"),
            (DeviceRef("cpu", -1), "cpu:0"),
            (DeviceRef.from_device(CPU(1)), "cpu:1"),
        ],
    )
    def test_prints_kind_and_number(self, device: DeviceRef, text: str) -> None:
        assert str(device) == repr(device) == text

    def test_compares_and_hashes_by_value(self) -> None:
        assert DeviceRef.CPU() == DeviceRef("cpu", 0)
        assert hash(DeviceRef.CPU()) == hash(DeviceRef("cpu", 0))
        assert DeviceRef.CPU() != DeviceRef.GPU()
        assert DeviceRef.CPU() != DeviceRef.CPU(1)
        for other in (CPU(), "cpu", "cpu:0", None):
            assert DeviceRef.CPU() != other

    def test_answers_what_kind_it_is(self) -> None:
        assert DeviceRef.CPU().is_cpu()
        assert not DeviceRef.CPU().is_gpu()
        assert DeviceRef.GPU().is_gpu()
        assert not DeviceRef.GPU().is_cpu()
        assert DeviceRef("gpu").device_type is DeviceKind.GPU

    def test_a_cpu_is_found(self) -> None:
        assert DeviceRef.CPU().to_device() == CPU()
        assert DeviceRef.CPU(1).to_device() == CPU(1)

    def test_a_device_that_is_missing_can_be_named_but_not_found(self) -> None:
        missing = DeviceRef.GPU(accelerator_count())
        with pytest.raises(ValueError, match="number of accelerators"):
            missing.to_device()

    def test_the_reference_of_a_reference_is_itself(self) -> None:
        device = DeviceRef.CPU(3)
        assert DeviceRef.from_device(device) is device

    @pytest.mark.parametrize("kind", ["cuda", "CPU", "cpu:0", "", 3, None, []])
    def test_an_unknown_kind_is_refused(self, kind: Any) -> None:
        with pytest.raises(ValueError, match="device_type must be one of cpu, gpu"):
            DeviceRef(kind)

    def test_other_values_are_refused(self) -> None:
        wrong: Any = "1"
        with pytest.raises(TypeError, match="id must be of type int, got '1'"):
            DeviceRef("cpu", wrong)
        with pytest.raises(TypeError, match=r"device must be of type Device, got '1'"):
            DeviceRef.from_device(wrong)

    def test_is_immutable(self) -> None:
        device: Any = DeviceRef.CPU()
        with pytest.raises(dataclasses.FrozenInstanceError, match="id"):
            device.id = 3

    def test_copies_and_pickles(self) -> None:
        device = DeviceRef.GPU(1)
        for made in (copy.deepcopy(device), pickle.loads(pickle.dumps(device))):
            assert made == device


@pytest.mark.parametrize("kind", KINDS)
class TestArrayTypes:
    def test_holds_dtype_shape_and_device(self, kind: type[TensorType]) -> None:
        made = kind(DType.float32, [2, "n"], DeviceRef.CPU())
        assert made.dtype is DType.float32
        assert made.shape == [2, "n"]
        assert made.device == DeviceRef.CPU()
        assert made.rank == 2
        assert list(made.parameters) == ["n"]
        assert isinstance(made, Type)

    def test_str_and_repr(self, kind: type[TensorType]) -> None:
        made = kind(DType.float32, [2, "n"], DeviceRef.GPU(1))
        expected = f"{kind.__name__}(dtype=float32, shape=[Dim(2), Dim('n')]"
        assert str(made) == repr(made) == f"{expected}, device=gpu:1)"

    def test_a_device_becomes_a_reference(self, kind: type[TensorType]) -> None:
        made = kind(DType.float32, [2], CPU())
        assert type(made.device) is DeviceRef
        assert made == kind(DType.float32, [2], DeviceRef.CPU())

    def test_compares_and_hashes_by_value(self, kind: type[TensorType]) -> None:
        def make(dtype: DType = DType.float32, dim: str = "n", id: int = 0) -> object:
            return kind(dtype, [2, dim], DeviceRef.CPU(id))

        assert make() == make()
        assert hash(make()) == hash(make())
        for other in (make(DType.int8), make(dim="m"), make(id=1), 3, None):
            assert make() != other

    def test_counts_elements_of_static_shapes(self, kind: type[TensorType]) -> None:
        def count(*shape: int | str) -> int:
            return kind(DType.float32, shape, DeviceRef.CPU()).num_elements()

        assert count(2, 3) == 6
        assert count() == 1
        assert count(0, 3) == 0
        with pytest.raises(RuntimeError, match=r"got shape \[Dim\(0\), Dim\('n'\)\]"):
            count(0, "n")

    def test_cast_changes_the_dtype_only(self, kind: type[TensorType]) -> None:
        made = kind(DType.float32, [2, "n"], DeviceRef.GPU()).cast(DType.int8)
        assert made == kind(DType.int8, [2, "n"], DeviceRef.GPU())
        assert type(made) is kind

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"shape": [2, -1]}, TypeError, r"not have negative sizes, got \[Dim\(2\)"),
            ({"shape": 2}, TypeError, "must be a list of sizes, got int"),
            ({"shape": [1.5]}, TypeError, r"got 1\.5 of type float"),
            ({"shape": ["a b"]}, ValueError, "got 'a b'"),
            ({"dtype": "float32"}, TypeError, "dtype must be of type DType, got 'fl"),
            ({"device": "cpu"}, TypeError, "device must be of type Device, got 'cpu'"),
            ({"device": None}, TypeError, "device must be of type Device, got None"),
        ],
    )
    def test_wrong_arguments_are_refused(
        self,
        kind: Any,
        arguments: dict[str, object],
        error: type[Exception],
        message: str,
    ) -> None:
        right = {"dtype": DType.float32, "shape": [2], "device": DeviceRef.CPU()}
        with pytest.raises(error, match=message):
            kind(**(right | arguments))

    def test_the_device_is_required(self, kind: Any) -> None:
        with pytest.raises(TypeError, match="device"):
            kind(DType.float32, [2])

    def test_copies_and_pickles(self, kind: type[TensorType]) -> None:
        made = kind(DType.float32, [2, Dim("n") + 1], DeviceRef.CPU())
        for other in (
            copy.copy(made),
            copy.deepcopy(made),
            pickle.loads(pickle.dumps(made)),
        ):
            assert other == made
            assert hash(other) == hash(made)


def test_a_tensor_type_and_a_buffer_type_convert_and_are_never_equal() -> None:
    tensor = TensorType(DType.float32, [2, "n"], DeviceRef.CPU())
    buffer = BufferType(DType.float32, [2, "n"], DeviceRef.CPU())
    assert tensor.as_buffer() == buffer
    assert buffer.as_tensor() == tensor
    assert tensor != buffer
    assert hash(tensor) != hash(buffer)


def test_the_public_path_has_the_same_types() -> None:
    assert public.TensorType is TensorType
    assert public.BufferType is BufferType
    assert public.DeviceRef is DeviceRef
    assert public.DeviceKind is DeviceKind
    assert public.Type is Type


def test_layouts_are_known_by_their_letters() -> None:
    assert [layout.value for layout in public.ConvInputLayout] == ["NHWC", "NCHW"]
    names = ["RSCF", "QRSCF", "FCRS", "FCQRS", "CFRS"]
    assert [layout.name for layout in public.FilterLayout] == names
    assert public.FilterLayout("CFRS") is public.FilterLayout.CFRS
