"""The text about what was counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxlite.validation._session import Kind

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

_WHAT = {
    Kind.EAGER: "eager execution",
    Kind.BREAK: "graph break",
    Kind.UNREAD: "unread output",
    Kind.COPY: "device-to-host copy",
}

_ADVICE = {
    Kind.EAGER: (
        "Outside of any block each op is a program of its own. Group them with "
        "F.functional or F.lazy, compile what comes again, or use "
        "allow_eager(reason=...)."
    ),
    Kind.BREAK: (
        "A pending tensor was needed before its block could grow. Read values after "
        "the last op, keep what belongs together in one F.lazy block, await what "
        "must be computed, or use graph_break(reason=...)."
    ),
    Kind.UNREAD: (
        "These were computed for nobody. Drop them inside of the block (a function "
        "with F.functional keeps only what it returns), leave them out of what the "
        "compiled function returns, or use discard_output(output, reason=...)."
    ),
    Kind.COPY: (
        "The host waits for each. Keep decisions on the device (F.where, F.cond, "
        "F.while_loop), read many values at once, or use "
        "allow_device_transfer(reason=...)."
    ),
}


def report(label: str, counts: Mapping[Kind, Counter[str]]) -> str:
    """Writes what was counted, the most frequent lines first; nothing for nothing.

    Args:
        label: What was watched; may be empty.
        counts: How often each line of the user's did what.
    """
    parts = [_part(kind, counts[kind]) for kind in Kind if counts[kind]]
    if not parts:
        return ""
    title = f"EagerUsageValidator, {label}:" if label else "EagerUsageValidator:"
    return "\n".join([title, *parts, ""])


def _part(kind: Kind, lines: Counter[str]) -> str:
    total = sum(lines.values())
    ranked = [f"    {count} x {line}" for line, count in lines.most_common()]
    head = f"  {_counted(total, _WHAT[kind])}. {_ADVICE[kind]}"
    return "\n".join([head, *ranked])


def _counted(count: int, what: str) -> str:
    if count == 1:
        return f"1 {what}"
    return f"{count} {what[:-1]}ies" if what.endswith("y") else f"{count} {what}s"
