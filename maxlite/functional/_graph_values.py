"""Values of the program that is being traced, as tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import jax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import DType
from maxlite.functional._dispatch import apply
from maxlite.functional._graph_building import buffer_tensor, owner
from maxlite.graph import BufferValue, Dim, TensorValue
from maxlite.graph._node import External
from maxlite.graph._shape import compact_shape, shape_text
from maxlite.graph._spec import spec
from maxlite.realization_context import GraphRealizationContext
from maxlite.sharding import (
    BufferLayout,
    DeviceMapping,
    TensorLayout,
)
from maxlite.tensor._context import current_realization_context, innermost
from maxlite.tensor._defaults import as_mapping, plain
from maxlite.tensor._tensor import Tensor

if TYPE_CHECKING:
    from maxlite.driver import Device
    from maxlite.graph import DeviceRef, ShapeLike
    from maxlite.sharding import DeviceMesh

    Where = Device | DeviceMapping | DeviceMesh | DeviceRef | None


@front
def from_graph_value(value: TensorValue | BufferValue) -> Tensor:
    """Makes a pending tensor of the current context from a recorded value.

    Args:
        value: A value of the context's graph; writes to the tensor of a buffer are
            writes to the buffer.

    Raises:
        LookupError: No context is open.
        TypeError: ``value`` is no recorded value, or one of another graph.

    Source: max.experimental.tensor.Tensor.from_graph_value.
    """
    current_realization_context()
    if isinstance(value, BufferValue):
        return buffer_tensor(value)
    if not isinstance(cast("object", value), TensorValue):
        raise TypeError(
            "from_graph_value: value must be a TensorValue of a graph, got "
            f"{type(value).__name__}. Use Tensor(value) for data."
        )
    return owner(value).create_unrealized((value,))


def _sizes(*, shape: Any, mapping: Any) -> jax.Array:
    listed = [jnp.asarray(size, jnp.int64) for size in shape]
    return jnp.stack(listed) if listed else jnp.zeros(0, jnp.int64)


def _infer_sizes(*, shape: Any, mapping: Any) -> tuple[DType, Any, Any]:
    return DType.int64, (len(shape),), mapping


_SHAPE_TO_TENSOR = register(
    Op(
        name="shape_to_tensor",
        fn=_sizes,
        infer=_infer_sizes,
        params=("shape", "mapping"),
        places=True,
    )
)


@front
def shape_to_tensor(shape: ShapeLike) -> Tensor:
    """Makes an int64 tensor of the sizes of a shape, on the default device.

    Args:
        shape: Sizes; inside a trace they may be symbolic.

    Returns:
        Shape ``[rank]``.

    Raises:
        TypeError: ``shape`` cannot be iterated, or a size is no size.
        ValueError: A size is symbolic, and there is no trace that knows it.

    Source: max.experimental.functional.shape_to_tensor.

    >>> shape_to_tensor([2, 3]).to_numpy().tolist()
    [2, 3]
    """
    sizes = compact_shape(shape)
    if any(isinstance(size, Dim) for size in sizes) and innermost() is None:
        raise ValueError(
            f"shape_to_tensor: sizes must be numbers outside of a trace, got "
            f"{shape_text(sizes)}. Pass numbers."
        )
    return apply(_SHAPE_TO_TENSOR, (), sizes, as_mapping(None))


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
        RuntimeError: There is no trace. In a lazy block a weight can be declared, to
            find out shapes, but nothing that depends on it can be computed.
        ValueError: ``name`` was declared before with another layout.

    Source: max.experimental.functional.constant_external.
    """
    if isinstance(layout, BufferLayout) or not isinstance(layout, TensorLayout):
        raise TypeError(
            f"constant_external: layout of {name!r} must be a TensorLayout, got "
            f"{type(layout).__name__}. A weight cannot be written to."
        )
    ctx = current_realization_context(None)
    if ctx is None:
        raise RuntimeError(
            f"constant_external: weight {name!r} can only be declared while a function "
            "is staged. Call it inside the function, or make a tensor with constant."
        )
    described = spec(layout.dtype, compact_shape(layout.shape), plain(layout.mapping))
    if isinstance(ctx, GraphRealizationContext):
        value = ctx.declare_weight(name, described, placeholder=is_placeholder)
    else:
        value = ctx.graph.add_external(External(name), described)
    return ctx.create_unrealized((value,))
