"""What is known of a tensor before its values are: dtype, shape and mapping.

A :class:`Spec` is the hashable form of a layout. Equal specs are one object, so the
caches of eager ops and compiled calls look them up by identity.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from maxlite.graph._dim import Dim

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxlite.dtype import DType
    from maxlite.sharding._mappings import DeviceMapping

type_key = tuple["DType", "tuple[int | Dim, ...]", "DeviceMapping", bool]


class Spec:
    """Dtype, shape and mapping of one tensor; made by :func:`spec`, never directly.

    Attributes:
        dtype: Element type.
        shape: Sizes of the tensor axes; static ones are plain ints.
        mapping: Mesh and placements; a mesh of one device when not distributed.
        literal: Whether it stands for a Python number, which fits every placement.
        is_static: Whether no size is a name.
        is_distributed: Whether the mesh has more than one device.
    """

    __slots__ = (
        "__weakref__",
        "dtype",
        "is_distributed",
        "is_static",
        "literal",
        "mapping",
        "shape",
    )

    dtype: DType
    shape: tuple[int | Dim, ...]
    mapping: DeviceMapping
    literal: bool
    is_static: bool
    is_distributed: bool

    @property
    def rank(self) -> int:
        """Number of tensor axes."""
        return len(self.shape)

    def with_shape(self, shape: tuple[int | Dim, ...]) -> Spec:
        """Gives the spec of the same dtype and mapping with another shape."""
        return spec(self.dtype, shape, self.mapping, literal=self.literal)

    def __repr__(self) -> str:
        sizes = ", ".join(str(dim) for dim in self.shape)
        mesh = self.mapping.mesh
        where = mesh.devices[0] if mesh.is_single else self.mapping
        return f"{self.dtype.name}[{sizes}]@{where!r}"

    def __reduce__(self) -> tuple[Callable[..., Spec], tuple[object, ...]]:
        return (_restore, (self.dtype, self.shape, self.mapping, self.literal))


_interned: weakref.WeakValueDictionary[type_key, Spec] = weakref.WeakValueDictionary()


def spec(
    dtype: DType,
    shape: tuple[int | Dim, ...],
    mapping: DeviceMapping,
    *,
    literal: bool = False,
) -> Spec:
    """Gives the one spec of this dtype, shape and mapping."""
    key = (dtype, shape, mapping, literal)
    found = _interned.get(key)
    if found is None:
        made = Spec()
        made.dtype, made.shape, made.mapping, made.literal = key
        made.is_distributed = mapping.mesh.num_devices > 1
        made.is_static = not any(isinstance(dim, Dim) for dim in shape)
        found = _interned.setdefault(key, made)
    return found


def _restore(
    dtype: DType, shape: tuple[int | Dim, ...], mapping: DeviceMapping, literal: bool
) -> Spec:
    return spec(dtype, shape, mapping, literal=literal)
