"""Layouts: dtype, shape and mapping of a tensor."""

import copy
import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph import BufferType, DeviceRef, Dim, Shape, TensorType
from maxlite.sharding import (
    BufferLayout,
    DeviceMapping,
    DeviceMesh,
    NamedMapping,
    Partial,
    Placement,
    Replicated,
    Sharded,
    ShardingError,
    TensorLayout,
    Unknown,
)
from maxlite.sharding._layout import as_layout
from maxlite.sharding._per_shard_dim import PerShardDim
from tests.sharding.meshes import cpu_mesh


def layout(shape, mesh: DeviceMesh, *placements: Placement) -> TensorLayout:
    return TensorLayout(DType.float32, shape, DeviceMapping(mesh, placements))


def local_shapes(of: TensorLayout) -> list[list[Dim]]:
    return [list(local.shape) for local in of.local_types]


def test_it_prints_its_fields():
    assert repr(layout(["n", 3, Dim("n") * 2 + 1], cpu_mesh(2), Sharded(0))) == (
        "TensorLayout(DType.float32, [n, 3, (n * 2) + 1], "
        "DeviceMapping(DeviceMesh(x=2), [Sharded(axis=0)]))"
    )
    assert repr(BufferLayout(DType.int8, [], CPU())) == (
        "BufferLayout(DType.int8, [], DeviceMapping(DeviceMesh(_=1), [Replicated()]))"
    )


def test_it_answers_its_fields():
    tested = layout([4, 3], cpu_mesh(2), Sharded(1))
    assert tested.dtype is DType.float32
    assert isinstance(tested.shape, Shape)
    assert tested.shape == [4, 3]
    assert tested.rank == 2
    assert tested.mesh == cpu_mesh(2)
    assert tested.placements == (Sharded(1),)
    assert tested.mapping == DeviceMapping(cpu_mesh(2), (Sharded(1),))


@pytest.mark.parametrize("device", [CPU(), DeviceRef.CPU(), DeviceMesh.single(CPU())])
def test_a_device_makes_a_layout_on_one_device(device):
    tested = TensorLayout(DType.float32, [4], device)
    assert tested.mapping == DeviceMapping.replicated(DeviceMesh.single(CPU()))
    assert tested.device is CPU()


def test_a_mesh_means_replicated():
    tested = TensorLayout(DType.float32, [4], cpu_mesh(2, 2))
    assert tested.placements == (Replicated(), Replicated())


def test_a_named_mapping_is_kept():
    named = NamedMapping(cpu_mesh(2), (None, "x"))
    tested = TensorLayout(DType.float32, [4, 4], named)
    assert tested.mapping is named
    assert tested != layout([4, 4], cpu_mesh(2), Sharded(1))


def test_there_is_no_single_device_on_a_mesh():
    with pytest.raises(ValueError, match=r"got 2 on DeviceMesh\(x=2\)"):
        _ = layout([4], cpu_mesh(2), Sharded(0)).device


@pytest.mark.parametrize("device", [None, "cpu"])
def test_what_says_no_place_is_refused(device):
    with pytest.raises(TypeError, match="must be a Device, DeviceRef, DeviceMesh or"):
        TensorLayout(DType.float32, [4], device)


def test_what_is_no_dtype_is_refused():
    with pytest.raises(TypeError, match="TensorLayout: dtype must be a DType, got 'f"):
        TensorLayout("float32", [4], CPU())  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("shape", "axis"), [([4], 1), ([], 0), ([4], -1)])
def test_a_sharded_axis_must_exist(shape: list[int], axis: int):
    with pytest.raises(ValueError, match=f"below the rank {len(shape)}"):
        layout(shape, cpu_mesh(2), Sharded(axis))


def test_a_size_must_not_be_negative():
    with pytest.raises(ValueError, match=r"at least 0, got -1 in \[2, -1\]"):
        BufferLayout(DType.float32, [2, -1], CPU())


def test_a_list_of_sizes_counts_as_its_global_size():
    tested = layout([PerShardDim((3, 2), global_dim=5)], cpu_mesh(2), Sharded(0))
    assert tested == layout([5], cpu_mesh(2), Sharded(0))
    assert type(tested.shape[0]) is type(Dim(5))
    with pytest.raises(ValueError, match="of the whole tensor axis"):
        layout([PerShardDim((3, 2))], cpu_mesh(2), Sharded(0))


def test_layouts_compare_by_fields_and_class():
    one = layout([4], cpu_mesh(2), Sharded(0))
    assert one == layout((4,), cpu_mesh(2), Sharded(0))
    assert one != layout([5], cpu_mesh(2), Sharded(0))
    assert one != layout([4], cpu_mesh(2), Partial())
    assert one != TensorLayout(DType.int32, [4], one.mapping)
    assert one != one.as_buffer()
    assert one != "layout"


def test_copies_are_equal():
    tested = layout([4, "n"], cpu_mesh(2), Sharded(0))
    assert copy.deepcopy(tested) == tested


def test_a_layout_has_a_key_but_is_not_hashable():
    one = layout([4, "n"], cpu_mesh(2), Sharded(0))
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    assert one.key() == layout([4, "n"], cpu_mesh(2), Sharded(0)).key()
    assert len({one.key(), one.as_buffer().key()}) == 2


def test_a_layout_cannot_be_changed():
    tested = TensorLayout(DType.float32, [4], CPU())
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        tested.dtype = DType.int8  # pyright: ignore[reportAttributeAccessIssue]


def test_a_layout_does_not_share_its_shape():
    shape = Shape([4])
    tested = TensorLayout(DType.float32, shape, CPU())
    shape.append(Dim(5))
    assert tested.shape == [4]


def test_as_buffer_and_as_tensor_turn_one_into_the_other():
    tested = layout([4], cpu_mesh(2), Sharded(0))
    assert type(tested.as_buffer()) is BufferLayout
    assert isinstance(tested.as_buffer(), TensorLayout)
    assert tested.as_buffer().as_buffer() == tested.as_buffer()
    assert tested.as_buffer().as_tensor() == tested == tested.as_tensor()


@pytest.mark.parametrize(
    ("shape", "mesh", "placements", "shapes"),
    [
        ([4, 3], (2,), [Sharded(0)], [[2, 3]] * 2),
        ([4], (2,), [Partial()], [[4]] * 2),
        ([4], (2,), [Unknown()], [[4]] * 2),
        ([4, 6], (2, 2), [Sharded(1), Sharded(0)], [[2, 3]] * 4),
        ([5], (4,), [Sharded(0)], [[2], [1], [1], [1]]),
        ([7], (2, 2), [Sharded(0), Sharded(0)], [[2], [2], [2], [1]]),
        ([1, 3], (2,), [Sharded(0)], [[1, 3], [0, 3]]),
        ([0, 3], (2,), [Sharded(0)], [[0, 3], [0, 3]]),
        ([5], (2, 2), [Replicated(), Sharded(0)], [[3], [2], [3], [2]]),
        (["n", 4], (2,), [Sharded(1)], [["n", 2]] * 2),
        (["n", 3], (2,), [Sharded(0)], [["n_x_0", 3], ["n_x_1", 3]]),
        (["n"], (1,), [Sharded(0)], [["n_x_0"]]),
    ],
)
def test_local_types_are_what_each_device_holds(shape, mesh, placements, shapes):
    assert local_shapes(layout(shape, cpu_mesh(*mesh), *placements)) == shapes


def test_local_types_name_dtype_and_device():
    mesh = DeviceMesh((CPU(0), CPU(1)), (2,), ("x",))
    tested = layout([4], mesh, Sharded(0))
    types = [TensorType(DType.float32, [2], DeviceRef.CPU(i)) for i in range(2)]
    assert tested.local_types == types
    buffers = [BufferType(DType.float32, [2], DeviceRef.CPU(i)) for i in range(2)]
    assert tested.as_buffer().local_types == buffers


def test_an_expression_cannot_be_cut():
    with pytest.raises(ShardingError, match=r"got n \* 2"):
        _ = layout([Dim("n") * 2], cpu_mesh(2), Sharded(0)).local_types


@given(st.data())
def test_local_slices_have_the_local_shapes(data: st.DataObject):
    mesh = cpu_mesh(2, 3)
    shape = (data.draw(st.integers(0, 8)), data.draw(st.integers(0, 8)))
    kinds = st.sampled_from([Replicated(), Partial(), Sharded(0), Sharded(1)])
    tested = layout(shape, mesh, data.draw(kinds), data.draw(kinds))
    found = [
        [
            len(range(*part.indices(size)))
            for part, size in zip(parts, shape, strict=True)
        ]
        for parts in tested.local_slices
    ]
    assert found == local_shapes(tested)


def test_local_slices_need_numbers_where_it_is_cut():
    assert layout(["n", 2], cpu_mesh(2), Sharded(1)).local_slices == [
        (slice(None), slice(0, 1)),
        (slice(None), slice(1, 2)),
    ]
    with pytest.raises(ValueError, match="must be a number, got n at tensor axis 0"):
        _ = layout(["n", 2], cpu_mesh(2), Sharded(0)).local_slices


def test_as_layout_turns_types_into_layouts():
    tensor = as_layout(TensorType(DType.int32, [2, "n"], DeviceRef.CPU()))
    assert tensor == TensorLayout(DType.int32, [2, "n"], CPU())
    buffer = as_layout(BufferType(DType.int32, [2, "n"], DeviceRef.CPU()))
    assert buffer == BufferLayout(DType.int32, [2, "n"], CPU())
    assert as_layout(tensor) is tensor


@pytest.mark.parametrize("value", [3, None, [TensorType(DType.int8, [], CPU())]])
def test_as_layout_refuses_what_is_no_layout(value):
    with pytest.raises(TypeError, match="must be a TensorLayout, BufferLayout, "):
        as_layout(value)


def test_as_layout_refuses_a_value():
    class Value:
        layout = TensorLayout(DType.float32, [4], CPU())

    with pytest.raises(TypeError, match=r"got a value of type Value.*Pass its .layout"):
        as_layout(Value())
