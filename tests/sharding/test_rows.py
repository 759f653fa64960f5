"""The rules that users take from the shelf."""

import pytest

from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import (
    DeviceMapping,
    Partial,
    Placement,
    Replicated,
    Sharded,
    ShardingError,
    TensorLayout,
)
from maxlite.sharding._assignment import AxisAssignment
from maxlite.sharding._rows import match_operand_placement, replicated_rows
from tests.sharding.meshes import cpu_mesh

R, P = Replicated(), Partial()


def layout(*placements: Placement) -> TensorLayout:
    """Makes a matrix layout; without placements, on one device."""
    device = CPU()
    if placements:
        device = DeviceMapping(cpu_mesh(*(2,) * len(placements)), placements)
    return TensorLayout(DType.float32, [4, 4], device)


def add(lhs: object, rhs: object) -> None:
    """Stands for an op of a graph."""


def test_every_layout_is_whole():
    rows = replicated_rows(layout(), 2, output_count=2)
    assert rows == [AxisAssignment((R,), (R, R))]


def test_layouts_count_inside_containers():
    rows = replicated_rows([layout(P), (layout(R),)], {"a": layout(Sharded(0))}, 0)
    assert rows == [AxisAssignment((R, R, R), (R,))]


def test_a_rule_needs_a_layout():
    with pytest.raises(ValueError, match=r"at least one layout, got \[2\.0\]"):
        replicated_rows(2.0)


@pytest.mark.parametrize(
    ("lhs", "rhs", "rows"),
    [
        (layout(Sharded(0)), layout(R), [((Sharded(0), R), Sharded(0))]),
        (layout(R), layout(Sharded(0)), [((R, Sharded(0)), R)]),
        (layout(P), layout(P), [((P, P), P)]),
        (layout(Sharded(0)), layout(), [((Sharded(0), R), Sharded(0))]),
        (layout(), layout(P), [((R, P), R)]),
        (layout(Sharded(0)), 2.0, [((Sharded(0),), Sharded(0))]),
        (
            layout(Sharded(0), Sharded(1)),
            layout(R, R),
            [((Sharded(0), R), Sharded(0)), ((Sharded(1), R), Sharded(1))],
        ),
        (layout(P, P), layout(R, R), [((P, R), P)]),
    ],
)
def test_results_lie_as_the_named_operand(lhs, rhs, rows):
    rule = match_operand_placement(add, "lhs")
    assert rule(lhs, rhs) == [AxisAssignment(needed, (out,)) for needed, out in rows]
    assert rule(rhs=rhs, lhs=lhs) == rule(lhs, rhs)


def test_several_results_lie_alike():
    rule = match_operand_placement(add, "rhs", output_count=2)
    assert rule(layout(R), layout(P)) == [AxisAssignment((R, P), (P, P))]


def test_the_name_must_be_a_parameter():
    rule = match_operand_placement(add, "nope")
    with pytest.raises(ValueError, match="parameter of 'add', got 'nope'"):
        rule(layout(R), layout(R))


@pytest.mark.parametrize("found", [2.0, [layout(R)]])
def test_the_parameter_must_hold_a_tensor(found):
    rule = match_operand_placement(add, "lhs")
    with pytest.raises(ShardingError, match="'lhs' of 'add' must hold a tensor"):
        rule(found, layout(R))
