"""The main job's compiled step against the same model in plain ``jax.numpy``.

Both run on a ``(2, 4)`` mesh at batch 8 and length 128, and must give the same logits.
What XLA made of each is compared exactly, by the optimized HLO: the collectives with
their bytes, and XLA's own count of operations, traffic and memory, per device.
"""

from __future__ import annotations

import jax
import numpy as np
from _example import example, plain_decoder
from _hlo import compare_programs
from _timing import compare, print_comparison, print_header, rounds_asked

from maxlite import CompiledCallable, Tensor, stage

BATCH, LENGTH = 8, 128
TIME_BUDGET = 1.15


def main() -> None:
    rounds = rounds_asked(__doc__, default=21)
    config, mesh = example.Config(), example.make_mesh()
    weights = example.make_weights(config)
    tokens = example.read_tokens(BATCH, LENGTH)

    model = example.Decoder(config, mesh)
    run = CompiledCallable(stage(model)(model.token_layout()), weights)
    ours = Tensor(tokens).to(model.mapping(data=0))
    plain = plain_decoder(config, mesh)
    placed, theirs = plain.place_weights(weights), plain.place_tokens(tokens)
    step = jax.jit(plain)

    check_equal(run(ours).to_numpy(), np.asarray(step(placed, theirs)))
    (compiled,) = run.engine_model.executables.values()
    print_header()
    compare_programs(compiled, step.lower(placed, theirs).compile(), mesh)
    found = compare(
        lambda: run(ours),
        lambda: step(placed, theirs),
        rounds=rounds,
        wait_ours=wait,
        wait_theirs=jax.block_until_ready,
        calls=1,
    )
    print_comparison(f"run time, [{BATCH}, {LENGTH}] tokens", found, TIME_BUDGET)


def check_equal(ours: np.ndarray, theirs: np.ndarray) -> None:
    error = np.abs(ours - theirs).max() / np.abs(theirs).max()
    assert error < 1e-4, f"the logits differ by {error}"
    assert (ours.argmax(-1) == theirs.argmax(-1)).all()


def wait(result: Tensor) -> None:
    jax.block_until_ready([buffer.to_jax() for buffer in result.buffers])


if __name__ == "__main__":
    main()
