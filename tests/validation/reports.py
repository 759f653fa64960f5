"""Reading reports: which lines did what, and how often."""

from __future__ import annotations

import re
import sys

import pytest

from maxlite import functional as F
from maxlite.tensor import Tensor

EAGER, BREAK = "eager execution", "graph break"
UNREAD, COPY = "unread output", "device-to-host copy"


class Reports:
    """Takes reports apart."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self) -> dict[str, dict[str, int]]:
        """Reads what was written since the last call: kind, line, how often."""
        found: dict[str, dict[str, int]] = {}
        totals: dict[str, int] = {}
        for text in self._capsys.readouterr().err.splitlines():
            if head := re.match(r"  (\d+) (.*?)(?:s|(ies))?\. ", text):
                kind = f"{head[2]}y" if head[3] else head[2]
                found[kind], totals[kind] = {}, int(head[1])
            elif row := re.match(r"    (\d+) x (.*)", text):
                found[[*found][-1]][row[2]] = int(row[1])
        assert {kind: sum(lines.values()) for kind, lines in found.items()} == totals
        return found


def here() -> str:
    """Names the line that calls this."""
    frame = sys._getframe(1)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def pending(x: Tensor) -> Tensor:
    """Makes a tensor of a block of its own."""
    with F.lazy():
        return x + 1


@F.functional
def grouped(x: Tensor) -> tuple[Tensor, Tensor]:
    """Makes two tensors of several ops."""
    return (x + 1) * 2, x - 1


doubled = F.functional(lambda x: x * 2 + 1, pure=True)
