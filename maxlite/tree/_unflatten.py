"""Building a value from its structure and its leaves.

There are two ways. A structure in which each object stands once is built from the
inside out, the plain containers by optree. One with references is built from the
outside in, because an object must exist before anything in it can refer back to it: a
list, a dict or an object with ``__tree_empty__`` is made empty and then filled. A
tuple, and an object with ``__tree_unflatten__`` alone, can be made only once their
children exist.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from maxlite.tree._treedef import TreeDef

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_DICT: tuple[Any, tuple[Any, ...]] = (dict, ())
_END = object()
_UNMADE = object()


def unflatten(treedef: TreeDef, leaves: Iterable[Any], *, exact: bool = True) -> Any:
    """Builds a value from its structure and its leaves: the inverse of ``flatten``.

    Containers and objects are new; constants are the structure's own.

    Args:
        treedef: The structure.
        leaves: One for each leaf of the structure.
        exact: Whether more leaves are an error. If not, an iterator is left at the
            first that was not needed.

    Raises:
        ValueError: There are too few leaves, or too many and ``exact``.
        TypeError: An object of the structure cannot be rebuilt: its class has neither
            ``__tree_unflatten__`` nor ``__tree_empty__``, or it contains itself and has
            no ``__tree_empty__``.

    Source: max.tree.unflatten.

    >>> from maxlite import tree
    >>> leaves, structure = tree.flatten({"a": [1, 2], "b": 3})
    >>> tree.unflatten(structure, (10 * leaf for leaf in leaves))
    {'a': [10, 20], 'b': 30}
    """
    if not isinstance(cast("object", treedef), TreeDef):
        raise TypeError(
            "unflatten: treedef must be a TreeDef, got "
            f"{type(treedef).__name__}. Pass the structure first, then the leaves."
        )
    stream = iter(leaves)
    given = list(islice(stream, treedef.num_leaves))
    if len(given) < treedef.num_leaves:
        raise ValueError(
            f"unflatten: the structure has {treedef.num_leaves} leaves, got "
            f"{len(given)}. Pass one value for each path of leaf_paths."
        )
    if exact and next(stream, _END) is not _END:
        raise ValueError(
            f"unflatten: the structure has {treedef.num_leaves} leaves, got more. Pass "
            "exact=False to leave the rest in the iterator."
        )
    if treedef.has_refs:
        return _Linker(given).build(treedef)
    return _build(treedef, iter(given))


def assemble(treedef: TreeDef, children: Sequence[Any]) -> Any:
    """Builds one node from its children."""
    shell = _make_shell(treedef)
    if shell is not None:
        for key, child in zip(treedef.child_keys, children, strict=True):
            place_child(treedef, shell, key, child)
        return shell
    if treedef.kind == "tuple":
        return tuple(children)
    if treedef.kind == "namedtuple":
        return treedef.meta(*children)
    cls, meta = treedef.meta
    if getattr(cls, "__tree_unflatten__", None) is None:
        raise TypeError(
            f"unflatten: {cls.__name__} must say how it is rebuilt, got only "
            "__tree_flatten__. Add a classmethod __tree_unflatten__(meta, children), "
            "or __tree_empty__(meta) if it must exist before its children."
        )
    keyed = dict(zip(treedef.keys, children, strict=True)) if treedef.keys else None
    return cls.__tree_unflatten__(meta, list(children) if keyed is None else keyed)


def place_child(treedef: TreeDef, node: Any, key: Any, child: Any) -> None:
    """Writes one child into a list, a dict or an object.

    Raises:
        TypeError: The object does not say where a child with this key goes.
    """
    if treedef.kind != "node":
        node[key] = child
    elif getattr(cast("object", type(node)), "__tree_setattr__", None) is not None:
        node.__tree_setattr__(key, child)
    elif isinstance(key, str):
        setattr(node, key, child)
    else:
        name = type(node).__name__
        raise TypeError(
            f"{name}: child {key!r} must have a place to be written to, got a key that "
            f"names no attribute. Declare __tree_setattr__(key, value) in {name}."
        )


def _build(treedef: TreeDef, leaves: Iterator[Any]) -> Any:
    """Builds a structure without references, from the inside out."""
    if treedef.kind == "leaf":
        return next(leaves)
    if treedef.kind == "static":
        return treedef.meta
    frame = treedef.frame
    if frame is None:
        return assemble(treedef, [_build(child, leaves) for child in treedef.children])
    if frame.only_leaves:
        return frame.put_together(islice(leaves, len(frame.holes)))
    return frame.put_together([_build(hole, leaves) for hole in frame.holes])


class _Linker:
    """Builds a structure with references, from the outside in."""

    def __init__(self, leaves: Sequence[Any]) -> None:
        self._leaves = iter(leaves)
        self._made: list[Any] = []  # every part so far, by the number that refs use

    def build(self, treedef: TreeDef) -> Any:
        if treedef.kind == "ref":
            return self._follow(treedef.meta)
        slot = len(self._made)
        self._made.append(_UNMADE)
        self._made[slot] = made = self._make(treedef, slot)
        return made

    def _make(self, treedef: TreeDef, slot: int) -> Any:
        if treedef.kind == "leaf":
            return next(self._leaves)
        if treedef.kind == "static":
            return treedef.meta
        shell = _make_shell(treedef)
        if shell is None:
            return assemble(treedef, [self.build(child) for child in treedef.children])
        self._made[slot] = shell
        for key, child in zip(treedef.child_keys, treedef.children, strict=True):
            place_child(treedef, shell, key, self.build(child))
        return shell

    def _follow(self, slot: int) -> Any:
        if slot >= len(self._made):
            raise ValueError(
                "unflatten: a reference must point at a part before it, got part "
                f"{slot} of {len(self._made)}. Take the structure from flatten."
            )
        if self._made[slot] is _UNMADE:
            raise TypeError(
                "unflatten: an object that contains itself must exist before its "
                "children, got one that is built from them by __tree_unflatten__. "
                "Declare a classmethod __tree_empty__(meta) in its class."
            )
        return self._made[slot]


def _make_shell(treedef: TreeDef) -> Any:
    """Makes a node that is still without its children; ``None`` if that cannot be."""
    if treedef.kind == "list":
        return [None] * len(treedef.children)
    if treedef.kind == "dict":
        cls, arguments = treedef.meta or _DICT
        return cls(*arguments)
    if treedef.kind == "node":
        cls, meta = treedef.meta
        make_empty = getattr(cls, "__tree_empty__", None)
        return None if make_empty is None else make_empty(meta)
    return None
