"""Every row is true: what each device computes from its pieces makes up the result.

The devices are simulated with numpy. Operands are cut, copied, or torn into unequal
terms as a row says; the op runs on the pieces of each device; the pieces of the result
are put together as the row says, and must be what one device computes.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from maxlite.dtype import DType
from maxlite.sharding import (
    DeviceMapping,
    Partial,
    Placement,
    Replicated,
    Sharded,
    rules,
)
from tests.sharding.meshes import cpu_mesh
from tests.sharding.planning import Operand, short

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maxlite.sharding._assignment import AxisAssignment, Rule

MESH = cpu_mesh(2)


@dataclass(frozen=True)
class Case:
    """An op in numpy, with its rule.

    Attributes:
        rule: The rule.
        fn: The op, on whole operands and on pieces alike.
        shapes: Of the operands; all sizes are even but for 1.
        params: Static parameters for the rule.
        integers: Operands that are positions, by index: one more than the largest.
        crosses: Whether a row moves elements between devices, so that the compiler has
            to see to it; such rows are not checked here.
    """

    rule: Rule
    fn: Callable[..., Any]
    shapes: Sequence[tuple[int, ...]]
    params: dict[str, Any] = field(default_factory=dict[str, Any])
    integers: dict[int, int] = field(default_factory=dict[int, int])
    crosses: Callable[[AxisAssignment], bool] = lambda row: False


def along(axis: int) -> Callable[[AxisAssignment], bool]:
    """Finds the rows that cut this axis of the first operand."""
    return lambda row: row.needed_inputs[0] == Sharded(axis)


def top_k(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Finds the two largest of each row, and where they are."""
    order = np.argsort(-x, axis=1)[:, :2]
    return np.take_along_axis(x, order, axis=1), order


def put_along_first_axis(x: np.ndarray, updates: np.ndarray, indices: np.ndarray):
    """Writes updates into a copy."""
    result = x.copy()
    np.put_along_axis(result, indices, updates, axis=0)
    return result


def layer_norm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Normalises over the last axis."""
    centred = x - x.mean(-1, keepdims=True)
    return centred / centred.std(-1, keepdims=True) * gamma + beta


CASES = {
    "exp": Case(rules.unary_rule, np.exp, [(4, 6)]),
    "negate": Case(rules.linear_unary_rule, np.negative, [(4, 6)]),
    "add": Case(rules.linear_binary_rule, np.add, [(4, 6), (4, 6)]),
    "add-vector": Case(rules.linear_binary_rule, np.subtract, [(4, 6), (6,)]),
    "add-outer": Case(rules.linear_binary_rule, np.add, [(4, 1), (1, 6)]),
    "add-row": Case(rules.linear_binary_rule, np.add, [(1, 6), (2, 4, 6)]),
    "mul": Case(rules.mul_rule, np.multiply, [(4, 6), (4, 1)]),
    "mul-scalar": Case(rules.mul_rule, np.multiply, [(4, 6), ()]),
    "div": Case(rules.div_rule, np.divide, [(4, 6), (6,)]),
    "pow": Case(rules.binary_rule, np.float_power, [(4, 6), (4, 6)]),
    "where": Case(
        rules.ternary_rule,
        lambda c, x, y: np.where(c > 1, x, y),
        [(6,), (4, 6), (4, 1)],
    ),
    "matmul": Case(rules.matmul_rule, np.matmul, [(4, 6), (6, 8)]),
    "matmul-batch": Case(rules.matmul_rule, np.matmul, [(2, 4, 6), (2, 6, 8)]),
    "matmul-one-batch": Case(rules.matmul_rule, np.matmul, [(2, 4, 6), (6, 8)]),
    "matmul-other-batch": Case(rules.matmul_rule, np.matmul, [(4, 6), (2, 6, 8)]),
    "matmul-batches": Case(rules.matmul_rule, np.matmul, [(4, 1, 4, 6), (2, 6, 8)]),
    "dot": Case(rules.matmul_rule, np.matmul, [(6,), (6,)]),
    "matvec": Case(rules.matmul_rule, np.matmul, [(2, 4, 6), (6,)]),
    "vecmat": Case(rules.matmul_rule, np.matmul, [(6,), (2, 6, 4)]),
    "outer": Case(rules.outer_rule, np.outer, [(4,), (6,)]),
    "sum": Case(
        rules.sum_rule,
        lambda x: x.sum(1, keepdims=True),
        [(2, 4, 6)],
        {"axes": (1,), "keepdims": True},
    ),
    "mean": Case(
        rules.reduce_rule,
        lambda x: x.mean(1, keepdims=True),
        [(2, 4, 6)],
        {"axes": (1,), "keepdims": True},
    ),
    "argmax": Case(
        rules.reduce_rule,
        lambda x: x.argmax(0, keepdims=True),
        [(4, 6)],
        {"axes": (0,), "keepdims": True},
    ),
    "sum-all": Case(
        rules.sum_rule,
        lambda x: x.sum((0, 2)),
        [(2, 4, 6)],
        {"axes": (0, 2), "keepdims": False},
    ),
    "norm": Case(
        rules.reduce_rule,
        lambda x: np.sqrt((x**2).sum((0, 2))),
        [(2, 4, 6, 8)],
        {"axes": (0, 2), "keepdims": False},
    ),
    "count_nonzero": Case(
        rules.count_rule,
        lambda x: (x > 1).sum(1),
        [(2, 4, 6)],
        {"axes": (1,), "keepdims": False},
    ),
    "cumsum": Case(rules.along_axis_rule, lambda x: x.cumsum(0), [(4, 6)], {"axis": 0}),
    "top_k": Case(rules.top_k_rule, top_k, [(4, 6)], {"axis": 1}),
    "argsort": Case(rules.all_replicated_rule, np.argsort, [(6,)]),
    "transpose": Case(
        rules.transpose_rule,
        lambda x: x.swapaxes(0, 2),
        [(2, 4, 6)],
        {"axis_1": 0, "axis_2": 2},
    ),
    "permute": Case(
        rules.permute_rule,
        lambda x: x.transpose(2, 0, 1),
        [(2, 4, 6)],
        {"dims": (2, 0, 1)},
    ),
    "unsqueeze": Case(
        rules.unsqueeze_rule, lambda x: x[:, None], [(4, 6)], {"axis": 1}
    ),
    "squeeze": Case(
        rules.squeeze_rule, lambda x: x.squeeze(1), [(4, 1, 6)], {"axis": 1}
    ),
    "flatten": Case(
        rules.flatten_rule,
        lambda x: x.reshape(x.shape[0], math.prod(x.shape[1:3]), x.shape[3]),
        [(2, 4, 6, 8)],
        {"start_dim": 1, "end_dim": 2},
    ),
    "concat": Case(
        rules.concat_rule,
        lambda *xs: np.concatenate(xs, axis=0),
        [(4, 6), (2, 6)],
        {"axis": 0},
        crosses=along(0),
    ),
    "stack": Case(
        rules.stack_rule, lambda *xs: np.stack(xs, axis=1), [(4, 6)] * 2, {"axis": 1}
    ),
    "split": Case(
        rules.split_rule,
        lambda x: np.split(x, [2], axis=0),
        [(4, 6)],
        {"axis": 0, "sizes": (2, 2)},
        crosses=along(0),
    ),
    "chunk": Case(
        rules.chunk_rule,
        lambda x: np.split(x, 2, axis=1),
        [(4, 6)],
        {"axis": 1, "sizes": (3, 3)},
    ),
    "tile": Case(
        rules.tile_rule, lambda x: np.tile(x, (2, 1)), [(4, 6)], {"repeats": (2, 1)}
    ),
    "repeat_interleave": Case(
        rules.repeat_interleave_rule,
        lambda x: x.repeat(2, axis=1),
        [(4, 6)],
        {"axis": 1},
    ),
    "pad": Case(
        rules.pad_rule,
        lambda x: np.pad(x, ((1, 2), (0, 0))),
        [(4, 6)],
        {"paddings": (1, 2, 0, 0), "mode": "constant", "value": 0},
    ),
    "pad-value": Case(
        rules.pad_rule,
        lambda x: np.pad(x, ((1, 2), (0, 0)), constant_values=3),
        [(4, 6)],
        {"paddings": (1, 2, 0, 0), "mode": "constant", "value": 3},
    ),
    "pad-reflect": Case(
        rules.pad_rule,
        lambda x: np.pad(x, ((0, 0), (1, 2)), mode="reflect"),
        [(4, 6)],
        {"paddings": (0, 0, 1, 2), "mode": "reflect", "value": 0},
    ),
    "band_part": Case(rules.band_part_rule, np.triu, [(2, 4, 6)]),
    "slice": Case(
        rules.slice_rule,
        lambda x: x[1, :, None, 1:4:2],
        [(2, 4, 6, 8)],
        {"index": (("int", 1), ("slice", None, None, 1), ("new",), ("slice", 1, 4, 2))},
    ),
    "slice-dynamic": Case(
        rules.slice_rule,
        lambda x, i: x[:, i],
        [(2, 4, 6), ()],
        {"index": (("slice", None, None, 1), ("dynamic",))},
        integers={1: 4},
    ),
    "gather": Case(
        rules.gather_rule,
        lambda x, i: np.take(x, i, axis=1),
        [(2, 4, 6), (2, 8)],
        {"axis": 1},
        integers={1: 4},
    ),
    "gather_nd": Case(
        rules.gather_nd_rule,
        lambda x, i: np.take_along_axis(x, i, axis=1)[:, 0],
        [(4, 6), (4, 1)],
        {"batch_dims": 1},
        integers={1: 6},
    ),
    "scatter": Case(
        rules.scatter_rule,
        put_along_first_axis,
        [(4, 6), (1, 6), (1, 6)],
        {"axis": 0},
        integers={2: 4},
    ),
    "layer_norm": Case(rules.norm_rule, layer_norm, [(2, 4, 6), (6,), (6,)]),
}


def operand_of(array: np.ndarray, placement: Placement) -> Operand:
    """Describes an operand to the rule."""
    mapping = DeviceMapping(MESH, (placement,))
    return Operand(array.shape, DType.from_numpy(array.dtype), mapping)


def pieces(
    array: np.ndarray, placement: Placement, rng: np.random.Generator
) -> list[np.ndarray]:
    """Makes what each device holds."""
    if isinstance(placement, Sharded):
        return np.array_split(array, 2, axis=placement.axis)
    if isinstance(placement, Partial):
        part = rng.normal(size=array.shape)
        return [part, array - part]
    return [array, array.copy()]


def together(parts: Sequence[np.ndarray], placement: Placement) -> np.ndarray:
    """Makes the value of which the devices hold the pieces."""
    if isinstance(placement, Sharded):
        return np.concatenate(parts, axis=placement.axis)
    if isinstance(placement, Partial):
        return parts[0] + parts[1]
    assert isinstance(placement, Replicated)
    assert_allclose(parts[0], parts[1])
    return parts[0]


def results_of(value: Any) -> list[np.ndarray]:
    """Makes one result a list, as several are."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


@pytest.mark.parametrize("name", CASES)
def test_pieces_make_up_the_result(name: str, rng: np.random.Generator):
    case = CASES[name]
    arrays = [
        rng.integers(case.integers[i], size=shape)
        if i in case.integers
        else np.asarray(rng.uniform(0.5, 2, size=shape))
        for i, shape in enumerate(case.shapes)
    ]
    operands = [operand_of(array, Replicated()) for array in arrays]
    want = results_of(case.fn(*arrays))
    rows = case.rule(operands, case.params, 2)
    for row in itertools.filterfalse(case.crosses, rows):
        held = [
            pieces(array, placement, rng)
            for array, placement in zip(arrays, row.needed_inputs, strict=True)
        ]
        got = [results_of(case.fn(*device)) for device in zip(*held, strict=True)]
        text = [*map(short, row.needed_inputs)]
        for i, placement in enumerate(row.outputs):
            value = together([device[i] for device in got], placement)
            assert_allclose(value, want[i], rtol=1e-9, atol=1e-12, err_msg=str(text))


@pytest.mark.parametrize(
    ("shape", "axis", "target", "local"),
    [
        ((4, 6), 0, (24,), (12,)),
        ((4, 6), 0, (8, 3), (4, 3)),
        ((4, 6), 0, (2, 2, 6), (1, 2, 6)),
        ((4, 6), 0, (6, 4), (3, 4)),
        ((2, 4, 6), 1, (2, 24), (2, 12)),
        ((4, 6), 1, (4, 2, 3), (4, 1, 3)),
    ],
)
def test_reshape_keeps_pieces_together(shape, axis, target, local, rng):
    x = rng.normal(size=shape)
    operand = operand_of(x, Sharded(axis))
    rows = rules.reshape_rule([operand], {"shape": target}, 2)
    (row,) = (row for row in rows if row.needed_inputs == (Sharded(axis),))
    parts = [part.reshape(local) for part in pieces(x, Sharded(axis), rng)]
    assert_allclose(together(parts, row.outputs[0]), x.reshape(target))


def test_broadcast_to_keeps_pieces_together(rng):
    x = rng.normal(size=(4, 1))
    operand = operand_of(x, Sharded(0))
    rows = rules.broadcast_to_rule([operand], {"shape": (3, 4, 5)}, 2)
    assert [*map(short, (row.needed_inputs[0] for row in rows))] == ["R", "S0", "P"]
    (row,) = (row for row in rows if row.needed_inputs == (Sharded(0),))
    parts = [np.broadcast_to(part, (3, 2, 5)) for part in pieces(x, Sharded(0), rng)]
    assert_allclose(together(parts, row.outputs[0]), np.broadcast_to(x, (3, 4, 5)))
