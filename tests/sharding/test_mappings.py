"""Mappings: a mesh with placements, written out or by name."""

import copy
import dataclasses
import pickle

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.sharding import PartitionSpec

from maxlite import _backend
from maxlite.driver import CPU
from maxlite.graph import DeviceRef
from maxlite.sharding import (
    ConversionError,
    DeviceMapping,
    DeviceMesh,
    NamedMapping,
    Partial,
    Placement,
    Replicated,
    Sharded,
    Unknown,
)
from maxlite.sharding._default_mesh import current_mesh, default_mesh
from maxlite.sharding._mappings import as_mapping
from tests.sharding.meshes import cpu_mesh

R, P, U = Replicated(), Partial(), Unknown()


def test_it_prints_mesh_and_placements():
    mapping = DeviceMapping(cpu_mesh(2), (Sharded(0),))
    assert repr(mapping) == "DeviceMapping(DeviceMesh(x=2), [Sharded(axis=0)])"


def test_it_keeps_the_placements_as_a_tuple():
    mapping = DeviceMapping(cpu_mesh(2, 1), [Sharded(0), R])  # pyright: ignore
    assert mapping.placements == (Sharded(0), R)
    assert mapping.mesh == cpu_mesh(2, 1)
    assert hash(mapping) == hash(DeviceMapping(cpu_mesh(2, 1), (Sharded(0), R)))


@pytest.mark.parametrize("placements", [(), (R, R)])
def test_there_is_one_placement_per_mesh_axis(placements):
    with pytest.raises(ValueError, match=r"one item per axis of .*x=2.* Pass 1"):
        DeviceMapping(cpu_mesh(2), placements)


@pytest.mark.parametrize("placements", [(0,), (Replicated,), Sharded(0)])
def test_placements_of_another_kind_are_refused(placements):
    with pytest.raises(TypeError, match="must be several Placement objects"):
        DeviceMapping(cpu_mesh(2), placements)


@pytest.mark.parametrize("make", [DeviceMapping.replicated, NamedMapping])
def test_a_device_is_no_mesh(make):
    with pytest.raises(
        TypeError, match=r"must be a DeviceMesh, .*Use DeviceMesh.single"
    ):
        make(CPU())


def test_mappings_compare_and_hash_by_mesh_and_placements():
    one = DeviceMapping(cpu_mesh(2), (Sharded(0),))
    assert one == DeviceMapping(cpu_mesh(2), (Sharded(0),))
    others = [
        DeviceMapping(cpu_mesh(2), (Sharded(1),)),
        DeviceMapping(cpu_mesh(3), (Sharded(0),)),
        NamedMapping(cpu_mesh(2), ("x",)),
    ]
    assert all(one != other for other in others)
    assert len({one, *others}) == 4


def test_a_mapping_cannot_be_changed():
    mapping = DeviceMapping(cpu_mesh(2), (R,))
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        mapping.mesh = cpu_mesh(3)  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    "mapping",
    [
        DeviceMapping(cpu_mesh(2, 2), (Sharded(0), P)),
        NamedMapping(cpu_mesh(2, 2), ("x",), unreduced=["y"]),
    ],
)
def test_copies_are_equal_and_of_the_same_class(mapping: DeviceMapping):
    mapping.named_sharding(1)
    for other in (copy.deepcopy(mapping), pickle.loads(pickle.dumps(mapping))):
        assert type(other) is type(mapping)
        assert other == mapping
        assert hash(other) == hash(mapping)


def test_replicated_is_of_the_class_asked():
    assert DeviceMapping.replicated(cpu_mesh(2, 2)).placements == (R, R)
    assert type(DeviceMapping.replicated(cpu_mesh(2))) is DeviceMapping
    assert type(NamedMapping.replicated(cpu_mesh(2))) is NamedMapping


@pytest.mark.parametrize(
    ("placement", "answer"), [(R, True), (Sharded(0), False), (P, False), (U, False)]
)
def test_is_fully_replicated(placement: Placement, answer: bool):
    assert DeviceMapping(cpu_mesh(2), (placement,)).is_fully_replicated is answer
    assert DeviceMapping(cpu_mesh(1), (placement,)).is_fully_replicated is answer


def test_partial_and_unknown_axes_do_not_count_on_one_device():
    assert DeviceMapping(cpu_mesh(2, 1, 2), (P, R, P)).partial_axes == (0, 2)
    assert DeviceMapping(cpu_mesh(1, 1), (P, P)).partial_axes == ()
    assert DeviceMapping(cpu_mesh(2, 1), (R, U)).is_unknown
    assert not DeviceMapping(cpu_mesh(1), (U,)).is_unknown


@pytest.mark.parametrize("shape", [[3], (5, 1)])
def test_check_shape_looks_at_the_rank_only(shape):
    DeviceMapping(cpu_mesh(2), (Sharded(0),)).check_shape(shape)


@pytest.mark.parametrize(("axis", "shape"), [(0, []), (2, [1, 2]), (-1, [4])])
def test_check_shape_refuses_an_axis_that_the_rank_lacks(axis: int, shape: list[int]):
    mapping = DeviceMapping(cpu_mesh(1), (Sharded(axis),))
    message = rf"below the rank {len(shape)}, got Sharded\(axis={axis}\) on .*'x'"
    with pytest.raises(ValueError, match=message):
        mapping.check_shape(shape)


@pytest.mark.parametrize(
    ("spec", "text", "placements"),
    [
        ((), "()", (R, R)),
        (("x",), "('x')", (Sharded(0), R)),
        (("y", "x"), "('y', 'x')", (Sharded(1), Sharded(0))),
        (("x", None, None), "('x')", (Sharded(0), R)),
        ((None, "y"), "(None, 'y')", (R, Sharded(1))),
        ((("x",),), "('x')", (Sharded(0), R)),
        (((), "x"), "(None, 'x')", (Sharded(1), R)),
        ((None, ("y", "x")), "(None, ('x', 'y'))", (Sharded(1), Sharded(1))),
        ([["x", "y"]], "(('x', 'y'))", (Sharded(0), Sharded(0))),
        ("xy", "('x', 'y')", (Sharded(0), Sharded(1))),
        (("q", "q"), "()", (R, R)),
        ((("q", "x"),), "('x')", (Sharded(0), R)),
    ],
)
def test_a_spec_names_the_mesh_axes_of_each_tensor_axis(spec, text: str, placements):
    named = NamedMapping(cpu_mesh(2, 2), spec)
    assert repr(named) == f"NamedMapping(DeviceMesh(x=2, y=2), {text})"
    assert named.placements == placements


@pytest.mark.parametrize(
    ("spec", "unreduced", "text", "placements"),
    [
        (("x",), ["y"], "('x'), unreduced={'y'}", (Sharded(0), P)),
        ((), ("y", "x"), "(), unreduced={'x', 'y'}", (P, P)),
        ((), {"y"}, "(), unreduced={'y'}", (R, P)),
        ((), ["q"], "()", (R, R)),
        (("q",), ["q"], "()", (R, R)),
    ],
)
def test_unreduced_names_become_partial(spec, unreduced, text: str, placements):
    named = NamedMapping(cpu_mesh(2, 2), spec, unreduced=unreduced)
    assert repr(named) == f"NamedMapping(DeviceMesh(x=2, y=2), {text})"
    assert named.placements == placements


@pytest.mark.parametrize("spec", [("x", "x"), (("x", "x"),), (None, "x", ("y", "x"))])
def test_a_mesh_axis_shards_one_tensor_axis(spec):
    with pytest.raises(ConversionError, match="got 'x' more than once"):
        NamedMapping(cpu_mesh(2, 2), spec)


def test_a_mesh_axis_is_sharded_or_unreduced():
    with pytest.raises(ConversionError, match="got 'x' in both"):
        NamedMapping(cpu_mesh(2), ("x",), unreduced=("x",))


@pytest.mark.parametrize("spec", [(0,), (("x", 0),)])
def test_an_entry_of_another_kind_is_refused(spec):
    with pytest.raises(TypeError, match="a name, several names or None, got 0"):
        NamedMapping(cpu_mesh(2), spec)


def test_two_specs_with_the_same_placements_are_equal():
    mesh = cpu_mesh(2)
    assert NamedMapping(mesh, ("x",)) == NamedMapping(mesh, ("x", None))
    assert NamedMapping(mesh, ("x",)) != DeviceMapping(mesh, (Sharded(0),))


def test_without_a_mesh_the_default_one_is_taken():
    token = current_mesh.set(cpu_mesh(2))
    try:
        assert NamedMapping(spec=(None, "x")).placements == (Sharded(1),)
    finally:
        current_mesh.reset(token)
    assert default_mesh() is None
    with pytest.raises(ValueError, match=r"needs a mesh.*default_device"):
        NamedMapping(spec=("x",))


@pytest.mark.parametrize("target", [CPU(), DeviceRef.CPU(), DeviceMesh.single(CPU())])
def test_a_device_or_mesh_means_replicated(target):
    assert as_mapping(target) == DeviceMapping(DeviceMesh.single(CPU()), (R,))


def test_a_mapping_stays_as_it_is():
    mapping = NamedMapping(cpu_mesh(2), ("x",))
    assert as_mapping(mapping) is mapping


@pytest.mark.parametrize("target", [None, "cpu", Sharded(0)])
def test_what_says_no_place_is_refused(target):
    with pytest.raises(TypeError, match="a Device, DeviceRef, DeviceMesh or Device"):
        as_mapping(target)


@pytest.mark.parametrize(
    ("placements", "rank", "spec"),
    [
        ((R, R), 0, ()),
        ((R, R), 2, (None, None)),
        ((Sharded(1), R), 2, (None, "x")),
        ((Sharded(0), Sharded(0)), 1, (("x", "y"),)),
        ((Sharded(1), Sharded(0)), 2, ("y", "x")),
        ((P, Sharded(0)), 1, ("x", "y")),
        ((Sharded(0), P), 2, ("y", "x", None)),
        ((P, P), 0, ("x", "y")),
        ((U, R), 1, (("x", "y"), None)),
        ((P, U), 0, (("x", "y"),)),
    ],
)
def test_the_stored_array_has_hidden_axes_in_front(placements, rank: int, spec):
    mapping = DeviceMapping(cpu_mesh(2, 2), placements)
    assert mapping.partition_spec(rank) == PartitionSpec(*spec)
    assert mapping.named_sharding(rank) is mapping.named_sharding(rank)


@pytest.mark.parametrize("placement", [R, Sharded(0), P, U])
def test_one_device_needs_no_hidden_axis(placement: Placement):
    mapping = DeviceMapping(cpu_mesh(1), (placement,))
    assert mapping.partition_spec(1) == PartitionSpec(None)


def test_a_stored_array_needs_the_rank_that_is_sharded():
    with pytest.raises(ValueError, match="below the rank 1"):
        DeviceMapping(cpu_mesh(2), (Sharded(1),)).named_sharding(1)


@given(st.data())
def test_the_shards_of_a_stored_array_are_those_of_the_placements(data: st.DataObject):
    mesh = cpu_mesh(2, 2)
    kinds = st.sampled_from([R, P, Sharded(0), Sharded(1)])
    mapping = DeviceMapping(mesh, (data.draw(kinds), data.draw(kinds)))
    hidden = (2,) * len(mapping.partial_axes)
    stored = np.arange(16.0 * 2 ** len(hidden)).reshape((*hidden, 4, 4))
    array = _backend.put(stored, mapping.named_sharding(2))
    for i, device in enumerate(mesh.to_jax().devices.flat):
        shard = next(s for s in array.addressable_shards if s.device == device)
        np.testing.assert_array_equal(shard.data, _shard(stored, mapping, i))


def _shard(stored: np.ndarray, mapping: DeviceMapping, device_idx: int) -> np.ndarray:
    """Cuts by hand, mesh axis by mesh axis."""
    coords = mapping.mesh.device_coords(device_idx)
    hidden = len(mapping.partial_axes)
    slots = [coords[i] for i in mapping.partial_axes]
    for axis, slot in enumerate(slots):
        stored = np.take(stored, [slot], axis=axis)
    for placement, coord in zip(mapping.placements, coords, strict=True):
        if isinstance(placement, Sharded):
            stored = np.split(stored, 2, axis=hidden + placement.axis)[coord]
    return stored


def test_the_sharding_of_a_mapping_is_accepted_by_jit():
    mapping = DeviceMapping(cpu_mesh(2), (Sharded(0),))
    array = _backend.put(np.ones(4, np.float32), mapping.named_sharding(1))
    doubled = jax.jit(lambda x: x + x, out_shardings=mapping.named_sharding(1))(array)
    assert doubled.sharding == mapping.named_sharding(1)
