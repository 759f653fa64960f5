"""Binding named weights to a program: checked once, kept on the program's devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np

from maxlite._backend import place
from maxlite.compilation._signature import expected_text
from maxlite.driver import CPU
from maxlite.graph._graph import Captured, External
from maxlite.lowering import edge_sharding
from maxlite.tensor._defaults import on_device
from maxlite.tensor._tensor import Tensor, from_jax, from_numpy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maxlite.graph import Graph
    from maxlite.graph._spec import Spec
    from maxlite.sharding import DeviceMesh


def bind_weights(
    graph: Graph, weights: Mapping[str, Any], mesh: DeviceMesh
) -> list[jax.Array]:
    """Finds, checks and places the value of every hidden input of a program.

    Args:
        graph: The program.
        weights: Tensors, numpy arrays or anything with DLPack, by name; others than
            the program's are ignored.
        mesh: The devices that the program runs on.

    Returns:
        One stored array per hidden input, in the program's order.

    Raises:
        ValueError: A weight is missing, or has another shape or dtype.
        TypeError: A weight is no array.
    """
    return [
        _bind(graph, value.origin, value.spec, weights, mesh) for value in graph.hidden
    ]


def _bind(
    graph: Graph,
    origin: Any,
    spec: Spec,
    weights: Mapping[str, Any],
    mesh: DeviceMesh,
) -> jax.Array:
    if isinstance(origin, Captured):
        array = origin.array
    else:
        assert isinstance(origin, External)
        if origin.name not in weights:
            raise ValueError(
                f"{graph.name}: weight {origin.name!r} is missing, expected "
                f"{expected_text(spec)}. Add it to weights=."
            )
        array = _check_weight(graph.name, origin.name, weights[origin.name], spec)
    sharding = edge_sharding(spec, mesh)
    return array if array.sharding == sharding else place(array, sharding)


def _check_weight(who: str, name: str, given: Any, spec: Spec) -> jax.Array:
    tensor = _as_tensor(who, name, given)
    if tensor.dtype is not spec.dtype or tensor._spec.shape != spec.shape:
        sizes = ", ".join(map(str, tensor._spec.shape))
        raise ValueError(
            f"{who}: weight {name!r} must be {expected_text(spec)}, got "
            f"{tensor.dtype} shape [{sizes}]. Cast or reshape it first."
        )
    if tensor._spec is spec:
        return tensor._stored()
    if not spec.mapping.partial_axes and not tensor.is_distributed:
        return tensor._stored()  # placed onto the mesh by the caller, piece by piece
    return tensor.to(spec.mapping)._stored()


def _as_tensor(who: str, name: str, given: Any) -> Tensor:
    if isinstance(given, Tensor):
        return given
    if isinstance(given, np.ndarray):
        return from_numpy(cast("np.ndarray", given), on_device(CPU()))
    if isinstance(given, jax.Array):
        return from_jax(given)
    if hasattr(given, "__dlpack__"):
        return Tensor.from_dlpack(given)
    raise TypeError(
        f"{who}: weight {name!r} must be a Tensor or an array, got "
        f"{type(given).__name__}. Use Tensor(value)."
    )
