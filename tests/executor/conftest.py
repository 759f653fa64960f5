"""No test leaves another executor behind, and each can count what is compiled."""

import pytest

from maxlite.executor import CompilingExecutor, default_executor
from maxlite.executor._policy import policy
from maxlite.lowering import _cut
from maxlite.tensor import current_realization_context


@pytest.fixture(autouse=True)
def nothing_stays_behind():
    before = default_executor()
    assert type(before) is CompilingExecutor
    yield
    assert default_executor() is before
    assert policy.is_plain
    assert current_realization_context(None) is None


@pytest.fixture
def compiled(monkeypatch):
    """Lists the graphs that are compiled; ``compiled.fail`` makes the next one fail."""

    class Compiled(list):
        fail: BaseException | None = None

    seen = Compiled()
    compile_graph = _cut.compile_graph

    def spy(graph, sizes):
        seen.append(graph)
        if seen.fail is not None:
            error, seen.fail = seen.fail, None
            raise error
        return compile_graph(graph, sizes)

    monkeypatch.setattr(_cut, "compile_graph", spy)
    return seen
