"""Named weights: bound by name, refused by name, never in the module."""

import pickle

import numpy as np
import pytest

from maxlite import (
    CompiledCallable,
    DType,
    Partial,
    Replicated,
    Sharded,
    Tensor,
    as_subgraph,
    compile,
    stage,
)
from maxlite import functional as F
from tests.compilation.layouts import buffer, layout, mesh, tensor, values


def layer(x):
    return x * F.constant_external("w", layout(2)) + F.constant_external("b", layout(2))


W = {"w": np.array([3, 4], np.float32), "b": np.array([1, 1], np.float32)}


@pytest.fixture
def staged():
    return stage(layer)(layout("n", 2))


def test_one_program_is_bound_to_several_sets(staged):
    f = CompiledCallable(staged, W)
    g = CompiledCallable(staged, {"w": tensor([1, 1]), "b": tensor([0, 0])})
    x = tensor([[1, 2]])
    assert values(f(x)) == [[4.0, 9.0]]
    assert values(g(x)) == [[1.0, 2.0]]


def test_they_are_named_in_the_text_and_their_values_are_not(staged):
    assert 'maxlite.name = "w"' in str(staged)
    f = CompiledCallable(staged, {**W, "w": np.array([98765.5, 0], np.float32)})
    f(tensor([[1, 2]]))
    (compiled,) = f.engine_model.executables.values()
    assert "98765" not in str(compiled.as_text())


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"w": W["w"]}, "1 weight is missing: 'b', DType.float32"),
        (
            {**W, "w": np.ones(3, np.float32)},
            r"weight 'w' must be .*\[2\].*got .*\[3\]",
        ),
        ({**W, "w": np.ones(2)}, "weight 'w' must be .*float32.*got .*float64"),
    ],
)
def test_wrong_ones_are_refused_by_name_when_bound(staged, weights, message):
    with pytest.raises(ValueError, match=message):
        CompiledCallable(staged, weights)


def test_what_is_no_array_is_refused(staged):
    with pytest.raises(TypeError, match="weight 'w' must be a Tensor or an array"):
        CompiledCallable(staged, {**W, "w": "text"})


def test_extra_ones_are_ignored(staged):
    assert "zz" in CompiledCallable(staged, {**W, "zz": np.ones(1)}).weights


def test_the_source_of_a_weight_may_change_afterwards(staged):
    array, t = np.array([3, 4], np.float32), tensor([1, 1])
    f = CompiledCallable(staged, {"w": array, "b": t})
    array[:] = 0
    t[0] = tensor(100.0)
    assert values(f(tensor([[1, 2]]))) == [[4.0, 9.0]]
    assert values(t) == [100.0, 1.0]


def test_one_name_is_one_layout():
    def f(x):
        return x * F.constant_external("w", layout(2)) + F.constant_external(
            "w", layout(2, dtype=DType.float64)
        )

    with pytest.raises(ValueError, match="weight 'w' must have one layout"):
        stage(f)(layout(2))


def test_a_buffer_layout_is_refused():
    with pytest.raises(TypeError, match="layout of 'w' must be a TensorLayout"):
        stage(lambda x: F.constant_external("w", buffer(2)))(layout(1))


def test_outside_of_a_trace_there_are_none():
    with pytest.raises(RuntimeError, match="only be declared while"):
        F.constant_external("w", layout(2))


def block(x):
    return x * F.constant_external("w", layout(2), is_placeholder=True)


def test_prefixes_make_one_body_use_many_weights():
    def model(x):
        for i in range(2):
            x = as_subgraph(block, prefix=f"layers.{i}.")(x)
        return x

    f = compile(
        model, weights={"layers.0.w": tensor([2, 3]), "layers.1.w": tensor([5, 7])}
    )(layout(2))
    assert values(f(tensor([1, 1]))) == [10.0, 21.0]


def test_prefixes_of_nested_subgraphs_add_up():
    def inner(x):
        return as_subgraph(block, prefix="mlp.")(x)

    staged = stage(lambda x: as_subgraph(inner, prefix="layers.3.")(x))(layout(2))
    assert list(staged.weight_layouts) == ["layers.3.mlp.w"]


def test_a_prefix_is_a_plain_string_and_spares_other_weights():
    def body(x):
        return block(x) + F.constant_external("w", layout(2))

    staged = stage(lambda x: as_subgraph(body, prefix="a")(x))(layout(2))
    assert sorted(staged.weight_layouts) == ["aw", "w"]


def test_sharded_weights_lie_where_their_layout_says():
    m = mesh(2)
    rows = layout(4, on=m, placements=[Sharded(0)])
    whole = layout(4, on=m, placements=[Replicated()])

    def f(x):
        return x.to(rows.mapping) * F.constant_external("w", rows)

    program = compile(f, weights={"w": np.arange(4, dtype=np.float32)})(whole)
    y = program(Tensor([1, 1, 1, 2]).to(whole.mapping))
    assert y.placements == (Sharded(0),)
    assert values(y) == [0.0, 1.0, 2.0, 6.0]


def test_another_binding_compiles_nothing(staged):
    f = CompiledCallable(staged, W)
    f(tensor([[1, 2]]))
    g = CompiledCallable(staged, {**W, "w": np.array([1, 1], np.float32)})
    assert list(g.engine_model.executables) == [(("n", 1),)]
    assert values(g(tensor([[1, 2]]))) == [[2.0, 3.0]]


def test_all_missing_ones_are_named_and_unused_ones_too(staged):
    with pytest.raises(ValueError, match=r"2 weights are missing: 'w'.*'b'.* 'x'"):
        CompiledCallable(staged, {"x": np.ones(1)})


def test_a_pending_sum_can_be_a_weight():
    m = mesh(2)
    pending = layout(2, on=m, placements=[Partial()])
    program = compile(
        lambda: F.constant_external("w", pending), weights={"w": np.ones(2, np.float32)}
    )()
    assert values(program()) == [1.0, 1.0]


def test_the_sizes_of_a_weight_are_numbers():
    program = stage(lambda x: x + F.constant_external("w", layout("n")))(layout("n"))
    with pytest.raises(ValueError, match="sizes of weight 'w' must be numbers"):
        CompiledCallable(program, {"w": np.ones(3, np.float32)})


def test_a_pending_sum_survives_pickling():
    pending = layout(2, on=mesh(2), placements=[Partial()])
    program = compile(
        lambda: F.constant_external("w", pending), weights={"w": np.ones(2, np.float32)}
    )()
    again = pickle.loads(pickle.dumps(program))
    assert values(again()) == [1.0, 1.0]
