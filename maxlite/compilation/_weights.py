"""Binding named weights to a program: checked once, kept on the program's devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np

from maxlite._backend import place, put
from maxlite.compilation._signature import expected_text
from maxlite.dtype import DType
from maxlite.graph._node import Captured, External
from maxlite.lowering import edge_sharding
from maxlite.lowering._uneven import is_uneven, padded_data
from maxlite.sharding import DeviceMapping
from maxlite.tensor._tensor import Tensor, from_foreign

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.graph import Dim, Graph
    from maxlite.graph._spec import Spec
    from maxlite.sharding import DeviceMesh


def bind_weights(
    graph: Graph, weights: Mapping[str, Any], mesh: DeviceMesh
) -> list[jax.Array]:
    """Finds, checks and places what a program is bound to: weights, captured arrays.

    Args:
        graph: The program.
        weights: Tensors, numpy arrays or anything with DLPack, by name; others than
            the program's are ignored.
        mesh: The devices that the program runs on.

    Returns:
        One stored array per bound input, in the program's order.

    Raises:
        ValueError: A weight is missing, or has another shape or dtype.
        TypeError: A weight is no array.
    """
    _check_names(graph, weights)
    return [
        _bind(graph, value.origin, value.spec, weights, mesh) for value in graph.bound
    ]


def _check_names(graph: Graph, weights: Mapping[str, Any]) -> None:
    wanted = {external.name: v.spec for external, v in graph.externals.items()}
    missing = [name for name in wanted if name not in weights]
    if not missing:
        return
    shown = missing[:_MOST_NAMED]
    first = "; ".join(f"{name!r}, {expected_text(wanted[name])}" for name in shown)
    more = f" and {len(missing) - len(shown)} more" if missing[_MOST_NAMED:] else ""
    unused = [repr(name) for name in weights if name not in wanted]
    hint = f" Unused are {', '.join(unused[:_MOST_NAMED])}." if unused else ""
    raise ValueError(
        f"{graph.name}: {len(missing)} weight{'s are' if more or shown[1:] else ' is'} "
        f"missing: {first}{more}. Add them to weights=.{hint}"
    )


_MOST_NAMED = 8
"""Names listed in an error; a model may lack hundreds."""


def _bind(
    graph: Graph,
    origin: Any,
    spec: Spec,
    weights: Mapping[str, Any],
    mesh: DeviceMesh,
) -> jax.Array:
    sharding = edge_sharding(spec, mesh)
    if isinstance(origin, Captured):
        return _placed(origin.array, sharding)
    assert isinstance(origin, External)
    given = weights[origin.name]
    if isinstance(given, np.ndarray) and not spec.mapping.partial_axes:
        # Straight from numpy, each device gets its own piece and nothing else.
        data = cast("np.ndarray", given)
        dtype = DType.from_jax(data.dtype.newbyteorder("="))
        _check_weight(graph.name, origin.name, dtype, data.shape, spec)
        return put(padded_data(data, spec.mapping, spec.rank), sharding)
    tensor = _as_tensor(graph.name, origin.name, given)
    _check_weight(graph.name, origin.name, tensor.dtype, tensor._spec.shape, spec)
    if spec.mapping.partial_axes and not tensor.is_distributed:
        tensor = tensor.to(DeviceMapping.replicated(spec.mapping.mesh))
    if tensor.is_distributed or spec.mapping.partial_axes or is_uneven(spec):
        tensor = tensor.to(spec.mapping)
    return _placed(tensor._stored(), sharding)


def _placed(array: jax.Array, sharding: jax.sharding.Sharding) -> jax.Array:
    return array if array.sharding == sharding else place(array, sharding)


def _check_weight(
    who: str, name: str, dtype: DType, shape: Sequence[int | Dim], spec: Spec
) -> None:
    if dtype is not spec.dtype or tuple(shape) != spec.shape:
        if not spec.is_static:
            raise ValueError(
                f"{who}: the sizes of weight {name!r} must be numbers, got "
                f"{expected_text(spec)}. Declare it with the sizes that it has."
            )
        sizes = ", ".join(map(str, shape))
        raise ValueError(
            f"{who}: weight {name!r} must be {expected_text(spec)}, got {dtype} shape "
            f"[{sizes}]. Cast or reshape it first."
        )


def _as_tensor(who: str, name: str, given: Any) -> Tensor:
    if isinstance(given, Tensor):
        return given
    if isinstance(given, jax.Array):
        return Tensor.from_jax(given)
    if hasattr(given, "__dlpack__"):
        return from_foreign(given, copy=True)
    raise TypeError(
        f"{who}: weight {name!r} must be a Tensor or an array, got "
        f"{type(given).__name__}. Use Tensor(value)."
    )
