"""Counting, and sizes as values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import FLOATS, DType
from maxlite.functional._creation import check_shape, full_like, number_of
from maxlite.functional._dispatch import Operand, apply, as_tensor
from maxlite.graph import Dim
from maxlite.graph._shape import compact_dim
from maxlite.graph._spec import Spec
from maxlite.sharding import (
    DeviceMapping,
)
from maxlite.tensor._context import innermost
from maxlite.tensor._defaults import as_mapping, defaults
from maxlite.tensor._tensor import Tensor

if TYPE_CHECKING:
    from maxlite.driver import Device
    from maxlite.graph import DeviceRef, DimLike
    from maxlite.sharding import DeviceMesh

    Where = Device | DeviceMapping | DeviceMesh | DeviceRef | None


def _range(
    start: jax.Array, step: jax.Array, *, size: Any, dtype: DType, mapping: Any
) -> jax.Array:
    target = dtype.to_jax()
    steps = lax.iota(target, size)
    return start.astype(target) + steps * step.astype(target)


def _infer_range(
    start: Spec, step: Spec, *, size: Any, dtype: DType, mapping: DeviceMapping
) -> tuple[DType, Any, DeviceMapping]:
    check_shape("range", (size,), mapping)
    return dtype, (size,), mapping


def _dim(*, dim: Any, mapping: Any) -> jax.Array:
    return jnp.asarray(dim, jnp.int64)


def _infer_dim(*, dim: Any, mapping: Any) -> tuple[DType, Any, Any]:
    return DType.int64, (), mapping


_RANGE = register(
    Op(
        name="range",
        fn=_range,
        infer=_infer_range,
        params=("size", "dtype", "mapping"),
        places=True,
    )
)
_FROM_DIM = register(
    Op(
        name="from_dim",
        fn=_dim,
        infer=_infer_dim,
        params=("dim", "mapping"),
        places=True,
    )
)


@front
def range(
    start: Any,
    stop: Any,
    step: Any = 1,
    out_dim: DimLike | None = None,
    *,
    dtype: DType | None = None,
    device: Where = None,
) -> Tensor:
    """Counts from ``start`` up to, but not including, ``stop``.

    Args:
        start: A number, a Dim or a tensor of rank 0.
        stop: Likewise.
        step: Likewise; not 0.
        out_dim: The length, where it cannot be computed from numbers and Dims.
        dtype: The default dtype when None, also for whole numbers.
        device: A device, a mesh (replicated) or a mapping; the default when None.

    Returns:
        Shape ``[ceil((stop - start) / step)]``.

    Raises:
        ValueError: The step is 0 or leads away from ``stop``, or the length is not
            known.
        TypeError: ``out_dim`` contradicts the length.

    Source: max.experimental.functional.range.

    >>> range(0, 3).to_numpy().tolist()
    [0.0, 1.0, 2.0]
    """
    chosen, _ = defaults(dtype)
    mapping = as_mapping(device)
    size = _range_size(start, stop, step, out_dim)
    operands = tuple(bound_operand("range", x, chosen, mapping) for x in (start, step))
    return apply(_RANGE, operands, size, chosen, mapping)


@front
def arange(
    start: Any,
    stop: Any,
    step: Any = 1,
    out_dim: DimLike | None = None,
    *,
    dtype: DType | None = None,
    device: Where = None,
) -> Tensor:
    """Counts from ``start`` up to ``stop``. The same as :func:`range`.

    Source: max.experimental.functional.arange.

    >>> arange(1, 7, 2).to_numpy().tolist()
    [1.0, 3.0, 5.0]
    """
    return range(start, stop, step, out_dim, dtype=dtype, device=device)


@front
def range_like(like: Tensor) -> Tensor:
    """Counts along the last axis, in dtype, shape and place of another tensor.

    Raises:
        ValueError: ``like`` has no axis.

    Source: max.experimental.tensor.Tensor.range_like.

    >>> range_like(Tensor([[5.0, 5.0], [5.0, 5.0]])).to_numpy().tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    as_tensor("range_like", like, "like")
    if not like.rank:
        raise ValueError("range_like: the tensor must have an axis, got rank 0.")
    last = like._spec.shape[-1]
    counted = range(0, last, dtype=like.dtype, device=like.mesh)
    return full_like(like, 0) + counted


@front
def from_dim(dim: DimLike) -> Tensor:
    """Makes an int64 tensor of rank 0 from a size.

    Raises:
        ValueError: The size is symbolic, and there is no trace that knows it.

    Source: max.experimental.tensor.Tensor.from_dim.

    >>> from_dim(3).item()
    3
    """
    size = compact_dim(dim)
    if isinstance(size, Dim) and innermost() is None:
        raise ValueError(
            f"from_dim: the size of {size} is only known inside a trace. Pass a number."
        )
    return apply(_FROM_DIM, (), size, as_mapping(None))


def bound_operand(who: str, x: Any, dtype: DType, mapping: DeviceMapping) -> Operand:
    """Makes the operand of a bound: a number, a Dim or a tensor of rank 0.

    Args:
        who: The op.
        x: The bound.
        dtype: What a number must fit; floats are not rounded to it yet.
        mapping: Where the result is made.
    """
    if isinstance(x, Tensor):
        if x.rank:
            raise ValueError(
                f"{who}: a bound must have rank 0, got shape {x.shape}. Index it first."
            )
        return x
    if isinstance(x, Dim):
        return from_dim(x)
    exact = DType.float64 if dtype in FLOATS else dtype
    return number_of(who, x, exact, mapping)


def _range_size(start: Any, stop: Any, step: Any, out_dim: Any) -> int | Dim:
    size = _computed_size(start, stop, step)
    if out_dim is None:
        if size is None:
            raise ValueError(
                "range: the length must be known, got traced tensors. Pass out_dim."
            )
        return size
    wanted = compact_dim(out_dim)
    if isinstance(size, int) and isinstance(wanted, int) and wanted != size:
        raise TypeError(f"range: out_dim must be the length {size}, got {wanted}.")
    return wanted


def _computed_size(start: Any, stop: Any, step: Any) -> int | Dim | None:
    bounds: list[Any] = [start, stop, step]
    if any(isinstance(x, Tensor) and not x.real for x in bounds):
        return None
    bounds = [x.item() if isinstance(x, Tensor) else x for x in bounds]
    first, last, by = bounds
    if any(isinstance(x, Dim) for x in (first, last, by)):
        return compact_dim((Dim(last) - Dim(first) + Dim(by) - 1) // Dim(by))
    if by == 0 or (last - first) / by < 0:
        raise ValueError(
            f"range: the step must lead from start to stop, got {first}, {last} and "
            f"step {by}. Change its sign."
        )
    length: int = math.ceil((last - first) / by)
    return length
