"""Staging: what is recorded, and what the function sees while it is."""

import numpy as np
import pytest

from maxlite import DType, StagedGraph, Tensor, TensorLayout, stage, tree
from maxlite import functional as F
from maxlite.graph import Graph
from maxlite.tensor import current_realization_context
from tests.compilation.layouts import buffer, layout, mesh, tensor


def test_the_function_runs_once_per_staging_and_not_before():
    runs = []
    staging = stage(lambda x: runs.append(x) or x)
    assert not runs
    staging(layout(2))
    staging(layout(2))
    assert len(runs) == 2


def test_traced_tensors_know_everything_but_values():
    seen = []

    def f(x):
        seen.append(
            (x.real, x.storage, x.dtype, list(x.shape), "unrealized" in repr(x))
        )
        return x

    stage(f)(layout("n", 2))
    assert seen == [(False, None, DType.float32, ["n", 2], True)]


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.item(),
        lambda x: bool(x),
        lambda x: x.to_numpy(),
        lambda x: np.asarray(x),
        lambda x: np.from_dlpack(x),
    ],
)
def test_reading_a_value_says_that_a_graph_has_none(read):
    with pytest.raises(TypeError, match="while the graph is traced"):
        stage(lambda x: (read(x), x)[1])(layout(1))
    assert current_realization_context(None) is None


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_an_error_of_the_body_passes_and_leaves_no_context(error):
    def f(x):
        raise error("boo")

    with pytest.raises(error, match="boo"):
        stage(f)(layout(1))
    assert current_realization_context(None) is None
    assert (Tensor([1.0]) + 1).item() == 2.0


def test_leaves_are_ordered_by_position_then_keyword_then_key():
    def f(*args, **kwargs):
        return args[0]

    staged = stage(f)({"b": layout(2), "a": layout(3)}, z=layout(4), c=[layout(5)])
    assert staged.in_tree.leaf_paths == ("0.0.a", "0.0.b", "1.c.0", "1.z")
    assert [str(x.shape[0]) for x in staged.in_layouts] == ["3", "2", "5", "4"]


def test_a_tensor_in_place_of_a_layout_is_named_by_its_path():
    with pytest.raises(TypeError, match=r"argument 0\.a\.1 must be a layout.*\.layout"):
        stage(lambda d: d)({"a": [layout(1), Tensor([1.0])]})


def test_an_expression_cannot_be_an_argument_dim():
    from maxlite import Dim

    with pytest.raises(ValueError, match="argument 0 must be a number or a name"):
        stage(lambda x: x)(layout(Dim("b") * 2))


def test_two_names_cannot_be_added():
    with pytest.raises(ValueError, match="b and c"):
        stage(lambda a, b: a + b)(layout("b"), layout("c"))


def test_a_closed_over_tensor_keeps_the_value_it_had():
    w = tensor([1.0, 2.0])
    staged = stage(lambda x: x + w)(layout(2))
    w[0] = tensor(50.0)
    from maxlite import CompiledCallable

    assert CompiledCallable(staged)(tensor([0, 0])).to_numpy().tolist() == [1.0, 2.0]
    assert w.to_numpy().tolist() == [50.0, 2.0]


def test_a_closed_over_tensor_is_no_text_of_the_module():
    w = tensor([123456.5, 2.0])
    text = str(stage(lambda x: x + w)(layout(2)))
    assert "123456.5" not in text
    assert 'maxlite.name = "captured.0"' in text


def test_a_large_closed_over_tensor_is_warned_of():
    w = tensor(np.zeros((512, 1024)))
    with pytest.warns(UserWarning, match=r"closes over a tensor of 2\.0 MB") as caught:
        stage(lambda x: x + w)(layout(1024))
    assert caught[0].filename == __file__


def test_writing_to_a_closed_over_tensor_is_refused():
    w = tensor([1.0, 2.0])

    def f(x):
        w[0] = x
        return w

    with pytest.raises(TypeError, match=r"from outside of the graph.*BufferLayout"):
        stage(f)(layout())
    assert w.to_numpy().tolist() == [1.0, 2.0]


def test_writing_to_an_argument_needs_a_buffer_layout():
    def f(x, y):
        x[0] = y
        return x

    with pytest.raises(TypeError, match="argument 0 is staged by TensorLayout"):
        stage(f)(layout(2), layout())
    assert len(stage(f)(buffer(2), layout()).out_layouts) == 1


def test_a_leaked_tensor_stays_unreal():
    leaked = []
    stage(lambda x: leaked.append(x + 1) or x)(layout(2))
    with pytest.raises(TypeError, match="graph"):
        leaked[0].to_numpy()
    with pytest.raises(TypeError, match="graph"):
        leaked[0] + 1


def test_staging_inside_a_lazy_block_and_inside_a_trace():
    with F.lazy():
        pending = tensor([1.0]) + 1
        staged = stage(lambda x: x + 1)(layout(1))
        assert type(current_realization_context()).__name__ == "LazyRealizationContext"
    assert pending.item() == 2.0

    def outer(x):
        return x if len(stage(lambda y: y)(layout(3)).in_layouts) == 1 else None

    assert len(stage(outer)(layout(1)).out_layouts) == len(staged.out_layouts) == 1


def test_printing_shows_names_and_no_locations():
    def f(x, *, gain):
        return {"y": x * F.constant_external("a weight", layout(2)) + gain}

    text = repr(stage(f, name="my_graph")(layout("n", 2), gain=2.0))
    assert "@jit_my_graph" in text
    assert 'maxlite.name = "a weight"' in text
    assert 'jax.result_info = "y"' in text
    assert "tensor<?x2xf32>" in text
    assert "loc(" not in text


def test_a_sharded_layout_has_one_graph_input_per_shard():
    from maxlite import Sharded

    m = mesh(2)
    staged = stage(lambda x: x + 1)(layout(4, on=m, placements=[Sharded(0)]))
    assert len(staged.graph.inputs) == 2
    assert [t.shape for t in staged.graph.output_types] == [[2], [2]]
    assert staged.out_layouts[0].placements == (Sharded(0),)


def test_extensions_of_mojo_are_refused():
    with pytest.raises(NotImplementedError, match="Mojo"):
        stage(lambda x: x, custom_extensions=["kernels.mojopkg"])


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="fn must be callable, got int"):
        stage(3)


def test_the_constructor_records_into_a_given_graph():
    flat, treedef = tree.flatten(((layout("n", 2),), {}), leaf=TensorLayout)
    declared = Graph("g", input_types=flat[0].local_types)
    for graph in (Graph("g"), declared):
        staged = StagedGraph(lambda x: x + 1, graph, flat, treedef, prefix="p.")
        assert staged.graph is graph
        assert len(graph.inputs) == len(graph.output_types) == 1
        assert staged.in_tree == treedef
    with pytest.raises(ValueError, match="must declare the types of the layouts"):
        StagedGraph(
            lambda x: x, Graph("g", input_types=layout(3).local_types), flat, treedef
        )
