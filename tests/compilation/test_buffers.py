"""Arguments that are written to: in place when nothing else holds the memory."""

import copy
import subprocess
import sys

import numpy as np
import pytest

from maxlite import CompiledCallable, Tensor, compile, stage
from maxlite import functional as F
from tests.compilation.layouts import buffer, layout, tensor, values


def put(b, x):
    b[0] = x
    F.buffer_store_slice(b, b[0:1] * 10, [slice(2, 3)])
    return b + 1


@pytest.fixture(scope="module")
def program():
    return compile(put)(buffer(3), layout())


def pointer(t):
    return t._stored().unsafe_buffer_pointer()


def test_the_callers_tensor_is_written_to(program):
    b = tensor([1, 2, 3])
    kept = b
    y = program(b, tensor(7))
    assert values(b) == [7.0, 2.0, 70.0]
    assert values(y) == [8.0, 3.0, 71.0]
    assert kept is b
    program(b, tensor(8))
    assert values(b) == [8.0, 2.0, 80.0]


def test_no_copy_is_made_when_nothing_else_holds_the_memory():
    program = compile(lambda b, x: F.buffer_store_slice(b, x, [0]))(
        buffer(1000, 1000), layout(1000)
    )
    b = Tensor(np.zeros((1000, 1000), np.float32))
    before = pointer(b)
    program(b, tensor(np.ones(1000)))
    assert pointer(b) == before
    assert b.to_numpy().sum() == 1000


@pytest.mark.parametrize(
    "hold",
    [
        copy.copy,
        copy.deepcopy,
        lambda t: t.to_numpy(),
        lambda t: t.local_shards[0].driver_tensor,
        lambda t: CompiledCallable(stage(lambda: t)()),
    ],
)
def test_whoever_holds_the_memory_keeps_the_value(program, hold):
    b = tensor([1, 2, 3])
    held = hold(b)
    program(b, tensor(7))
    assert values(b) == [7.0, 2.0, 70.0]
    if isinstance(held, CompiledCallable):
        held = held()
    assert np.asarray(
        held.to_numpy() if hasattr(held, "to_numpy") else held
    ).tolist() == [
        1.0,
        2.0,
        3.0,
    ]


def test_a_tensor_read_by_another_argument_keeps_its_old_value_there():
    def f(b, x):
        F.buffer_store(b, b * 10)
        return x + 1

    program = compile(f)(buffer(2), layout(2))
    t = tensor([1, 2])
    assert values(program(t, t)) == [2.0, 3.0]
    assert values(t) == [10.0, 20.0]


def test_one_tensor_for_two_writable_arguments_is_refused():
    def f(a, b):
        F.buffer_store(a, b + 1)
        F.buffer_store(b, a + 1)

    program = compile(f)(buffer(2), buffer(2))
    t = tensor([1, 2])
    with pytest.raises(ValueError, match="argument 0 and argument 1 are one tensor"):
        program(t, t)
    assert values(t) == [1.0, 2.0]


def test_a_wrong_call_writes_nothing(program):
    b = tensor([1, 2, 3])
    with pytest.raises(ValueError, match="argument 1"):
        program(b, tensor([7]))
    assert values(b) == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="argument 0"):
        program(tensor([1, 2]), tensor(7))


def test_a_buffer_that_is_only_read_is_left_alone():
    program = compile(lambda b: b + 1)(buffer("n"))
    b = tensor([1, 2])
    before = pointer(b)
    assert values(program(b)) == [2.0, 3.0]
    assert pointer(b) == before


def test_the_written_argument_may_be_returned_too():
    def f(b, x):
        F.buffer_store(b, b + x)
        return b

    program = compile(f)(buffer(2), layout(2))
    b = tensor([1, 2])
    y = program(b, tensor([1, 1]))
    program(b, tensor([1, 1]))
    assert (values(y), values(b)) == ([2.0, 3.0], [3.0, 4.0])


def test_raw_execution_leaves_buffers_alone_and_returns_results():
    program = compile(lambda b, x: F.buffer_store(b, b + x) or b * 2)(
        buffer(2), layout(2)
    )
    out = program.execute_raw(*tensor([1, 2]).buffers, *tensor([1, 1]).buffers)
    assert [b.to_numpy().tolist() for b in out] == [[4.0, 6.0]]


def test_raw_execution_writes_into_the_buffers():
    program = compile(lambda b: F.buffer_store(b, b + 1))(buffer(2))
    given = tensor([1, 2]).driver_tensor
    assert program.execute_raw(given) == []
    assert given.to_numpy().tolist() == [2.0, 3.0]


INTERRUPTED = """
import os, signal, threading, time
import numpy as np
from maxlite import CPU, BufferLayout, DType, Tensor, TensorLayout, compile
from maxlite import functional as F

square = [DType.float32, [64, 64], CPU()]
program = compile(lambda b, w: F.buffer_store(b, b @ w))(
    BufferLayout(*square), TensorLayout(*square)
)
b, w = Tensor(np.eye(64, dtype="f")), Tensor(np.eye(64, dtype="f"))
program(b, w)
# A shell's background jobs, and so the tests in one, inherit that SIGINT is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
interrupts = 0
for _ in range(20):
    end = time.monotonic() + 3
    try:
        threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start()
        # Python itself drops an interrupt that comes while it collects garbage.
        while time.monotonic() < end:
            program(b, w)
    except KeyboardInterrupt:
        interrupts += 1
    assert b.to_numpy().trace() == 64.0
assert interrupts > 10, interrupts
print("whole")
"""


def test_an_interrupt_never_leaves_a_tensor_without_memory():
    """In a process of its own: an interrupt a moment too late would end the tests."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.stdout == "whole\n", done.stderr


def test_a_program_that_fails_while_it_writes_says_what_is_lost():
    def f(b, x):
        b[...] = b + 1
        return F.broadcast_to(F.reshape(x, [1]), [2**45])

    program = compile(f)(buffer(2), layout())
    b = tensor([0, 0])
    with pytest.raises(RuntimeError, match="while it wrote to argument 0, whose"):
        program(b, tensor(1)).to_numpy()
