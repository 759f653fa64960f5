"""The printed module: names, private functions, named sizes, and nothing else."""

import re
import subprocess
import sys

import numpy as np
import pytest

from maxlite import CompiledCallable, DType, Tensor, TensorLayout, as_subgraph, stage
from maxlite import functional as F
from maxlite._op_table import Op
from maxlite.functional._dispatch import apply
from maxlite.sharding.rules import unary_rule
from tests.compilation.layouts import buffer, layout, tensor
from tests.lowering.stored import mapping


def signature(text):
    return next(line for line in text.splitlines() if "@main(" in line)


def test_named_sizes_stay_named():
    text = str(stage(lambda x, y: (x + 1, y * 2))(layout("n", 2), layout("m")))
    assert re.findall(r'jax.global_constant = "(\w+)"', signature(text)) == ["m", "n"]
    assert "tensor<?x2xf32>" in signature(text)


def test_a_program_without_names_has_none():
    text = signature(str(stage(lambda x: x + 1)(layout(3, 2))))
    assert "tensor<3x2xf32>" in text
    assert "global_constant" not in text
    assert "?" not in text


def test_inputs_and_results_carry_their_paths():
    def f(d, x, *, k):
        w = F.constant_external("layers.0.weight", layout(2))
        return {"sum": d["a"] + w, "rest": [x, k]}

    text = signature(
        str(stage(f, name="my_graph")({"a": layout(2)}, layout(1), k=layout(4)))
    )
    names = re.findall(r'maxlite.name = "([^"]*)"', text)
    assert names == ["layers.0.weight", "0.a", "1", "k"]
    results = re.findall(r'jax.result_info = "([^"]*)"', text)
    assert results == ["rest.0", "rest.1", "sum"]
    assert text.count("%arg") == 4


def test_captured_tensors_are_inputs_and_their_values_are_not_shown():
    w = tensor([98765.5, 1])
    text = str(stage(lambda x: x + w)(layout(2)))
    assert 'maxlite.name = "captured.0"' in signature(text)
    assert "98765" not in text


def test_inputs_that_nothing_uses_are_shown():
    text = signature(str(stage(lambda x, y: x)(layout(2), layout("n", 7))))
    assert 'tensor<?x7xf32> {maxlite.name = "1"}' in text


def test_a_written_argument_is_a_result_that_takes_over_its_memory():
    def f(b, x):
        F.buffer_store(b, b + x)
        return F.concat([x, x])

    text = signature(str(stage(f)(buffer(2), layout(2))))
    assert 'maxlite.name = "0", tf.aliasing_output = 1' in text
    assert re.findall(r'result_info = "([^"]*)"', text) == ["result", "0 (written)"]


def test_subgraphs_are_private_functions_called_by_name():
    @as_subgraph
    def block(x):
        return x * F.constant_external("w", layout(2), is_placeholder=True)

    def model(x):
        for i in range(3):
            x = as_subgraph(block, prefix=f"{i}.", name="layer")(x)
        return x

    text = str(stage(model)(layout("n", 2)))
    assert text.count("func.func private @layer") == 1
    assert text.count("call @layer(") == 3
    assert re.findall(r'maxlite.name = "(\d\.w)"', text) == ["0.w", "1.w", "2.w"]


def test_no_place_in_a_source_file_is_shown():
    text = str(stage(lambda x: F.exp(x) + 1)(layout("n")))
    assert "loc(" not in text
    assert ".py" not in text


def test_one_device_shows_no_shardings():
    text = str(stage(lambda x: x @ x)(layout(2, 2)))
    assert "sdy" not in text
    assert "sharding" not in text


def test_a_sharded_batch_of_any_size_is_shown_on_its_mesh():
    rows, contraction = mapping((2, 2), "S0 R"), mapping((2, 2), "R S0")

    def f(x, w):
        return (x.to(mapping((2, 2), "S0 S1")) @ w).to(rows)

    text = str(
        stage(f)(
            TensorLayout(DType.float32, ["batch", 4], rows),
            TensorLayout(DType.float32, [4, 3], contraction),
        )
    )
    assert 'sdy.mesh @mesh = <["x"=2, "y"=2]>' in text
    assert '[{"x"}, {}]>' in signature(text)
    assert "tensor<?x3xf32>" in signature(text)
    # The pending sum over y: blocks of the contraction, one product each, one sum.
    assert "batching_dims = [0] x [0]" in text
    assert text.count("stablehlo.reduce(") == 1


def test_a_pending_sum_of_any_size_is_shown():
    whole = mapping((2,), "P")
    text = str(stage(lambda x: -x)(TensorLayout(DType.float32, ["n"], whole)))
    assert "tensor<2x?xf32>" in signature(text)


def odd(x):
    """Applies an op that JAX cannot lower at a symbolic size."""

    def fn(array):
        return array * int(array.shape[0])

    op = Op(name="odd", fn=fn, infer=lambda x: (x.dtype, x.shape), rule=unary_rule)
    return apply(op, (x,))


def test_example_sizes_stand_in_and_the_text_says_why():
    text = str(stage(odd)(layout("n", 2)))
    head, _, module = text.partition("\n")
    assert head.startswith("// Shown at n = 2: JAX cannot lower symbolic sizes here (")
    assert "requires a constant" in head
    assert 'tensor<2x2xf32> {maxlite.name = "0"}' in signature(module)


def test_example_sizes_divide_where_they_are_sharded():
    rows = mapping((2, 4), "S0 S0")
    text = str(stage(odd)(TensorLayout(DType.float32, ["n", 2], rows)))
    assert text.startswith("// Shown at n = 16:")
    assert "tensor<16x2xf32>" in signature(text)


def test_an_error_that_is_not_about_sizes_is_raised():
    def fn(array):
        raise KeyError("boo")

    op = Op(name="boo", fn=fn, infer=lambda x: (x.dtype, x.shape), rule=unary_rule)
    for sizes in ([2], ["n"]):
        with pytest.raises(KeyError, match="boo"):
            str(stage(lambda x: apply(op, (x,)))(layout(*sizes)))


def test_printing_changes_nothing():
    staged = stage(lambda x: x * 2)(layout("n"))
    assert str(staged) == str(staged) == repr(staged)
    program = CompiledCallable(staged)
    assert program(Tensor(np.ones(3, np.float32))).to_numpy().tolist() == [2, 2, 2]


def test_printing_first_of_all_starts_jax_with_all_devices():
    code = """
from maxlite import CPU, DType, TensorLayout, compile, stage
layout = TensorLayout(DType.float32, ["n"], CPU())
assert "tensor<?xf32>" in str(stage(lambda x: x + 1)(layout))
assert compile(lambda: 3)()() == 3
CPU(7).to_jax()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)
