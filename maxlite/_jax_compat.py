"""What is used of JAX beyond its public interface, for which versions, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import jax


def direct_call(compiled: jax.stages.Compiled) -> Callable[..., Any]:
    """Gives the C++ function behind a compiled object that was called before.

    ``Compiled.__call__`` of JAX 0.10 is a Python frame around ``Compiled._call``, which
    its first call makes. Leaving it out saves a tenth of a small call. Where a version
    has no such attribute, the object itself is given.
    """
    found = getattr(compiled, "_call", None)
    return found if callable(found) else compiled
