"""Showing values while a program runs.

A program has no values while it is recorded, so a print is recorded too: it is a node
that runs though nothing needs it. Prints of a program come in program order, and
before whatever follows the call. What is shown is cut out on the device, so that
printing a large tensor moves no more than its text needs.
"""

from __future__ import annotations

import builtins
import functools
import itertools
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from jax.experimental import io_callback

from maxlite._op_table import Op, front, register
from maxlite.functional._dispatch import apply
from maxlite.functional._operands import as_tensor
from maxlite.functional._transfer import move
from maxlite.sharding import DeviceMapping
from maxlite.tensor._context import innermost
from maxlite.tensor._repr import elements_text
from maxlite.tensor._shown import elided_axes, shown_elements, shown_positions

if TYPE_CHECKING:
    from maxlite.dtype import DType
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor


def _print(
    x: jax.Array, *, name: str, dtype: DType, where: str, after: jax.Array | None
) -> jax.Array | None:
    elided = elided_axes(x.shape)
    positions = shown_positions(x.shape, elided)
    shown = lax.stop_gradient(x)
    for axis in itertools.compress(range(x.ndim), elided):
        shown = jnp.take(shown, jnp.asarray(positions[axis]), axis)
    if dtype.size_in_bytes == 8:
        # A callback runs outside of the 64-bit scope, where JAX would cut elements.
        shown = lax.bitcast_convert_type(shown, jnp.uint32)
    show = functools.partial(_show, name, dtype, where, elided)
    if after is None:
        jax.debug.callback(show, shown, ordered=True)
        return None

    def show_next(shown: jax.Array, after: jax.Array) -> np.ndarray:
        show(shown)
        return np.asarray(after)

    # On several devices JAX keeps no order; a result that the next one needs does.
    kind = jax.ShapeDtypeStruct((), after.dtype)
    return io_callback(show_next, kind, shown, after)


def _show(
    name: str, dtype: DType, where: str, elided: list[bool], shown: jax.Array
) -> None:
    array = np.asarray(shown)
    if dtype.size_in_bytes == 8:
        array = array.view(dtype.to_jax()).reshape(array.shape[:-1])
    _write(name, array, dtype, where, elided)


def _write(
    name: str, shown: np.ndarray, dtype: DType, where: str, elided: list[bool]
) -> None:
    text = elements_text(shown, dtype, elided)
    builtins.print(f"{name} = Tensor({text}, dtype={dtype}, {where})", flush=True)


def _infer_print(x: Spec, **_: Any) -> list[Any]:
    return []


_PRINT = register(
    Op(
        name="print",
        fn=_print,
        infer=_infer_print,
        params=("name", "dtype", "where"),
        effects=True,
    )
)


@front
def print(value: Tensor, name: str) -> None:
    """Prints a tensor's values as ``name = Tensor(...)`` when they are known.

    That is at once in eager code, each time a compiled program runs, and when a lazy
    block is computed; a block of which no value is ever read prints nothing. Prints
    come in program order; on a mesh, those inside and outside of a subgraph may not.

    Args:
        value: Any tensor. A distributed one is gathered, and shows its global value
            together with its mapping.
        name: What stands in front.

    Raises:
        TypeError: ``value`` is no tensor.
        ShardingError: A placement of ``value`` is Unknown.

    Source: max.experimental.functional.print.

    >>> from maxlite.tensor import Tensor
    >>> print(Tensor([1.0, 2.5]), "x")
    x = Tensor([  1 2.5], dtype=DType.float32, device=Device(type=cpu,id=0))
    """
    as_tensor("print", value, "value")
    if value.is_distributed:
        where = f"mapping={value.mapping!r}"
        value = move(value, DeviceMapping.replicated(value.mesh))
    else:
        where = f"device={value.device}"
    if innermost() is not None:
        apply(_PRINT, (value,), str(name), value.dtype, where)
        return
    array = value._stored()
    elided = elided_axes(array.shape)
    _write(name, shown_elements(array, elided), value.dtype, where, elided)
