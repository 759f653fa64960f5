"""Contexts, blocks and their values in several threads, and in asyncio tasks."""

import asyncio
import contextlib
import threading
import time
from typing import Any

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.executor import InterpreterExecutor, JitExecutor
from maxlite.lowering import _numbers
from maxlite.tensor import Tensor, current_realization_context
from tests.executor.own import Own, recorded

SIZES = iter(range(30_001, 40_000))


def values(x):
    return x.to_numpy().tolist()


def in_threads(work, count=8):
    """Runs ``work(i)`` in threads that start together, and lists what it gives."""
    start = threading.Barrier(count)
    results: list[Any] = [None] * count

    def run(i):
        start.wait()
        results[i] = work(i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


class Broken(Exception):
    """An executor's own."""


# Threads ----------------------------------------------------------------------------


def test_threads_record_and_compute_by_themselves():
    def work(i):
        assert current_realization_context(None) is None
        with F.lazy():
            ctx = current_realization_context()
            x = Tensor([float(i)]) + 1
            for j in range(20):
                x = x * 1 + (j % 2)
        y = x + 0
        assert current_realization_context(None) is None
        return ctx, y.item()

    results = in_threads(work)
    assert len({id(ctx) for ctx, _ in results}) == 8
    assert [value for _, value in results] == [i + 11.0 for i in range(8)]


@pytest.mark.parametrize("executor", [Own(), InterpreterExecutor(), JitExecutor()])
def test_many_threads_read_one_context_while_it_fails_at_first(executor):
    """Each gets the error or the value, and in the end all are there."""
    failures = [Broken(str(i)) for i in range(3)]

    class Flaky:
        def execute(self, graph, inputs):
            if failures:
                raise failures.pop()
            return executor.execute(graph, inputs)

    def body():
        first = Tensor([1.0]) + 1
        return [first * i for i in range(8)]

    pending = recorded(Flaky(), body)

    def work(i):
        with contextlib.suppress(Broken):
            return pending[i].item()
        return "failed"

    results = in_threads(work)
    assert sum(result == "failed" for result in results) == 3
    for i, result in enumerate(results):
        assert result in (i * 2, "failed")
    assert [t.item() for t in pending] == [i * 2 for i in range(8)]


def test_many_threads_read_one_context_that_is_written_to():
    x = Tensor([1.0, 2.0])
    with F.lazy():
        before = x + 0
        x[0] = 5.0
        after = x + 0
    results = in_threads(lambda i: values((before, x, after)[i % 3]), 9)
    assert results == [[1, 2], [5, 2], [5, 2]] * 3


def test_another_thread_may_read_what_an_open_block_has_recorded():
    with F.lazy():
        x = Tensor([1.0]) + 1
        (read,) = in_threads(lambda i: x.item(), 1)
        y = x + 1
        assert x.real
    assert (read, y.item()) == (2, 3)


def test_numbers_of_several_results_belong_to_one_step(monkeypatch):
    """Results are numbered one after the other, also when two threads do so at once."""
    split, single = [], []

    class Slow(int):
        """Lets other threads in where the next number is made of it."""

        def __add__(self, other):
            time.sleep(0.0005)
            return Slow(int(self) + other)

    monkeypatch.setattr(_numbers, "_last", Slow(_numbers._last))

    def work(i):
        for _ in range(5):
            x = Tensor(np.ones(next(SIZES), np.float32))
            with F.lazy():
                parts = F.split(x, [1] * 3 + [x.num_elements() - 3])
                y = F.exp(x)
            split.append([part._value.number for part in parts])
            single.append(y._value.number)
        return True

    assert all(in_threads(work, 4))
    every = [number for numbers in split for number in numbers] + single
    assert len(set(every)) == len(every)
    for numbers in split:
        assert numbers == list(range(numbers[0], numbers[0] + 4))


# Tasks ------------------------------------------------------------------------------


def test_reads_and_awaits_in_a_running_loop():
    async def work():
        with F.lazy():
            x = Tensor([1.0]) + 1
            y, z, w = x * 2, x * 3, x * 4
            with pytest.raises(TypeError, match="before"):
                await x
        assert await y is y
        assert z.real
        with F.lazy():
            a, b, c = (t + 1 for t in (y, z, w))
        assert await a.realize is a
        assert (b.item(), values(c), bool(a)) == (7, [9], True)
        return [t.item() for t in await asyncio.gather(a, b, c, x)]

    assert asyncio.run(work()) == [5, 7, 9, 2]


def test_tasks_may_wait_for_the_same_tensors(runs):
    async def read(t):
        await asyncio.sleep(0)
        return (await t).item()

    async def work():
        with F.lazy():
            made = [Tensor([1.0]) * i for i in range(5)]
        return await asyncio.gather(*map(read, made), *map(read, made))

    assert asyncio.run(work()) == [0.0, 1.0, 2.0, 3.0, 4.0] * 2
    assert runs.count == 1


def test_a_task_may_read_what_the_open_block_of_another_has_recorded():
    made = []

    async def record():
        with F.lazy():
            made.append(Tensor([1.0]) + 1)
            await asyncio.sleep(0.01)
            made.append(made[0] * 2)
        return made[1].item()

    async def read():
        await asyncio.sleep(0)
        assert current_realization_context(None) is None
        assert not made[0].real
        return (await made[0]).item()

    async def main():
        return await asyncio.gather(record(), read())

    assert asyncio.run(main()) == [4, 2]


def test_a_task_that_is_cancelled_in_a_block_leaves_nothing_open():
    kept = []

    async def work():
        with F.lazy():
            kept.append(Tensor([1.0]) + 1)
            await asyncio.sleep(60)

    async def main():
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert current_realization_context(None) is None
        return kept[0].item()

    assert asyncio.run(main()) == 2


def test_a_failed_await_can_be_tried_again(runs):
    async def work():
        with F.lazy():
            x = Tensor([1.0]) + 1
        runs.fail = MemoryError("full")
        with pytest.raises(MemoryError, match="full"):
            await x
        assert not x.real
        return (await x).item()

    assert asyncio.run(work()) == 2
