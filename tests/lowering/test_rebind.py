"""Names that a program gives to sizes, worked out from equations."""

from __future__ import annotations

import pytest

from maxlite import functional as F
from maxlite.compilation import compile, stage
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph import Dim
from maxlite.lowering._rebind import complete_sizes, solve_sizes
from maxlite.lowering._symbolic import example_sizes, free_symbols, symbolic_sizes
from maxlite.sharding import TensorLayout
from maxlite.tensor import Tensor

K, M, N = Dim("k"), Dim("m"), Dim("n")


def layout(*sizes) -> TensorLayout:
    return TensorLayout(DType.float32, list(sizes), CPU())


@pytest.mark.parametrize(
    ("equations", "known", "found"),
    [
        ([(N, M)], {"n": 5}, {"m": 5}),
        ([(M, N)], {"n": 5}, {"m": 5}),
        ([(N, M * 2 + 1)], {"n": 5}, {"m": 2}),
        ([(N, M * K)], {"n": 6, "k": 2}, {"m": 3}),
        ([(M, K), (N, M)], {"n": 5}, {"m": 5, "k": 5}),
        ([(4, N)], {}, {"n": 4}),
        ([(N, 7)], {"n": 5}, {}),
        ([(N, M * K)], {"n": 6}, {}),
        ([(M, M * 2)], {}, {}),
        ([(4, M - M)], {}, {}),
        ([(N, M)], {"n": K + 1}, {"m": K + 1}),
        ([(N, M * 2)], {"n": K * 4}, {"m": K * 2}),
    ],
)
def test_equations_with_one_unknown_are_solved(equations, known, found):
    assert solve_sizes(equations, known) == {**known, **found}


def test_a_size_below_0_is_refused():
    with pytest.raises(ValueError, match=r"got m = -1 from m \+ 1 = 0"):
        solve_sizes([(N, M + 1)], {"n": 0})


def test_a_program_without_rebind_has_only_the_names_of_its_parameters():
    sizes = {"n": 5}
    assert complete_sizes(stage(lambda x: x + 1)(layout("n")).graph, sizes) is sizes


def test_a_rebind_that_nothing_reads_counts_too():
    """Its new name may be used without the tensor."""

    def fn(x):
        F.rebind(x, ["m"])
        return F.zeros(["m"])

    assert compile(fn)(layout("n"))(Tensor([1.0, 2.0])).shape == [2]


@pytest.mark.parametrize(
    ("stated", "free", "example"),
    [
        (["m"], ["n"], {"n": 2, "m": 2}),
        ([M * 2], ["n"], {"n": 2, "m": 1}),
        ([4], [], {"n": 4}),
        (["n"], ["n"], {"n": 2}),
    ],
)
def test_names_that_are_tied_to_others_are_not_free(stated, free, example):
    graph = stage(lambda x: F.rebind(x, stated))(layout("n")).graph
    assert free_symbols(graph) == free
    assert example_sizes(graph) == example
    assert set(symbolic_sizes(graph)) == set(example)


def test_sizes_that_are_stated_twice_are_one_program():
    program = compile(lambda x: F.rebind(x, ["m"]))(layout("n"))
    program(Tensor([1.0]))
    program(Tensor([2.0]))
    program.collectives(n=1)
    assert len(program.engine_model.executables) == 1
