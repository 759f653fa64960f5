"""The walk over a value, and what is read off it: leaves, paths, nodes, and ``map``.

The walk goes down from the root, in the order of the children, and counts what it
meets. That number is what a reference points at, and the list of all that was met is
what ``nodes`` and ``update`` work from. The same list keeps every object alive, those
made up on the spot by ``__tree_flatten__`` too, so that no two can share an ``id``.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

from maxlite.tree._node import (
    as_predicate,
    extend_path,
    kind_of,
    open_level,
    show_path,
)
from maxlite.tree._treedef import LEAF, TreeDef, parts, take_apart
from maxlite.tree._unflatten import unflatten

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxlite.tree._node import Selector

T = TypeVar("T")

# Two equal values of these classes may be one object by no will of the user's.
_NEVER_SHARED = (type(None), bool, int, float, complex, str, bytes, tuple)


def flatten(
    tree: Any, *, leaf: Selector | None = None, shared: bool = False
) -> tuple[list[Any], TreeDef]:
    """Takes a value apart into its leaves and its structure.

    Args:
        tree: Any value.
        leaf: What is a leaf. With a selector the walk stops where it says yes, at a
            container too, and whatever else is no node is a constant: it stays in the
            structure. Without one, all that is no node is a leaf.
        shared: Whether an object that stands in several places is one leaf (or one
            node) and a reference elsewhere. Numbers, text, ``None`` and tuples are
            values and never shared.

    Returns:
        The leaves, and the structure.

    Raises:
        ValueError: The value contains itself: in any way without ``shared``, through a
            tuple with it.
        TypeError: A dict has keys of no common order, or the selector is none.

    Source: max.tree.flatten.

    >>> from maxlite import tree
    >>> leaves, structure = tree.flatten({"b": 1, "a": (2, "fast")}, leaf=int)
    >>> leaves, structure.leaf_paths
    ([2, 1], ('a.0', 'b'))
    >>> tree.unflatten(structure, [20, 10])
    {'a': (20, 'fast'), 'b': 10}
    """
    walk = Walk(leaf, shared)
    treedef = walk.visit(tree)
    return walk.leaves, treedef


def leaves(
    tree: Any, *, leaf: Selector | None = None, shared: bool = False
) -> list[Any]:
    """Lists the leaves of a value.

    Args:
        tree: Any value.
        leaf: What is a leaf, as in :func:`flatten`.
        shared: Whether an object counts once, as in :func:`flatten`.

    Source: max.tree.leaves.

    >>> from maxlite import tree
    >>> tree.leaves({"b": 1, "a": [2, None]})
    [2, None, 1]
    """
    return flatten(tree, leaf=leaf, shared=shared)[0]


def paths(
    tree: Any, *, leaf: Selector | None = None, shared: bool = False
) -> dict[str, Any]:
    """Gives each leaf of a value under its path.

    Args:
        tree: Any value.
        leaf: What is a leaf, as in :func:`flatten`.
        shared: Whether an object counts once, under its first path.

    Raises:
        ValueError: Two leaves have one path, such as ``{"a.b": 1, "a": {"b": 2}}``.

    Source: max.tree.paths.

    >>> from maxlite import tree
    >>> tree.paths({"layers": [{"w": 1}, {"w": 2}], "scale": 3})
    {'layers.0.w': 1, 'layers.1.w': 2, 'scale': 3}
    """
    found, treedef = flatten(tree, leaf=leaf, shared=shared)
    by_path = dict(zip(treedef.leaf_paths, found, strict=True))
    if len(by_path) < len(found):
        counts = Counter(treedef.leaf_paths)
        taken = [show_path(path) for path, count in counts.items() if count > 1]
        raise ValueError(
            "paths: each leaf must have a path of its own, got several leaves at "
            f"{', '.join(taken)}. Rename a key; a dot in a key reads as a step."
        )
    return by_path


def nodes(
    tree: Any,
    node_type: type[T] | tuple[type[T], ...],
    *,
    leaf: Selector | None = None,
    shared: bool = False,
) -> dict[str, T]:
    """Finds the parts of a value that are of some class, each under its path.

    The root is at ``""``; leaves and constants are found too. Of two parts with one
    path the later one in the walk is kept.

    Args:
        tree: Any value.
        node_type: The class, or several.
        leaf: What is a leaf, as in :func:`flatten`: nothing is looked for inside.
        shared: Whether an object is found once, under its first path.

    Source: max.tree.nodes.

    >>> from maxlite import tree
    >>> tree.nodes({"a": [1, (2, [3])]}, list)
    {'a': [1, (2, [3])], 'a.1.1': [3]}
    """
    walk = Walk(leaf, shared)
    treedef = walk.visit(tree)
    met = [path for path, part in parts(treedef) if part.kind != "ref"]
    return {
        path: part
        for path, part in zip(met, walk.met, strict=True)
        if isinstance(part, node_type)
    }


def map(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    leaf: Selector | None = None,
    shared: bool = False,
) -> Any:
    """Builds a value of the same structure, with ``f`` applied to each leaf.

    Args:
        f: Called with one leaf of ``tree``, and with what each of ``rest`` has in its
            place.
        tree: Any value.
        rest: More values of the same structure; they may go deeper where ``tree`` has
            leaves.
        leaf: What is a leaf, as in :func:`flatten`.
        shared: Whether ``f`` is called once for an object in several places, which then
            share the result. What ``rest`` has in the other places is not looked at.

    Raises:
        ValueError: One of ``rest`` has another structure. The message names it by its
            position among the values, ``tree`` being 1, and the path.

    Source: max.tree.map.

    >>> from maxlite import tree
    >>> tree.map(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)})
    {'a': 11, 'b': (22,)}
    """
    first, treedef = flatten(tree, leaf=leaf, shared=shared)
    columns = [first]
    for position, other in enumerate(rest, 2):
        prefix = (
            f"map: tree argument {position} must have the structure of tree argument "
            "1, at "
        )
        columns.append(take_apart(treedef, other, "", prefix))
    return unflatten(treedef, [f(*row) for row in zip(*columns, strict=True)])


class Walk:
    """One walk over one value.

    Attributes:
        leaves: The leaves so far.
        met: Everything so far, but for what had been met before: the parts of the
            structure that are no refs, in its order.
    """

    def __init__(self, leaf: Selector | None, shared: bool) -> None:
        self.leaves: list[Any] = []
        self.met: list[Any] = []
        self._selects = None if leaf is None else as_predicate(leaf, bool)
        self._shared = shared
        self._first: dict[int, int] = {}  # by id: the number of an object in met
        # By id, from the root on: at which key the walk is in each node around it.
        self._around: dict[int, Any] = {}

    def visit(self, value: Any) -> TreeDef:
        """Walks over one part, and gives its structure."""
        selected = self._selects is not None and self._selects(value)
        kind = None if selected else kind_of(value)
        if kind is None and not selected and self._selects is not None:
            self.met.append(value)
            return TreeDef("static", meta=value)
        if kind is not None and id(value) in self._around:
            self._check_cycle(value)
        if self._shared and not isinstance(value, _NEVER_SHARED):
            first = self._first.setdefault(id(value), len(self.met))
            if first < len(self.met):
                return TreeDef("ref", meta=first)
        self.met.append(value)
        if kind is not None:
            return self._enter(value, kind)
        self.leaves.append(value)
        return LEAF

    def _enter(self, value: Any, kind: str) -> TreeDef:
        held, keys, meta = open_level(value, kind)
        children: list[TreeDef] = []
        for index, child in enumerate(held):
            self._around[id(value)] = keys[index] if keys else index
            children.append(self.visit(child))
        self._around.pop(id(value), None)
        return TreeDef(kind, tuple(children), keys, meta)

    def _check_cycle(self, value: Any) -> None:
        path = ""
        for key in self._around.values():
            path = extend_path(path, key)
        if not self._shared:
            raise ValueError(
                "tree: a value must not contain itself, got a cycle at "
                f"{show_path(path)}. Pass shared=True to keep it as a reference."
            )
        if isinstance(value, tuple):
            raise ValueError(
                "tree: a cycle must start at something that can exist before its "
                "children, got one from a tuple back to itself at "
                f"{show_path(path)}. Use a list or a dict in place of the tuple, or an "
                "object with __tree_empty__."
            )
