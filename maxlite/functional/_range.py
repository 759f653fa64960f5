"""Counting, and sizes as values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import NUMBERS, DType
from maxlite.functional._bounds import bound_operand, check_holds, known_bound
from maxlite.functional._creation import check_shape, full_like
from maxlite.functional._dispatch import apply
from maxlite.functional._operands import as_tensor
from maxlite.functional._precision import widened
from maxlite.graph import Dim
from maxlite.graph._shape import compact_dim
from maxlite.tensor._context import innermost
from maxlite.tensor._defaults import as_mapping, defaults

if TYPE_CHECKING:
    from maxlite.driver import Device
    from maxlite.graph import DeviceRef, DimLike
    from maxlite.graph._spec import Spec
    from maxlite.sharding import DeviceMapping, DeviceMesh
    from maxlite.tensor._tensor import Tensor

    Where = Device | DeviceMapping | DeviceMesh | DeviceRef | None


def _range(
    start: jax.Array, step: jax.Array, *, size: Any, dtype: DType, mapping: Any
) -> jax.Array:
    target = dtype.to_jax()
    wide = widened(jnp.zeros((), target)).dtype
    steps = lax.iota(wide, size)
    return (start.astype(wide) + steps * step.astype(wide)).astype(target)


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
        ValueError: The step is 0 or leads away from ``stop``, a bound is not finite,
            the length is not known, or the dtype cannot hold the last number.
        TypeError: A bound is no number, ``dtype`` is bool, or ``out_dim`` contradicts
            the length.

    Source: max.experimental.functional.range.

    >>> range(0, 3).to_numpy().tolist()
    [0.0, 1.0, 2.0]
    """
    chosen, _ = defaults(dtype)
    if chosen not in NUMBERS:
        raise TypeError(
            f"range: dtype must be integer or floating, got {chosen.name}. Count in "
            "int64, and cast it."
        )
    mapping = as_mapping(device)
    named = {"start": start, "stop": stop, "step": step}
    bounds = [known_bound("range", name, bound) for name, bound in named.items()]
    size = _range_size(bounds, out_dim)
    _check_last(bounds, size, chosen)
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

    >>> from maxlite import Tensor
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


def _range_size(bounds: list[Any], out_dim: Any) -> int | Dim:
    size = None if None in bounds else _computed_size(*bounds)
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


def _computed_size(first: Any, last: Any, by: Any) -> int | Dim:
    if any(isinstance(x, Dim) for x in (first, last, by)):
        return compact_dim((Dim(last) - Dim(first) + Dim(by) - 1) // Dim(by))
    distance = last - first
    if by == 0 or (distance and (distance > 0) != (by > 0)):
        raise ValueError(
            f"range: the step must lead from start to stop, got {first}, {last} and "
            f"step {by}. Change its sign."
        )
    if isinstance(distance, int) and isinstance(by, int):
        return -(-distance // by)
    count: float = distance / by
    if not math.isfinite(count):
        raise ValueError(
            f"range: the length must be finite, got {first}, {last} and step {by}. "
            "Make the step larger."
        )
    return math.ceil(count)


def _check_last(bounds: list[Any], size: int | Dim, dtype: DType) -> None:
    """Refuses a dtype that cannot hold the last number, where that is known."""
    first, _, by = bounds
    if isinstance(size, int) and size and not {type(first), type(by)} - {int, float}:
        check_holds("range", first + (size - 1) * by, dtype)
