"""Executables of whole blocks, found by the numbers of what is wanted of them.

This is the first of two looks. The second, by the structure of the cut, finds the same
program where it was recorded among other things; see ``_compute.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maxlite._caches import Cache
from maxlite.executor._compute import array_of, fits_in_one
from maxlite.lowering._cut import cut, executable_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jax

    from maxlite.executor._block import Block
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

    def run(self, block: Block) -> Sequence[jax.Array]:
        """Computes what a block wants."""
        leaves = block.arrays
        arrays: list[Any] = [leaves[i] for i in self.positions]
        executable = self.executable
        if executable.is_direct:
            return executable.call(*arrays)
        return executable(arrays)


_prepared: Cache[tuple[Any, ...], Prepared] = Cache("blocks", MAX_PREPARED)


def find_prepared(block: Block) -> tuple[Prepared | None, tuple[Any, ...]]:
    """Looks up a block, and gives what it is looked up by."""
    key: tuple[Any, ...] = tuple([value.number for value in block.outputs])
    if block.effects:
        key = (key, *block.effects)
    return _prepared.get(key), key


def prepare(block: Block) -> Prepared | None:
    """Compiles a block, or remembers it.

    Returns:
        None for what no single executable can compute.

    Raises:
        TypeError: It needs a weight, which has no value here.
    """
    found, key = find_prepared(block)
    if found is None:
        program = cut(block.graph, block.outputs)
        if not fits_in_one(program):
            return None
        for leaf in program.leaves:
            array_of(leaf)  # has it an array?
        order = {id(leaf): i for i, leaf in enumerate(block.leaves)}
        positions = tuple(order[id(leaf)] for leaf in program.leaves)
        found = Prepared(executable_of(program, block.graph.name), positions)
        _prepared.keep(key, found)
    return found
