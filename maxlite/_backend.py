"""The one door to JAX's backend: how many devices, 64 bits, and data on its way in.

Three facts of JAX are dealt with here so that no other file meets them:

- JAX cuts 64-bit data to 32 bits unless its ``enable_x64`` scope is open. Programs
  traced, lowered and compiled inside :func:`x64` stay exact when they are called
  outside of it, so the scope never leaks into the user's own JAX code.
- A laptop has one CPU device unless more are asked for before the backend starts.
- ``jax.device_put`` may share memory with a numpy array; :func:`put` never does.
"""

from __future__ import annotations

import os
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, cast

import jax
import numpy as np

from maxlite._fork import check_not_forked, devices_started
from maxlite._processes import is_own, move, put_own_part

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager

SIMULATED_DEVICES = 8
"""CPU devices asked for when the user has not chosen a count."""


class JaxDevice(Protocol):
    """What is used of ``jax.Device``, for which JAX ships no types."""

    id: int
    process_index: int
    platform: str
    device_kind: str
    client: Any

    def memory_stats(self) -> dict[str, int] | None:
        """Counts bytes and allocations, where the backend does."""
        ...


_COUNT_FLAG = "xla_force_host_platform_device_count"


def x64() -> AbstractContextManager[None]:
    """Opens the scope in which JAX keeps 64-bit types, for this thread only."""
    return jax.enable_x64(True)


@contextmanager
def lowering_scope() -> Generator[None]:
    """Opens the scope in which programs are traced, lowered and compiled.

    64-bit types are kept, and a mesh that the user has set for JAX code of their own
    does not reach in.
    """
    with jax.enable_x64(True), jax.set_mesh(None):
        yield


def devices(platform: str, *, everywhere: bool = False) -> list[JaxDevice]:
    """Lists the devices of one platform, starting the backend when needed.

    Args:
        platform: A name that JAX knows, such as ``"cpu"`` or ``"gpu"``.
        everywhere: Whether those of other processes count, too.

    Returns:
        The devices in JAX's order; empty when the platform is absent.

    >>> len(devices("cpu")) >= 1
    True
    """
    _ask_for_simulated_devices()
    devices_started()
    try:
        if everywhere:
            return cast("list[JaxDevice]", jax.devices(platform))
        return cast("list[JaxDevice]", jax.local_devices(None, platform))
    except RuntimeError:
        return []


def default_platform() -> str:
    """Names the platform that JAX prefers: an accelerator when there is one."""
    _ask_for_simulated_devices()
    devices_started()
    return jax.default_backend()


def put(data: np.ndarray, target: JaxDevice | jax.sharding.Sharding) -> jax.Array:
    """Copies numpy data to a device or over a sharding, exact for 64 bits.

    Args:
        data: Any strides, byte order or flags; it is never shared.
        target: Where the copy lies.

    Returns:
        An array whose memory belongs to the backend, so that it can be donated.

    >>> import numpy as np
    >>> put(np.array([2**40 + 5]), devices("cpu")[0]).dtype.name
    'int64'
    """
    check_not_forked()
    if not is_own(target):
        return put_own_part(data, target, put)
    native = data.dtype.newbyteorder("=")
    source = np.ascontiguousarray(data, dtype=native)
    # A shard may begin anywhere in the data, so those over a mesh are always moved.
    over_mesh = isinstance(target, jax.sharding.NamedSharding)
    if over_mesh or not source.ctypes.data % _SHARED_ALIGNMENT:
        source = _beside_alignment(source)
    with x64():
        array = jax.device_put(source.reshape(data.shape), target, may_alias=False)
    # The copy is made later, by another thread; until then an edit would show.
    return array.block_until_ready()


def place(array: jax.Array, target: JaxDevice | jax.sharding.Sharding) -> jax.Array:
    """Moves an array to a device or over a sharding.

    What lies on a device already may be shared with the result, which both then know:
    see :func:`is_lent`.
    """
    check_not_forked()
    if not (array.is_fully_addressable and is_own(target)):
        return move(array, target, put)
    with x64():
        placed = cast("jax.Array", jax.device_put(array, target))
    if placed is not array:
        lend(array, placed)
    return placed


def is_row_major(array: jax.Array) -> bool:
    """Whether the elements lie in the order that compiled programs expect.

    Arrays that come from elsewhere may lie in another one.
    """
    layout = cast("Any", array).format.layout
    return tuple(layout.major_to_minor) == tuple(range(array.ndim))


def row_major(array: jax.Array) -> jax.Array:
    """Gives an array in row-major order: itself, or a copy."""
    if is_row_major(array):
        return array
    # By way of the host: JAX 0.10 mixes up elements that it copied and then reorders.
    return put(np.asarray(array), array.sharding)


def copy_in_place(array: jax.Array) -> jax.Array:
    """Copies an array to memory of its own, where it lies."""
    check_not_forked()
    if not array.size:  # a jitted copy of nothing would lose its sharding
        return put(np.zeros(array.shape, array.dtype), array.sharding)
    with lowering_scope():
        return _copy(array)


def _copied(array: jax.Array) -> jax.Array:
    return jax.numpy.array(array, copy=True)


_copy: Any = jax.jit(_copied)


def lend(*arrays: jax.Array) -> None:
    """Notes that arrays share memory under different array objects."""
    for array in arrays:
        key = id(array)
        _lent[key] = weakref.ref(array, lambda _, key=key: _lent.pop(key, None))


def is_lent(array: jax.Array) -> bool:
    """Whether another array object may share the memory of this one.

    Its memory must not be given away then: JAX would take it from the other one too.
    """
    return id(array) in _lent


_lent: dict[int, weakref.ref[jax.Array]] = {}


def _beside_alignment(data: np.ndarray) -> np.ndarray:
    """Copies contiguous data to where JAX has to copy them once more.

    JAX 0.10 shares memory that begins at a multiple of 64 bytes even when it is told
    not to; shared memory is the user's, and cannot be donated. One byte beside such an
    address no part of the data begins at one, except for elements of a single byte.
    """
    room = np.empty(data.nbytes + 2 * _SHARED_ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _SHARED_ALIGNMENT + 1
    moved = room[start : start + data.nbytes].view(data.dtype).reshape(data.shape)
    moved[...] = data
    return moved


_SHARED_ALIGNMENT = 64


def _ask_for_simulated_devices() -> None:
    global _asked
    if _asked:
        return
    _asked = True
    asked_for = int(getattr(jax.config, "jax_num_cpu_devices", -1))
    if asked_for >= 0 or _COUNT_FLAG in os.environ.get("XLA_FLAGS", ""):
        return
    try:
        jax.config.update("jax_num_cpu_devices", SIMULATED_DEVICES)
    except RuntimeError:
        return  # the backend runs already; a mesh that needs more says what to set


_asked = False
