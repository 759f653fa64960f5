"""A forked process reads what it has, and is told so where it would hang."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

PRELUDE = """
import os, signal, sys, threading, time
import numpy as np
from maxlite import CPU, Tensor, DeviceMapping, DeviceMesh, Sharded, compile
from maxlite import functional as F
from maxlite.executor import CompilingExecutor, InterpreterExecutor
from maxlite.executor import JitExecutor, set_default_executor

def in_child(work):
    "Runs it in a forked process; one that hangs is ended, and tells where it was."
    sys.stdout.flush()
    child = os.fork()
    if not child:
        signal.alarm(20)
        try:
            work()
        except BaseException as error:
            print("error", repr(error))
        finally:
            sys.stdout.flush()
            os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status == 0, f"the child ended with {status}"

def refused(work):
    try:
        print("computed", work())
    except RuntimeError as error:
        words = str(error)
        assert words.startswith(f"fork: process {os.getpid()} must not"), words
        assert "spawn" in words, words
"""


def run(script):
    """Runs a script in a process of its own, and lists the lines that it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PRELUDE + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout.splitlines()


def test_a_child_reads_real_values_and_is_refused_what_computes():
    lines = run("""
    mesh = DeviceMesh((CPU(), CPU()), (2,), ("x",))
    x = Tensor([1.0, 2.0])
    wide = Tensor([3.0, 4.0], device=DeviceMapping(mesh, (Sharded(0),)))
    doubled = F.functional(lambda x: x * 2, pure=True)
    program = compile(lambda x: x + 1)(x.layout)
    before = [x + 1, doubled(x), program(x), wide + 1]
    with F.lazy():
        pending, unknown = x * 3, F.sin(x * 3)
    with F.lazy():
        read = x * 3
    read.to_numpy()

    def child():
        print(x.to_numpy().tolist(), x.shape, x)
        print(wide.to_numpy().tolist(), [t.to_numpy().tolist() for t in before])
        print(pending.real, pending.shape)
        for work in (
            lambda: x + 1,
            lambda: x - 12,
            lambda: F.exp(x),
            lambda: doubled(x),
            lambda: F.functional(lambda x: x * 5)(x),
            lambda: program(x),
            lambda: pending.to_numpy(),
            lambda: unknown.to_numpy(),
            lambda: wide + 1,
            lambda: wide.to(CPU()),
            lambda: x.__setitem__(0, 5.0),
            lambda: Tensor([1.0]),
            lambda: F.uniform([2]),
            lambda: compile(lambda x: x + 2)(x.layout),
        ):
            refused(work)
        for executor in (CompilingExecutor(), InterpreterExecutor(), JitExecutor()):
            with set_default_executor(executor):
                refused(lambda: F.functional(lambda: F.sin(x) * 7)())
                with F.lazy():
                    later = F.sin(x)
                refused(later.to_numpy)
        print(x.to_numpy().tolist(), pending.real)

    in_child(child)
    print("parent", (x + 1).to_numpy().tolist(), pending.to_numpy().tolist())
    """)
    assert lines == [
        "[1.0, 2.0] [Dim(2)] Tensor([1 2], dtype=DType.float32, "
        "device=Device(type=cpu,id=0))",
        "[3.0, 4.0] [[2.0, 3.0], [2.0, 4.0], [2.0, 3.0], [4.0, 5.0]]",
        "False [Dim(2)]",
        "[1.0, 2.0] False",
        "parent [2.0, 3.0] [3.0, 6.0]",
    ]


def test_a_fork_before_the_first_tensor_is_as_good_as_new():
    lines = run("""
    def child():
        with F.lazy():
            y = F.exp(Tensor([0.0, 0.0])) + 1
        print(y.to_numpy().tolist(), (Tensor([1.0]) + 1).item())

    in_child(child)
    in_child(child)
    child()
    """)
    assert lines == ["[2.0, 2.0] 2.0"] * 3


def test_what_is_computed_while_a_process_forks_is_there_in_the_child():
    """JAX answers before it has computed; a child would wait for ever."""
    lines = run("""
    x = Tensor(np.full((1500, 1500), 1 / 1500, np.float32))
    (x @ x).to_numpy()
    y = x
    for _ in range(10):
        y = y @ x
    in_child(lambda: print(round(float(y.to_numpy().sum()))))
    """)
    assert lines == ["1500"]


def test_a_fork_while_another_thread_computes_hangs_in_no_lock():
    lines = run("""
    from maxlite.lowering import _cut
    compile_graph = _cut.compile_graph
    inside, go_on = threading.Event(), threading.Event()
    def slowly(graph, sizes):
        inside.set()
        assert go_on.wait(60)
        return compile_graph(graph, sizes)

    x = Tensor([1.0, 2.0])
    with F.lazy():
        mine, other = x * 3 + 1, x * 4
    with F.lazy():
        unknown = F.cos(x)
    _cut.compile_graph = slowly
    thread = threading.Thread(target=mine.to_numpy)
    thread.start()
    inside.wait()  # it holds the lock of its block, and that of compiling

    def child():
        for work in (mine.to_numpy, other.to_numpy, unknown.to_numpy, lambda: x + 5.5):
            refused(work)
        with set_default_executor(JitExecutor()), F.lazy():
            later = F.sin(x)
        refused(later.to_numpy)
        print("refused", x.to_numpy().tolist())

    in_child(child)
    go_on.set()
    thread.join()
    print("parent", mine.to_numpy().tolist(), other.to_numpy().tolist())
    """)
    assert lines == ["refused [1.0, 2.0]", "parent [4.0, 7.0] [4.0, 8.0]"]


def test_a_child_of_a_process_that_compiles_in_the_background():
    lines = run("""
    executor = JitExecutor()
    set_default_executor(executor)
    x = Tensor([1.0, 2.0])
    with F.lazy():
        y = F.exp(x * 0) + 1
    print(y.to_numpy().tolist())

    def child():
        print(y.to_numpy().tolist())
        print(executor.wait(20))  # its own thread, which has nothing to do

    in_child(child)
    print(executor.wait(60))
    """)
    assert lines == ["[2.0, 2.0]"] * 2 + ["True"] * 2


def test_multiprocessing_may_spawn(tmp_path):
    script = tmp_path / "pool.py"
    script.write_text(
        textwrap.dedent("""
        import multiprocessing
        from maxlite import Tensor

        def work(i):
            return (Tensor([1.0]) * i).item()

        if __name__ == "__main__":
            print((Tensor([1.0]) + 1).item())
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(work, [1, 2]))
        """)
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["2.0", "[1.0, 2.0]"]
