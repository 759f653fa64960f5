"""Assertions on tensors, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maxlite.tensor import Tensor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["assert_all_close"]


def assert_all_close(
    t1: Tensor | ArrayLike,
    t2: Tensor | ArrayLike,
    atol: float = 1e-6,
    rtol: float = 1e-6,
) -> None:
    """Checks that two tensors are equal within both tolerances.

    The absolute *and* the relative difference of each pair must be within tolerance,
    where numpy asks only for their sum. NaN equals NaN, an infinity equals itself, and
    all is compared as float64, whatever the two dtypes.

    Args:
        t1: What is expected; numbers, lists, arrays and tensors, on a mesh too.
        t2: What came, of a shape that broadcasts with that of ``t1``.
        atol: Largest ``|t1 - t2|``.
        rtol: Largest ``|t1 - t2| / |t1|``.

    Raises:
        AssertionError: The shapes do not broadcast, or a pair differs; the text names
            the pair that differs most.

    Source: max.experimental.testing.assert_all_close.

    >>> assert_all_close([1.0, 2.0], Tensor([1.0, 2.0]))
    >>> assert_all_close([1.0, 2.0], Tensor([1.0, 2.5]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: assert_all_close: ... at index [1]: t1 2.0, t2 2.5; 1 of 2 differ.
    """
    exact1, exact2 = _to_numpy(t1), _to_numpy(t2)
    try:
        exact1, exact2 = np.broadcast_arrays(exact1, exact2)
    except ValueError:
        raise AssertionError(
            "assert_all_close: the shapes must be equal, got t1 "
            f"{[*exact1.shape]} and t2 {[*exact2.shape]}."
        ) from None
    left, right = exact1.astype(np.float64), exact2.astype(np.float64)
    equal = (exact1 == exact2) | (np.isnan(left) & np.isnan(right))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        absolute = np.abs(left - right)
        relative = absolute / np.abs(left)
    if exact1.dtype.kind in "biu" and exact2.dtype.kind in "biu":
        # float64 does not tell large integers apart; unequal ones differ by at least 1.
        absolute = np.maximum(absolute, ~equal)
    close = equal | ((absolute <= atol) & (relative <= rtol))
    if close.all():
        return
    worst = np.where(close, -1.0, np.nan_to_num(absolute, nan=np.inf)).argmax()
    index = tuple(int(i) for i in np.unravel_index(worst, close.shape))
    raise AssertionError(
        f"assert_all_close: |t1 - t2| must be within atol={atol} and "
        f"rtol={rtol} * |t1|, got {absolute[index]} and {relative[index]} * |t1| "
        f"at index {[*index]}: t1 {exact1[index]}, t2 {exact2[index]}; "
        f"{int((~close).sum())} of {close.size} differ."
    )


def _to_numpy(value: Tensor | ArrayLike) -> np.ndarray:
    return value.to_numpy() if isinstance(value, Tensor) else np.asarray(value)
