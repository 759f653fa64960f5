"""Values of the program that is being traced, as tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxlite._op_table import front
from maxlite.graph._graph import TensorValue
from maxlite.graph._shape import compact_shape
from maxlite.graph._spec import spec
from maxlite.realization_context._eager import graph_context
from maxlite.sharding import (
    BufferLayout,
    DeviceMapping,
    TensorLayout,
)
from maxlite.tensor._context import current_realization_context
from maxlite.tensor._defaults import plain
from maxlite.tensor._tensor import Tensor

if TYPE_CHECKING:
    from maxlite.driver import Device
    from maxlite.graph import DeviceRef
    from maxlite.sharding import DeviceMesh

    Where = Device | DeviceMapping | DeviceMesh | DeviceRef | None


@front
def from_graph_value(value: TensorValue) -> Tensor:
    """Makes a pending tensor of the current context from a recorded value.

    Args:
        value: A value of the context's graph.

    Raises:
        LookupError: No context is open.
        TypeError: ``value`` is no recorded value.

    Source: max.experimental.tensor.Tensor.from_graph_value.
    """
    if not isinstance(value, TensorValue):
        raise TypeError(
            "from_graph_value: value must be a TensorValue of a graph, got "
            f"{type(value).__name__}. Use Tensor(value) for data."
        )
    return current_realization_context().create_unrealized((value,))


@front
def constant_external(
    name: str,
    layout: TensorLayout,
    align: int | None = None,
    is_placeholder: bool = False,
) -> Tensor:
    """Declares a named weight of the program that is being traced.

    Its value is supplied when the program is compiled, and never becomes part of it.

    Args:
        name: What ``weights=`` calls it.
        layout: Dtype, shape and place.
        align: Ignored.
        is_placeholder: Whether the prefix of the enclosing subgraph call is put in
            front of ``name``.

    Raises:
        TypeError: ``layout`` is a BufferLayout, or no layout.
        RuntimeError: There is no trace.
        ValueError: ``name`` was declared before with another layout.

    Source: max.experimental.functional.constant_external.
    """
    if isinstance(layout, BufferLayout) or not isinstance(layout, TensorLayout):
        raise TypeError(
            f"constant_external: layout of {name!r} must be a TensorLayout, got "
            f"{type(layout).__name__}. A weight cannot be written to."
        )
    ctx = graph_context()
    if ctx is None:
        raise RuntimeError(
            f"constant_external: weight {name!r} can only be declared while a function "
            "is staged. Call it inside the function, or make a tensor with constant."
        )
    described = spec(layout.dtype, compact_shape(layout.shape), plain(layout.mapping))
    value = ctx.declare_weight(name, described, placeholder=is_placeholder)
    return ctx.create_unrealized((value,))
