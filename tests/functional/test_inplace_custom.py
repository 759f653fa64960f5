"""Declared functions that write: who sees it, whose memory it is, what is refused."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
import pytest

from maxlite import compile, load
from maxlite import functional as F
from maxlite.custom import declare
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph import DeviceRef, TensorType
from maxlite.sharding import (
    AxisAssignment,
    BufferLayout,
    Replicated,
    Sharded,
    ShardingError,
    TensorLayout,
    auto_reshard,
)
from maxlite.tensor import Tensor
from tests.functional._cross import place

SCALAR = TensorType(DType.float32, [], DeviceRef.CPU())


@declare("test.add_to", inplace=(0,))
def add_to(total: jax.Array, x: jax.Array, *, times: int = 1) -> jax.Array:
    return total + x * times


@declare("test.exchange", inplace=(2, 0))
def exchange(
    a: jax.Array, k: jax.Array, b: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Gives the new values of b and a, and the sum of both."""
    return a * k, b * k, (a + b).sum()


def accumulate(total: Tensor, x: Tensor, **parameters: Any) -> None:
    results = F.inplace_custom(
        "test.add_to", CPU(), [total, x], parameters=parameters or None
    )
    assert results == []


def exchanged(a: Tensor, k: Tensor, b: Tensor) -> Tensor:
    (total,) = F.inplace_custom("test.exchange", CPU(), [a, k, b], [SCALAR])
    return total


def values(x: Tensor) -> Any:
    return x.to_numpy().tolist()


def pointer(x: Tensor) -> int:
    return x._stored().unsafe_buffer_pointer()


# Eager ------------------------------------------------------------------------------


def test_every_name_of_a_written_tensor_sees_it():
    total = Tensor([1.0, 2.0])
    same, before = total, total * 1
    accumulate(total, Tensor([10.0, 20.0]), times=2)
    assert values(total) == values(same) == [21.0, 42.0]
    assert values(before) == [1.0, 2.0]


def test_several_operands_may_be_written_and_results_come_after_them():
    a, b = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    total = exchanged(a, Tensor(10.0), b)
    assert (values(a), values(b)) == ([30.0, 40.0], [10.0, 20.0])
    assert total.item() == 10


@pytest.mark.parametrize("held", [[], [0], [2], [0, 2]])
def test_memory_is_reused_where_nothing_else_holds_it(held):
    big = np.arange(100_000, dtype=np.float32)
    tensors = [Tensor(big), Tensor(2.0), Tensor(big * 10)]
    others = [copy.copy(tensors[i]) for i in held]
    before = [pointer(x) for x in tensors]
    exchanged(*tensors)
    after = [pointer(x) for x in tensors]
    free = {0, 2} - set(held)
    assert {after[i] for i in free} <= {before[i] for i in free}
    np.testing.assert_array_equal(tensors[0].to_numpy(), big * 20)
    np.testing.assert_array_equal(tensors[2].to_numpy(), big * 2)
    for i, other in zip(held, others, strict=True):
        np.testing.assert_array_equal(other.to_numpy(), big * (10 if i else 1))


def test_a_tensor_that_is_read_as_well_is_read_as_it_was():
    total = Tensor([1.0, 2.0])
    accumulate(total, total)
    assert values(total) == [2.0, 4.0]


def test_an_array_that_is_shared_is_not_written_over():
    array = np.array([1.0, 2.0], np.float32)
    total = Tensor(array)
    view = total.to_numpy()
    accumulate(total, Tensor([1.0, 1.0]))
    assert (array.tolist(), view.tolist()) == ([1.0, 2.0], [1.0, 2.0])
    assert values(total) == [2.0, 3.0]


# Recorded ---------------------------------------------------------------------------


def test_a_lazy_block_writes_when_it_is_computed():
    total, x = Tensor([1.0, 2.0]), Tensor([10.0, 20.0])
    with F.lazy():
        before = total * 1
        accumulate(total, x)
        accumulate(total, x)
        after = total * 1
    assert not total.real
    assert values(after) == values(total) == [21.0, 42.0]
    assert values(before) == [1.0, 2.0]


def test_a_program_writes_to_its_buffer_arguments():
    def step(total: Tensor, x: Tensor) -> Tensor:
        accumulate(total, x, times=3)
        return total * 1

    program = compile(step)(
        BufferLayout(DType.float32, ["n"], CPU()),
        TensorLayout(DType.float32, ["n"], CPU()),
    )
    total, x = Tensor([1.0, 2.0]), Tensor([10.0, 20.0])
    for times in (1, 2):
        assert values(program(total, x)) == values(total)
        assert values(total) == [1.0 + 30 * times, 2.0 + 60 * times]


def test_a_program_that_writes_is_kept_in_a_file(tmp_path):
    buffer, layout = BufferLayout(DType.float32, [2], CPU()), Tensor(1.0).layout
    compile(exchanged)(buffer, layout, buffer).export_mef(tmp_path / "w.mef")
    a, b = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    assert load(tmp_path / "w.mef")(a, Tensor(10.0), b).item() == 10
    assert (values(a), values(b)) == ([30.0, 40.0], [10.0, 20.0])


def test_other_arguments_of_a_program_cannot_be_written_to():
    layout = TensorLayout(DType.float32, [2], CPU())
    with pytest.raises(TypeError, match="staged by TensorLayout and cannot be written"):
        compile(accumulate)(layout, layout)


# Errors -----------------------------------------------------------------------------

X, Y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


def test_there_must_be_something_to_write_to():
    with pytest.raises(TypeError, match="values must hold a tensor to write to"):
        F.inplace_custom("test.add_to", CPU(), [])
    with pytest.raises(ValueError, match=r"got 2 values for positions \[2, 0\]"):
        F.inplace_custom("test.exchange", CPU(), [X, Y])


def test_each_op_has_its_own_kind_of_function():
    declare("test.pure", lambda x: x)
    with pytest.raises(ValueError, match=r"got 'test\.pure', which writes to none"):
        F.inplace_custom("test.pure", CPU(), [X])
    with pytest.raises(ValueError, match=r"writes to \[0\]\. Use F\.inplace_custom"):
        F.custom("test.add_to", CPU(), [X, Y], [X.type])
    with pytest.raises(ValueError, match="inplace_custom: name must be that of a decl"):
        F.inplace_custom("test.none_such", CPU(), [X])


def test_a_tensor_is_written_once():
    with pytest.raises(ValueError, match=r"got one as values\[2\] and values\[0\]"):
        exchanged(X, Tensor(1.0), X)
    assert values(X) == [1.0, 2.0]


def test_a_tensor_is_written_where_it_lies():
    away = Tensor([1.0, 2.0]).to(CPU(1))
    with pytest.raises(ValueError, match=r"written where it lies, got values\[0\] on"):
        accumulate(away, X)
    F.inplace_custom("test.add_to", CPU(1), [away, X])
    assert values(away) == [2.0, 4.0]
    assert away.device == CPU(1)


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (lambda x: x[:1], r"float32\[1\] for float32\[2\] as new value of operand 0"),
        (lambda x: x > 0, r"bool\[2\] for float32\[2\] as new value of operand 0"),
        (lambda x: (x, x), "must return 1 arrays, 1 written operands.*got 2"),
    ],
)
def test_a_written_operand_keeps_its_type(fn, message):
    declare("test.mistaken", fn, inplace=(0,))
    with pytest.raises(ValueError, match=f"test.mistaken: .*{message}"):
        F.inplace_custom("test.mistaken", CPU(), [X])
    assert values(X) == [1.0, 2.0]


# On a mesh --------------------------------------------------------------------------

GRID = np.arange(16, dtype=np.float32).reshape(4, 4)
WHOLE, CUT = Replicated(), Sharded(0)


def rule(
    operands: Sequence[Any], parameters: Mapping[str, Any], n: int
) -> list[AxisAssignment]:
    return [
        AxisAssignment((WHOLE, WHOLE), (WHOLE,)),
        AxisAssignment((CUT, CUT), (CUT,)),
    ]


declare("test.add_to_shards", add_to, inplace=(0,), rule=rule)


@pytest.mark.parametrize("given", ["R", "S0", "S0 S0", "R S0"])
def test_a_sharded_tensor_stays_as_it_lies(given):
    total, x = place(GRID, given), place(GRID, given)
    F.inplace_custom("test.add_to_shards", CPU(), [total, x], parameters={"times": 2})
    assert total.placements == x.placements
    assert values(total) == (GRID * 3).tolist()


def test_a_write_never_moves_what_it_writes_to():
    total, x = place(GRID, "S0"), place(GRID, "R")
    with auto_reshard(mode="silent"):
        F.inplace_custom("test.add_to_shards", CPU(), [total, x])
        assert values(total) == (GRID * 2).tolist()
        with pytest.raises(ShardingError, match="a write must leave its target as it"):
            F.inplace_custom("test.add_to", CPU(), [total, x])
    with pytest.raises(ShardingError, match=r"inplace_custom[\s\S]*auto_reshard"):
        F.inplace_custom("test.add_to", CPU(), [total, x])
