"""Counting what XLA made of two programs: collectives, operations, traffic, memory."""

from __future__ import annotations

from typing import Any

import jax
from _timing import print_row, within

from maxlite import DeviceMesh
from maxlite.lowering import Collective, find_collectives


def compare_programs(
    ours: jax.stages.Compiled, theirs: jax.stages.Compiled, mesh: DeviceMesh
) -> None:
    """Prints how many collectives, operations and bytes each program has."""
    mine, plain = collectives(ours, mesh), collectives(theirs, mesh)
    for key in sorted({*mine, *plain}):
        kind, axes, size = key
        what = f"{kind} over {', '.join(axes) or '?'} of {size:,} bytes"
        print_counts(what, mine.get(key, 0), plain.get(key, 0))
    for what, count in FIGURES.items():
        print_counts(what, count(ours), count(theirs))


def collectives(
    compiled: jax.stages.Compiled, mesh: DeviceMesh
) -> dict[tuple[str, tuple[str, ...], int], int]:
    found: list[Collective] = find_collectives(compiled.as_text() or "", mesh)
    return {(c.kind, c.mesh_axes, c.bytes): c.count for c in found}


def print_counts(what: str, ours: int, theirs: int) -> None:
    ratio = ours / theirs if theirs else float("inf")
    print_row(what, f"{ours:,}", f"{theirs:,}", within(ratio, 1.0, f"{ratio:.4f}"), "1")


def cost(compiled: jax.stages.Compiled, name: str) -> int:
    analysis: Any = compiled.cost_analysis()
    return int(analysis[name])


def peak_memory(compiled: jax.stages.Compiled) -> int:
    memory: Any = compiled.memory_analysis()
    return memory.peak_memory_in_bytes


FIGURES = {
    "flops": lambda compiled: cost(compiled, "flops"),
    "bytes accessed": lambda compiled: cost(compiled, "bytes accessed"),
    "peak memory, bytes": peak_memory,
}
