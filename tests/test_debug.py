"""What is kept: the tables, how full they are, and letting go of them."""

import gc
import weakref

import numpy as np
import pytest

from maxlite import Tensor, compile
from maxlite import functional as F
from maxlite._caches import Cache, tables
from maxlite.debug import CacheInfo, cache_info, clear_caches
from maxlite.lowering import _cut

EXPECTED = {
    "blocks",
    "bodies",
    "eager ops",
    "numbers",
    "plans of ops",
    "programs of blocks",
    "programs of eager ops",
    "steps",
}


def entries():
    return {info.name: info.entries for info in cache_info()}


@pytest.fixture
def table():
    """A table of three entries at most, which is gone after the test."""
    yield Cache("test", 3)
    del tables()["test"]  # pyright: ignore[reportIndexIssue]


def test_the_tables_are_listed_by_name():
    found = cache_info()
    names = [info.name for info in found]
    assert names == sorted(set(names))
    assert set(names) >= EXPECTED
    for info in found:
        assert type(info) is CacheInfo
        assert 0 <= info.entries <= info.limit
    assert found == cache_info()


def test_what_is_met_is_counted():
    clear_caches()
    assert set(entries().values()) == {0}
    x = Tensor([1.0, 2.0])
    _ = x + 1
    first = entries()
    assert first["eager ops"] == first["programs of eager ops"] == 1
    assert first["numbers"] == first["plans of ops"] == 1
    assert first["blocks"] == first["programs of blocks"] == 0
    _ = x + 1
    assert entries() == first
    with F.lazy():
        y = x * 2 + 1
    y.to_numpy()
    second = entries()
    assert second["blocks"] == second["programs of blocks"] == 1
    assert second["steps"] == 2
    F.while_loop(x, lambda x: F.sum(x).reshape([]) < 9, lambda x: x + 1)
    assert entries()["bodies"] == 2


def test_what_was_let_go_of_is_made_again(monkeypatch):
    compiled, compile_graph = [], _cut.compile_graph

    def spy(*arguments):
        compiled.append(arguments)
        return compile_graph(*arguments)

    monkeypatch.setattr(_cut, "compile_graph", spy)
    x = Tensor(np.ones([3, 1, 41], np.float32))
    for count in (1, 1, 2):
        with F.lazy():
            y = x * 2 + 1
        if count == 2:
            clear_caches()
        assert y.to_numpy()[0, 0, 0] == 3
        assert len(compiled) == count


def test_what_is_in_use_stays_usable():
    x = Tensor([1.0, 2.0])
    program = compile(lambda x: x * 2)(x.layout)
    group = F.functional(lambda x: x * 3, pure=True)
    group(x)
    with F.lazy():
        before = x + 1
        clear_caches()
        after = before * 2 + x
    assert after.to_numpy().tolist() == [5, 8]
    assert before.to_numpy().tolist() == [2, 3]
    assert program(x).to_numpy().tolist() == [2, 4]
    assert group(x).to_numpy().tolist() == [3, 6]


def test_executables_are_freed():
    clear_caches()
    x = Tensor([1.0, 2.0])
    with F.lazy():
        y = x * 2 + 1
    y.to_numpy()

    (executable,) = map(weakref.ref, _cut._executables.values())
    gc.collect()
    assert executable() is not None
    clear_caches()
    gc.collect()
    assert executable() is None


def test_a_full_table_starts_afresh(table):
    for i in range(3):
        assert table.keep(i, f"{i}") == f"{i}"
    assert len(table) == 3
    assert CacheInfo("test", 3, 3) in cache_info()
    assert table.keep(3, "3") == "3"
    assert dict(table) == {3: "3"}


def test_a_table_keeps_what_it_has(table):
    assert table.keep("a", 1) == 1
    assert table.keep("a", 2) == 1
    assert table["a"] == 1
