"""Lazy blocks: what is pending, when it becomes real, and what an error leaves."""

import asyncio
import gc
import threading

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import stage
from maxlite.executor import _compute
from maxlite.realization_context import (
    EagerRealizationContext,
    LazyRealizationContext,
)
from maxlite.tensor import (
    Tensor,
    current_realization_context,
    realization_context,
)
from tests.sharding.meshes import cpu_mesh


async def wait_for(awaitable):
    return await awaitable


def context_of(x):
    assert x.state is not None
    return x.state.ctx


def values(x):
    return x.to_numpy().tolist()


READS = {
    "to_numpy": lambda x: x.to_numpy(),
    "dlpack": np.from_dlpack,
    "asarray": np.asarray,
    "eager op": lambda x: x + 1,
    "await": lambda x: asyncio.run(wait_for(x)),
    "await realize": lambda x: asyncio.run(wait_for(x.realize)),
    "local_shards of a copy": lambda x: x.to(cpu_mesh(2)).local_shards,
    "staging": lambda x: stage(lambda y: x + y)(x.layout),
}


# Pending, and real ------------------------------------------------------------------


def test_results_are_pending_until_one_is_read(runs):
    with F.lazy():
        x = Tensor([1.0, 2.0]) + 1
        y = x * 2
        assert current_realization_context() is context_of(x)
    assert (x.real, y.real, runs.count) == (False, False, 0)
    assert values(y) == [4.0, 6.0]
    assert (x.real, y.real, runs.count) == (True, True, 1)
    assert values(x) == [2.0, 3.0]
    assert x.state is None
    assert runs.count == 1


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_each_read_realizes_everything_that_is_pending(runs, read):
    with F.lazy():
        x = Tensor([1.0, 2.0]) + 1
        y = x * 2
    identity = hash(x), hash(y)
    read(x)
    assert (x.real, y.real, runs.count) == (True, True, 1)
    assert (hash(x), hash(y)) == identity
    assert (values(x), values(y)) == ([2.0, 3.0], [4.0, 6.0])


def test_bool_and_item_realize(runs):
    with F.lazy():
        x = Tensor([1.0]) + 1
    assert bool(x)
    with F.lazy():
        x = Tensor([1.0]) + 1
    assert x.item() == 2.0
    assert runs.count == 2


def test_what_is_known_without_values_does_not_realize():
    with F.lazy():
        x = Tensor([1.0, 2.0]) + 1
    assert (x.shape, x.rank, x.num_elements(), x.dtype.name) == ([2], 1, 2, "float32")
    assert (repr(x), hash(x), x.layout.rank) == (str(x), hash(x), 1)
    assert x.storage is None
    for name in ("buffers", "driver_tensor"):
        with pytest.raises(TypeError, match="must be realized"):
            getattr(x, name)
    assert not x.real


def test_a_dropped_result_is_no_output_but_is_computed_where_it_is_needed(runs):
    with F.lazy():
        x = Tensor([1.0]) + 1
        y = x * 2
        z = x * 3
    del x, z
    gc.collect()
    assert len(asyncio.run(context_of(y).realize_all())) == 1
    assert values(y) == [4.0]
    assert runs.count == 1


def test_a_pending_tensor_outlives_its_block():
    def make():
        with F.lazy():
            return Tensor([1.0]) + 1

    x = make()
    gc.collect()
    assert values(x) == [2.0]


def test_awaiting_gives_the_same_object_real_or_not():
    async def work():
        with F.lazy():
            x = Tensor([1.0]) + 1
        assert await x is x
        assert x.real
        assert await x.realize is x
        return x

    assert values(asyncio.run(work())) == [2.0]


def test_a_value_may_be_read_while_a_loop_runs():
    async def work():
        with F.lazy():
            x = Tensor([1.0]) + 1
        return x.item()

    assert asyncio.run(work()) == 2.0


def test_a_block_may_be_used_again_after_it_was_realized():
    ctx = LazyRealizationContext()
    with realization_context(ctx):
        x = Tensor([1.0]) + 1
    assert values(x) == [2.0]
    with realization_context(ctx):
        y = x + 1
    assert values(y) == [3.0]


def test_equal_blocks_are_compiled_once(monkeypatch):
    compiled = []
    compile_graph = _compute.executable_of.__globals__["compile_graph"]

    def spy(*arguments):
        compiled.append(arguments)
        return compile_graph(*arguments)

    monkeypatch.setitem(_compute.executable_of.__globals__, "compile_graph", spy)
    for number in (1.5, 2.5, 3.5):
        with F.lazy():
            x = (Tensor([number, 1.0, 2.0]) + number) * 3
        assert x.to_numpy()[0] == number * 6
    assert len(compiled) <= 1


# Inside the block -------------------------------------------------------------------


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.to_numpy(),
        lambda x: x.item(),
        bool,
        lambda x: asyncio.run(wait_for(x)),
        lambda x: asyncio.run(context_of(x).realize_all()),
    ],
)
@pytest.mark.parametrize("block", [F.lazy, F.ensure_context])
def test_a_result_cannot_be_read_before_the_block_ends(block, read):
    with block():
        x = Tensor([1.0]) + 1
        with pytest.raises(TypeError, match="before"):
            read(x)
        y = x + 1
    assert (values(x), values(y)) == ([2.0], [3.0])


def test_a_real_tensor_may_be_read_in_a_block():
    x = Tensor([1.0])
    with F.lazy():
        assert x.item() == 1.0
        assert values(x) == [1.0]


def test_an_error_of_an_op_comes_where_it_is_called():
    with F.lazy():
        x = Tensor([1.0, 2.0]) + 1
        with pytest.raises(ValueError, match="add"):
            _ = x + Tensor([1.0, 2.0, 3.0])
    assert values(x) == [2.0, 3.0]


# Writes -----------------------------------------------------------------------------


def test_writes_take_effect_in_order():
    x = Tensor([1.0, 2.0])
    with F.lazy():
        before = x + 0
        x[0:1] = Tensor([10.0])
        between = x + 0
        x[1:2] = x[0:1] * 2
        after = x + 0
    assert values(after) == [10.0, 20.0]
    assert values(between) == [10.0, 2.0]
    assert values(before) == [1.0, 2.0]
    assert values(x) == [10.0, 20.0]


def test_a_written_tensor_is_updated_when_the_block_is_realized():
    x = Tensor([1.0, 2.0])
    with F.lazy():
        x[0:1] = Tensor([10.0])
        y = x * 2
    assert not x.real
    assert values(y) == [20.0, 4.0]
    assert x.real
    assert values(x) == [10.0, 2.0]


def test_a_result_is_written_too():
    with F.lazy():
        x = Tensor([1.0, 2.0]) * 2
        x[0:1] = Tensor([10.0])
    assert values(x) == [10.0, 4.0]


def test_a_write_after_recording_does_not_leak_in():
    x = Tensor([1.0, 2.0])
    with F.lazy():
        y = x + x
    x[0:1] = Tensor([100.0])
    assert values(y) == [2.0, 4.0]
    assert values(x) == [100.0, 2.0]


# Blocks in blocks -------------------------------------------------------------------


def test_nested_blocks_are_independent():
    with F.lazy():
        x = Tensor([1.0]) + 1
        with F.lazy():
            y = Tensor([5.0]) + 1
        z = x + 1
    assert values(y) == [6.0]
    assert (x.real, z.real) == (False, False)
    assert values(z) == [3.0]


def test_a_block_that_uses_the_result_of_another_realizes_that_one():
    with F.lazy():
        x = Tensor([1.0]) + 1
        aside = x * 10
    with F.lazy():
        y = x + 1
    assert (x.real, aside.real, y.real) == (True, True, False)
    assert values(y) == [3.0]


def test_an_inner_block_may_use_the_outer_ones_results():
    with F.lazy():
        x = Tensor([1.0]) + 1
        with F.lazy():
            y = x + 1
        z = x + 10
    assert (values(x), values(y), values(z)) == ([2.0], [3.0], [12.0])


def test_an_eager_block_inside_computes_at_its_end():
    with F.lazy():
        x = Tensor([1.0]) + 1
        ctx = EagerRealizationContext()
        with ctx, realization_context(ctx):
            y = Tensor([5.0]) + 1
            assert not y.real
        assert y.real
        z = x + y
    assert not x.real
    assert values(z) == [8.0]


def test_ensure_context_joins_a_block_and_opens_one_otherwise():
    with F.lazy():
        ctx = current_realization_context()
        with F.ensure_context():
            assert current_realization_context() is ctx
            x = Tensor([1.0]) + 1
        assert not x.real
    with F.ensure_context():
        y = Tensor([1.0]) + 1
        assert not y.real
        assert F.in_graph_context()
    assert y.real
    assert not F.in_graph_context()


def test_a_trace_inside_a_block_takes_values_and_records_by_itself():
    with F.lazy():
        x = Tensor([1.0]) + 1
        staged = stage(lambda y: y + x)(x.layout)
        z = x + 1
    assert len(staged.out_layouts) == 1
    assert values(z) == [3.0]


def test_a_traced_tensor_cannot_be_used_in_a_block_that_computes():
    def body(x):
        with F.lazy():
            return x + 1

    with pytest.raises(TypeError, match="graph"):
        stage(body)(Tensor([1.0]).layout)


# Errors -----------------------------------------------------------------------------


class Broken(Exception):
    """Raised inside a block."""


@pytest.mark.parametrize("error", [Broken, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("block", [F.lazy, F.ensure_context])
def test_leaving_by_an_error_realizes_nothing_and_loses_nothing(block, error):
    kept = []

    def work():
        with block():
            kept.append(Tensor([1.0]) + 1)
            raise error

    with pytest.raises(error):
        work()
    assert current_realization_context(None) is None
    assert not kept[0].real
    assert values(kept[0]) == [2.0]


@pytest.mark.parametrize("error", [MemoryError("full"), KeyboardInterrupt("stop")])
def test_a_failed_realization_can_be_tried_again(runs, error):
    x = Tensor([1.0, 2.0])
    with F.lazy():
        y = x + 1
        x[0:1] = Tensor([10.0])
        z = x * 2
    runs.fail = error
    with pytest.raises(type(error), match=str(error)):
        values(y)
    assert (x.real, y.real, z.real) == (False, False, False)
    assert current_realization_context(None) is None
    assert (Tensor([1.0]) + 1).item() == 2.0
    assert values(z) == [20.0, 4.0]
    assert values(y) == [2.0, 3.0]
    assert values(x) == [10.0, 2.0]


def test_a_failure_at_the_end_of_an_eager_block_can_be_tried_again(runs):
    kept = []

    def work():
        with F.ensure_context():
            kept.append(Tensor([1.0]) + 1)
            runs.fail = MemoryError("full")

    with pytest.raises(MemoryError, match="full"):
        work()
    assert values(kept[0]) == [2.0]


def test_a_failing_iteration_leaves_no_context():
    def numbers():
        with F.lazy():
            yield Tensor([1.0]) + 1

    steps = numbers()
    x = next(steps)
    steps.close()
    assert values(x) == [2.0]


# Threads and tasks ------------------------------------------------------------------


def in_thread(work):
    results = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]


def test_another_thread_does_not_see_the_block():
    with F.lazy():
        assert in_thread(lambda: current_realization_context(None)) is None
        assert in_thread(lambda: (Tensor([1.0]) + 1).real)
        assert not (Tensor([1.0]) + 1).real


def test_another_thread_may_read_what_is_pending():
    with F.lazy():
        x = Tensor([1.0]) + 1
    assert in_thread(lambda: values(x)) == [2.0]
    assert x.real


def test_many_threads_may_read_one_block(runs):
    with F.lazy():
        results = [Tensor([float(i)]) + 1 for i in range(8)]
    start = threading.Barrier(8)
    read = [None] * 8

    def work(i):
        start.wait()
        read[i] = results[i].item()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == [i + 1.0 for i in range(8)]
    assert runs.count == 1


def test_tasks_record_into_blocks_of_their_own():
    async def work(number):
        with F.lazy():
            x = Tensor([number]) + 1
            await asyncio.sleep(0)
            x = x * 2
            ctx = current_realization_context()
        return ctx, (await x).item()

    async def both():
        return await asyncio.gather(work(1.0), work(2.0))

    (first, x), (second, y) = asyncio.run(both())
    assert first is not second
    assert (x, y) == (4.0, 6.0)
