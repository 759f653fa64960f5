"""Windows: weights that fade a piece of a signal in and out."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import FLOATS, DType
from maxlite.functional._creation import check_shape
from maxlite.functional._dispatch import apply
from maxlite.graph import Dim
from maxlite.graph._shape import compact_dim
from maxlite.tensor._defaults import as_mapping, defaults

if TYPE_CHECKING:
    from maxlite.driver import Device
    from maxlite.graph import DeviceRef
    from maxlite.graph._shape import CompactShape
    from maxlite.sharding import DeviceMapping, DeviceMesh
    from maxlite.tensor._tensor import Tensor

    Where = Device | DeviceMapping | DeviceMesh | DeviceRef | None


def _hann(*, size: Any, periodic: bool, dtype: DType, mapping: Any) -> jax.Array:
    i = lax.iota(jnp.int64, size)
    count = jnp.asarray(size, jnp.int64)
    steps = jnp.maximum(count if periodic else count - 1, 1)
    # From the nearer end, so that the window is symmetric to the last bit.
    nearer = jnp.minimum(i, steps - i).astype(jnp.float64)
    wave = jnp.square(jnp.sin(jnp.pi * nearer / steps.astype(jnp.float64)))
    return jnp.where(count == 1, 1.0, wave).astype(dtype.to_jax())


def _infer_hann(
    *, size: Any, periodic: bool, dtype: DType, mapping: DeviceMapping
) -> tuple[DType, CompactShape, DeviceMapping]:
    check_shape("hann_window", (size,), mapping)
    if dtype not in FLOATS:
        raise ValueError(
            f"hann_window: dtype must be floating, got {dtype.name}. Use float32."
        )
    return dtype, (size,), mapping


_HANN = register(
    Op(
        name="hann_window",
        fn=_hann,
        infer=_infer_hann,
        params=("size", "periodic", "dtype", "mapping"),
        places=True,
    )
)


@front
def hann_window(
    window_length: int | Dim,
    *,
    periodic: bool = True,
    dtype: DType | None = None,
    device: Where = None,
) -> Tensor:
    """Makes a raised cosine, ``0.5 - 0.5 * cos(2 * pi * i / steps)``.

    Args:
        window_length: How many weights; inside a trace it may be symbolic.
        periodic: Whether the period is ``window_length``, as spectra need it; if not,
            it is one less, so that the last weight is as the first.
        dtype: A float; the default dtype when None.
        device: A device, a mesh (replicated) or a mapping; the default when None.

    Returns:
        Shape ``[window_length]``; a single weight is 1.

    Raises:
        TypeError: ``window_length`` is no int.
        ValueError: It is negative, or ``dtype`` no float.

    Source: max.experimental.functional.hann_window.

    >>> hann_window(4).to_numpy().tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    chosen, _ = defaults(dtype)
    try:
        length = (
            window_length
            if isinstance(window_length, Dim)
            else operator.index(window_length)
        )
    except TypeError:
        raise TypeError(
            "hann_window: window_length must be an int, got "
            f"{type(window_length).__name__}."
        ) from None
    size = compact_dim(length)
    return apply(_HANN, (), size, bool(periodic), chosen, as_mapping(device))
