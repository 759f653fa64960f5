"""What each process runs: python -m tests.distributed.job PORT COUNT ID WORK."""

import importlib
import json
import os
import signal
import sys
import time
from typing import Any

import numpy as np

from maxlite import (
    CPU,
    DeviceMapping,
    DeviceMesh,
    DType,
    Partial,
    Replicated,
    Sharded,
    Tensor,
    auto_reshard,
    compile,
    distributed,
)
from maxlite import functional as F

DATA = np.arange(64.0, dtype=np.float32).reshape(8, 8)


def mesh():
    return DeviceMesh(tuple(CPU(i) for i in range(8)), (2, 4), ("data", "model"))


def cut():
    return Tensor(DATA, device=DeviceMapping(mesh(), (Sharded(0), Sharded(1))))


def decoder():
    example: Any = importlib.import_module("sharded_transformer")

    config = example.Config(dim=64, hidden=96, layers=2)
    model = example.Decoder(config, example.make_mesh())
    weights = example.make_weights(config)
    tokens = example.read_tokens(4, 16)
    placed = {
        name: Tensor(value, device=model.weight_layout(name).mapping)
        for name, value in weights.items()
    }
    program = compile(model, weights=placed)(model.token_layout())
    logits = program(Tensor(tokens, device=model.mapping(data=0)))
    expected = example.numpy_decoder(config, weights, tokens)
    np.testing.assert_allclose(logits.to_numpy(), expected, rtol=1e-3, atol=1e-3)
    return {
        "logits": logits.to_numpy().astype(float).ravel()[::97].tolist(),
        "collectives": len(program.collectives(batch=4, length=16)),
    }


def values():
    """Reads, moves and ops of every way to run, against numpy."""
    x = cut()
    assert (x.to_numpy() == DATA).all()
    assert x.to(CPU()).device == CPU()
    assert (x.to(CPU()).to_numpy() == DATA).all()
    assert ((x + x) * 0.5).placements == x.placements
    with auto_reshard(mode="silent"):
        np.testing.assert_allclose((x @ x.T).to_numpy(), DATA @ DATA.T)
        assert F.sum(x, axis=None).item() == DATA.sum()
        with F.lazy():
            pending = F.exp(x * 0.01) @ x
        np.testing.assert_allclose(pending.to_numpy(), np.exp(DATA * 0.01) @ DATA, 1e-4)
    turned = x.to(DeviceMapping(mesh(), (Sharded(1), Sharded(0))))
    assert (turned.to_numpy() == DATA).all()
    own = Tensor([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (own + 1).device == CPU()
    assert (own.to(mesh()) * 2).to_numpy().tolist() == [2, 4, 6, 8, 10]
    uneven = own.to(DeviceMapping(mesh(), (Replicated(), Sharded(0))))
    assert (uneven + 1).to_numpy().tolist() == [2, 3, 4, 5, 6]
    assert [s.to_numpy().tolist() for s in uneven.local_shards] == [
        [1, 2],
        [3],
        [4],
        [5],
    ]
    total = own.to(mesh()).to(DeviceMapping(mesh(), (Partial(), Replicated())))
    assert (total.to_numpy() == own.to_numpy()).all()
    whole = x.to(DeviceMapping.replicated(mesh()))
    whole[0] = 0.0
    assert whole.to_numpy()[0].tolist() == [0.0] * 8
    assert F.nonzero(whole).shape == [56, 2]
    assert "in several processes" in x._repr_html_()
    shards = [Tensor([float(i)]) for i in (0, 0, 0, 0, 4, 4, 4, 4)]
    rows = DeviceMapping(mesh(), (Sharded(0), Replicated()))
    with F.ensure_context():
        made = Tensor.from_shard_values(shards, rows)
    assert made.to_numpy().tolist() == [0.0, 4.0]
    assert len(x.local_shards) == 4
    return {"process": distributed.process_index(), "of": distributed.process_count()}


def random():
    drawn = F.normal([8, 8], device=cut().mapping)
    program = compile(lambda x: F.uniform([8], device=x.mesh) + F.sum(x) * 0)
    with auto_reshard(mode="silent"):
        compiled = program(Tensor.ones([8], device=mesh()).layout)
    again = compiled(Tensor.ones([8], device=mesh()))
    return {"drawn": np.r_[drawn.to_numpy().ravel(), again.to_numpy()].tolist()}


def refused():
    """A mesh in which one process has no device; and what comes twice or too late."""
    lone = DeviceMesh((CPU(0), CPU(1)), (2,), ("x",))
    texts = {}
    if distributed.process_index() == 1:
        try:
            Tensor([1.0, 2.0], device=DeviceMapping(lone, (Sharded(0),)))
        except ValueError as error:
            texts["lone"] = str(error)
    try:
        distributed.initialize("127.0.0.1:1", 1, 0)
    except RuntimeError as error:
        texts["twice"] = str(error)
    return texts


def dies():
    """One process ends in the middle; the other is told so when it reads."""
    x = cut()
    x.to_numpy()
    if distributed.process_index() == VICTIM:
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(1)
    try:
        for _ in range(20):
            (x + 1).to(CPU()).to_numpy()
            time.sleep(0.1)
    except RuntimeError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        os._exit(7)
    return {}


VICTIM = int(os.environ.get("VICTIM", "-1"))

if __name__ == "__main__":
    port, count, index, work = sys.argv[1:]
    distributed.initialize(
        f"127.0.0.1:{port}",
        int(count),
        int(index),
        cpu_devices=8 // int(count),
        timeout=40,
        heartbeat=10,
    )
    assert DType.float32  # the package is whole
    result = globals()[work]()
    print(f"\n{json.dumps(result)}", flush=True)
    distributed.shutdown()
