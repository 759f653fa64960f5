"""Writing leaves in place."""

from collections import OrderedDict, defaultdict, namedtuple
from typing import Any, ClassVar

import pytest

from maxlite import tree

Point = namedtuple("Point", "x y")


class Node:
    """A keyed object whose children are attributes."""

    def __init__(self, **attributes):
        vars(self).update(attributes)

    def __tree_flatten__(self):
        return dict(vars(self)), None


class Logged(Node):
    """A keyed object that says itself how a child is written."""

    log: ClassVar[list[tuple[str, Any]]] = []

    def __tree_setattr__(self, key, value):
        self.log.append((key, value))
        setattr(self, key, value)


class Vector:
    """A positional object without a way to write a child."""

    def __init__(self, *items):
        self.items = items

    def __tree_flatten__(self):
        return self.items, None


@pytest.mark.parametrize(
    ("value", "state", "after"),
    [
        ({"a": 1}, {"a": 5}, {"a": 5}),
        ({"a": 1}, {}, {"a": 1}),
        ({1: 1, 2: 2}, {"1": 7}, {1: 7, 2: 2}),
        ([1, 2], {"0": [1, 2], "1": None}, [[1, 2], None]),
        ([(1, 2), 3], {"0.1": 5}, [(1, 5), 3]),
        ([Point(1, (2, 3))], {"0.y.1": 7}, [Point(1, (2, 7))]),
        (([1], 2), {"0.0": 7}, ([7], 2)),
        (OrderedDict(b=1, a=2), {"a": 7}, OrderedDict(b=1, a=7)),
        (defaultdict(int, a=1), {"a": 7}, {"a": 7}),
    ],
)
def test_leaves_are_written_in_place(value, state, after):
    assert tree.update(value, state) is value
    assert value == after


@pytest.mark.parametrize(
    ("value", "state", "after"),
    [
        (5, {"": 6}, 6),
        ((1, [2]), {"0": 5}, (5, [2])),
        (Point(1, (2,)), {"y.0": 5}, Point(1, (5,))),
    ],
)
def test_a_root_that_cannot_be_written_is_replaced(value, state, after):
    assert tree.update(value, state) == after
    assert value != after


def test_a_selector_says_what_can_be_written():
    value = {"a": [1], "b": 2}
    tree.update(value, {"a": 9}, leaf=list)
    assert value == {"a": 9, "b": 2}


def test_it_is_the_inverse_of_paths():
    source = {"a": [1, (2,)], "b": {"c": 3}}
    target = {"a": [0, (0,)], "b": {"c": 0}}
    assert tree.update(target, tree.paths(source)) == source


def test_an_object_is_written_by_attribute():
    value = Node(left=1, right=([2], 3))
    tree.update(value, {"left": 7, "right.1": 8})
    assert vars(value) == {"left": 7, "right": ([2], 8)}


def test_an_object_with_a_method_for_it_is_written_by_that_and_only_what_changed():
    value = Logged(left=1, right=(2, [3]))
    Logged.log.clear()
    tree.update(value, {"right.1.0": 5})
    assert Logged.log == []
    tree.update(value, {"left": 6, "right.0": 7})
    assert Logged.log == [("left", 6), ("right", (7, [5]))]


@pytest.mark.parametrize("inner", [(1, 2), (1, (2,))])
def test_a_positional_object_without_a_method_is_refused(inner):
    path = "0.1" if inner[1] == 2 else "0.1.0"
    value = [Vector(*inner)]
    with pytest.raises(TypeError, match=r"Vector: child 1 .*__tree_setattr__"):
        tree.update(value, {path: 5})
    assert value[0].items == inner


def test_what_a_positional_object_contains_can_be_written():
    value = [Vector([1], 2)]
    tree.update(value, {"0.0.0": 5})
    assert value[0].items == ([5], 2)


# ---------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("value", "state", "named", "after"),
    [
        ({"a": 1}, {"a": 5, "zz": 1}, "'zz'", {"a": 5}),
        ({"a": 1}, {"zz": 1, "yy": 2}, "'zz', 'yy'", {"a": 1}),
        ({"b": [1], "c": 2}, {"b": [5], "c": 9}, "'b'", {"b": [1], "c": 9}),
        ([5], {"": 6}, "<root>", [5]),
        ([5], {0: 6}, "0", [5]),
    ],
)
def test_a_path_that_names_no_leaf_is_an_error_after_the_rest_is_written(
    value, state, named, after
):
    with pytest.raises(ValueError, match=rf"must name a leaf, got {named}\."):
        tree.update(value, state)
    assert value == after


def test_a_constant_is_no_leaf():
    with pytest.raises(ValueError, match="must name a leaf, got '1'"):
        tree.update([5, "s"], {"1": "t"}, leaf=int)


def test_leaves_before_a_refused_one_are_written_by_then():
    value = [{"a": 1}, Vector(1), {"a": 2}]
    with pytest.raises(TypeError, match="Vector"):
        tree.update(value, {"0.a": 5, "1.0": 6, "2.a": 7})
    assert (value[0], value[2]) == ({"a": 5}, {"a": 2})


def test_of_two_leaves_with_one_path_the_first_is_written():
    value = {"a.b": 1, "a": {"b": 2}}
    tree.update(value, {"a.b": 5})
    assert value == {"a.b": 1, "a": {"b": 5}}


# --------------------------------------------------------------------------- sharing


def test_an_alias_is_written_by_either_path():
    x = [1]
    value = {"a": x, "b": x}
    tree.update(value, {"b.0": 5})
    assert value == {"a": [5], "b": [5]}


def test_shared_reaches_every_place_through_the_first():
    x = object()
    value = {"a": x, "b": [x, (x, 1)]}
    tree.update(value, {"a": "new"}, shared=True)
    assert value == {"a": "new", "b": ["new", ("new", 1)]}


def test_shared_knows_the_first_path_only():
    x = object()
    with pytest.raises(ValueError, match=r"must name a leaf, got 'b\.0'"):
        tree.update({"a": x, "b": [x]}, {"b.0": "new"}, shared=True)


def test_shared_never_merges_equal_values():
    value = [1, 1]
    tree.update(value, {"1": 5}, shared=True)
    assert value == [1, 5]


def test_a_cycle_is_written_with_shared():
    value: list[Any] = [1]
    value.append((2, value))
    with pytest.raises(ValueError, match=r"cycle at '1\.1'\. Pass shared"):
        tree.update(value, {"0": 9})
    assert tree.update(value, {"0": 9, "1.0": 8}, shared=True) is value
    assert value[0] == 9
    assert value[1][0] == 8
    assert value[1][1] is value
