"""Building a value from its structure and its leaves."""

from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import pytest

from maxlite import tree

Point = namedtuple("Point", "x y")


class Unflattened:
    """Rebuilt from its children."""

    def __init__(self, children: Any, meta="meta"):
        self.children, self.meta = children, meta

    def __tree_flatten__(self):
        return self.children, self.meta

    @classmethod
    def __tree_unflatten__(cls, meta, children):
        return cls(children, meta)


class Empty:
    """Exists before its children, which become attributes."""

    def __init__(self, **attributes: Any):
        vars(self).update(attributes)

    def __tree_flatten__(self):
        return dict(vars(self)), None

    @classmethod
    def __tree_empty__(cls, meta):
        return cls()


class Slots:
    """Exists before its children, and says itself where they go."""

    def __init__(self, *items):
        self.items = list(items)

    def __tree_flatten__(self):
        return self.items, len(self.items)

    @classmethod
    def __tree_empty__(cls, meta):
        return cls(*[None] * meta)

    @classmethod
    def __tree_unflatten__(cls, meta, children):
        raise AssertionError("__tree_empty__ comes first")

    def __tree_setattr__(self, key, value):
        self.items[key] = value


class FlattenOnly:
    def __tree_flatten__(self):
        return {"v": 1}, None


@pytest.mark.parametrize(
    "value",
    [
        1,
        None,
        [],
        {"b": [1, (2, 3)], "a": {}},
        [OrderedDict(b=1, a=2)],
        [Point(1, [2, 3])],
        (((), [[]]), {"k": ()}),
    ],
)
def test_a_value_is_rebuilt(value):
    leaves, treedef = tree.flatten(value)
    rebuilt = tree.unflatten(treedef, leaves)
    assert rebuilt == value
    assert type(rebuilt) is type(value)


def test_containers_are_new_and_constants_the_same():
    constant = {1, 2}
    value = {"a": [1, constant]}
    leaves, treedef = tree.flatten(value, leaf=int)
    rebuilt = tree.unflatten(treedef, leaves)
    assert rebuilt is not value
    assert rebuilt["a"] is not value["a"]
    assert rebuilt["a"][1] is constant


def test_a_dict_is_rebuilt_in_the_order_of_its_keys():
    assert list(tree.map(lambda x: x, {"b": 1, "a": 2})) == ["a", "b"]


def test_an_ordered_dict_keeps_its_order_and_a_defaultdict_its_factory():
    ordered = tree.map(lambda x: x, OrderedDict(b=1, a=2))
    assert list(ordered) == ["b", "a"]
    default = tree.map(lambda x: x, defaultdict(list, b=1, a=2))
    assert (type(default), default["missing"]) == (defaultdict, [])


def test_a_keyed_object_gets_a_dict_and_a_positional_one_a_list():
    keyed = tree.map(lambda x: x, Unflattened({"b": 1, "a": 2}, "m"))
    assert (keyed.children, list(keyed.children), keyed.meta) == (
        {"b": 1, "a": 2},
        ["b", "a"],
        "m",
    )
    assert tree.map(lambda x: x, Unflattened((1, 2))).children == [1, 2]


def test_an_object_made_empty_is_filled_by_attribute_or_by_its_own_method():
    assert vars(tree.map(lambda x: x + 1, Empty(a=1, b=2))) == {"a": 2, "b": 3}
    assert tree.map(lambda x: x + 1, [Slots(1, 2)])[0].items == [2, 3]


def test_a_positional_child_needs_a_place():
    class Nowhere(Slots):
        __tree_setattr__: Any = None  # as if there were none

    with pytest.raises(TypeError, match=r"Nowhere: child 0 .*__tree_setattr__"):
        tree.map(lambda x: x, Nowhere(1))


def test_an_object_that_cannot_be_rebuilt_is_named():
    with pytest.raises(TypeError, match="FlattenOnly must say how it is rebuilt"):
        tree.map(lambda x: x, [FlattenOnly()])


def test_any_iterable_of_leaves_will_do():
    treedef = tree.flatten({"a": 1, "b": (2, 3)})[1]
    leaves = (10 * i for i in range(3))
    assert tree.unflatten(treedef, leaves) == {"a": 0, "b": (10, 20)}


@pytest.mark.parametrize("exact", [True, False])
def test_too_few_leaves_are_an_error(exact):
    treedef = tree.flatten([1, [2, 3]])[1]
    with pytest.raises(ValueError, match="the structure has 3 leaves, got 1"):
        tree.unflatten(treedef, [1], exact=exact)


def test_too_many_leaves_are_an_error_or_stay_in_the_iterator():
    treedef = tree.flatten([1, 2])[1]
    leaves = iter([5, 6, 7, 8])
    assert tree.unflatten(treedef, leaves, exact=False) == [5, 6]
    assert tree.unflatten(treedef, leaves) == [7, 8]
    with pytest.raises(ValueError, match="has 2 leaves, got more"):
        tree.unflatten(treedef, [1, 2, 3])


def test_swapped_arguments_are_named():
    swapped: Any = [1]
    with pytest.raises(TypeError, match=r"must be a TreeDef, got list. Pass the struc"):
        tree.unflatten(swapped, tree.flatten([1])[0])


# --------------------------------------------------------------------------- sharing


def test_an_alias_is_restored():
    x = [1]
    treedef = tree.flatten({"a": x, "b": (x, x)}, shared=True)[1]
    rebuilt = tree.unflatten(treedef, [9])
    assert rebuilt == {"a": [9], "b": ([9], [9])}
    assert rebuilt["a"] is rebuilt["b"][0] is rebuilt["b"][1]


def test_an_alias_of_an_object_is_restored():
    x = Unflattened({"v": 1})
    first, second = tree.map(lambda v: v + 1, [x, x], shared=True)
    assert first is second
    assert first.children == {"v": 2}


@pytest.mark.parametrize("make", [dict, OrderedDict, lambda: defaultdict(int)])
def test_a_cycle_through_a_dict_is_restored(make):
    value = make()
    value["a"] = 1
    value["me"] = value
    rebuilt = tree.map(lambda x: x + 1, value, shared=True)
    assert rebuilt["a"] == 2
    assert rebuilt["me"] is rebuilt


def test_a_cycle_through_a_list_and_a_tuple_in_it_is_restored():
    value = []
    value.append((1, value))
    rebuilt = tree.map(lambda x: x + 1, value, shared=True)
    assert rebuilt[0][0] == 2
    assert rebuilt[0][1] is rebuilt


def test_a_cycle_through_objects_that_exist_first_is_restored():
    child = Slots(2, None)
    parent = Empty(v=1, child=child)
    child.items[1] = parent
    rebuilt = tree.map(lambda x: x + 1, parent, shared=True)
    assert rebuilt.v == 2
    assert rebuilt.child.items == [3, rebuilt]


def test_a_cycle_through_an_object_built_from_its_children_is_refused():
    value = Unflattened({"v": 1})
    value.children["me"] = value
    leaves, treedef = tree.flatten(value, shared=True)
    with pytest.raises(TypeError, match="Declare a classmethod __tree_empty__"):
        tree.unflatten(treedef, leaves)


def test_a_reference_must_point_back():
    treedef = tree.TreeDef("list", (tree.TreeDef("ref", meta=7),))
    with pytest.raises(ValueError, match="got part 7 of 1"):
        tree.unflatten(treedef, [])
