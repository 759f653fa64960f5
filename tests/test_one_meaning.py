"""One meaning: every op gives the same eager, lazy, compiled and sharded.

The op table drives the test: each row that has samples is run in each way, and dtype,
shape and value must agree with the eager run on one device. What was recorded of the
result before any value was there must be true of it, too.
"""

import os

import numpy as np
import pytest

from maxlite import (
    DeviceMapping,
    DType,
    Replicated,
    Sharded,
    Tensor,
    auto_reshard,
    compile,
    stage,
)
from maxlite import functional as F
from maxlite._op_table import rows
from maxlite.graph import StaticDim
from tests.lowering.op_samples import SAMPLES, WRITES
from tests.sharding.meshes import cpu_mesh

CASES = [
    pytest.param(sample, id=f"{op}-{i}")
    for op, samples in SAMPLES.items()
    for i, sample in enumerate(samples)
    if op not in WRITES  # see tests/compilation/test_buffers.py
]


def name_of(op):
    return op.name


@pytest.mark.parametrize("sample", CASES)
def test_an_op_means_one_thing(sample):
    tensors = [Tensor(array) for array in arrays_of(sample)]
    expected = listed(sample.run(*tensors))
    with F.lazy():
        pending = listed(sample.run(*tensors))
    program = compile(sample.run)(*(t.layout for t in tensors))
    agree("lazy", pending, expected)
    agree("compiled", listed(program(*tensors)), expected)
    for layout, result in zip(program.out_layouts, expected, strict=True):
        assert layout.dtype is result.dtype
        assert len(layout.shape) == result.rank
        for size, found in zip(layout.shape, result.shape, strict=True):
            # A name stands for a size that only the values tell.
            assert size == found or not isinstance(size, StaticDim)


@pytest.mark.parametrize("sample", CASES)
def test_an_op_means_one_thing_on_a_mesh(sample):
    arrays = arrays_of(sample)
    expected = listed(sample.run(*map(Tensor, arrays)))
    mesh = cpu_mesh(2)
    for axis in (0, 1):
        placed = [Tensor(a).to(cut(mesh, a, axis)) for a in arrays]
        with auto_reshard(mode="silent"):
            results = listed(sample.run(*placed))
            staged = stage(sample.run)(*(t.layout for t in placed))
        agree(f"eager, S{axis}", results, expected)
        assert [layout.placements for layout in staged.out_layouts] == [
            result.placements for result in results
        ]


def arrays_of(sample):
    """Makes operands that every op accepts: positions are 0 and 1 in turn."""
    arrays = []
    for operand in sample.operands:
        sizes, _, name = operand.partition(":")
        shape = tuple(int(size) for size in sizes.split(",") if size)
        dtype = DType[name or "float32"]
        if dtype is DType.float32:
            rng = np.random.default_rng(len(shape))
            arrays.append(rng.uniform(0.1, 0.9, shape).astype(np.float32))
        else:
            counts = np.indices(shape).sum(0) % 2
            arrays.append(np.asarray(counts, dtype.to_jax()))
    return arrays


def cut(mesh, array, axis):
    fits = axis < array.ndim and array.shape[axis] % 2 == 0
    return DeviceMapping(mesh, (Sharded(axis) if fits else Replicated(),))


def listed(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def agree(how, results, expected):
    for result, want in zip(results, expected, strict=True):
        array = np.asarray(result.to_numpy(), np.float64)
        assert result.dtype is want.dtype, how
        assert result.shape == want.shape, how
        np.testing.assert_allclose(
            array,
            np.asarray(want.to_numpy(), np.float64),
            rtol=1e-5,
            atol=1e-6,
            err_msg=how,
        )


@pytest.mark.parametrize("op", [op for op in rows().values() if op.dtypes], ids=name_of)
def test_a_row_takes_the_dtypes_that_it_says_and_no_others(op):
    sample = SAMPLES[op.name][0]
    for dtype in DType:
        if "float6" in dtype.name or "float4" in dtype.name:
            continue  # JAX has no arrays of these, or none that it can compile
        operands = cast_to(dtype, sample)
        if dtype in op.dtypes:
            holds_what_it_says(sample.run(*operands))
        else:
            with pytest.raises((TypeError, ValueError)) as refused:
                sample.run(*operands)
            assert_raised_by_maxlite(refused.value)


UNLIMITED = [op for op in rows().values() if not op.dtypes and op.name in SAMPLES]
SOME = ("bool", "int8", "uint32", "float8_e4m3fn", "bfloat16", "float64")


@pytest.mark.parametrize("op", [op for op in UNLIMITED if op.rule], ids=name_of)
def test_any_other_row_gives_the_dtype_that_it_says_or_refuses_in_words(op):
    sample = SAMPLES[op.name][0]
    if op.name in WRITES or not sample.operands or op.name in DECLARED:
        return
    for name in SOME:
        operands = cast_to(DType[name], sample)
        try:
            holds_what_it_says(sample.run(*operands))
        except (TypeError, ValueError) as error:
            assert_raised_by_maxlite(error)


DECLARED = ("custom", "inplace_custom")
"""Rows whose meaning is the user's."""


def cast_to(dtype, sample):
    """Makes operands in which those of the first one's dtype have another."""
    first, *others = arrays_of(sample)
    return [
        F.cast(Tensor(a), dtype) if a.dtype == first.dtype else Tensor(a)
        for a in (first, *others)
    ]


def holds_what_it_says(results):
    for result in listed(results):
        assert result.to_numpy().dtype == result.dtype.to_jax()


def assert_raised_by_maxlite(error):
    """Checks that an error is no raw one of JAX or numpy."""
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    assert f"{os.sep}maxlite{os.sep}" in trace.tb_frame.f_code.co_filename, error
