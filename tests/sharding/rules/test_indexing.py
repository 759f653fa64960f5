"""Indexing, gathering and scattering."""

import pytest

from maxlite.graph import Dim
from maxlite.sharding.rules import (
    all_replicated_rule,
    gather_nd_rule,
    gather_rule,
    index_rule,
    index_update_rule,
    mask_update_rule,
    scatter_rule,
    slice_rule,
    slice_update_rule,
)
from tests.sharding.planning import plan

BARE = ("slice", None, None, 1)
NEW = ("new",)
TAKE = ("take",)


@pytest.mark.parametrize(
    ("x", "index", "default", "silent"),
    [
        ("4,4 S1", (("int", 0),), "S0", "S0"),
        ("4,4 S0", (("int", 0),), "raises", "R"),
        ("4,4 P", (("int", 0),), "P", "P"),
        ("4,4 S0", (BARE, ("int", 0)), "S0", "S0"),
        ("4,4 S1", (BARE, ("int", 0)), "raises", "R"),
        ("4,4 P", (("slice", 1, 3, 1),), "P", "P"),
        ("4,4 S0", (("slice", 0, 4, 1),), "raises", "R"),
        ("4,4 S0", (("slice", None, Dim("n"), 1),), "raises", "R"),
        ("4,4 S1", (BARE,), "S1", "S1"),
        ("4,4 S1", (("slice", None, None, 2),), "S1", "S1"),
        ("4,4 S0", (("slice", None, None, 2),), "raises", "R"),
        ("4,4 S0", (BARE, ("slice", 1, None, 1)), "S0", "S0"),
        ("4,4,4 S1", (("int", 0), BARE, ("int", 0)), "S0", "S0"),
        ("4,4,4 S2 S1", (("int", 0),), "S1 S0", "S1 S0"),
        ("4,4 S1", (), "S1", "S1"),
        # A new axis moves cuts to the right.
        ("4,4 S1", (NEW,), "S2", "S2"),
        ("4,4 S0 S1", (BARE, NEW), "S0 S2", "S0 S2"),
        ("4,4 S1", (("int", 0), NEW), "S1", "S1"),
        ("4,4 S1", (("window", 2, 1),), "S1", "S1"),
        ("4,4 S0", (("window", 2, 1),), "raises", "R"),
        ("4,4 S1", (("slice", None, None, -1),), "S1", "S1"),
        ("4,4 S0", (("slice", None, None, -1),), "raises", "R"),
    ],
)
def test_slicing(x, index, default, silent):
    assert plan(slice_rule, [x], index=index) == default
    assert plan(slice_rule, [x], region="silent", index=index) == silent


@pytest.mark.parametrize(
    ("x", "position", "default", "silent"),
    [
        ("4,4 S1", "() R", "S0", "S0"),
        ("4,4 P", "() R", "P", "P"),
        ("4,4 P", "() P", "raises", "P"),
        ("4,4 S0", "() R", "raises", "R"),
        ("4,4 S1", "()", "S0", "S0"),
    ],
)
def test_a_position_known_at_run_time(x, position, default, silent):
    params = {"index": (("dynamic",),)}
    assert plan(slice_rule, [x, position], **params) == default
    assert plan(slice_rule, [x, position], region="silent", **params) == silent


@pytest.mark.parametrize(
    ("x", "indices", "axis", "default", "silent"),
    [
        ("4,4 R", "2 R", 0, "R", "R"),
        ("4,4 R", "2 S0", 0, "S0", "S0"),
        ("4,4 R", "2,2 S1", 1, "S2", "S2"),
        ("4,4 S1", "2 R", 0, "S1", "S1"),
        ("4,4 S1", "2,2 R", 0, "S2", "S2"),
        ("4,4 S0", "2,2 R", 1, "S0", "S0"),
        ("4,4 S1", "() R", 0, "S0", "S0"),
        ("4,4 P", "2,2 R", 1, "P", "P"),
        ("4,4 S0", "2 R", 0, "raises", "R"),
        ("4,4 S0", "2 S0", 0, "raises", "S0"),
        ("4,4 S1", "2 S0", 0, "raises", "S1"),
        ("4,4 R", "2 P", 0, "raises", "R"),
        ("4,4 P", "2 P", 0, "raises", "P"),
        ("4,4 S1 R", "2 R S0", 0, "S1 S0", "S1 S0"),
    ],
)
def test_gather(x, indices, axis, default, silent):
    assert plan(gather_rule, [x, indices], axis=axis) == default
    assert plan(gather_rule, [x, indices], region="silent", axis=axis) == silent


@pytest.mark.parametrize(
    ("x", "indices", "batch_dims", "default", "silent"),
    [
        ("4,4 R", "2,1 R", 0, "R", "R"),
        ("4,4 P", "2,1 R", 0, "P", "P"),
        ("4,4 R", "2,1 S0", 0, "raises", "R"),
        ("4,4 S1", "2,1 R", 0, "raises", "R"),
        ("4,4 S0", "4,1 S0", 1, "S0", "S0"),
    ],
)
def test_gather_nd(x, indices, batch_dims, default, silent):
    params = {"batch_dims": batch_dims}
    assert plan(gather_nd_rule, [x, indices], **params) == default
    assert plan(gather_nd_rule, [x, indices], region="silent", **params) == silent


@pytest.mark.parametrize(
    ("operands", "default", "silent"),
    [
        (["4,4 R", "2,4 R", "2,4 R"], "R", "R"),
        (["4,4 S1", "2,4 S1", "2,4 S1"], "S1", "S1"),
        (["4,4 S1", "2,4 R", "2,4 R"], "raises", "S1"),
        (["4,4 S0", "2,4 R", "2,4 R"], "raises", "R"),
        (["4,4 P", "2,4 P", "2,4 R"], "raises", "R"),
    ],
)
def test_scatter(operands, default, silent):
    assert plan(scatter_rule, operands, axis=0) == default
    assert plan(scatter_rule, operands, region="silent", axis=0) == silent


def test_scatter_nd_needs_everything_whole():
    operands = ["4,4 S1", "2,4 S1", "2,1 R"]
    assert plan(all_replicated_rule, operands) == "raises"
    assert plan(all_replicated_rule, operands, region="silent") == "R"


@pytest.mark.parametrize(
    ("x", "value", "index", "default", "silent"),
    [
        ("4,4 R", "4 R", (("int", 0),), "R", "R"),
        ("4,4 S1", "4 S0", (("int", 0),), "S1", "S1"),
        ("4,4 P", "4 P", (("int", 0),), "P", "P"),
        ("4,4 S0 P", "4 S0 P", (BARE, ("dynamic",)), "S0 P", "S0 P"),
        ("4,4 S1", "4 R", (("int", 0),), "raises", "S1"),
        ("4,4 S0", "4 R", (("int", 0),), "raises", "R"),
        ("4,4 P", "4 R", (("int", 0),), "raises", "R"),
        # Where the value is broadcast it is whole.
        ("4,4 S0", "4 R", (BARE,), "S0", "S0"),
        ("4,4 S0", "1,4 R", (BARE,), "S0", "S0"),
        ("4,4 S1", "4 S0", (BARE,), "S1", "S1"),
        ("4,4 S1", "4,1 R", (), "S1", "S1"),
        ("4,4 S0 S1", "number", (), "S0 S1", "S0 S1"),
        ("4,4 P", "number", (), "P", "P"),
    ],
)
def test_slice_update(x, value, index, default, silent):
    positions = ["number"] * sum(step == ("dynamic",) for step in index)
    operands = [x, value, *positions]
    assert plan(slice_update_rule, operands, index=index) == default
    assert plan(slice_update_rule, operands, region="silent", index=index) == silent


@pytest.mark.parametrize(
    ("operands", "index", "in_front", "default", "silent"),
    [
        (["4,4 S1", "2 R"], (TAKE,), False, "S1", "S1"),
        (["4,4 S1", "2,2 R"], (TAKE,), False, "S2", "S2"),
        (["4,4 S0", "2 R"], (TAKE,), False, "raises", "R"),
        (["4,4 R", "2,2 S1"], (BARE, TAKE), False, "S2", "S2"),
        (["4,4 S0 R", "2 R S0"], (BARE, TAKE), False, "S0 S1", "S0 S1"),
        (["4,4 P", "2 R"], (TAKE,), False, "P", "P"),
        (["4,4 R", "2 P"], (TAKE,), False, "raises", "R"),
        # Positions broadcast: what lacks an axis, or has size 1, is whole.
        (["4,4 R", "2,1 S0", "4 R"], (TAKE, TAKE), False, "S0", "S0"),
        (["4,4 R", "2,1 R", "4 S0"], (TAKE, TAKE), False, "S1", "S1"),
        (["4,4 R", "2 S0", "2 R"], (TAKE, TAKE), False, "raises", "S0"),
        # In front, all other axes move to the right.
        (["4,4,4 S1", "2 R", "2 R"], (TAKE, BARE, TAKE), True, "S1", "S1"),
        (["4,4,4 S1", "2,2 R", "number"], (TAKE, BARE, ("dynamic",)), True, "S2", "S2"),
        (["4,4,4 R", "2 S0"], (("int", 0), BARE, TAKE), True, "S0", "S0"),
        (["4,4 S1", "2 R"], (NEW, TAKE), False, "S2", "S2"),
        (["4,4,4 R", "6,2 S0"], (("columns", 2),), False, "S0", "S0"),
        (["4,4,4 S2", "6,2 R"], (("columns", 2),), False, "S1", "S1"),
        (["4,4,4 R", "6,2 S1"], (("columns", 2),), False, "raises", "R"),
    ],
)
def test_reading_at_positions(operands, index, in_front, default, silent):
    params = {"index": index, "in_front": in_front}
    assert plan(index_rule, operands, **params) == default
    assert plan(index_rule, operands, region="silent", **params) == silent


@pytest.mark.parametrize(
    ("operands", "index", "in_front", "default", "silent"),
    [
        (["4,4 S1", "2,4 S1", "2 R"], (TAKE,), False, "S1", "S1"),
        (["4,4 S1", "2,1 R", "2 R"], (TAKE,), False, "S1", "S1"),
        (["4,4 S0", "4,2 S0", "2 R"], (BARE, TAKE), False, "S0", "S0"),
        (["4,4,4 S1", "2,4 S1", "2 R", "2 R"], (TAKE, BARE, TAKE), True, "S1", "S1"),
        (["4,4 P", "2,4 P", "2 R"], (TAKE,), False, "P", "P"),
        (["4,4 P", "number", "2 R"], (TAKE,), False, "P", "P"),
        (["4,4 S0", "2,4 R", "2 R"], (TAKE,), False, "raises", "R"),
        # Positions that are cut could name one element twice.
        (["4,4 R", "2,4 S0", "2 S0"], (TAKE,), False, "raises", "R"),
    ],
)
def test_writing_at_positions(operands, index, in_front, default, silent):
    params = {"index": index, "in_front": in_front}
    assert plan(index_update_rule, operands, **params) == default
    assert plan(index_update_rule, operands, region="silent", **params) == silent


@pytest.mark.parametrize(
    ("operands", "index", "in_front", "default", "silent"),
    [
        (["4,4 S0", "number", "4,4 S0"], (("mask", 2),), False, "S0", "S0"),
        (["4,4 S1", "() R", "4,4 S1"], (("mask", 2),), False, "S1", "S1"),
        (["4,4 S0", "4 R", "4 S0"], (("mask", 1),), False, "S0", "S0"),
        (["4,4 S1", "4 S0", "4 R"], (("mask", 1),), False, "S1", "S1"),
        (["4,4 S1", "1,4 S1", "4 R"], (("mask", 1),), False, "S1", "S1"),
        (["4,4 S0", "4,1 S0", "4 R"], (BARE, ("mask", 1)), False, "S0", "S0"),
        (
            ["4,4,4 S1", "4 S0", "4 R"],
            (("int", 0), BARE, ("mask", 1)),
            True,
            "S1",
            "S1",
        ),
        (["4,4 P", "4 P", "4 R"], (("mask", 1),), False, "P", "P"),
        (["4,4 S0", "number", "4,4 R"], (("mask", 2),), False, "raises", "S0"),
        (["4,4 S0", "number", "4 R"], (("int", 0), ("mask", 1)), False, "raises", "R"),
    ],
)
def test_writing_where_a_mask_marks(operands, index, in_front, default, silent):
    params = {"index": index, "in_front": in_front}
    assert plan(mask_update_rule, operands, **params) == default
    assert plan(mask_update_rule, operands, region="silent", **params) == silent
