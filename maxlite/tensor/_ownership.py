"""Whether a tensor's array may be written over: when nothing else holds it.

JAX arrays never change, but a donated one gives its memory to the result and is gone.
Before that, nobody else may hold it: another Tensor, a recorded graph, a JAX user. The
reference count of the array object tells; views of numpy or DLPack consumers hold the
memory itself, and then the backend declines the donation and copies.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from maxlite._backend import copy_in_place, is_lent
from maxlite.tensor._tensor import Tensor


def holds_alone(tensor: Tensor) -> bool:
    """Whether no other Python object holds a tensor's array."""
    if references(tensor) > _ALONE:
        return False
    return tensor._array is not None and not is_lent(tensor._array)


def references(tensor: Tensor) -> int:
    """Counts the references to a tensor's array, as :data:`_ALONE` was counted."""
    return sys.getrefcount(tensor._array)


def array_to_write(tensor: Tensor, *, shared: bool = False) -> Any:
    """Gives a real tensor's array for donation: itself, or a copy when it is shared.

    Args:
        tensor: Realized.
        shared: Whether it is known to be shared, whatever the count says.
    """
    if not shared and holds_alone(tensor):
        return tensor._array
    return copy_in_place(tensor._stored())


def _references_when_alone() -> int:
    """Measures what :func:`holds_alone` sees when nothing else holds the array.

    Python versions differ in how many references a call itself adds.
    """
    probe: Any = Tensor.__new__(Tensor)
    probe._array = np.zeros(1)
    return references(probe)


_ALONE = _references_when_alone()
