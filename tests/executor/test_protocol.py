"""What an executor is asked, how often, and what it gets."""

import copy
import pickle

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.driver import CPU, Buffer
from maxlite.executor import (
    CompilingExecutor,
    CompositeExecutor,
    Executor,
    InterpreterExecutor,
    JitExecutor,
    UnsupportedGraphError,
    set_default_executor,
)
from maxlite.realization_context import EagerRealizationContext
from maxlite.sharding import DeviceMapping, Partial, Sharded
from maxlite.tensor import Tensor, realization_context
from tests.executor.own import Own, recorded
from tests.sharding.meshes import cpu_mesh

TWO = cpu_mesh(2)


@pytest.fixture
def own():
    """An executor of the user's, while it is the default one."""
    with set_default_executor(Own()) as executor:
        yield executor


# Who is one -------------------------------------------------------------------------


def test_whatever_has_execute_is_an_executor():
    assert isinstance(Own(), Executor)
    assert not isinstance(object(), Executor)
    for kind in (CompilingExecutor, InterpreterExecutor, JitExecutor):
        assert isinstance(kind(), Executor)
    assert CompositeExecutor is JitExecutor
    assert issubclass(UnsupportedGraphError, RuntimeError)


def test_executors_can_be_copied_and_pickled():
    for executor in (InterpreterExecutor(3), CompilingExecutor()):
        for made in (copy.copy(executor), pickle.loads(pickle.dumps(executor))):
            assert type(made) is type(executor)
            assert vars(made) == vars(executor)


# How often --------------------------------------------------------------------------


def test_each_eager_op_is_one_execution(own):
    x = Tensor([1.0, 2.0])
    y = F.exp(x + 1) * 2
    assert own.ops == [["add"], ["exp"], ["mul"]]
    np.testing.assert_allclose(y.to_numpy(), np.exp([2.0, 3.0]) * 2, rtol=1e-6)
    assert own.count == 3


def test_a_group_of_ops_is_one_execution(own):
    scaled = F.functional(lambda x, by: (x - x.mean()) * by)
    assert scaled(Tensor([1.0, 3.0]), 10).to_numpy().tolist() == [-10, 10]
    assert own.ops == [["mean", "sub", "mul"]]


def test_a_pure_group_asks_a_user_made_executor_each_time(own):
    doubled = F.functional(lambda x: x * 2, pure=True)
    for value in (1.0, 2.0):
        assert doubled(Tensor(value)).item() == value * 2
    assert own.count == 2


def test_a_lazy_block_is_one_execution_when_it_is_read(own):
    with F.lazy():
        x = Tensor([1.0]) + 1
        y = x * 2
    assert own.count == 0
    assert y.item() == 4
    assert x.item() == 2
    assert own.ops == [["add", "mul"]]


def test_an_eager_block_is_one_execution_at_its_end(own):
    with F.ensure_context():
        x = Tensor([1.0]) + 1
        y = x * 2
        assert own.count == 0
    assert own.ops == [["add", "mul"]]
    assert (x.item(), y.item()) == (2, 4)


def test_each_write_is_one_execution(own):
    x = Tensor([1.0, 2.0])
    x[0] = 5.0
    assert own.count == 1
    with F.lazy():
        x[1] = 6.0
    assert x.to_numpy().tolist() == [5, 6]
    assert own.count == 2


def test_neither_making_nor_reading_is_an_execution(own):
    x = Tensor([1.0, 2.0])
    sharded = Tensor([1.0, 2.0], device=DeviceMapping(TWO, (Sharded(0),)))
    for tensor in (x, sharded, Tensor(3), Tensor(np.arange(3))):
        repr(tensor)
        tensor.to_numpy()
        assert tensor.local_shards
        assert tensor.buffers
        copy.copy(tensor)
    assert Tensor(3).item() == 3
    assert Tensor.from_dlpack(np.arange(3)).num_elements() == 3
    assert own.count == 0


def test_a_block_of_which_nothing_is_alive_is_never_executed(own):
    with F.lazy():
        x = Tensor([1.0]) + 1
    del x
    assert own.count == 0


# What it gets -----------------------------------------------------------------------


def test_it_gets_buffers_and_a_finished_graph(own):
    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    with F.lazy():
        z = x + y * 2.0
        w = F.sum(z)
        dropped = F.exp(x)
        del dropped
    w.to_numpy()
    (graph,), (inputs,) = own.graphs, own.inputs
    assert [type(b) for b in inputs] == [Buffer, Buffer]
    assert [b.to_numpy().tolist() for b in inputs] == [[3, 4], [1, 2]]
    assert len(graph.inputs) == len(inputs)
    assert [node.op.name for node in graph.nodes] == ["mul", "add", "sum"]
    assert [list(t.shape) for t in graph.output_types] == [[2], [1]]
    assert "stablehlo.multiply" in str(graph)
    assert z.to_numpy().tolist() == [7, 10]


def test_each_live_tensor_is_one_more_result(own):
    with F.lazy():
        kept = [Tensor([1.0]) + 1]
    kept[0].to_numpy()
    with F.lazy():
        kept += [Tensor([1.0]) + 1, *F.split(Tensor([1.0, 2.0]), [1, 1])]
    kept[1].to_numpy()
    assert [len(graph.output_types) for graph in own.graphs] == [1, 3]
    assert [len(results) for results in own.results] == [1, 3]


def test_a_distributed_tensor_is_one_buffer_per_device(own):
    data = np.arange(6.0)
    x = Tensor(data, device=DeviceMapping(TWO, (Sharded(0),)))
    y = Tensor(data, device=DeviceMapping(TWO, (Partial(),)))
    assert ((x + x).to_numpy() == data * 2).all()
    assert [b.to_numpy().tolist() for b in own.inputs[0]] == [[0, 1, 2], [3, 4, 5]]
    assert len(own.graphs[0].output_types) == len(own.results[0]) == 2
    z = y + y
    assert z.placements == (Partial(),)
    assert [b.shape for b in own.inputs[1]] == [(6,), (6,)]
    shards = np.array([b.to_numpy() for b in own.results[1]])
    assert (shards.sum(0) == data * 2).all()
    assert ((z.to_numpy()) == data * 2).all()


def test_sizes_that_only_values_tell_are_names_in_the_graph(own):
    with F.lazy():
        found = F.nonzero(Tensor([1.0, 0.0, 2.0]))
        more = found + 1
    assert found.to_numpy().tolist() == [[0], [2]]
    assert more.shape == [2, 1]
    first, second = own.graphs[0].output_types
    assert first.shape == second.shape
    assert str(first.shape[0]) not in ("2", "3")


def test_numbers_are_part_of_the_graph_and_no_inputs(own):
    x = Tensor([1.0, 2.0])
    assert [(x * number).to_numpy()[0] for number in (2.0, 3.0)] == [2, 3]
    assert [len(inputs) for inputs in own.inputs] == [1, 1]


def test_no_context_is_open_while_it_runs():
    def look(results):
        assert not F.in_graph_context()
        assert (Tensor([1.0]) + 1).real
        return results

    x = Tensor([1.0])
    pending = recorded(Own(change=look), lambda: x + 1)
    with F.lazy():
        y = pending + 1
    assert pending.real
    assert y.item() == 3


# Which one --------------------------------------------------------------------------


def test_the_executor_of_a_context_beats_the_default_one(own):
    mine = Own(own.inner)
    ctx = EagerRealizationContext(mine)
    with ctx, realization_context(ctx):
        x = Tensor([1.0]) + 1
    assert (x.item(), mine.count, own.count) == (2, 1, 0)


def test_a_context_keeps_the_executor_that_it_was_made_with():
    with set_default_executor(Own()) as own, F.lazy():
        x = Tensor([1.0]) + 1
    assert x.item() == 2
    assert own.count == 1


def test_use_interpreter_chooses_among_ours(own):
    x = Tensor([1.0])
    for choice, count in ((True, 0), (False, 0), (None, 1)):
        ctx = EagerRealizationContext(use_interpreter=choice)
        with ctx, realization_context(ctx):
            y = x + 1
        assert (y.item(), own.count) == (2, count)


class Extended(CompilingExecutor):
    """Extends one of ours by its public method."""

    count = 0

    def execute(self, graph, inputs):
        self.count += 1
        return super().execute(graph, inputs)


class Named(InterpreterExecutor):
    """One of ours, under another name."""


def test_an_extended_executor_of_ours_is_asked_like_any_other():
    with set_default_executor(Extended()) as extended:
        assert (Tensor([1.0]) + 1).item() == 2
        assert extended.count == 1
        assert recorded(extended, lambda: Tensor([1.0]) + 1).item() == 2
        assert extended.count == 2
    with set_default_executor(Named()) as named:
        assert recorded(named, lambda: Tensor([1.0]) * 3).item() == 3


def test_results_on_another_device_are_moved_to_where_the_graph_says():
    def elsewhere(results):
        return [buffer.to(CPU(1)) for buffer in results]

    x = Tensor([1.0, 2.0])
    y = recorded(Own(change=elsewhere), lambda: x + 1)
    assert y.to_numpy().tolist() == [2, 3]
    assert (y + x).device == x.device == y.buffers[0].device


class Scaling:
    """Computes on its own account with ops, eager, in groups and in lazy blocks."""

    count = 0

    def execute(self, graph, inputs):
        self.count += 1
        scale = Tensor([1.0]) + 1
        with F.lazy():
            scale = F.exp(scale * 0) * scale
        twice = F.functional(lambda x: x * 2)(scale)
        assert twice.item() == 4
        return CompilingExecutor().execute(graph, inputs)


def test_the_ops_of_an_executor_itself_do_not_ask_it():
    with set_default_executor(Scaling()) as scaling:
        assert (Tensor([1.0]) + 1).item() == 2
        assert scaling.count == 1
        x = Tensor([1.0, 2.0])
        x[0] = 5.0
        assert x.to_numpy().tolist() == [5, 2]
    assert scaling.count == 2
    assert recorded(scaling, lambda: Tensor([1.0]) + 1).item() == 2


def test_two_executors_that_ask_each_other_come_to_an_end():
    class Other:
        def execute(self, graph, inputs):
            value = recorded(scaling, lambda: Tensor([1.0]) + 1)
            assert value.item() == 2
            return CompilingExecutor().execute(graph, inputs)

    scaling = Scaling()
    with set_default_executor(Other()):
        assert (Tensor([1.0]) + 1).item() == 2
    assert scaling.count == 1
