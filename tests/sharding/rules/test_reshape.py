"""Reshape and flatten: where a cut of the input is a cut of the result."""

import pytest

from maxlite.graph import Dim
from maxlite.sharding.rules import flatten_rule, reshape_rule
from tests.sharding.planning import plan

N = Dim("n")


@pytest.mark.parametrize(
    ("x", "shape", "want"),
    [
        ("4,4 R", (16,), "R"),
        ("4,4 P", (16,), "P"),
        ("4,4 S0", (16,), "S0"),
        ("4,4 S0", (2, 2, 4), "S0"),
        ("4,4 S0", (4, 2, 2), "S0"),
        ("4,4 S0", (8, 2), "S0"),
        ("4,4 S0", (2, 8), "S0"),
        ("4,4 S1", (4, 4), "S1"),
        ("2,2,4 S2", (4, 4), "S1"),
        ("2,3,4 S0", (4, 6), "S0"),
        ("2,4,3 S1", (2, 12), "S1"),
        ("12,2 S0", (6, 4), "S0"),
        # Axes of size 1 do not count, but carry no cut in the result.
        ("4,4 S1", (1, 4, 4), "S2"),
        ("4,4 S0", (1, 16), "S1"),
        ("4,1,4 S2", (4, 4), "S1"),
        ("4,1,4 S1", (4, 4), "S1"),
        ("1,4 S0", (1, 4), "S1"),
        ("5 S0", (5, 1), "S0"),
        # Unequal pieces stay as they are when axes are merged.
        ("5,3 S0", (15,), "S0"),
        ("5,2,3 S0", (10, 3), "S0"),
        # Empty tensors.
        ("0,4 S1", (0, 2, 2), "S1"),
        ("4,0 S0", (0,), "S0"),
        # Names.
        ("n,4 S0", (N, 2, 2), "S0"),
        ("n,4 S1", (N, 2, 2), "S1"),
        ("n,4 S0", (N * 4,), "S0"),
        ("n,4 S0", (N * 2, 2), "S0"),
        ("n,m,4 S0", (N * "m", 4), "S0"),
        ("n,m,4 S1", (N, Dim("m") * 4), "S1"),
    ],
)
def test_a_cut_is_kept(x, shape, want):
    assert plan(reshape_rule, [x], shape=shape) == want


@pytest.mark.parametrize(
    ("x", "shape"),
    [
        ("4,4 S1", (16,)),
        ("4,4 S1", (8, 2)),
        ("6 S0", (3, 2)),
        ("3,4 S0", (2, 6)),
        ("5,3 S1", (15,)),
        ("15 S0", (5, 3)),
        ("2,3,4 S1", (6, 4)),
        ("2,3,4 S0", (3, 8)),
        ("4,1 S1", (4,)),
        ("1 S0", ()),
        ("0,4 S1", (4, 0)),
        ("n,4 S1", (N * 4,)),
        ("n,4 S0", (2, N * 2)),
        ("4,n S0", (N * 4,)),
    ],
)
def test_a_cut_that_falls_inside_a_piece_is_gathered(x, shape):
    assert plan(reshape_rule, [x], shape=shape) == "raises"
    assert plan(reshape_rule, [x], region="silent", shape=shape) == "R"


@pytest.mark.parametrize(
    ("x", "shape", "default", "silent"),
    [
        ("4,4 S0 R", (16,), "S0 R", "S0 R"),
        ("4,4 S0 P", (16,), "S0 P", "S0 P"),
        ("4,4 S0 S0", (16,), "S0 S0", "S0 S0"),
        ("8,4 S0 S0", (4, 2, 4), "S0 S0", "S0 S0"),
        ("4,4 S0 S1", (2, 2, 4), "S0 S2", "S0 S2"),
        ("2,4 S0 S0", (8,), "S0 S0", "S0 S0"),
        # One cut that cannot be kept takes the others with it.
        ("4,4 S0 S1", (16,), "raises", "R R"),
        ("4,4 S1 S0", (8, 2), "raises", "R R"),
        ("4,4 P S1", (16,), "raises", "P R"),
        # Both mesh axes cut the same axis: 2 does not divide by 4.
        ("4,4 S0 S0", (2, 2, 4), "raises", "R R"),
        # Two axes would be cut in one.
        ("4,1,4 S1 S2", (4, 4), "raises", "R R"),
    ],
)
def test_two_mesh_axes(x, shape, default, silent):
    assert plan(reshape_rule, [x], shape=shape) == default
    assert plan(reshape_rule, [x], region="silent", shape=shape) == silent


@pytest.mark.parametrize(
    ("x", "start", "end", "default", "silent"),
    [
        ("2,2,4 R", 0, 2, "R", "R"),
        ("2,2,4 P", 0, 2, "P", "P"),
        ("2,2,4 S0", 0, 2, "raises", "R"),
        ("4,4,4 S0", 1, 2, "S0", "S0"),
        ("4,4,4 S2", 0, 1, "S1", "S1"),
        ("4,4,4 S1", 1, 1, "raises", "R"),
        ("4,4,4 S0 S2", 0, 1, "raises", "R S1"),
        ("() R", 0, 0, "R", "R"),
    ],
)
def test_flatten(x, start, end, default, silent):
    params = {"start_dim": start, "end_dim": end}
    assert plan(flatten_rule, [x], **params) == default
    assert plan(flatten_rule, [x], region="silent", **params) == silent
