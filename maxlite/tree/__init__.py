"""Nested values: lists, dicts, tuples and classes of their own taken apart and rebuilt.

A *tree* is any value. A *node* is a part that has children: a list, a tuple, a dict, a
namedtuple, or an object whose class says so. The rest are *leaves*, or, where the
caller selects what a leaf is, *statics*: constants that belong to the structure. A
:class:`TreeDef` is a tree with its leaves taken out.

One idea, one file; each imports only from those above it:

- ``_static`` when two constants are the same
- ``_node`` what a node is, and its children one level down
- ``_frame`` the lists, tuples and dicts of a structure, as optree sees them
- ``_treedef`` the structure, and taking a value apart by it
- ``_unflatten`` building a value from structure and leaves
- ``_flatten`` the walk over a value, and what is read off it
- ``_update`` writing leaves in place
- ``_dataclass`` dataclasses as nodes

**What optree does, and what it does not.** The structure of a hot function's arguments
is made once and used on every call, so everything that starts from a structure goes
through an optree spec in C++ (``_frame``). The first walk over a value is our own: it
must look at each container before it enters it, to keep constants apart from leaves, to
recognise an object that it has met, to refuse dict keys that have no common order
(optree groups such keys by type without a word) and to name the path of a cycle. optree
would call back into Python for each of them, and none of the kinds that come out of it
(static, ref, node) exists in its specs.
"""

from __future__ import annotations

from maxlite.tree._dataclass import dataclass
from maxlite.tree._flatten import flatten, leaves, map, nodes, paths
from maxlite.tree._node import (
    Selector,
    Tree,
    as_predicate,
    extend_path,
    flatten_one_level,
    is_node,
)
from maxlite.tree._static import same_static
from maxlite.tree._treedef import TreeDef
from maxlite.tree._unflatten import unflatten
from maxlite.tree._update import update

__all__ = [
    "Selector",
    "Tree",
    "TreeDef",
    "as_predicate",
    "dataclass",
    "extend_path",
    "flatten",
    "flatten_one_level",
    "is_node",
    "leaves",
    "map",
    "nodes",
    "paths",
    "same_static",
    "unflatten",
    "update",
]
