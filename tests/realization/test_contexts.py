"""Contexts used by hand: their members, their graph, and what is live in it."""

import gc

import pytest

from maxlite import functional as F
from maxlite.compilation import stage
from maxlite.executor import CompilingExecutor, InterpreterExecutor, default_executor
from maxlite.graph import Graph
from maxlite.realization_context import (
    EagerRealizationContext,
    GraphRealizationContext,
    LazyRealizationContext,
    ensure_context,
    subgraph_context,
)
from maxlite.tensor import (
    RealizationContext,
    Tensor,
    current_realization_context,
    realization_context,
)
from tests.sharding.meshes import cpu_mesh


@pytest.fixture
def ctx():
    return LazyRealizationContext()


def values(x):
    return x.to_numpy().tolist()


# Sources ------------------------------------------------------------------------------


def test_a_source_is_added_once(ctx):
    x, y = Tensor([1.0, 2.0]), Tensor([1.0, 2.0])
    state = ctx.add_source(x)
    assert ctx.add_source(x) == state == ctx.add_mutable_source(x)
    assert ctx.add_source(y) != state
    assert list(map(id, ctx.sources.values())) == [id(x), id(y)]
    assert len(ctx.sources) == len(ctx.source_values) == 2


def test_sources_are_what_ops_took(ctx):
    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    with ctx, realization_context(ctx):
        z = x + x
        assert list(ctx.sources.values()) == [x]
        z = z * y + 1.0
    assert [id(t) for t in ctx.sources.values()] == [id(x), id(y)]
    assert values(z) == [7, 17]


def test_a_pending_source_is_refused_by_hand_but_not_by_ops(ctx):
    with F.lazy():
        pending = Tensor([1.0]) + 1
    with pytest.raises(TypeError, match="must be realized"):
        ctx.add_source(pending)
    with realization_context(ctx):
        y = pending * 2
    assert pending.real
    assert values(y) == [4]


def test_a_source_keeps_the_value_it_had(ctx):
    x = Tensor([1.0, 2.0])
    with realization_context(ctx):
        y = x + 0.0
    x[0] = 100.0
    with realization_context(ctx):
        z = x + 0.0
    assert (values(y), values(z)) == ([1, 2], [100, 2])


def test_there_are_no_signal_buffers(ctx):
    assert ctx.signal_buffers is None
    ctx.ensure_signal_buffers(cpu_mesh(2))
    assert ctx.signal_buffers is None


# Results ------------------------------------------------------------------------------


def test_results_are_held_weakly(ctx):
    with realization_context(ctx):
        x = Tensor([1.0]) + 1
        y = x * 2
    assert len(ctx.finalize_graph()[0]) == 2
    del x
    gc.collect()
    live, graph = ctx.finalize_graph()
    assert [t is y for t in live] == [True]
    assert [node.op.name for node in graph.nodes] == ["add", "mul"]
    assert (len(graph.inputs), len(graph.output_types)) == (1, 1)
    assert not y.real
    assert values(y) == [4]


def test_finalizing_drops_what_nothing_needs_and_can_be_repeated(ctx):
    with realization_context(ctx):
        keep = Tensor([1.0]) + 1
        F.exp(keep)
    graphs = [ctx.finalize_graph()[1] for _ in range(2)]
    assert [[n.op.name for n in g.nodes] for g in graphs] == [["add"], ["add"]]
    with realization_context(ctx), pytest.raises(TypeError, match="before"):
        ctx.finalize_graph()
    assert values(keep) == [2]


def test_a_pending_tensor_is_made_of_a_value(ctx):
    x = Tensor([1.0, 2.0])
    state = ctx.add_source(x)
    made = ctx.create_unrealized(state.values)
    again = Tensor(state=state)
    assert (made.real, made.state, again.state) == (False, state, state)
    assert values(made) == values(again) == [1, 2]


def test_a_context_may_be_used_again(ctx):
    for i in range(2):
        with realization_context(ctx):
            y = Tensor([1.0]) + i
        assert values(y) == [1 + i]
        assert ctx.sources == {}
        assert ctx.unrealized == []


def test_an_eager_context_computes_when_it_is_left():
    ctx = EagerRealizationContext()
    with ctx as entered, realization_context(ctx) as current:
        assert entered is current is ctx is current_realization_context()
        y = Tensor([1.0]) + 1
        with pytest.raises(TypeError, match="before"):
            y.item()
    assert y.real


def test_a_context_that_is_still_current_cannot_compute():
    ctx = EagerRealizationContext()
    with realization_context(ctx):
        y = Tensor([1.0]) + 1
        with pytest.raises(TypeError, match="before"):
            ctx.__exit__(None)
    assert y.item() == 2


def test_contexts_fit_the_protocol(ctx):
    for made in (ctx, EagerRealizationContext(), GraphRealizationContext(Graph("g"))):
        assert isinstance(made, RealizationContext)


def test_a_trace_has_what_the_reference_has():
    seen = []

    def fn(x):
        ctx = current_realization_context()
        assert isinstance(ctx, GraphRealizationContext)
        seen.append((ctx.prefix, ctx.signal_buffers, subgraph_context() is ctx))
        return x

    stage(fn)(Tensor([1.0]).layout)
    assert seen == [("", None, True)]
    with F.lazy():
        assert subgraph_context() is None


# The graph ----------------------------------------------------------------------------


def test_the_graph_shows_ops_inputs_and_outputs(ctx):
    x = Tensor([1.0, 2.0])
    with realization_context(ctx):
        y = F.exp(x + 1.0)
    assert ctx.graph.name == "main"
    head, source, add, exp, last = repr(ctx.graph).splitlines()
    assert head == "Graph 'main': 1 inputs, 2 ops, 1 outputs"
    assert source.strip().startswith("%0: float32[2]")
    assert add.strip().startswith("%1 = add(%0, 1.0): float32[2]")
    assert exp.strip().startswith("%2 = exp(%1): float32[2]")
    assert last == "  return %2"
    for text in (str(ctx.graph), str(ctx.finalize_graph()[1])):
        for part in ("@main", "stablehlo.add", "stablehlo.exponential"):
            assert part in text
    assert values(y)[0] == pytest.approx(7.389056)
    assert len(ctx.graph.nodes) == 0


def test_a_long_graph_is_elided(ctx):
    with realization_context(ctx):
        x = Tensor([1.0])
        for _ in range(200):
            x = x + 1.0
    text = repr(ctx.graph)
    assert "... 140 more ops" in text
    assert len(text.splitlines()) < 70
    assert values(x) == [201]


# Executors ----------------------------------------------------------------------------


def test_the_executor_is_taken_when_the_context_is_made():
    own = InterpreterExecutor()
    assert EagerRealizationContext(own).executor is own
    assert LazyRealizationContext(own, use_interpreter=False).executor is own
    assert EagerRealizationContext().executor is default_executor()
    chosen = [EagerRealizationContext(use_interpreter=on).executor for on in (1, 0)]
    assert [type(e) for e in chosen] == [InterpreterExecutor, CompilingExecutor]


def test_ensure_context_keeps_the_current_one(ctx):
    with realization_context(ctx), ensure_context():
        assert current_realization_context() is ctx
    with ensure_context():
        assert type(current_realization_context()) is EagerRealizationContext
        y = Tensor([1.0]) + 1
        assert not y.real
    assert y.real


@pytest.mark.parametrize("ctx", [None, 3, "lazy", LazyRealizationContext])
def test_only_a_context_can_be_the_current_one(ctx):
    with pytest.raises(TypeError, match="ctx must be a realization context, got"):
        realization_context(ctx)
    assert current_realization_context(None) is None


def test_a_pending_tensor_has_one_value():
    with pytest.raises(ValueError, match="values must be one value, got 0"):
        LazyRealizationContext().create_unrealized(())
