"""The main job's decoder as a JAX user writes it, sharing no code with maxlite.

The same model and the same layout on a mesh ``(data, model)`` as in
``examples/sharded_transformer.py``: the batch is cut over ``data``; query, key, value,
gate and up by columns and output and down by rows over ``model``; norms and the
embedding are replicated, and the logits are cut along the vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp
from jax.lax import with_sharding_constraint
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

Weights = Mapping[str, Any]

COLUMNS = ("query", "key", "value", "gate", "up")
ROWS = ("output", "down")


@dataclass(frozen=True)
class PlainDecoder:
    """A function from weights and tokens to logits, over a mesh."""

    mesh: Mesh
    layers: int
    heads: int
    eps: float
    theta: float

    def place_weights(self, weights: Mapping[str, np.ndarray]) -> dict[str, jax.Array]:
        return {
            name: jax.device_put(value, self.weight_sharding(name))
            for name, value in weights.items()
        }

    def place_tokens(self, tokens: np.ndarray) -> jax.Array:
        return jax.device_put(tokens, self.token_sharding)

    def weight_sharding(self, name: str) -> NamedSharding:
        part = name.rpartition(".")[2]
        if part in COLUMNS:
            return self.sharding(None, "model")
        if part in ROWS:
            return self.sharding("model", None)
        return self.sharding()

    @property
    def token_sharding(self) -> NamedSharding:
        return self.sharding("data", None)

    def sharding(self, *axes: str | None) -> NamedSharding:
        return NamedSharding(self.mesh, P(*axes))

    def pinned(self, x: jax.Array, *axes: str | None) -> jax.Array:
        return with_sharding_constraint(x, self.sharding(*axes))

    def __call__(self, weights: Weights, tokens: jax.Array) -> jax.Array:
        """Computes the logits, ``[batch, length, vocab]``."""
        embedding = weights["embedding"]
        # ``take`` and maxlite give NaN for indices out of range; ``[tokens]`` would
        # clamp them, which saves one select.
        looked_up = jnp.take(embedding, tokens, axis=0)
        x = self.pinned(looked_up, "data", None, None)
        rotation = self.rotation(tokens.shape[1], embedding.shape[1] // self.heads)
        for i in range(self.layers):
            prefix = f"layers.{i}."
            layer = {
                name.removeprefix(prefix): value
                for name, value in weights.items()
                if name.startswith(prefix)
            }
            x = self.block(layer, x, rotation)
        x = self.norm(x, weights["norm"])
        return self.pinned(x @ embedding.T, "data", None, "model")

    def block(
        self, w: Weights, x: jax.Array, rotation: tuple[jax.Array, jax.Array]
    ) -> jax.Array:
        attended = self.attention(w, self.norm(x, w["attention_norm"]), rotation)
        x = x + self.pinned(attended, "data", None, None)
        y = self.norm(x, w["mlp_norm"])
        gated = self.pinned(
            jax.nn.silu(y @ w["gate"]) * (y @ w["up"]), "data", None, "model"
        )
        return x + self.pinned(gated @ w["down"], "data", None, None)

    def attention(
        self, w: Weights, x: jax.Array, rotation: tuple[jax.Array, jax.Array]
    ) -> jax.Array:
        batch, length, dim = x.shape
        head_dim = dim // self.heads

        def heads(name: str) -> jax.Array:
            split = (x @ w[name]).reshape(batch, length, self.heads, head_dim)
            return self.pinned(split.transpose(0, 2, 1, 3), "data", "model", None, None)

        query, key = rotate(heads("query"), rotation), rotate(heads("key"), rotation)
        scores = query @ key.swapaxes(-1, -2) * head_dim**-0.5
        positions = jnp.arange(length)
        causal = positions[:, None] >= positions[None, :]
        mixed = jax.nn.softmax(jnp.where(causal, scores, -1e30)) @ heads("value")
        joined = mixed.transpose(0, 2, 1, 3).reshape(batch, length, dim)
        return joined @ w["output"]

    def norm(self, x: jax.Array, scale: jax.Array) -> jax.Array:
        mean_square = jnp.mean(x * x, axis=-1, keepdims=True)
        return x * jax.lax.rsqrt(mean_square + self.eps) * scale

    def rotation(self, length: int, head_dim: int) -> tuple[jax.Array, jax.Array]:
        half = jnp.arange(head_dim // 2, dtype=jnp.float32)
        frequencies = jnp.exp(half * (-2.0 * np.log(self.theta) / head_dim))
        angles = jnp.outer(jnp.arange(length, dtype=jnp.float32), frequencies)
        return jnp.cos(angles), jnp.sin(angles)


def rotate(x: jax.Array, rotation: tuple[jax.Array, jax.Array]) -> jax.Array:
    cosine, sine = rotation
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate(
        [first * cosine - second * sine, second * cosine + first * sine], axis=-1
    )
