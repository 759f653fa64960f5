"""Tensor: a small box around a realized array or a pending value.

The box is what a user holds. Its content changes in place when a pending value becomes
real, or when the user writes to it; the arrays themselves never change. What lies in a
box is described by its spec, which is known in either state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from typing import Any

import jax
import numpy as np

from maxlite._backend import lend, put, x64
from maxlite.driver import Buffer, Device
from maxlite.dtype import DType
from maxlite.graph import Dim, Shape, TensorType
from maxlite.graph._shape import num_elements
from maxlite.graph._spec import Spec, spec
from maxlite.sharding import (
    DeviceMapping,
    DeviceMesh,
    Partial,
    Placement,
    Replicated,
    ShardingError,
    TensorLayout,
    Unknown,
)
from maxlite.tensor._constructors import Constructors
from maxlite.tensor._context import RealizationState
from maxlite.tensor._data import as_array
from maxlite.tensor._defaults import as_mapping, defaults, on_device
from maxlite.tensor._operators import Operators
from maxlite.tensor._repr import pending_text, sharded_text, values_text


class Tensor(Operators, Constructors):
    """An array on one device or laid out over a mesh, realized or pending.

    Args:
        data: A number, a nested list of numbers, a numpy array (copied), anything with
            DLPack, or a Tensor.
        dtype: Element type. Numbers and lists get the default; arrays keep their own.
        device: A device or a mesh, where the tensor is replicated; the default device
            when None.
        storage: A buffer to wrap instead of ``data``.
        state: A recorded value to wrap instead of ``data``.

    Raises:
        TypeError: Nothing to hold, or data that are no numbers.
        ValueError: Data that the dtype cannot hold.

    Source: max.experimental.tensor.Tensor.

    >>> Tensor([1.0, 2.0]) + 1
    Tensor([2 3], dtype=DType.float32, device=Device(type=cpu,id=0))
    """

    __slots__ = ("__weakref__", "_array", "_spec", "_state")

    _spec: Spec
    _array: jax.Array | None
    _state: RealizationState | None

    # numpy must leave ``array + tensor`` to Tensor.
    __array_ufunc__ = None

    def __init__(
        self,
        data: Any = None,
        *,
        dtype: DType | None = None,
        device: Device | DeviceMesh | None = None,
        storage: Buffer | None = None,
        state: RealizationState | None = None,
    ) -> None:
        if storage is not None:
            self._become(from_jax(storage.to_jax()))
        elif state is not None:
            self._spec, self._array = state.value.spec, None
            self._state = state
        elif data is None:
            raise TypeError(
                "Tensor: data is missing. Pass numbers, an array, storage= or state=."
            )
        else:
            self._become(_from_data("Tensor", data, dtype, device))

    def _become(self, other: Tensor) -> None:
        self._spec, self._array, self._state = other._spec, other._array, other._state

    # What is known without the values ---------------------------------------------

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
        return self._spec.mapping.mesh.num_devices > 1

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

    @property
    def real(self) -> bool:
        """Whether the values are there."""
        return self._array is not None

    @property
    def state(self) -> RealizationState | None:
        """What a pending tensor waits for; None when it is real.

        Raises:
            ValueError: The tensor is real and distributed.
        """
        if self._state is None:
            self._one_device("state")
        return self._state

    def _one_device(self, who: str) -> DeviceMesh:
        if self.is_distributed:
            raise ValueError(
                f"{who}: the tensor must lie on one device, got {self.mapping!r}. "
                "Use materialize() first, or local_shards."
            )
        return self.mesh

    # Becoming real ------------------------------------------------------------------

    @property
    def realize(self) -> Awaitable[Tensor]:
        """An awaitable that computes the values; awaiting it gives this tensor."""
        return self._realized()

    def __await__(self) -> Generator[Any, None, Tensor]:
        return self._realized().__await__()

    async def _realized(self) -> Tensor:
        if self._state is not None:
            await self._state.ctx.realize_all()
        return self

    def _stored(self) -> jax.Array:
        """Gives the stored array, computing it first when it is pending."""
        if self._array is None:
            run_now(self._realized())
            assert self._array is not None
        return self._array

    # Values -------------------------------------------------------------------------

    @property
    def storage(self) -> Buffer | None:
        """The buffer of a real tensor, None when pending.

        Raises:
            ValueError: The tensor is distributed.
        """
        self._one_device("storage")
        return None if self._array is None else Buffer.from_jax(self._array)

    @property
    def driver_tensor(self) -> Buffer:
        """The buffer of a real tensor.

        Raises:
            TypeError: The tensor is pending.
            ValueError: The tensor is distributed.
        """
        self._one_device("driver_tensor")
        return self.buffers[0]

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """One buffer per shard, in mesh order.

        Raises:
            TypeError: The tensor is pending.
        """
        if self._array is None:
            raise TypeError(
                "buffers: the tensor must be realized. Read a value first, or await it."
            )
        return tuple(Buffer.from_jax(shard) for shard in shard_arrays(self))

    @property
    def local_shards(self) -> tuple[Tensor, ...]:
        """One tensor per device, in mesh order: the piece that it holds."""
        if not self.is_distributed:
            return (self,)
        self._stored()
        return tuple(from_jax(shard) for shard in shard_arrays(self))

    def materialize(self) -> Tensor:
        """Gathers to the first device; the tensor itself when it is there already."""
        return self if not self.is_distributed else self.to(self.mesh.devices[0])

    def to_numpy(self) -> np.ndarray:
        """Gives the global value as a read-only numpy array.

        Raises:
            TypeError: The tensor belongs to a program that is being traced.
            ShardingError: A placement is Unknown.
        """
        self._stored()
        if any(isinstance(p, Unknown) for p in self.placements):
            raise ShardingError(
                "to_numpy: the global value of Unknown shards is not defined, got "
                f"{self.mapping!r}. Use rebind_mapping or local_shards."
            )
        whole = self
        if any(isinstance(p, Partial) for p in self.placements):
            whole = self.to(DeviceMapping(self.mesh, (Replicated(),) * self.mesh.ndim))
        view = np.asarray(whole._stored())
        if view.flags.writeable:
            view.flags.writeable = False
        return view

    def item(self) -> bool | int | float:
        """Gives the only element as a Python number.

        Raises:
            TypeError: There is not exactly one element.
            ValueError: The tensor is distributed and not replicated.
        """
        self._stored()
        if self.is_distributed and not self.mapping.is_fully_replicated:
            self._one_device("item")
        if self.num_elements() != 1:
            raise TypeError(
                f"item: the tensor must have one element, got shape {self.shape}. "
                "Index it first."
            )
        return np.asarray(self._stored()).reshape(()).item()

    def __bool__(self) -> bool:
        if self._state is None:
            self._one_device("bool")
        return bool(self.item())

    def __len__(self) -> int:
        if not self.rank:
            raise TypeError("len: a tensor of rank 0 has no length.")
        return int(Dim(self._spec.shape[0]))

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.to_numpy(), dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        self._one_device("__dlpack__")
        return Buffer.from_jax(self._stored()).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return Buffer.from_jax(self._stored()).__dlpack_device__()

    # Text, copies -------------------------------------------------------------------

    def __repr__(self) -> str:
        if self.is_distributed:
            return sharded_text(self)
        if self._array is None:
            return pending_text(self)
        return values_text(self)

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __copy__(self) -> Tensor:
        return wrap(self._spec, self._stored())

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self.__copy__()

    def __reduce__(self) -> tuple[Callable[..., Tensor], tuple[Any, ...]]:
        return (_unpickle, (self.to_numpy(), self.mapping))


_new = object.__new__


def wrap(described: Spec, array: jax.Array) -> Tensor:
    """Makes a real tensor from a stored array."""
    tensor = _new(Tensor)
    tensor._spec = described
    tensor._array = array
    tensor._state = None
    return tensor


def wrap_pending(described: Spec, state: RealizationState) -> Tensor:
    """Makes a pending tensor from a recorded value."""
    tensor = _new(Tensor)
    tensor._spec = described
    tensor._array = None
    tensor._state = state
    return tensor


def from_jax(array: jax.Array) -> Tensor:
    """Makes a tensor that shares a JAX array on one device."""
    device = Device.from_jax(next(iter(array.devices())))
    described = spec(DType.from_jax(array.dtype), array.shape, on_device(device))
    return wrap(described, array)


def from_numpy(data: np.ndarray, mapping: DeviceMapping) -> Tensor:
    """Copies numpy data to a device, or over a mesh without pending sums."""
    described = spec(DType.from_jax(data.dtype.newbyteorder("=")), data.shape, mapping)
    if mapping.mesh.num_devices == 1:
        return wrap(described, put(data, mapping.mesh.devices[0].to_jax()))
    return wrap(described, put(data, mapping.named_sharding(data.ndim)))


def _unpickle(data: np.ndarray, mapping: DeviceMapping) -> Tensor:
    if not mapping.partial_axes:
        return from_numpy(data, mapping)
    whole = DeviceMapping(mapping.mesh, (Replicated(),) * mapping.mesh.ndim)
    return from_numpy(data, whole).to(mapping)


def _from_data(
    who: str, data: Any, dtype: DType | None, device: Device | DeviceMesh | None
) -> Tensor:
    if isinstance(data, Tensor):
        if dtype is not None:
            data = data.cast(dtype)
        return data if device is None else data.to(device)
    default, _ = defaults()
    if hasattr(data, "__dlpack__") and not isinstance(data, (np.ndarray, np.generic)):
        shared = from_jax(Buffer.from_dlpack(data).to_jax())
        return _from_data(who, shared, dtype, device)
    return from_numpy(as_array(who, data, dtype, default), as_mapping(device))


def run_now(work: Coroutine[Any, Any, Any]) -> Any:
    """Runs a coroutine to its end from synchronous code.

    Our own contexts never wait for anything, so no event loop is needed, and a running
    one (as in a notebook) is no obstacle. A user's context that does wait is given a
    loop of its own.
    """
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise RuntimeError(
        "realize: the context waits for an event; await the tensor instead of reading "
        f"it from synchronous code (running loop: {_loop_is_running()})."
    )


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def shard_arrays(tensor: Tensor) -> list[jax.Array]:
    """Lists what each device of a real tensor's mesh holds, in mesh order.

    The hidden axes of pending sums, of size 1 on each device, are dropped.
    """
    array = tensor._stored()
    if not tensor.is_distributed:
        return [array]
    held = {shard.device: shard.data for shard in array.addressable_shards}
    lend(array, *held.values())
    ordered = [held[device] for device in tensor.mesh.to_jax().devices.flat]
    hidden = len(tensor.mapping.partial_axes)
    if not hidden:
        return ordered
    with x64():
        return [shard.reshape(shard.shape[hidden:]) for shard in ordered]
