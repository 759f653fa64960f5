"""What a user begins and ends: a watch over one stretch of a program."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from maxlite._errors import check_type
from maxlite.executor._policy import WATCHED, policy
from maxlite.support import contextvar_context
from maxlite.tensor import Tensor
from maxlite.tensor._watching import set_watcher, watcher
from maxlite.tree import flatten
from maxlite.validation._report import report
from maxlite.validation._session import Kind, Session, allowed

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager
    from types import TracebackType

    from maxlite.tensor._watching import Watcher


class EagerUsageValidator:
    """Counts what a compiled program would not do, and says where it is done.

    Used in a ``with`` statement, or by :meth:`enter` and :meth:`exit`. A report is
    written to ``sys.stderr`` at the end: how often, and on which lines, ops ran at once
    outside of any block (each call of a ``F.functional`` counts as one), pending
    tensors had to be computed because a value was needed, results of blocks and of
    compiled calls were not used before the end, and values were copied to the host. It
    stays silent when there is nothing to say, and when the block raises.

    Values and the number of executions are the same as without it. It sees the thread
    or task that it was entered in, and tasks that are started there. Of several that
    are active, the innermost one counts.

    Args:
        enabled: False makes it do nothing.
        label: What the report calls the stretch that was watched.

    Source: max.experimental.validation.EagerUsageValidator.

    >>> with EagerUsageValidator(label="step") as validator:
    ...     with validator.allow_eager(reason="runs once"):
    ...         y = Tensor([1.0]) + 1
    """

    def __init__(self, *, enabled: bool = True, label: str = "") -> None:
        self.enabled = enabled
        self.label = label
        self._sessions: list[Session] = []

    def enter(self) -> EagerUsageValidator:
        """Begins to watch; to be ended by :meth:`exit`.

        Returns:
            The validator itself.
        """
        if self.enabled:
            session = Session(self, watcher())
            self._sessions.append(session)
            policy.add(WATCHED)
            set_watcher(session)
        return self

    def exit(
        self,
        exc_type: type[BaseException] | None = None,
        exc: BaseException | None = None,
        tb: TracebackType | None = None,
    ) -> None:
        """Ends the last watch and reports; does nothing when none was begun.

        Args:
            exc_type: Class of the exception that ends it: nothing is reported then.
            exc: The exception.
            tb: Its traceback.
        """
        session = self._last_session()
        if session is None:
            return
        self._sessions.remove(session)
        counts = session.close()
        set_watcher(watcher())  # which is no longer this one
        policy.remove(WATCHED)
        if exc_type is None:
            sys.stderr.write(report(self.label, counts))

    def _last_session(self) -> Session | None:
        """Finds what was entered here; else, as a generator may, in another task."""
        found: Watcher | None = watcher()
        while found is not None:
            if isinstance(found, Session) and found in self._sessions:
                return found
            found = found.outer
        return self._sessions[-1] if self._sessions else None

    def __enter__(self) -> EagerUsageValidator:
        return self.enter()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.exit(exc_type, exc, tb)

    # What is meant to be ----------------------------------------------------------

    def allow_eager(self, *, reason: str) -> AbstractContextManager[None]:
        """Leaves out the eager executions of a with-block.

        Args:
            reason: Why they are right as they are; for who reads the code.

        Raises:
            TypeError: There is no reason, or it is no text.
        """
        _check_reason("allow_eager", reason)
        return self._without(Kind.EAGER)

    def allow_device_transfer(self, *, reason: str) -> AbstractContextManager[None]:
        """Leaves out the copies to the host of a with-block.

        Args:
            reason: Why they are right as they are; for who reads the code.

        Raises:
            TypeError: There is no reason, or it is no text.
        """
        _check_reason("allow_device_transfer", reason)
        return self._without(Kind.COPY)

    def graph_break(self, *, reason: str) -> AbstractContextManager[None]:
        """Leaves out the graph breaks of a with-block.

        Args:
            reason: Why they are right as they are; for who reads the code.

        Raises:
            TypeError: There is no reason, or it is no text.
        """
        _check_reason("graph_break", reason)
        return self._without(Kind.BREAK)

    def discard_output(self, output: Any, *, reason: str) -> None:
        """Says of results that nobody is going to read them.

        Args:
            output: A tree with tensors, real or pending.
            reason: Why they are computed nevertheless; for who reads the code.

        Raises:
            TypeError: There is no reason, or it is no text.
        """
        _check_reason("discard_output", reason)
        tensors, _ = flatten(output, leaf=Tensor, shared=True)
        for session in [*self._sessions]:
            session.discard(tensors)

    @contextmanager
    def _without(self, kind: Kind) -> Generator[None]:
        with contextvar_context(allowed, allowed.get() | {(self, kind)}):
            yield


def active_validator() -> EagerUsageValidator | None:
    """Gives the innermost validator that is active in this thread or task, or None.

    Source: max.experimental.validation.active_validator.

    >>> with EagerUsageValidator() as validator:
    ...     active_validator() is validator
    True
    >>> active_validator()
    """
    found = watcher()
    return found.owner if isinstance(found, Session) else None


def _check_reason(who: str, reason: object) -> None:
    check_type(reason, str, f"{who}: reason must be text", "Say why it is right here.")
