"""What a tensor is before it has values: dtype, shape, and where it lies.

Layouts describe the arguments and results of staged programs. A
:class:`BufferLayout` describes an argument that the program may write to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from maxlite._errors import check_type
from maxlite.dtype import DType
from maxlite.graph import BufferType, DeviceRef, Dim, Shape, StaticDim, TensorType
from maxlite.graph._shape import compact_shape
from maxlite.sharding._mappings import as_mapping
from maxlite.sharding._per_shard_dim import PerShardDim
from maxlite.sharding._placements import shard_range

if TYPE_CHECKING:
    from maxlite.driver import Device
    from maxlite.graph import ShapeLike
    from maxlite.sharding._mappings import DeviceMapping, MappingLike
    from maxlite.sharding._mesh import DeviceMesh
    from maxlite.sharding._placements import Placement

LayoutKey: TypeAlias = (
    "tuple[type[TensorLayout], DType, tuple[int | Dim, ...], DeviceMapping]"
)
"""The fields of a layout in a hashable form."""


@dataclass(frozen=True, init=False, repr=False)
class TensorLayout:
    """The dtype, global shape and mapping of a tensor.

    Immutable, equal by its fields, not hashable (see :meth:`key`). A layout never
    equals one of another class.

    Args:
        dtype: Type of the elements.
        shape: Global size of each tensor axis: an int, a name, or a dim. A
            :class:`PerShardDim` counts as its global size.
        device: A mapping; a mesh or a device means Replicated.

    Raises:
        TypeError: An argument is of another kind.
        ValueError: A size is negative, or a sharded axis is not below the rank.

    Source: max.experimental.sharding.TensorLayout.

    >>> from maxlite.driver import CPU
    >>> TensorLayout(DType.float32, [4, "n"], CPU())
    TensorLayout(DType.float32, [4, n], DeviceMapping(DeviceMesh(_=1), [Replicated()]))
    """

    dtype: DType
    shape: Shape
    mapping: DeviceMapping

    def __init__(self, dtype: DType, shape: ShapeLike, device: MappingLike) -> None:
        check_type(
            dtype,
            DType,
            f"{type(self).__name__}: dtype must be a DType",
            "Pass for example DType.float32.",
        )
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "shape", _as_shape(type(self).__name__, shape))
        object.__setattr__(self, "mapping", as_mapping(device))
        self.mapping.check_shape(self.shape)

    @property
    def rank(self) -> int:
        """Number of tensor axes."""
        return len(self.shape)

    @property
    def mesh(self) -> DeviceMesh:
        """The devices."""
        return self.mapping.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """One placement per mesh axis."""
        return self.mapping.placements

    @property
    def device(self) -> Device:
        """The device, if there is only one.

        Raises:
            ValueError: The layout spans several devices.
        """
        if not self.mesh.is_single:
            raise ValueError(
                f"{type(self).__name__}.device: there must be one device, "
                f"got {self.mesh.num_devices} on {self.mesh!r}. Use .mesh.devices."
            )
        return self.mesh.devices[0]

    @property
    def local_types(self) -> list[TensorType] | list[BufferType]:
        """What each device holds, in mesh order.

        A symbol that is sharded gets a new name per shard, such as ``n_x_0``.

        >>> from maxlite.driver import CPU
        >>> from maxlite.sharding import DeviceMapping, DeviceMesh, Sharded
        >>> mesh = DeviceMesh((CPU(),) * 2, (2,), ("x",))
        >>> mapping = DeviceMapping(mesh, (Sharded(0),))
        >>> [t.shape for t in TensorLayout(DType.int32, [5, "n"], mapping).local_types]
        [[Dim(3), Dim('n')], [Dim(2), Dim('n')]]
        """
        return [
            TensorType(self.dtype, shape, DeviceRef.from_device(device))
            for shape, device in zip(
                self.mapping.local_shapes(self.shape), self.mesh.devices, strict=True
            )
        ]

    @property
    def local_slices(self) -> list[tuple[slice, ...]]:
        """Which part of the global value each device holds, in mesh order.

        Under Partial and Unknown it is the part that the device holds a piece of.

        Raises:
            ValueError: A sharded size is not a number.

        >>> from maxlite.driver import CPU
        >>> from maxlite.sharding import DeviceMapping, DeviceMesh, Sharded
        >>> mesh = DeviceMesh((CPU(),) * 2, (2,), ("x",))
        >>> mapping = DeviceMapping(mesh, (Sharded(0),))
        >>> TensorLayout(DType.int32, [5], mapping).local_slices
        [(slice(0, 3, None),), (slice(3, 5, None),)]
        """
        return [
            tuple(self._local_slice(i, axis) for axis in range(self.rank))
            for i in range(self.mesh.num_devices)
        ]

    def as_tensor(self) -> TensorLayout:
        """Makes the layout of a value with the same fields."""
        return TensorLayout(self.dtype, self.shape, self.mapping)

    def as_buffer(self) -> BufferLayout:
        """Makes the layout of a writable argument with the same fields.

        >>> from maxlite.driver import CPU
        >>> type(TensorLayout(DType.int32, [2], CPU()).as_buffer()).__name__
        'BufferLayout'
        """
        return BufferLayout(self.dtype, self.shape, self.mapping)

    def key(self) -> LayoutKey:
        """Gives the fields in a hashable form, equal where the layouts are equal.

        >>> from maxlite.driver import CPU
        >>> TensorLayout(DType.int32, [2, "n"], CPU()).key()[2]
        (2, Dim('n'))
        """
        return (type(self), self.dtype, compact_shape(self.shape), self.mapping)

    def _local_slice(self, device_idx: int, axis: int) -> slice:
        axes = self.mapping.sharding_axes(axis)
        if not axes:
            return slice(None)
        size = self.shape[axis]
        if not isinstance(size, StaticDim):
            raise ValueError(
                f"{type(self).__name__}.local_slices: a sharded size must be a number, "
                f"got {size} at tensor axis {axis}. Substitute the symbol first."
            )
        part = shard_range(size.dim, self.mesh, axes, device_idx)
        return slice(part.start, part.stop)

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.shape))
        return f"{type(self).__name__}({self.dtype!s}, [{shape}], {self.mapping!r})"


class BufferLayout(TensorLayout):
    """The dtype, global shape and mapping of an argument that a program may write to.

    Source: max.experimental.sharding.BufferLayout.

    >>> from maxlite.driver import CPU
    >>> layout = BufferLayout(DType.float32, [4], CPU())
    >>> layout == layout.as_tensor()
    False
    """

    @property
    def local_types(self) -> list[BufferType]:
        """What each device holds, in mesh order."""
        return [
            BufferType(self.dtype, shape, DeviceRef.from_device(device))
            for shape, device in zip(
                self.mapping.local_shapes(self.shape), self.mesh.devices, strict=True
            )
        ]

    def as_buffer(self) -> BufferLayout:
        """Makes the layout of a writable argument with the same fields."""
        return BufferLayout(self.dtype, self.shape, self.mapping)


def as_layout(value: object) -> TensorLayout:
    """Turns a type into a layout; a layout stays as it is.

    Args:
        value: A TensorLayout, BufferLayout, TensorType or BufferType.

    Raises:
        TypeError: ``value`` is of another kind. A Tensor is refused: its sizes are
            those it happens to have.

    Source: max.experimental.compilation.as_layout.

    >>> as_layout(TensorType(DType.float32, [4], DeviceRef.CPU()))
    TensorLayout(DType.float32, [4], DeviceMapping(DeviceMesh(_=1), [Replicated()]))
    """
    if isinstance(value, TensorLayout):
        return value
    if isinstance(value, BufferType):
        return BufferLayout(value.dtype, value.shape, value.device)
    if isinstance(value, TensorType):
        return TensorLayout(value.dtype, value.shape, value.device)
    if isinstance(getattr(value, "layout", None), TensorLayout):
        raise TypeError(
            "as_layout: must be a layout, got a value of type "
            f"{type(value).__name__}, whose sizes are those it happens to have. "
            "Pass its .layout to fix them on purpose."
        )
    raise TypeError(
        "as_layout: must be a TensorLayout, BufferLayout, TensorType or BufferType, "
        f"got {type(value).__name__}. Pass for example "
        "TensorType(DType.float32, ['n'], DeviceRef.CPU())."
    )


def _as_shape(who: str, shape: ShapeLike) -> Shape:
    dims = Shape(map(_global_dim, Shape(shape)))
    for dim in dims:
        if isinstance(dim, StaticDim) and dim.dim < 0:
            raise ValueError(
                f"{who}: each size must be at least 0, got {dim} in "
                f"[{', '.join(map(str, dims))}]. Use a name for a size to be found."
            )
    return dims


def _global_dim(dim: Dim) -> Dim:
    if not isinstance(dim, PerShardDim):
        return dim
    if dim.global_dim is None:
        raise ValueError(
            "TensorLayout: each size must be that of the whole tensor axis, "
            f"got {dim!r}. Pass the global size."
        )
    return dim.global_dim
