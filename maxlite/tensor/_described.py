"""What is known of a tensor before its values are: all of it is read off the spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxlite.graph import Shape, TensorType
from maxlite.graph._shape import num_elements
from maxlite.sharding import TensorLayout

if TYPE_CHECKING:
    from maxlite.driver import Device
    from maxlite.dtype import DType
    from maxlite.graph._spec import Spec
    from maxlite.sharding import DeviceMapping, DeviceMesh, Placement


class Described:
    """Dtype, sizes and place of a Tensor, which it has in either state."""

    __slots__ = ()

    _spec: Spec

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self._spec.dtype

    @property
    def shape(self) -> Shape:
        """Global sizes of the tensor axes, as a new list of Dims."""
        return Shape(self._spec.shape)

    @property
    def rank(self) -> int:
        """Number of tensor axes."""
        return len(self._spec.shape)

    def num_elements(self) -> int:
        """Counts the elements of the global value.

        Raises:
            TypeError: A size is symbolic.
        """
        return int(num_elements(self._spec.shape))

    @property
    def mapping(self) -> DeviceMapping:
        """Mesh and placements."""
        return self._spec.mapping

    @property
    def mesh(self) -> DeviceMesh:
        """The mesh; one of a single device when the tensor is not distributed."""
        return self._spec.mapping.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """One placement per mesh axis."""
        return self._spec.mapping.placements

    @property
    def layout(self) -> TensorLayout:
        """Dtype, shape and mapping, as ``stage`` and ``compile`` take them."""
        return TensorLayout(self.dtype, self.shape, self.mapping)

    @property
    def is_distributed(self) -> bool:
        """Whether the mesh has more than one device."""
        return self._spec.is_distributed

    @property
    def num_shards(self) -> int:
        """Number of devices that hold a piece."""
        return self._spec.mapping.mesh.num_devices

    @property
    def device(self) -> Device:
        """The device.

        Raises:
            ValueError: The tensor is distributed.
        """
        return self._one_device("device").devices[0]

    @property
    def type(self) -> TensorType:
        """Dtype, shape and device.

        Raises:
            TypeError: The tensor is distributed.
        """
        if self.is_distributed:
            raise TypeError(
                "type: a tensor on several devices has no single type, got "
                f"{self.mapping!r}. Use layout."
            )
        return TensorType(self.dtype, self.shape, self.device)

    def _one_device(self, who: str) -> DeviceMesh:
        if self.is_distributed:
            raise ValueError(
                f"{who}: the tensor must lie on one device, got {self.mapping!r}. "
                "Use materialize() first, or local_shards."
            )
        return self.mesh
