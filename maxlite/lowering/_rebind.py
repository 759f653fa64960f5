"""Names that a program gives to sizes on its way, by ``rebind``.

Parameters bring the sizes of most names. A rebind from ``[n]`` to ``[m]`` is an
equation: where only one side is known it tells the other, so a new name needs no place
of its own in the program. Where both are known the equation is checked, by the row's
function, each time the program is specialised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from maxlite._op_table import Op, register
from maxlite.graph import Dim
from maxlite.graph._node import Region
from maxlite.sharding.rules import linear_unary_rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import jax

    from maxlite.dtype import DType
    from maxlite.graph import Graph
    from maxlite.graph._node import Node
    from maxlite.graph._shape import CompactShape
    from maxlite.graph._spec import Spec

Equation: TypeAlias = "tuple[int | Dim, int | Dim]"
"""Two ways to write one size."""


def _rebind(x: jax.Array, *, shape: tuple[Any, ...], message: str) -> jax.Array:
    _check_sizes(x.shape, shape, message, ValueError)
    return x


def _infer_rebind(x: Spec, *, shape: CompactShape, message: str) -> tuple[DType, Any]:
    _check_sizes(x.shape, shape, message, TypeError)
    return x.dtype, shape


def _check_sizes(
    have: tuple[Any, ...],
    stated: tuple[Any, ...],
    message: str,
    error: type[Exception],
) -> None:
    """Compares sizes that are numbers; of what is symbolic nothing is known."""
    pairs = zip(have, stated, strict=True)
    if any(a != b for a, b in pairs if isinstance(a, int) and isinstance(b, int)):
        raise error(
            f"{message or 'rebind'}: the sizes must be as stated, got "
            f"{list(have)} for {list(stated)}. Pass a tensor of that shape, or state "
            "its own."
        )


REBIND = register(
    Op(
        name="rebind",
        fn=_rebind,
        infer=_infer_rebind,
        rule=linear_unary_rule,
        params=("shape", "message"),
    )
)
"""States what sizes are; the elements stay as they are."""


def complete_sizes(graph: Graph, sizes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Adds the names that a program introduces to those that its parameters bring.

    Args:
        graph: The recorded program.
        sizes: What each name stands for: a number, a Dim, or a symbolic dim of JAX.

    Raises:
        ValueError: A name would stand for less than 0.
    """
    equations = list(size_equations(graph.nodes))
    return solve_sizes(equations, sizes) if equations else sizes


def solve_sizes(
    equations: Iterable[Equation], known: Mapping[str, Any]
) -> dict[str, Any]:
    """Works out names from equations, as long as one has a single unknown.

    Args:
        equations: In any order.
        known: What some names stand for.

    Returns:
        The known names, then the ones found.

    Raises:
        ValueError: A name would stand for less than 0.

    >>> solve_sizes([(Dim("m") * 2, Dim("n") + 1)], {"n": 5})
    {'n': 5, 'm': 3}
    """
    found = dict(known)
    # A side that names itself tells nothing, so each equation counts at most twice.
    waiting = [side for a, b in equations for side in ((a, b), (b, a))]
    while True:
        left = [side for side in waiting if not _solve(*side, found)]
        if len(left) == len(waiting):
            return found
        waiting = left


def _solve(unknown: int | Dim, value: int | Dim, found: dict[str, Any]) -> bool:
    """Adds the only unknown name of one side, if the other side has none."""
    names = _unknown(unknown, found)
    if len(names) != 1 or _unknown(value, found):
        return False
    (name,) = names
    try:
        at_zero, at_one = (_value(unknown, found | {name: i}) for i in (0, 1))
    except ZeroDivisionError:
        return False
    step = at_one - at_zero
    if step == 0:
        return False
    size = (_value(value, found) - at_zero) // step
    if isinstance(size, int) and size < 0:
        raise ValueError(
            f"rebind: a size must be 0 or more, got {name} = {size} from "
            f"{unknown} = {_value(value, found)}. State another size."
        )
    found[name] = size
    return True


def _unknown(dim: int | Dim, found: Mapping[str, Any]) -> set[str]:
    names = {p.name for p in dim.parameters} if isinstance(dim, Dim) else set[str]()
    return names - found.keys()


def _value(dim: int | Dim, found: Mapping[str, Any]) -> Any:
    return dim.evaluate(found) if isinstance(dim, Dim) else dim


def check_size(who: str, dim: int | Dim, size: int, sizes: Mapping[str, int]) -> None:
    """Compares a size that was measured with what it was stated to be.

    Raises:
        ValueError: They differ.
    """
    if _value(dim, sizes) != size:
        shown = f"{dim} = {_value(dim, sizes)}" if isinstance(dim, Dim) else dim
        raise ValueError(
            f"{who}: the size must be as stated, got {size} for {shown}. Use a name of "
            "its own for each size that is known at run time only."
        )


def size_equations(nodes: Iterable[Node]) -> Iterator[Equation]:
    """Visits what nodes state, and what bodies state that share their names.

    A body with bindings has names of its own, which the caller has completed.
    """
    seen: set[int] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node.op is REBIND:
            have, stated = node.inputs[0].spec.shape, node.outputs[0].spec.shape
            yield from zip(have, stated, strict=True)
        for param in node.params:
            shares = isinstance(param, Region) and not param.bindings
            if shares and id(param.graph) not in seen:
                seen.add(id(param.graph))
                waiting += param.graph.nodes
