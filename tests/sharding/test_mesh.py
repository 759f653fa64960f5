"""Meshes of devices with named axes."""

import copy
import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.sharding import AxisType

from maxlite.driver import CPU
from maxlite.sharding import DeviceMesh
from tests.sharding.meshes import cpu_mesh


def test_it_prints_names_and_sizes():
    assert repr(cpu_mesh(2, 3)) == "DeviceMesh(x=2, y=3)"
    assert str(cpu_mesh(1, 2)) == "DeviceMesh(x=1, y=2)"


def test_it_keeps_its_fields_as_tuples():
    mesh = DeviceMesh([CPU(), CPU(1)], [1, 2], ["data", "model"])  # pyright: ignore
    assert mesh.devices == (CPU(), CPU(1))
    assert mesh.mesh_shape == (1, 2)
    assert mesh.axis_names == ("data", "model")
    assert (mesh.ndim, mesh.num_devices, mesh.is_single) == (2, 2, False)


def test_a_mesh_without_axes_has_one_device():
    mesh = DeviceMesh((CPU(),), (), ())
    assert (mesh.ndim, mesh.num_devices, mesh.is_single) == (0, 1, True)
    assert mesh.device_coord(0, ()) == 0
    assert mesh.to_jax().shape == {}


def test_a_single_mesh_has_one_nameless_axis_and_is_made_once():
    mesh = DeviceMesh.single(CPU())
    assert repr(mesh) == "DeviceMesh(_=1)"
    assert mesh.devices == (CPU(),)
    assert DeviceMesh.single(CPU()) is mesh


def test_meshes_compare_and_hash_by_devices_shape_and_names():
    assert cpu_mesh(2) == cpu_mesh(2)
    assert len({cpu_mesh(2), cpu_mesh(2), cpu_mesh(3)}) == 2
    assert cpu_mesh(2) != cpu_mesh(2, names=("y",))
    assert cpu_mesh(4, 1) != cpu_mesh(2, 2)
    assert cpu_mesh(1) != DeviceMesh((CPU(1),), (1,), ("x",))
    assert cpu_mesh(2) != "DeviceMesh(x=2)"


def test_a_mesh_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        cpu_mesh(2).mesh_shape = (1,)  # pyright: ignore[reportAttributeAccessIssue]


def test_copies_are_equal():
    mesh = cpu_mesh(2, 2)
    hash(mesh)
    mesh.to_jax()
    for other in (copy.copy(mesh), copy.deepcopy(mesh), dataclasses.replace(mesh)):
        assert other == mesh
        assert hash(other) == hash(mesh)


def test_a_pickled_mesh_hashes_anew_in_another_process():
    mesh = cpu_mesh(2)
    hash(mesh)
    code = (
        "import pickle, sys; from maxlite.driver import CPU;"
        "from maxlite.sharding import DeviceMesh;"
        "mesh = pickle.loads(bytes.fromhex(sys.argv[1]));"
        "assert {mesh: 1}[DeviceMesh((CPU(), CPU()), (2,), ('x',))]"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, pickle.dumps(mesh).hex()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("axis", "size"),
    [("x", 2), ("y", 3), (0, 2), (np.int64(1), 3), ((), 1), (["x", 1], 6)],
)
def test_axis_size_takes_a_name_an_index_or_several(axis, size: int):
    assert cpu_mesh(2, 3).axis_size(axis) == size


@pytest.mark.parametrize("index", [2, -1])
def test_axis_size_refuses_an_index_out_of_range(index: int):
    with pytest.raises(IndexError, match=f"below 2 on .*x=2, y=3.*got {index}"):
        cpu_mesh(2, 3).axis_size(index)


def test_axis_size_refuses_an_unknown_name():
    with pytest.raises(ValueError, match=r"one of \('x', 'y'\), got 'q'"):
        cpu_mesh(2, 3).axis_size("q")


@pytest.mark.parametrize("axis", [1.0, None, ["x", None]])
def test_axis_size_refuses_another_kind(axis):
    with pytest.raises(TypeError, match="a name, an index or several"):
        cpu_mesh(2, 3).axis_size(axis)


def test_axis_indices_keep_the_order_given():
    assert cpu_mesh(2, 3).axis_indices(("y", 0)) == (1, 0)


def test_device_coord_counts_row_major_in_the_order_given():
    mesh = cpu_mesh(2, 3)
    assert [mesh.device_coord(i, "x") for i in range(6)] == [0, 0, 0, 1, 1, 1]
    assert [mesh.device_coord(i, 1) for i in range(6)] == [0, 1, 2, 0, 1, 2]
    assert [mesh.device_coord(i, ("x", "y")) for i in range(6)] == [0, 1, 2, 3, 4, 5]
    assert [mesh.device_coord(i, ("y", "x")) for i in range(6)] == [0, 2, 4, 1, 3, 5]


@pytest.mark.parametrize("device_idx", [6, -1])
def test_device_coord_refuses_a_device_out_of_range(device_idx: int):
    with pytest.raises(IndexError, match=f"device_idx .* below 6 .*got {device_idx}"):
        cpu_mesh(2, 3).device_coord(device_idx, "x")


@given(st.lists(st.integers(1, 3), max_size=3))
def test_device_coords_agree_with_numpy(shape: list[int]):
    mesh = cpu_mesh(*shape)
    for i in range(mesh.num_devices):
        assert mesh.device_coords(i) == tuple(np.unravel_index(i, tuple(shape)))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (((), (0,), ("x",)), "at least one device"),
        (((), (), ()), "at least one device"),
        (((CPU(),), (2,), ("x",)), r"product .* got \(2,\) for 1"),
        (((CPU(),) * 2, (-2,), ("x",)), r"at least 1, got \(-2,\)"),
        (((CPU(),) * 2, (-2, -1), ("x", "y")), "at least 1"),
        (((CPU(),) * 2, (2,), ("x", "y")), "one name per axis"),
        (((CPU(),) * 2, (2, 1), ("x", "x")), r"all differ, got \('x', 'x'\)"),
    ],
)
def test_fields_that_do_not_fit_are_refused(args, message: str):
    with pytest.raises(ValueError, match=message):
        DeviceMesh(*args)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (((0,), (1,), ("x",)), "made of Device, got 0 of type int"),
        (((CPU(),), (1.0,), ("x",)), "made of ints, got 1.0 of type float"),
        (((CPU(),), (1,), (0,)), "made of str, got 0 of type int"),
    ],
)
def test_fields_of_another_kind_are_refused(args, message: str):
    with pytest.raises(TypeError, match=message):
        DeviceMesh(*args)


def test_single_refuses_what_is_no_device():
    with pytest.raises(TypeError, match=r"must be a Device, got .*DeviceMesh"):
        DeviceMesh.single(cpu_mesh(2))  # pyright: ignore[reportArgumentType]


def test_a_repeated_device_becomes_the_simulated_ones_that_follow():
    mesh = cpu_mesh(2, 4).to_jax()
    assert mesh.axis_names == ("x", "y")
    assert mesh.axis_types == (AxisType.Auto, AxisType.Auto)
    assert [d.id for d in mesh.devices.flat] == list(range(8))


def test_a_device_named_in_the_mesh_is_never_given_to_a_repeated_one():
    devices = (CPU(0), CPU(0), CPU(1), CPU(0))
    mesh = DeviceMesh(devices, (4,), ("x",)).to_jax()
    assert [d.id for d in mesh.devices.flat] == [0, 2, 1, 3]


def test_the_jax_mesh_is_made_once():
    mesh = cpu_mesh(2)
    assert mesh.to_jax() is mesh.to_jax()


def test_too_few_devices_name_the_setting():
    mesh = cpu_mesh(10_000)
    with pytest.raises(ValueError, match="xla_force_host_platform_device_count"):
        mesh.to_jax()
