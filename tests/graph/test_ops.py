"""Functions and operators on values of a graph, against those on tensors."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from maxlite import CPU, CompiledCallable, DType, StagedGraph, Tensor, random
from maxlite import functional as F
from maxlite.graph import DeviceRef, Graph, TensorType, TensorValue, ops

D = DeviceRef.CPU()
X = np.array([[1.0, -2.0, 3.5], [4.0, 5.0, -6.5]], np.float32)
MATRIX = TensorType(DType.float32, ["n", 3], D)
PAIR = TensorType(DType.float32, [3], D)

REFERENCE = """
abs acos add argmax argmin argsort as_interleaved_complex atanh avg_pool2d band_part
bottom_k broadcast_to buffer_load buffer_store buffer_store_slice cast ceil chunk concat
cond constant constant_external conv2d conv2d_transpose conv3d cos cumsum custom
dequantize div equal erf exp flatten floor floor_div fold gather gather_nd gelu greater
greater_equal group_norm hann_window inplace_custom irfft is_inf is_nan layer_norm log
log1p logical_and logical_not logical_or logical_xor logsoftmax masked_scatter matmul
max max_pool2d mean min mod mul negate non_maximum_suppression nonzero not_equal outer
pad permute pow print prod qmatmul range rebind relu repeat_interleave reshape resize
resize_bicubic resize_linear resize_nearest rms_norm roi_align round rsqrt scatter
scatter_add scatter_max scatter_min scatter_mul scatter_nd scatter_nd_add scatter_nd_max
scatter_nd_min scatter_nd_mul shape_to_tensor side_stream sigmoid silu sin slice_tensor
softmax split sqrt squeeze stack sub sum tanh tile top_k transfer_to transpose trunc
unsqueeze where while_loop InterpolationMode random
"""
"""What the reference's room has, as far as it does not name a device per value."""


def results(fn: Callable[..., Any], *arrays: np.ndarray) -> list[np.ndarray]:
    """Runs a function on values as a graph of its own."""
    types = [
        TensorType(DType.from_numpy(array.dtype), array.shape, D) for array in arrays
    ]
    graph = Graph("g", fn, input_types=types)
    assert all(isinstance(value, TensorValue) for value in graph.outputs)
    program = CompiledCallable(StagedGraph.from_graph(graph))
    return [part.to_numpy() for part in program(*map(Tensor, arrays))]


def check(fn: Callable[..., Any], *arrays: np.ndarray) -> None:
    """Compares a function on values with itself on tensors."""
    expected = fn(*map(Tensor, arrays))
    several = isinstance(expected, (list, tuple))
    found = results(fn, *arrays)
    for got, want in zip(found, expected if several else [expected], strict=True):
        assert got.dtype == want.to_numpy().dtype
        np.testing.assert_allclose(got, want.to_numpy(), 1e-6)


OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!="]
LOGIC = ["&", "|", "^"]


@pytest.mark.parametrize(
    "expression",
    [
        *(f"x {sign} y" for sign in OPERATORS),
        *(f"x {sign} 2" for sign in OPERATORS),
        *(f"2 {sign} y" for sign in OPERATORS),
        *(f"(x > 0) {sign} (y > 0)" for sign in LOGIC),
        *(f"True {sign} (y > 0)" for sign in LOGIC),
        "x @ y.T",
        "-x",
        "abs(x)",
        "~(x > 0)",
        "divmod(x, y)",
        "x[0]",
        "x[:, 1]",
        "x[..., None]",
        "x[1:, ::2]",
        "x.T",
        "x.reshape([-1])",
        "x.broadcast_to([2, 2, 3])",
        "x.transpose(0, 1)",
        "x.permute([1, 0])",
        "x.unsqueeze(0)",
        "x[0:1].squeeze(0)",
        "x.split([1, 2], 1)",
        "x.sum()",
        "x.mean(0)",
        "x.prod()",
        "x.max()",
        "x.min(axis=0)",
        "x.argmax()",
        "x.cast(DType.int32)",
        "x.to(CPU())",
    ],
)
def test_operators_do_what_they_do_on_tensors(expression: str) -> None:
    fn = eval(f"lambda x, y: {expression}", {"DType": DType, "CPU": CPU})
    check(fn, X, np.abs(X[::-1]) * 2)


def test_methods_that_tensors_lack() -> None:
    def fn(x: TensorValue) -> list[TensorValue]:
        x.print("x")
        return [x.flatten(), x.rebind([2, 3]), x.var(), x.stdev(0)]

    flat, same, var, stdev = results(fn, X)
    assert flat.tolist() == X.reshape(-1).tolist()
    assert same.tolist() == X.tolist()
    np.testing.assert_allclose(var, X.var(1, keepdims=True), 1e-6)
    np.testing.assert_allclose(stdev, X.std(0, keepdims=True), 1e-6)


def test_a_value_has_no_loop_no_length_and_no_items() -> None:
    with Graph("g", input_types=[MATRIX]) as graph:
        x = graph.inputs[0]
        for use in (iter, list, len, float):
            with pytest.raises(TypeError):
                use(x)
        assert {x: 1}[x] == 1


# Functions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fn",
    [
        lambda o, x: o.add(x, 1),
        lambda o, x: o.concat([x, x * 2], 1),
        lambda o, x: o.concat((part for part in (x, x)), axis=0),
        lambda o, x: o.stack((x, x)),
        lambda o, x: o.top_k(x, 2),
        lambda o, x: o.chunk(x, 3, 1),
        lambda o, x: o.cumsum(x, exclusive=True),
        lambda o, x: o.split(x, [1, 2], 1),
        lambda o, x: o.where(x > 0, x, 0),
        lambda o, x: o.max(x, 1),
        lambda o, x: o.max(x, axis=0),
        lambda o, x: o.slice_tensor(x, [0, slice(1, 3)]),
        lambda o, x: o.hann_window(4, device=CPU()),
        lambda o, x: o.transfer_to(x, CPU()),
        lambda o, x: o.range(0, 3, 1, dtype=DType.int32, device=CPU()),
        lambda o, x: o.constant([[1, 2]], DType.int8),
        lambda o, x: o.shape_to_tensor([2, 3]),
        lambda o, x: o.side_stream([x], lambda y: y * 2),
        lambda o, x: o.cond((x[0, 0] > 0), [PAIR], lambda: x[0], lambda: x[1]),
        lambda o, x: o.while_loop(x, lambda y: y[0, 0] < 9, lambda y: o.add(y, x)),
        lambda o, x: o.flip(x, 0),
        lambda o, x: o.einsum("ij->ji", x),
    ],
)
def test_functions_do_what_they_do_on_tensors(fn: Callable[..., Any]) -> None:
    found = results(lambda x: fn(ops, x), X)
    expected = fn(F, Tensor(X))
    several = isinstance(expected, (list, tuple))
    for got, want in zip(found, expected if several else [expected], strict=True):
        np.testing.assert_array_equal(got, want.to_numpy(), strict=True)


def test_a_branch_and_a_loop_use_values_from_around() -> None:
    def fn(x: TensorValue, n: TensorValue) -> list[TensorValue]:
        y = ops.mul(x, 2)

        def body(i: TensorValue, total: TensorValue) -> list[TensorValue]:
            assert isinstance(i, TensorValue)
            (part,) = ops.cond(i > 0, [y.type], lambda: y + i.cast(y.dtype), lambda: y)
            return [i + 1, total + part]

        return ops.while_loop([n - n, x], lambda i, total: i < n, body)

    i, total = results(fn, X, np.array(3, np.int32))
    assert i == 3
    assert total.tolist() == (X * 7 + 3).tolist()


def test_the_list_or_tuple_of_results_stays_what_it_is() -> None:
    def fn(x: TensorValue) -> TensorValue:
        assert isinstance(ops.split(x, 1), list)
        assert isinstance(ops.top_k(x, 1), tuple)
        assert ops.print(x, "x") is None
        return x

    results(fn, X)


def test_random_numbers_come_from_the_seed_of_the_process() -> None:
    kind = TensorType(DType.float64, [3], D)

    def draws() -> list[TensorValue]:
        return [
            ops.random.uniform(kind, (5, 6)),
            ops.random.normal(kind, 1.0, 0.5),
            ops.random.gaussian(kind),
        ]

    random.set_seed(3)
    found = results(draws)
    random.set_seed(3)
    to: Any = {"dtype": DType.float64}
    want = [random.uniform([3], (5, 6), **to), random.normal([3], 1.0, 0.5, **to)]
    for got, expected in zip(found, [*want, random.normal([3], **to)], strict=True):
        np.testing.assert_array_equal(got, expected.to_numpy(), strict=True)


# What is there ------------------------------------------------------------------------


@pytest.mark.parametrize("name", REFERENCE.split())
def test_what_the_reference_has_is_there(name: str) -> None:
    assert getattr(ops, name).__doc__
    assert name in ops.__all__
    assert name in dir(ops)


def test_every_function_on_tensors_is_there() -> None:
    around = {"call_on_mesh", "ensure_context", "functional", "in_graph_context"}
    for name in set(F.__all__) - around - {"lazy"}:
        assert callable(getattr(ops, name))
    assert not set(dir(ops)) & around


def test_what_is_not_there_is_said_clearly() -> None:
    with pytest.raises(AttributeError, match="ops has no function 'parallel'"):
        _ = ops.parallel


def test_the_room_is_there_without_being_imported() -> None:
    code = "import maxlite; maxlite.graph.ops.add"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_signatures_are_those_of_the_functions_on_tensors() -> None:
    assert inspect.signature(ops.cumsum) == inspect.signature(F.cumsum)


def test_errors_are_those_of_the_functions_on_tensors() -> None:
    with Graph("g", input_types=[MATRIX]) as graph:
        x = graph.inputs[0]
        with pytest.raises(ValueError, match="add: sizes must be equal or 1"):
            ops.add(x, Tensor([1.0, 2.0]))
        with pytest.raises(TypeError, match="add: one operand must be a Tensor"):
            ops.add(1, 2)
    with pytest.raises(LookupError, match="no graph is open"):
        ops.add(Tensor(X), 1)
