"""Calling compiled functions: checks, symbols, structure, statics."""

import copy
import pickle
import threading
from collections import namedtuple

import numpy as np
import pytest

from maxlite import CPU, CompiledCallable, DType, Tensor, compile, stage, tree
from maxlite import functional as F
from tests.compilation.layouts import layout, tensor, values

Pair = namedtuple("Pair", "u v")


@pytest.fixture
def scale():
    def scale(x, *, gain):
        return x * gain

    return compile(scale)(layout("batch", 2), gain=3.0)


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_one_trace_serves_every_size(scale, rows):
    x = np.ones((rows, 2), np.float32)
    assert values(scale(Tensor(x), gain=3.0)) == (x * 3).tolist()


def test_each_set_of_sizes_is_compiled_once(scale):
    for rows in (1, 2, 1, 2):
        scale(tensor(np.ones((rows, 2))), gain=3.0)
    assert sorted(dict(k)["batch"] for k in scale.engine_model.executables) == [1, 2]


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        (
            [[[1, 2]]],
            {"gain": 4.0},
            ValueError,
            r"argument gain: expected 3\.0, got 4\.0",
        ),
        ([[[1, 2]]], {}, ValueError, "gain"),
        ([], {"gain": 3.0}, ValueError, "positional arguments: expected"),
        ([[1, 2]], {"gain": 3.0}, ValueError, r"argument 0: expected .*\[batch, 2\]"),
        ([[[1, 2, 3]]], {"gain": 3.0}, ValueError, r"got .*\[1, 3\]"),
    ],
)
def test_the_first_misfit_is_named(scale, args, kwargs, error, message):
    with pytest.raises(error, match=message):
        scale(*[tensor(arg) for arg in args], **kwargs)


def test_what_is_no_tensor_is_named(scale):
    with pytest.raises(TypeError, match=r"argument 0: expected .*got ndarray"):
        scale(np.ones((1, 2), np.float32), gain=3.0)
    with pytest.raises(TypeError, match=r"argument 0: .*got list"):
        scale([tensor([[1, 2]])], gain=3.0)


def test_another_dtype_is_named(scale):
    with pytest.raises(ValueError, match=r"argument 0.*float32.*got DType\.float64"):
        scale(tensor([[1, 2]], "float64"), gain=3.0)


def test_another_device_is_named(scale):
    with pytest.raises(ValueError, match=r"argument 0.*id=0.*got .*id=1"):
        scale(tensor([[1, 2]]).to(CPU(1)), gain=3.0)


def test_one_symbol_is_one_size():
    program = compile(lambda a, b: a + b)(layout("n"), layout("n"))
    with pytest.raises(ValueError, match=r"argument 1: symbol 'n'.*3 here and 2.*t 0"):
        program(tensor([1, 2]), tensor([1, 2, 3]))


def test_after_an_error_the_next_call_works(scale):
    with pytest.raises(ValueError, match="argument 0"):
        scale(tensor([1]), gain=3.0)
    assert values(scale(tensor([[1, 2]]), gain=3.0)) == [[3.0, 6.0]]


def test_trees_go_in_and_come_out():
    @tree.dataclass
    class Both:
        left: object
        right: object = None

    def f(d, pair, both, mode="sum"):
        return {"s": d["a"] + d["b"][0], "p": Pair(pair.v, mode), "e": [], "b": both}

    program = compile(f)(
        {"a": layout(2), "b": [layout(2), 7]},
        Pair(1.5, layout("n")),
        Both(layout(1)),
        mode="max",
    )
    x = tensor([1, 2])
    result = program({"b": [x, 7], "a": x}, Pair(1.5, x), Both(tensor([5])), mode="max")
    assert values(result["s"]) == [2.0, 4.0]
    assert values(result["p"].u) == [1.0, 2.0]
    assert result["p"].v == "max"
    assert result["e"] == []
    assert (values(result["b"].left), result["b"].right) == ([5.0], None)
    with pytest.raises(ValueError, match=r"argument 1\.v"):
        program({"b": [x, 7], "a": x}, Pair(1.5, tensor([[1]])), Both(x), mode="max")


class Plain:
    """Compares by identity, having no __eq__."""


NAN = float("nan")


@pytest.mark.parametrize(
    ("static", "same", "other"),
    [
        (3, 3.0, 4),
        ("a", "a", "b"),
        (None, None, 0),
        (NAN, float("nan"), 1.0),
        ([1, {2}], [1, {2}], [1, {3}]),
        (np.array([1.0, NAN]), np.array([1.0, NAN]), np.array([1.0, 2.0])),
    ],
)
def test_statics_match_by_value(static, same, other):
    program = compile(lambda x, s: x)(layout(1), static)
    assert program(tensor([1]), same).item() == 1.0
    with pytest.raises(ValueError, match="argument 1"):
        program(tensor([1]), other)


def test_statics_without_equality_match_by_identity():
    thing = Plain()
    program = compile(lambda x, s: x)(layout(1), thing)
    assert program(tensor([1]), thing).item() == 1.0
    with pytest.raises(ValueError, match="identity"):
        program(tensor([1]), Plain())


def test_results_are_fresh_tensors():
    def f(x, unused):
        y = x + 1
        return y, y, x, None, 5, x.shape[0]

    x = tensor([1, 2])
    a, b, c, *statics = compile(f)(layout("n"), layout(3))(x, tensor([0, 0, 0]))
    assert values(a) == values(b) == [2.0, 3.0]
    assert a is not b
    assert c is not x
    a[0] = tensor(9.0)
    assert values(b) == [2.0, 3.0]
    c[0] = tensor(9.0)
    assert values(x) == [1.0, 2.0]
    assert statics == [None, 5, "n"]


def test_buffers_are_taken_for_tensors(scale):
    x = tensor([[1, 2]])
    assert values(scale(x.driver_tensor, gain=3.0)) == [[3.0, 6.0]]


def test_lazy_arguments_are_realized_first(scale):
    with F.lazy():
        x = tensor([[1, 2]]) + 1
    assert values(scale(x, gain=3.0)) == [[6.0, 9.0]]


def test_a_call_in_a_lazy_block_runs_at_once(scale):
    with F.lazy():
        assert scale(tensor([[1, 2]]), gain=3.0).real


def test_64_bits_are_exact():
    program = compile(lambda x, y: (x + 1, y * 3))(
        layout(1, dtype=DType.int64), layout(1, dtype=DType.float64)
    )
    a, b = program(tensor([2**40 + 5], "int64"), tensor([0.1], "float64"))
    assert (a.item(), b.item()) == (2**40 + 6, 0.1 * 3)


def test_inside_a_trace_it_is_a_subgraph(scale):
    runs = []

    def outer(x):
        runs.append(1)
        return scale(scale(x, gain=3.0) + 1, gain=3.0)

    staged = stage(outer)(layout("k", 2))
    assert [str(dim) for dim in staged.out_layouts[0].shape] == ["k", "2"]
    assert str(staged).count("func.func private @scale") == 1
    assert values(CompiledCallable(staged)(tensor([[1, 2]]))) == [[12.0, 21.0]]
    assert runs == [1]


def test_it_can_be_copied_and_pickled(scale):
    assert copy.copy(scale) is scale
    assert copy.deepcopy(scale) is scale
    again = pickle.loads(pickle.dumps(scale))
    assert values(again(tensor([[1, 2]]), gain=3.0)) == [[3.0, 6.0]]


def test_threads_may_call_it_at_new_sizes(scale):
    results = {}

    def call(n):
        results[n] = scale(tensor(np.ones((n, 2))), gain=3.0).to_numpy().sum()

    threads = [threading.Thread(target=call, args=(n,)) for n in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: 6.0 * n for n in range(1, 7)}


def test_raw_execution_takes_and_gives_buffers():
    program = compile(lambda a, b: (a + b, a))(layout(2), layout(2))
    x = tensor([1, 2])
    out = program.execute_raw(*x.buffers, *x.buffers)
    assert [b.to_numpy().tolist() for b in out] == [[2.0, 4.0], [1.0, 2.0]]
    with pytest.raises(ValueError, match="expected 2, got 1"):
        program.execute_raw(*x.buffers)


def test_members():
    program = compile(lambda x: x + 1)(layout("n"))
    assert program.signal_buffers == []
    assert dict(program.weights) == {}
    with pytest.raises(TypeError):
        program.weights["a"] = 1
    assert program.in_tree.num_leaves == program.out_tree.num_leaves == 1
    assert program.in_layouts == [layout("n")]
    assert "compiled for 0 sets" in repr(program)


def test_decorators():
    @compile
    def f(x):
        return x + 1

    assert f.__name__ == "f"
    assert f(layout(1))(tensor([1])).item() == 2.0


def test_an_argument_pending_in_the_open_block_is_computed(scale):
    with F.lazy():
        y = tensor([[1, 2]]) * 2
        assert values(scale(y, gain=3.0)) == [[6.0, 12.0]]


def test_a_part_of_size_0_can_be_cut_off_again():
    def f(x, y):
        return F.split(F.concat([x, y]), [x.shape[0], y.shape[0]])

    program = compile(f)(layout("n"), layout("m"))
    parts = program(tensor([1, 2]), tensor(np.zeros(0)))
    assert [values(part) for part in parts] == [[1.0, 2.0], []]


def test_an_error_at_the_sizes_of_a_call_names_program_and_sizes():
    program = compile(lambda x: x[2:], name="tail")(layout("n"))
    assert values(program(tensor([1, 2, 3]))) == [3.0]
    with pytest.raises(ValueError, match="tail, at n = 1: "):
        program(tensor([1]))


@pytest.mark.parametrize("name", ["mod", "max", "floordiv", "_", "_n"])
def test_any_identifier_can_be_a_symbol(name):
    staged = stage(lambda x: F.concat([x, x]))(layout(name))
    assert "tensor<?xf32>" in str(staged)
    assert CompiledCallable(staged)(tensor([1, 2])).shape == [4]
