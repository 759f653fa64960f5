"""Flattening and rebuilding by a plan that is made once per tree.

A compiled function is called far more often than it is compiled, always with the same
tree. Walking a kept plan costs a fraction of a walk that asks each container anew what
it is. A plan only says yes or "not obviously": whatever it does not recognize goes to
the tree's own ``flatten_up_to``, which knows all rules and writes the errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from maxlite.tree import unflatten

if TYPE_CHECKING:
    from maxlite.tree import TreeDef

Collect = Callable[[Any, list[Any]], bool]
"""Appends the leaves of a value; False when it does not obviously match."""

Rebuild = Callable[[Iterable[Any]], Any]
"""Makes a tree from its leaves."""

Unpack = Callable[[tuple[Any, ...], dict[str, Any]], Sequence[Any] | None]
"""Takes positional and keyword arguments and gives the leaves, or None."""

_PLAIN_STATICS = (str, int, float, bool, type(None))


def unpacker(treedef: TreeDef) -> Unpack:
    """Plans how to collect the leaves of a call's arguments.

    Args:
        treedef: The tree of ``(args, kwargs)``.
    """
    positional, named = treedef.children
    if not named.children and len(positional.children) == 1:
        (only,) = positional.children
        if only.kind == "dict" and _is_flat(only) and len(only.keys) > 1:
            return _one_dict_unpacker(only.keys)
    collect = collector(treedef)

    def unpack(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any] | None:
        leaves: list[Any] = []
        return leaves if collect((args, kwargs), leaves) else None

    return unpack


def flat_count(treedef: TreeDef) -> int:
    """Counts the arguments of a call that takes tensors by position and nothing else.

    Such a call's arguments are its leaves. Any other tree gives -1.
    """
    positional, named = treedef.children
    flat = _is_flat(positional) and not named.children
    return len(positional.children) if flat else -1


def _one_dict_unpacker(keys: Sequence[Any]) -> Unpack:
    count, pick = len(keys), itemgetter(*keys)

    def unpack(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any] | None:
        if len(args) != 1 or kwargs:
            return None
        (only,) = args
        if only.__class__ is not dict or len(only) != count:
            return None
        try:
            return pick(only)
        except KeyError:
            return None

    return unpack


def _is_flat(treedef: TreeDef) -> bool:
    return all(child.kind == "leaf" for child in treedef.children)


def collector(treedef: TreeDef) -> Collect:
    """Plans how to collect the leaves of values that match a tree."""
    match treedef.kind:
        case "leaf":
            return _collect_leaf
        case "static":
            return _static_collector(treedef.meta)
        case "list" | "tuple":
            kind = list if treedef.kind == "list" else tuple
            return _sequence_collector(kind, treedef.children)
        case "namedtuple":
            return _sequence_collector(treedef.meta, treedef.children)
        case "dict" if treedef.meta is None:
            return _dict_collector(treedef.keys, treedef.children)
        case _:
            return _general_collector(treedef)


def _collect_leaf(value: Any, leaves: list[Any]) -> bool:
    leaves.append(value)
    return True


def _collect_nothing(value: Any, leaves: list[Any]) -> bool:
    return type(value) is dict and not value


def _static_collector(expected: Any) -> Collect:
    if type(expected) in _PLAIN_STATICS:

        def collect_plain(value: Any, leaves: list[Any]) -> bool:
            return type(value) is type(expected) and value == expected

        return collect_plain

    def collect_same(value: Any, leaves: list[Any]) -> bool:
        return value is expected

    return collect_same


def _sequence_collector(kind: type[Any], children: Sequence[TreeDef]) -> Collect:
    count = len(children)
    if all(child.kind == "leaf" for child in children):

        def collect_flat(value: Any, leaves: list[Any]) -> bool:
            if value.__class__ is not kind or len(value) != count:
                return False
            leaves += value
            return True

        return collect_flat
    plans = [collector(child) for child in children]

    def collect(value: Any, leaves: list[Any]) -> bool:
        if value.__class__ is not kind or len(value) != count:
            return False
        for plan, child in zip(plans, value, strict=True):
            if not plan(child, leaves):
                return False
        return True

    return collect


def _dict_collector(keys: Sequence[Any], children: Sequence[TreeDef]) -> Collect:
    count = len(keys)
    if not count:
        return _collect_nothing
    if count > 1 and all(child.kind == "leaf" for child in children):
        pick = itemgetter(*keys)

        def collect_flat(value: Any, leaves: list[Any]) -> bool:
            if value.__class__ is not dict or len(value) != count:
                return False
            try:
                leaves += pick(value)
            except KeyError:
                return False
            return True

        return collect_flat
    plans = [(key, collector(child)) for key, child in zip(keys, children, strict=True)]

    def collect(value: Any, leaves: list[Any]) -> bool:
        if value.__class__ is not dict or len(value) != count:
            return False
        return all(key in value and plan(value[key], leaves) for key, plan in plans)

    return collect


def _general_collector(treedef: TreeDef) -> Collect:
    def collect(value: Any, leaves: list[Any]) -> bool:
        try:
            leaves += treedef.flatten_up_to(value)
        except (ValueError, TypeError):
            return False
        return True

    return collect


def rebuilder(treedef: TreeDef) -> Rebuild:
    """Plans how to make a tree from its leaves."""
    if treedef.kind == "leaf":
        return _only
    if _is_flat(treedef) and treedef.meta is None:
        match treedef.kind:
            case "list":
                return list
            case "tuple":
                return tuple
            case "dict":
                keys = treedef.keys
                return lambda leaves: dict(zip(keys, leaves, strict=True))
            case _:
                return lambda leaves: unflatten(treedef, leaves)
    return lambda leaves: unflatten(treedef, leaves)


def _only(leaves: Iterable[Any]) -> Any:
    (leaf,) = leaves
    return leaf
