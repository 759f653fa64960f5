"""Staging the main job's block once and many times, with its StableHLO text.

``as_subgraph`` runs the body of the block once and writes one private function, so 32
layers cost little more than 4. JAX's own tracing and lowering of as many blocks, which
are inlined, is there for information.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
from _example import example, plain_decoder
from _timing import (
    Comparison,
    interleave,
    no_wait,
    print_comparison,
    print_header,
    print_row,
    rounds_asked,
    within,
)

from maxlite import DeviceMesh, stage

FEW, MANY = 4, 32
BATCH, LENGTH = 8, 128
BUDGET = 2.5


def main() -> None:
    rounds = rounds_asked(__doc__, default=15)
    mesh = example.make_mesh()
    check_one_body(mesh)
    works = [
        make(layers, mesh)
        for layers in (FEW, MANY)
        for make in (stages, lowers_plainly)
    ]
    few, plain_few, many, plain_many = interleave(
        [(work, no_wait) for work in works], rounds=rounds, calls=1
    )
    print_header()
    print_comparison(f"stage and print {FEW} blocks", Comparison(few, plain_few))
    print_comparison(f"stage and print {MANY} blocks", Comparison(many, plain_many))
    ours = Comparison(many, few).ratio
    theirs = Comparison(plain_many, plain_few).ratio
    print_row(
        f"{MANY} blocks against {FEW}",
        within(ours, BUDGET),
        f"{theirs:.2f}",
        budget=f"{BUDGET}",
    )


def check_one_body(mesh: DeviceMesh) -> None:
    """Checks that the body runs once and is one private function of the module."""
    model = example.Decoder(example.Config(layers=MANY), mesh)
    runs, body = [], model.block

    @functools.wraps(body)
    def counted(*args: Any) -> Any:
        runs.append(args)
        return body(*args)

    model.block = counted
    text = str(stage(model)(model.token_layout()))
    assert len(runs) == 1, f"the body ran {len(runs)} times"
    assert text.count("func.func private @block") == 1
    assert text.count("call @block") == MANY


def stages(layers: int, mesh: DeviceMesh) -> Callable[[], str]:
    model = example.Decoder(example.Config(layers=layers), mesh)
    return lambda: str(stage(model)(model.token_layout()))


def lowers_plainly(layers: int, mesh: DeviceMesh) -> Callable[[], str]:
    config = example.Config(layers=layers)
    plain = plain_decoder(config, mesh)
    weights = {
        name: jax.ShapeDtypeStruct(
            shape, "float32", sharding=plain.weight_sharding(name)
        )
        for name, shape in example.weight_shapes(config).items()
    }
    tokens = jax.ShapeDtypeStruct(
        (BATCH, LENGTH), "int32", sharding=plain.token_sharding
    )

    def lower() -> str:
        # A new function each time, because jax.jit remembers what it has traced.
        fresh = jax.jit(lambda weights, tokens: plain(weights, tokens))
        return fresh.lower(weights, tokens).as_text()

    return lower


if __name__ == "__main__":
    main()
