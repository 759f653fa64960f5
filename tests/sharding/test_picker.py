"""How a row is chosen: costs, ties, thresholds, several mesh axes, and the messages."""

import warnings

import pytest

from maxlite.dtype import DType
from maxlite.sharding import (
    Partial,
    Replicated,
    Sharded,
    ShardingError,
)
from maxlite.sharding._assignment import AxisAssignment
from maxlite.sharding._auto_reshard import auto_reshard
from maxlite.sharding._cost import operand_bytes, transition_cost
from maxlite.sharding._picker import pick_action
from maxlite.sharding._placements import Collective
from maxlite.sharding.rules import (
    binary_rule,
    linear_binary_rule,
    matmul_rule,
    mul_rule,
    reduce_rule,
    ternary_rule,
    top_k_rule,
    unary_rule,
)
from tests.sharding.meshes import cpu_mesh
from tests.sharding.planning import Operand, act, operand, plan

# --- one mesh axis ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("lhs", "rhs", "default", "silent", "everything"),
    [
        ("4,4 R", "4,4 R", "R", "R", "R"),
        ("4,4 S1", "4,4 S1", "S1", "S1", "S1"),
        ("4,4 P", "4,4 P", "P", "P", "P"),
        ("4,4 S0", "4,4 R", "raises", "S0", "S0"),
        ("4,4 R", "4,4 S0", "raises", "S0", "S0"),
        ("4,4 S0", "4,4 S1", "raises", "S0", "S0"),
        ("4,4 S1", "4,4 S0", "raises", "S0", "S0"),
        ("4,4 R", "4,4 P", "raises", "R", "S0"),
        ("4,4 P", "4,4 R", "raises", "R", "S0"),
        ("4,4 S0", "4,4 P", "raises", "R", "S0"),
        ("4,4 P", "4,4 S1", "raises", "R", "S1"),
    ],
)
def test_add_in_each_region(lhs, rhs, default, silent, everything):
    for region, want in (("default", default), ("silent", silent), ("all", everything)):
        assert plan(linear_binary_rule, [lhs, rhs], region=region) == want


def test_the_action_says_where_every_operand_must_lie():
    action = act(linear_binary_rule, ["4,4 S0", "4,4 R"], region="silent")
    assert action.needed == ((Sharded(0),), (Sharded(0),))
    assert action.outputs == ((Sharded(0),),)
    assert action.moved


def test_operands_that_fit_are_not_moved():
    action = act(matmul_rule, ["4,4 S1", "4,4 S0"])
    assert action.needed == ((Sharded(1),), (Sharded(0),))
    assert action.outputs == ((Partial(),),)
    assert not action.moved
    assert hash(action) == hash(act(matmul_rule, ["4,4 S1", "4,4 S0"], region="all"))


@pytest.mark.parametrize(
    ("collective", "nbytes", "n", "want"),
    [
        (Collective.NOOP, 64, 2, 0),
        (Collective.ALLGATHER, 64, 2, 32),
        (Collective.ALL_TO_ALL, 64, 4, 48),
        (Collective.REDUCE_SCATTER, 64, 4, 48),
        (Collective.ALLREDUCE, 64, 4, 96),
        (Collective.LOCAL_SLICE, 64, 2, 0.5),
        (Collective.KEEP_ONE_COPY, 64, 4, 0.25),
    ],
)
def test_what_a_move_costs(collective, nbytes, n, want):
    assert transition_cost(collective, nbytes, n) == want


def test_a_symbol_counts_as_one_element():
    assert operand_bytes(operand("n,4 R", dtype=DType.float16)) == 8
    assert operand_bytes(operand("() R", dtype=DType.int64)) == 8


def test_at_equal_cost_fewer_operands_are_moved():
    # One allreduce of 64 bytes, or two reduce-scatters of 32.
    assert plan(mul_rule, ["4,4 P", "4,4 P"], region="all") == "P"


def test_at_equal_cost_gathering_comes_before_exchanging():
    assert (
        plan(reduce_rule, ["4,4 S0"], region="silent", axes=(0,), keepdims=True) == "R"
    )
    assert plan(unary_rule, ["0,4,4 P"], region="all") == "R"


def test_of_two_shardings_of_equal_cost_the_lower_axis_wins():
    assert plan(unary_rule, ["4,4 P"], region="all") == "S0"


def test_only_named_transitions_reach_partial():
    with auto_reshard([(Replicated, Partial)], mode="silent"):
        action = pick_action(
            "add", [operand("4 R"), operand("4 P")], linear_binary_rule, {}
        )
    assert action.outputs == ((Partial(),),)


# --- sizes ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mesh", "operands", "region", "want"),
    [
        ((4,), ["2,8 S0", "2,8 R"], "silent", "R"),
        ((4,), ["2,8 S0", "2,8 S1"], "silent", "S1"),
        ((4,), ["2,8 S1", "2,8 R"], "silent", "S1"),
        ((4,), ["2,8 S0", "2,8 P"], "all", "S1"),
        ((4,), ["5,8 S0", "5,8 R"], "silent", "S0"),
        ((4,), ["2,8 S0", "2,8 S0"], "default", "S0"),
        ((2,), ["1,4 P", "1,4 R"], "all", "S1"),
        ((2,), ["n,4 S0", "n,4 R"], "silent", "S0"),
    ],
)
def test_an_axis_shorter_than_the_mesh_axis_is_not_cut_anew(
    mesh, operands, region, want
):
    assert plan(linear_binary_rule, operands, region=region, mesh=mesh) == want


@pytest.mark.parametrize(
    ("mesh", "operands", "want"),
    [
        ((2, 2), ["2,4 S0 R", "2,4 R S0"], "R S0"),
        ((2, 2), ["3,4 S0 R", "3,4 R S0"], "R S0"),
        ((2, 2), ["4,4 S0 R", "4,4 R S0"], "S0 S0"),
        ((2, 2), ["n,4 S0 R", "n,4 R S0"], "S0 S0"),
        ((2, 4), ["4,4 S0 R", "4,4 R S0"], "R S0"),
        ((2, 2), ["2,2 S0 S1", "2,2 S1 S0"], "R S0"),
        ((2, 2), ["4,4 S0 S1", "4,4 S1 S0"], "S0 S0"),
        ((2, 2), ["2,4 S0 S0", "2,4 R R"], "S0 R"),
        ((2, 2), ["2,4 S0 S0", "2,4 R S0"], "R S0"),
        ((2, 2), ["2,4 S0 S0", "2,4 S1 P"], "S0 R"),
    ],
)
def test_all_mesh_axes_that_cut_an_axis_count(mesh, operands, want):
    assert plan(linear_binary_rule, operands, region="silent", mesh=mesh) == want


# --- several mesh axes ------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "operands", "region", "want"),
    [
        (linear_binary_rule, ["4,4 S0 P", "4,4 P S1"], "all", "S0 S1"),
        (unary_rule, ["4,4 P P"], "all", "S0 S0"),
        (unary_rule, ["2,4 P P"], "all", "S0 S1"),
        (unary_rule, ["2,4 P S0"], "all", "S1 S0"),
        (mul_rule, ["4,4 P P", "4,4 R R"], "default", "P P"),
        (matmul_rule, ["4,4 S0 R", "4,4 R S1"], "default", "S0 S1"),
        (matmul_rule, ["4,4 S0 S1", "4,4 S0 S1"], "default", "raises"),
        (matmul_rule, ["4,4 S0 S1", "4,4 S0 S1"], "silent", "S0 S1"),
        (matmul_rule, ["4,4 S1 S1", "4,4 S0 R"], "silent", "P P"),
        (matmul_rule, ["2,2 S1 S1", "2,2 S0 R"], "silent", "P R"),
        (matmul_rule, ["4,2 S1 R", "2,4 R S0"], "silent", "R P"),
    ],
)
def test_each_mesh_axis_is_decided_in_view_of_those_before(
    rule, operands, region, want
):
    assert plan(rule, operands, region=region) == want


# --- operands that are not distributed --------------------------------------------


@pytest.mark.parametrize(
    ("rule", "operands", "region", "want"),
    [
        (linear_binary_rule, ["4,4 S0", "number"], "default", "S0"),
        (linear_binary_rule, ["number", "4,4 P"], "default", "P"),
        (mul_rule, ["4,4 P", "number"], "default", "P"),
        (mul_rule, ["number", "4,4 R"], "default", "R"),
        (binary_rule, ["number", "4,4 P"], "default", "raises"),
        (ternary_rule, ["4,4 S1", "4,4 S1", "number"], "default", "S1"),
    ],
)
def test_a_number_fits_every_row(rule, operands, region, want):
    assert plan(rule, operands, region=region) == want


@pytest.mark.parametrize(
    ("rule", "operands", "region", "want"),
    [
        (linear_binary_rule, ["4,4 S0", "4,4"], "default", "raises"),
        (linear_binary_rule, ["4,4 S0", "4,4"], "silent", "R"),
        (linear_binary_rule, ["4,4 S0", "()"], "default", "S0"),
        (linear_binary_rule, ["4,4 P", "()"], "all", "S0"),
        (linear_binary_rule, ["4,4 S0", "4"], "default", "S0"),
        (linear_binary_rule, ["4,4 S1", "4"], "silent", "R"),
        (mul_rule, ["4,4", "4,4 P"], "default", "P"),
        (matmul_rule, ["4,4 S1", "4,4"], "silent", "R"),
        (ternary_rule, ["4,4", "4,4 S0", "4,4 S0"], "silent", "R"),
    ],
)
def test_a_one_device_tensor_counts_as_replicated_and_stays_whole(
    rule, operands, region, want
):
    assert plan(rule, operands, region=region) == want


# --- errors -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lhs", "rhs"),
    [
        (operand("4 R", (2,)), operand("4 R", (4,))),
        (operand("4 R", (4,)), operand("4 R R", (2, 2))),
        (
            operand("4 R"),
            Operand(
                (4,),
                DType.float32,
                operand("4 R").mapping.replicated(cpu_mesh(2, names=("y",))),
            ),
        ),
    ],
)
def test_distributed_operands_share_a_mesh(lhs, rhs):
    with (
        auto_reshard(mode="silent"),
        pytest.raises(ShardingError, match=r"one mesh, got lhs float32\[4\]@mesh"),
    ):
        pick_action("add", [lhs, rhs], linear_binary_rule, {})


@pytest.mark.parametrize("region", ["default", "silent", "all"])
def test_an_unknown_placement_has_no_row(region):
    with pytest.raises(ShardingError, match=r"Unknown .*rebind_mapping"):
        act(unary_rule, ["4,4 U"], region=region)


def test_a_rule_must_have_rows():
    with pytest.raises(ShardingError, match="at least one row"):
        act(lambda operands, params, n: [], ["4 R"])


def test_a_row_must_place_every_operand():
    short = AxisAssignment((Replicated(),), (Replicated(),))
    with pytest.raises(ShardingError, match="one placement per operand"):
        act(lambda operands, params, n: [short], ["4 R", "4 R"])


REFUSED = """\
add(lhs, rhs): the operands must lie as a row of the placement rule says, got \
placements that need a move, and this region does not reshard.
  lhs    : float32[4, 4]@mesh(x=2){"x":S0}
  rhs    : float32[4, 4]@mesh(x=2){"x":R}
  region : auto_reshard(DEFAULT_TRANSITIONS, mode="raise")

  axis    lhs          rhs          -> out     collective                         \
bytes  status
  "x"     lhs{S0}      rhs{R->S0}   -> S0      local_slice(rhs)                   \
0.5    chosen, reshards rhs
          lhs{S0->R}   rhs{R}       -> R       allgather(lhs)                     32
          lhs{S0->S1}  rhs{R->S1}   -> S1      all_to_all(lhs), local_slice(rhs)  32.5
  result  lhs{"x":S0}  rhs{"x":S0}  -> {"x":S0}

Move the operands first:
  rhs = F.transfer_to(rhs, DeviceMapping(mesh, (Sharded(0),)))
or let ops reshard by themselves:
  with auto_reshard(mode="silent"):"""


def test_a_refusal_shows_the_rows_and_the_way_out():
    with pytest.raises(ShardingError, match="does not reshard") as caught:
        pick_action(
            "add", [operand("4,4 S0"), operand("4,4 R")], linear_binary_rule, {}
        )
    words = [line.split() for line in str(caught.value).splitlines()]
    assert words == [line.split() for line in REFUSED.splitlines()]


def test_a_row_that_is_not_allowed_says_what_would_allow_it():
    with auto_reshard([], mode="silent"), pytest.raises(ShardingError) as caught:
        pick_action(
            "add", [operand("4,4 S0 R"), operand("4,4 R R")], linear_binary_rule, {}
        )
    text = str(caught.value)
    assert "reachable on mesh axis 'x' by moves that this region allows" in text
    assert text.count("not allowed") == 3
    assert 'region : auto_reshard({}, mode="silent")' in text
    assert 'with auto_reshard({(Replicated, Sharded)}, mode="silent"):' in text
    assert "DeviceMapping(mesh, (Sharded(0), Replicated()))" in text


def test_messages_use_the_names_they_are_given():
    with pytest.raises(ShardingError, match=r"gather\(input, indices\): .*"):
        pick_action(
            "gather",
            [operand("4,4 S0"), operand("4,4 R")],
            linear_binary_rule,
            {},
            names=("input", "indices"),
        )


def test_messages_show_several_results_numbers_and_devices():
    with pytest.raises(ShardingError, match=r"-> \(S0, S0\)"):
        act(top_k_rule, ["4,4 S1"], axis=1)
    with pytest.raises(ShardingError, match=r"x2 *: a Python number"):
        act(ternary_rule, ["4 S0", "4 R", "number"])
    with pytest.raises(ShardingError, match=r"rhs *: float32\[4\]@Device"):
        act(linear_binary_rule, ["4 S0", "4"])


def test_a_warning_names_the_caller_and_what_is_moved():
    with (
        auto_reshard(mode="warn"),
        pytest.warns(UserWarning, match="reshards rhs") as caught,
    ):
        action = pick_action(
            "add", [operand("4,4 S0"), operand("4,4 R")], linear_binary_rule, {}
        )
    assert action.outputs == ((Sharded(0),),)
    assert caught[0].filename == __file__


def test_nothing_is_said_where_nothing_is_moved():
    with auto_reshard(mode="warn"), warnings.catch_warnings():
        warnings.simplefilter("error")
        pick_action("add", [operand("4 P"), operand("4 P")], linear_binary_rule, {})
