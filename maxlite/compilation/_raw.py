"""Between tensors and the flat lists of one-device buffers that MAX code passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxlite.driver import Buffer
from maxlite.dtype import DType
from maxlite.graph._spec import Spec, spec
from maxlite.lowering._shards import join_arrays
from maxlite.tensor._tensor import Tensor, from_jax, shard_arrays, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jax

    from maxlite.graph import Graph


def join_buffers(graph: Graph, buffers: Sequence[Buffer]) -> list[Tensor]:
    """Joins one buffer per shard to one tensor per parameter.

    Raises:
        ValueError: The number of buffers is not that of the graph's inputs.
    """
    expected = len(graph.inputs)
    if len(buffers) != expected:
        raise ValueError(
            f"{graph.name}: execute_raw takes one buffer per input and shard, expected "
            f"{expected}, got {len(buffers)}. Pass every shard of every argument."
        )
    arrays = [buffer.to_jax() for buffer in buffers]
    joined: list[Tensor] = []
    for value in graph.parameters:
        count = value.spec.mapping.mesh.num_devices
        joined.append(join_shards(value.spec, arrays[:count]))
        del arrays[:count]
    return joined


def join_shards(described: Spec, shards: Sequence[jax.Array]) -> Tensor:
    """Joins one array per device to a tensor with the mapping of a spec."""
    mapping = described.mapping
    if not described.is_distributed:
        return from_jax(shards[0])
    array, shape = join_arrays("execute_raw", shards, mapping)
    return wrap(spec(DType.from_jax(array.dtype), shape, mapping), array)


def write_back(
    graph: Graph, tensors: Sequence[Tensor], buffers: Sequence[Buffer]
) -> None:
    """Puts what a program wrote into the buffers that it was given."""
    first = 0
    for i, (value, tensor) in enumerate(zip(graph.parameters, tensors, strict=True)):
        count = value.spec.mapping.mesh.num_devices
        if i in graph.writes:
            for buffer, array in zip(
                buffers[first : first + count], shard_arrays(tensor), strict=True
            ):
                buffer._array = array
        first += count


def split_arrays(tensors: Sequence[Tensor]) -> list[Buffer]:
    """Lists every shard of every tensor as a buffer of its own."""
    return [
        Buffer.from_jax(array) for tensor in tensors for array in shard_arrays(tensor)
    ]
