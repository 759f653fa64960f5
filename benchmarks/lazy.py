"""What blocks and groups of ops cost: maxlite against ``jnp``, and against ``jax.jit``.

A chain of 100 small ops is nearly all overhead, and is compared with the same chain in
eager ``jnp``. On a million elements it is work, and is compared with one hand-written
``jax.jit``, which fuses it too. A group of three ops is compared with three operators,
and a pure one with ``jax.jit`` around them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from _timing import compare, print_comparison, print_header, rounds_asked
from jax import numpy as jnp

from maxlite import Tensor
from maxlite import functional as F

SMALL, LARGE = 16, 1_000_000


def chain(x: Any, y: Any, tanh: Callable[[Any], Any]) -> Any:
    for _ in range(25):
        x = tanh((x + y) * y - x)
    return x


def lazily(x: Tensor, y: Tensor) -> Tensor:
    with F.lazy():
        result = chain(x, y, F.tanh)
    return wait(result)


def wait(result: Tensor) -> Tensor:
    jax.block_until_ready(result._stored())
    return result


def three(x: Any, y: Any) -> Any:
    return (x + y) * y - x


def main() -> None:
    rounds = rounds_asked(__doc__, 200)
    print_header()
    for size, budget in ((SMALL, 0.35), (LARGE, 1.25)):
        data = np.linspace(-1, 1, size).astype(np.float32)
        x, a = Tensor(data), jnp.asarray(data)
        y, b = Tensor(data * 0.5), jnp.asarray(data * 0.5)
        eager = size == SMALL
        plain = chain if eager else jax.jit(chain, static_argnums=2)
        against = "jnp eager" if eager else "one jax.jit"
        found = compare(
            lambda x=x, y=y: lazily(x, y),
            lambda plain=plain, a=a, b=b: plain(a, b, jnp.tanh),
            rounds=rounds,
            wait_theirs=jax.block_until_ready,
        )
        print_comparison(
            f"lazy chain of 100 ops, {size:,} elements, against {against}",
            found,
            budget,
        )
        if not eager:
            continue
        group = F.functional(three)
        pure = F.functional(three, pure=True)
        jitted = jax.jit(three)
        for what, ours, theirs, most in (
            ("F.functional around 3 ops, against jnp eager", group, three, 0.8),
            ("the same, pure, against jax.jit", pure, jitted, 1.6),
        ):
            found = compare(
                lambda ours=ours, x=x, y=y: ours(x, y),
                lambda theirs=theirs, a=a, b=b: theirs(a, b),
                rounds=rounds,
                wait_ours=wait,
                wait_theirs=jax.block_until_ready,
            )
            print_comparison(what, found, most)


if __name__ == "__main__":
    main()
