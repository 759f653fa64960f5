"""Keeping an interrupt out of the few steps that must be done together."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def uninterrupted() -> Generator[None]:
    """Holds Ctrl-C back until the block is done, then delivers it.

    A program that writes takes the old memory away and gives new memory; an interrupt
    between the two would leave a tensor without any. Only the main thread is ever
    interrupted, so other threads have nothing to hold back.
    """
    handler = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or not callable(handler):
        yield
        return
    received: list[tuple[int, Any]] = []

    def hold(number: int, frame: Any) -> None:
        received.append((number, frame))

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if received:
            handler(*received[0])
