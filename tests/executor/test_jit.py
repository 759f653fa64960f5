"""The executor that runs op by op until a background thread has compiled."""

import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.driver import CPU
from maxlite.executor import InterpreterExecutor, JitExecutor, UnsupportedGraphError
from maxlite.executor import _jit as room
from maxlite.lowering import _cut
from maxlite.sharding import DeviceMapping, DeviceMesh, Sharded
from maxlite.tensor import Tensor
from tests.executor.own import Own, recorded
from tests.sharding.meshes import cpu_mesh

SIZES = iter(range(10_001, 20_000))


@pytest.fixture
def fresh():
    """A tensor of a shape that nothing was compiled for."""
    return Tensor(np.ones([1, next(SIZES)], np.float32))


@pytest.fixture
def spy():
    return Own(InterpreterExecutor())


@pytest.fixture
def held(monkeypatch):
    """Holds compiles of more than one op back; ``held.set`` lets them go on."""
    go_on = threading.Event()
    compile_graph = _cut.compile_graph

    def wait(graph, sizes):
        if len(graph.nodes) > 1:
            assert go_on.wait(60)
        return compile_graph(graph, sizes)

    monkeypatch.setattr(_cut, "compile_graph", wait)
    yield go_on
    go_on.set()
    JitExecutor().wait()


def block(x, number=2.0):
    return F.tanh(x * number) * 0 + number


def read(executor, x, number=2.0):
    return recorded(executor, lambda: block(x, number)).to_numpy()[0, 0]


def whole(compiled):
    return [graph for graph in compiled if len(graph.nodes) > 1]


def test_the_interpreter_answers_until_the_executable_is_there(fresh, spy, compiled):
    executor = JitExecutor(interpreter=spy)
    assert read(executor, fresh) == 2
    assert spy.ops == [["mul", "tanh", "mul", "add"]]
    assert executor.wait()
    for number in (2.0, 3.0, -1.0):
        assert read(executor, fresh, number) == number
    assert spy.count == 1
    assert len(whole(compiled)) == 1


def test_while_it_is_compiled_nothing_is_waited_for_nor_compiled_again(
    fresh, spy, held, compiled
):
    executor = JitExecutor(interpreter=spy)
    for number in (1.0, 2.0, 3.0):
        assert read(executor, fresh, number) == number
    assert spy.count == 3
    assert executor.wait(0.01) is False
    held.set()
    assert executor.wait(60)
    assert read(executor, fresh, 4.0) == 4
    assert spy.count == 3
    assert len(whole(compiled)) == 1
    assert executor._waiting == executor._failed == set()


def test_executables_are_shared_with_other_executors(fresh, spy):
    executor = JitExecutor()
    assert read(executor, fresh) == 2
    executor.wait()
    assert read(JitExecutor(interpreter=spy), fresh) == 2
    assert spy.count == 0


def test_a_compile_that_fails_in_the_background_is_raised_by_the_next_run(
    fresh, spy, monkeypatch
):
    compile_graph, tried = _cut.compile_graph, []

    def fail(graph, sizes):
        if len(graph.nodes) > 1:
            tried.append(threading.current_thread())
            raise MemoryError("too large")
        return compile_graph(graph, sizes)

    monkeypatch.setattr(_cut, "compile_graph", fail)
    executor = JitExecutor(interpreter=spy)
    assert read(executor, fresh) == 2
    executor.wait()
    pending = recorded(executor, lambda: block(fresh))
    with pytest.raises(MemoryError, match="too large") as caught:
        pending.to_numpy()
    assert "tanh" in caught.value.__notes__[0]
    assert not pending.real
    assert [t is threading.current_thread() for t in tried] == [False, True]
    monkeypatch.undo()
    assert pending.to_numpy()[0, 0] == 2
    executor.wait()
    assert executor._waiting == executor._failed == set()
    count = spy.count
    assert read(executor, fresh) == 2
    assert spy.count == count


@pytest.mark.parametrize("sync", [True, False])
def test_what_the_interpreter_refuses_is_compiled_at_once_or_refused(fresh, sync):
    executor = JitExecutor(
        interpreter=InterpreterExecutor(max_ops=2), sync_on_interpreter_fallback=sync
    )
    small = recorded(executor, lambda: fresh * 2 + 1)
    assert small.to_numpy()[0, 0] == 3
    large = recorded(executor, lambda: block(fresh))
    if sync:
        assert large.to_numpy()[0, 0] == 2
        assert read(executor, fresh) == 2
        return
    with pytest.raises(UnsupportedGraphError, match="at most 2 ops, got 4"):
        large.to_numpy()
    assert not large.real


def test_other_errors_of_the_interpreter_pass_unchanged(fresh):
    class Broken:
        def execute(self, graph, inputs):
            raise error

    error = RuntimeError("mine")
    pending = recorded(JitExecutor(interpreter=Broken()), lambda: block(fresh))
    with pytest.raises(RuntimeError) as caught:
        pending.to_numpy()
    assert caught.value is error
    assert not pending.real


def test_an_interpreter_must_be_an_executor():
    with pytest.raises(TypeError, match="interpreter must be an executor, got int"):
        JitExecutor(interpreter=3)


def test_what_no_executable_can_compute_stays_with_the_interpreter(spy):
    elsewhere = DeviceMesh((CPU(6), CPU(7)), (2,), ("x",))
    executor = JitExecutor(interpreter=spy)
    x = Tensor(np.arange(4.0), device=DeviceMapping(cpu_mesh(2), (Sharded(0),)))

    def body():
        there = (x * 2).to(DeviceMapping(elsewhere, (Sharded(0),)))
        return there + 1

    for count in (1, 2, 3):
        assert recorded(executor, body).to_numpy().tolist() == [1, 3, 5, 7]
        executor.wait()
        assert spy.count == count
    assert executor._waiting == executor._failed == set()


def test_graphs_by_hand_are_compiled(fresh, spy):
    own = Own(JitExecutor(interpreter=spy))
    assert read(own, fresh) == 2
    assert (own.count, spy.count) == (1, 0)


def test_many_threads_at_once(compiled):
    executor = JitExecutor()
    tensors = [Tensor(np.ones([1, next(SIZES)], np.float32)) for _ in range(3)]
    start, wrong = threading.Barrier(8), []

    def work(i):
        start.wait()
        for j in range(12):
            number = float(i * 100 + j)
            if read(executor, tensors[j % 3], number) != number:
                wrong.append((i, j))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert executor.wait(60)
    assert wrong == []
    assert len(whole(compiled)) == 3
    assert executor._waiting == executor._failed == set()


# The end of a process ---------------------------------------------------------------


def test_a_process_ends_while_something_is_compiled():
    script = """
    import time
    from maxlite import Tensor, functional as F
    from maxlite.executor import JitExecutor, set_default_executor
    from maxlite.lowering import _cut
    compile_graph = _cut.compile_graph
    def slowly(graph, sizes):
        if len(graph.nodes) > 1:
            print("compiling", flush=True)
            time.sleep(0.3)
        return compile_graph(graph, sizes)
    _cut.compile_graph = slowly
    set_default_executor(JitExecutor())
    x = Tensor([1.0, 2.0])
    for i in range(1, 20):
        with F.lazy():
            y = x
            for _ in range(i * 5):
                y = F.conv2d(F.reshape(y, [1, 1, 2, 1]), F.ones([1, 1, 1, 1]))
        y.to_numpy()
    time.sleep(0.1)
    print("done", flush=True)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.returncode, done.stderr) == (0, "")
    # What waits in the queue is not compiled any more.
    assert done.stdout.splitlines()[-1] == "done"


def test_when_it_ends_nothing_is_taken_on():
    background = room._Background()
    done = threading.Event()
    assert background.submit(done.set)
    assert done.wait(60)
    background.stop()
    assert background.submit(done.set) is False
    room._Background().stop()  # it was never started
