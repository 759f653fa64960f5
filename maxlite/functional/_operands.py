"""What stands beside a tensor: numbers, Dims and numpy arrays become operands.

They are weak: the tensor says dtype and place, and what does not fit is refused.
Positions and masks keep the dtype that they have.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from maxlite._caches import Cache
from maxlite._op_table import fronts
from maxlite.dtype import DType, check_scalar
from maxlite.graph import Dim
from maxlite.graph._node import TensorValue, exact
from maxlite.graph._spec import Spec, spec
from maxlite.sharding import DeviceMapping
from maxlite.tensor._context import outside
from maxlite.tensor._data import check_array, plain_number
from maxlite.tensor._defaults import on_device, plain
from maxlite.tensor._number import Number
from maxlite.tensor._tensor import Tensor, from_numpy

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_NUMBERS = 10_000
"""Numbers kept that were met beside tensors; the table starts afresh beyond."""

Operand = Tensor | Number


def as_tensor(who: str, x: Any, name: str = "x") -> Tensor:
    """Checks that an operand is a Tensor.

    Raises:
        TypeError: It is something else.
    """
    if isinstance(x, Tensor):
        return x
    if isinstance(x, TensorValue):
        raise TypeError(
            f"{who}: {name} must be a Tensor, got a value of a graph. Use graph.ops."
            f"{who}, or Tensor.from_graph_value({name})."
        )
    raise TypeError(
        f"{who}: {name} must be a Tensor, got {type(x).__name__}. Use Tensor({name})."
    )


def as_tensors(who: str, values: Any, name: str) -> list[Tensor]:
    """Checks that an argument is a list of Tensors, which one Tensor is not.

    Raises:
        TypeError: It is something else, or holds something else.
    """
    if isinstance(values, Tensor) or not isinstance(values, Iterable):
        raise TypeError(
            f"{who}: {name} must be a list of tensors, got {type(values).__name__}. "
            "Put it in a list."
        )
    items = list(cast("Iterable[Any]", values))
    return beside(who, **{f"{name}[{i}]": x for i, x in enumerate(items)})


def beside(who: str, **operands: Any) -> list[Tensor]:
    """Checks that operands are tensors, or numpy arrays beside one.

    Args:
        who: The op, for errors.
        **operands: By name. An array takes dtype and device of the first tensor.

    Raises:
        TypeError: One is something else, or there is no tensor among them.
        ValueError: An array holds what the tensor's dtype does not.
    """
    like = _first_tensor(operands.values())
    return [
        x if isinstance(x, Tensor) else _beside(who, x, name, like)
        for name, x in operands.items()
    ]


def _first_tensor(operands: Iterable[Any]) -> Tensor | None:
    for x in operands:
        if isinstance(x, Tensor):
            return x
    return None


def _beside(who: str, x: Any, name: str, like: Tensor | None) -> Tensor:
    if like is None or not isinstance(x, np.ndarray):
        return as_tensor(who, x, name)
    check_array(who, cast("np.ndarray", x))
    return _array_operand(who, cast("np.ndarray", x), like)


def as_positions(who: str, x: Any, name: str, like: Tensor) -> Tensor:
    """Checks that positions or a mask are a tensor, or a numpy array beside one.

    An array keeps its dtype; it lies on each device of ``like``.

    Raises:
        TypeError: They are something else.
    """
    if not isinstance(x, np.ndarray):
        return as_tensor(who, x, name)
    array = cast("np.ndarray", x)
    check_array(who, array)
    with outside():
        return from_numpy(array, plain(DeviceMapping.replicated(like.mesh)))


def as_operands(who: str, *operands: Any) -> tuple[Operand, ...]:
    """Coerces the operands of an op on several values.

    Numbers, Dims and numpy arrays take the dtype of the first tensor, when it can hold
    them.

    Raises:
        TypeError: An operand is no number, or there is no tensor among them.
        ValueError: A value does not fit the tensor's dtype.
    """
    # By far the commonest cases come first.
    if len(operands) == 2 and type(operands[0]) is Tensor:
        x, y = operands
        if type(y) is Tensor:
            return operands
        if type(y) is float or type(y) is int:
            return x, number(who, y, x._spec)
    like = _first_tensor(operands)
    if like is None:
        raise TypeError(
            f"{who}: one operand must be a Tensor, got "
            f"{', '.join(type(x).__name__ for x in operands)}. Use Tensor(value)."
        )
    return tuple(
        x if isinstance(x, Tensor) else as_operand(who, x, like) for x in operands
    )


def as_operand(who: str, x: Any, like: Tensor) -> Operand:
    """Coerces one operand to the dtype and place of a tensor beside it."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, Dim):
        return _dim_operand(x, like)
    if isinstance(x, np.ndarray):
        array = cast("np.ndarray", x)
        check_array(who, array)
        if array.ndim:
            return _array_operand(who, array, like)
    if isinstance(x, (np.generic, np.ndarray)):
        x = plain_number(who, cast("Any", x))
    if isinstance(x, (bool, int, float)):
        return number(who, x, like._spec)
    raise TypeError(
        f"{who}: an operand must be a Tensor, a number, a numpy array or a Dim, got "
        f"{type(x).__name__}. Use Tensor(value)."
    )


def number(who: str, value: bool | int | float, like: Spec) -> Number:
    """Makes a number beside a tensor, or remembers it.

    Raises:
        ValueError: The tensor's dtype cannot hold it.
    """
    key = (exact(value), like)
    found = _numbers.get(key)
    if found is None:
        check_scalar(value, like.dtype, who=who)
        whole = DeviceMapping.replicated(like.mapping.mesh)
        found = Number(value, spec(like.dtype, (), whole, literal=True))
        _numbers.keep(key, found)
    return found


_numbers: Cache[tuple[Any, ...], Number] = Cache("numbers", MAX_NUMBERS)


def _dim_operand(x: Dim, like: Tensor) -> Operand:
    from_dim: Callable[[Dim], Tensor] = fronts["from_dim"]
    if not tuple(x.parameters):
        return as_operand("Dim", int(x), like)
    cast: Callable[[Tensor, DType], Tensor] = fronts["cast"]
    return cast(from_dim(x), like.dtype)


def _array_operand(who: str, x: np.ndarray, like: Tensor) -> Tensor:
    if like.is_distributed:
        raise TypeError(
            f"{who}: a numpy array cannot stand next to a distributed tensor, got "
            f"{like.mapping!r}. Use Tensor(array).to(mapping)."
        )
    if x.size:
        check_scalar(x.min().item(), like.dtype, who=who)
        check_scalar(x.max().item(), like.dtype, who=who)
    with outside():
        return from_numpy(x.astype(like.dtype.to_jax()), on_device(like.device))
