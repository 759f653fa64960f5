"""Ctrl-C at every point of a piece of code at which Python lets one in.

Python delivers a signal where a function of Python is entered, and behind a call of one
that is written in C. A profiler is told of both, so it can raise the signal there: in
the n-th run at the n-th point.
"""

import signal
import sys
from pathlib import Path

import maxlite
from maxlite import _backend, support

ROOT = str(Path(maxlite.__file__).parent)


def interrupted(work, at):
    """Runs ``work`` with a real SIGINT at the ``at``-th point inside of maxlite.

    Returns:
        Whether there was no such point.
    """
    seen = 0

    def profile(frame, event, argument):
        nonlocal seen
        if event not in ("call", "c_return") or not _may_come_here(frame):
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


def _may_come_here(frame):
    """Leaves out two places, where Python makes no promises.

    An interrupt may keep the second half of a context manager that is written in Python
    from running (https://bugs.python.org/issue29988); ours sets and resets a context
    variable. And an error in what a weak reference calls is swallowed.
    """
    file, name = frame.f_code.co_filename, frame.f_code.co_name
    called = file == _backend.__file__ and name == "<lambda>"
    return file.startswith(ROOT) and file != support.__file__ and not called
