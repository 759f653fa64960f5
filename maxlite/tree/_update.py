"""Writing leaves in place.

The value is walked once as by ``flatten``; a second pass over the structure writes. A
list, a dict and an object are written into. A tuple cannot be, so a new one is made and
written into what holds the old one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxlite.tree._flatten import Walk
from maxlite.tree._node import extend_path, show_path
from maxlite.tree._unflatten import assemble, place_child

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.tree._node import Selector
    from maxlite.tree._treedef import TreeDef


def update(
    tree: Any,
    state: Mapping[str, Any],
    *,
    leaf: Selector | None = None,
    shared: bool = False,
) -> Any:
    """Writes leaves into a value, each by its path: the inverse of ``paths``.

    Containers and objects that are the leaves' parents are changed in place; an object
    by ``__tree_setattr__(key, value)`` if its class has it, else by ``setattr``.

    Args:
        tree: Any value.
        state: New leaves by path. Of two leaves with one path the first is written.
        leaf: What is a leaf, as in :func:`~maxlite.tree.flatten`.
        shared: Whether an object in several places is written in all of them, under
            its first path; the others are then no paths.

    Returns:
        ``tree`` itself; if it is a tuple or a leaf and something in it changed, its
        replacement.

    Raises:
        ValueError: A path names no leaf. The other leaves have been written by then.
        TypeError: A leaf's parent is a positional object, such as a
            :func:`~maxlite.tree.dataclass`, without ``__tree_setattr__``. The leaves
            before it have been written by then.

    Source: max.tree.update.

    >>> from maxlite import tree
    >>> model = {"layers": [1, (2, 3)]}
    >>> tree.update(model, {"layers.1.0": 20}) is model
    True
    >>> model
    {'layers': [1, (20, 3)]}
    """
    walk = Walk(leaf, shared)
    treedef = walk.visit(tree)
    writer = _Writer(walk.met, dict(state))
    result = writer.write(treedef, "")
    if writer.pending:
        unknown = ", ".join(
            show_path(path) if isinstance(path, str) else repr(path)
            for path in writer.pending
        )
        raise ValueError(
            f"update: every path must name a leaf, got {unknown}. The leaves are those "
            "of tree.paths; what else was given has been written."
        )
    return result


class _Writer:
    """One pass over one structure.

    Attributes:
        pending: What has not been written yet, by path.
    """

    def __init__(self, met: Sequence[Any], state: dict[Any, Any]) -> None:
        self.pending = state
        self._old = met  # the parts of the value, by the number that refs use
        self._new: list[Any] = []  # what stands in their place from now on

    def write(self, treedef: TreeDef, path: str) -> Any:
        """Writes into one part, and gives what now stands in its place."""
        if treedef.kind == "ref":
            return self._new[treedef.meta]
        slot = len(self._new)
        part = self._old[slot]
        self._new.append(part)
        if treedef.kind == "leaf":
            self._new[slot] = self.pending.pop(path, part)
        elif treedef.kind in ("tuple", "namedtuple"):
            self._new[slot] = self._rebuild(treedef, part, path)
        else:
            for key, child in zip(treedef.child_keys, treedef.children, strict=True):
                old = self._old_of(child)
                new = self.write(child, extend_path(path, key))
                if new is not old:
                    place_child(treedef, part, key, new)
        return self._new[slot]

    def _rebuild(self, treedef: TreeDef, part: tuple[Any, ...], path: str) -> Any:
        children = [
            self.write(child, extend_path(path, key))
            for key, child in zip(treedef.child_keys, treedef.children, strict=True)
        ]
        if all(new is old for new, old in zip(children, part, strict=True)):
            return part
        return assemble(treedef, children)

    def _old_of(self, treedef: TreeDef) -> Any:
        at = treedef.meta if treedef.kind == "ref" else len(self._new)
        return self._old[at]
