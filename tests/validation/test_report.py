"""The text of a report."""

from __future__ import annotations

import pytest

from maxlite import functional as F
from maxlite.tensor import Tensor
from maxlite.validation import EagerUsageValidator
from tests.validation.reports import here, pending

REPORT = """\
EagerUsageValidator, step:
  2 eager executions. Outside of any block each op is a program of its own. Group them \
with F.functional or F.lazy, compile what comes again, or use allow_eager(reason=...).
    2 x {eager}
  1 graph break. A pending tensor was needed before its block could grow. Read values \
after the last op, keep what belongs together in one F.lazy block, await what must be \
computed, or use graph_break(reason=...).
    1 x {read}
  1 unread output. These were computed for nobody. Drop them inside of the block (a \
function with F.functional keeps only what it returns), leave them out of what the \
compiled function returns, or use discard_output(output, reason=...).
    1 x {unread}  float32[2]
  2 device-to-host copies. The host waits for each. Keep decisions on the device \
(F.where, F.cond, F.while_loop), read many values at once, or use \
allow_device_transfer(reason=...).
    2 x {read}
"""


def test_the_report_says_what_where_and_what_to_do(
    x: Tensor, capsys: pytest.CaptureFixture[str]
) -> None:
    eager = read = ""
    with EagerUsageValidator(label="step"):
        y = Tensor([1.0, 2.0])
        for _ in range(2):
            y, eager = y + 1, here()
        with F.lazy():
            z = y * 2
            unused, unread = y * 3, here()
        for _ in range(2):
            _, read = z.to_numpy(), here()
    assert unused.real
    printed = capsys.readouterr()
    assert printed.err == REPORT.format(eager=eager, read=read, unread=unread)
    assert printed.out == ""


def test_without_a_label_the_title_is_the_name(
    x: Tensor, capsys: pytest.CaptureFixture[str]
) -> None:
    with EagerUsageValidator():
        _ = x + 1
    assert capsys.readouterr().err.startswith("EagerUsageValidator:\n")


def test_nothing_to_report_writes_nothing(
    x: Tensor, capsys: pytest.CaptureFixture[str]
) -> None:
    with EagerUsageValidator(label="quiet"):
        pending(x)
    assert capsys.readouterr().err == ""
