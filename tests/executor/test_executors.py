"""The executors that answer at once: op by op, and compiled as a whole."""

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.driver import Buffer
from maxlite.executor import (
    CompilingExecutor,
    InterpreterExecutor,
    UnsupportedGraphError,
    _compute,
)
from maxlite.sharding import DeviceMapping, Sharded
from maxlite.tensor import Tensor
from tests.executor.own import Own, recorded
from tests.sharding.meshes import cpu_mesh

SIZES = iter(range(101, 10_000))


@pytest.fixture
def fresh():
    """A tensor of a shape that nothing was compiled for."""
    return Tensor(np.ones([1, next(SIZES)], np.float32))


def read(executor, fn):
    return recorded(executor, fn).to_numpy().flat[0]


def chain(x, length):
    for _ in range(length):
        x = x * 1.5
    return x


# Op by op ---------------------------------------------------------------------------


def test_the_interpreter_compiles_each_op_once(fresh, compiled):
    executor = InterpreterExecutor()
    assert read(executor, lambda: F.exp(chain(fresh, 3)) * 0) == 0
    assert [[n.op.name for n in graph.nodes] for graph in compiled] == [
        ["mul"],
        ["exp"],
    ]
    assert read(executor, lambda: F.exp(chain(fresh, 2))) == pytest.approx(np.exp(2.25))
    assert len(compiled) == 2


@pytest.mark.parametrize("length", [0, 1, 3])
def test_max_ops_bounds_the_ops_of_a_graph(length):
    x = Tensor([1.0, 2.0])
    executor = InterpreterExecutor(max_ops=length)
    assert executor.max_ops == length
    if length:
        assert read(executor, lambda: chain(x, length)) == 1.5**length
    more = recorded(executor, lambda: chain(x, length + 1))
    match = f"main: .* must have at most {length} ops, got {length + 1}. Raise max_ops"
    for _ in range(2):
        with pytest.raises(UnsupportedGraphError, match=match):
            more.to_numpy()
    assert not more.real


def test_max_ops_does_not_count_what_nothing_needs():
    def body():
        kept = chain(Tensor([1.0]), 2)
        chain(kept, 5)
        return kept

    assert read(InterpreterExecutor(max_ops=2), body) == 2.25


def test_max_ops_holds_for_graphs_by_hand():
    own = Own()
    assert read(own, lambda: chain(Tensor([1.0]), 3)) == 1.5**3
    with pytest.raises(UnsupportedGraphError, match="at most 2 ops, got 3"):
        InterpreterExecutor(2).execute(own.graphs[0], own.inputs[0])
    assert InterpreterExecutor(3).execute(own.graphs[0], own.inputs[0])


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        (1.5, TypeError, "max_ops must be an int or None, got float"),
        (True, TypeError, "max_ops must be an int or None, got bool"),
        (-1, ValueError, "max_ops must be 0 or more, got -1"),
    ],
)
def test_max_ops_is_checked(given, error, match):
    with pytest.raises(error, match=match):
        InterpreterExecutor(max_ops=given)


def test_the_interpreter_lets_go_of_what_no_op_needs_any_more(monkeypatch):
    held = []
    run = _compute._run

    def spy(program, name, known, sizes):
        held.append(len(known))
        return run(program, name, known, sizes)

    monkeypatch.setattr(_compute, "_run", spy)

    def body():
        first = Tensor([1.0]) + 1
        return first, chain(first, 50)

    first, last = recorded(InterpreterExecutor(), body)
    assert last.item() == pytest.approx(2 * 1.5**50)
    assert first.item() == 2
    assert len(held) == 51
    assert max(held) == 2  # the output, and what the next op needs


def test_sizes_that_are_told_later_than_they_are_used_are_waited_for():
    """The sum is recorded before the value that tells how long its operands are."""

    def body():
        x = Tensor([1.0, 2.0, 0.0])
        filled = F.full(["found"], 7.0)
        found = F.nonzero(x, "found")
        return filled + 1, found

    for executor in (InterpreterExecutor(), CompilingExecutor(), Own()):
        filled, found = recorded(executor, body)
        assert filled.to_numpy().tolist() == [8, 8]
        assert found.to_numpy().tolist() == [[0], [1]]


def test_a_size_that_nothing_tells_is_named():
    for executor in (InterpreterExecutor(), CompilingExecutor()):
        filled = recorded(executor, lambda: F.full(["nowhere"], 7.0))
        with pytest.raises(ValueError, match="the sizes nowhere must be known"):
            filled.to_numpy()
        assert not filled.real


# As a whole -------------------------------------------------------------------------


def test_a_block_is_compiled_once_whatever_the_values(fresh, compiled):
    executor = CompilingExecutor()
    for number in (1.0, 2.0, -0.0):
        x = fresh + 0  # other values of the same kind
        value = recorded(executor, lambda x=x, n=number: F.sum(x * n) * 2 + n)
        assert value.item() == fresh.num_elements() * number * 2 + number
    assert [len(graph.nodes) for graph in compiled] == [4]


def test_other_shapes_dtypes_and_places_are_other_programs(fresh, compiled):
    executor = CompilingExecutor()
    other = [
        fresh,
        Tensor(np.ones([2, next(SIZES)], np.float32)),
        Tensor(np.ones(fresh.to_numpy().shape, np.int32)),
        Tensor(
            np.ones([2, next(SIZES)]), device=DeviceMapping(cpu_mesh(2), [Sharded(0)])
        ),
    ]
    for _ in range(2):
        for x in other:
            assert read(executor, lambda x=x: x * 2 + 1) == 3
    assert len(compiled) == 4


def test_both_ways_into_an_executor_share_their_programs(fresh, compiled):
    own = Own(CompilingExecutor())
    assert read(own, lambda: fresh * 2 + 1) == 3
    assert read(own.inner, lambda: fresh * 2 + 1) == 3
    again = own.inner.execute(own.graphs[0], own.inputs[0])
    assert isinstance(again[0], Buffer)
    assert len(compiled) == 1


@pytest.mark.parametrize("error", [MemoryError("full"), KeyboardInterrupt("stop")])
@pytest.mark.parametrize(
    "executor", [CompilingExecutor(), InterpreterExecutor(), Own(CompilingExecutor())]
)
def test_a_compile_that_fails_leaves_everything_pending(
    fresh, compiled, executor, error
):
    y = recorded(executor, lambda: fresh * 2 + 1)
    compiled.fail = error
    with pytest.raises(type(error), match=str(error)):
        y.to_numpy()
    assert not y.real
    assert y.to_numpy()[0, 0] == 3


# What is compiled -------------------------------------------------------------------


def lines_of(compiled, op):
    """Lists the lines of an optimized program that hold an op of HLO."""
    return [line for line in compiled.as_text().splitlines() if f" {op}(" in line]


def test_common_subexpressions_are_computed_once_and_dead_ones_not_at_all(
    fresh, monkeypatch
):
    made = []
    compile_graph = _compute.executable_of.__globals__["compile_graph"]

    def spy(graph, sizes):
        made.append(compile_graph(graph, sizes))
        return made[-1]

    monkeypatch.setitem(_compute.executable_of.__globals__, "compile_graph", spy)

    def body():
        dropped = F.cos(fresh) * 3
        wave = F.sin(fresh + 1)
        del dropped
        return F.exp(fresh) + 1, F.exp(fresh) * 2, wave, F.sin(fresh + 1)

    first, second, *waves = recorded(CompilingExecutor(), body)
    assert first.to_numpy()[0, 0] == pytest.approx(np.e + 1)
    assert second.to_numpy()[0, 0] == pytest.approx(np.e * 2)
    assert [w.to_numpy()[0, 0] for w in waves] == [pytest.approx(np.sin(2))] * 2
    (executable,) = made
    hlo = executable.compiled
    assert len(lines_of(hlo, "exponential")) == 1
    assert len(lines_of(hlo, "sine")) == 1
    assert lines_of(hlo, "cosine") == []
