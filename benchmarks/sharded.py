"""Sharded steps against hand-written JAX with the same shardings, and an eager op.

A tensor-parallel MLP, attention with the heads cut, an embedding with the vocabulary
cut, and a data-parallel loss, each on eight devices: the same collectives and bytes,
and the same time. An eager op on a mesh is compared with ``jax.jit`` on the same
sharded arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
from _hlo import compare_programs
from _timing import compare, print_comparison, print_header, rounds_asked
from jax import numpy as jnp
from jax.lax import with_sharding_constraint
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from maxlite import CPU, DeviceMapping, DeviceMesh, Sharded, Tensor, compile
from maxlite import functional as F

MESH = DeviceMesh((CPU(),) * 8, (8,), ("x",))
WHOLE = DeviceMapping.replicated(MESH)
TIME_BUDGET = 1.15
HEADS, LENGTH, WIDTH, VOCABULARY = 8, 128, 256, 4096


def mlp(x: Any, up: Any, down: Any) -> Any:
    return (F.relu(x @ up) @ down).to(WHOLE)


def plain_mlp(x: Any, up: Any, down: Any) -> Any:
    return whole(jnp.maximum(x @ up, 0.0) @ down)


def attention(query: Any, key: Any, value: Any, out: Any) -> Any:
    scores = query @ F.transpose(key, -1, -2) * 0.125
    mixed = F.softmax(scores) @ value
    merged = F.sum(mixed @ out, axis=0, keepdims=False)
    return merged.to(WHOLE)


def plain_attention(query: Any, key: Any, value: Any, out: Any) -> Any:
    scores = query @ jnp.swapaxes(key, -1, -2) * 0.125
    mixed = jax.nn.softmax(scores, axis=-1) @ value
    return whole(jnp.sum(mixed @ out, axis=0))


def embedding(tokens: Any, table: Any) -> Any:
    numbers = F.arange(0, VOCABULARY, dtype=tokens.dtype, device=cut(0))
    chosen = F.equal(F.unsqueeze(tokens, -1), numbers).cast(table.dtype)
    return (chosen @ table).to(WHOLE)


def plain_embedding(tokens: Any, table: Any) -> Any:
    numbers = jnp.arange(VOCABULARY, dtype=tokens.dtype)
    chosen = (tokens[:, None] == numbers).astype(table.dtype)
    return whole(chosen @ table)


def loss(x: Any, weight: Any, target: Any) -> Any:
    error = F.square(x @ weight - target)
    return F.sum(F.sum(error, axis=1), axis=0).to(WHOLE)


def plain_loss(x: Any, weight: Any, target: Any) -> Any:
    error = jnp.square(x @ weight - target)
    return whole(jnp.sum(error).reshape(1, 1))


def whole(x: Any) -> Any:
    return with_sharding_constraint(x, NamedSharding(MESH.to_jax(), P()))


def cut(axis: int) -> DeviceMapping:
    return DeviceMapping(MESH, (Sharded(axis),))


Case = tuple[str, Callable[..., Any], Callable[..., Any], Mapping[str, Any]]


def cases() -> list[Case]:
    rng = np.random.default_rng(0)

    def f32(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    heads = (HEADS, LENGTH, 32)
    tokens = rng.integers(0, VOCABULARY, 512).astype(np.int32)
    batch = f32(1024, WIDTH)
    return [
        (
            "tensor-parallel MLP",
            mlp,
            plain_mlp,
            {
                "x": (f32(256, WIDTH), None),
                "up": (f32(WIDTH, 4 * WIDTH), 1),
                "down": (f32(4 * WIDTH, WIDTH), 0),
            },
        ),
        (
            "attention, heads cut",
            attention,
            plain_attention,
            {
                "query": (f32(*heads), 0),
                "key": (f32(*heads), 0),
                "value": (f32(*heads), 0),
                "out": (f32(HEADS, 32, WIDTH), 0),
            },
        ),
        (
            "embedding, vocabulary cut",
            embedding,
            plain_embedding,
            {"tokens": (tokens, None), "table": (f32(VOCABULARY, WIDTH), 0)},
        ),
        (
            "data-parallel loss",
            loss,
            plain_loss,
            {
                "x": (batch, 0),
                "weight": (f32(WIDTH, WIDTH), None),
                "target": (batch, 0),
            },
        ),
    ]


def place(array: np.ndarray, axis: int | None) -> tuple[Tensor, jax.Array]:
    mapping = WHOLE if axis is None else cut(axis)
    sharding = mapping.named_sharding(array.ndim)
    return Tensor(array, device=mapping), jax.device_put(array, sharding)


def steps(rounds: int) -> None:
    for name, mine, plain, operands in cases():
        pairs = [place(*operand) for operand in operands.values()]
        tensors, arrays = zip(*pairs, strict=True)
        run = compile(mine)(*(tensor.layout for tensor in tensors))
        step = jax.jit(plain)
        np.testing.assert_allclose(
            run(*tensors).to_numpy(), np.asarray(step(*arrays)), rtol=2e-4, atol=2e-3
        )
        (compiled,) = run.engine_model.executables.values()
        compare_programs(compiled, step.lower(*arrays).compile(), MESH)
        found = compare(
            lambda run=run, tensors=tensors: run(*tensors),
            lambda step=step, arrays=arrays: step(*arrays),
            rounds=rounds,
            wait_ours=wait,
            wait_theirs=jax.block_until_ready,
        )
        print_comparison(f"{name}, run time", found, TIME_BUDGET)


def eager_op(rounds: int) -> None:
    x, a = place(np.ones((64, 64), np.float32), 0)
    step = jax.jit(lambda a: a + a)
    found = compare(
        lambda: x + x,
        lambda: step(a),
        rounds=rounds,
        wait_ours=wait,
        wait_theirs=jax.block_until_ready,
    )
    print_comparison("eager x + x on eight devices, against jax.jit", found)


def wait(result: Tensor) -> None:
    jax.block_until_ready(result._stored())


def main() -> None:
    rounds = rounds_asked(__doc__, default=41)
    print_header()
    steps(rounds)
    eager_op(rounds)


if __name__ == "__main__":
    main()
