"""When two constants of a structure are the same."""

from collections import OrderedDict
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maxlite.tree import same_static
from maxlite.tree._static import describe_static, difference_note

NAN = float("nan")


class Raises:
    def __eq__(self, other):
        raise RuntimeError("no comparison today")


class AnswersArray:
    def __eq__(self, other) -> Any:
        return np.array([True, True])


SAME = {
    "equal text": ("s", "s"),
    "an int and an equal float": (3, 3.0),
    "True and 1": (True, 1),
    "equal sets": ({1, 2}, {2, 1}),
    "NaN": (NAN, float("nan")),
    "NaN and numpy's NaN": (NAN, np.float32("nan")),
    "complex NaN": (complex(NAN, 1), complex(NAN, 1)),
    "not a time": (np.datetime64("NaT"), np.datetime64("NaT")),
    "NaN in a tuple": ((1, NAN), (1, float("nan"))),
    "equal arrays": (np.arange(3), np.arange(3)),
    "empty arrays": (np.zeros((0, 2)), np.zeros((0, 2))),
    "arrays with NaN": (np.array([1, NAN]), np.array([1, NAN])),
    "object arrays": (np.array([None, "a"], object), np.array([None, "a"], object)),
    "arrays in a tuple": ((np.zeros(2), 1), (np.zeros(2), 1)),
    "arrays in a dict": ({"a": np.zeros(2)}, {"a": np.zeros(2)}),
    "dicts of another order": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
}

DIFFERENT = {
    "text": ("s", "t"),
    "two objects": (object(), object()),
    "NaN and 1": (NAN, 1.0),
    "1 and NaN": (1.0, NAN),
    "complex NaN with another imaginary part": (complex(NAN, 1), complex(NAN, 2)),
    "elements": (np.zeros(2), np.ones(2)),
    "shapes that broadcast": (np.zeros(2), np.zeros((1, 2))),
    "dtypes": (np.zeros(2, np.float32), np.zeros(2, np.float64)),
    "an array and its only element": (np.array(1), 1),
    "an array and a list": (np.array([1, 2]), [1, 2]),
    "object arrays": (np.array([None, "a"], object), np.array([None, "b"], object)),
    "lists of another length": ([1], [1, 2]),
    "a list and a tuple": ([1], (1,)),
    "dicts of other keys": ({"a": 1}, {"b": 1}),
    "OrderedDicts of another order": (
        OrderedDict(a=1, b=2),
        OrderedDict(b=2, a=1),
    ),
    "an == that raises": (Raises(), Raises()),
    "an == that answers with an array": (AnswersArray(), AnswersArray()),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME)
def test_these_are_the_same(pair):
    assert same_static(*pair)
    assert same_static(*reversed(pair))


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_these_are_different(pair):
    assert not same_static(*pair)
    assert not same_static(*reversed(pair))


@pytest.mark.parametrize("value", [Raises(), AnswersArray(), object(), np.zeros(3)])
def test_a_value_is_always_the_same_as_itself(value):
    assert same_static(value, value)


def test_jax_arrays_are_compared_like_numpy_arrays():
    ones = jnp.ones(2, jnp.float32)
    assert same_static(ones, jnp.ones(2, jnp.float32))
    assert same_static(ones, np.ones(2, np.float32))
    assert not same_static(ones, jnp.zeros(2, jnp.float32))
    assert not same_static(ones, jnp.ones(2, jnp.bfloat16))
    nan = jnp.full(2, jnp.nan, jnp.bfloat16)
    assert same_static(nan, jnp.full(2, jnp.nan, jnp.bfloat16))


def test_a_jax_tracer_has_no_elements_to_compare():
    answers = []

    @jax.jit
    def f(x, y):
        answers.append((same_static(x, x), same_static(x, y)))
        return x

    f(jnp.ones(2), jnp.ones(2))
    assert answers == [(True, False)]


def test_a_value_that_contains_itself_does_not_hang():
    first, second = [], []
    first.append(first)
    second.append(second)
    assert not same_static(first, second)


def test_an_array_is_described_without_its_elements():
    assert describe_static(np.zeros((2, 3))) == "ndarray(dtype=float64, shape=(2, 3))"
    assert describe_static("s") == "'s'"
    assert describe_static(np.ndarray) == repr(np.ndarray)


def test_a_note_explains_look_alikes_only():
    assert "compared by identity" in difference_note(object(), object())
    assert difference_note(np.zeros(2), np.ones(2)) == " with other elements"
    assert difference_note("s", "t") == ""
    assert difference_note(object(), "t") == ""
