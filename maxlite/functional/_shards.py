"""Joining shards to a tensor, and giving the shards of a tensor another meaning.

Nothing is computed here and no value moves between devices: what a device holds stays
as it is, and the mapping says anew what it is a piece of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxlite._op_table import front
from maxlite.dtype import DType
from maxlite.functional._dispatch import as_tensor
from maxlite.graph._spec import spec
from maxlite.sharding import DeviceMapping
from maxlite.tensor._context import current_realization_context
from maxlite.tensor._defaults import plain
from maxlite.tensor._shards import global_shape, join_arrays
from maxlite.tensor._tensor import Tensor, shard_arrays, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jax


@front
def from_shard_values(
    shard_values: Sequence[Tensor], mapping: DeviceMapping | None = None
) -> Tensor:
    """Joins one-device tensors to one tensor over a mesh, each a device's piece.

    Args:
        shard_values: One per device of the mesh, in mesh order, of equal dtype and
            shape.
        mapping: What the pieces are; None for a single value on one device.

    Returns:
        A realized tensor: sharded axes are that many times longer, pending sums add up.

    Raises:
        LookupError: No realization context is open.
        TypeError: A value is no Tensor, or has no value yet.
        ValueError: Several values without a mapping, not one per device, or values of
            different dtype or shape.

    Source: max.experimental.tensor.Tensor.from_shard_values.

    >>> from maxlite.driver import CPU
    >>> from maxlite.functional import ensure_context
    >>> from maxlite.sharding import DeviceMesh, Sharded
    >>> mesh = DeviceMesh((CPU(), CPU()), (2,), ("x",))
    >>> with ensure_context():
    ...     x = from_shard_values(
    ...         [Tensor([1.0]), Tensor([2.0])], DeviceMapping(mesh, (Sharded(0),))
    ...     )
    >>> x.to_numpy().tolist()
    [1.0, 2.0]
    """
    current_realization_context()
    who = "from_shard_values"
    values = [as_tensor(who, value, "shard_values") for value in shard_values]
    if mapping is None:
        if len(values) != 1:
            raise ValueError(
                f"{who}: a mapping must say what several values are, got "
                f"{len(values)} values. Pass DeviceMapping(mesh, placements)."
            )
        mapping = values[0].mapping
    for value in values:
        value._one_device(who)
    return _join(who, [value._stored() for value in values], mapping)


@front
def rebind_mapping(t: Tensor, mapping: DeviceMapping) -> Tensor:
    """Says anew what the shards of a tensor are; none of them moves or changes.

    Args:
        t: Its shards are of equal shape.
        mapping: On the same mesh.

    Returns:
        A tensor of the same shards; its shape follows the mapping.

    Raises:
        TypeError: ``mapping`` is no mapping, or ``t`` has no value yet.
        ValueError: The mesh is another one, or a sharded axis is missing.

    Source: max.experimental.tensor.Tensor.rebind_mapping.

    >>> from maxlite.driver import CPU
    >>> from maxlite.sharding import DeviceMesh, Partial, Replicated
    >>> mesh = DeviceMesh((CPU(), CPU()), (2,), ("x",))
    >>> x = Tensor([1.0, 2.0]).to(mesh)
    >>> rebind_mapping(x, DeviceMapping(mesh, (Partial(),))).to_numpy().tolist()
    [2.0, 4.0]
    """
    as_tensor("rebind_mapping", t, "t")
    if not isinstance(mapping, DeviceMapping):
        raise TypeError(
            "rebind_mapping: mapping must be a DeviceMapping, got "
            f"{type(mapping).__name__}. Use DeviceMapping(mesh, placements)."
        )
    if mapping.mesh != t.mesh:
        raise ValueError(
            f"rebind_mapping: the mesh must stay the same, got {mapping.mesh!r} for "
            f"{t.mesh!r}. Use to(mapping) to move."
        )
    return _join("rebind_mapping", shard_arrays(t), mapping)


def _join(who: str, shards: Sequence[jax.Array], mapping: DeviceMapping) -> Tensor:
    kept = plain(mapping)
    array = join_arrays(who, shards, kept)
    shape = global_shape(shards[0].shape, kept)
    return wrap(spec(DType.from_jax(array.dtype), shape, kept), array)
