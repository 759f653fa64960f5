"""Executables of whole blocks, found by the numbers of what is wanted of them.

This is the first of two looks. The second, by the structure of the cut, finds the same
program where it was recorded among other things; see ``_compute.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maxlite.executor._compute import array_of, fits_in_one
from maxlite.lowering._cut import cut, executable_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jax

    from maxlite.graph._graph import Graph
    from maxlite.graph._node import TensorValue
    from maxlite.lowering import Executable

MAX_PREPARED = 4_096
"""Blocks kept ready; the table starts afresh beyond. One takes a few hundred bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A block that is compiled.

    Attributes:
        executable: The program.
        positions: Which leaves of the block it takes, in its order.
    """

    executable: Executable
    positions: tuple[int, ...]

    def run(self, leaves: Sequence[TensorValue]) -> Sequence[jax.Array]:
        """Computes what the block wants of these leaves."""
        arrays = [array_of(leaves[i]) for i in self.positions]
        executable = self.executable
        if executable.is_direct:
            return executable.call(*arrays)
        return executable(arrays)


_prepared: dict[tuple[Any, ...], Prepared] = {}


def find_prepared(
    outputs: Sequence[TensorValue], effects: Sequence[int]
) -> tuple[Prepared | None, tuple[Any, ...]]:
    """Looks up a block, and gives what it is looked up by."""
    key: tuple[Any, ...] = tuple([value.number for value in outputs])
    if effects:
        key = (key, *effects)
    return _prepared.get(key), key


def prepare(
    graph: Graph,
    leaves: Sequence[TensorValue],
    outputs: Sequence[TensorValue],
    effects: Sequence[int],
) -> Prepared | None:
    """Compiles what outputs of a block need, or remembers it.

    Args:
        graph: The block; its values are numbered.
        leaves: Its leaves, in the order of their numbers.
        outputs: What is wanted.
        effects: Numbers of the nodes that act on the world outside.

    Returns:
        None for what no single executable can compute.
    """
    found, key = find_prepared(outputs, effects)
    if found is None:
        program = cut(graph, outputs)
        if not fits_in_one(program):
            return None
        order = {id(leaf): i for i, leaf in enumerate(leaves)}
        positions = tuple(order[id(leaf)] for leaf in program.leaves)
        found = Prepared(executable_of(program, graph.name), positions)
        if len(_prepared) >= MAX_PREPARED:
            _prepared.clear()
        _prepared[key] = found
    return found
