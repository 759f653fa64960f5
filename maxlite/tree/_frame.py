"""The lists, tuples and dicts of a structure, as one optree spec.

optree takes a value apart and puts it together in C++, several times faster than a walk
in Python. It knows containers only, so a structure is cut: its *frame* is what can be
reached from the top through lists, tuples and dicts alone, and a *hole* is where
anything else begins (a leaf, a static, a reference, an object, a namedtuple).

Where optree sees the world in another way than we do:

- It takes an OrderedDict or a defaultdict for a dict. So those two are holes, and after
  optree has taken a value apart, the class of each dict in it is looked at.
- It sorts the keys of a dict. A hand-made structure with its keys in another order
  therefore has a hole there.
- A namedtuple class can be registered with it by anyone, for all namespaces, with
  children of its own. So a namedtuple is a hole.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import optree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from maxlite.tree._treedef import TreeDef

_NAMESPACE = "maxlite"
_HOLE = object()


@dataclass(frozen=True, slots=True)
class Frame:
    """The plain containers at the top of a structure.

    Attributes:
        holes: What hangs in the containers, from left to right.
        only_leaves: Whether all holes are leaves.
    """

    holes: tuple[TreeDef, ...]
    only_leaves: bool
    _spec: optree.PyTreeSpec
    _dicts: tuple[tuple[int, Any, bool], ...]

    def take_apart(self, value: Any) -> list[Any] | None:
        """Lists what ``value`` has in the holes; ``None`` if it has another frame."""
        try:
            parts: list[Any] = self._spec.flatten_up_to(value)
        except ValueError:
            return None
        return parts if self._has_exact_dicts(value) else None

    def put_together(self, parts: Iterable[Any]) -> Any:
        """Makes new containers with ``parts`` in the holes."""
        return self._spec.unflatten(parts)

    def _has_exact_dicts(self, value: Any) -> bool:
        met: list[Any] = [(value,)]
        for parent, key, is_dict in self._dicts:
            part = met[parent][key]
            if is_dict and type(part) is not dict:
                return False
            met.append(part)
        return True


def make_frame(treedef: TreeDef) -> Frame | None:
    """Makes the frame of a structure; ``None`` if its top is a hole already."""
    if not _is_plain(treedef):
        return None
    holes: list[TreeDef] = []
    dicts: list[tuple[int, Any, bool]] = []
    spec = optree.tree_structure(
        _skeleton(treedef, holes), none_is_leaf=True, namespace=_NAMESPACE
    )
    _add_dicts(treedef, 0, 0, dicts)
    only_leaves = all(hole.kind == "leaf" for hole in holes)
    return Frame(tuple(holes), only_leaves, spec, tuple(dicts))


def _is_plain(treedef: TreeDef) -> bool:
    if treedef.kind != "dict":
        return treedef.kind in ("list", "tuple")
    try:
        in_order = all(a < b for a, b in pairwise(treedef.keys))
    except TypeError:
        return False
    return treedef.meta is None and in_order


def _skeleton(treedef: TreeDef, holes: list[TreeDef]) -> Any:
    """Builds the containers with a mark in each hole, and lists the holes."""
    if not _is_plain(treedef):
        holes.append(treedef)
        return _HOLE
    children = [_skeleton(child, holes) for child in treedef.children]
    if treedef.kind == "dict":
        return dict(zip(treedef.keys, children, strict=True))
    return children if treedef.kind == "list" else tuple(children)


def _add_dicts(
    treedef: TreeDef, parent: int, key: Any, dicts: list[tuple[int, Any, bool]]
) -> bool:
    """Lists each dict of the frame and the containers around it, from the outside in.

    A row is (row of the parent plus 1, key in the parent, whether it is a dict): the
    steps of a walk in which no row comes before its parent's.

    Returns:
        Whether there is a dict; if not, nothing has been added.
    """
    row = len(dicts)
    dicts.append((parent, key, treedef.kind == "dict"))
    found = [
        _add_dicts(child, row + 1, child_key, dicts)
        for child_key, child in zip(treedef.child_keys, treedef.children, strict=True)
        if _is_plain(child)
    ]
    if treedef.kind == "dict" or any(found):
        return True
    del dicts[row:]
    return False
