"""Python numbers as arguments of executables.

A number that meets a tensor in eager code becomes a scalar array on the tensor's
devices. Making one costs several times as much as the op itself, so they are kept: the
same few numbers come again and again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite._backend import put
from maxlite._caches import Cache
from maxlite.graph._node import exact
from maxlite.lowering._evaluate import literal_array
from maxlite.lowering._program import edge_sharding

if TYPE_CHECKING:
    import jax

    from maxlite.graph._spec import Spec

MAX_LITERALS = 10_000
"""Scalar arrays kept; the cache starts afresh beyond."""

_arrays: Cache[tuple[Any, ...], jax.Array] = Cache("numbers as arrays", MAX_LITERALS)


def literal_argument(value: bool | int | float, spec: Spec) -> jax.Array:
    """Gives the array of a number, on the devices of its spec.

    Args:
        value: Fits the dtype of ``spec``.
        spec: A literal spec: rank 0, with the mapping of the tensor that it meets.
    """
    key = (spec, exact(value))
    found = _arrays.get(key)
    if found is None:
        mesh = spec.mapping.mesh
        found = put(literal_array(value, spec), edge_sharding(spec, mesh))
        _arrays.keep(key, found)
    return found
