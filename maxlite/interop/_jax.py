"""JAX arrays in and out, as functions; see the methods of Tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxlite.tensor import Tensor

if TYPE_CHECKING:
    import jax


def from_jax(array: jax.Array) -> Tensor:
    """Makes a tensor of a JAX array, which is shared. See :meth:`Tensor.from_jax`.

    Source: ours.

    >>> import jax.numpy as jnp
    >>> from_jax(jnp.ones(2))
    Tensor([1 1], dtype=DType.float32, device=Device(type=cpu,id=0))
    """
    return Tensor.from_jax(array)


def to_jax(x: Tensor) -> jax.Array:
    """Gives the value of a tensor as a JAX array. See :meth:`Tensor.to_jax`.

    Raises:
        TypeError: ``x`` is no tensor, or belongs to a program that is being traced.
        ShardingError: A placement is Unknown.

    Source: ours.

    >>> to_jax(Tensor([1.0, 2.0]))
    Array([1., 2.], dtype=float32)
    """
    if not isinstance(x, Tensor):
        raise TypeError(
            f"to_jax: x must be a Tensor, got {type(x).__name__}. Use Tensor(x), or "
            "jax.numpy.asarray for arrays."
        )
    return x.to_jax()
