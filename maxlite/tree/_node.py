"""What a node is, what its children are one level down, and what they are called.

Lists, tuples, dicts, OrderedDicts and defaultdicts are nodes **by exact class**: a
subclass may hold more than its items, which a rebuilt copy would lose. A namedtuple's
fields are all that it has, so every namedtuple is one. Any other class becomes one by

    def __tree_flatten__(self) -> (children, meta)

with children in a mapping (a *keyed* node) or in a sequence (a *positional* one), and
meta whatever else it takes to rebuild it. ``__tree_flatten__ = None`` in a subclass
makes its objects leaves again. ``None`` is no node: it is a value like any other.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, cast

import optree

T = TypeVar("T")

Selector: TypeAlias = type | tuple[type, ...] | Callable[[Any], bool]
"""What counts as a leaf: a class, several classes, or a function that says so."""


class SupportsTreeFlatten(Protocol):
    """An object whose class says what its children are."""

    def __tree_flatten__(self) -> tuple[Any, Any]: ...


Tree: TypeAlias = (
    T
    | list["Tree[T]"]
    | tuple["Tree[T]", ...]
    | dict[Any, "Tree[T]"]
    | SupportsTreeFlatten
)
"""A value with leaves of type ``T``: for annotations, such as ``Tree[Tensor]``."""


class Level(NamedTuple):
    """A node taken apart by one level, in the terms of a :class:`TreeDef`."""

    children: tuple[Any, ...]
    keys: tuple[Any, ...]
    meta: Any


_KINDS: dict[type, str | None] = {
    list: "list",
    tuple: "tuple",
    dict: "dict",
    OrderedDict: "dict",
    defaultdict: "dict",
    # The common leaves, which need no closer look.
    **dict.fromkeys((type(None), bool, int, float, complex, str, bytes)),
}


def is_node(value: Any) -> bool:
    """Says whether a value has children, be it none at the moment.

    Source: max.tree.is_node.

    >>> from maxlite import tree
    >>> tree.is_node([]), tree.is_node({"a": 1}), tree.is_node(None)
    (True, True, False)
    """
    return kind_of(value) is not None


def flatten_one_level(value: Any) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:
    """Takes one node apart, and leaves its children whole.

    Args:
        value: A node.

    Returns:
        The children; their keys, ``()`` when they are known by position; and what else
        it takes to rebuild the node, ``None`` for a list, a tuple or a dict.

    Raises:
        TypeError: The value is no node, or it is a dict with keys of no common order.

    Source: max.tree.flatten_one_level.

    >>> from maxlite import tree
    >>> tree.flatten_one_level({"b": [1], "a": 2})
    ((2, [1]), ('a', 'b'), None)
    """
    kind = kind_of(value)
    if kind is None:
        raise TypeError(
            "flatten_one_level: the value must be a node (a list, tuple, dict, "
            "namedtuple, or an object with __tree_flatten__), got "
            f"{type(value).__name__}."
        )
    children, keys, meta = open_level(value, kind)
    return children, keys, meta[1] if kind == "node" else meta


def extend_path(path: str, key: Any) -> str:
    """Adds one key to a path; an empty key or an empty path adds nothing.

    Source: max.tree.extend_path.

    >>> from maxlite import tree
    >>> tree.extend_path("layers", 0), tree.extend_path("", "layers")
    ('layers.0', 'layers')
    """
    segment = str(key)
    return f"{path}.{segment}" if path and segment else path or segment


def show_path(path: str) -> str:
    """Writes a path for an error: quoted, and the top as ``<root>``."""
    return repr(path) if path else "<root>"


def as_predicate(
    selector: Selector | None, default: Callable[[Any], bool]
) -> Callable[[Any], bool]:
    """Turns a selector into a function that answers yes or no.

    Args:
        selector: A class or a tuple of classes, for ``isinstance``; a function, which
            is returned as it is; or ``None``.
        default: Returned when ``selector`` is ``None``.

    Raises:
        TypeError: The selector is none of these.

    Source: max.tree.as_predicate.

    >>> from maxlite import tree
    >>> is_number = tree.as_predicate((int, float), bool)
    >>> is_number(1.5), is_number("1.5")
    (True, False)
    """
    if selector is None:
        return default
    if isinstance(selector, (type, tuple)):
        types = cast("type | tuple[type, ...]", selector)
        try:
            isinstance(None, types)
        except TypeError:
            raise _bad_selector(types) from None
        return lambda value: isinstance(value, types)
    if not callable(selector):
        raise _bad_selector(selector)
    return selector


def kind_of(value: Any) -> str | None:
    """Names the kind of node that a value is, or ``None``."""
    cls = cast("type[Any]", type(value))
    if cls in _KINDS:
        return _KINDS[cls]
    if getattr(cls, "__tree_flatten__", None) is not None:
        return "node"
    if issubclass(cls, tuple) and optree.is_namedtuple_class(cast("type", cls)):
        return "namedtuple"
    return None


def open_level(value: Any, kind: str) -> Level:
    """Takes a node of a known kind apart by one level."""
    if kind == "node":
        return _open_object(value)
    if kind == "namedtuple":
        cls = cast("type[Any]", type(value))
        return Level(tuple(value), cls._fields, cls)
    if kind != "dict":
        return Level(tuple(value), (), None)
    return _open_dict(value)


def _open_dict(value: Any) -> Level:
    cls = cast("type[Any]", type(value))
    keys = tuple(value) if cls is OrderedDict else _sorted_keys(value)
    children = tuple([value[key] for key in keys])
    if cls is dict:
        return Level(children, keys, None)
    arguments = () if cls is OrderedDict else (value.default_factory,)
    return Level(children, keys, (cls, arguments))


def _open_object(value: Any) -> Level:
    cls = cast("type[Any]", type(value))
    parts: Any = value.__tree_flatten__()
    if not isinstance(parts, tuple) or len(cast("tuple[Any, ...]", parts)) != 2:
        raise TypeError(
            f"{cls.__name__}.__tree_flatten__: must return a pair (children, meta), "
            f"got {type(cast('Any', parts)).__name__}."
        )
    children, meta = cast("tuple[Any, Any]", parts)
    if isinstance(children, Mapping):
        keyed = cast("Mapping[Any, Any]", children)
        return Level(tuple(keyed.values()), tuple(keyed), (cls, meta))
    if not isinstance(children, Iterable):
        raise TypeError(
            f"{cls.__name__}.__tree_flatten__: children must be a mapping or a "
            f"sequence, got {type(children).__name__}."
        )
    return Level(tuple(cast("Iterable[Any]", children)), (), (cls, meta))


def _sorted_keys(mapping: Mapping[Any, Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(mapping))
    except TypeError:
        types = sorted({type(key).__name__ for key in mapping})
    raise TypeError(
        "dict keys must sort together, because a dict's children are taken in the "
        f"order of its keys, got keys of {' and '.join(types)}. Use keys of one type, "
        "or an OrderedDict, which keeps its own order."
    )


def _bad_selector(selector: object) -> TypeError:
    return TypeError(
        "leaf: must be a class, a tuple of classes or a function of one value, got "
        f"{type(selector).__name__}."
    )
