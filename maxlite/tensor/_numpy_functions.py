"""What numpy's functions do with a Tensor.

A *ufunc* (``np.add``, ``np.exp``, and what ``array + tensor`` calls) is the op of the
same meaning and gives a Tensor, recorded or sharded like any other. So it does not
matter on which side of an operator an array stands. What no op does is refused.

numpy's other functions (``np.concatenate``, ``np.allclose``) read tensors as arrays and
give arrays: they compute what is pending, and gather what is distributed.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from maxlite._op_table import fronts
from maxlite.tree import map as map_leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class NumpyFunctions:
    """The two protocols by which numpy asks another array what to do."""

    __slots__ = ()

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Any:
        name = ufunc.__name__
        if method != "__call__" or options:
            what = f"np.{name}" if method == "__call__" else f"np.{name}.{method}"
            extra = f" with {', '.join(options)}=" if options else ""
            raise TypeError(
                f"{what}: a tensor can only be an operand, got a call{extra}. Use "
                "a function of maxlite.functional, or np.asarray(x) for x."
            )
        if name in _OPERATORS:
            return _operate(*_OPERATORS[name], inputs)
        front = fronts.get(_FRONTS.get(name, name))
        if front is None:
            raise TypeError(
                f"np.{name}: the operands must be arrays, got a Tensor, and maxlite "
                "has no such op. Use np.asarray(x) for x."
            )
        return front(*inputs)

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        arguments: Sequence[Any],
        options: Mapping[str, Any],
    ) -> Any:
        arguments, options = map_leaves(_as_read, (tuple(arguments), dict(options)))
        return function(*arguments, **options)


def _as_read(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, NumpyFunctions) else value


def _operate(
    operate: Callable[..., Any], reflected: str, operands: Sequence[Any]
) -> Any:
    """Applies an operator of Python; numpy is not asked again."""
    first, *others = operands
    if isinstance(first, NumpyFunctions):
        return operate(*operands)
    return getattr(others[0], reflected)(first)


_OPERATORS: dict[str, tuple[Callable[..., Any], str]] = {
    "add": (operator.add, "__radd__"),
    "subtract": (operator.sub, "__rsub__"),
    "multiply": (operator.mul, "__rmul__"),
    "divide": (operator.truediv, "__rtruediv__"),
    "floor_divide": (operator.floordiv, "__rfloordiv__"),
    "remainder": (operator.mod, "__rmod__"),
    "divmod": (divmod, "__rdivmod__"),
    "power": (operator.pow, "__rpow__"),
    "matmul": (operator.matmul, "__rmatmul__"),
    "bitwise_and": (operator.and_, "__rand__"),
    "bitwise_or": (operator.or_, "__ror__"),
    "bitwise_xor": (operator.xor, "__rxor__"),
    "left_shift": (operator.lshift, "__rlshift__"),
    "right_shift": (operator.rshift, "__rrshift__"),
    "equal": (operator.eq, "__eq__"),
    "not_equal": (operator.ne, "__ne__"),
    "less": (operator.lt, "__gt__"),
    "less_equal": (operator.le, "__ge__"),
    "greater": (operator.gt, "__lt__"),
    "greater_equal": (operator.ge, "__le__"),
    "negative": (operator.neg, ""),
    "absolute": (operator.abs, ""),
    "invert": (operator.invert, ""),
    "positive": (operator.pos, ""),
}
"""The ufuncs that numpy's operators call: Python's own, and the reflected method."""

_FRONTS = {
    "maximum": "max",
    "minimum": "min",
    "arccos": "acos",
    "arcsin": "asin",
    "arctan": "atan",
    "arctan2": "atan2",
    "arccosh": "acosh",
    "arcsinh": "asinh",
    "arctanh": "atanh",
    "isnan": "is_nan",
    "isinf": "is_inf",
    "isfinite": "is_finite",
    "rint": "round",
}
"""The ufuncs whose op has another name."""
