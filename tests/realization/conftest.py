"""No test leaves a context open, and each can count the programs that contexts run."""

import pytest

from maxlite.executor import _compute
from maxlite.executor._prepared import Prepared
from maxlite.tensor import current_realization_context


@pytest.fixture(autouse=True)
def no_context_stays_behind():
    assert current_realization_context(None) is None
    yield
    assert current_realization_context(None) is None


@pytest.fixture
def runs(monkeypatch):
    """Counts the programs that contexts run; ``runs.fail`` makes the next one fail."""

    class Runs:
        count = 0
        fail: BaseException | None = None

    seen = Runs()

    def watched(run):
        def spy(*arguments):
            seen.count += 1
            if seen.fail is not None:
                error, seen.fail = seen.fail, None
                raise error
            return run(*arguments)

        return spy

    monkeypatch.setattr(_compute, "_run", watched(_compute._run))
    monkeypatch.setattr(Prepared, "run", watched(Prepared.run))
    return seen
