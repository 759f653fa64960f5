"""One op in every way that it can run, against numpy's answer.

:func:`check` runs a function eagerly, in a lazy block, compiled, and compiled with
named sizes; :func:`check_sharded` runs it on a mesh and looks where the results lie.
Both compare dtype, shape and values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maxlite import functional as F
from maxlite._backend import x64
from maxlite._op_table import lookup
from maxlite.compilation import compile
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import (
    DeviceMapping,
    Partial,
    Placement,
    Replicated,
    Sharded,
    TensorLayout,
)
from maxlite.tensor import Tensor
from tests.sharding.meshes import cpu_mesh

RTOL = {"float64": 1e-12, "float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}
"""About one unit in the last place of a half, ten of the wider floats."""

FLOATS = [np.dtype(name) for name in ("float16", "float32", "float64")]
FLOATS.append(np.dtype(jnp.bfloat16))
INTEGERS = [np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 32)]
INTEGERS += [np.dtype("int64"), np.dtype("uint64")]
NUMBERS = INTEGERS + FLOATS

Function = Callable[..., Any]


def check(fn: Function, *arrays: np.ndarray, want: Any, named: bool = True) -> None:
    """Runs a function in every way without a mesh.

    Args:
        fn: Takes Tensors, gives one or a tuple.
        *arrays: Its arguments.
        want: What numpy answers: one array, or a tuple of them.
        named: Whether it is also compiled with a name in place of each size.
    """
    expected = want if isinstance(want, tuple) else (want,)
    tensors = [Tensor(array) for array in arrays]
    layouts = [tensor.layout for tensor in tensors]
    for how, results in _runs(fn, tensors, layouts):
        _check_same(how, results, expected)
    if named:
        _check_same("named", _listed(_named(fn, arrays)(*tensors)), expected)


def check_eager(fn: Function, *arrays: np.ndarray, want: np.ndarray) -> None:
    """Runs a function eagerly alone, where the way of running cannot matter."""
    _check_same("eager", _listed(fn(*map(Tensor, arrays))), (want,))


def check_floats(fn: Function, want: Function, *arrays: np.ndarray) -> None:
    """Runs a function eagerly in each float dtype, against numpy in float64.

    Args:
        fn: Takes Tensors.
        want: The same in numpy.
        *arrays: The arguments, which each dtype rounds first.
    """
    for dtype in FLOATS:
        rounded = [array.astype(dtype) for array in arrays]
        with np.errstate(all="ignore"):
            answer = want(*(array.astype(np.float64) for array in rounded))
            expected = np.asarray(answer).astype(dtype)
        check_eager(fn, *rounded, want=expected)


def slope(name: str, *at: float, **params: Any) -> tuple[float, ...]:
    """Differentiates the row of an op at a point, by each operand."""
    with x64():
        point = tuple(jnp.float32(x) for x in at)
        fn = partial(lookup(name).fn, **params)
        by = tuple(range(len(at)))
        return tuple(map(float, jax.grad(lambda *x: fn(*x).sum(), by)(*point)))


def check_sharded(fn: Function, *operands: tuple[np.ndarray, str], lands: str) -> None:
    """Runs a function on a mesh of pairs of CPUs, and on one; both must agree.

    Args:
        fn: Takes Tensors, gives one or a tuple.
        *operands: Each with its placements, written ``"S0 P"``, one per mesh axis.
        lands: Placements of every result.
    """
    expected = tuple(
        part.to_numpy()
        for part in _listed(fn(*(Tensor(array) for array, _ in operands)))
    )
    placed = [place(array, text) for array, text in operands]
    for how, results in _runs(fn, placed, [tensor.layout for tensor in placed]):
        for part in results:
            found = " ".join(map(_short, part.placements))
            assert found == lands, f"{how}: lies {found}, not {lands}"
        _check_same(how, results, expected)


def place(array: np.ndarray, text: str) -> Tensor:
    """Puts an array on a mesh; a pending sum gets unequal parts.

    Args:
        array: The global value.
        text: One of R, P, S0, S1 ... per mesh axis, all of size 2.
    """
    placements = [_placement(word) for word in text.split()]
    mesh = cpu_mesh(*(2 for _ in placements))
    pending = [i for i, p in enumerate(placements) if isinstance(p, Partial)]
    parts = array
    for _ in pending:
        other = (np.arange(parts.size) % 3).reshape(parts.shape).astype(parts.dtype)
        parts = np.stack([parts - other, other])
    # One leading axis per pending sum, sharded: adding it up leaves the sum pending.
    stacked = tuple(
        Sharded(pending.index(i))
        if i in pending
        else Sharded(p.axis + len(pending))
        if isinstance(p, Sharded)
        else p
        for i, p in enumerate(placements)
    )
    tensor = Tensor(parts).to(DeviceMapping(mesh, stacked))
    for axis in range(len(pending)):
        tensor = F.sum(tensor, axis)
    for _ in pending:
        tensor = F.squeeze(tensor, 0)
    assert tensor.placements == tuple(placements)
    return tensor


def _runs(
    fn: Function, tensors: list[Tensor], layouts: list[TensorLayout]
) -> Iterator[tuple[str, tuple[Tensor, ...]]]:
    yield "eager", _listed(fn(*tensors))
    with F.lazy():
        pending = _listed(fn(*tensors))
    yield "lazy", pending
    yield "compiled", _listed(compile(fn)(*layouts)(*tensors))


def _named(fn: Function, arrays: tuple[np.ndarray, ...]) -> Function:
    """Compiles with equal sizes under one name; a size of 1 means broadcasting."""
    return compile(fn)(
        *(
            TensorLayout(
                DType.from_numpy(array.dtype),
                [size if size == 1 else f"n{size}" for size in array.shape],
                CPU(),
            )
            for array in arrays
        )
    )


def _listed(results: Any) -> tuple[Tensor, ...]:
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)


def _check_same(
    how: str, results: tuple[Tensor, ...], expected: tuple[np.ndarray, ...]
) -> None:
    assert len(results) == len(expected), how
    for result, want in zip(results, expected, strict=True):
        got = result.to_numpy()
        assert got.dtype == want.dtype, f"{how}: {got.dtype}, not {want.dtype}"
        assert got.shape == want.shape, f"{how}: {got.shape}, not {want.shape}"
        rtol = RTOL.get(str(want.dtype))
        if rtol is None:
            np.testing.assert_array_equal(got, want, err_msg=how)
        else:
            wide, target = got.astype(np.float64), want.astype(np.float64)
            np.testing.assert_allclose(wide, target, rtol, rtol, err_msg=how)


def _placement(word: str) -> Placement:
    if word.startswith("S"):
        return Sharded(int(word[1:]))
    return {"R": Replicated(), "P": Partial()}[word]


def _short(placement: Placement) -> str:
    axis = placement.localized_axis()
    return type(placement).__name__[0] + ("" if axis is None else str(axis))


def every_third(items: Iterable[Any]) -> list[Any]:
    """Gives parameters of a test: `make test` takes a third, `make test-all` all."""
    listed = [item if isinstance(item, tuple) else (item,) for item in items]
    slow = pytest.mark.slow
    return [
        pytest.param(*x, marks=[slow] if i % 3 else []) for i, x in enumerate(listed)
    ]
