"""The mesh on which new tensors lie when nobody says where.

The setting belongs to ``default_device``, which lives in a higher room. The variable
stands here because :class:`~maxlite.sharding.NamedMapping` reads it.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maxlite.sharding._mesh import DeviceMesh

current_mesh: ContextVar[DeviceMesh | None] = ContextVar(
    "maxlite.default_mesh", default=None
)
"""Set by ``default_device``; ``None`` outside of every such block."""


def default_mesh() -> DeviceMesh | None:
    """Finds the mesh of the enclosing ``default_device`` block, ``None`` outside.

    >>> default_mesh() is None
    True
    """
    return current_mesh.get()
