"""Every executor gives what eager code does: values, dtypes, shapes and places."""

from collections import Counter

import numpy as np
import pytest

from maxlite import functional as F
from maxlite._op_table import lookup
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.executor import CompilingExecutor, InterpreterExecutor, JitExecutor
from maxlite.graph import DeviceRef, TensorType
from maxlite.random import set_seed
from maxlite.realization_context import EagerRealizationContext
from maxlite.sharding import (
    DeviceMapping,
    DeviceMesh,
    Partial,
    Replicated,
    Sharded,
    auto_reshard,
)
from maxlite.tensor import Tensor, realization_context
from tests.executor.own import Own, recorded
from tests.lowering.op_samples import SAMPLES
from tests.sharding.meshes import cpu_mesh

JIT = JitExecutor()
EXECUTORS = {
    "interpreter": InterpreterExecutor(),
    "compiling": CompilingExecutor(),
    "jit": JIT,
    "own": Own(CompilingExecutor()),
    "own, op by op": Own(InterpreterExecutor()),
}
"""In an order in which few programs are compiled twice."""

TWO, GRID = cpu_mesh(2), cpu_mesh(2, 2)
ELSEWHERE = DeviceMesh((CPU(6), CPU(7)), (2,), ("x",))
S0 = DeviceMapping(TWO, (Sharded(0),))
PAIR = TensorType(DType.float32, [2], DeviceRef.CPU())


def agree(results, expected, who):
    for result, want in zip(results, expected, strict=True):
        assert (result.dtype, result.shape) == (want.dtype, want.shape), who
        assert result.mapping == want.mapping, who
        for one, other in zip(shards(result), shards(want), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6, err_msg=who)


def shards(tensor):
    """What each device holds; of pending sums just their total is determined."""
    if any(isinstance(p, Partial) for p in tensor.placements):
        return [tensor.to_numpy()]
    return [buffer.to_numpy() for buffer in tensor.buffers]


def listed(result):
    given = [result] if isinstance(result, Tensor) else result
    return [tensor for tensor in given or () if isinstance(tensor, Tensor)]


# One sample of each op --------------------------------------------------------------

CHUNK = 24
"""Ops that are recorded into one block."""


def operands_of(sample, place):
    made = []
    for operand in sample.operands:
        sizes, _, name = operand.partition(":")
        shape = tuple(int(size) for size in sizes.split(",") if size)
        dtype = DType[name or "float32"].to_jax()
        counts = np.indices(shape).sum(0) % 2
        if dtype == np.float32:
            counts = np.random.default_rng(len(shape)).uniform(0.1, 0.9, shape)
        made.append(Tensor(counts.astype(dtype), device=place(shape)))
    return made


def computed(samples, place=lambda shape: None):
    """Runs samples; what they write to counts as a result."""
    results = []
    for sample in samples:
        operands = operands_of(sample, place)
        with auto_reshard(mode="silent"):
            results += [*listed(sample.run(*operands)), *operands]
    return results


def first_of_two(shape):
    cut = Sharded(0) if shape and shape[0] % 2 == 0 else Replicated()
    return DeviceMapping(TWO, (cut,))


def some_ops(most):
    """Lists ops with samples, of each placement rule the first ones."""
    taken = Counter()
    for name in SAMPLES:
        rule = lookup(name).rule
        taken[rule] += 1
        if taken[rule] <= most and not name.endswith("_count"):
            yield name


def in_chunks(names):
    return [
        pytest.param([SAMPLES[name][0] for name in chunk], id=chunk[0])
        for start in range(0, len(names), CHUNK)
        for chunk in [names[start : start + CHUNK]]
    ]


@pytest.mark.parametrize("samples", in_chunks(list(some_ops(2))))
def test_ops_of_every_rule(samples):
    check(lambda: computed(samples), "interpreter", "compiling", "own")


@pytest.mark.parametrize("samples", in_chunks(list(some_ops(1))[::2]))
def test_ops_on_a_mesh(samples):
    check(lambda: computed(samples, first_of_two), "compiling", "own")


def check(fn, *names):
    set_seed(1)
    expected = fn()
    for name in names:
        for _ in range(2):
            set_seed(1)
            agree(realized(EXECUTORS[name], fn), expected, name)
            JIT.wait()


def realized(executor, fn):
    results = recorded(executor, fn)
    next((t for t in results if not t.real), results[0])._stored()
    assert all(t.real for t in results)
    return results


# What takes more than one op --------------------------------------------------------


def tensor(*values, device=None):
    return Tensor(np.array(values, np.float32), device=device)


def writes():
    x, y = tensor(1, 2, 3, 4), tensor(5, 6, 7, 8)
    before = x + 0
    x[0:2] = y[2:4]
    x[3] = 9.0
    y[x > 5.0] = -1.0
    x += y
    return [before, x, y, x * y]


def draws():
    noise = F.uniform([4]) + F.gaussian([4])
    return [noise, noise * 2, F.uniform([2, 2], device=S0)]


def measured():
    x = tensor(1, 0, 2, 0, 3)
    found = F.nonzero(x)
    picked = x[x > 0.5]
    values, counts = F.unique(F.concat([x, picked]), return_counts=True)
    return [found * 2, picked, F.sum(picked), values, counts, F.nonzero(picked - 1)]


def measured_on_a_mesh():
    x = tensor(1, 0, 2, 0, 3, 4, 5)
    picked = x[x > 0.5].to(S0)  # five elements over two devices
    return [picked, picked * 2, F.sum(picked), F.nonzero(x).to(S0) + 1]


def branches():
    x, y = tensor(1, 2), tensor(3, 4)
    total = F.sum(x).reshape([])
    (chosen,) = F.cond(total > 2, [PAIR], lambda: x * y, lambda: x - y)
    (other,) = F.cond(total > 5, [PAIR], lambda: chosen + y, lambda: chosen - y)
    return [chosen, other]


def loops():
    x, step = tensor(1, 2), tensor(0.5)
    n, grown = F.while_loop(
        [Tensor(0), x], lambda n, v: n < 5, lambda n, v: [n + 1, v * 2 + step]
    )
    (walk,) = F.while_loop(
        [tensor(0, 0)], lambda v: F.max(v).reshape([]) < 3, lambda v: v + F.uniform([2])
    )
    return [n, grown, walk]


def two_meshes():
    x = tensor(*range(8), device=S0)
    y = (x + x).to(DeviceMapping(ELSEWHERE, (Sharded(0),)))
    z = (y * 3).to(CPU(3))
    return [x * 2, y + y, z, z.to(S0) + x, (y + 1).to(CPU())]


def pending_sums():
    x = tensor(*range(16)).reshape([4, 4])
    lhs = x.to(DeviceMapping(GRID, (Sharded(1), Replicated())))
    rhs = x.to(DeviceMapping(GRID, (Sharded(0), Sharded(1))))
    product = lhs @ rhs
    whole = product.to(DeviceMapping(GRID, (Replicated(), Replicated())))
    assert isinstance(product.placements[0], Partial)
    return [product, product * 2, product + product, whole, -product]


def uneven():
    x = tensor(*range(7), device=S0)
    return [x, x * 2, F.sum(x), F.exp(x) + x]


def groups():
    @F.functional
    def normalized(x):
        return (x - F.mean(x)) / F.std(x)

    x = tensor(1, 2, 3, 6)
    return [normalized(x), normalized(normalized(x) + 1)]


def several_results():
    x = tensor(4, 1, 3, 2)
    values, places = F.top_k(x, 2)
    first, second = F.split(x, [1, 3])
    return [values, places, second, first + values[0], F.sort(second)]


def leaves_themselves():
    x = tensor(1, 2)
    return [x, x.reshape([2, 1]).reshape([2]), F.concat([x, x]), tensor() + 1]


SPECIALS = (writes, draws, measured, measured_on_a_mesh, branches, loops, two_meshes)
SPECIALS += (pending_sums, uneven, groups, several_results, leaves_themselves)


@pytest.mark.parametrize("fn", SPECIALS)
def test_what_takes_more_than_one_op(fn):
    check(fn, *EXECUTORS)


@pytest.mark.parametrize("name", EXECUTORS)
def test_prints_come_in_order_and_once(name, capfd):
    def fn():
        x = tensor(1, 2)
        for i in range(3):
            F.print(x * i, f"x{i}")
        F.print(tensor(1, 2, device=S0), "sharded")
        return [x + 1]

    expected = fn()
    wanted = capfd.readouterr().out
    assert [line.split()[0] for line in wanted.splitlines()] == [
        "x0",
        "x1",
        "x2",
        "sharded",
    ]
    for _ in range(2):
        results = recorded(EXECUTORS[name], fn)
        assert capfd.readouterr().out == ""
        results[0].to_numpy()
        assert capfd.readouterr().out == wanted
        agree(results, expected, name)
        JIT.wait()
    JIT.wait()
    assert capfd.readouterr().out == ""


def test_a_block_that_only_prints_runs_when_its_context_is_asked(capfd):
    for executor in EXECUTORS.values():
        ctx = EagerRealizationContext(executor)
        with ctx, realization_context(ctx):
            F.print(tensor(1, 2) + 1, "x")
        assert capfd.readouterr().out.startswith("x = Tensor([2 3]")
