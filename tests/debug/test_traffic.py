"""What is sent in a block, and on which line of the user."""

import inspect
import threading

import numpy as np
import pytest

from maxlite import CPU, DType, Tensor, TensorLayout, compile
from maxlite import functional as F
from maxlite._programs import programs
from maxlite.compilation import as_subgraph
from maxlite.debug import traffic
from maxlite.debug._traffic import _Watched
from maxlite.sharding import DeviceMapping, Partial, Replicated, Sharded, auto_reshard
from tests.sharding.meshes import cpu_mesh

MESH = cpu_mesh(2)
S0, R, P = (DeviceMapping(MESH, (p,)) for p in (Sharded(0), Replicated(), Partial()))


@pytest.fixture(autouse=True)
def nothing_stays_watched():
    yield
    assert not any(isinstance(program.call, _Watched) for program in programs())


def lines(seen):
    return [sent.line.rpartition("/")[2] for sent in seen.sent]


def this_line(offset=0):
    frame = inspect.stack()[1].frame
    return f"test_traffic.py:{frame.f_lineno + offset}"


def test_eager_ops_are_seen_with_their_line():
    x = Tensor([1.0, 2.0, 3.0, 4.0]).to(MESH).to(S0)
    with traffic() as seen:
        y = x * 2
        total = F.sum(y)
        total.to(R)
        want = this_line(-1)
    assert [(s.kind, s.mesh_axes, s.bytes, s.count) for s in seen.sent] == [
        ("allreduce", ("x",), 4, 1)
    ]
    assert lines(seen) == [want]
    assert seen.total_bytes == 4
    assert f"{want}: 1 x allreduce over x, 4 bytes each" in str(seen)


def test_what_is_done_again_is_counted():
    x = Tensor(np.ones((4, 2), np.float32)).to(MESH).to(S0)
    with traffic() as seen:
        for _ in range(3):
            x.to(R)
    (sent,) = seen.sent
    assert (sent.kind, sent.bytes, sent.count) == ("allgather", 16, 3)


def test_moves_that_a_region_makes_are_seen():
    x = Tensor(np.ones((4, 2), np.float32)).to(MESH).to(S0)
    with traffic() as seen, auto_reshard(mode="silent"):
        F.softmax(x, axis=0)
    assert [s.kind for s in seen.sent] == ["allgather"]


def test_blocks_and_compiled_calls_are_seen():
    def fn(x):
        return (x * 2).to(R)  # sends

    sends = fn.__code__.co_firstlineno + 1
    x = Tensor([1.0, 2.0]).to(MESH).to(S0)
    with traffic() as seen:
        with F.lazy():
            y = fn(x)
        y.to_numpy()
        program = compile(fn)(x.layout)
        for _ in range(2):
            program(x)
    lazily, compiled = seen.sent
    assert (lazily.kind, lazily.count) == ("allgather", 1)
    assert (compiled.line, compiled.count) == (f"test_traffic.py:{sends}", 2)


def test_nothing_is_seen_of_one_device_or_without_moves():
    x, y = Tensor([1.0, 2.0]), Tensor([1.0, 2.0]).to(MESH).to(S0)
    with traffic() as seen:
        x + x
        y + y
        (y * 2).to_numpy()
    assert seen.sent == []
    assert str(seen) == "nothing was sent"


def test_blocks_nest_and_other_threads_are_not_seen():
    x = Tensor([1.0, 2.0]).to(MESH).to(S0)
    with traffic() as outer:
        x.to(R)
        with traffic() as inner:
            x.to(R)
        thread = threading.Thread(target=lambda: x.to(R))
        thread.start()
        thread.join()
    assert [s.count for s in outer.sent] == [1]
    assert [s.count for s in inner.sent] == [1]


def test_an_error_ends_the_watch():
    x = Tensor([1.0, 2.0]).to(MESH).to(S0)
    with pytest.raises(ValueError, match="shape"), traffic():
        F.add(x.to(R), Tensor([1.0, 2.0, 3.0]).to(MESH))


def test_collectives_name_the_users_lines():
    def layer(x, w):
        h = x @ w  # pending
        return h.to(R)

    def fn(x, w):
        return as_subgraph(layer)(x, w) + 1.0

    layouts = [
        TensorLayout(DType.float32, [4, 4], DeviceMapping(MESH, (Sharded(i),)))
        for i in (1, 0)
    ]
    program = compile(fn)(*layouts)
    (found,) = program.collectives()
    inside = layer.__code__.co_firstlineno + 2
    assert found.lines == (f"test_traffic.py:{inside}",)
    assert str(found).endswith(f"(test_traffic.py:{inside})")
    plain = compile(lambda x: x + 1)(TensorLayout(DType.float32, [4], CPU()))
    assert plain.collectives() == []
