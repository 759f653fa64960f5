"""Placements, the moves between them, and the sizes of shards."""

import copy
import dataclasses
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxlite.graph import Dim, StaticDim
from maxlite.sharding import (
    ALL_TRANSITIONS,
    DEFAULT_TRANSITIONS,
    ConversionError,
    Partial,
    Placement,
    Replicated,
    Sharded,
    ShardingError,
    Unknown,
)
from maxlite.sharding._per_shard_dim import PerShardDim
from maxlite.sharding._placements import Collective, shard_range
from tests.sharding.meshes import cpu_mesh

PLACEMENTS = (Replicated(), Sharded(0), Sharded(1), Partial(), Unknown())


@pytest.mark.parametrize(
    "text", ["Replicated()", "Sharded(axis=2)", "Partial()", "Unknown()"]
)
def test_a_placement_prints_as_it_is_made(text: str):
    placement = eval(text)
    assert repr(placement) == str(placement) == text


def test_placements_compare_and_hash_by_kind_and_axis():
    assert len({*PLACEMENTS, Sharded(0), Replicated(), Partial(), Unknown()}) == 5
    for i, a in enumerate(PLACEMENTS):
        for j, b in enumerate(PLACEMENTS):
            assert (a == b) == (i == j)
    assert Replicated() != 0
    assert Sharded(0) != 0


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_copies_are_equal(placement: Placement):
    for other in (copy.deepcopy(placement), pickle.loads(pickle.dumps(placement))):
        assert other == placement
        assert hash(other) == hash(placement)


@pytest.mark.parametrize("placement", [Replicated(), Sharded(0)])
def test_a_placement_cannot_be_changed(placement):
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        placement.axis = 1


def test_the_base_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Placement()  # pyright: ignore[reportAbstractUsage]


def test_partial_is_always_a_sum():
    with pytest.raises(TypeError, match="positional argument"):
        Partial("sum")  # pyright: ignore[reportCallIssue]


def test_sharded_takes_any_int():
    assert repr(Sharded(-1)) == "Sharded(axis=-1)"
    with pytest.raises(TypeError, match="must be an int, got 'x' of type str"):
        Sharded("x")  # pyright: ignore[reportArgumentType]


def test_only_sharded_has_a_localized_axis():
    assert [p.localized_axis() for p in PLACEMENTS] == [None, 0, 1, None, None]


@pytest.mark.parametrize(
    ("source", "moves"),
    [
        (Replicated(), "noop local_slice local_slice keep_one_copy infeasible"),
        (Sharded(0), "allgather noop all_to_all infeasible infeasible"),
        (Sharded(1), "allgather all_to_all noop infeasible infeasible"),
        (Partial(), "allreduce reduce_scatter reduce_scatter noop infeasible"),
        (Unknown(), "infeasible infeasible infeasible infeasible noop"),
    ],
)
def test_transition_to_names_the_collective(source: Placement, moves: str):
    found = [source.transition_to(target).value for target in PLACEMENTS]
    assert found == moves.split()


def test_a_collective_is_named_in_upper_case():
    for collective in Collective:
        assert collective.name == collective.value.upper()


def test_the_sets_of_transitions():
    assert {
        (Replicated, Sharded),
        (Sharded, Replicated),
        (Sharded, Sharded),
        (Partial, Replicated),
    } == DEFAULT_TRANSITIONS
    assert {(Partial, Sharded)} == ALL_TRANSITIONS - DEFAULT_TRANSITIONS


def test_the_errors_have_the_reference_s_bases():
    assert ShardingError.__bases__ == (RuntimeError,)
    assert ConversionError.__bases__ == (Exception,)


@pytest.mark.parametrize("placement", [Replicated(), Partial(), Unknown()])
@pytest.mark.parametrize("size", [5, "n", Dim("n") * 2])
def test_a_whole_axis_keeps_its_size(placement: Placement, size):
    assert placement.local_dim(size, cpu_mesh(2), 0) == size


def test_an_even_split_is_one_dim():
    local = Sharded(0).local_dim(6, cpu_mesh(2), "x")
    assert isinstance(local, StaticDim)
    assert local == 3
    assert Sharded(0).local_dim(0, cpu_mesh(2), 0) == 0
    assert Sharded(0).local_dim(6, cpu_mesh(2), ()) == 6


@pytest.mark.parametrize(
    ("size", "shape", "axes", "sizes"),
    [
        (5, (4,), 0, (2, 1, 1, 1)),
        (3, (4,), 0, (1, 1, 1, 0)),
        (1, (2,), 0, (1, 0)),
        (5, (2, 2), (0, 1), (2, 1, 1, 1)),
        (7, (2, 2), (0, 1), (2, 2, 2, 1)),
        (7, (2, 2), ("y", "x"), (2, 2, 2, 1)),
        (7, (2, 2), 0, (4, 4, 3, 3)),
        (7, (2, 3), 1, (3, 2, 2, 3, 2, 2)),
    ],
)
def test_an_uneven_split_lists_one_size_per_device(size: int, shape, axes, sizes):
    local = Sharded(0).local_dim(size, cpu_mesh(*shape), axes)
    assert isinstance(local, PerShardDim)
    assert local.per_shard == sizes
    assert local.global_dim is None


@given(st.integers(0, 40), st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_shards_follow_one_another_and_differ_by_one_at_most(size: int, shape):
    mesh = cpu_mesh(*shape)
    axes = tuple(range(len(shape)))
    ranges = [shard_range(size, mesh, axes, i) for i in range(mesh.num_devices)]
    assert [index for part in ranges for index in part] == list(range(size))
    assert max(map(len, ranges)) - min(map(len, ranges)) <= 1


def test_a_sharded_symbol_gets_a_name_per_shard():
    local = Sharded(0).local_dim("n", cpu_mesh(2), 0)
    assert repr(local) == "PerShardDim((Dim('n_x_0'), Dim('n_x_1')))"
    local = Sharded(0).local_dim("n", cpu_mesh(2, 2), (0, 1))
    assert str(local) == "(n_x_0_y_0 | n_x_0_y_1 | n_x_1_y_0 | n_x_1_y_1)"
    assert Sharded(0).local_dim("n", cpu_mesh(1), 0) == "n_x_0"


def test_a_symbol_may_be_kept_from_getting_new_names():
    with pytest.raises(ShardingError, match="a number here, got the symbol n"):
        Sharded(0).local_dim("n", cpu_mesh(2), 0, allow_symbolic_mint=False)
    assert Sharded(0).local_dim(4, cpu_mesh(2), 0, allow_symbolic_mint=False) == 2


def test_an_expression_cannot_be_cut():
    with pytest.raises(ShardingError, match=r"a number or one symbol, got n \* 2"):
        Sharded(0).local_dim(Dim("n") * 2, cpu_mesh(2), 0)


def test_local_dim_refuses_an_axis_that_the_mesh_lacks():
    with pytest.raises(IndexError, match="below 1"):
        Sharded(0).local_dim(4, cpu_mesh(2), 1)


def test_a_list_of_sizes_with_a_global_size_reads_as_that_size():
    sizes = PerShardDim((3, 2), global_dim=5)
    assert repr(sizes) == "PerShardDim((Dim(3), Dim(2)), global=Dim(5))"
    assert str(sizes) == "5"
    assert int(sizes) == 5
    assert hash(sizes) == hash(5)
    assert 5 == sizes == Dim(5) == sizes == PerShardDim((4, 1), global_dim=5)
    assert sizes != 6
    assert sizes + 1 == 1 + sizes == 6
    assert PerShardDim((1, 1), global_dim="n") == "n"
    assert list(PerShardDim((1, 1), global_dim="n").parameters) == ["n"]


def test_a_list_of_sizes_alone_equals_only_the_same_list():
    sizes = PerShardDim(("a", "b"))
    assert repr(sizes) == "PerShardDim((Dim('a'), Dim('b')))"
    assert str(sizes) == "(a | b)"
    assert list(sizes.parameters) == ["a", "b"]
    assert sizes == PerShardDim(("a", "b")) != PerShardDim(("b", "a"))
    assert hash(sizes) == hash(PerShardDim(("a", "b")))
    assert PerShardDim((3, 2)) != 5
    assert PerShardDim((3, 2)) + 1 != PerShardDim((2, 3)) + 1
    with pytest.raises(TypeError, match="global size must be a number"):
        int(sizes)


@pytest.mark.parametrize("global_dim", [None, 5, "n"])
def test_a_list_of_sizes_survives_pickling(global_dim):
    sizes = PerShardDim((3, 2), global_dim=global_dim)
    other = pickle.loads(pickle.dumps(sizes))
    assert (repr(other), other) == (repr(sizes), sizes)
