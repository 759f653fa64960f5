"""Indexing is numpy's: for any index both give the same, or both refuse.

Where numpy clips the bounds of a slice, or lets a position out of range pass since the
result is empty, maxlite refuses; nothing else differs.
"""

from __future__ import annotations

from typing import Any

import hypothesis
import numpy as np
from hypothesis import strategies as st

from maxlite import functional as F
from maxlite.compilation import compile
from maxlite.tensor import Tensor
from tests.strategies import Indexed, indexed

REFUSED = (ValueError, IndexError)


def counted(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(np.float32)


def outcome(run: Any) -> np.ndarray | None:
    """What a function gives; None where it refuses."""
    try:
        return run()
    except REFUSED:
        return None


def agree(got: np.ndarray | None, want: np.ndarray | None) -> None:
    if got is None or want is None:
        assert got is want
    else:
        np.testing.assert_array_equal(got, want, strict=True)


def as_tensors(index: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(Tensor(i) if isinstance(i, np.ndarray) else i for i in index)


@hypothesis.settings(max_examples=150)
@hypothesis.given(indexed(), st.booleans())
def test_a_read_gives_what_numpy_gives(case: Indexed, tensors: bool):
    x = counted(case.shape)
    index = as_tensors(case.index) if tensors else case.index
    want = outcome(lambda: x[case.index]) if case.is_strict else None
    agree(outcome(lambda: Tensor(x)[index].to_numpy()), want)


@hypothesis.settings(max_examples=50)
@hypothesis.given(indexed())
def test_a_read_of_known_positions_means_the_same_in_a_lazy_block(case: Indexed):
    x = counted(case.shape)

    def lazily() -> np.ndarray:
        with F.lazy():
            part = Tensor(x)[case.index]
        return part.to_numpy()

    want = outcome(lambda: x[case.index]) if case.is_strict else None
    agree(outcome(lazily), want)


@hypothesis.settings(max_examples=50)
@hypothesis.given(indexed())
def test_a_read_of_known_positions_means_the_same_in_a_program(case: Indexed):
    x = Tensor(counted(case.shape))

    def compiled() -> np.ndarray:
        return compile(lambda x: x[case.index])(x.layout)(x).to_numpy()

    want = outcome(lambda: x.to_numpy()[case.index]) if case.is_strict else None
    agree(outcome(compiled), want)


@hypothesis.settings(max_examples=150)
@hypothesis.given(indexed(new_axes=False), st.booleans(), st.data())
def test_a_write_does_what_numpy_does(
    case: Indexed, tensors: bool, data: st.DataObject
):
    x = counted(case.shape)
    want = outcome(lambda: x[case.index].copy()) if case.is_strict else None
    shape = () if want is None else want.shape
    value = data.draw(values(shape))
    if want is not None:
        want = x.copy()
        want[case.index] = value.to_numpy() if isinstance(value, Tensor) else value
    index = as_tensors(case.index) if tensors else case.index

    def written() -> np.ndarray:
        target = Tensor(x)
        target[index] = value
        return target.to_numpy()

    agree(outcome(written), want)


@st.composite
def values(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """Numbers, lists, arrays and tensors that broadcast to a shape."""
    kept = shape[draw(st.integers(0, len(shape))) :]
    own = tuple(1 if draw(st.booleans()) else size for size in kept)
    array = -1 - np.arange(np.prod(own, dtype=int)).reshape(own).astype(np.float32)
    kind = draw(st.sampled_from(["array", "list", "tensor", "number"]))
    if kind == "number":
        return draw(st.sampled_from([7, 0.5, True]))
    if kind == "list" and array.ndim and array.size:
        return array.tolist()
    return Tensor(array) if kind == "tensor" else array
