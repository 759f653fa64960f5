"""The structure of a value, and taking another value apart by it."""

import copy
import pickle
import re
from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import numpy as np
import optree
import pytest

from maxlite import tree

Point = namedtuple("Point", "x y")
Pixel = namedtuple("Pixel", "x y")
LEAF = tree.TreeDef("leaf")


class Node:
    def __init__(self, left, right, tag: Any = "t"):
        self.left, self.right, self.tag = left, right, tag

    def __tree_flatten__(self):
        return {"left": self.left, "right": self.right}, self.tag


class Other(Node):
    pass


class Vector:
    def __init__(self, *items):
        self.items = items

    def __tree_flatten__(self):
        return self.items, None


def structure(value, **options):
    return tree.flatten(value, **options)[1]


# ----------------------------------------------------------------------- its members


@pytest.mark.parametrize(
    ("value", "kind", "keys", "meta", "child_keys"),
    [
        (1, "leaf", (), None, ()),
        (None, "leaf", (), None, ()),
        ([1, 2], "list", (), None, (0, 1)),
        ((), "tuple", (), None, ()),
        ({"b": 1, "a": 2}, "dict", ("a", "b"), None, ("a", "b")),
        (OrderedDict(b=1), "dict", ("b",), (OrderedDict, ()), ("b",)),
        (defaultdict(int, b=1), "dict", ("b",), (defaultdict, (int,)), ("b",)),
        (Point(1, 2), "namedtuple", ("x", "y"), Point, ("x", "y")),
        (Node(1, 2), "node", ("left", "right"), (Node, "t"), ("left", "right")),
        (Vector(1, 2), "node", (), (Vector, None), (0, 1)),
    ],
)
def test_members_by_kind(value, kind, keys, meta, child_keys):
    treedef = structure(value)
    assert (treedef.kind, treedef.keys, treedef.meta) == (kind, keys, meta)
    assert treedef.child_keys == child_keys


def test_a_constant_is_a_static_and_no_leaf():
    treedef = structure([1, "s"], leaf=int)
    assert treedef.children[1] == tree.TreeDef("static", meta="s")
    assert (treedef.num_leaves, treedef.leaf_paths) == (1, ("0",))


def test_a_reference_counts_the_parts_before_its_target_but_no_references():
    x, y = [1], [2]
    refs = [part.meta for part in structure([x, x, "s", y, y], shared=True).children]
    assert refs == [None, 1, None, None, 4]


def test_leaf_paths_of_a_leaf_and_of_an_empty_container():
    assert structure(1).leaf_paths == ("",)
    assert structure([]).leaf_paths == ()


def test_a_structure_checks_itself():
    with pytest.raises(ValueError, match=r"kind must be one of .*got 'set'"):
        tree.TreeDef("set")
    with pytest.raises(ValueError, match="got 1 keys and 2 children"):
        tree.TreeDef("dict", (LEAF, LEAF), ("a",))


def test_a_structure_cannot_be_changed():
    treedef: Any = structure(1)
    with pytest.raises(AttributeError, match="kind"):
        treedef.kind = "list"


# -------------------------------------------------------------------------- equality


@pytest.mark.parametrize(
    ("lhs", "rhs", "equal"),
    [
        ([1, 2], [3, 4], True),
        ([1, 2], (1, 2), False),
        ([1], [[1]], False),
        ({"a": 1}, {"b": 1}, False),
        ({1: "x"}, {1.0: "x"}, True),
        ({"a": 1}, OrderedDict(a=1), False),
        (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1), False),
        (defaultdict(int, a=1), defaultdict(float, a=1), False),
        (Point(1, 2), Pixel(1, 2), False),
        (Node(1, 2), Node(3, 4), True),
        (Node(1, 2, "t"), Node(1, 2, "u"), False),
        (Node(1, 2), Other(1, 2), False),
        (Node(1, 2, np.zeros(2)), Node(1, 2, np.zeros(2)), True),
    ],
)
def test_equality_of_structures(lhs, rhs, equal):
    lhs, rhs = structure(lhs), structure(rhs)
    assert (lhs == rhs) is equal
    assert (lhs != rhs) is not equal
    if equal:
        assert hash(lhs) == hash(rhs)


def test_constants_are_compared_but_not_hashed():
    def treedef(value):
        return structure([1, value], leaf=int)

    assert treedef("s") == treedef("s")
    assert treedef(float("nan")) == treedef(float("nan"))
    assert treedef(np.zeros(2)) == treedef(np.zeros(2))
    assert treedef("s") != treedef("t")
    assert treedef(object()) != treedef(object())
    assert hash(treedef({1})) == hash(treedef("t"))


def test_sharing_is_part_of_the_structure():
    x, y, z = [1], [1], [1]
    assert structure([x, x], shared=True) == structure([y, y], shared=True)
    assert structure([x, x], shared=True) != structure([y, z], shared=True)


def test_a_structure_differs_from_any_other_value():
    assert structure(1) != "leaf"


@pytest.mark.parametrize(
    "clone", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_copy_of_a_structure_is_equal_and_works(clone):
    treedef = structure({"a": [1, Point(2, "s")]}, leaf=int)
    treedef.flatten_up_to({"a": [1, Point(2, "s")]})
    assert clone(treedef) == treedef
    assert clone(treedef).flatten_up_to({"a": [3, Point(4, "s")]}) == [3, 4]


# --------------------------------------------------------------------- flatten_up_to


@pytest.mark.parametrize(
    ("value", "deeper", "leaves"),
    [
        (1, [1, 2], [[1, 2]]),
        ([1, {"k": 2}], [[1, 1], {"k": {"deep": 2}}], [[1, 1], {"deep": 2}]),
        ([1, 2], [None, 2], [None, 2]),
        ({"b": 1, "a": 2}, {"b": 10, "a": 20}, [20, 10]),
        (OrderedDict(b=1, a=2), OrderedDict(b=10, a=20), [10, 20]),
        ({"a": defaultdict(int, k=1)}, {"a": defaultdict(int, k=[1])}, [[1]]),
        ([Point(1, [2])], [Point([1], [2])], [[1], 2]),
        ([Node(1, [2])], [Node([1], [2])], [[1], 2]),
        ([Vector(1, (2,))], [Vector([1], (2,))], [[1], 2]),
        ((), (), []),
    ],
)
def test_a_value_is_taken_apart_where_the_structure_has_leaves(value, deeper, leaves):
    assert structure(value).flatten_up_to(deeper) == leaves


@pytest.mark.parametrize("path", ["", "args"])
@pytest.mark.parametrize(
    ("value", "other", "where", "message"),
    [
        ([1, 2], (1, 2), "", "expected a list, got tuple"),
        ([1, [2]], [1, (2,)], "1", "expected a list, got tuple"),
        ([1, [2]], [1, None], "1", "expected a list, got NoneType"),
        ([1], type("L", (list,), {})([1]), "", "expected a list, got L"),
        ({"a": 1}, type("D", (dict,), {})(a=1), "", "expected a dict, got D"),
        ((1, 2), Point(1, 2), "", "expected a tuple, got Point"),
        (Point(1, 2), (1, 2), "", "expected a namedtuple, got tuple"),
        (Node(1, 2), 3, "", "expected a node, got int"),
        ([1, 2], [1, 2, 3], "", "expected keys [0, 1], got [0, 1, 2]"),
        ([], [1], "", "expected keys [], got [0]"),
        (
            {"a": 1, "c": 2},
            {"b": 1, "c": 2},
            "",
            "expected keys ['a', 'c'], got ['b', ",
        ),
        ({"k": {"a": 1}}, {"k": {"b": 1}}, "k", "expected keys ['a'], got ['b']"),
        ({"a": 1}, {"a": 1, "b": 2}, "", "expected keys ['a'], got ['a', 'b']"),
        ([{"a": [1]}, [1, 2]], [{"a": 1}, [1]], "0.a", "expected a list, got int"),
        ({"a": 1}, OrderedDict(a=1), "", "expected a dict, got OrderedDict"),
        ([{"a": 1}], [defaultdict(int, a=1)], "0", "expected a dict, got defaultdict"),
        (OrderedDict(a=1), {"a": 1}, "", "expected an OrderedDict, got dict"),
        (
            OrderedDict(a=1, b=2),
            OrderedDict(b=1, a=2),
            "",
            "expected keys ['a', 'b'], got ['b', 'a']",
        ),
        (
            defaultdict(int, a=1),
            defaultdict(float, a=1),
            "",
            "expected (<class 'int'>,), got (<class 'float'>,) as the meta",
        ),
        (Point(1, 2), Pixel(1, 2), "", "expected a Point, got Pixel"),
        (Node(1, 2), Other(1, 2), "", "expected a Node, got Other"),
        (
            Node(1, 2, "t"),
            Node(1, 2, "u"),
            "",
            "expected 't', got 'u' as the meta of a",
        ),
        ([Vector(1, [2])], [Vector(1, 2)], "0.1", "expected a list, got int"),
        (Vector(1), Vector(1, 2), "", "expected keys [0], got [0, 1]"),
    ],
)
def test_a_mismatch_names_its_path(value, other, where, message, path):
    whole = tree.extend_path(path, where)
    start = f"{repr(whole) if whole else '<root>'}: {message}"
    with pytest.raises(ValueError, match=f"^{re.escape(start)}"):
        structure(value).flatten_up_to(other, path)


@pytest.mark.parametrize(
    ("constant", "other", "message"),
    [
        ("s", "t", "'1': expected 's', got 't'"),
        ("s", [2], r"'1': expected 's', got \[2\]"),
        (2.5, 3.0, "'1': expected 2.5, got 3.0"),
        (object(), object(), "compared by identity"),
        (
            np.zeros(2),
            np.ones(2),
            r"got ndarray\(dtype=float64, shape=\(2,\)\) with other elements",
        ),
    ],
)
def test_constants_must_be_the_same(constant, other, message):
    treedef = structure([1, constant], leaf=lambda value: type(value) is int)
    assert treedef.flatten_up_to([5, constant]) == [5]
    with pytest.raises(ValueError, match=message):
        treedef.flatten_up_to([5, other])


def test_equal_constants_may_be_of_another_class():
    treedef = structure([1, 3.0], leaf=lambda value: type(value) is int)
    assert treedef.flatten_up_to([1, 3]) == [1]


def test_unsortable_keys_in_the_value_are_a_type_error():
    with pytest.raises(TypeError, match="int and str"):
        structure({"a": 1, "b": 2}).flatten_up_to({1: 1, "a": 2})


def test_what_stands_at_a_reference_is_not_looked_at():
    x = [1]
    treedef = structure([x, x], shared=True)
    assert treedef.flatten_up_to([[5], "anything"]) == [5]


def test_a_handmade_structure_keeps_the_order_of_its_keys():
    treedef = tree.TreeDef("dict", (LEAF, LEAF), ("b", "a"))
    assert tree.unflatten(treedef, [1, 2]) == {"b": 1, "a": 2}
    with pytest.raises(ValueError, match=r"expected keys \['b', 'a'\]"):
        treedef.flatten_up_to({"a": 1, "b": 2})
    mixed = tree.TreeDef("dict", (LEAF, LEAF), (1, "a"))
    assert tree.unflatten(mixed, [1, 2]) == {1: 1, "a": 2}


def test_a_namedtuple_registered_with_optree_is_taken_apart_as_ever():
    Custom: Any = namedtuple("Custom", "a b")
    with pytest.warns(UserWarning, match="already registered"):
        optree.register_pytree_node(
            Custom,
            lambda value: (list(value)[::-1], None),
            lambda _, children: Custom(*list(children)[::-1]),
            namespace="maxlite",
        )
    leaves, treedef = tree.flatten([Custom(1, 2)])
    assert leaves == treedef.flatten_up_to([Custom(1, 2)]) == [1, 2]
    assert tree.unflatten(treedef, leaves) == [Custom(1, 2)]


def test_an_equality_that_changes_its_mind_is_no_crash():
    class Moody:
        answers = iter([False, True])

        def __eq__(self, other):
            return next(self.answers)

    treedef = structure([1, Moody()], leaf=int)
    assert treedef.flatten_up_to([1, Moody()]) == [1]
