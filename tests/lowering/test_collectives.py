"""Reading collectives from HLO: every notation, and programs whose traffic is known."""

import numpy as np
import pytest

from maxlite import Tensor, as_subgraph, auto_reshard, compile
from maxlite import functional as F
from maxlite.driver import CPU
from maxlite.lowering import Collective, find_collectives
from maxlite.sharding import DeviceMapping, DeviceMesh, Partial, Replicated, Sharded
from tests.compilation.layouts import mesh
from tests.lowering.stored import distributed, mapping

X_Y = mesh(2, 4)
FOUR = mesh(4)


def found(line, on=X_Y):
    """Lists what one line of HLO holds, its operand being f32[2,8]."""
    hlo = f"""
ENTRY %main (a: f32[2,8], b: bf16[3]) -> f32[2,8] {{
  %a = f32[2,8]{{1,0}} parameter(0), sharding={{devices=[2,1]<=[2]}}
  %b.1 = bf16[3]{{0}} parameter(1)
  %fused-c = (f32[2,8]{{1,0}}, s64[4]{{0}}) fusion(%a, %b.1), kind=kLoop
  {line}
  ROOT %copy = f32[2,8]{{1,0}} copy(%a)
}}
"""
    return [(c.kind, c.mesh_axes, c.bytes) for c in find_collectives(hlo, on)]


# Kinds --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        ("all-reduce", "allreduce"),
        ("all-gather", "allgather"),
        ("reduce-scatter", "reduce-scatter"),
        ("all-to-all", "all-to-all"),
        ("collective-broadcast", "broadcast"),
        ("ragged-all-to-all", "ragged-all-to-all"),
    ],
)
def test_every_kind_has_a_name(op, kind):
    line = f"%r = f32[2,8]{{1,0}} {op}(%a), channel_id=1, replica_groups=[1,8]<=[8]"
    assert found(line) == [(kind, ("x", "y"), 64)]


def test_a_permute_names_its_pairs():
    pairs = "source_target_pairs={{0,1},{1,0},{2,3},{3,2},{4,5},{5,4},{6,7},{7,6}}"
    line = f"%p = f32[2,8]{{1,0}} collective-permute(%a), channel_id=1, {pairs}"
    assert found(line) == [("permute", ("y",), 64)]
    assert found(line.replace("{0,1},{1,0}", "{0,4},{4,0}")) == [
        ("permute", ("x", "y"), 64)
    ]


def test_an_asynchronous_one_counts_at_its_start():
    groups = "replica_groups=[2,4]<=[8]"
    start = f"%s = (f32[2,8]{{1,0}}, f32[8,8]{{1,0}}) all-gather-start(%a), {groups}"
    assert found(start) == [("allgather", ("y",), 64)]
    assert found("%d = f32[8,8]{1,0} all-gather-done(%s)") == []
    start = f"%s = f32[2,8]{{1,0}} all-reduce-start(%a), {groups}, to_apply=%add"
    assert found(start) == [("allreduce", ("y",), 64)]
    pair = "source_target_pairs={{0,4}}"
    start = (
        f"%s = (f32[2,8], f32[2,8], u32[], u32[]) collective-permute-start(%a), {pair}"
    )
    assert found(start) == [("permute", ("x",), 64)]


@pytest.mark.parametrize(
    "line",
    [
        "%r = f32[2,8]{1,0} add(%a, %a)",
        "%all-reduce.3 = f32[2,8]{1,0} bitcast(%all-reduce.2)",
        '%c = f32[2,8]{1,0} copy(%a), metadata={op_name="all-reduce(x)"}',
        "%g = f32[2,8]{1,0} get-tuple-element(%all-to-all), index=0",
        "%u = f32[2,8]{1,0} all-reduce-done(%s)",
    ],
)
def test_what_only_reads_like_one_is_none(line):
    assert found(line) == []


# Groups -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "axes"),
    [
        # Listed.
        ("{{0,1,2,3},{4,5,6,7}}", ("y",)),
        ("{{0,4},{1,5},{2,6},{3,7}}", ("x",)),
        ("{{0,1,2,3,4,5,6,7}}", ("x", "y")),
        ("{{0, 1}, {2, 3}, {4, 5}, {6, 7}}", ("y",)),
        ("{}", ("x", "y")),
        ("{{0},{1},{2},{3},{4},{5},{6},{7}}", ()),
        # Iota, plain and with its axes turned.
        ("[2,4]<=[8]", ("y",)),
        ("[1,8]<=[8]", ("x", "y")),
        ("[4,2]<=[2,4]T(1,0)", ("x",)),
        ("[4,2]<=[8]", ("y",)),
        ("[4,2]<=[2,2,2]T(0,2,1)", ("y",)),
        ("[2,4]<=[2,2,2]T(1,0,2)", ("x", "y")),
        # A mesh of XLA's own.
        ("mesh['axis_0'=2,'axis_1'=4] {'axis_0'}", ("x",)),
        ("mesh['axis_0'=2,'axis_1'=4] {'axis_1'}", ("y",)),
        ("mesh['axis_0'=2,'axis_1'=4] {'axis_0','axis_1'}", ("x", "y")),
        ("mesh['axis_0'=2,'axis_1'=1,'axis_2'=4] {'axis_2'}", ("y",)),
        ("mesh['a'=4,'b'=2], device_ids=([2,4]T(1,0)) {'a'}", ("y",)),
        ("mesh['a'=4,'b'=2], device_ids=([2,4]T(1,0)) {'b'}", ("x",)),
        ("mesh['a'=2,'b'=4], device_ids=(0,4,1,5,2,6,3,7) {'a'}", ("y",)),
        # A part of an axis of it: what is left of 8 after 2, and so on.
        ("mesh['a'=8] {'a':(1)2}", ("x",)),
        ("mesh['a'=8] {'a':(2)4}", ("y",)),
        ("mesh['a'=8] {'a':(4)2}", ("y",)),
        ("mesh['a'=8] {'a':(1)4}", ("x", "y")),
        ("mesh['a'=4,'b'=2], device_ids=([2,2,2]T(2,1,0)) {'a':(2)2}", ("y",)),
    ],
)
def test_groups_are_read_in_every_notation(groups, axes):
    line = (
        "%r = f32[2,8]{1,0} all-reduce(%a), channel_id=1, "
        f"replica_groups={groups}, use_global_device_ids=true, to_apply=%add"
    )
    assert found(line) == [("allreduce", axes, 64)]


def test_a_mesh_axis_of_one_position_takes_no_part():
    line = "%r = f32[2,8]{1,0} all-reduce(%a), replica_groups={}, to_apply=%add"
    assert found(line, mesh(4, 1)) == [("allreduce", ("x",), 64)]


# Sizes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operands", "size"),
    [
        ("%a", 64),
        ("%b.1", 6),
        ("%a, %b.1", 70),
        ("f32[2,8]{1,0} %a", 64),
        ("bf16[3]{0} %b.1, s64[4]{0} %c", 38),
        ("f32[2,8]{1,0:T(8,128)} %a, bf16[3]{0:T(256)(2,1)} %b.1", 70),
        ("pred[5]{0} %p", 5),
        ("s64[] %p", 8),
        ("f64[0,3]{1,0} %p", 0),
        ("u8[3]{0} %p", 3),
        ("s4[4]{0} %p", 2),
        ("f8e4m3fn[4,4]{1,0} %p", 16),
        ("c64[2]{0} %p", 16),
    ],
)
def test_bytes_are_those_of_the_operands(operands, size):
    line = f"%r = f32[9,9]{{1,0}} all-reduce({operands}), replica_groups=[2,4]<=[8]"
    assert found(line) == [("allreduce", ("y",), size)]


def test_equal_ones_are_counted():
    line = "%r = f32[2,8]{1,0} all-reduce(%a), replica_groups=[2,4]<=[8]"
    other = line.replace("[2,4]<=[8]", "[1,8]<=[8]")
    hlo = "\n".join([line.replace("%a", "f32[2] %a"), other.replace("%a", "f32[2] %a")])
    hlo += "\n" + line.replace("%a", "f32[2] %b").replace("%r", "ROOT %q")
    first, second = find_collectives(hlo, X_Y)
    assert first == Collective("allreduce", ("y",), 8, count=2)
    assert str(first) == "2 x allreduce over y, 8 bytes each"
    assert second == Collective("allreduce", ("x", "y"), 8)


# Programs whose traffic is known ------------------------------------------------------


def traffic(program):
    return [(c.kind, c.mesh_axes, c.bytes, c.count) for c in program.collectives()]


def test_a_tensor_parallel_mlp_needs_one_allreduce_over_the_model_axis(rng):
    devices = DeviceMesh((CPU(),) * 4, (2, 2), ("data", "model"))
    R, P, S = Replicated(), Partial(), Sharded

    def on(value, *placements):
        return Tensor(value).to(DeviceMapping(devices, placements))

    a, up, down = (
        rng.standard_normal(s).astype(np.float32) for s in [(4, 8), (8, 16), (16, 8)]
    )
    x, w1, w2 = on(a, S(0), R), on(up, R, S(1)), on(down, R, S(0))

    def mlp(x, w1, w2):
        y = F.relu(x @ w1) @ w2
        assert y.placements == (S(0), P)
        return y.to(DeviceMapping(devices, (S(0), R)))

    program = compile(mlp)(x.layout, w1.layout, w2.layout)
    assert traffic(program) == [("allreduce", ("model",), 2 * 8 * 4, 1)]
    np.testing.assert_allclose(
        program(x, w1, w2).to_numpy(), np.maximum(a @ up, 0) @ down, rtol=1e-4
    )


def test_a_gradient_over_the_batch_is_one_allreduce_over_the_data_axis(rng):
    x = distributed(rng.standard_normal((8, 3)).astype(np.float32), (2, 2), "S0 R")
    y = distributed(rng.standard_normal((8, 4)).astype(np.float32), (2, 2), "S0 R")
    whole = mapping((2, 2), "R R")
    program = compile(lambda x, y: (x.T @ y).to(whole))(x.layout, y.layout)
    assert traffic(program) == [("allreduce", ("x",), 3 * 4 * 4, 1)]


def test_a_gradient_that_is_kept_in_pieces_is_a_reduce_scatter(rng):
    x = distributed(rng.standard_normal((8, 4)).astype(np.float32), (4,), "S0")
    pieces = mapping((4,), "S0")
    program = compile(lambda x: (x.T @ x).to(pieces))(x.layout)
    assert traffic(program) == [("reduce-scatter", ("x",), 4 * 4 * 4, 1)]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("S0", "S1", [("all-to-all", ("x",), 64, 1)]),
        ("S0", "R", [("allgather", ("x",), 64, 1)]),
        ("R", "S0", []),
        ("P", "R", [("allreduce", ("x",), 256, 1)]),
    ],
)
def test_explicit_moves(source, target, expected):
    x = distributed(np.ones((8, 8), np.float32), (4,), source)
    program = compile(lambda x: x.to(mapping((4,), target)))(x.layout)
    assert traffic(program) == expected


def test_operands_resharded_by_a_region():
    x = distributed(np.ones((4, 4), np.float32), (4,), "S0")
    y = distributed(np.ones((4, 4), np.float32), (4,), "S1")
    with auto_reshard(mode="silent"):
        program = compile(lambda x, y: x + y)(x.layout, y.layout)
    assert [(c.kind, c.bytes) for c in program.collectives()] == [("all-to-all", 16)]


def test_collectives_of_a_subgraph_are_counted_per_call():
    whole = mapping((2,), "R")

    @as_subgraph
    def block(x):
        return F.exp((x.to(mapping((2,), "S1")) @ x.to(mapping((2,), "S0"))).to(whole))

    x = distributed(np.ones((4, 4), np.float32), (2,), "R")
    program = compile(lambda x: block(block(block(x))))(x.layout)
    assert traffic(program) == [("allreduce", ("x",), 64, 3)]


def test_one_device_has_none():
    program = compile(lambda x: x @ x)(Tensor(np.ones((2, 2))).layout)
    assert program.collectives() == []
