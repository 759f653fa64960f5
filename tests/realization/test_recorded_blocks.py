"""Random programs, recorded over and over: what was computed before never leaks in.

A block is found by the numbers of what is wanted of it (``lowering/_numbers.py``). So
programs that differ in little are run one after the other, on other leaves, in another
order, with some results dropped, and must give what eager code gives. All values are
small whole numbers, so they are equal to the last bit.
"""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maxlite import functional as F
from maxlite._backend import x64
from maxlite._caches import tables
from maxlite.debug import clear_caches
from maxlite.dtype import DType
from maxlite.lowering import _cut
from maxlite.lowering._evaluate import Evaluator
from maxlite.tensor import Tensor


class Step(NamedTuple):
    """What is done to a stack of tensors: what, at which places, with which number."""

    name: str
    i: int
    j: int
    number: float


def write(stack, i, j, number):
    stack[i][0] = stack[j][1]


def write_number(stack, i, j, number):
    stack[i][:, 1] = number


def drop(stack, i, j, number):
    if len(stack) > 1:
        del stack[i]


def swap_halves(stack, i, j, number):
    first, second = F.split(stack[i], [1, 1])
    stack.append(F.concat([second, first]))


def largest(stack, i, j, number):
    values, places = F.top_k(stack[i], 2)
    stack.append(values + places.cast(DType.float32))


def push(fn: Callable[..., Any]) -> Callable[..., None]:
    """Makes a step that puts a result on the stack, cut to small numbers."""

    def step(stack, i, j, number):
        stack.append(F.clamp(fn(stack[i], stack[j], number), -8.0, 8.0))

    return step


STEPS = {
    "add": push(lambda x, y, n: x + y),
    "sub": push(lambda x, y, n: x - y),
    "mul": push(lambda x, y, n: x * y),
    "matmul": push(lambda x, y, n: x @ y),
    "less": push(lambda x, y, n: F.where(x < y, x, y + n)),
    "add number": push(lambda x, y, n: x + n),
    "number minus": push(lambda x, y, n: n - x),
    "mul number": push(lambda x, y, n: x * n),
    "negate": push(lambda x, y, n: -x),
    "transpose": push(lambda x, y, n: F.transpose(x, 0, 1)),
    "sum": push(lambda x, y, n: F.sum(x, axis=0) + y),
    "whole": push(lambda x, y, n: x.cast(DType.int32).cast(DType.float32)),
    "leaf": push(lambda x, y, n: x + Tensor(np.full((2, 2), n, np.float32))),
    "copy": lambda stack, i, j, number: stack.append(copy.copy(stack[i])),
    "swap halves": swap_halves,
    "largest": largest,
    "write": write,
    "write number": write_number,
    "drop": drop,
}

NUMBERS = st.sampled_from([0, 1, 1.0, 2, -1, -0.0, 3])
PLACES = st.integers(0, 5)
PROGRAMS = st.lists(
    st.builds(Step, st.sampled_from(sorted(STEPS)), PLACES, PLACES, NUMBERS),
    min_size=1,
    max_size=8,
)


def run(program, leaves):
    stack = list(leaves)
    for name, i, j, number in program:
        STEPS[name](stack, i % len(stack), j % len(stack), number)
    return stack


def leaves_of(seed, aliased):
    """Makes leaves anew: a program may write to them. Two may be one tensor."""
    data = np.random.default_rng(seed).integers(-4, 5, (3, 2, 2)).astype(np.float32)
    made = [Tensor(array) for array in data]
    return [made[0], made[0], made[2]] if aliased else made


def answers(program, seed, aliased):
    return [x.to_numpy().tolist() for x in run(program, leaves_of(seed, aliased))]


def check(program, seed, aliased, order=1):
    """Records and reads in one order or another, and compares with eager code."""
    wanted = answers(program, seed, aliased)
    leaves = leaves_of(seed, aliased)
    with F.lazy():
        results = run(program, leaves)
    given = [x.to_numpy().tolist() for x in results[::order]][::order]
    assert given == wanted


def variants(program):
    """Programs that differ in little: one step less, and other numbers and places."""
    yield program
    for at in range(len(program)):
        yield program[:at] + program[at + 1 :]
    last = program[-1]
    yield [*program[:-1], last._replace(number=-last.number)]
    yield [*program[:-1], last._replace(i=last.j, j=last.i)]
    yield [*program[:-1], last._replace(i=last.i + 1)]
    yield [*program, last]


class Walked:
    """Runs a graph op by op: as an executable does, but made in no time."""

    is_direct = True

    def __init__(self, graph):
        self.graph = graph

    def call(self, *arrays):
        with x64(), jax.numpy_dtype_promotion("standard"):
            return Evaluator({}, True).run(self.graph, arrays)


@pytest.fixture
def walked(monkeypatch):
    """Counts compiles, which are left out."""
    clear_caches()
    graphs = []

    def note(graph, sizes):
        graphs.append(graph)
        return Walked(graph)

    monkeypatch.setattr(_cut, "compile_graph", note)
    yield graphs
    clear_caches()


TABLES = (
    "blocks",
    "leaves of blocks",
    "lines of steps",
    "planned steps",
    "programs of blocks",
    "steps",
)
"""Those that blocks need, and eager ops do not."""

MANY = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@MANY
@given(PROGRAMS, PROGRAMS, st.booleans())
def test_programs_one_after_the_other(walked, first, second, aliased):
    for program in (*variants(first), second, first):
        check(program, 1, aliased)
    for program in (second, first):
        check(program, 2, not aliased, order=-1)
        check(program, 3, aliased)


@MANY
@given(PROGRAMS, st.booleans(), st.sampled_from([1, 2, 5]))
def test_tables_may_start_afresh_at_any_time(walked, program, aliased, limit):
    used = [tables()[name] for name in TABLES]
    before = [table.limit for table in used]
    try:
        for table in used:
            table.limit = limit
        for seed in (1, 2):
            for variant in (*variants(program), program):
                check(variant, seed, aliased)
    finally:
        for table, size in zip(used, before, strict=True):
            table.limit = size


@MANY
@given(PROGRAMS, st.booleans())
def test_an_equal_block_is_neither_compiled_nor_traced_again(walked, program, aliased):
    check(program, 1, aliased)
    count = len(walked)
    for seed in (2, 3):
        check(program, seed, aliased)
    assert len(walked) == count


@MANY
@given(PROGRAMS, PROGRAMS)
def test_blocks_that_grow_one_into_the_other(walked, first, second):
    """What the first block left pending is a leaf of the second."""
    wanted = [
        x.to_numpy().tolist() for x in run(second, run(first, leaves_of(1, False)))
    ]
    for _ in range(2):
        with F.lazy():
            between = run(first, leaves_of(1, False))
        with F.lazy():
            results = run(second, between)
        assert [x.to_numpy().tolist() for x in results] == wanted


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(PROGRAMS, st.booleans())
def test_compiled_programs(program, aliased):
    """The same with XLA's executables, of which equal ones are compiled once."""
    for seed in (1, 2):
        check(program, seed, aliased)
        check(program, seed, aliased, order=-1)
