"""Timing two ways of doing the same work against each other.

One machine is never quiet twice. So the two sides are timed in turn, A B A B, in one
process, and what counts is the ratio within a round: a clock that slows down halfway
slows both sides. Times and ratios are medians over the rounds; a ratio's quartiles tell
its spread. A round of fast calls is shorter than the turn that an operating system
gives a process, so most rounds pass undisturbed on a busy machine too. The garbage
collector is off while the clock runs.
"""

from __future__ import annotations

import argparse
import gc
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

ROUND_SECONDS = 0.001
"""How long one side of a round takes at least; a fast call is repeated to fill it."""

Side = tuple[Callable[[], Any], Callable[[Any], object]]
"""What does the work once, and what waits until a result of it is there."""


def no_wait(result: Any) -> None:
    """Waits for nothing: the result is there when the call returns."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Seconds per call of two sides, one figure per round."""

    ours: tuple[float, ...]
    theirs: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The median of the ratios of the rounds."""
        return self.quartiles[1]

    @property
    def quartiles(self) -> tuple[float, float, float]:
        """Lower quartile, median and upper quartile of the ratios of the rounds."""
        ratios = [a / b for a, b in zip(self.ours, self.theirs, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
        return low, middle, high


def compare(
    ours: Callable[[], Any],
    theirs: Callable[[], Any],
    *,
    rounds: int,
    wait_ours: Callable[[Any], object] = no_wait,
    wait_theirs: Callable[[Any], object] = no_wait,
    calls: int | None = None,
) -> Comparison:
    """Times two functions in interleaved rounds.

    Args:
        ours: Does the work once.
        theirs: Does the same work once.
        rounds: How often both sides are timed; at least 2.
        wait_ours: Waits until a result of ``ours`` is there; called once a round, on
            the last result, while the clock runs.
        wait_theirs: The same for ``theirs``.
        calls: Calls of each side in a round; None fills a round with as many as fit.
    """
    sides = ((ours, wait_ours), (theirs, wait_theirs))
    return Comparison(*interleave(sides, rounds=rounds, calls=calls))


def interleave(
    sides: Sequence[Side], *, rounds: int, calls: int | None = None
) -> list[tuple[float, ...]]:
    """Times any number of sides in turn.

    Returns:
        Per side its seconds per call, one figure per round.
    """
    for work, wait in sides:
        wait(work())
    seconds: list[list[float]] = [[] for _ in sides]
    with garbage_kept():
        counts = [calls or _calls_to_fill_a_round(*side) for side in sides]
        for _ in range(rounds):
            for side, count, found in zip(sides, counts, seconds, strict=True):
                found.append(_seconds(*side, count) / count)
    return [tuple(found) for found in seconds]


def _calls_to_fill_a_round(
    work: Callable[[], Any], wait: Callable[[Any], object]
) -> int:
    count = 1
    while (taken := _seconds(work, wait, count)) < ROUND_SECONDS:
        count = max(2 * count, math.ceil(count * ROUND_SECONDS / taken))
    return count


def _seconds(
    work: Callable[[], Any], wait: Callable[[Any], object], count: int
) -> float:
    result = None
    start = time.perf_counter()
    for _ in range(count):
        result = work()
    wait(result)
    return time.perf_counter() - start


@contextmanager
def garbage_kept() -> Iterator[None]:
    """Collects garbage once, and not again before the block ends."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# The table --------------------------------------------------------------------------


def rounds_asked(description: str | None, default: int) -> int:
    """Reads ``--rounds`` from the command line."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=default, metavar="N")
    rounds = parser.parse_args().rounds
    if rounds < 2:
        parser.error(f"--rounds must be 2 or more, got {rounds}")
    return rounds


def print_header() -> None:
    print("| what | maxlite | JAX | ratio | budget |")
    print("|---|---|---|---|---|")


def print_row(
    what: str, ours: str, theirs: str, ratio: str = "", budget: str = ""
) -> None:
    print(f"| {what} | {ours} | {theirs} | {ratio} | {budget} |", flush=True)


def print_comparison(what: str, found: Comparison, budget: float | None = None) -> None:
    """Prints one row of times; a ratio over its budget says so."""
    low, middle, high = found.quartiles
    ratio = f"{middle:.2f} ({low:.2f} to {high:.2f})"
    print_row(
        what,
        median_time(found.ours),
        median_time(found.theirs),
        ratio if budget is None else within(middle, budget, ratio),
        "" if budget is None else f"{budget}",
    )


def within(value: float, budget: float, text: str | None = None) -> str:
    """Writes a ratio, and marks it when it is over its budget."""
    text = f"{value:.2f}" if text is None else text
    return text if value <= budget else f"{text} **over**"


def median_time(seconds: Sequence[float]) -> str:
    """Writes the median in a unit that gives three digits."""
    value = statistics.median(seconds)
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.3g} us"
