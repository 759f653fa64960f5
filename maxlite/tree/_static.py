"""When two constants of a structure are the same, and how an error writes one.

``==`` alone is no rule. NaN differs from itself, so a function compiled for it would
never be found again; an array answers with an array, which has no truth value; a class
may raise, or answer with something that is no bool at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable


def same_static(a: Any, b: Any) -> bool:
    """Says whether two constants are the same.

    They are when they are one object or equal by ``==``, and in two cases more: NaN is
    the same as NaN, and arrays are the same when dtype, shape and all elements are.
    Lists, tuples and dicts are compared item by item under the same rule. An ``==``
    that raises, or that answers with anything but a bool, counts as different. A class
    without ``__eq__`` is compared by identity, as always in Python.

    Args:
        a: Any value.
        b: Any other value.

    >>> import numpy as np
    >>> from maxlite.tree import same_static
    >>> same_static(float("nan"), float("nan")), same_static(3, 3.0)
    (True, True)
    >>> same_static(np.zeros(2), np.zeros(2)), same_static(np.zeros(2), np.ones(2))
    (True, False)
    >>> same_static(object(), object())
    False
    """
    if a is b:
        return True
    try:
        return _same(a, b)
    except Exception:
        return False


def describe_static(value: Any) -> str:
    """Writes a constant for an error: an array by dtype and shape, else its repr."""
    parts = ("__dlpack__", "dtype", "shape")
    if isinstance(value, type) or not all(hasattr(value, part) for part in parts):
        return repr(value)
    return f"{type(value).__name__}(dtype={value.dtype}, shape={value.shape})"


def difference_note(a: Any, b: Any) -> str:
    """Explains why two constants differ that may look alike in an error."""
    cls = cast("type[Any]", type(a))
    if cls is not type(b):
        return ""
    if _is_array(a) and a.dtype == b.dtype and a.shape == b.shape:
        return " with other elements"
    if cls.__eq__ is object.__eq__:
        return (
            f" ({cls.__name__} has no __eq__, so it is compared by identity; pass the "
            "same object, or give the class an __eq__)"
        )
    return ""


def _same(a: Any, b: Any) -> bool:
    if _is_array(a) or _is_array(b):
        return _is_array(a) and _is_array(b) and _same_arrays(a, b)
    if _is_complex(a) and _is_complex(b):
        return same_static(a.real, b.real) and same_static(a.imag, b.imag)
    if _is_nan(a) and _is_nan(b):
        return True
    # Exact classes only: a subclass may have an __eq__ that means something else.
    cls = cast("type[Any]", type(a))
    if cls is type(b) and cls in (list, tuple):
        return len(a) == len(b) and all(map(same_static, a, b))
    if cls is type(b) and cls is dict:
        return a.keys() == b.keys() and all(same_static(v, b[k]) for k, v in a.items())
    answer: Any = a == b
    return isinstance(answer, (bool, np.bool_)) and bool(cast("Any", answer))


def _same_arrays(a: Any, b: Any) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    left, right = np.asarray(a), np.asarray(b)
    if left.dtype == object:
        return all(map(same_static, left.flat, right.flat))
    both_nan = (left != left) & (right != right)
    return bool(np.all((left == right) | both_nan))


def _is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, jax.Array))


def _is_complex(value: Any) -> bool:
    return isinstance(value, (complex, np.complexfloating))


def _is_nan(value: Any) -> bool:
    # By kind, then by ``!=``: any other class may define ``!=`` as it likes.
    return isinstance(value, (float, np.generic)) and bool(value != value)


def exact_key(static: Any) -> Hashable:
    """Tells apart what ``==`` does not: 1 and True, 0.0 and -0.0, an edited array.

    Structures match by ``==``, but two programs with statics that merely are equal can
    be two.
    """
    if isinstance(static, np.ndarray):
        array = cast("np.ndarray", static)
        return (array.dtype.str, array.shape, array.tobytes())
    if isinstance(static, float):
        return (type(static), static.hex())
    return cast("type[Any]", type(static))
