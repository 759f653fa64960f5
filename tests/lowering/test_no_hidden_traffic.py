"""A row of a placement rule that needs no move runs without a collective, and is right.

Proved for every row of the op table by brute force: the op is compiled for a mesh of
two under every row of its rule, its HLO is searched, and what it computes is compared
with one device. Pending sums are made of unequal terms.
"""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from maxlite import BufferLayout, DeviceMapping, ShardingError, TensorLayout, stage
from maxlite._backend import x64
from maxlite._op_table import lookup, rows
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph._graph import Graph
from maxlite.graph._spec import spec
from maxlite.lowering import compile_graph, find_collectives
from maxlite.sharding import Partial, Replicated, Sharded
from maxlite.sharding._action import Action
from tests.compilation.layouts import mesh
from tests.lowering.op_samples import SAMPLES, WRITES
from tests.lowering.stored import placed, short, whole

TWO = mesh(2)
SIZE = 3
"""What a size is taken to be that only values tell."""

SENDS = {
    ("concat", 0, "S0 S0 -> S0"),
    ("concat", 1, "S1 S1 -> S1"),
    ("split", 0, "S1 -> S1 S1"),
    ("split", 1, "S0 -> S0 S0"),
}
"""Rows that send data by their nature, with the number of the sample: along the axis
that is cut the pieces change devices."""


PLACED = [name for name, op in rows().items() if op.rule]


@pytest.mark.parametrize("name", PLACED)
def test_a_row_that_needs_no_move_sends_nothing_and_is_right(name):
    if name not in SAMPLES:
        pytest.fail(
            f"op {name!r} has no sample here: add an entry with a small use of it to "
            "SAMPLES in tests/lowering/op_samples.py."
        )
    sends_nothing_and_is_right(name, slice(1))


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in PLACED if len(SAMPLES.get(n, ())) > 1])
def test_other_samples_of_a_row_send_nothing_and_are_right(name):
    sends_nothing_and_is_right(name, slice(1, None))


def sends_nothing_and_is_right(name, which):
    unexpected = []
    for number, sample in list(enumerate(SAMPLES[name]))[which]:
        node = recorded(name, sample)
        values, answers = on_one_device(node)
        for row in placement_rows(node):
            traffic = run(node, row, values, answers)
            if bool(traffic) != ((name, number, text(row)) in SENDS):
                unexpected.append(f"{text(row)} of sample {number}: {traffic}")
    assert not unexpected, "\n".join(unexpected)


def test_no_sample_is_left_over():
    assert [name for name in SAMPLES if name not in rows()] == []


def recorded(name, sample):
    """Records a sample and gives the node of the op."""
    kind = BufferLayout if name in WRITES else TensorLayout
    first, *others = [layout(operand) for operand in sample.operands]
    graph = stage(sample.run)(kind(*first), *(TensorLayout(*o) for o in others)).graph
    return next(node for node in graph.nodes if node.op is lookup(name))


def layout(operand):
    sizes, _, dtype = operand.partition(":")
    return (
        DType[dtype or "float32"],
        [int(size) for size in sizes.split(",") if size],
        CPU(),
    )


def placement_rows(node):
    """Lists the rows of a node's rule that its operands can lie as."""
    choices = [
        [Replicated()] if value.spec.literal else placements_of(value.spec.shape)
        for value in node.inputs
    ]
    numbers = [value.spec.literal for value in node.inputs]
    for lying in itertools.product(*choices):
        specs = [on(v.spec, p) for v, p in zip(node.inputs, lying, strict=True)]
        try:
            listed = node.op.rule(specs, node.op.keywords(node.params), 2)
        except ShardingError:
            continue
        for row in listed:
            if all(
                number or needed == present
                for number, needed, present in zip(
                    numbers, row.needed_inputs, lying, strict=True
                )
            ):
                yield row


def placements_of(shape):
    cuts = [Sharded(axis) for axis, size in enumerate(shape) if size % 2 == 0]
    return [Replicated(), *cuts, Partial()]


def on(described, placement):
    where = DeviceMapping(TWO, (placement,))
    return spec(described.dtype, described.shape, where, literal=described.literal)


def text(row):
    return f"{short(row.needed_inputs)} -> {short(row.outputs)}"


def on_one_device(node):
    """Makes operands for a node, and computes its results without a mesh."""
    values = [
        literal(value) if value.spec.literal else sample_array(value.spec)
        for value in node.inputs
    ]
    params = node.op.keywords(node.params)
    if node.measure is not None:
        params = {**params, node.op.measured: SIZE}
    with x64():
        answers = node.op.fn(*map(jnp.asarray, values), **params)
    return values, answers if isinstance(answers, (tuple, list)) else [answers]


def run(node, row, values, answers):
    """Runs a node under a row, checks its results, and tells of its collectives."""
    executable, arguments, outputs = compiled(node, row, values)
    for array, answer, described in zip(
        executable(arguments), answers, outputs, strict=True
    ):
        where = described.mapping
        sharding = where.named_sharding(described.rank)
        assert array.sharding.is_equivalent_to(sharding, array.ndim), text(row)
        np.testing.assert_allclose(
            whole(array, where), answer, rtol=1e-5, atol=1e-5, err_msg=text(row)
        )
    hlo = executable.compiled.as_text()
    return ", ".join(map(str, find_collectives(hlo, TWO)))


def compiled(node, row, values):
    """Compiles a program of one node under a row, with its stored arguments."""
    graph = Graph(node.op.name)
    inputs, arguments = [], []
    for value, array, needed in zip(
        node.inputs, values, row.needed_inputs, strict=True
    ):
        if value.spec.literal:
            inputs.append(value)
        else:
            described = on(value.spec, needed)
            inputs.append(graph.add_parameter(described))
            arguments.append(placed(array, described.mapping))
    outputs = [on(v.spec, p) for v, p in zip(node.outputs, row.outputs, strict=True)]
    action = Action(
        needed=tuple((p,) for p in row.needed_inputs),
        outputs=tuple((p,) for p in row.outputs),
        moved=False,
    )
    graph.outputs += graph.append(node.op, node.params, tuple(inputs), outputs, action)
    sizes = {} if node.measure is None else {str(node.measure[0]): SIZE}
    return compile_graph(graph, sizes), arguments, outputs


def literal(value):
    return np.asarray(value.origin.value, value.spec.dtype.to_jax())


def sample_array(described):
    """Makes data that every op accepts: positions are 0 and 1, each once in turn."""
    counts = np.indices(described.shape).sum(0)
    if described.dtype is DType.float32:
        rng = np.random.default_rng(len(described.shape))
        return rng.uniform(0.1, 0.9, described.shape).astype(np.float32)
    return (counts % 2).astype(described.dtype.to_jax())
