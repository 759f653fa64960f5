"""Random numbers that depend on the seed and on nothing else.

A draw hashes the seed with the position of each element (Threefry), so the numbers are
the same eager, lazy and compiled, and on a mesh each device makes just its own piece of
what one device would make. Each draw moves the seed on by one step, and a program that
holds draws moves it on by as many when it is called.

Differs from the reference: the numbers themselves are others, a draw in a lazy block
takes its seed where it is recorded rather than when it runs, and half precision works.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import FLOATS, DType
from maxlite.functional._creation import check_shape, number_of
from maxlite.functional._dispatch import apply
from maxlite.functional._operands import as_tensor
from maxlite.functional._precision import widened
from maxlite.graph._shape import compact_shape
from maxlite.realization_context import GraphRealizationContext
from maxlite.realization_context._default import graph_context
from maxlite.realization_context._seed import seed_spec, seed_tensor, steps
from maxlite.sharding.rules import unary_rule
from maxlite.tensor._defaults import as_mapping, defaults

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maxlite.driver import Device
    from maxlite.graph import DeviceRef, Graph, ShapeLike
    from maxlite.graph._node import TensorValue
    from maxlite.graph._spec import Spec
    from maxlite.sharding import DeviceMapping, DeviceMesh
    from maxlite.tensor._tensor import Tensor

    Where = Device | DeviceMapping | DeviceMesh | DeviceRef | None


def _uniform(
    seed: jax.Array,
    low: jax.Array,
    high: jax.Array,
    *,
    shape: Any,
    mapping: DeviceMapping,
) -> jax.Array:
    first, last = widened(low), widened(high)
    unit = jax.random.uniform(_key(seed), shape, first.dtype)
    drawn = (first * (1 - unit) + last * unit).astype(low.dtype)
    # Rounding must not reach the upper bound, nor pass the lower one.
    return jnp.clip(drawn, low, jnp.nextafter(high, low))


def _normal(
    seed: jax.Array,
    mean: jax.Array,
    std: jax.Array,
    *,
    shape: Any,
    mapping: DeviceMapping,
) -> jax.Array:
    center = widened(mean)
    drawn = jax.random.normal(_key(seed), shape, center.dtype)
    return (drawn * widened(std) + center).astype(mean.dtype)


def _key(seed: jax.Array) -> jax.Array:
    """Makes JAX's key of a seed, of one kind whatever JAX's default is."""
    halves = jnp.stack([seed >> np.uint64(32), seed & np.uint64(0xFFFF_FFFF)])
    data = halves.astype(jnp.uint32)
    wrap: Callable[..., jax.Array] = jax.random.wrap_key_data
    return wrap(data, impl="threefry2x32")


def _infer_draw(
    seed: Spec, first: Spec, second: Spec, *, shape: Any, mapping: DeviceMapping
) -> tuple[DType, Any, DeviceMapping]:
    check_shape("random", shape, mapping)
    return first.dtype, shape, mapping


def _row(name: str, fn: Any) -> Op:
    return register(
        Op(
            name=name,
            fn=fn,
            infer=_infer_draw,
            params=("shape", "mapping"),
            places=True,
        )
    )


_UNIFORM = _row("uniform", _uniform)
_NORMAL = _row("normal", _normal)


def _advance(seed: jax.Array, *, multiplier: int, increment: int) -> jax.Array:
    return seed * np.uint64(multiplier) + np.uint64(increment)


def _infer_advance(seed: Spec, *, multiplier: int, increment: int) -> tuple[DType, Any]:
    return seed.dtype, seed.shape


ADVANCE_SEED = register(
    Op(
        name="advance_seed",
        fn=_advance,
        infer=_infer_advance,
        rule=unary_rule,
        params=("multiplier", "increment"),
    )
)
"""Moves a seed on, by any number of steps at once."""


def traced_seed(
    ctx: GraphRealizationContext, described: Spec, draws: int = 1
) -> TensorValue:
    """Takes a seed inside a trace.

    Args:
        ctx: The trace.
        described: What the seed is, see ``seed_spec``.
        draws: How many draws it is for; a body that is called takes all of its own.
    """
    value, first = ctx.graph.draw(described, draws)
    if not first:
        return value
    (moved,) = ctx.graph.append(ADVANCE_SEED, steps(first), (value,), [value.spec])
    return moved


def take_seed(mesh: DeviceMesh, draws: int = 1) -> Tensor:
    """Takes a seed for draws on a mesh, here and now or in the current trace."""
    ctx = graph_context()
    if ctx is None:
        return seed_tensor(mesh, draws)
    return ctx.create_unrealized((traced_seed(ctx, seed_spec(mesh), draws),))


def seeds_of(graphs: Sequence[Graph], draws: int) -> list[Tensor]:
    """Takes a seed for bodies of a node, if one draws; then they all have one.

    Args:
        graphs: The bodies, recorded.
        draws: How many draws it is for.
    """
    found = [graph.seed.spec for graph in graphs if graph.seed is not None]
    if not found:
        return []
    wide = next((spec for spec in found if spec.is_distributed), found[0])
    for graph in graphs:
        graph.draw(wide, 0)
    return [take_seed(wide.mapping.mesh, draws)]


def forked(seed: jax.Array) -> jax.Array:
    """Starts a sequence of its own: for draws whose number is not known."""
    return jax.random.bits(_key(seed), (), jnp.uint64)


def advanced(seed: jax.Array, count: int) -> jax.Array:
    """Moves a seed on by some steps."""
    multiplier, increment = steps(count)
    return _advance(seed, multiplier=multiplier, increment=increment)


def _draw(
    op: Op, shape: ShapeLike, first: float, second: float, dtype: DType | None, to: Any
) -> Tensor:
    chosen, _ = defaults(dtype)
    if chosen not in FLOATS:
        raise TypeError(
            f"{op.name}: dtype must be floating, got {chosen.name}. Draw floats, and "
            "cast them."
        )
    mapping, sizes = as_mapping(to), compact_shape(shape)
    check_shape(op.name, sizes, mapping)
    numbers = [number_of(op.name, x, chosen, mapping) for x in (first, second)]
    return apply(op, (take_seed(mapping.mesh), *numbers), sizes, mapping)


@front
def uniform(
    shape: ShapeLike = (),
    range: tuple[float, float] = (0, 1),
    *,
    dtype: DType | None = None,
    device: Where = None,
) -> Tensor:
    """Draws numbers that are equally likely everywhere in a range.

    Args:
        shape: Sizes; inside a trace they may be symbolic.
        range: Lower bound, which may be drawn, and upper bound, which is not unless
            both are equal.
        dtype: A float; the default dtype when None.
        device: A device, a mesh (replicated) or a mapping; the default when None.

    Raises:
        TypeError: ``dtype`` is no float, or a bound is no number.
        ValueError: The bounds are not in order, or a size is negative.

    Source: max.experimental.functional.uniform.

    >>> uniform([3], (-1, 1)).shape
    [Dim(3)]
    """
    low, high = _bounds(range)
    return _draw(_UNIFORM, shape, low, high, dtype, device)


def _bounds(range: Any) -> tuple[float, float]:
    try:
        low, high = range
        in_order = low <= high
    except (TypeError, ValueError):
        raise TypeError(
            f"uniform: range must be a pair of numbers, got {range!r}. Pass (0, 1)."
        ) from None
    if not in_order or math.isinf(low) or math.isinf(high):
        raise ValueError(
            f"uniform: range must be two finite numbers in order, got {range!r}. Swap "
            "the bounds."
        )
    return low, high


@front
def normal(
    shape: ShapeLike = (),
    mean: float = 0.0,
    std: float = 1.0,
    *,
    dtype: DType | None = None,
    device: Where = None,
) -> Tensor:
    """Draws numbers from a normal distribution.

    Args:
        shape: Sizes; inside a trace they may be symbolic.
        mean: Mean of the distribution.
        std: Standard deviation, more than 0.
        dtype: A float; the default dtype when None.
        device: A device, a mesh (replicated) or a mapping; the default when None.

    Raises:
        TypeError: ``dtype`` is no float, or ``mean`` or ``std`` is no number.
        ValueError: ``std`` is not more than 0, or a size is negative.

    Source: max.experimental.functional.normal.

    >>> normal([3], std=0.02).shape
    [Dim(3)]
    """
    if isinstance(std, (int, float)) and not std > 0:
        raise ValueError(
            f"normal: std must be more than 0, got {std}. Use full for a constant."
        )
    return _draw(_NORMAL, shape, mean, std, dtype, device)


@front
def gaussian(
    shape: ShapeLike = (),
    mean: float = 0.0,
    std: float = 1.0,
    *,
    dtype: DType | None = None,
    device: Where = None,
) -> Tensor:
    """Draws numbers from a normal distribution. The same as :func:`normal`.

    Source: max.experimental.functional.gaussian.

    >>> gaussian([3]).shape
    [Dim(3)]
    """
    return normal(shape, mean, std, dtype=dtype, device=device)


@front
def uniform_like(like: Tensor, range: tuple[float, float] = (0, 1)) -> Tensor:
    """Draws from a range, with dtype, shape and mapping of another tensor.

    See :func:`uniform`.

    Source: max.experimental.functional.uniform_like.

    >>> uniform_like(normal([2])).shape
    [Dim(2)]
    """
    x = as_tensor("uniform_like", like, "like")
    return uniform(x._spec.shape, range, dtype=x.dtype, device=x.mapping)


@front
def normal_like(like: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Draws from a normal distribution, as :func:`uniform_like` does from a range.

    See :func:`normal`.

    Source: max.experimental.functional.normal_like.

    >>> normal_like(uniform([2])).shape
    [Dim(2)]
    """
    x = as_tensor("normal_like", like, "like")
    return normal(x._spec.shape, mean, std, dtype=x.dtype, device=x.mapping)


@front
def gaussian_like(like: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Draws from a normal distribution. The same as :func:`normal_like`.

    Source: max.experimental.functional.gaussian_like.

    >>> gaussian_like(uniform([2])).shape
    [Dim(2)]
    """
    return normal_like(like, mean, std)
