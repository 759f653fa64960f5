"""Stored arrays made by hand, placements in short, and what a move compiles to."""

import jax
import numpy as np

from maxlite._backend import put, x64
from maxlite.dtype import DType
from maxlite.graph._spec import spec
from maxlite.lowering import find_collectives
from maxlite.lowering._redistribute import redistribute
from maxlite.lowering._uneven import padded_data
from maxlite.sharding import DeviceMapping, Partial, Replicated, Sharded
from maxlite.tensor._tensor import wrap
from tests.compilation.layouts import mesh

__all__ = [
    "collectives",
    "distributed",
    "mapping",
    "move",
    "parts",
    "placed",
    "placements",
    "short",
    "whole",
]


def placements(text):
    """Reads ``"S0 P"``: one placement per mesh axis."""
    kinds = {"R": Replicated(), "P": Partial()}
    return tuple(kinds.get(word) or Sharded(int(word[1:])) for word in text.split())


def short(placements):
    """Writes placements as :func:`placements` reads them."""
    axes = (p.localized_axis() for p in placements)
    return " ".join(
        type(p).__name__[0] + ("" if axis is None else str(axis))
        for p, axis in zip(placements, axes, strict=True)
    )


def mapping(shape, text):
    return DeviceMapping(mesh(*shape), placements(text))


def parts(value, where):
    """Splits a value into unequal terms, one per slot of the hidden axes."""
    hidden = tuple(where.mesh.mesh_shape[i] for i in where.partial_axes)
    if not hidden:
        return value
    rng = np.random.default_rng(value.size)
    terms = rng.integers(0, 9, (int(np.prod(hidden)), *value.shape))
    terms = terms.astype(value.dtype)
    terms[-1] = value - terms[:-1].sum(0, dtype=value.dtype)
    return terms.reshape(*hidden, *value.shape)


def placed(value, where):
    """Puts a value onto a mesh, in unequal terms where a sum is pending."""
    stored = padded_data(parts(value, where), where, value.ndim)
    return put(stored, where.named_sharding(value.ndim))


def distributed(value, shape, text):
    """Makes a tensor on a mesh; a pending sum has unequal terms."""
    where = mapping(shape, text)
    described = spec(DType.from_jax(value.dtype), value.shape, where)
    return wrap(described, placed(value, where))


def whole(array, where):
    """Gives the value of a stored array, every device's copy having been compared."""
    stored = np.asarray(array)
    for shard in array.addressable_shards:
        np.testing.assert_array_equal(np.asarray(shard.data), stored[shard.index])
    hidden = tuple(range(len(where.partial_axes)))
    if not hidden:
        return stored
    return stored.any(hidden) if stored.dtype == bool else stored.sum(hidden)


def move(array, source, *targets):
    """Moves a stored array to each target in one program; only pins say where."""

    def program(x):
        mesh = source.mesh
        return [redistribute(x, mesh, source.placements, t.placements) for t in targets]

    with x64():
        return jax.jit(program).lower(array).compile()(array)


def collectives(shape, source, target, *, size=(8, 8), dtype=np.float32):
    """Writes the collectives of one move, as ``"allreduce x 256"``."""
    before, after = mapping(shape, source), mapping(shape, target)
    array = placed(np.zeros(size, dtype), before)

    def program(x):
        return redistribute(x, before.mesh, before.placements, after.placements)

    with x64():
        hlo = jax.jit(program).lower(array).compile().as_text()
    return ", ".join(
        " ".join([found.kind, *found.mesh_axes, str(found.bytes)])
        for found in find_collectives(hlo, before.mesh)
        for _ in range(found.count)
    )
