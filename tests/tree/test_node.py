"""What a node is, its children one level down, and what they are called."""

import collections
import sys
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import numpy as np
import pytest

from maxlite import tree

Point = namedtuple("Point", "x y")


class ListSubclass(list):
    pass


class DictSubclass(dict):
    pass


class TupleSubclass(tuple):
    __slots__ = ()


class PointSubclass(Point):
    __slots__ = ()


class Keyed:
    def __tree_flatten__(self):
        return {"b": 1, "a": [2]}, "meta"


class Positional:
    def __tree_flatten__(self):
        return (1, [2]), None


NoLongerANode = type("NoLongerANode", (Keyed,), {"__tree_flatten__": None})


class Answers:
    """An object with the given answer to ``__tree_flatten__``."""

    def __init__(self, answer):
        self.answer = answer

    def __tree_flatten__(self):
        return self.answer


NODES = [
    [],
    (),
    {},
    OrderedDict(),
    defaultdict(int),
    Point(1, 2),
    PointSubclass(1, 2),
    Keyed(),
    Positional(),
]
LEAVES = [
    None,
    1,
    "text",
    {1},
    range(3),
    np.zeros(2),
    ListSubclass(),
    DictSubclass(),
    TupleSubclass(),
    deque(),
    collections.ChainMap(),
    sys.version_info,
    Keyed,
    NoLongerANode(),
]


@pytest.mark.parametrize("value", NODES, ids=lambda value: type(value).__name__)
def test_these_are_nodes(value):
    assert tree.is_node(value)


@pytest.mark.parametrize("value", LEAVES, ids=lambda value: type(value).__name__)
def test_these_are_leaves(value):
    assert not tree.is_node(value)
    with pytest.raises(
        TypeError, match=rf"must be a node .*got {type(value).__name__}"
    ):
        tree.flatten_one_level(value)


def test_an_attribute_of_the_object_makes_no_node():
    value: Any = NoLongerANode()
    value.__tree_flatten__ = lambda: ((), None)
    assert not tree.is_node(value)


@pytest.mark.parametrize(
    ("value", "level"),
    [
        ([1, [2]], ((1, [2]), (), None)),
        ((1, 2), ((1, 2), (), None)),
        ({}, ((), (), None)),
        ({"b": 1, "a": 2}, ((2, 1), ("a", "b"), None)),
        ({2.5: "x", 1: "y"}, (("y", "x"), (1, 2.5), None)),
        (OrderedDict(b=1, a=2), ((1, 2), ("b", "a"), (OrderedDict, ()))),
        (defaultdict(int, b=1, a=2), ((2, 1), ("a", "b"), (defaultdict, (int,)))),
        (Point(1, [2]), ((1, [2]), ("x", "y"), Point)),
        (Keyed(), ((1, [2]), ("b", "a"), "meta")),
        (Positional(), ((1, [2]), (), None)),
        (Answers(({}, 3)), ((), (), 3)),
        (Answers((range(2), 3)), ((0, 1), (), 3)),
        (Answers((collections.ChainMap({"b": 1, "a": 2}), 3)), ((1, 2), ("b", "a"), 3)),
    ],
)
def test_one_level_of_a_node(value, level):
    assert tree.flatten_one_level(value) == level


@pytest.mark.parametrize("mapping", [{1: 0, "a": 0}, defaultdict(int, {1: 0, "a": 0})])
def test_dict_keys_of_no_common_order_are_refused_by_type(mapping):
    with pytest.raises(TypeError, match=r"sort together, .*got keys of int and str"):
        tree.flatten_one_level(mapping)


def test_an_ordered_dict_may_have_any_keys():
    assert tree.leaves(OrderedDict({1: "x", "a": "y"})) == ["x", "y"]


@pytest.mark.parametrize("answer", [3, (1,), [[], None], ((), None, None)])
def test_flatten_must_return_a_pair(answer):
    with pytest.raises(
        TypeError, match=r"Answers.__tree_flatten__: must return a pair"
    ):
        tree.flatten(Answers(answer))


def test_children_must_be_a_mapping_or_a_sequence():
    with pytest.raises(TypeError, match=r"children must be a mapping or a .*got int"):
        tree.flatten(Answers((1, None)))


@pytest.mark.parametrize(
    ("path", "key", "extended"),
    [
        ("", "", ""),
        ("a", "", "a"),
        ("", "b", "b"),
        ("a", "b", "a.b"),
        ("a", 0, "a.0"),
        ("", 0, "0"),
        ("a", None, "a.None"),
        ("a", "b.c", "a.b.c"),
        ("a", (1, 2), "a.(1, 2)"),
    ],
)
def test_a_path_extended_by_a_key(path, key, extended):
    assert tree.extend_path(path, key) == extended


def test_a_class_or_several_make_a_predicate():
    assert [tree.as_predicate(int, bool)(x) for x in (1, True, "s")] == [
        True,
        True,
        False,
    ]
    assert [tree.as_predicate((int, str), bool)(x) for x in (1, "s", None)] == [
        True,
        True,
        False,
    ]
    assert not tree.as_predicate((), bool)(1)


def test_a_function_and_the_default_are_returned_as_they_are():
    def predicate(value):
        return value

    assert tree.as_predicate(predicate, bool) is predicate
    assert tree.as_predicate(None, predicate) is predicate


@pytest.mark.parametrize("selector", [3, "int", [int], (int, 3), int | str])
def test_another_selector_is_refused(selector):
    name = type(selector).__name__
    with pytest.raises(TypeError, match=rf"leaf: must be a class, .*got {name}"):
        tree.flatten([1], leaf=selector)
