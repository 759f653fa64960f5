"""The op table: one row of facts per op, and the registry from name to row.

Everything that can happen to an op follows from its row. Run now, recorded, lowered,
sharded, differentiated: each is a walk over rows, so an op is added by writing one row
and one typed function in front of it.

The table knows no other room. Rooms below fill it when they are imported; rooms that
must not import them (the methods of Tensor) reach the functions by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, eq=False, slots=True)
class Op:
    """One row of facts about an op. Rows compare and hash by identity.

    Attributes:
        name: The name under which the row is registered.
        fn: The meaning: ``fn(*arrays, **params)`` in JAX, pure, one array or a tuple.
        infer: ``infer(*specs, **params)``: dtype and shape of each output, as one
            ``(dtype, shape)`` pair or a list of pairs; with a third entry, the
            mapping, for an op without placement rows. It raises the errors that a user
            sees for operands that do not fit.
        rule: Placement rows of one mesh axis, ``rule(specs, params, axis_size)``. They
            also say where the op is linear: there, pending sums stay pending.
            None for an op that ``places`` or that holds a graph.
        params: Names of the static parameters, in the order in which they are kept.
        places: Whether the op itself says where its result lies (creation, moves); it
            has no placement rows then.
        runs_locally: Whether each device must be told to run the op on its own shards,
            since XLA would gather them; the static parameters must not depend on sizes.
        dtypes: Dtypes that the first operand may have; empty means all.
        measured: Name of the static parameter that is a size of the results known at
            run time only, as the value of the last operand; None for most ops.
        effects: Whether it acts on the world outside of the program. It has no results
            and runs in program order though nothing needs it. ``fn`` takes one more
            keyword, ``after``, and gives what the next effect gets: None on one device,
            where JAX keeps the order, else a number to wait for.
    """

    name: str
    fn: Callable[..., Any]
    infer: Callable[..., Any]
    rule: Callable[..., Any] | None = None
    params: tuple[str, ...] = ()
    places: bool = False
    runs_locally: bool = False
    dtypes: frozenset[Any] = frozenset()
    measured: str | None = None
    effects: bool = False

    def keywords(self, params: tuple[Any, ...]) -> dict[str, Any]:
        """Pairs the values of the static parameters with their names."""
        return dict(zip(self.params, params, strict=True))

    def __reduce__(self) -> tuple[Callable[[str], Op], tuple[str]]:
        """Pickles a row by its name, so that it stays one object in a process."""
        return (lookup, (self.name,))


@dataclass(slots=True)
class _Table:
    rows: dict[str, Op] = field(default_factory=dict[str, Op])
    fronts: dict[str, Callable[..., Any]] = field(
        default_factory=dict[str, "Callable[..., Any]"]
    )


_table = _Table()


def register(op: Op) -> Op:
    """Adds a row to the table and returns it.

    Raises:
        ValueError: The name is taken.
    """
    if op.name in _table.rows:
        raise ValueError(f"register: the op {op.name!r} has a row already.")
    _table.rows[op.name] = op
    return op


def lookup(name: str) -> Op:
    """Finds a row by name.

    Raises:
        ValueError: No row has this name; a newer version may have written it.
    """
    try:
        return _table.rows[name]
    except KeyError:
        raise ValueError(
            f"op {name!r} is not in this version's table. Import the module that "
            "declares it, or upgrade maxlite."
        ) from None


def rows() -> Mapping[str, Op]:
    """Gives all rows by name, in the order of registration."""
    return _table.rows


def front(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a typed function known by its own name to rooms that cannot import it."""
    _table.fronts[function.__name__] = function
    return function


fronts: Mapping[str, Callable[..., Any]] = _table.fronts
"""The typed function in front of each row, by name."""
