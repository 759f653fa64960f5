"""Subgraphs: how often a body is recorded, and what it may do."""

import functools

import pytest

from maxlite import CompiledCallable, DType, as_subgraph, default_dtype, stage
from maxlite import functional as F
from maxlite.tensor import current_realization_context
from tests.compilation.layouts import buffer, layout, tensor, values


def count(model, *layouts, **options):
    """Stages a model of subgraphs of one counting body; tells how often it ran."""
    runs = []

    def body(x, k=1):
        runs.append(k)
        return x * k + 1

    stage(functools.partial(model, body), **options)(*layouts)
    return len(runs)


def test_one_body_for_equal_calls():
    assert count(lambda f, x: as_subgraph(f)(as_subgraph(f)(x)), layout("n")) == 1


def test_one_body_per_shape_dtype_and_static():
    def model(f, x, y, z):
        f = as_subgraph(f)
        return f(x), f(y), f(z), f(x, k=2), f(x, k=2)

    assert count(model, layout(2), layout(3), layout(2, dtype=DType.int32)) == 4


def test_one_body_per_name():
    assert (
        count(lambda f, x: as_subgraph(f, name="a")(as_subgraph(f)(x)), layout(2)) == 2
    )


def test_lambdas_with_one_meaning_share_a_body():
    runs = []

    def model(x):
        for i in range(3):
            x = as_subgraph(lambda y: runs.append(1) or y + 1, prefix=f"{i}.")(x)
        return x

    stage(model)(layout(2))
    assert runs == [1]


def test_closures_over_different_values_do_not():
    runs = []

    def make(k):
        return as_subgraph(lambda x: runs.append(k) or x + k, name="same")

    staged = stage(lambda x: make(1)(make(2)(x)))(layout(2))
    assert runs == [2, 1]
    assert values(CompiledCallable(staged)(tensor([0, 0]))) == [3.0, 3.0]


def test_bodies_are_shared_through_nesting():
    def model(f, x):
        inner = as_subgraph(f)
        middle = as_subgraph(lambda y: inner(inner(y)))
        return middle(inner(x))

    assert count(model, layout(2)) == 1


def test_they_can_be_switched_off():
    def model(f, x):
        return as_subgraph(f)(as_subgraph(f)(x))

    assert count(model, layout(2), allow_subgraphs=False) == 2


def test_outside_of_a_trace_the_function_is_called():
    f = as_subgraph(lambda x: x + 1)
    assert f(tensor([1])).item() == 2.0
    with F.lazy():
        y = f(tensor([1]))
    assert y.item() == 2.0


def test_the_module_has_one_private_function():
    @as_subgraph
    def block(x):
        return F.exp(x) + 1

    text = str(stage(lambda x: block(block(block(x))))(layout("n")))
    assert text.count("func.func private @block") == 1
    assert text.count("call @block") == 3


def test_trees_and_statics_go_in_and_come_back():
    @as_subgraph
    def f(d, *, mode):
        return {"y": d["x"] + 1, "mode": mode, "none": None, "same": d["x"]}

    seen = []

    def model(x):
        result = f({"x": x}, mode="m")
        seen.append((result["mode"], result["none"]))
        return result["y"], result["same"]

    y, same = CompiledCallable(stage(model)(layout(2)))(tensor([1, 2]))
    assert (values(y), values(same)) == ([2.0, 3.0], [1.0, 2.0])
    assert seen == [("m", None)]


def test_unhashable_statics_are_compared():
    runs = []

    @as_subgraph
    def f(x, options):
        runs.append(options)
        return x * options[0]

    stage(lambda x: f(f(f(x, [2]), [2]), [3]))(layout(2))
    assert runs == [[2], [3]]


def test_a_real_tensor_that_it_closes_over_is_a_constant():
    w = tensor([1, 2])

    @as_subgraph
    def f(x):
        return x + w

    staged = stage(lambda x: f(f(x)))(layout(2))
    assert len(staged.graph.inputs) == 1
    assert values(CompiledCallable(staged)(tensor([0, 0]))) == [2.0, 4.0]


def test_a_traced_tensor_cannot_be_closed_over():
    def outer(x):
        y = x + 1
        return as_subgraph(lambda z: z + y, name="inner")(x)

    with pytest.raises(TypeError, match="inner: a traced tensor of graph 'outer'"):
        stage(outer)(layout(2))


def test_writes_to_a_buffer_argument_reach_the_caller():
    @as_subgraph
    def put(b, x):
        F.buffer_store(b, b + x)
        return b * 2

    def model(b, x):
        first = put(b, x)
        return first, put(b, x), b + 0

    program = CompiledCallable(stage(model)(buffer(2), layout(2)))
    b = tensor([0, 0])
    results = program(b, tensor([1, 2]))
    assert [values(y) for y in results] == [[2.0, 4.0], [4.0, 8.0], [2.0, 4.0]]
    assert values(b) == [2.0, 4.0]


def test_an_error_in_the_body_leaves_no_context():
    @as_subgraph
    def f(x):
        raise KeyError("boo")

    with pytest.raises(KeyError, match="boo"):
        stage(lambda x: f(x))(layout(1))
    assert current_realization_context(None) is None


def test_the_prefix_can_be_seen():
    seen = []

    def f(x):
        seen.append(current_realization_context().prefix)
        return x

    def outer(x):
        return as_subgraph(f, prefix="b.")(x)

    stage(lambda x: as_subgraph(outer, prefix="a.")(x))(layout(1))
    assert seen == ["a.b."]


def test_symbols_pass_through():
    @as_subgraph
    def f(x):
        return F.concat([x, x])

    staged = stage(lambda x: f(f(x)))(layout("n", 2))
    assert str(staged.out_layouts[0].shape[0]) == "n * 4"
    program = CompiledCallable(staged)
    for n in (0, 1, 3):
        assert (
            program(tensor([[1, 2]] * n if n else [[]] * 0).reshape([n, 2])).shape[0]
            == 4 * n
        )


def test_statics_that_are_merely_equal_are_other_programs():
    @as_subgraph
    def f(x, s):
        return x * 10 if s is True else x

    program = CompiledCallable(stage(lambda x: (f(x, 1), f(x, True)))(layout(1)))
    assert [y.item() for y in program(tensor([1]))] == [1.0, 10.0]


def test_the_defaults_are_part_of_what_a_body_means():
    ones = as_subgraph(lambda x: x.ones([2]))

    def f(x):
        with default_dtype(DType.float64):
            wide = ones(x)
        return wide, ones(x)

    found = [y.dtype for y in stage(f)(layout(1)).out_layouts]
    assert found == [DType.float64, DType.float32]


def test_one_tensor_as_two_arguments_cannot_be_written_to():
    def swap(a, b):
        a[0] = b[1]
        b[1] = a[0] * 10

    with pytest.raises(ValueError, match="tensors 0 and 1 of the arguments are one"):
        stage(lambda c: as_subgraph(swap)(c, c))(buffer(2))


@pytest.mark.parametrize("wrap", [as_subgraph, lambda f: f])
def test_writes_mean_what_they_mean_without_a_subgraph(wrap):
    """A computed value is written to, and a returned argument is the argument."""

    def put(t, x):
        t[0] = x
        return t

    def model(b, x):
        y = b * 2
        wrap(put)(y, x)
        same = wrap(lambda t: t)(b)
        same[1] = y[0]
        wrap(put)(b, y[1])[1] = b[1] + 1
        return y

    program = CompiledCallable(stage(model)(buffer(2), layout()))
    b = tensor([1, 2])
    assert values(program(b, tensor(7))) == [7.0, 4.0]
    assert values(b) == [4.0, 8.0]


def test_an_argument_that_may_not_be_written_to_is_refused_by_the_caller():
    put = as_subgraph(lambda t: F.buffer_store(t, t + 1))
    with pytest.raises(TypeError, match="argument 1 is staged by TensorLayout"):
        stage(lambda a, b: put(b))(layout(2), layout(2))
