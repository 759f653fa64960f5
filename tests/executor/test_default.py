"""The default executor: who sets it, and how it is taken back."""

import os
import subprocess
import sys
import threading

import pytest

from maxlite import functional as F
from maxlite.executor import (
    CompilingExecutor,
    InterpreterExecutor,
    JitExecutor,
    _default,
    default_executor,
    set_default_executor,
)
from maxlite.executor._default import VARIABLES
from maxlite.executor._policy import policy
from maxlite.support import SetterContext
from maxlite.tensor import Tensor
from tests.executor.own import Own

OURS, MAX = VARIABLES


@pytest.fixture
def unset(monkeypatch):
    """Nobody has asked for the default executor so far, nor said what it is."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_default, "_default", None)


# Setting it -------------------------------------------------------------------------


def test_it_is_set_at_once_and_for_the_length_of_a_block():
    before = default_executor()
    own = Own()
    handle = set_default_executor(own)
    assert isinstance(handle, SetterContext)
    assert default_executor() is own
    with handle as current:
        assert current is own
        assert (Tensor([1.0]) + 1).item() == 2
    assert own.count == 1
    assert default_executor() is before
    assert (Tensor([1.0]) + 1).item() == 2
    assert own.count == 1


def test_it_is_set_back_after_an_error():
    before = default_executor()
    with pytest.raises(ZeroDivisionError), set_default_executor(Own()):
        _ = 1 / 0
    assert default_executor() is before


def test_each_setting_restores_what_it_found_in_any_order():
    before = default_executor()
    one, two = Own(), Own()
    first = set_default_executor(one)
    second = set_default_executor(two)
    first.__exit__(None, None, None)
    assert default_executor() is before
    assert policy.is_plain
    second.__exit__(None, None, None)
    assert default_executor() is one
    assert (Tensor([1.0]) + 1).real
    assert (one.count, two.count) == (1, 0)
    first.__exit__(None, None, None)
    assert default_executor() is before


def test_blocks_may_be_nested_and_ours_may_follow_a_users():
    x = Tensor([1.0])
    with set_default_executor(Own()) as own:
        with set_default_executor(InterpreterExecutor()):
            x + 1
            F.functional(lambda x: x + 1)(x)
        assert own.count == 0
        x + 1
        assert own.count == 1


def test_it_holds_in_every_thread():
    with set_default_executor(Own()) as own:
        thread = threading.Thread(target=lambda: Tensor([1.0]) + 1)
        thread.start()
        thread.join()
    assert own.count == 1


def test_any_argument_is_taken():
    before = default_executor()
    with set_default_executor(3):
        x = Tensor([1.0])
        with pytest.raises(AttributeError, match="execute"):
            x + 1
    assert default_executor() is before


# Where it comes from ----------------------------------------------------------------

NAMES = {
    "compile": CompilingExecutor,
    "interpreter": InterpreterExecutor,
    "jit": JitExecutor,
    "composite": JitExecutor,
    "": CompilingExecutor,
}


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("name", NAMES)
def test_a_variable_names_it(unset, monkeypatch, variable, name):
    monkeypatch.setenv(variable, name)
    assert type(default_executor()) is NAMES[name]
    assert default_executor() is default_executor()


def test_our_variable_comes_first(unset, monkeypatch):
    monkeypatch.setenv(MAX, "jit")
    monkeypatch.setenv(OURS, "interpreter")
    assert type(default_executor()) is InterpreterExecutor


@pytest.mark.parametrize("variable", VARIABLES)
def test_another_name_is_refused_each_time(unset, monkeypatch, variable):
    monkeypatch.setenv(variable, "fast")
    for ask in (
        default_executor,
        default_executor,
        lambda: set_default_executor(Own()),
    ):
        with pytest.raises(ValueError, match=f"{variable}: .*'fast'.*unset") as caught:
            ask()
        for name in filter(None, NAMES):
            assert name in str(caught.value)
    monkeypatch.setenv(variable, "jit")
    assert type(default_executor()) is JitExecutor


def test_many_threads_find_the_same_one(unset):
    found, start = [], threading.Barrier(8)

    def work():
        start.wait()
        found.append(default_executor())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


SCRIPT = """
from maxlite import Tensor, functional as F
x = Tensor([1.0, 2.0])
print((x + 1).to_numpy().tolist())
with F.lazy():
    y = F.exp(x * 0)
print(y.to_numpy().tolist(), type(F.functional(lambda x: x + 1)(x)).__name__)
from maxlite.executor import default_executor
print(type(default_executor()).__name__)
"""


@pytest.mark.parametrize(
    ("settings", "last"),
    [
        ({OURS: "interpreter"}, "InterpreterExecutor"),
        ({MAX: "jit"}, "JitExecutor"),
        ({MAX: "jitt"}, "ValueError: MAX_EAGER_EXECUTOR: the executor must be one of "),
    ],
)
def test_a_process_is_told_by_its_environment(settings, last):
    rest = {k: v for k, v in os.environ.items() if k not in VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=rest | settings,
        capture_output=True,
        text=True,
        timeout=100,
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "[2.0, 3.0]"
    if last.endswith("Executor"):
        assert (done.returncode, done.stderr) == (0, "")
        assert lines[1:] == ["[1.0, 1.0] Tensor", last]
    else:
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].startswith(last)
