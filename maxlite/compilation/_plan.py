"""Flattening and rebuilding by a plan that is made once per tree.

A compiled function is called far more often than it is compiled, always with the same
tree. Walking a kept plan costs a fraction of a walk that asks each container anew what
it is. A plan only says yes or "not obviously": whatever it does not recognize goes to
the tree's own ``flatten_up_to``, which knows all rules and writes the errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from maxlite.tree import unflatten

if TYPE_CHECKING:
    from maxlite.tree import TreeDef

Collect = Callable[[Any, list[Any]], bool]
"""Appends the leaves of a value; False when it does not obviously match."""

Rebuild = Callable[[Sequence[Any]], Any]
"""Makes a tree from its leaves."""

_PLAIN_STATICS = (str, int, float, bool, type(None))


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
        case "dict":
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
    if all(child.kind == "leaf" for child in treedef.children):
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


def _only(leaves: Sequence[Any]) -> Any:
    return leaves[0]
