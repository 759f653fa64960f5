"""Declared functions on a mesh: each device runs them on its shards, as rows say."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl

from maxlite import compile
from maxlite import functional as F
from maxlite.custom import declare
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph import DeviceRef, TensorType
from maxlite.sharding import (
    AxisAssignment,
    Partial,
    Replicated,
    Sharded,
    ShardingError,
    auto_reshard,
)
from maxlite.tensor import Tensor
from tests.functional._cross import check_sharded, place

R, P, S = Replicated(), Partial(), Sharded
GRID = np.arange(16, dtype=np.float32).reshape(4, 4)
Params = Mapping[str, Any]


def rows_rule(
    operands: Sequence[Any], parameters: Params, n: int
) -> list[AxisAssignment]:
    """Rows of the first axis do not know of each other."""
    return [
        AxisAssignment((R,) * len(operands), (R,)),
        AxisAssignment((S(0),) * len(operands), (S(0),)),
    ]


def product_rule(
    operands: Sequence[Any], parameters: Params, n: int
) -> list[AxisAssignment]:
    return [
        AxisAssignment((R, R), (R,)),
        AxisAssignment((S(1), S(0)), (P,)),
        AxisAssignment((P, R), (P,)),
    ]


def called(name: str, *values: Tensor, **parameters: Any) -> Tensor:
    """Calls a function of one result, of dtype and global shape of its first value."""
    first = values[0]
    stated = TensorType(first.dtype, first.shape, DeviceRef.CPU())
    (result,) = F.custom(name, CPU(), values, [stated], parameters)
    return result


@declare("test.whole_softmax")
def whole_softmax(x: jax.Array) -> jax.Array:
    return jax.nn.softmax(x, axis=0)


@declare("test.row_softmax", rule=rows_rule)
def row_softmax(x: jax.Array) -> jax.Array:
    return jax.nn.softmax(x, axis=1)


@declare("test.product", rule=product_rule)
def product(x: jax.Array, y: jax.Array) -> jax.Array:
    return x @ y


def test_without_a_rule_every_value_must_be_whole():
    def softmax(x: Tensor) -> Tensor:
        return called("test.whole_softmax", x)

    check_sharded(softmax, (GRID, "R"), lands="R")
    check_sharded(softmax, (GRID, "R R"), lands="R R")
    with pytest.raises(ShardingError, match=r"custom[\s\S]*auto_reshard"):
        softmax(place(GRID, "S0"))
    with auto_reshard(mode="silent"):
        check_sharded(softmax, (GRID, "S0"), lands="R")


@pytest.mark.parametrize("given", ["R", "S0", "S0 R", "S0 S0"])
def test_results_lie_as_the_rows_say(given):
    check_sharded(lambda x: called("test.row_softmax", x), (GRID, given), lands=given)


@pytest.mark.parametrize(
    ("x", "y", "lands"),
    [("S1", "S0", "P"), ("P", "R", "P"), ("S1 S1", "S0 S0", "P P"), ("R", "R", "R")],
)
def test_results_may_be_pending_sums(x, y, lands):
    check_sharded(
        lambda x, y: called("test.product", x, y), (GRID, x), (GRID, y), lands=lands
    )


def test_each_device_runs_the_function_on_its_own_shard():
    seen: list[Any] = []

    @declare("test.local", rule=rows_rule)
    def local(x: jax.Array) -> jax.Array:
        seen.append(x.shape)
        return jnp.cumsum(x[:, ::-1], axis=1)

    program = compile(lambda x: called("test.local", x))(place(GRID, "S0").layout)
    assert seen[-1] == (2, 4)
    assert program.collectives() == []
    want = GRID[:, ::-1].cumsum(axis=1)
    assert program(place(GRID, "S0")).to_numpy().tolist() == want.tolist()


def test_a_pallas_kernel_is_not_gathered():
    @declare("test.pallas_double", rule=rows_rule)
    def pallas_double(x: jax.Array) -> jax.Array:
        def kernel(x: Any, out: Any) -> None:
            out[...] = x[...] * 2

        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return pl.pallas_call(kernel, out_shape=shape, interpret=True)(x)

    def double(x: Tensor) -> Tensor:
        return called("test.pallas_double", x)

    check_sharded(double, (GRID, "S0"), lands="S0")
    assert compile(double)(place(GRID, "S0").layout).collectives() == []


def test_a_rule_is_given_the_parameters_and_the_size_of_the_mesh_axis():
    seen: list[tuple[Params, int]] = []

    def rule(
        operands: Sequence[Any], parameters: Params, n: int
    ) -> list[AxisAssignment]:
        seen.append((parameters, n))
        return rows_rule(operands, parameters, n)

    declare("test.asked", lambda x, *, k: x * k, rule=rule)
    called("test.asked", place(GRID, "S0"), k=1.5)
    assert seen == [({"k": 1.5}, 2)]


def test_a_row_places_every_result():
    declare("test.unplaced", lambda x: (x, x), rule=rows_rule)
    x = place(GRID, "S0")
    types = [TensorType(DType.float32, [4, 4], DeviceRef.CPU())] * 2
    with pytest.raises(ShardingError, match="must place each of the 2 results"):
        F.custom("test.unplaced", CPU(), [x], types)


def test_values_on_one_device_stand_beside_those_on_a_mesh():
    whole = Tensor(GRID)
    got = called("test.product", place(GRID, "R"), whole)
    assert got.placements == (R,)
    assert got.to_numpy().tolist() == (GRID @ GRID).tolist()


def test_the_device_is_one_of_the_mesh():
    stated = TensorType(DType.float32, [4, 4], DeviceRef.CPU(7))
    with pytest.raises(ValueError, match="device must be one of the mesh"):
        F.custom("test.row_softmax", CPU(7), [place(GRID, "S0")], [stated])


def test_a_shard_of_another_rank_is_refused():
    declare("test.flat", lambda x: x.ravel(), rule=rows_rule)
    with pytest.raises(ValueError, match=r"got float32\[16\] for float32\[4, 4\]"):
        called("test.flat", place(GRID, "S0"))
