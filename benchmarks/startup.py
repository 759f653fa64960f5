"""From the start of a process to its first result: maxlite against plain JAX.

Fresh processes are started in turn. The clock runs from the start of the process until
the line with the result arrives, so it holds the interpreter, the imports, the start of
the backend, and the compilation of what computes the result, but not the shutdown.
Bytecode is kept between the processes, as that of an installed package is, in a folder
of its own that a first process of each side fills.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from _timing import Comparison, print_comparison, print_header, rounds_asked

BUDGET = 1.3

EAGER = """
from maxlite import Tensor
print((Tensor([1, 2, 3]) + 1).to_numpy().tolist(), flush=True)
"""
PLAIN_EAGER = """
import numpy as np
from jax import numpy as jnp
print(np.asarray(jnp.array([1.0, 2.0, 3.0]) + 1).tolist(), flush=True)
"""
COMPILED = """
from maxlite import Tensor, compile
x = Tensor([1, 2, 3])
double = compile(lambda x: x * 2 + 1)(x.layout)
print(double(x).to_numpy().tolist(), flush=True)
"""
PLAIN_COMPILED = """
import jax
import numpy as np
from jax import numpy as jnp
x = jnp.array([1.0, 2.0, 3.0])
double = jax.jit(lambda x: x * 2 + 1)
print(np.asarray(double(x)).tolist(), flush=True)
"""


def main() -> None:
    rounds = rounds_asked(__doc__, default=11)
    with tempfile.TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        eager = compare_processes(
            EAGER, PLAIN_EAGER, "[2.0, 3.0, 4.0]", environment, rounds
        )
        compiled = compare_processes(
            COMPILED, PLAIN_COMPILED, "[3.0, 5.0, 7.0]", environment, rounds
        )
    print_header()
    print_comparison("process start to first eager result", eager, BUDGET)
    print_comparison("process start to first compiled result", compiled, BUDGET)


def compare_processes(
    ours: str, theirs: str, expected: str, environment: dict[str, str], rounds: int
) -> Comparison:
    seconds: dict[str, list[float]] = {ours: [], theirs: []}
    for script in seconds:
        seconds_to_first_line(script, expected, environment)
    for _ in range(rounds):
        for script, found in seconds.items():
            found.append(seconds_to_first_line(script, expected, environment))
    return Comparison(tuple(seconds[ours]), tuple(seconds[theirs]))


def seconds_to_first_line(
    script: str, expected: str, environment: dict[str, str]
) -> float:
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        taken = time.perf_counter() - start
    assert line == expected, f"{script} printed {line!r}"
    return taken


if __name__ == "__main__":
    main()
