"""The executor that answers at once: op by op, until a background thread has compiled.

The first runs of a block go through the interpreter. Meanwhile one thread compiles the
blocks that were met, one after the other; once a block is compiled, its executable
runs. A compile that fails is done again by the next run, in the foreground, where the
error reaches whoever reads the values.
"""

from __future__ import annotations

import atexit
import os
import queue
import threading
from typing import TYPE_CHECKING, Any

from maxlite.executor._block import ArrayExecutor, Block, Sizes, run_block
from maxlite.executor._executors import CompilingExecutor, InterpreterExecutor
from maxlite.executor._prepared import find_prepared, prepare
from maxlite.executor._protocol import Executor, UnsupportedGraphError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import jax

    from maxlite.graph._graph import Graph


class JitExecutor(ArrayExecutor):
    """Runs a block op by op at first, and compiles it in the background.

    Args:
        interpreter: What runs blocks that are not compiled; an
            :class:`InterpreterExecutor` when None.
        sync_on_interpreter_fallback: Whether a block that the interpreter refuses is
            compiled at once; otherwise its UnsupportedGraphError reaches the caller.

    Raises:
        TypeError: ``interpreter`` has no ``execute``.

    Source: max.experimental.executor.JitExecutor.
    """

    def __init__(
        self,
        *,
        interpreter: Executor | None = None,
        sync_on_interpreter_fallback: bool = True,
    ) -> None:
        self.interpreter = InterpreterExecutor() if interpreter is None else interpreter
        if not isinstance(self.interpreter, Executor):
            raise TypeError(
                "JitExecutor: interpreter must be an executor, got "
                f"{type(interpreter).__name__}. Give it a method execute."
            )
        self.sync_on_interpreter_fallback = sync_on_interpreter_fallback
        self._compiler = CompilingExecutor()
        self._waiting: set[tuple[Any, ...]] = set()
        self._failed: set[tuple[Any, ...]] = set()

    def run(self, block: Block) -> tuple[Sequence[jax.Array], Sizes]:
        """Computes a block."""
        found, key = find_prepared(block)
        if found is not None or key in self._failed:
            self._failed.discard(key)
            return self._compiler.run(block)
        try:
            results = run_block(self.interpreter, block)
        except UnsupportedGraphError:
            if not self.sync_on_interpreter_fallback:
                raise
            return self._compiler.run(block)
        self._compile_later(block, key)
        return results

    def run_graph(
        self, graph: Graph, arrays: Sequence[jax.Array], sizes: Sizes
    ) -> tuple[Sequence[jax.Array], Sizes]:
        """Computes the results of a graph, compiled: it may never come again."""
        return self._compiler.run_graph(graph, arrays, sizes)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until everything that was met is compiled.

        Args:
            timeout: How many seconds to wait at most; None for as long as it takes.

        Returns:
            Whether it is.
        """
        done = threading.Event()
        return _background.submit(done.set) and done.wait(timeout)

    def _compile_later(self, block: Block, key: tuple[Any, ...]) -> None:
        if key in self._waiting:
            return
        self._waiting.add(key)

        def work() -> None:
            try:
                prepare(block)
            except Exception:
                self._failed.add(key)
            finally:
                self._waiting.discard(key)

        _background.submit(work)


CompositeExecutor = JitExecutor
"""The same under the reference's older name."""


class _Background:
    """One daemon thread that works off a queue; started when it is first needed."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets the thread: a forked process does not have it."""
        self._queue: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._is_stopped = False

    def submit(self, work: Callable[[], object]) -> bool:
        """Adds work, which must not raise; False when the process is ending."""
        if self._is_stopped:
            return False
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="maxlite-compile", daemon=True
                )
                self._thread.start()
        self._queue.put(work)
        return True

    def stop(self) -> None:
        """Waits for the work at hand, and forgets what waits.

        A thread that compiles while the process ends would abort it.
        """
        self._is_stopped = True
        if self._thread is not None:
            self._queue.put(lambda: None)
            self._thread.join()

    def _work(self) -> None:
        while not self._is_stopped:
            self._queue.get()()


_background = _Background()
atexit.register(_background.stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_background.reset)
