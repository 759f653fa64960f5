"""Answers of an executor that are not what the graph says, and errors of its own."""

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import as_subgraph, stage
from maxlite.driver import Buffer
from maxlite.executor import (
    CompilingExecutor,
    InterpreterExecutor,
    UnsupportedGraphError,
    set_default_executor,
)
from maxlite.sharding import DeviceMapping, Partial, Sharded, TensorLayout
from maxlite.tensor import Tensor, current_realization_context
from tests.executor.own import Own, recorded
from tests.sharding.meshes import cpu_mesh

TWO = cpu_mesh(2)


def changed(change):
    """Makes a change of an answer out of one of each array in it."""
    return lambda results: [
        Buffer.from_numpy(np.array(change(buffer.to_numpy(), i)))
        for i, buffer in enumerate(results)
    ]


WRONG = {
    "nothing": (lambda results: None, TypeError, "must return a list of Buffers"),
    "one buffer": (lambda results: results[0], TypeError, "a list of Buffers, got B"),
    "no buffers": (
        lambda results: [b.to_numpy() for b in results],
        TypeError,
        "each output must be a Buffer, got ndarray",
    ),
    "too few": (lambda results: results[:-1], ValueError, "must be [24] .* got [13]"),
    "too many": (lambda results: results * 2, ValueError, "must be [24] .* got [48]"),
    "dtype": (
        changed(lambda array, i: array.astype(np.int32)),
        ValueError,
        "output 0 must be float32.* got int32",
    ),
    "rank": (
        changed(lambda array, i: array[0]),
        ValueError,
        r"output 0 must be float32.* got float32\[\]",
    ),
    "size": (
        changed(lambda array, i: np.repeat(array, 3)),
        ValueError,
        "output 0 must be float32.* got float32",
    ),
    "the last one": (
        lambda results: [*results[:-1], Buffer.from_numpy(np.zeros(3, np.int32))],
        ValueError,
        "output 1 must be|one dtype",
    ),
}

PLACES = {
    "one device": None,
    "Sharded": DeviceMapping(TWO, (Sharded(0),)),
    "Partial": DeviceMapping(TWO, (Partial(),)),
}


@pytest.mark.parametrize("where", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize(("change", "error", "match"), WRONG.values(), ids=WRONG)
def test_a_wrong_answer_is_refused_and_writes_nothing(change, error, match, where):
    own = Own(change=change)
    x = Tensor(np.arange(4, dtype=np.float32), device=where)

    def body():
        y = x + 1
        x[...] = y * 2
        return y

    y = recorded(own, body)
    for _ in range(2):
        with pytest.raises(error, match=match) as caught:
            y.to_numpy()
        assert "Own: " in str(caught.value)
        (note,) = caught.value.__notes__
        assert "add" in note
        assert (x.real, y.real) == (False, False)
    own.change = list
    assert y.to_numpy().tolist() == [1, 2, 3, 4]
    assert x.to_numpy().tolist() == [2, 4, 6, 8]


def test_shards_that_do_not_fit_together_are_refused():
    x = Tensor(np.arange(4.0), device=PLACES["Sharded"])
    uneven = changed(lambda array, i: array[: 1 + i])
    y = recorded(Own(change=uneven), lambda: x + 1)
    with pytest.raises(ValueError, match=r"output 0 must be .*, got float64\[3\]"):
        y.to_numpy()
    mixed = changed(lambda array, i: array.astype([np.float64, np.int32][i]))
    y = recorded(Own(change=mixed), lambda: x + 1)
    with pytest.raises(ValueError, match="shards must have one dtype"):
        y.to_numpy()


def test_one_name_is_one_size():
    def longer(array, i):
        return np.zeros((len(array) + i, 1), array.dtype)

    def body():
        found = F.nonzero(Tensor([1.0, 0.0, 2.0]))
        return found, found + 1

    found, more = recorded(Own(change=changed(longer)), body)
    with pytest.raises(ValueError, match="got 3 for nonzero_0 = 2"):
        more.to_numpy()
    assert not found.real


def test_any_iterable_of_buffers_will_do():
    for change in (tuple, iter, lambda results: (b for b in results)):
        assert recorded(Own(change=change), lambda: Tensor([1.0]) + 1).item() == 2


def test_results_may_share_memory_with_each_other_and_with_what_came_in():
    class Same:
        def execute(self, graph, inputs):
            return [inputs[0]] * len(graph.output_types)

    x = Tensor([1.0, 2.0])
    y, z = recorded(Same(), lambda: (x * 1, x * 1))
    assert y.to_numpy().tolist() == z.to_numpy().tolist() == [1, 2]
    y[0] = 10.0
    x[1] = 20.0
    values = [t.to_numpy().tolist() for t in (x, y, z)]
    assert values == [[1, 20], [10, 2], [1, 2]]


# Errors of an executor --------------------------------------------------------------


class Broken(Exception):
    """An executor's own."""


class Failing:
    """Raises what it is told to."""

    def __init__(self, error):
        self.error = error

    def execute(self, graph, inputs):
        raise self.error


ERRORS = [
    UnsupportedGraphError,
    Broken,
    ValueError,
    MemoryError,
    KeyboardInterrupt,
    SystemExit,
]


@pytest.fixture(params=ERRORS)
def error(request):
    return request.param("why")


def test_errors_of_an_executor_pass_unchanged(error):
    x = Tensor([1.0, 2.0])
    y = recorded(Failing(error), lambda: F.exp(x))
    with pytest.raises(type(error)) as caught:
        y.to_numpy()
    assert caught.value is error
    assert not y.real
    assert current_realization_context(None) is None
    with pytest.raises(type(error)):
        y.to_numpy()
    assert len(getattr(error, "__notes__", ())) == isinstance(error, Exception)
    assert (x + 1).real


def test_an_eager_op_raises_them_and_the_next_one_works(error):
    x = Tensor([1.0, 2.0])
    with set_default_executor(Failing(error)):
        with pytest.raises(type(error)) as caught:
            x + 1
        assert caught.value is error
        with pytest.raises(type(error)):
            F.functional(lambda x: x + 1)(x)
        assert current_realization_context(None) is None
    assert (x + 1).real


def test_a_failed_write_is_still_to_be_done(monkeypatch):
    x = Tensor([1.0, 2.0])
    failing = Failing(Broken("later"))
    with set_default_executor(failing), pytest.raises(Broken, match="later"):
        x[0] = 5.0
    # As in a lazy block: what was recorded is pending, and can be tried again.
    monkeypatch.setattr(failing, "execute", Own(CompilingExecutor()).execute)
    assert x.to_numpy().tolist() == [5, 2]


def test_a_failed_block_tells_its_ops_and_their_lines():
    x = Tensor(np.ones([1, 3, 1, 7]))  # of a shape that no other test has

    def body():
        y = x + 1.0
        return F.logsoftmax(y * 2.0)

    with pytest.raises(Broken) as caught:
        recorded(Failing(Broken("why")), body).to_numpy()
    (note,) = caught.value.__notes__
    first = body.__code__.co_firstlineno
    ops = ("add", "mul", "logsoftmax")
    for op, line in zip(ops, (first + 1, first + 2, first + 2), strict=True):
        assert f"{op} ({__file__}:{line})" in note
    assert "still pending" in note


def test_a_long_note_is_cut():
    def body():
        y = Tensor([1.0])
        for _ in range(30):
            y = y + 1
        return y

    with pytest.raises(Broken) as caught:
        recorded(Failing(Broken("why")), body).to_numpy()
    (note,) = caught.value.__notes__
    assert "a block of 30 ops" in note
    assert "20 others before" in note
    assert len(note.splitlines()) == 12


# What comes in ----------------------------------------------------------------------


@pytest.mark.parametrize("executor", [CompilingExecutor(), InterpreterExecutor()])
def test_a_graph_can_be_executed_by_hand(executor):
    own, where = Own(executor), PLACES["Sharded"]
    x = Tensor(np.arange(4.0), device=where)
    y = Tensor(np.arange(2), device=where)
    made = recorded(own, lambda: (x * 2 + 1, -y))
    assert made[0].to_numpy().tolist() == [1, 3, 5, 7]
    graph, inputs = own.graphs[0], own.inputs[0]
    for _ in range(2):
        results = executor.execute(graph, inputs)
        assert [b.to_numpy().tolist() for b in results] == [[1, 3], [5, 7], [0], [-1]]
    for given, error, match in (
        (inputs[:-1], ValueError, "there must be 4 input buffers, got 3"),
        ([b.to_numpy() for b in inputs], TypeError, "each input must be a Buffer"),
        (inputs[::-1], ValueError, r"input 0 must be float64\[4\]"),
    ):
        with pytest.raises(error, match=f"execute: {match}"):
            executor.execute(graph, given)


@pytest.mark.parametrize("executor", [CompilingExecutor(), InterpreterExecutor()])
def test_a_traced_graph_can_be_executed_by_hand(executor):
    x, outside = Tensor([1.0, 2.0]), Tensor([5.0, 6.0])
    inputs = [Buffer.from_numpy(x.to_numpy())]

    def run(fn, *sizes):
        graph = stage(fn)(TensorLayout(x.dtype, sizes or [2], x.mapping)).graph
        return [b.to_numpy().tolist() for b in executor.execute(graph, inputs)]

    assert run(lambda y: (y * 2 + outside, y)) == [[7, 10], [1, 2]]
    assert run(lambda y: y * 2, "n") == [[2, 4]]
    tripled = as_subgraph(lambda y: y * 3)
    assert run(lambda y: tripled(tripled(y)) + y) == [[10, 20]]
    with pytest.raises(TypeError, match="has no seed here"):
        run(lambda y: y + F.uniform([2]))
    with pytest.raises(TypeError, match="weight 'w' has no value"):
        run(lambda y: y + F.constant_external("w", x.layout))
