"""What an eager op costs, small and large, and the first time: maxlite against ``jnp``.

On 16 elements nearly all of the time is overhead. The budget is for what ``jnp`` has as
an operator, an index or a method; ``jnp.exp``, ``jnp.sum`` and ``jnp.where`` are bare
jitted functions, which nothing in Python can undercut, and stand there for information.
On a million elements it is work, and another copy of the data would show. The first use
of a shape compiles: both sides are timed on shapes that they have not met.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from _timing import compare, print_comparison, print_header, rounds_asked
from jax import numpy as jnp

from maxlite import DType, Tensor
from maxlite import functional as F

SMALL, LARGE = 16, 1_000_000
BUDGET, LARGE_BUDGET = 1.0, 1.1
"""The second leaves room for the noise of memory that is written."""

Work = tuple[str, Callable[[Any], Any], Callable[[Any], Any]]
"""What it is called, and how each side does it."""

WORK: list[Work] = [
    ("x + x", lambda x: x + x, lambda x: x + x),
    ("x * 2.5", lambda x: x * 2.5, lambda x: x * 2.5),
    ("x > 0", lambda x: x > 0, lambda x: x > 0),
    ("exp(x)", F.exp, jnp.exp),
    ("sum(x)", F.sum, lambda x: jnp.sum(x, -1, keepdims=True)),
    ("softmax(x)", F.softmax, jax.nn.softmax),
    ("where", lambda x: F.where(x > 0, x, x), lambda x: jnp.where(x > 0, x, x)),
    ("reshape", lambda x: x.reshape([4, -1]), lambda x: x.reshape((4, -1))),
    ("x[2:9]", lambda x: x[2:9], lambda x: x[2:9]),
    ("cast", lambda x: x.cast(DType.int32), lambda x: x.astype(jnp.int32)),
]

BARE = ("exp(x)", "sum(x)", "where")
"""What is a bare jitted function in ``jnp``."""

LARGE_WORK = ("x + x", "x * 2.5", "exp(x)", "sum(x)", "softmax(x)", "where")
"""What touches every element, so that a copy would show."""


def wait(result: Tensor) -> None:
    jax.block_until_ready(result._stored())


def warm_ops(rounds: int) -> None:
    for size, names in ((SMALL, None), (LARGE, LARGE_WORK)):
        data = np.linspace(-1, 1, size).astype(np.float32)
        ours, theirs = Tensor(data), jnp.asarray(data)
        for name, mine, plain in WORK:
            if names is None or name in names:
                found = compare(
                    lambda mine=mine, x=ours: mine(x),
                    lambda plain=plain, x=theirs: plain(x),
                    rounds=rounds,
                    wait_ours=wait,
                    wait_theirs=jax.block_until_ready,
                )
                budget = None if name in BARE else BUDGET
                if size == LARGE:
                    budget = LARGE_BUDGET
                print_comparison(f"eager {name}, {size:,} elements", found, budget)


def first_uses(rounds: int) -> None:
    sizes = itertools.count(1_000)

    def fresh() -> Iterator[np.ndarray]:
        for size in sizes:
            yield np.ones(size, np.float32)

    arrays = fresh()
    found = compare(
        lambda: wait(F.softmax(Tensor(next(arrays)))),
        lambda: jax.block_until_ready(jax.nn.softmax(jnp.asarray(next(arrays)))),
        rounds=rounds,
        calls=1,
    )
    print_comparison("first use of a shape, softmax", found)
    jitted = jax.jit(jnp.exp)
    found = compare(
        lambda: wait(F.exp(Tensor(next(arrays)))),
        lambda: jax.block_until_ready(jitted(jnp.asarray(next(arrays)))),
        rounds=rounds,
        calls=1,
    )
    print_comparison("first use of a shape, exp", found)


def main() -> None:
    rounds = rounds_asked(__doc__, default=151)
    print_header()
    warm_ops(rounds)
    first_uses(min(rounds, 41))


if __name__ == "__main__":
    main()
