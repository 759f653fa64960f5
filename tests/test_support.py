"""Undoable settings and context-variable scopes."""

import threading
from contextvars import ContextVar

import pytest

from maxlite.support import SetterContext, contextvar_context


class Dial:
    """A setting with a setter that can be undone."""

    def __init__(self):
        self.value = "initial"

    def set(self, value):
        previous, self.value = self.value, value
        return SetterContext(value, previous, self._restore)

    def _restore(self, previous):
        self.value = previous


def test_a_setting_holds_without_a_block():
    dial = Dial()
    dial.set("a")
    assert dial.value == "a"


def test_a_block_gives_the_value_and_restores_the_one_before():
    dial = Dial()
    with dial.set("a") as value:
        assert (value, dial.value) == ("a", "a")
        with dial.set("b"):
            assert dial.value == "b"
        assert dial.value == "a"
    assert dial.value == "initial"


def test_an_error_in_the_block_passes_and_the_value_is_restored():
    dial = Dial()
    with pytest.raises(KeyError, match="lost"), dial.set("a"):
        raise KeyError("lost")
    assert dial.value == "initial"


def test_leaving_needs_no_entering_and_may_be_done_twice():
    dial = Dial()
    setting = dial.set("a")
    setting.__exit__(None, None, None)
    assert dial.value == "initial"
    dial.value = "other"
    setting.__exit__(None, None, None)
    assert dial.value == "initial"


def test_leaving_out_of_order_restores_what_each_has_seen():
    dial = Dial()
    first, second = dial.set("a"), dial.set("b")
    first.__exit__(None, None, None)
    assert dial.value == "initial"
    second.__exit__(None, None, None)
    assert dial.value == "a"


def test_a_context_variable_holds_for_the_block():
    depth = ContextVar("depth", default=0)
    with contextvar_context(depth, 1) as value:
        assert (value, depth.get()) == (1, 1)
        with contextvar_context(depth, 2):
            assert depth.get() == 2
        assert depth.get() == 1
    assert depth.get() == 0


def test_a_variable_without_a_value_is_without_one_again_after_an_error():
    name: ContextVar[str] = ContextVar("name")
    with pytest.raises(KeyError, match="lost"), contextvar_context(name, "x"):
        raise KeyError("lost")
    assert name.get("nothing") == "nothing"


def test_a_scope_decorates_a_function():
    depth = ContextVar("depth", default=0)
    assert contextvar_context(depth, 3)(depth.get)() == 3
    assert depth.get() == 0


def test_another_thread_does_not_see_the_block():
    depth = ContextVar("depth", default=0)
    seen = []
    with contextvar_context(depth, 1):
        thread = threading.Thread(target=lambda: seen.append(depth.get()))
        thread.start()
        thread.join()
    assert seen == [0]
