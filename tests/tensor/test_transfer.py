"""Moving between devices, meshes and mappings, and what shards are called."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import stage
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph import DeviceRef
from maxlite.sharding import (
    DeviceMapping,
    DeviceMesh,
    NamedMapping,
    Partial,
    Replicated,
    Sharded,
    ShardingError,
    Unknown,
)
from maxlite.tensor import Tensor
from tests.sharding.meshes import cpu_mesh

R, P, U = Replicated(), Partial(), Unknown()
S0, S1 = Sharded(0), Sharded(1)

ONE = cpu_mesh(2)
GRID = cpu_mesh(2, 2)
LINE = cpu_mesh(4)
ELSEWHERE = DeviceMesh((CPU(4), CPU(5)), (2,), ("x",))

DATA = np.arange(16).reshape(4, 4) * 2**40 - 2**62
"""Too large for 32 bits, and for the exact range of floats."""


def on(mesh, *placements):
    return DeviceMapping(mesh, placements)


def shards(x):
    return [shard.to_numpy().tolist() for shard in x.local_shards]


# On one mesh ------------------------------------------------------------------------


@pytest.mark.parametrize("source", [R, P, S0, S1])
@pytest.mark.parametrize("target", [R, P, S0, S1])
@pytest.mark.parametrize("data", [DATA, DATA / 3, DATA.astype(jnp.bfloat16)])
def test_every_move_keeps_the_value(source, target, data):
    x = Tensor(data, device=on(ONE, source))
    y = x.to(on(ONE, target))
    assert y.placements == (target,)
    assert y.to_numpy().dtype == data.dtype
    np.testing.assert_array_equal(y.to_numpy(), data)
    assert (y is x) == (source == target)


@pytest.mark.parametrize(
    "placements", list(itertools.product([R, P, S0, S1], repeat=2)), ids=repr
)
def test_every_move_on_a_grid_keeps_the_value(placements):
    source = Tensor(DATA, device=on(GRID, S0, P))
    y = source.to(on(GRID, *placements))
    np.testing.assert_array_equal(y.to_numpy(), DATA, strict=True)
    back = y.to(on(GRID, P, S1))
    np.testing.assert_array_equal(back.to_numpy(), DATA, strict=True)


def test_a_sharded_axis_is_cut_in_mesh_order():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert shards(x.to(on(ONE, S0))) == [[[1, 2]], [[3, 4]]]
    assert shards(x.to(on(ONE, S1))) == [[[1], [3]], [[2], [4]]]
    assert shards(x.to(on(GRID, S1, S0))) == [[[1]], [[3]], [[2]], [[4]]]
    both = Tensor([1.0, 2.0, 3.0, 4.0]).to(on(GRID, S0, S0))
    assert shards(both) == [[1], [2], [3], [4]]


@pytest.mark.parametrize("source", [R, S0])
def test_a_pending_sum_keeps_the_value_on_the_first_shard(source):
    x = Tensor([1.0, 2.0], device=on(ONE, source)).to(on(ONE, P))
    assert shards(x) == [[1, 2], [0, 0]]


def test_a_real_pending_sum_adds_up_wherever_it_goes():
    terms = Tensor([1.0, 2.0, 3.0, 4.0], device=on(ONE, S0))
    sums = terms.rebind_mapping(on(ONE, P))
    assert shards(sums) == [[1, 2], [3, 4]]
    for target in (CPU(), on(ONE, R), on(ONE, S0), ELSEWHERE, LINE.devices[0]):
        if target is ELSEWHERE:
            target = on(ELSEWHERE, R)
        assert sums.to(target).to_numpy().tolist() == [4, 6]
    assert sums.materialize().to_numpy().tolist() == [4, 6]


# To a device ------------------------------------------------------------------------


@pytest.mark.parametrize("placement", [R, P, S0, S1])
@pytest.mark.parametrize("device", [CPU(), CPU(1), CPU(3), DeviceRef.CPU(3)])
def test_a_device_gathers(placement, device):
    x = Tensor(DATA, device=on(ONE, placement))
    for y in (x.to(device), F.transfer_to(x, device)):
        assert not y.is_distributed
        assert y.device == CPU(device.id)
        assert y._stored().devices() == {CPU(device.id).to_jax()}
        np.testing.assert_array_equal(y.to_numpy(), DATA, strict=True)


def test_materialize_gathers_to_the_first_device():
    x = Tensor(DATA, device=on(ELSEWHERE, S0)).materialize()
    assert x.device == CPU(4)
    np.testing.assert_array_equal(x.to_numpy(), DATA)


def test_a_tensor_that_is_there_comes_back_itself():
    x = Tensor([1.0, 2.0])
    y = x.to(on(ONE, S0))
    assert x.to(CPU()) is x
    assert x.materialize() is x
    assert y.to(ONE) is y
    assert y.to(y.mapping) is y
    assert y.to(NamedMapping(ONE, ("x",))) is y


# To a mesh --------------------------------------------------------------------------


def test_a_mesh_replicates_what_lies_on_one_device():
    x = Tensor(DATA).to(GRID)
    assert x.mapping == DeviceMapping.replicated(GRID)
    assert shards(x) == [DATA.tolist()] * 4


@pytest.mark.parametrize("placement", [R, S0, S1])
@pytest.mark.parametrize("mesh", [LINE, ELSEWHERE, cpu_mesh(2, names=("q",))])
def test_a_mesh_keeps_the_placements_of_what_is_distributed(placement, mesh):
    x = Tensor(DATA, device=on(ONE, placement)).to(mesh)
    assert x.mapping == on(mesh, placement)
    np.testing.assert_array_equal(x.to_numpy(), DATA, strict=True)


def test_a_pending_sum_goes_to_renamed_axes_as_it_is():
    terms = Tensor([1.0, 2.0, 3.0, 4.0], device=on(ONE, S0))
    sums = terms.rebind_mapping(on(ONE, P))
    for target in (cpu_mesh(2, names=("q",)), on(cpu_mesh(2, names=("q",)), P)):
        moved = sums.to(target)
        assert moved.placements == (P,)
        assert moved.mesh.axis_names == ("q",)
        assert shards(moved) == [[1, 2], [3, 4]]


@pytest.mark.parametrize("source", [R, P, S0, S1])
@pytest.mark.parametrize("target", [R, P, S0, S1])
def test_every_move_to_renamed_axes_keeps_the_value(source, target):
    x = Tensor(DATA, device=on(ONE, source))
    y = x.to(on(cpu_mesh(2, names=("q",)), target))
    assert y.mesh.axis_names == ("q",)
    assert y.placements == (target,)
    np.testing.assert_array_equal(y.to_numpy(), DATA, strict=True)
    assert shards(y) == shards(x.to(on(ONE, target)))


def test_a_mapping_on_another_mesh_goes_through_the_value():
    x = Tensor(DATA, device=on(ONE, S0))
    for target in (on(GRID, S1, S0), on(LINE, S1), on(GRID, S1, S1), on(ELSEWHERE, S1)):
        y = x.to(target)
        assert y.mapping == target
        np.testing.assert_array_equal(y.to_numpy(), DATA, strict=True)


def test_a_mesh_of_one_device_is_that_device():
    single = DeviceMesh((CPU(2),), (1,), ("x",))
    for target in (single, on(single, S0), on(single, P)):
        x = Tensor([1.0, 2.0]).to(target)
        assert not x.is_distributed
        assert x.placements == (R,)
        assert x.device == CPU(2)


def test_names_are_not_kept_on_the_tensor():
    x = Tensor([1.0, 2.0]).to(NamedMapping(ONE, ("x",)))
    assert type(x.mapping) is DeviceMapping
    assert x.mapping == on(ONE, S0)


# Recorded ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source", [None, on(ONE, R), on(ONE, S0), on(ONE, P)], ids=repr
)
@pytest.mark.parametrize(
    "target",
    [CPU(), CPU(1), ONE, on(ONE, S1), on(LINE, S0), on(GRID, S0, S1), ELSEWHERE],
)
def test_a_lazy_block_moves_as_eager_code_does(source, target):
    x = Tensor(DATA, device=source)
    try:
        expected = (x + x).to(target)
    except ValueError as error:
        with F.lazy(), pytest.raises(type(error), match="to: "):
            (x + x).to(target)
        return
    with F.lazy():
        y = (x + x).to(target)
        z = y + y
        aside = x + x
    assert y.mapping == expected.mapping
    assert not y.real
    np.testing.assert_array_equal(z.to_numpy(), DATA * 4, strict=True)
    np.testing.assert_array_equal(y.to_numpy(), DATA * 2, strict=True)
    np.testing.assert_array_equal(aside.to_numpy(), DATA * 2, strict=True)
    assert shards(y) == shards(expected)


def test_a_trace_moves_too():
    staged = stage(lambda x: x.to(on(ONE, S0)))(Tensor(DATA).layout)
    assert staged.out_layouts[0].placements == (S0,)


# Errors -----------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["cpu", None, 0, R])
def test_a_target_of_another_kind_is_refused(target):
    with pytest.raises(TypeError, match="to: target must be a Device, DeviceMesh or"):
        Tensor([1.0]).to(target)


@pytest.mark.parametrize("record", [F.ensure_context, F.lazy])
@pytest.mark.parametrize(
    ("source", "target", "error", "message"),
    [
        (None, on(ONE, P), ValueError, "a pending sum can only be made from shards"),
        (on(ONE, R), on(LINE, P), ValueError, "a pending sum can only be made"),
        (on(ONE, R), on(GRID, R, P), ValueError, "a pending sum can only be made"),
        (on(ONE, P), LINE, ValueError, "a pending sum can only be made"),
        (on(ONE, P), ELSEWHERE, ValueError, "a pending sum can only be made"),
        (on(ONE, S0), GRID, ValueError, "must have as many axes as the tensor's"),
        (
            None,
            on(ONE, Sharded(2)),
            IndexError,
            "must name an axis of the tensor",
        ),
        (None, on(ONE, Sharded(-1)), IndexError, "must name an axis of the tensor"),
        (on(ONE, R), on(ONE, Sharded(2)), IndexError, "must name an axis"),
        (None, on(ONE, U), ShardingError, "to or from Unknown"),
        (on(ONE, R), on(ONE, U), ShardingError, "to or from Unknown"),
    ],
)
def test_a_move_that_cannot_be_is_refused_where_it_is_asked_for(
    record, source, target, error, message
):
    x = Tensor(DATA, device=source)
    with pytest.raises(error, match=message):
        x.to(target)
    with record(), pytest.raises(error, match=message):
        x.to(target)


def test_nothing_moves_from_unknown():
    x = Tensor([1.0], device=on(ONE, R)).rebind_mapping(on(ONE, U))
    for target in (CPU(), ONE, on(ONE, R), LINE):
        if target is ONE:
            assert x.to(target) is x
            continue
        with pytest.raises(ShardingError, match="Use rebind_mapping"):
            x.to(target)


def test_size_1_is_not_scattered_from_one_device():
    with pytest.raises(ShardingError, match="size 1 cannot be scattered"):
        Tensor([1.0]).to(on(ONE, S0))


def test_more_devices_than_there_are_is_an_error_that_says_what_to_set():
    many = cpu_mesh(4096)
    with pytest.raises(ValueError, match="jax_num_cpu_devices"):
        Tensor([1.0]).to(many)


# Shards -----------------------------------------------------------------------------


def test_shards_lie_on_the_devices_that_the_mesh_names():
    x = Tensor([1.0, 2.0]).to(on(ONE, S0))
    first, second = x.local_shards
    assert (first.device, second.device) == (CPU(), CPU())
    assert (first + second).to_numpy().tolist() == [3.0]
    assert [b.device for b in x.buffers] == [CPU(), CPU()]
    there = Tensor([1.0, 2.0]).to(on(ELSEWHERE, S0))
    assert [shard.device for shard in there.local_shards] == [CPU(4), CPU(5)]


def test_shards_of_every_placement_are_exact():
    for placements in itertools.product([R, P, S0, S1], repeat=2):
        x = Tensor(DATA, device=on(GRID, *placements))
        with F.ensure_context():
            again = Tensor.from_shard_values(x.local_shards, x.mapping)
        assert again.mapping == x.mapping
        assert again.shape == x.shape
        assert shards(again) == shards(x)
        np.testing.assert_array_equal(again.to_numpy(), DATA, strict=True)


def join(values, mapping=None):
    with F.ensure_context():
        return Tensor.from_shard_values([Tensor(v) for v in values], mapping)


def test_shards_are_joined_as_the_mapping_says():
    assert join([[1], [2]], on(ONE, S0)).to_numpy().tolist() == [1, 2]
    assert join([[1], [2]], on(ONE, P)).to_numpy().tolist() == [3]
    assert join([[1], [1]], on(ONE, R)).to_numpy().tolist() == [1]
    assert join([[[1]], [[2]]], on(ONE, S1)).to_numpy().tolist() == [[1, 2]]
    four = [[1], [2], [3], [4]]
    assert join(four, on(GRID, S0, S0)).to_numpy().tolist() == [1, 2, 3, 4]
    assert join(four, on(GRID, S0, P)).to_numpy().tolist() == [3, 7]
    assert join(four, on(GRID, P, S0)).to_numpy().tolist() == [4, 6]
    assert join([[1], [2]], on(ONE, U)).shape == [1]


def test_shards_may_come_from_anywhere():
    values = [Tensor([1.0], device=CPU(3)), Tensor([2.0], device=CPU(3))]
    with F.ensure_context():
        joined = Tensor.from_shard_values(values, on(ONE, S0))
    assert joined.to_numpy().tolist() == [1, 2]


def test_one_value_needs_no_mapping():
    assert join([[1.0]]).to_numpy().tolist() == [1.0]


@pytest.mark.parametrize(
    ("values", "mapping", "message"),
    [
        ([[1], [2]], None, "a mapping must say what several values are"),
        ([[1]], on(ONE, S0), "one shard per device, got 1"),
        ([[1], [2], [3]], on(ONE, S0), "one shard per device, got 3"),
        ([[1], [2, 3]], on(ONE, R), r"got float32\[1\] and float32\[2\]"),
        ([[1], [2, 3]], on(ONE, U), r"got float32\[1\] and float32\[2\]"),
        ([[1], [[2]]], on(ONE, S0), r"got float32\[1\] and float32\[1, 1\]"),
        ([[1], np.array([2])], on(ONE, S0), r"got float32\[1\] and int64\[1\]"),
        ([[1], [2]], on(ONE, S1), r"Sharded\(axis=1\)"),
    ],
)
def test_shards_that_do_not_fit_are_refused(values, mapping, message):
    with pytest.raises(ValueError, match=message):
        join(values, mapping)


def test_shards_are_tensors_on_one_device():
    with F.ensure_context():
        with pytest.raises(TypeError, match="shard_values must be a Tensor, got ndarr"):
            Tensor.from_shard_values([np.ones(1), np.ones(1)], on(ONE, S0))
        with pytest.raises(ValueError, match="must lie on one device"):
            Tensor.from_shard_values([F.ones([2], device=ONE)] * 2, on(ONE, S0))


def test_joining_needs_a_context():
    with pytest.raises(LookupError, match="no context is open"):
        Tensor.from_shard_values([Tensor([1.0])])


@pytest.mark.parametrize("source", [R, P, S0, S1, U])
@pytest.mark.parametrize("target", [R, P, S0, S1, U])
def test_rebinding_keeps_the_shards_and_changes_what_they_are(source, target):
    start = on(ONE, S0 if source == U else source)
    x = Tensor(DATA, device=start).rebind_mapping(on(ONE, source))
    y = x.rebind_mapping(on(ONE, target))
    assert y.mapping == on(ONE, target)
    assert shards(y) == shards(x)
    pieces = [np.array(shard) for shard in shards(x)]
    want = {
        R: lambda: pieces[0],
        P: lambda: sum(pieces),
        S0: lambda: np.concatenate(pieces, 0),
        S1: lambda: np.concatenate(pieces, 1),
    }
    if target == U:
        assert y.shape == list(pieces[0].shape)
        return
    assert y.shape == list(want[target]().shape)
    np.testing.assert_array_equal(y.to_numpy(), want[target](), strict=True)


def test_rebinding_stays_on_the_mesh():
    x = Tensor([1.0, 2.0], device=on(ONE, S0))
    for mesh in (cpu_mesh(2, names=("q",)), LINE, ELSEWHERE):
        with pytest.raises(ValueError, match="the mesh must stay the same"):
            x.rebind_mapping(on(mesh, R))
    with pytest.raises(TypeError, match="mapping must be a DeviceMapping, got Device"):
        x.rebind_mapping(ONE)
    with pytest.raises(ValueError, match=r"Sharded\(axis=3\)"):
        x.rebind_mapping(on(ONE, Sharded(3)))
    one = Tensor([1.0])
    assert one.rebind_mapping(one.mapping).to_numpy().tolist() == [1.0]


def test_a_pending_tensor_is_computed_before_its_shards_are_renamed():
    with F.lazy():
        x = Tensor([1.0, 2.0], device=on(ONE, S0)) * 2
        with pytest.raises(TypeError, match="before"):
            x.rebind_mapping(on(ONE, P))
    assert x.rebind_mapping(on(ONE, P)).to_numpy().tolist() == [6.0]


def test_moves_keep_the_dtype():
    for dtype in (DType.bool, DType.int8, DType.uint64, DType.float16, DType.bfloat16):
        x = F.ones([2], dtype=dtype, device=on(ONE, S0))
        for target in (CPU(), on(ONE, R), LINE.devices[0], ELSEWHERE):
            assert x.to(target).dtype is dtype
            assert x.to(target).to_numpy().tolist() == [1, 1]
