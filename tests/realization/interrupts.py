"""Ctrl-C at every point of a piece of code at which Python lets one in.

Python delivers a signal where a function is entered, and behind a call of a function
that is written in C. A profiler is told of both, so it can raise the signal there: the
n-th of them in the n-th run.
"""

import signal
import sys


def interrupted(work, at, package="maxlite"):
    """Runs ``work`` with a real SIGINT at the ``at``-th point inside of the package.

    Returns:
        Whether ``work`` was done before, or held the signal back to its end.
    """
    seen = 0

    def profile(frame, event, argument):
        nonlocal seen
        if event not in ("call", "c_return") or not is_inside(frame, package):
            return
        seen += 1
        if seen == at + 1:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)

    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.setprofile(profile)
    try:
        work()
    except KeyboardInterrupt:
        return False
    finally:
        sys.setprofile(None)
        signal.signal(signal.SIGINT, previous)
    return seen <= at


def is_inside(frame, package):
    """Whether a frame, or one that it was called from, is of the package."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in (
        package,
        "contextlib",
    ) and not str(frame.f_globals.get("__name__")).endswith("support")
