"""F.functional and F.lazy as a user writes them."""

import pytest

from maxlite import Tensor
from maxlite import functional as F
from maxlite.executor import InterpreterExecutor, set_default_executor
from maxlite.realization_context import (
    LazyRealizationContext,
    set_default_realization_context,
)


def test_options_may_be_given_to_the_decorator():
    runs = []

    @F.functional(pure=True)
    def doubled(x):
        runs.append(x)
        return x * 2

    assert [doubled(Tensor([i])).item() for i in (1.0, 2.0)] == [2, 4]
    assert len(runs) == 1

    @F.functional()
    def plain(x):
        return x + 1

    assert plain(Tensor([1.0])).item() == 2


def test_a_function_that_runs_piece_by_piece_is_refused():
    async def later(x):
        return x

    def pieces(x):
        yield x

    for function in (later, pieces):
        with pytest.raises(TypeError, match="is run piece by piece"):
            F.functional(function)


def test_the_context_of_a_block_can_be_looked_at():
    with F.lazy() as ctx:
        x = Tensor([1.0]) + 1
    assert isinstance(ctx, LazyRealizationContext)
    assert [node.op.name for node in ctx.graph.nodes] == ["add"]
    assert x.item() == 2


def test_a_read_inside_of_a_group_says_what_to_do():
    @F.functional
    def group(x):
        return x if F.max(x).item() > 1 else -x

    with pytest.raises(
        TypeError, match=r"in F\.functional choose by F\.where or F\.cond"
    ):
        group(Tensor([1.0]))


@pytest.mark.parametrize("executor", ["jit", InterpreterExecutor, object()])
def test_an_executor_that_is_none_is_named_at_the_first_op(executor):
    with (
        set_default_executor(executor),
        pytest.raises(
            AttributeError,
            match=r"an object with a method execute\(graph, inputs\), got",
        ),
    ):
        Tensor([1.0]) + 1
    assert (Tensor([1.0]) + 1).item() == 2


def test_a_context_is_no_maker_of_contexts():
    with pytest.raises(TypeError, match="Pass a class, such as LazyRealizationContext"):
        set_default_realization_context(LazyRealizationContext())
