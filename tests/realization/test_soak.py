"""A hundred thousand ops leave nothing behind, and no table passes its limit."""

import contextlib
import ctypes
import gc
import tracemalloc
from pathlib import Path

import jax
import numpy as np
import pytest

from maxlite import functional as F
from maxlite._caches import tables
from maxlite.debug import cache_info, clear_caches
from maxlite.executor import InterpreterExecutor, JitExecutor
from maxlite.tensor import Tensor
from tests.executor.own import Own, recorded

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

OPS = 100_000


def resident():
    """Counts the bytes of the process that lie in memory."""
    if not Path("/proc/self/statm").exists():
        return 0
    # What was freed may lie around in pieces; glibc gives back what it can.
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def settled():
    """Counts live objects and bytes once nothing waits to be freed."""
    for _ in range(3):
        gc.collect()
    return len(gc.get_objects()), tracemalloc.get_traced_memory()[0], resident()


def hold_flat(work, rounds, warm, *, objects=300, traced=200_000, rss=8_000_000):
    """Runs ``work(i)`` for all rounds; after the first ones, memory does not grow."""
    for i in range(warm):
        work(i)
    tracemalloc.start()
    try:
        for i in range(warm, warm + warm // 4):
            work(i)
        before = settled()
        for i in range(warm + warm // 4, rounds):
            work(i)
        after = settled()
    finally:
        tracemalloc.stop()
    grown = [b - a for a, b in zip(before, after, strict=True)]
    assert grown[0] < objects, f"{grown[0]} objects"
    assert grown[1] < traced, f"{grown[1]} bytes of Python"
    assert grown[2] < rss, f"{grown[2]} bytes in memory"


@pytest.fixture
def small(monkeypatch):
    """Tables of ten entries each, which are full all the time."""
    clear_caches()
    for table in tables().values():
        monkeypatch.setattr(table, "limit", 10)
    yield
    for info in cache_info():
        assert info.entries <= 10, info
    clear_caches()


@pytest.fixture(autouse=True)
def nothing_kept():
    clear_caches()
    yield
    clear_caches()


# The same again and again -----------------------------------------------------------


def test_eager_ops():
    x, y = Tensor(np.ones(8)), Tensor(np.full(8, 0.5))

    def work(i):
        z = x
        for _ in range(10):
            z = z * 0.5 + y  # three numbers are kept, these among them
        x[i % 8] = z[i % 8]
        assert not i or z.real

    hold_flat(work, OPS // 22, 200)


def test_lazy_blocks():
    x, y = Tensor(np.ones(8)), Tensor(np.full(8, 0.5))

    def work(i):
        with F.lazy():
            z = x
            for _ in range(10):
                z = z * 0.5 + y
            dropped = z * 7
            first, second = F.split(z, [4, 4])
            x[i % 8] = z[i % 8]
        del dropped
        first.to_numpy()
        assert second.real

    hold_flat(work, OPS // 24, 200)


def test_long_blocks():
    x = Tensor(np.ones(4))

    def work(i):
        with F.lazy():
            z = x
            for j in range(1000):
                z = x * 2 + 1 if j % 10 == 0 else z + 1
        assert z.to_numpy()[0] == 12

    hold_flat(work, OPS // 1000, 20)


# Ever new --------------------------------------------------------------------------


def test_numbers_that_never_come_again(small):
    x = Tensor(np.ones(4))

    def work(i):
        y = x * (i + 0.5)
        with F.lazy():
            z = y + (i + 0.25)
        assert z.to_numpy()[0] == 2 * i + 0.75

    hold_flat(work, OPS // 20, 300)


def test_shapes_that_never_come_again(small):
    """JAX keeps some thousand traces, and a few objects of all that it compiled."""

    def work(i):
        x = Tensor(np.ones(i + 1, np.float32))
        y = x + 1
        with F.lazy():
            z = F.sum(x * y)
        assert z.item() == 2 * (i + 1)
        if i % 25 == 24:
            jax.clear_caches()

    hold_flat(work, 300, 100, objects=3 * 5 * 175 + 300, traced=500_000)


def test_functions_that_are_made_anew(small):
    x = Tensor(np.ones(4))

    def work(i):
        @F.functional
        def plain(x):
            return x * 2 + i % 3

        pure = F.functional(lambda x: x * 2, pure=True) if i % 20 == 0 else plain
        assert plain(x).to_numpy()[0] == 2 + i % 3
        pure(x)
        (found,) = F.while_loop(
            x, lambda v: F.sum(v).reshape([]) < 9, lambda v: v * 2 + (i % 3) * 0
        )
        assert found.to_numpy()[0] == 4

    hold_flat(work, OPS // 60, 200, objects=1_500, traced=600_000, rss=20_000_000)


@pytest.mark.parametrize(
    "executor",
    [InterpreterExecutor(), JitExecutor(), Own(), Own(InterpreterExecutor())],
)
def test_other_executors(executor):
    x = Tensor(np.ones(4))

    def work(i):
        z = recorded(executor, lambda: F.exp(x * (i % 5)) * 0 + x * 2 + 1)
        assert z.to_numpy()[0] == 3
        for kept in ("graphs", "inputs", "results"):
            getattr(executor, kept, []).clear()

    hold_flat(work, OPS // 50, 200)


# Failures --------------------------------------------------------------------------


class Broken(Exception):
    """Raised on the way."""


class Failing:
    """An executor that does not run anything."""

    def execute(self, graph, inputs):
        raise Broken


def test_blocks_that_fail():
    x = Tensor(np.ones(4))
    failing = Failing()

    @F.functional
    def group(x):
        _ = x + 1
        raise Broken

    def work(i):
        with contextlib.suppress(Broken), F.lazy():
            y = x * 2 + i % 3
            raise Broken
        with contextlib.suppress(Broken):
            group(x)
        with contextlib.suppress(ValueError):
            F.add(x, Tensor(np.ones(3)))
        z = recorded(failing, lambda: y * 2)
        with contextlib.suppress(Broken):
            z.to_numpy()
        with F.lazy():
            y[i % 4] = x[0]
            _ = x * y

    hold_flat(work, OPS // 20, 200)


def test_blocks_that_are_never_read(small):
    x = Tensor(np.ones(4))

    def work(i):
        with F.lazy():
            y = x * 2 + i % 3
            assert not (y * y).real
        z = recorded(None, lambda: y + y)
        assert z.shape == y.shape

    hold_flat(work, OPS // 10, 200)
