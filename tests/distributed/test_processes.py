"""Two processes of four CPU devices each are one mesh of eight."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from maxlite import distributed

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.timeout(120)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextlib.contextmanager
def started(work, count, **variables):
    """Starts processes, and ends those that are left."""
    port = str(free_port())
    kept = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    kept["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "examples")])
    call = [sys.executable, "-m", "tests.distributed.job", port, str(count)]
    processes = [
        subprocess.Popen(
            [*call, str(i), work],
            env={**kept, **variables},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(count)
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def results(work, count=2):
    """Runs a piece of work in processes, and gives what each of them printed last."""
    found = []
    with started(work, count) as processes:
        for process in processes:
            out, errors = process.communicate(timeout=100)
            assert process.returncode == 0, f"{out[-2000:]}\n{errors[-4000:]}"
            (line,) = [x for x in out.splitlines() if x.startswith("{")]
            found.append(json.loads(line))
    return found


def test_the_main_job_gives_what_one_process_gives():
    first, second = results("decoder")
    (alone,) = results("decoder", 1)
    assert first == second
    assert first["collectives"] == alone["collectives"] > 0
    np.testing.assert_allclose(first["logits"], alone["logits"], rtol=1e-5, atol=1e-5)


def test_reads_moves_and_ops():
    found = results("values")
    assert found == [{"process": i, "of": 2} for i in range(2)]


def test_random_numbers_are_those_of_one_process():
    first, second = results("random")
    (alone,) = results("random", 1)
    assert first == second == alone


def test_what_cannot_work_is_refused():
    first, second = results("refused")
    assert "a mesh must have a device of this process, 1" in second["lone"]
    for texts in (first, second):
        assert "must be joined once" in texts["twice"]


@pytest.mark.parametrize("victim", [0, 1])
def test_a_process_that_dies_ends_the_other_with_an_error(victim):
    start = time.monotonic()
    with started("dies", 2, VICTIM=str(victim)) as processes:
        out, errors = processes[1 - victim].communicate(timeout=60)
    assert time.monotonic() - start < 45
    # JAX itself ends it when the process that coordinates is gone, in words of its own.
    assert processes[1 - victim].returncode != 0
    told = "one has ended or cannot be reached" in out
    assert told or "another task died" in errors, f"{out[-1000:]}\n{errors[-3000:]}"


# Arguments --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ((1234, 2, 0), TypeError, "coordinator_address must be a string, got int"),
        (("localhost", 2, 0), ValueError, "must end with a port, got 'localhost'"),
        (("localhost:1", 0, 0), ValueError, "num_processes must be at least 1, got 0"),
        (("localhost:1", 2.0, 0), TypeError, "num_processes must be an int, got float"),
        (("localhost:1", 2, 2), ValueError, "must be below num_processes, got 2 of 2"),
        (("localhost:1", 2, -1), ValueError, "process_id must be at least 0, got -1"),
    ],
)
def test_arguments_are_checked(arguments, kind, words):
    with pytest.raises(kind, match=words):
        distributed.initialize(*arguments)


def test_seconds_and_devices_are_checked():
    with pytest.raises(ValueError, match="timeout must be a number of seconds, 1 or"):
        distributed.initialize("localhost:1", 1, 0, timeout=0)
    with pytest.raises(ValueError, match="heartbeat must be a number of seconds"):
        distributed.initialize("localhost:1", 1, 0, heartbeat="soon")
    with pytest.raises(ValueError, match="cpu_devices must be at least 1, got 0"):
        distributed.initialize("localhost:1", 1, 0, cpu_devices=0)


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )


def test_it_comes_first_of_all():
    done = run(
        "from maxlite import Tensor, distributed\nTensor([1.0])\n"
        "distributed.initialize('127.0.0.1:1', 1, 0)"
    )
    assert "must be joined before JAX starts its devices" in done.stderr


def test_outside_of_a_cluster_the_address_must_be_given():
    done = run("from maxlite import distributed\ndistributed.initialize()")
    assert (
        "coordinator_address, num_processes and process_id must be given" in done.stderr
    )


def test_alone_there_is_one_process():
    assert not distributed.is_initialized()
    assert (distributed.process_index(), distributed.process_count()) == (0, 1)
    distributed.shutdown()
