"""What a call costs on top of the work: maxlite against ``jax.jit`` and ``jnp``.

The work is as small as possible, so that the figures are almost all overhead. The calls
of a compiled function on one device have a budget; the rest is for information.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from _timing import compare, print_comparison, print_header, rounds_asked
from jax import numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from maxlite import CPU, DeviceMapping, DeviceMesh, Sharded, Tensor, compile

BUDGET = 1.3
DATA = np.arange(16, dtype=np.float32)
CALLS_ON_A_MESH = 8
"""Few enough that none waits for room: maxlite bounds the calls in flight on a mesh."""


def add_one(x: Any) -> Any:
    return x + 1.0


def add_one_to_each(table: dict[str, Any]) -> dict[str, Any]:
    return {name: x + 1.0 for name, x in table.items()}


def call_with_one_leaf(rounds: int) -> None:
    ours, theirs = Tensor(DATA), jnp.asarray(DATA)
    compiled, jitted = compile(add_one)(ours.layout), jax.jit(add_one)
    found = compare(
        lambda: compiled(ours),
        lambda: jitted(theirs),
        rounds=rounds,
        wait_ours=wait,
        wait_theirs=jax.block_until_ready,
    )
    print_comparison("compiled call, one leaf", found, BUDGET)


def call_with_a_dict(rounds: int) -> None:
    names = [f"leaf_{i}" for i in range(12)]
    ours = {name: Tensor(DATA) for name in names}
    theirs = {name: jnp.asarray(DATA) for name in names}
    layouts = {name: x.layout for name, x in ours.items()}
    compiled = compile(add_one_to_each)(layouts)
    jitted = jax.jit(add_one_to_each)
    found = compare(
        lambda: compiled(ours),
        lambda: jitted(theirs),
        rounds=rounds,
        wait_ours=lambda result: wait(result[names[-1]]),
        wait_theirs=jax.block_until_ready,
    )
    print_comparison("compiled call, dict of 12", found, BUDGET)


def call_on_a_mesh(rounds: int) -> None:
    data = np.arange(64, dtype=np.float32)
    mesh = DeviceMesh(tuple(CPU(i) for i in range(8)), (8,), ("x",))
    ours = Tensor(data).to(DeviceMapping(mesh, (Sharded(0),)))
    compiled = compile(add_one)(ours.layout)
    plain = Mesh(np.array(jax.devices("cpu")[:8]), ("x",))
    theirs = jax.device_put(data, NamedSharding(plain, PartitionSpec("x")))
    jitted = jax.jit(add_one)
    found = compare(
        lambda: compiled(ours),
        lambda: jitted(theirs),
        rounds=rounds,
        wait_ours=wait,
        wait_theirs=jax.block_until_ready,
        calls=CALLS_ON_A_MESH,
    )
    print_comparison("compiled call, mesh of 8", found)


def eager_add(rounds: int) -> None:
    ours, theirs = Tensor(DATA), jnp.asarray(DATA)
    found = compare(
        lambda: ours + ours,
        lambda: theirs + theirs,
        rounds=rounds,
        wait_ours=wait,
        wait_theirs=jax.block_until_ready,
    )
    print_comparison("eager add, 16 elements", found)


def wait(result: Tensor) -> None:
    jax.block_until_ready([buffer.to_jax() for buffer in result.buffers])


def main() -> None:
    rounds = rounds_asked(__doc__, default=301)
    print_header()
    call_with_one_leaf(rounds)
    call_with_a_dict(rounds)
    call_on_a_mesh(rounds)
    eager_add(rounds)


if __name__ == "__main__":
    main()
