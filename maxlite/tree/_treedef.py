"""The structure of a value: all of it but the leaves.

Two structures are equal when they have the same containers, keys and constants, which
is what a compiled function is cached by. The constants are compared by the rule of
:func:`~maxlite.tree.same_static`, and stay out of the hash, so that one need not be
hashable to be part of a structure.

:meth:`TreeDef.flatten_up_to` is called on every call of a compiled function that is new
to it, so it does its work twice if it must: first without a thought for messages,
through the frame, and only when that fails again, level by level, to say where.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from maxlite.tree._frame import Frame, make_frame
from maxlite.tree._node import extend_path, kind_of, open_level, show_path
from maxlite.tree._static import (
    describe_static,
    difference_note,
    exact_key,
    same_static,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

_KINDS = frozenset(
    {"leaf", "static", "list", "tuple", "dict", "namedtuple", "node", "ref"}
)


@dataclass(frozen=True, eq=False)
class TreeDef:
    """The structure of a value, as :func:`~maxlite.tree.flatten` gives it.

    Attributes:
        kind: ``leaf``; ``static`` (a constant); ``list``, ``tuple``, ``dict``,
            ``namedtuple``; ``node`` (an object with ``__tree_flatten__``); or ``ref``
            (an object that stands somewhere else too).
        children: The structure of each child.
        keys: The children's keys; ``()`` when they are known by position.
        meta: The constant of a static; the class of a namedtuple; class and meta of a
            node; class and arguments of an OrderedDict or a defaultdict; for a ref, the
            number of the part that it refers to, counted from the root in the order of
            the walk, without the refs. Otherwise ``None``.

    Raises:
        ValueError: The kind is none of these, or there are keys for some children only.

    Source: max.tree.TreeDef.

    >>> from maxlite import tree
    >>> structure = tree.flatten({"b": 1, "a": [2, 3]})[1]
    >>> structure.kind, structure.keys, structure.num_leaves
    ('dict', ('a', 'b'), 3)
    >>> structure == tree.flatten({"b": 4, "a": [5, 6]})[1]
    True
    """

    kind: str
    children: tuple[TreeDef, ...] = ()
    keys: tuple[Any, ...] = ()
    meta: Any = None

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            kinds = ", ".join(sorted(_KINDS))
            raise ValueError(
                f"TreeDef: kind must be one of {kinds}, got {self.kind!r}."
            )
        if self.keys and len(self.keys) != len(self.children):
            raise ValueError(
                "TreeDef: keys must be () or one for each child, got "
                f"{len(self.keys)} keys and {len(self.children)} children."
            )

    @cached_property
    def child_keys(self) -> tuple[Any, ...]:
        """The keys of the children, which are 0, 1, ... when they have none.

        >>> from maxlite import tree
        >>> tree.flatten([1, 2])[1].child_keys
        (0, 1)
        """
        return self.keys or tuple(range(len(self.children)))

    @cached_property
    def num_leaves(self) -> int:
        """How many leaves there are.

        >>> from maxlite import tree
        >>> tree.flatten([1, (2, "s")], leaf=int)[1].num_leaves
        2
        """
        if self.kind == "leaf":
            return 1
        return sum(child.num_leaves for child in self.children)

    @cached_property
    def leaf_paths(self) -> tuple[str, ...]:
        """The path of each leaf, in order.

        >>> from maxlite import tree
        >>> tree.flatten({"b": 1, "a": [2, 3]})[1].leaf_paths
        ('a.0', 'a.1', 'b')
        """
        return tuple(path for path, part in parts(self) if part.kind == "leaf")

    @cached_property
    def has_refs(self) -> bool:
        """Whether an object stands in more than one place.

        >>> from maxlite import tree
        >>> x = [1]
        >>> tree.flatten([x, x], shared=True)[1].has_refs
        True
        """
        return any(part.kind == "ref" for _, part in parts(self))

    @cached_property
    def exact_statics(self) -> tuple[Hashable, ...]:
        """Keys that tell its constants apart where ``==`` does not."""
        statics = (part.meta for _, part in parts(self) if part.kind == "static")
        return tuple(map(exact_key, statics))

    @cached_property
    def frame(self) -> Frame | None:
        """The plain containers at the top, for the inner use of this room."""
        return make_frame(self)

    def flatten_up_to(self, tree: Any, path: str = "") -> list[Any]:
        """Takes a value apart where this structure has leaves.

        The value may go deeper there: what hangs at a leaf is returned whole. What this
        structure holds as a reference is not looked at.

        Args:
            tree: The value.
            path: Put in front of the path in an error.

        Returns:
            One value for each leaf.

        Raises:
            ValueError: The value has other containers, keys or constants. The message
                starts with the first place where it does.
            TypeError: A dict in the value has keys of no common order.

        Source: max.tree.TreeDef.flatten_up_to.

        >>> from maxlite import tree
        >>> structure = tree.flatten({"x": 1, "mode": "fast"}, leaf=int)[1]
        >>> structure.flatten_up_to({"x": [1, 2], "mode": "fast"})
        [[1, 2]]
        >>> structure.flatten_up_to({"x": 1, "mode": "slow"}, path="options")
        Traceback (most recent call last):
        ValueError: 'options.mode': expected 'fast', got 'slow'
        """
        return take_apart(self, tree, path, prefix="")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeDef):
            return NotImplemented
        return (
            self._hash == other._hash
            and self.kind == other.kind
            and self.keys == other.keys
            and same_static(self.meta, other.meta)
            and self.children == other.children
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[TreeDef], tuple[Any, ...]]:
        # The fields alone: what is cached beside them is cheap to make again.
        return TreeDef, (self.kind, self.children, self.keys, self.meta)

    @cached_property
    def _hash(self) -> int:
        return hash((self.kind, self.keys, self.children))


LEAF = TreeDef("leaf")
"""The structure of a leaf, of which one is enough."""


def parts(treedef: TreeDef, path: str = "") -> Iterator[tuple[str, TreeDef]]:
    """Walks over a structure, parents first: the path of each part, and the part."""
    yield path, treedef
    for key, child in zip(treedef.child_keys, treedef.children, strict=True):
        yield from parts(child, extend_path(path, key))


def take_apart(treedef: TreeDef, value: Any, path: str, prefix: str) -> list[Any]:
    """Lists what a value has at the leaves; see :meth:`TreeDef.flatten_up_to`.

    Args:
        treedef: The structure that the value must have.
        value: The value.
        path: Put in front of the path in an error.
        prefix: Put in front of the whole error.
    """
    if treedef.kind == "leaf":
        return [value]
    frame = treedef.frame
    if frame is not None and frame.only_leaves:
        held = frame.take_apart(value)
        if held is not None:
            return held
    found: list[Any] = []
    try:
        _take(treedef, value, found)
    except _MismatchError:
        found.clear()
        try:
            _take_by_level(treedef, value, path, found)
        except _MismatchError as e:
            raise ValueError(f"{prefix}{e}") from None
    return found


class _MismatchError(Exception):
    """A value does not have the structure that it must have."""


def _take(treedef: TreeDef, value: Any, found: list[Any]) -> None:
    """Adds to ``found`` what ``value`` has at the leaves; an error has no path.

    The structure is not a leaf: those are dealt with in the loop over their parent.
    """
    frame = treedef.frame
    if frame is None:
        children, held = treedef.children, _take_one_level(treedef, value)
    else:
        children, held = frame.holes, frame.take_apart(value)
        if held is None:
            raise _MismatchError
    for child, part in zip(children, held, strict=True):
        if child.kind == "leaf":
            found.append(part)
        elif child.kind != "static" or child.meta is not part:
            _take(child, part, found)


def _take_by_level(treedef: TreeDef, value: Any, path: str, found: list[Any]) -> None:
    """Does the same without frames, so that an error can name its path."""
    if treedef.kind == "leaf":
        found.append(value)
        return
    try:
        held = _take_one_level(treedef, value)
    except _MismatchError as e:
        raise _MismatchError(f"{show_path(path)}: {e}") from None
    for key, child, part in zip(
        treedef.child_keys, treedef.children, held, strict=True
    ):
        _take_by_level(child, part, extend_path(path, key), found)


def _take_one_level(treedef: TreeDef, value: Any) -> Sequence[Any]:
    """Lists the children of a value that has the top level of a structure."""
    if treedef.kind == "ref":
        return ()
    if treedef.kind == "static":
        if not same_static(treedef.meta, value):
            raise _differs(treedef.meta, value)
        return ()
    kind = kind_of(value)
    if kind is None or kind != treedef.kind:
        raise _MismatchError(f"expected {_a(treedef.kind)}, got {type(value).__name__}")
    children, keys, meta = open_level(value, kind)
    if keys != treedef.keys or len(children) != len(treedef.children):
        found_keys = list(keys or range(len(children)))
        raise _MismatchError(
            f"expected keys {list(treedef.child_keys)}, got {found_keys}"
        )
    if not same_static(treedef.meta, meta):
        raise _differs_in_meta(treedef, meta)
    return children


def _differs_in_meta(treedef: TreeDef, meta: Any) -> _MismatchError:
    wanted, found = _class_and_meta(treedef.meta), _class_and_meta(meta)
    if wanted[0] is not found[0]:
        return _MismatchError(
            f"expected {_a(wanted[0].__name__)}, got {found[0].__name__}"
        )
    error = _differs(wanted[1], found[1])
    return _MismatchError(f"{error} as the meta of {_a(wanted[0].__name__)}")


def _class_and_meta(meta: Any) -> tuple[type, Any]:
    """Reads what a TreeDef says of a class: a dict has no meta, a namedtuple none."""
    if isinstance(meta, tuple):
        return cast("tuple[type, Any]", meta)
    return (dict if meta is None else meta), None


def _differs(wanted: Any, found: Any) -> _MismatchError:
    note = difference_note(wanted, found)
    return _MismatchError(
        f"expected {describe_static(wanted)}, got {describe_static(found)}{note}"
    )


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "AEIOUaeiou" else f"a {noun}"
