"""Executables: whose memory is reused, results without elements, first calls."""

import numpy as np
import pytest

from maxlite import BufferLayout, DType, Tensor, compile
from maxlite import functional as F
from tests.compilation.layouts import buffer, layout, tensor, values
from tests.lowering.stored import distributed, mapping


def pointers(t):
    return [s.data.unsafe_buffer_pointer() for s in t._stored().addressable_shards]


def test_a_result_of_the_same_shape_does_not_take_the_memory_of_a_written_argument():
    def f(b, x):
        F.buffer_store_slice(b, x, [0])
        return b + 1, b * 2

    program = compile(f)(buffer(100, 100), layout(100))
    b = Tensor(np.zeros((100, 100), np.float32))
    before = pointers(b)
    first, second = program(b, tensor(np.ones(100)))
    assert pointers(b) == before
    assert (b.to_numpy().sum(), first.to_numpy().sum()) == (100, 10_100)
    assert second.to_numpy().sum() == 200


def test_several_written_arguments_keep_their_own_memory_on_a_mesh():
    where = mapping((2,), "S0")

    def f(a, b, c):
        F.buffer_store(c, c + a)
        F.buffer_store(a, a * 2)
        return b + 1

    kind = BufferLayout(DType.float32, [64, 64], where)
    program = compile(f)(kind, kind, kind)
    a, b, c = (
        distributed(np.full((64, 64), v, np.float32), (2,), "S0") for v in (1, 2, 3)
    )
    before = [pointers(t) for t in (a, b, c)]
    result = program(a, b, c)
    assert [pointers(t) for t in (a, b, c)] == before
    assert [t.to_numpy()[0, 0] for t in (a, b, c, result)] == [2, 2, 4, 3]


def test_written_arguments_of_different_places_come_back_to_them():
    def f(a, b, x):
        F.buffer_store(b, b + 1)
        F.buffer_store(a, a + b)
        return x * 2, a - 1

    program = compile(f)(
        BufferLayout(DType.float32, [2], mapping((2,), "R")),
        buffer(2),
        layout(3),
    )
    a, b = distributed(np.zeros(2, np.float32), (2,), "R"), tensor([1, 2])
    doubled, less = program(a, b, tensor([1, 2, 3]))
    assert (values(a), values(b)) == ([2, 3], [2, 3])
    assert (values(doubled), values(less)) == ([2, 4, 6], [1, 2])
    assert (a.is_distributed, b.is_distributed) == (True, False)


@pytest.mark.parametrize("place", ["R", "S0", "S1", "P"])
def test_results_without_elements_lie_as_any_others(place):
    x = distributed(np.zeros((0, 4), np.float32), (2,), place)
    program = compile(lambda x: (-x, F.full([2], 7.0, device=x.mesh)))(x.layout)
    empty, seven = program(x)
    for t in (empty, -empty, x + 1):
        assert t.to_numpy().shape == (0, 4)
        assert [s.shape for s in t.local_shards] == [s.shape for s in x.local_shards]
    assert values(seven) == [7, 7]


def test_first_calls_of_many_programs_do_not_hang():
    whole = mapping((8,), "R")
    x = distributed(np.ones((512, 64), np.float32), (8,), "P")
    programs = [compile(lambda x, k=k: x.to(whole) + k)(x.layout) for k in range(40)]
    results = [program(x) for program in programs]
    assert [int(r.to_numpy()[0, 0]) for r in results] == list(range(1, 41))


def test_a_program_may_compute_nothing():
    assert compile(lambda: (3, None))()() == (3, None)
