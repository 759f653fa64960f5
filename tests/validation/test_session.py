"""What is counted, and on which line."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from maxlite import functional as F
from maxlite import random
from maxlite.compilation import compile
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.executor import CompilingExecutor, set_default_executor
from maxlite.realization_context import (
    EagerRealizationContext,
    LazyRealizationContext,
    set_default_realization_context,
)
from maxlite.sharding import DeviceMapping, DeviceMesh, Sharded, TensorLayout
from maxlite.tensor import Tensor, realization_context
from maxlite.validation import EagerUsageValidator
from tests.validation.reports import (
    BREAK,
    COPY,
    EAGER,
    UNREAD,
    Reports,
    doubled,
    grouped,
    here,
    pending,
)

LAYOUT = TensorLayout(DType.float32, [2], CPU())


def closing_over(y: Tensor) -> Callable[..., Any]:
    return compile(lambda x: x + y)(LAYOUT)


# Eager executions -------------------------------------------------------------------


def test_ops_that_run_at_once_are_counted_by_line(x: Tensor, seen: Reports) -> None:
    often = ""
    with EagerUsageValidator():
        rare, first = x + 1, here()
        for _ in range(3):
            _, often = rare * 2, here()
    assert list(seen()[EAGER].items()) == [(often, 3), (first, 1)]


MASK = Tensor([True, False], dtype=DType.bool)

ONE_EXECUTION: dict[str, Callable[[Tensor], Any]] = {
    "op": lambda x: x + 1,
    "op of three": lambda x: F.where(MASK, x, x),
    "several results": lambda x: F.split(x, [1, 1], 0),
    "composite": lambda x: F.softmax(x),
    "group": lambda x: grouped(x),
    "pure group": lambda x: doubled(x),
    "write": lambda x: x.__setitem__(0, 5.0),
    "creation": lambda x: Tensor.zeros([2]),
    "random": lambda x: random.normal([2]),
}


@pytest.mark.parametrize("what", ONE_EXECUTION)
def test_a_call_is_one_execution_on_the_line_of_the_call(
    what: str, x: Tensor, seen: Reports
) -> None:
    run = ONE_EXECUTION[what]
    with EagerUsageValidator():
        run(x)
        run(x)
    ((line, count),) = seen()[EAGER].items()
    assert count == 2
    assert line.startswith(__file__)


def test_an_ensured_block_is_one_execution_where_it_ends(
    x: Tensor, seen: Reports
) -> None:
    with EagerUsageValidator(), F.ensure_context():
        y = x + 1
        z, above = y * 2, here()
    assert z.real
    file, _, line = above.rpartition(":")
    assert seen()[EAGER] == {f"{file}:{int(line) - 2}": 1}


def test_what_is_recorded_compiled_or_data_is_no_execution(
    x: Tensor, program: Callable[..., Any], seen: Reports
) -> None:
    ctx = EagerRealizationContext()
    with EagerUsageValidator():
        Tensor([1.0, 2.0])
        with F.lazy():
            y = x + 1
            y[0] = 3.0
            random.normal([2])
        with ctx, realization_context(ctx):
            z = x * 2
        program(x)
        compile(lambda x: x * 3)(LAYOUT)
    assert (y.real, z.real) == (False, True)
    assert EAGER not in seen()


def test_an_op_that_fails_is_not_counted(x: Tensor, seen: Reports) -> None:
    with EagerUsageValidator(), pytest.raises(ValueError, match="matmul"):
        _ = x @ Tensor([1.0, 2.0, 3.0])
    assert seen() == {}


def test_an_executor_of_the_users_is_counted_once_per_op(
    x: Tensor, seen: Reports
) -> None:
    class Counting:
        calls = 0

        def execute(self, graph: Any, inputs: Any) -> Any:
            self.calls += 1
            return CompilingExecutor().execute(graph, inputs)

    with set_default_executor(Counting()) as counting, EagerUsageValidator():
        _ = x + 1
        grouped(x)
        x[0] = 3.0
        assert pending(x).to_numpy().tolist() == [4.0, 3.0]
    assert isinstance(counting, Counting)
    assert counting.calls == 4
    assert sum(seen()[EAGER].values()) == 3


def test_with_lazy_defaults_nothing_is_an_execution(x: Tensor, seen: Reports) -> None:
    lazily = set_default_realization_context(LazyRealizationContext)
    with lazily, EagerUsageValidator():
        y = x + 1
        _, at = y.to_numpy(), here()
    assert seen() == {BREAK: {at: 1}, COPY: {at: 1}}


# Graph breaks -----------------------------------------------------------------------


BREAKING: dict[str, Callable[[Tensor, Callable[..., Any]], Any]] = {
    "read": lambda y, program: y.to_numpy(),
    "in": lambda y, program: 3.0 in y,
    "eager op": lambda y, program: y * 2,
    "another block": lambda y, program: pending(y),
    "group": lambda y, program: grouped(y),
    "trace": lambda y, program: closing_over(y),
    "compiled call": lambda y, program: program(y),
    "write": lambda y, program: y.__setitem__(0, 3.0),
    "dlpack": lambda y, program: np.from_dlpack(y),
}


@pytest.mark.parametrize("how", BREAKING)
def test_whoever_needs_a_pending_tensor_breaks_its_block_once(
    how: str, x: Tensor, program: Callable[..., Any], seen: Reports
) -> None:
    y, z = pending(x), pending(x)
    with EagerUsageValidator():
        for tensor in (y, z, y):
            BREAKING[how](tensor, program)
    assert sum(seen()[BREAK].values()) == 2


def test_a_break_is_on_the_line_that_needs_the_value(x: Tensor, seen: Reports) -> None:
    y, z = pending(x), pending(x)
    with EagerUsageValidator():
        _, read = y.to_numpy(), here()
        _, op = z * 2, here()
    assert seen()[BREAK] == {read: 1, op: 1}


def test_what_is_awaited_is_no_break(x: Tensor, seen: Reports) -> None:
    ctx = LazyRealizationContext()
    with ctx, realization_context(ctx):
        z = x * 2

    async def main(y: Tensor) -> Tensor:
        await ctx.realize_all()
        return await y

    with EagerUsageValidator():
        y = asyncio.run(main(pending(x)))
        assert repr([y, z, pending(x)])
        assert pending(x).shape == [2]
    assert seen() == {}


# Unread outputs ---------------------------------------------------------------------


def test_a_result_that_nobody_reads_is_counted_where_it_was_recorded(
    x: Tensor, seen: Reports
) -> None:
    with EagerUsageValidator():
        with F.lazy():
            y, unread = x + 1, here()
            z = y * 2
        z.to_numpy()
        assert y.real
    assert seen()[UNREAD] == {f"{unread}  float32[2]": 1}


def test_a_result_that_was_dropped_before_is_not_computed_and_one_after_is_unread(
    x: Tensor, seen: Reports
) -> None:
    unread = ""
    with EagerUsageValidator():
        for _ in range(3):
            with F.lazy():
                dropped = x + 1
                later, unread = x * 3, here()
                z = dropped * 2
            del dropped
            z.to_numpy()
            del later
            gc.collect()
    assert seen()[UNREAD] == {f"{unread}  float32[2]": 3}


def test_results_of_compiled_calls_are_counted_where_they_are_called(
    x: Tensor, program: Callable[..., Any], seen: Reports
) -> None:
    unread = ""
    with EagerUsageValidator():
        for _ in range(3):
            (y, _), unread = program(x), here()
            y.to_numpy()
    assert seen()[UNREAD] == {f"{unread}  float32[2]": 3}


def test_a_context_that_was_made_before_counts_where_it_computes(
    x: Tensor, seen: Reports
) -> None:
    with F.lazy():
        y = x + 1
        z = x * 2
    with EagerUsageValidator():
        _, at = z.to_numpy(), here()
    assert y.real
    assert seen()[UNREAD] == {f"{at}  float32[2]": 1}


USES: dict[str, Callable[[Tensor, Callable[..., Any]], Any]] = {
    "read": lambda y, program: y.to_numpy(),
    "repr": lambda y, program: repr(y),
    "to_jax": lambda y, program: y.to_jax(),
    "op": lambda y, program: y + 1,
    "op of three": lambda y, program: F.where(y > 0, y, y),
    "block": lambda y, program: pending(y),
    "group": lambda y, program: grouped(y),
    "pure group": lambda y, program: doubled(y),
    "trace": lambda y, program: closing_over(y),
    "write": lambda y, program: y.__setitem__(0, 3.0),
}


@pytest.mark.parametrize("how", USES)
def test_a_result_that_is_used_is_not_unread(
    how: str, x: Tensor, program: Callable[..., Any], seen: Reports
) -> None:
    with EagerUsageValidator():
        y, z = program(x)
        USES[how](y, program)
        USES[how](z, program)
    assert UNREAD not in seen()


def test_arguments_of_a_compiled_call_are_used(
    x: Tensor, program: Callable[..., Any], seen: Reports
) -> None:
    with EagerUsageValidator():
        with F.lazy():
            y = x + 1
            z = x * 2
        added = compile(lambda a, b: a + b)(LAYOUT, LAYOUT)
        added(y, z).to_numpy()
    assert UNREAD not in seen()


def test_a_write_in_a_block_is_an_output_and_none_when_it_is_read(
    x: Tensor, seen: Reports
) -> None:
    read, unread = Tensor([0.0]), Tensor([0.0])
    with EagerUsageValidator():
        with F.lazy():
            read[0] = 1.0
            unread[0] = 2.0
        assert read.to_numpy().tolist() == [1.0]
    assert sum(seen()[UNREAD].values()) == 1
    assert unread.to_numpy().tolist() == [2.0]


# Copies to the host -----------------------------------------------------------------


COPIES: dict[str, Callable[[Tensor], Any]] = {
    "to_numpy": lambda x: x.to_numpy(),
    "item": lambda x: x.item(),
    "bool": bool,
    "float": float,
    "asarray": np.asarray,
    "from_dlpack": np.from_dlpack,
    "in": lambda x: 3.0 in x,
    "iteration": lambda x: [*x.to_numpy()],
}


@pytest.mark.parametrize("how", COPIES)
def test_a_read_is_one_copy(how: str, seen: Reports) -> None:
    x = Tensor([1.0])
    with EagerUsageValidator():
        for _ in range(2):
            COPIES[how](x)
    ((line, count),) = seen()[COPY].items()
    assert count == 2
    assert line.startswith(__file__)


def test_text_and_facts_are_no_copies(x: Tensor, seen: Reports) -> None:
    with EagerUsageValidator():
        assert all(map(str, [repr(x), x, x.shape, x.dtype, hash(x), x.to_jax()]))
    assert seen() == {}


def test_pending_sums_are_a_part_of_the_read(seen: Reports) -> None:
    mesh = DeviceMesh((CPU(), CPU()), (2,), ("x",))
    x = Tensor([[1.0, 2.0]]).to(DeviceMapping(mesh, (Sharded(1),)))
    with EagerUsageValidator():
        total, op = F.sum(x, axis=1), here()
        assert total.mapping.partial_axes
        values, read = total.to_numpy(), here()
    assert values.tolist() == [[3.0]]
    assert seen() == {EAGER: {op: 1}, COPY: {read: 1}}


def test_ops_on_shards_are_counted_like_others(seen: Reports) -> None:
    mesh = DeviceMesh((CPU(), CPU()), (2,), ("x",))
    x = Tensor([1.0, 2.0]).to(DeviceMapping(mesh, (Sharded(0),)))
    with EagerUsageValidator():
        y, op = x + 1, here()
        group, call = grouped(x), here()
        _, read = y.to_numpy(), here()
        z = pending(y)
        _, late = z.to_numpy(), here()
    assert not group[0].mapping.is_fully_replicated
    assert seen() == {
        EAGER: {op: 1, call: 1},
        BREAK: {late: 1},
        COPY: {read: 1, late: 1},
    }
