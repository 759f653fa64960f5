"""Tensor: a small box around a realized array or a pending value.

The box is what a user holds. Its content changes in place when a pending value becomes
real, or when the user writes to it; the arrays themselves never change. What lies in a
box is described by its spec, which is known in either state.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from maxlite._backend import lend, place, put, row_major
from maxlite._processes import fetch
from maxlite.driver import Buffer, Device
from maxlite.dtype import DType
from maxlite.executor._policy import policy
from maxlite.graph import DeviceRef
from maxlite.graph._node import TensorValue
from maxlite.graph._spec import Spec, spec
from maxlite.lowering._shards import split_array, with_hidden_axes
from maxlite.lowering._uneven import padded_data, without_padding
from maxlite.sharding import (
    DeviceMapping,
    DeviceMesh,
    Partial,
    Replicated,
    ShardingError,
)
from maxlite.tensor._constructors import Constructors
from maxlite.tensor._context import RealizationContext, RealizationState, outside
from maxlite.tensor._conversions import Conversions
from maxlite.tensor._data import as_array, check_own_dtype, is_foreign_array
from maxlite.tensor._defaults import as_mapping, defaults, on_device
from maxlite.tensor._described import Described
from maxlite.tensor._hints import missing
from maxlite.tensor._jax_arrays import shared_array
from maxlite.tensor._numpy_functions import NumpyFunctions
from maxlite.tensor._operators import Operators
from maxlite.tensor._repr import pending_text, sharded_text, values_text
from maxlite.tensor._repr_html import tensor_html
from maxlite.tensor._watching import tell_broke, tell_copied, tell_used, unwatched


class Tensor(Described, Operators, Conversions, NumpyFunctions, Constructors):
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
        TypeError: Not exactly one thing to hold, or data that are no numbers.
        ValueError: Data that the dtype cannot hold, or that have another dtype.

    Source: max.experimental.tensor.Tensor.

    >>> Tensor([1.0, 2.0]) + 1
    Tensor([2 3], dtype=DType.float32, device=Device(type=cpu,id=0))
    """

    __slots__ = ("__weakref__", "_array", "_ctx", "_spec", "_value")

    _array: jax.Array | None
    _value: TensorValue | None
    _ctx: RealizationContext | None

    def __init__(
        self,
        data: Any = None,
        *,
        dtype: DType | None = None,
        device: Device | DeviceRef | DeviceMesh | DeviceMapping | None = None,
        storage: Buffer | None = None,
        state: RealizationState | None = None,
    ) -> None:
        given = [x for x in (data, storage, state) if x is not None]
        if len(given) != 1:
            raise TypeError(
                "Tensor: exactly one of data, storage and state must be given, got "
                f"{len(given)}. Pass numbers or an array, for example."
            )
        if data is not None:
            self._become(from_data("Tensor", data, dtype, device))
            return
        if dtype is not None or device is not None:
            raise TypeError(
                "Tensor: dtype and device go with data, got a storage or state, which "
                "has its own. Use cast(dtype) or to(device)."
            )
        if storage is not None:
            self._become(from_foreign(storage))
        elif state is not None:
            self._become(wrap_pending(state.value, state.ctx))

    def _become(self, other: Tensor) -> None:
        self._spec, self._array = other._spec, other._array
        self._value, self._ctx = other._value, other._ctx
        if self._ctx is not None:
            self._ctx.adopt(self)

    def _wait_for(self, value: TensorValue, ctx: RealizationContext) -> None:
        """Makes a recorded value the content."""
        self._array, self._value, self._ctx = None, value, ctx

    @property
    def _state(self) -> RealizationState | None:
        if self._ctx is None or self._value is None:
            return None
        return RealizationState((self._value,), self._ctx)

    # Becoming real ------------------------------------------------------------------

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
        if self._ctx is None:
            self._one_device("state")
        return self._state

    @property
    def realize(self) -> Awaitable[Tensor]:
        """An awaitable that computes the values; awaiting it gives this tensor."""
        return self._realized()

    def __await__(self) -> Generator[Any, None, Tensor]:
        return self._realized().__await__()

    async def _realized(self) -> Tensor:
        if self._ctx is not None:
            await self._ctx.realize_all()
        return self

    def _stored(self) -> jax.Array:
        """Gives the stored array, computing it first when it is pending."""
        if self._array is None:
            run_now(self._realized())
            assert self._array is not None
            tell_broke()
        if not policy.is_plain:
            tell_used((self,))
        return self._array

    # Values -------------------------------------------------------------------------

    @property
    def storage(self) -> Buffer | None:
        """The buffer of a real tensor, None when pending.

        Raises:
            ValueError: The tensor is distributed.
        """
        self._one_device("storage")
        return None if self._array is None else self.buffers[0]

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
        shards = shard_arrays(self)
        lend(*shards)  # who has a buffer may make JAX arrays on its memory
        return tuple(map(Buffer.from_jax, shards))

    @property
    def local_shards(self) -> tuple[Tensor, ...]:
        """One tensor per device, in mesh order: the piece that it holds."""
        if not self.is_distributed:
            return (self,)
        return tuple(map(from_jax, shard_arrays(self)))

    def materialize(self) -> Tensor:
        """Gathers to the first device; the tensor itself when it is there already."""
        return self if not self.is_distributed else self.to(self.mesh.devices[0])

    def to_numpy(self) -> np.ndarray:
        """Gives the global value as a read-only numpy array.

        Raises:
            TypeError: The tensor belongs to a program that is being traced.
            ShardingError: A placement is Unknown.
        """
        whole = self._summed("to_numpy")
        tell_copied()
        view = without_padding(fetch(whole._stored()), whole._spec)
        if view.flags.writeable:
            view.flags.writeable = False
        return view

    @classmethod
    def from_jax(cls, array: jax.Array) -> Tensor:
        """Makes a tensor of a JAX array, which is shared, not copied.

        Args:
            array: On one device, or over a mesh by a ``NamedSharding``.

        Returns:
            A tensor that lies where ``array`` does; mesh axes keep their names.

        Raises:
            TypeError: No JAX array, one that is being traced, or PRNG keys.
            ValueError: It was deleted, has a dtype that maxlite lacks, or lies in a way
                that no mapping says.

        Source: ours.

        >>> Tensor.from_jax(jax.numpy.ones(2))
        Tensor([1 1], dtype=DType.float32, device=Device(type=cpu,id=0))
        """
        return wrap(*shared_array("Tensor.from_jax", array))

    def to_jax(self) -> jax.Array:
        """Gives the global value as a JAX array, which shares the memory.

        Returns:
            An array that keeps its value when the tensor is written. Over a mesh it has
            a ``NamedSharding``; pending sums are added up. 64-bit elements stay whole,
            but JAX cuts what it computes of them unless ``jax.enable_x64`` is on.

        Raises:
            TypeError: The tensor belongs to a program that is being traced.
            ShardingError: A placement is Unknown.

        Source: ours.

        >>> jax.numpy.sin(Tensor([0.0]).to_jax())
        Array([0.], dtype=float32)
        """
        whole = self._summed("to_jax")
        array = whole._stored()
        lend(array)
        return without_padding(array, whole._spec)

    def _summed(self, who: str) -> Tensor:
        """Gives this tensor, or one of the same global value without pending sums."""
        self._stored()
        if self.mapping.is_unknown:
            raise ShardingError(
                f"{who}: the global value of Unknown shards is not defined, got "
                f"{self.mapping!r}. Use rebind_mapping or local_shards."
            )
        if not self.mapping.partial_axes:
            return self
        placements = [
            Replicated() if isinstance(p, Partial) else p for p in self.placements
        ]
        with outside(), unwatched():  # a part of the read
            return self.to(DeviceMapping(self.mesh, tuple(placements)))

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
        tell_copied()
        return np.asarray(self._stored()).reshape(()).item()

    def __bool__(self) -> bool:
        if self._ctx is None:
            self._one_device("bool")
        return bool(self.item())

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        sought = value.to_numpy() if isinstance(value, Tensor) else value
        return bool(np.any(self.to_numpy() == sought))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False and (self.is_distributed or not self.device.is_host):
            raise ValueError(
                "np.asarray: with copy=False the tensor must lie on one CPU, got "
                f"{self.mapping!r} on {self.mesh.devices}. Leave copy out."
            )
        return np.array(self.to_numpy(), dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        self._one_device("__dlpack__")
        exported = Buffer.from_jax(self._stored()).__dlpack__(**options)
        tell_copied()
        return exported

    def __dlpack_device__(self) -> tuple[int, int]:
        self._one_device("__dlpack_device__")
        return Buffer.from_jax(self._stored()).__dlpack_device__()

    # Text, copies -------------------------------------------------------------------

    def __repr__(self) -> str:
        if self.is_distributed:
            return sharded_text(self)
        if self._array is None:
            return pending_text(self)
        return values_text(self)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """Draws the tensor for a notebook; a pending one stays pending."""
        return tensor_html(self)

    if not TYPE_CHECKING:  # a type checker would then let every name pass

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):  # a property that raised: raise its own error
                return object.__getattribute__(self, name)
            raise AttributeError(missing(name), name=name, obj=self)

    def __copy__(self) -> Tensor:
        """Makes an independent tensor; a pending one stays pending."""
        if self._ctx is not None and self._value is not None:
            return self._ctx.create_unrealized((self._value,))
        return wrap(self._spec, self._stored())

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self.__copy__()

    def __reduce__(self) -> tuple[Callable[..., Tensor], tuple[Any, ...]]:
        return (from_numpy, (self.to_numpy(), self.mapping))


for _part in Tensor.__bases__:
    # An error of Python about arguments names the class that the user knows.
    for _name, _member in vars(_part).items():
        if isinstance(_member, FunctionType):
            _member.__qualname__ = f"Tensor.{_name}"

_new = object.__new__


def wrap(described: Spec, array: jax.Array) -> Tensor:
    """Makes a real tensor from a stored array."""
    tensor = _new(Tensor)
    tensor._spec = described
    tensor._array = array
    tensor._value = tensor._ctx = None
    return tensor


def wrap_pending(value: TensorValue, ctx: RealizationContext) -> Tensor:
    """Makes a pending tensor of a recorded value."""
    tensor = _new(Tensor)
    tensor._spec = value.spec
    tensor._array = None
    tensor._value = value
    tensor._ctx = ctx
    return tensor


def from_jax(array: jax.Array) -> Tensor:
    """Makes a tensor that shares a JAX array on one device."""
    device = Device.from_jax(next(iter(array.devices())))
    described = spec(DType.from_jax(array.dtype), array.shape, on_device(device))
    return wrap(described, array)


def from_numpy(data: np.ndarray, mapping: DeviceMapping) -> Tensor:
    """Copies numpy data to a device, or over a mesh, each device its own piece.

    Raises:
        ShardingError: A placement is Unknown.
        ValueError: A sharded axis is missing, or does not divide.
    """
    described = spec(DType.from_jax(data.dtype.newbyteorder("=")), data.shape, mapping)
    if mapping.mesh.is_single:
        return wrap(described, put(data, mapping.mesh.devices[0].to_jax()))
    if mapping.is_unknown:
        raise ShardingError(
            f"Tensor: nothing can be made as Unknown, got {mapping!r}. Use "
            "Tensor.from_shard_values."
        )
    mapping.check_shape(data.shape)
    stored = padded_data(with_hidden_axes(data, mapping), mapping, data.ndim)
    return wrap(described, put(stored, mapping.named_sharding(data.ndim)))


def from_data(
    who: str,
    data: Any,
    dtype: DType | None,
    device: Device | DeviceRef | DeviceMesh | DeviceMapping | None,
) -> Tensor:
    """Makes a tensor of whatever a user has; see :class:`Tensor`."""
    if isinstance(data, Tensor):
        check_own_dtype(who, data.dtype, dtype)
        return data if device is None else data.to(device)
    if not is_foreign_array(data):
        array = as_array(who, data, dtype, defaults()[0])
        return from_numpy(array, as_mapping(device))
    # What others may write to is copied; JAX arrays and buffers never change.
    copy = None if isinstance(data, (jax.Array, Buffer)) else True
    return from_data(who, from_foreign(data, copy=copy), dtype, device)


def from_foreign(data: Any, *, copy: bool | None = None) -> Tensor:
    """Makes a tensor of another library's array, or of a buffer.

    Args:
        data: A JAX array, a Buffer or anything else with DLPack.
        copy: Whether to copy it; None shares its memory where that is allowed.

    Raises:
        TypeError: ``data`` does not speak DLPack.
        ValueError: It has gaps or an unknown dtype, it lies in a way that no mapping
            says, or ``copy`` is False and its memory cannot be shared.
    """
    if isinstance(data, jax.Array):
        return wrap(*shared_array("Tensor", data))
    array = row_major(Buffer.from_dlpack(data, copy=copy).to_jax())
    lend(array)  # nobody can see who else has its memory
    return from_jax(array)


def run_now(work: Coroutine[Any, Any, Any]) -> Any:
    """Runs a coroutine to its end from synchronous code.

    Our own contexts never wait for anything, so no event loop is needed, and a running
    one (as in a notebook) is no obstacle.

    Raises:
        RuntimeError: A context of the user's does wait for something.
    """
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise RuntimeError(
        "realize: the context waits for an event, which synchronous code cannot. Use "
        "await tensor."
    )


def shard_arrays(tensor: Tensor) -> list[jax.Array]:
    """Lists what each device of a real tensor's mesh holds, in mesh order.

    Of a mesh over several processes, those are the devices of this one.

    A mesh may name one CPU several times. Its shards lie on simulated devices then, and
    come back to the one that the mesh names.
    """
    array = tensor._stored()
    shards = split_array(array, tensor.mapping, tensor._spec.shape)
    if not tensor.is_distributed or not array.is_fully_addressable:
        return shards
    devices = [device.to_jax() for device in tensor.mesh.devices]
    return [place(shard, to) for shard, to in zip(shards, devices, strict=True)]
