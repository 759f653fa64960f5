"""One meaning: every op gives the same eager, lazy, compiled and sharded.

The op table drives the test: each row that has samples is run in each way, and dtype,
shape and value must agree with the eager run on one device. What was recorded of the
result before any value was there must be true of it, too.
"""

import os

import jax
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
from maxlite._backend import x64
from maxlite._op_table import rows
from maxlite.graph import StaticDim
from tests.lowering.op_samples import SAMPLES, WRITES
from tests.sharding.meshes import cpu_mesh

CASES = [
    pytest.param(sample, id=f"{op}-{i}", marks=[pytest.mark.slow] if i else [])
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


@pytest.mark.parametrize("axis", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("sample", CASES)
def test_an_op_means_one_thing_on_a_mesh(sample, axis):
    arrays = arrays_of(sample)
    expected = listed(sample.run(*map(Tensor, arrays)))
    mesh = cpu_mesh(2)
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


LIMITED = [op for op in rows().values() if op.dtypes]
OTHERS = [
    op
    for op in rows().values()
    if not op.dtypes and op.rule and op.name in SAMPLES and op.name not in WRITES
    # The meaning of these is the user's.
    if SAMPLES[op.name][0].operands and op.name not in ("custom", "inplace_custom")
]
STORED = [d for d in DType if "float6" not in d.name and "float4" not in d.name]
"""Of the others JAX has no arrays, or none that it can compile."""

SOME = [
    DType[n] for n in ["bool", "int8", "uint32", "float8_e4m3fn", "bfloat16", "float64"]
]


@pytest.mark.parametrize("op", LIMITED, ids=name_of)
def test_a_row_takes_the_dtypes_that_it_says_and_no_others(op):
    takes_its_dtypes(op, traced)


@pytest.mark.slow
@pytest.mark.parametrize("op", LIMITED, ids=name_of)
def test_a_row_computes_each_dtype_that_it_says(op):
    takes_its_dtypes(op, computed)


@pytest.mark.parametrize("op", OTHERS, ids=name_of)
def test_any_other_row_gives_the_dtype_that_it_says_or_refuses_in_words(op):
    gives_its_dtype_or_refuses(op, traced)


@pytest.mark.slow
@pytest.mark.parametrize("op", OTHERS, ids=name_of)
def test_any_other_row_computes_the_dtype_that_it_says_or_refuses(op):
    gives_its_dtype_or_refuses(op, computed)


def takes_its_dtypes(op, check):
    sample = SAMPLES[op.name][0]
    for dtype in STORED:
        operands = cast_to(dtype, sample)
        if dtype in op.dtypes:
            check(sample, operands)
        else:
            with pytest.raises((TypeError, ValueError)) as refused:
                sample.run(*operands)
            assert_raised_by_maxlite(refused.value)


def gives_its_dtype_or_refuses(op, check):
    sample = SAMPLES[op.name][0]
    for dtype in SOME:
        operands = cast_to(dtype, sample)
        try:
            check(sample, operands)
        except (TypeError, ValueError) as error:
            assert_raised_by_maxlite(error)


def computed(sample, operands):
    """Runs a sample; each result has the dtype that it says."""
    for result in listed(sample.run(*operands)):
        assert result.to_numpy().dtype == result.dtype.to_jax()


def traced(sample, operands):
    """Records a sample; JAX finds the dtype of each result that was recorded."""
    graph = stage(sample.run)(*(t.layout for t in operands)).graph
    for node in graph.nodes:
        params = node.op.keywords(node.params)
        if node.measure is not None:
            params[node.op.measured] = 1
        with x64():
            avals = [
                jax.ShapeDtypeStruct(sizes_of(v.spec), v.spec.dtype.to_jax())
                for v in node.inputs
            ]
            found = jax.eval_shape(
                lambda *xs, p=params, n=node: n.op.fn(*xs, **p), *avals
            )
        for aval, value in zip(listed(found), node.outputs, strict=True):
            assert aval.dtype == value.spec.dtype.to_jax(), node.op.name


def sizes_of(spec):
    return tuple(d if isinstance(d, int) else 1 for d in spec.shape)


def cast_to(dtype, sample):
    """Makes operands in which those of the first one's dtype have another."""
    first, *others = arrays_of(sample)
    return [
        Tensor(a.astype(dtype.to_jax()) if a.dtype == first.dtype else a)
        for a in (first, *others)
    ]


def assert_raised_by_maxlite(error):
    """Checks that an error is no raw one of JAX or numpy."""
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    assert f"{os.sep}maxlite{os.sep}" in trace.tb_frame.f_code.co_filename, error
