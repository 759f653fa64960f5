"""Graphs that are built by hand: opened, computed on, printed and run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxlite import CompiledCallable, DType, StagedGraph, Tensor, stage
from maxlite import functional as F
from maxlite.driver import CPU
from maxlite.graph import (
    BufferType,
    BufferValue,
    DeviceRef,
    Dim,
    Graph,
    TensorType,
    TensorValue,
    Value,
    ops,
)
from maxlite.realization_context import (
    GraphRealizationContext,
    in_graph_context,
    lazy,
)
from maxlite.sharding import DeviceMapping, Sharded, TensorLayout
from maxlite.tensor import realization_context
from tests.sharding.meshes import cpu_mesh

D = DeviceRef.CPU()
PAIR = TensorType(DType.float32, [2], D)
MATRIX = TensorType(DType.float32, ["n", 3], D)
STATE = BufferType(DType.float32, [3], D)


def run(graph: Graph, *arguments: Tensor) -> list[list]:
    program = CompiledCallable(StagedGraph.from_graph(graph))
    return [part.to_numpy().tolist() for part in program(*arguments)]


def test_a_graph_is_built_printed_and_run() -> None:
    with Graph("main", input_types=[PAIR, PAIR]) as graph:
        x, y = graph.inputs
        graph.output(ops.add(x, y) * 2, x)
    assert run(graph, Tensor([1.0, 2.0]), Tensor([3.0, 4.0])) == [[8, 12], [1, 2]]
    text = str(graph)
    for part in ("@main", "stablehlo.add", '"input1"', '"output1"'):
        assert part in text
    first, *lines = repr(graph).splitlines()
    assert first == "Graph 'main': 2 inputs, 2 ops, 2 outputs"
    assert [line.split(":")[0] for line in lines] == [
        *("  %0", "  %1", "  %2 = add(%0, %1)", "  %3 = mul(%2, 2)"),
        "  return %3, %0",
    ]


@pytest.mark.parametrize(
    ("forward", "types"),
    [
        (lambda x, y: x + y, [PAIR]),
        (lambda x, y: (x, x + y), [PAIR, PAIR]),
        (lambda x, y: [x + y], [PAIR]),
        (lambda x, y: None, []),
    ],
)
def test_a_function_may_build_it(forward, types) -> None:
    graph = Graph("g", forward, input_types=[PAIR, PAIR])
    assert graph.output_types == types
    assert not in_graph_context()


def test_values_say_what_they_are() -> None:
    with Graph("g", input_types=[MATRIX, STATE]) as graph:
        x, state = graph.inputs
    assert isinstance(x, TensorValue)
    assert isinstance(state, BufferValue)
    assert not isinstance(state, TensorValue)
    for value, kind in ((x, MATRIX), (state, STATE)):
        assert isinstance(value, Value)
        assert value.type == kind
        assert value.dtype is DType.float32
        assert value.shape == kind.shape
        assert value.rank == kind.rank
        assert value.device == D
    assert x.tensor is x
    assert TensorValue(x) is x
    assert state.buffer is state
    assert BufferValue(state) is state
    assert repr(x) == (
        "TensorValue(dtype=float32, shape=[Dim('n'), Dim(3)], device=cpu:0)"
    )
    assert repr(state) == "BufferValue(dtype=float32, shape=[Dim(3)], device=cpu:0)"
    with pytest.raises(TypeError, match="buffer: the value must be a BufferValue"):
        _ = x.buffer
    with pytest.raises(TypeError, match="tensor: the value must be a TensorValue"):
        _ = state.tensor
    with pytest.raises(TypeError, match="BufferValue: value must be a BufferValue"):
        BufferValue(x)
    with pytest.raises(TypeError, match="TensorValue: value must be a TensorValue or"):
        TensorValue(1)


def test_a_buffer_is_read_and_written_in_order() -> None:
    with Graph("g", input_types=[PAIR, STATE]) as graph:
        x, state = graph.inputs
        before = state[...]
        state[0:2] = x
        part = state[1]
        state[...] = state[...] + 1
        ops.buffer_store_slice(state, x[0:1], [slice(2, 3)])
        graph.output(before, part, ops.buffer_load(state), state)
    held = Tensor([5.0, 6.0, 7.0])
    results = run(graph, Tensor([1.0, 2.0]), held)
    assert results == [[5, 6, 7], 2, [2, 3, 1], [2, 3, 1]]
    assert held.to_numpy().tolist() == [2, 3, 1]


def test_a_store_that_does_not_fit_is_refused() -> None:
    with Graph("g", input_types=[PAIR, STATE]) as graph:
        x, state = graph.inputs[0].tensor, graph.inputs[1].buffer
        anything: Any = state
        with pytest.raises(ValueError, match=r"shape"):
            state[...] = x
        with pytest.raises(TypeError, match="must be a BufferValue, got TensorValue"):
            ops.buffer_store(x, x)
        with pytest.raises(TypeError, match="Tensor"):
            ops.add(state, 1)
        with pytest.raises(TypeError, match="unsupported operand"):
            anything += 1


# Which graph is open ------------------------------------------------------------------


def test_the_graph_that_is_open_is_current() -> None:
    with pytest.raises(LookupError, match="no graph is open"):
        _ = Graph.current
    with Graph("outer") as outer:
        assert Graph.current is outer
        assert in_graph_context()
        with Graph("inner") as inner:
            assert Graph.current is inner
        assert Graph.current is outer
    staged = stage(lambda x: (x, Graph.current.name)[0], name="f")(
        TensorLayout(DType.float32, [2], CPU())
    )
    assert staged.graph.name == "f"
    assert not in_graph_context()


def test_a_graph_is_closed_by_an_exception() -> None:
    with pytest.raises(KeyError), Graph("g"):
        raise KeyError
    assert not in_graph_context()


def test_a_graph_may_be_opened_again() -> None:
    graph = Graph("g", input_types=[PAIR])
    with graph:
        x = graph.inputs[0].tensor + 1
    with pytest.raises(LookupError, match="no graph is open"):
        _ = x + 1
    with graph, graph:
        graph.output(x * 2)
    assert run(graph, Tensor([1.0, 2.0])) == [[4, 6]]


def test_a_value_of_another_graph_is_refused() -> None:
    one, other = (Graph("g", lambda x: x + 1, input_types=[PAIR]) for _ in range(2))
    with Graph("h", input_types=[PAIR]) as graph:
        for value in (one.inputs[0], one.outputs[0]):
            with pytest.raises(TypeError, match="must be one of the graph that is op"):
                _ = value.tensor + graph.inputs[0]
            with pytest.raises(TypeError, match="must be one of the graph that is op"):
                Tensor.from_graph_value(value)
            with pytest.raises(TypeError, match="h: an output must be a value or a te"):
                graph.output(value)
        with pytest.raises(TypeError, match="h: an output must be a value or a tensor"):
            graph.output(3)
    with other, pytest.raises(TypeError, match="must be one of the graph that is open"):
        _ = one.outputs[0][0]


# Outputs and inputs -------------------------------------------------------------------


def test_outputs_are_said_once() -> None:
    graph = Graph("g", lambda x: x, input_types=[PAIR])
    with pytest.raises(ValueError, match="g: output must be called once"):
        graph.output(graph.inputs[0])
    with pytest.raises(ValueError, match="h: the graph must have been told its outp"):
        StagedGraph.from_graph(Graph("h", input_types=[PAIR]))


@pytest.mark.parametrize("wrong", [3, PAIR.shape, "float32"])
def test_inputs_are_declared_by_types(wrong: object) -> None:
    with pytest.raises(TypeError, match="must be TensorTypes or BufferTypes, got"):
        Graph("g", input_types=[wrong])


def test_literals_tensors_and_weights_are_used_in_a_graph() -> None:
    shift = Tensor([10.0, 20.0])
    with Graph("g", input_types=[PAIR]) as graph:
        x = graph.inputs[0].tensor
        weight = ops.constant_external("w", PAIR)
        y = x * 2 + shift + np.array([1.0, 1.0], np.float32) + weight
        graph.output(y, shift, ops.constant([1, 2], DType.int64, D))
    program = CompiledCallable(StagedGraph.from_graph(graph), {"w": Tensor([0.5, 0])})
    found = [part.to_numpy().tolist() for part in program(Tensor([1.0, 2.0]))]
    assert found == [[13.5, 25], [10, 20], [1, 2]]


# Tensors over values ------------------------------------------------------------------


def test_tensors_and_values_are_two_views_of_one_graph() -> None:
    graph = Graph("g", input_types=[MATRIX])
    ctx = GraphRealizationContext(graph)
    with ctx, realization_context(ctx):
        x = Tensor.from_graph_value(graph.inputs[0])
        y = x + 1
        assert not y.real
        assert y.shape == [Dim("n"), 3]
        z = ops.mul(TensorValue(y), graph.inputs[0])
        graph.output(y, z)
    assert len(graph.inputs) == 1
    assert run(graph, Tensor([[1.0, 2.0, 3.0]])) == [[[2, 3, 4]], [[2, 6, 12]]]


def test_functions_on_tensors_are_recorded_into_an_open_graph() -> None:
    with Graph("g", input_types=[PAIR]) as graph:
        x = Tensor.from_graph_value(graph.inputs[0])
        graph.output(F.exp(x) - 1)
    np.testing.assert_allclose(run(graph, Tensor([0.0, 1.0])), [[0, np.e - 1]], 1e-6)


def test_a_tensor_over_a_buffer_writes_to_it() -> None:
    graph = Graph("g", input_types=[STATE])
    ctx = GraphRealizationContext(graph)
    with ctx, realization_context(ctx):
        state = Tensor.from_graph_value(graph.inputs[0])
        state[0:1] = state[1:2] * 10
        state[1:2] = state[0:1] + 1
        graph.output(graph.inputs[0])
    held = Tensor([1.0, 2.0, 3.0])
    assert run(graph, held) == [[20, 21, 3]]
    assert held.to_numpy().tolist() == [20, 21, 3]


def test_a_value_is_of_the_block_that_records_it() -> None:
    with lazy():
        x = Tensor([1.0, 2.0]) + 1
        y = Tensor.from_graph_value(ops.mul(x, 3))
        assert not y.real
    assert y.to_numpy().tolist() == [6, 9]


def test_staging_takes_over_declared_inputs() -> None:
    mesh = cpu_mesh(2)
    layout = TensorLayout(DType.float32, [4], DeviceMapping(mesh, (Sharded(0),)))
    graph = Graph("g", input_types=layout.local_types)
    assert len(graph.inputs) == 2
    treedef = stage(lambda x: x)(layout).in_tree
    staged = StagedGraph(lambda x: x + 1, graph, [layout], treedef)
    assert len(graph.inputs) == 2
    assert len(graph.parameters) == 1
    assert staged.out_layouts[0].placements == (Sharded(0),)


def test_values_on_a_mesh_say_so() -> None:
    mapping = DeviceMapping(cpu_mesh(2), (Sharded(0),))
    staged = stage(lambda x: x)(TensorLayout(DType.float32, [4], mapping))
    value = staged.graph.inputs[0]
    assert repr(value).endswith(f"mapping={mapping!r})")
    with pytest.raises(ValueError, match="device: the value must lie on one device"):
        _ = value.device
