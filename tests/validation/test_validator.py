"""Beginning and ending a watch, what is left out of it, and who sees it."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any

import pytest

from maxlite import functional as F
from maxlite import random
from maxlite.executor._policy import policy
from maxlite.realization_context import _default
from maxlite.tensor import Tensor
from maxlite.validation import EagerUsageValidator, active_validator
from tests.validation.reports import (
    BREAK,
    COPY,
    EAGER,
    UNREAD,
    Reports,
    grouped,
    here,
    pending,
)

# Beginning and ending -----------------------------------------------------------------


def test_the_innermost_one_counts_and_is_the_active_one(
    x: Tensor, capsys: pytest.CaptureFixture[str]
) -> None:
    outer, inner = (
        EagerUsageValidator(label="outer"),
        EagerUsageValidator(label="inner"),
    )
    with outer:
        with inner:
            assert active_validator() is inner
            _, inside = x + 1, here()
        assert inside in capsys.readouterr().err
        assert active_validator() is outer
        _, outside = x + 1, here()
    text = capsys.readouterr().err
    assert "outer" in text
    assert outside in text
    assert inside not in text


def test_a_use_below_an_inner_one_is_a_use(
    x: Tensor, program: Callable[..., Any], seen: Reports
) -> None:
    with EagerUsageValidator():
        y, z = program(x)
        with EagerUsageValidator():
            y.to_numpy()
            z.to_numpy()
        seen()
    assert seen() == {}


def test_enter_and_exit_work_by_hand_and_again() -> None:
    validator = EagerUsageValidator()
    validator.exit()  # nothing was begun
    assert validator.enter() is validator
    assert validator.enter() is validator
    validator.exit()
    assert active_validator() is validator
    validator.exit(None, None, None)
    assert active_validator() is None


def test_the_order_of_ends_does_not_matter(x: Tensor, seen: Reports) -> None:
    first, second = EagerUsageValidator().enter(), EagerUsageValidator().enter()
    first.exit()
    assert active_validator() is second
    _, at = x + 1, here()
    second.exit()
    assert seen() == {EAGER: {at: 1}}


def test_each_watch_starts_from_nothing(x: Tensor, seen: Reports) -> None:
    validator = EagerUsageValidator()
    for _ in range(2):
        with validator:
            _, at = x + 1, here()
        assert seen() == {EAGER: {at: 1}}


def test_exceptions_pass_and_end_it_without_a_report(
    x: Tensor, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        with EagerUsageValidator():
            _ = x + 1
            raise KeyError("k")

    with pytest.raises(KeyError, match="k"):
        fail()
    assert active_validator() is None
    assert capsys.readouterr().err == ""


def test_a_disabled_one_does_nothing(
    x: Tensor, capsys: pytest.CaptureFixture[str]
) -> None:
    validator = EagerUsageValidator(enabled=False)
    with validator as entered:
        assert entered is validator
        assert active_validator() is None
        assert policy.is_plain
        with validator.allow_eager(reason="nothing to leave out"):
            y = pending(x)
            validator.discard_output(y, reason="nothing to leave out")
            (y + 1).to_numpy()
    validator.exit()
    assert capsys.readouterr().err == ""


def test_without_it_everything_is_plain_again(x: Tensor) -> None:
    with EagerUsageValidator():
        assert not policy.is_plain
        assert not policy.needs_context
    assert policy.is_plain


# What is meant to be ----------------------------------------------------------------


def test_each_hatch_leaves_out_its_kind_and_no_other(x: Tensor, seen: Reports) -> None:
    hatches = {
        EAGER: EagerUsageValidator.allow_eager,
        BREAK: EagerUsageValidator.graph_break,
        COPY: EagerUsageValidator.allow_device_transfer,
    }
    for kind, hatch in hatches.items():
        validator = EagerUsageValidator()
        with validator, hatch(validator, reason="here it is right"):
            (pending(x) * 2).to_numpy()
        assert set(seen()) == {EAGER, BREAK, COPY} - {kind}


def test_a_hatch_holds_for_its_block_and_its_validator(
    x: Tensor, seen: Reports
) -> None:
    def fail() -> None:
        with inner.allow_eager(reason="once"):
            _ = x + 1
            raise KeyError("k")

    with EagerUsageValidator() as outer, EagerUsageValidator() as inner:
        with outer.allow_eager(reason="not the one that counts"):
            _, other = x + 1, here()
        with pytest.raises(KeyError, match="k"):
            fail()
        _, after = x + 1, here()
    assert seen()[EAGER] == {other: 1, after: 1}


def test_what_is_discarded_is_not_unread(
    x: Tensor, program: Callable[..., Any], seen: Reports
) -> None:
    with EagerUsageValidator() as validator:
        real = program(x)
        validator.discard_output({"a": [real]}, reason="warming up")
        with F.lazy():
            kept, read = x + 1, x * 2
        validator.discard_output((kept, 3, None), reason="kept for later")
        read.to_numpy()
    assert kept.real
    assert UNREAD not in seen()


@pytest.mark.parametrize(
    "hatch", ["allow_eager", "allow_device_transfer", "graph_break", "discard_output"]
)
@pytest.mark.parametrize("enabled", [True, False])
def test_a_reason_must_be_given(hatch: str, enabled: bool) -> None:
    call = getattr(EagerUsageValidator(enabled=enabled), hatch)
    args = [Tensor([1.0])] if hatch == "discard_output" else []
    with pytest.raises(TypeError, match="reason"):
        call(*args)
    with pytest.raises(TypeError, match=f"{hatch}: reason must be text, got 3"):
        call(*args, reason=3)


# Threads and tasks ------------------------------------------------------------------


def test_another_thread_does_not_see_it(x: Tensor, seen: Reports) -> None:
    found: list[Any] = []

    def work() -> None:
        found.append(active_validator())
        found.append((x + 1).to_numpy().tolist())
        found.append(grouped(pending(x))[0].to_numpy().tolist())

    with EagerUsageValidator():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == [None, [2.0, 3.0], [6.0, 8.0]]
    assert seen() == {}


def test_tasks_see_what_was_active_where_they_were_started(
    x: Tensor, seen: Reports
) -> None:
    lines: list[str] = []

    async def work(may: asyncio.Event) -> EagerUsageValidator | None:
        await may.wait()
        _, line = x + 1, here()
        lines.append(line)
        return active_validator()

    async def main() -> None:
        may = asyncio.Event()
        before = asyncio.create_task(work(may))
        await asyncio.sleep(0)
        with EagerUsageValidator() as validator:
            inside = asyncio.create_task(work(may))
            may.set()
            assert await before is None
            assert await inside is validator
            late = asyncio.create_task(work(asyncio.Event()))
            await asyncio.sleep(0)
        assert active_validator() is None
        late.cancel()

    asyncio.run(main())
    assert seen() == {EAGER: {lines[0]: 1}}


def test_a_task_that_goes_on_after_the_end_is_not_counted(
    x: Tensor, seen: Reports
) -> None:
    async def main() -> EagerUsageValidator | None:
        may = asyncio.Event()

        async def work() -> EagerUsageValidator | None:
            await may.wait()
            _ = x + 1
            return active_validator()

        with EagerUsageValidator():
            task = asyncio.create_task(work())
            await asyncio.sleep(0)
        may.set()
        return await task

    assert asyncio.run(main()) is None
    assert seen() == {}


def test_it_may_be_ended_in_another_context(x: Tensor, seen: Reports) -> None:
    """As a fixture does whose two halves run in different tasks."""
    validator = EagerUsageValidator()
    contextvars.copy_context().run(validator.enter)
    assert active_validator() is None
    assert not policy.is_plain
    validator.exit()
    assert policy.is_plain


# What stays as it is ----------------------------------------------------------------


def test_values_are_the_same(x: Tensor) -> None:
    def work() -> list[Any]:
        random.set_seed(7)
        t = Tensor([1.0, 2.0, 3.0])
        t[0] = 5.0
        with F.lazy():
            lazy = F.exp(t) + random.normal([3])
        made = [lazy, F.where(t > 2, t, -t), *grouped(t), random.uniform([3])]
        return [y.to_numpy().tolist() for y in made]

    plain = work()
    with EagerUsageValidator():
        watched = work()
    assert watched == plain


def test_the_python_of_a_pure_group_runs_no_more_often(x: Tensor) -> None:
    calls: list[None] = []

    def scale(x: Tensor) -> Tensor:
        calls.append(None)
        return x * 2

    scaled = F.functional(scale, pure=True)
    scaled(x)
    with EagerUsageValidator():
        scaled(x)
        scaled(x)
    assert len(calls) == 1


def test_an_op_opens_no_context_that_it_does_not_open_else(
    x: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise AssertionError("a context was made")

    monkeypatch.setattr(_default, "_maker", refuse)
    with EagerUsageValidator():
        y = x + 1
        y[0] = 9.0
    assert y.to_numpy().tolist() == [9.0, 3.0]
    with pytest.raises(AssertionError, match="a context was made"):
        grouped(x)
