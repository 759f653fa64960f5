"""A Llama-style decoder, tensor- and data-parallel over a mesh of eight devices.

Run it with ``python examples/sharded_transformer.py``. It stages the model once with
symbolic batch and length, shows the StableHLO, compiles it, runs it on a real text at
several sizes, and compares every logit with the same model in plain NumPy.

How the model is laid out on the mesh ``(data=2, model=4)``:

- tokens and activations are cut along the batch, over ``data``;
- query, key, value, gate and up projections are cut by columns over ``model``, so each
  device has its own heads and hidden units;
- output and down projections are cut by rows, so their products are pending sums that
  one allreduce per projection adds up;
- norms and the embedding are replicated; the logits are cut along the vocabulary.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from maxlite import functional as F
from maxlite.compilation import Collective, CompiledCallable, as_subgraph, stage
from maxlite.driver import CPU, Accelerator, accelerator_count
from maxlite.dtype import DType
from maxlite.sharding import (
    DeviceMapping,
    DeviceMesh,
    Replicated,
    Sharded,
    TensorLayout,
)
from maxlite.tensor import Tensor

TEXT = Path(__file__).parent.parent / "LICENSE"
SIZES = ((2, 32), (4, 64), (8, 128))


@dataclass(frozen=True)
class Config:
    """Sizes of the model."""

    vocab: int = 256
    dim: int = 256
    heads: int = 8
    hidden: int = 768
    layers: int = 6
    eps: float = 1e-5
    theta: float = 10_000.0

    @property
    def head_dim(self) -> int:
        return self.dim // self.heads


# The weights --------------------------------------------------------------------------


def weight_shapes(c: Config) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {"embedding": (c.vocab, c.dim)}
    for i in range(c.layers):
        shapes |= {
            f"layers.{i}.attention_norm": (c.dim,),
            f"layers.{i}.query": (c.dim, c.dim),
            f"layers.{i}.key": (c.dim, c.dim),
            f"layers.{i}.value": (c.dim, c.dim),
            f"layers.{i}.output": (c.dim, c.dim),
            f"layers.{i}.mlp_norm": (c.dim,),
            f"layers.{i}.gate": (c.dim, c.hidden),
            f"layers.{i}.up": (c.dim, c.hidden),
            f"layers.{i}.down": (c.hidden, c.dim),
        }
    shapes["norm"] = (c.dim,)
    return shapes


def make_weights(c: Config, seed: int = 0) -> dict[str, np.ndarray]:
    """Draws weights such that every activation, the logits too, is of order 1."""
    rng = np.random.default_rng(seed)
    weights = {}
    for name, shape in weight_shapes(c).items():
        if name.endswith("norm"):
            values = 1.0 + 0.1 * rng.standard_normal(shape)
        else:
            # The embedding is used as [vocab, dim] and, for the logits, transposed.
            fan_in = c.dim if name == "embedding" else shape[0]
            values = rng.standard_normal(shape) / np.sqrt(fan_in)
        weights[name] = values.astype(np.float32)
    return weights


# The model in maxlite -----------------------------------------------------------------


class Decoder:
    """Says what is computed and where it lies; holds no values."""

    def __init__(self, config: Config, mesh: DeviceMesh) -> None:
        self.config = config
        self.mesh = mesh

    def mapping(self, data: int | None = None, model: int | None = None):
        """Cuts one tensor axis over each mesh axis, or none."""
        axes = (data, model)
        return DeviceMapping(
            self.mesh,
            tuple(Replicated() if axis is None else Sharded(axis) for axis in axes),
        )

    def weight_layout(self, name: str) -> TensorLayout:
        part = name.rpartition(".")[2]
        columns, rows = ("query", "key", "value", "gate", "up"), ("output", "down")
        model = 1 if part in columns else 0 if part in rows else None
        shapes = weight_shapes(self.config)
        shape = shapes.get(name) or shapes[f"layers.0.{name}"]
        return TensorLayout(DType.float32, shape, self.mapping(model=model))

    def weight(self, name: str) -> Tensor:
        return F.constant_external(name, self.weight_layout(name), is_placeholder=True)

    def token_layout(self) -> TensorLayout:
        return TensorLayout(DType.int32, ["batch", "length"], self.mapping(data=0))

    def __call__(self, tokens: Tensor) -> Tensor:
        c = self.config
        embedding = self.weight("embedding")
        x = F.gather(embedding, tokens, axis=0)
        rotation = self.rotation(tokens.shape[1])
        for i in range(c.layers):
            x = as_subgraph(self.block, prefix=f"layers.{i}.")(x, rotation)
        x = F.rms_norm(x, self.weight("norm"), c.eps)
        by_vocabulary = embedding.to(self.mapping(model=0))
        return x @ by_vocabulary.T

    def block(self, x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
        c = self.config
        normed = F.rms_norm(x, self.weight("attention_norm"), c.eps)
        x = x + self.whole(self.attention(normed, rotation))
        normed = F.rms_norm(x, self.weight("mlp_norm"), c.eps)
        gated = F.silu(normed @ self.weight("gate")) * (normed @ self.weight("up"))
        return x + self.whole(gated @ self.weight("down"))

    def whole(self, x: Tensor) -> Tensor:
        """Adds up what the devices along ``model`` have: one allreduce."""
        return x.to(self.mapping(data=0))

    def attention(self, x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
        c = self.config
        batch, length, _ = x.shape

        def heads(name: str) -> Tensor:
            projected = x @ self.weight(name)
            split = projected.reshape([batch, length, c.heads, c.head_dim])
            return split.permute([0, 2, 1, 3])

        query, key = rotate(heads("query"), rotation), rotate(heads("key"), rotation)
        scores = query @ key.T * c.head_dim**-0.5
        positions = F.arange(0, length, dtype=DType.int32, device=self.mesh)
        causal = positions.unsqueeze(1) >= positions.unsqueeze(0)
        mixed = F.softmax(F.where(causal, scores, -1e30)) @ heads("value")
        joined = mixed.permute([0, 2, 1, 3]).reshape([batch, length, c.dim])
        return joined @ self.weight("output")

    def rotation(self, length: object) -> tuple[Tensor, Tensor]:
        """Cosine and sine of each position's angles, ``[length, head_dim / 2]``."""
        c = self.config
        half = F.arange(0, c.head_dim // 2, device=self.mesh)
        frequencies = F.exp(half * (-2.0 * np.log(c.theta) / c.head_dim))
        positions = F.arange(0, length, device=self.mesh)
        angles = F.outer(positions, frequencies)
        return F.cos(angles), F.sin(angles)


def rotate(x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    """Turns each pair (first half, second half) by its position's angle."""
    cosine, sine = rotation
    half = cosine.shape[1]
    first, second = x[..., :half], x[..., half:]
    return F.concat(
        [first * cosine - second * sine, second * cosine + first * sine], axis=-1
    )


# The same in NumPy --------------------------------------------------------------------


def numpy_decoder(
    c: Config, weights: dict[str, np.ndarray], tokens: np.ndarray
) -> np.ndarray:
    """Computes the logits in float32 with NumPy alone, ``[batch, length, vocab]``."""

    def norm(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + c.eps) * scale

    batch, length = tokens.shape
    half = c.head_dim // 2
    frequencies = c.theta ** (-2.0 * np.arange(half) / c.head_dim)
    angles = np.outer(np.arange(length), frequencies)
    cosine, sine = np.cos(angles).astype("f"), np.sin(angles).astype("f")

    def turned(x: np.ndarray) -> np.ndarray:
        a, b = x[..., :half], x[..., half:]
        return np.concatenate([a * cosine - b * sine, b * cosine + a * sine], axis=-1)

    x = weights["embedding"][tokens]
    hidden_future = np.triu(np.full((length, length), -np.inf, np.float32), k=1)
    for i in range(c.layers):
        w = {
            name.rpartition(".")[2]: value
            for name, value in weights.items()
            if name.startswith(f"layers.{i}.")
        }
        y = norm(x, w["attention_norm"])
        query, key, value = (
            (y @ w[name]).reshape(batch, length, c.heads, -1).transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )
        scores = turned(query) @ turned(key).swapaxes(-1, -2) * c.head_dim**-0.5
        scores = np.exp(scores + hidden_future - scores.max(axis=-1, keepdims=True))
        mixed = scores / scores.sum(axis=-1, keepdims=True) @ value
        x = x + mixed.transpose(0, 2, 1, 3).reshape(batch, length, -1) @ w["output"]
        y = norm(x, w["mlp_norm"])
        gate = y @ w["gate"]
        x = x + (gate / (1 + np.exp(-gate)) * (y @ w["up"])) @ w["down"]
    return norm(x, weights["norm"]) @ weights["embedding"].T


# The main job -------------------------------------------------------------------------


def make_mesh() -> DeviceMesh:
    """Eight accelerators where there are as many, else eight simulated CPUs."""
    real = accelerator_count() >= 8
    devices = [Accelerator(i) if real else CPU(i) for i in range(8)]
    return DeviceMesh(tuple(devices), (2, 4), ("data", "model"))


def read_tokens(batch: int, length: int) -> np.ndarray:
    """Cuts a real text into rows of bytes, ``[batch, length]``."""
    text = np.frombuffer(TEXT.read_bytes(), np.uint8)
    rows = np.resize(text, (batch, length))
    return rows.astype(np.int32)


def timed(function, *args):
    start = time.perf_counter()
    result = function(*args)
    return result, time.perf_counter() - start


def main() -> None:
    config, mesh = Config(), make_mesh()
    model, weights = Decoder(config, mesh), make_weights(config)
    count = sum(value.size for value in weights.values())
    print(f"A decoder of {count:,} weights on {mesh}\n")

    staged, staging = timed(lambda: stage(model)(model.token_layout()))
    text, printing = timed(lambda: str(staged))
    private = text.count("func.func private @block")
    print(f"Staged in {staging:.2f} s, with symbolic batch and length.")
    print(f"StableHLO: {len(text.splitlines())} lines, printed in {printing:.2f} s,")
    print(f"  {text.count('call @block')} calls of {private} private @block, for")
    print(f"  {len(staged.weight_layouts)} weights by name. Its main function begins:")
    start = text.index("func.func public @main")
    print(f"  {text[start : start + 160]} ...\n")

    print(
        f"{'argument, weight or result':<34}{'data':<17}{'model':<17}bytes per device"
    )
    for name in ("embedding", "layers.0.query", "layers.0.output", "layers.0.down"):
        print_layout(name, staged.weight_layouts[name])
    print_layout("tokens", staged.in_layouts[0])
    print_layout("logits", staged.out_layouts[0])

    run, binding = timed(lambda: CompiledCallable(staged, weights))
    print(f"\nWeights bound in {binding:.2f} s, never part of the module.\n")
    found: list[Collective] = []
    spread = 0.0
    print("batch  length   compile    first    later    NumPy  max rel. error  argmax")
    for batch, length in SIZES:
        tokens = read_tokens(batch, length)
        placed = Tensor(tokens).to(model.mapping(data=0))
        # Asking for the collectives compiles for these sizes, and runs nothing.
        found, compiling = timed(lambda b=batch, n=length: traffic(run, b, n))
        _, first = timed(lambda placed=placed: run(placed).to_numpy())
        result, later = timed(lambda placed=placed: run(placed).to_numpy())
        expected, plain = timed(numpy_decoder, config, weights, tokens)
        error = np.abs(result - expected).max() / np.abs(expected).max()
        same = bool((result.argmax(-1) == expected.argmax(-1)).all())
        times = "".join(f"{1e3 * seconds:6.0f} ms" for seconds in (first, later, plain))
        print(
            f"{batch:5}{length:8}{compiling:8.2f} s{times}{error:16.1e}"
            f"  {'equal' if same else 'DIFFERS'}"
        )
        assert error < 1e-4, error
        assert same
        spread = result.std()
    print(f"\nStandard deviation of the logits: {spread:.2f}")
    print("Collectives that XLA inserted, at the last size:")
    for collective in found:
        print(f"  {collective}")


def traffic(run: CompiledCallable, batch: int, length: int) -> list[Collective]:
    return run.collectives(batch=batch, length=length)


def print_layout(name: str, layout: TensorLayout) -> None:
    shape = ", ".join(map(str, layout.shape))
    where = "".join(f"{placement!r:<17}" for placement in layout.placements)
    size = layout.dtype.size_in_bytes
    for axis, dim in enumerate(layout.shape):
        ways = layout.mesh.axis_size(layout.mapping.sharding_axes(axis))
        size = dim * size if ways == 1 else dim // ways * size
    print(f"{f'{name} [{shape}]':<34}{where}{size}")


if __name__ == "__main__":
    main()
