"""The walk over a value: leaves, constants, paths, nodes, map, sharing and cycles."""

import enum
from collections import namedtuple
from typing import Any, cast

import numpy as np
import pytest

from maxlite import tree

Point = namedtuple("Point", "x y")
Color = enum.Enum("Color", "RED")


class MadeUp:
    """An object whose children exist only while they are looked at."""

    def __tree_flatten__(self):
        return {"x": [1], "y": [1]}, None


def cyclic_list():
    value: list[Any] = [1]
    value.append(value)
    return value


def cyclic_tuple():
    inner = []
    outer = (1, inner)
    inner.append(outer)
    return outer


# --------------------------------------------------------------- leaves and constants


@pytest.mark.parametrize(
    ("value", "leaves"),
    [
        (5, [5]),
        (None, [None]),
        ([None, 1], [None, 1]),
        ([], []),
        ({"b": 1, "a": [2, 3]}, [2, 3, 1]),
        ([Point(1, (2,))], [1, 2]),
    ],
)
def test_leaves_in_the_order_of_the_children(value, leaves):
    assert tree.leaves(value) == leaves
    assert tree.flatten(value)[0] == leaves


@pytest.mark.parametrize(
    ("leaf", "leaves"),
    [
        (int, [1, True]),
        ((int, str), ["s", 1, True]),
        (list, [[1, True]]),
        (dict, [{"a": "s", "b": [1, True]}]),
        (lambda value: value == 1, [1, True]),
        ((), []),
    ],
)
def test_a_selector_says_what_is_a_leaf(leaf, leaves):
    assert tree.leaves({"a": "s", "b": [1, True]}, leaf=leaf) == leaves


def test_a_selector_sees_each_part_once_and_nothing_below_a_leaf():
    seen = []

    def leaf(value):
        seen.append(value)
        return isinstance(value, tuple)

    tree.flatten([1, (2,)], leaf=leaf)
    assert seen == [[1, (2,)], 1, (2,)]


def test_an_object_is_asked_for_its_children_once():
    calls = []

    class Counted(MadeUp):
        def __tree_flatten__(self):
            calls.append(self)
            return super().__tree_flatten__()

    value = Counted()
    tree.flatten(value)
    assert calls == [value]


# ----------------------------------------------------------------------------- paths


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        (5, {"": 5}),
        ({"a": {"x": 1}, "b": (3, [4])}, {"a.x": 1, "b.0": 3, "b.1.0": 4}),
        ([Point(1, [2])], {"0.x": 1, "0.y.0": 2}),
        ({"": 1, "b": {"": 2}}, {"": 1, "b": 2}),
        ({1: "x"}, {"1": "x"}),
    ],
)
def test_leaves_by_path(value, paths):
    assert tree.paths(value) == paths


def test_constants_have_no_path():
    assert tree.paths([1, "s"], leaf=int) == {"0": 1}
    assert tree.paths("s", leaf=int) == {}


def test_two_leaves_with_one_path_are_an_error():
    with pytest.raises(ValueError, match=r"several leaves at 'a\.b'\. Rename a key"):
        tree.paths({"a.b": 1, "a": {"b": 2}, "c": 3})


# ----------------------------------------------------------------------------- nodes


def test_nodes_of_a_class_with_the_root():
    value = [1, {"k": (2,)}]
    assert tree.nodes(value, (list, dict)) == {"": value, "1": value[1]}
    assert tree.nodes(value, set) == {}


def test_nodes_finds_leaves_and_constants_too():
    assert tree.nodes({"a": [1, "s"]}, (int, str), leaf=int) == {"a.0": 1, "a.1": "s"}


def test_nodes_finds_nothing_below_a_leaf():
    assert list(tree.nodes({"a": [{"b": 1}]}, dict, leaf=list)) == [""]


def test_nodes_finds_a_shared_object_once():
    x = [1]
    assert list(tree.nodes([x, x], list)) == ["", "0", "1"]
    assert list(tree.nodes([x, x], list, shared=True)) == ["", "0"]
    assert list(tree.nodes(cyclic_list(), list, shared=True)) == [""]


def test_nodes_takes_classes_only():
    with pytest.raises(TypeError, match="must be a type"):
        tree.nodes([1], cast("Any", 3))


# ------------------------------------------------------------------------------- map


def test_map_applies_to_each_leaf():
    value = {"b": 1, "a": [2, (3,)], "c": "s"}
    doubled = {"a": [4, (6,)], "b": 2, "c": "s"}
    assert tree.map(lambda x: 2 * x, value, leaf=int) == doubled


def test_map_hands_none_to_the_function_and_takes_containers_from_it():
    assert tree.map(lambda x: [x], (None, 1)) == ([None], [1])


def test_map_takes_more_values_which_may_be_deeper():
    rows = tree.map(lambda *row: row, [1, 2], [[10], {"k": 20}], ["x", None])
    assert rows == [(1, [10], "x"), (2, {"k": 20}, None)]


def test_map_names_the_value_that_does_not_fit_before_any_call():
    def never(*row):
        raise AssertionError

    match = r"map: tree argument 3 must .* of tree argument 1, at <root>: expected a li"
    with pytest.raises(ValueError, match=match):
        tree.map(never, [1], [1], (1,))
    with pytest.raises(ValueError, match=r"argument 2 .*at 'k': expected keys \['a'\]"):
        tree.map(never, {"k": {"a": 1}}, {"k": {"b": 1}})
    with pytest.raises(ValueError, match=r"argument 2 .*at '1': expected 's', got 't'"):
        tree.map(never, [1, "s"], [1, "t"], leaf=int)


def test_map_calls_once_for_a_shared_leaf_and_shares_the_result():
    x = object()
    calls = []
    first, second = tree.map(lambda v: calls.append(v) or [], [x, x], shared=True)
    assert calls == [x]
    assert first is second


# --------------------------------------------------------------------------- sharing


@pytest.mark.parametrize(
    "value",
    [1, 10**30, True, 1.5, 2j, "s" * 50, b"abc", None, (), (1,), Point(1, 2)],
)
def test_values_are_never_shared(value):
    children = tree.flatten([value, value], shared=True)[1].children
    assert children[0] == children[1]


@pytest.mark.parametrize(
    "value",
    [[], {}, {1}, object(), np.float32(1), np.zeros(2), range(3), Color.RED, int],
)
def test_objects_are_shared(value):
    leaves, treedef = tree.flatten([value, value], shared=True)
    assert len(leaves) <= 1
    assert treedef.children[1] == tree.TreeDef("ref", meta=1)


def test_an_object_in_a_tuple_is_shared():
    x = object()
    row = (x, 1)
    assert list(tree.paths([row, row], shared=True)) == ["0.0", "0.1", "1.1"]


def test_a_shared_leaf_belongs_to_its_first_path():
    x = [1]
    assert tree.paths({"b": x, "a": {"k": x}}, shared=True) == {"a.k.0": 1}
    assert tree.paths((x, x), leaf=list, shared=True) == {"0": [1]}


def test_constants_are_kept_by_value():
    x = {1}
    treedef = tree.flatten([x, x], leaf=int, shared=True)[1]
    assert [child.kind for child in treedef.children] == ["static", "static"]


def test_children_made_up_on_the_spot_are_never_taken_for_one_another():
    assert tree.leaves([MadeUp() for _ in range(20)], shared=True) == [1] * 40


# ---------------------------------------------------------------------------- cycles


def test_a_cycle_needs_shared():
    with pytest.raises(ValueError, match=r"cycle at '1'. Pass shared=True"):
        tree.flatten(cyclic_list())
    assert tree.flatten(cyclic_list(), shared=True)[0] == [1]


def test_a_cycle_is_named_by_its_path():
    value: dict[str, Any] = {"a": {"b": [0]}}
    value["a"]["b"].append(value)
    with pytest.raises(ValueError, match=r"cycle at 'a\.b\.1'"):
        tree.leaves(value)


def test_a_cycle_from_a_tuple_to_itself_is_refused():
    with pytest.raises(ValueError, match=r"cycle at '1\.0'\. Pass shared"):
        tree.flatten(cyclic_tuple())
    with pytest.raises(ValueError, match=r"from a tuple back to itself at '1\.0'"):
        tree.flatten(cyclic_tuple(), shared=True)


def test_an_alias_that_is_no_cycle_needs_no_shared():
    x = [1]
    assert tree.leaves([x, [x]]) == [1, 1]


def test_structures_of_cycles_are_equal():
    first = tree.flatten(cyclic_list(), shared=True)[1]
    second = tree.flatten(cyclic_list(), shared=True)[1]
    assert first == second
    assert first.flatten_up_to(cyclic_list()) == [1]
