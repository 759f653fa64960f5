"""Ops that move, join or repeat elements."""

import pytest

from maxlite.graph import Dim
from maxlite.sharding import ShardingError
from maxlite.sharding.rules import (
    band_part_rule,
    broadcast_to_rule,
    chunk_rule,
    concat_rule,
    pad_rule,
    permute_rule,
    repeat_interleave_rule,
    split_rule,
    squeeze_rule,
    stack_rule,
    tile_rule,
    transpose_rule,
    unsqueeze_rule,
)
from tests.sharding.planning import act, plan

PAD = {"mode": "constant", "value": 0}


@pytest.mark.parametrize(
    ("rule", "params", "x", "want"),
    [
        (transpose_rule, {"axis_1": 0, "axis_2": 1}, "4,4 S0", "S1"),
        (transpose_rule, {"axis_1": 1, "axis_2": 0}, "4,4 S1 P", "S0 P"),
        (transpose_rule, {"axis_1": 0, "axis_2": 1}, "4,4 P", "P"),
        (transpose_rule, {"axis_1": 1, "axis_2": 2}, "2,4,4 S0", "S0"),
        (transpose_rule, {"axis_1": 1, "axis_2": 1}, "4,4 S1", "S1"),
        (permute_rule, {"dims": (1, 2, 0)}, "2,4,4 S0", "S2"),
        (permute_rule, {"dims": (1, 2, 0)}, "2,4,4 S1 S2", "S0 S1"),
        (permute_rule, {"dims": (0,)}, "4 P", "P"),
        (unsqueeze_rule, {"axis": 0}, "4,4 P", "P"),
        (unsqueeze_rule, {"axis": 0}, "4,4 S0", "S1"),
        (unsqueeze_rule, {"axis": 1}, "4,4 S0 S1", "S0 S2"),
        (unsqueeze_rule, {"axis": 2}, "4,4 S1", "S1"),
        (squeeze_rule, {"axis": 1}, "4,1,4 P", "P"),
        (squeeze_rule, {"axis": 1}, "4,1,4 S0 S2", "S0 S1"),
        (broadcast_to_rule, {"shape": (3, 4, 4)}, "4,4 R", "R"),
        (broadcast_to_rule, {"shape": (3, 4, 4)}, "4,4 S0 P", "S1 P"),
        (broadcast_to_rule, {"shape": (4, 4)}, "4,1 S0", "S0"),
        (broadcast_to_rule, {"shape": (1, 4)}, "1,4 S0", "S0"),
        (broadcast_to_rule, {"shape": (Dim("n"), 4)}, "n,1 S0", "S0"),
        (tile_rule, {"repeats": (2, 1)}, "4,4 S1", "S1"),
        (tile_rule, {"repeats": (1, 1)}, "4,4 S0", "S0"),
        (tile_rule, {"repeats": (2, 2)}, "4,4 P", "P"),
        (repeat_interleave_rule, {"axis": 0}, "4,4 S1", "S1"),
        (repeat_interleave_rule, {"axis": 0}, "4,4 P", "P"),
        (pad_rule, {"paddings": (1, 1, 0, 0), **PAD}, "4,4 S1", "S1"),
        (pad_rule, {"paddings": (1, 1, 0, 0), **PAD}, "4,4 P", "P"),
        (pad_rule, {"paddings": (0, 0, 1, 0), **PAD}, "4,4 S0 P", "S0 P"),
        (pad_rule, {"paddings": (0, 0, 0, 0), **PAD}, "4,4 S0 S1", "S0 S1"),
        (
            pad_rule,
            {"paddings": (1, 1, 0, 0), "mode": "reflect", "value": 0},
            "4 P",
            "P",
        ),
        (band_part_rule, {}, "4,4 P", "P"),
        (band_part_rule, {}, "2,4,4 S0", "S0"),
    ],
)
def test_a_cut_follows_its_axis(rule, params, x, want):
    assert plan(rule, [x], **params) == want


@pytest.mark.parametrize(
    ("rule", "params", "x", "silent"),
    [
        (squeeze_rule, {"axis": 0}, "1,4 S0", "R"),
        (tile_rule, {"repeats": (2, 1)}, "4,4 S0", "R"),
        (repeat_interleave_rule, {"axis": 1}, "4,4 S1", "R"),
        (pad_rule, {"paddings": (1, 1, 0, 0), **PAD}, "4,4 S0", "R"),
        (
            pad_rule,
            {"paddings": (1, 1, 0, 0), "mode": "constant", "value": 5},
            "4,4 P",
            "R",
        ),
        (band_part_rule, {}, "4,4 S0", "R"),
        (band_part_rule, {}, "2,4,4 S2", "R"),
    ],
)
def test_elements_that_change_devices_need_their_axis_whole(rule, params, x, silent):
    assert plan(rule, [x], **params) == "raises"
    assert plan(rule, [x], region="silent", **params) == silent


@pytest.mark.parametrize("region", ["default", "silent", "all"])
def test_a_sharded_axis_is_not_stretched(region):
    with pytest.raises(ShardingError, match="must not be sharded, got Sharded"):
        act(broadcast_to_rule, ["1,4 S0"], region=region, shape=(4, 4))


@pytest.mark.parametrize(
    ("operands", "axis", "default", "silent"),
    [
        (["4,4 R", "4,4 R"], 0, "R", "R"),
        (["4,4 P", "4,4 P"], 0, "P", "P"),
        (["4,4 S1", "4,4 S1"], 0, "S1", "S1"),
        (["4,4 S0", "4,2 S0"], 1, "S0", "S0"),
        (["4,4 S0", "2,4 S0"], 0, "S0", "S0"),
        (["4,4 S1", "4,4 S0"], 0, "raises", "S0"),
        (["4,4 S0", "4,4 R"], 0, "raises", "S0"),
        (["4,4 S0", "1,4 R"], 0, "raises", "R"),
        (["4,4 R", "4,4 P"], 0, "raises", "R"),
        (["4,4 S0", "4,4 S0", "4,4 R"], 1, "raises", "S0"),
        (["4,4 S0"], 0, "S0", "S0"),
        (["4,4 S0 S1", "4,4 S0 S1"], 1, "S0 S1", "S0 S1"),
    ],
)
def test_concat(operands, axis, default, silent):
    assert plan(concat_rule, operands, axis=axis) == default
    assert plan(concat_rule, operands, region="silent", axis=axis) == silent


@pytest.mark.parametrize(
    ("operands", "axis", "default", "silent"),
    [
        (["4,4 S0", "4,4 S0"], 0, "S1", "S1"),
        (["4,4 S0", "4,4 S0"], 1, "S0", "S0"),
        (["4,4 S1", "4,4 S1"], 2, "S1", "S1"),
        (["4,4 P", "4,4 P"], 0, "P", "P"),
        (["4,4 R", "4,4 P"], 0, "raises", "R"),
        (["4,4 R", "4,4 S1"], 2, "raises", "S1"),
    ],
)
def test_stack(operands, axis, default, silent):
    assert plan(stack_rule, operands, axis=axis) == default
    assert plan(stack_rule, operands, region="silent", axis=axis) == silent


@pytest.mark.parametrize(
    ("x", "axis", "sizes", "default", "silent"),
    [
        ("4,4 S1", 0, (2, 2), "S1 | S1", "S1 | S1"),
        ("4,4 S0", 1, (1, 3), "S0 | S0", "S0 | S0"),
        ("4,4 P", 0, (3, 1), "P | P", "P | P"),
        ("5 R", 0, (2, 2, 1), "R | R | R", "R | R | R"),
        ("4,4 S1", 1, (1, 3), "raises", "R | R"),
        ("5 S0", 0, (2, 3), "raises", "R | R"),
        # Along the cut, where every device gets a share of each piece.
        ("4,4 S0", 0, (2, 2), "S0 | S0", "S0 | S0"),
        ("8 S0", 0, (2, 6), "S0 | S0", "S0 | S0"),
        ("8 S0 S0", 0, (4, 4), "S0 S0 | S0 S0", "S0 S0 | S0 S0"),
        ("8 S0 S0", 0, (2, 6), "raises", "R R | R R"),
        ("8 S0 P", 0, (2, 6), "S0 P | S0 P", "S0 P | S0 P"),
    ],
)
def test_split(x, axis, sizes, default, silent):
    assert plan(split_rule, [x], axis=axis, sizes=sizes) == default
    assert plan(split_rule, [x], region="silent", axis=axis, sizes=sizes) == silent


@pytest.mark.parametrize(
    ("x", "axis", "default", "silent"),
    [
        ("4,4 P", 0, "P | P", "P | P"),
        ("4,4 S1", 0, "S1 | S1", "S1 | S1"),
        ("4,4 S0", 0, "raises", "R | R"),
    ],
)
def test_chunk(x, axis, default, silent):
    assert plan(chunk_rule, [x], axis=axis, sizes=(2, 2)) == default
    assert plan(chunk_rule, [x], region="silent", axis=axis, sizes=(2, 2)) == silent


@pytest.mark.parametrize(
    ("x", "default"), [("4,4 R", "R"), ("4,4 S1", "S1"), ("4,4 P", "raises")]
)
def test_pad_with_an_operand(x, default):
    for operand in ("number", "()"):
        assert default == plan(
            pad_rule,
            [x, operand],
            paddings=(1, 1, 0, 0),
            mode="constant",
            value=None,
        )
