"""Laws that hold for every tree, with Hypothesis."""

from collections import OrderedDict, defaultdict, namedtuple

from hypothesis import given
from hypothesis import strategies as st

from maxlite import tree

Point = namedtuple("Point", "x y")
names = st.sampled_from(["a", "b", "c", "ab", "layer"])
ints = st.integers(-9, 9)
constants = st.sampled_from(["s", "t", None, 2.5, float("nan")])


class Node:
    """A keyed object with constants beside its children."""

    def __init__(self, children, meta):
        self.children, self.meta = children, meta

    def __tree_flatten__(self):
        return self.children, self.meta

    @classmethod
    def __tree_unflatten__(cls, meta, children):
        return cls(dict(children), meta)

    def __tree_setattr__(self, key, value):
        self.children[key] = value

    def __eq__(self, other):
        mine, theirs = (self.children, self.meta), (other.children, other.meta)
        return tree.same_static(mine, theirs)


def make_trees(leaves, depth=2):
    """Makes values with nodes of every kind; ``leaves`` makes what is none."""
    if depth == 0:
        return leaves
    below = make_trees(leaves, depth - 1)
    lists = st.lists(below, max_size=3)
    dicts = st.dictionaries(names, below, max_size=3)
    return st.one_of(
        leaves,
        lists,
        lists.map(tuple),
        dicts,
        dicts.map(OrderedDict),
        dicts.map(lambda items: defaultdict(list, items)),
        st.builds(Point, below, below),
        st.builds(Node, dicts, constants),
    )


trees = make_trees(ints | constants)
selectors = st.sampled_from([None, int, (int, str), list])


@given(trees, selectors, st.booleans())
def test_unflatten_is_the_inverse_of_flatten(value, leaf, shared):
    leaves, treedef = tree.flatten(value, leaf=leaf, shared=shared)
    rebuilt = tree.unflatten(treedef, leaves)
    again, same = tree.flatten(rebuilt, leaf=leaf, shared=shared)
    assert same == treedef
    assert hash(same) == hash(treedef)
    assert len(leaves) == len(again) == treedef.num_leaves
    assert all(first is second for first, second in zip(leaves, again, strict=True))


@given(trees, selectors, st.booleans())
def test_map_of_the_identity_changes_nothing(value, leaf, shared):
    mapped = tree.map(lambda x: x, value, leaf=leaf, shared=shared)
    assert tree.same_static(mapped, value)


@given(trees)
def test_map_composes(value):
    once = tree.map(lambda x: repr(repr(x)), value)
    assert tree.same_static(tree.map(repr, tree.map(repr, value)), once)


@given(trees, selectors)
def test_a_structure_takes_its_own_value_apart(value, leaf):
    leaves, treedef = tree.flatten(value, leaf=leaf)
    found = treedef.flatten_up_to(value)
    assert len(found) == len(leaves)
    assert all(first is second for first, second in zip(leaves, found, strict=True))


@given(trees, trees, selectors)
def test_a_structure_takes_a_value_apart_or_says_why_not(value, other, leaf):
    treedef = tree.flatten(value, leaf=leaf)[1]
    if tree.flatten(other, leaf=leaf)[1] == treedef:
        assert treedef.flatten_up_to(other) == tree.leaves(other, leaf=leaf)
    try:
        found = treedef.flatten_up_to(other)
    except ValueError:
        return
    assert len(found) == treedef.num_leaves
    assert tree.same_static(tree.unflatten(treedef, found), other)


@given(trees)
def test_update_is_the_inverse_of_paths(value):
    paths = tree.paths(value)
    blank = tree.map(lambda _: "blank", value)
    assert tree.same_static(tree.update(blank, paths), value)


@given(make_trees(ints), st.data())
def test_update_writes_what_it_is_told_and_nothing_else(value, data):
    paths = tree.paths(value)
    chosen = data.draw(st.sets(st.sampled_from(sorted(paths)))) if paths else set()
    state = {path: f"new {path}" for path in chosen}
    assert tree.paths(tree.update(value, state)) == {**paths, **state}


@given(trees)
def test_paths_leaves_and_nodes_agree(value):
    leaves, treedef = tree.flatten(value)
    paths = tree.paths(value)
    assert tuple(paths) == treedef.leaf_paths
    assert all(a is b for a, b in zip(paths.values(), leaves, strict=True))
    nodes = tree.nodes(value, object)
    assert nodes[""] is value
    assert set(paths) <= set(nodes)


@given(trees, trees)
def test_equal_structures_have_equal_hashes(first, second):
    a, b = tree.flatten(first)[1], tree.flatten(second)[1]
    assert (a == b) is (b == a)
    if a == b:
        assert hash(a) == hash(b)


@given(st.lists(st.integers(0, 4), max_size=8), st.data())
def test_sharing_survives_a_round_trip(picks, data):
    pool = [[i] for i in range(5)]
    for inner in pool:  # any object may hold any other, so that there are cycles
        inner.extend(
            pool[j] for j in data.draw(st.lists(st.integers(0, 4), max_size=2))
        )
    value = [pool[i] for i in picks]
    leaves, treedef = tree.flatten(value, shared=True)
    rebuilt = tree.unflatten(treedef, leaves)
    assert tree.flatten(rebuilt, shared=True) == (leaves, treedef)
    for i, first in enumerate(value):
        for j, second in enumerate(value):
            assert (rebuilt[i] is rebuilt[j]) is (first is second)
