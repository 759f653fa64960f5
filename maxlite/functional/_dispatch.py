"""From coerced operands of an op to its result: run it now, or record it.

Outside of any context an op runs at once, through an executable kept under the row, its
static parameters and the specs of its operands. Inside one it is appended to the
context's graph.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from maxlite._caches import Cache
from maxlite._frames import user_line
from maxlite._signals import uninterrupted
from maxlite.executor._policy import policy
from maxlite.graph._graph import Graph
from maxlite.graph._node import TensorValue
from maxlite.graph._spec import Spec
from maxlite.lowering._plan import Plan, plan
from maxlite.lowering._program import Executable, compile_graph
from maxlite.realization_context import EagerRealizationContext, ensure_context
from maxlite.realization_context._eager import value_in
from maxlite.sharding import ShardingError
from maxlite.tensor._context import RealizationContext, innermost
from maxlite.tensor._ownership import holds_alone
from maxlite.tensor._tensor import Tensor, wrap
from maxlite.tensor._watching import tell_ran

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite._op_table import Op
    from maxlite.functional._operands import Operand

MAX_EAGER_OPS = 20_000
"""Eager ops kept ready; the table starts afresh beyond."""


def apply(op: Op, operands: Sequence[Operand], *params: Any) -> Any:
    """Runs an op, or records it where a context is open.

    Args:
        op: The row.
        operands: Coerced operands.
        *params: Values of the row's static parameters, in the row's order; hashable.

    Returns:
        One Tensor, or a tuple when the row gives several.
    """
    ctx = innermost()
    if ctx is not None or not policy.is_plain:
        if isinstance(ctx, EagerRealizationContext):
            return ctx.record(op, operands, params)
        if ctx is None and not policy.needs_context:
            return _run_watched(op, operands, params)
        return _record(ctx, op, operands, params)
    # In a small op a loop is a tenth of the cost, so one and two operands have none.
    if len(operands) == 2:
        x, y = operands
        ready = _ready.get((op, params, x._spec, y._spec))
        ready = ready or _find_ready(op, params, operands)
        a, b = x._array, y._array
        arrays = [_stored(x) if a is None else a, _stored(y) if b is None else b]
    elif len(operands) == 1:
        (x,) = operands
        ready = _ready.get((op, params, x._spec)) or _find_ready(op, params, operands)
        a = x._array
        arrays = [_stored(x) if a is None else a]
    else:
        ready = _ready.get((op, params, *[x._spec for x in operands]))
        ready = ready or _find_ready(op, params, operands)
        arrays = [a if (a := x._array) is not None else _stored(x) for x in operands]
    executable = ready.executable
    results = executable.call(*arrays) if executable.is_direct else executable(arrays)
    if ready.only is not None:
        return wrap(ready.only, results[0])
    return tuple(map(wrap, ready.specs, results))


# Recording ------------------------------------------------------------------------


def _record(
    ctx: RealizationContext | None,
    op: Op,
    operands: Sequence[Operand],
    params: tuple[Any, ...],
) -> Any:
    """Records an op in any context, also in one that is opened for it alone."""
    if ctx is None:
        with ensure_context():
            return apply(op, operands, *params)
    values = tuple(value_in(ctx, operand) for operand in operands)
    planned = plan(op, params, [value.spec for value in values])
    made = ctx.graph.append(op, params, values, planned.specs, planned.action)
    if made and made[0].spec.is_distributed:
        ctx.graph.lines[id(made[0].origin)] = user_line()
    results = tuple(ctx.create_unrealized((value,)) for value in made)
    return results[0] if len(results) == 1 else results


# Running now ------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _Ready:
    """An op that is compiled; ``only`` is the spec of its result if it has just one."""

    executable: Executable
    specs: tuple[Spec, ...]
    only: Spec | None = field(init=False)

    def __post_init__(self) -> None:
        self.only = self.specs[0] if len(self.specs) == 1 else None


_ready: Cache[tuple[Any, ...], _Ready] = Cache("eager ops", MAX_EAGER_OPS)
_executables: Cache[tuple[Any, ...], _Ready] = Cache(
    "programs of eager ops", MAX_EAGER_OPS
)


def _stored(operand: Operand) -> Any:
    """Computes a pending tensor; a number is never pending."""
    return operand._stored() if isinstance(operand, Tensor) else operand._array


def _run_watched(op: Op, operands: Sequence[Operand], params: tuple[Any, ...]) -> Any:
    """Runs an op as it always runs, and tells of it."""
    ready = _ready.get((op, params, *[x._spec for x in operands]))
    ready = ready or _find_ready(op, params, operands)
    results = ready.executable([_stored(x) for x in operands])
    tell_ran()
    made = tuple(map(wrap, ready.specs, results))
    return made if ready.only is None else made[0]


def _find_ready(op: Op, params: tuple[Any, ...], operands: Sequence[Operand]) -> _Ready:
    """Finds or compiles an op; on a mesh, the region says what may be moved."""
    for operand in operands:
        if not operand._spec.is_static:
            _stored(operand)  # only its values tell its size
    specs = tuple(operand._spec for operand in operands)
    planned = plan(op, params, specs)
    ready = one_op(op, params, specs, planned)
    # What needs no move is the same in every region. A move may be refused in another
    # one, or have to be warned of each time, so it is planned each time.
    if planned.action is None or not planned.action.moved:
        _ready.keep((op, params, *specs), ready)
    return ready


def one_op(
    op: Op,
    params: tuple[Any, ...],
    specs: tuple[Spec, ...],
    planned: Plan,
    *,
    in_place: tuple[tuple[int, int], ...] = (),
) -> _Ready:
    """Compiles a program of one op, or remembers it.

    Args:
        op: The row.
        params: Values of its static parameters.
        specs: What comes in.
        planned: What comes out, and where everything lies.
        in_place: Operands whose memory a result takes over, each with the result.
            These results come last.
    """
    key = (op, params, specs, planned.action, in_place)
    found = _executables.get(key)
    if found is None:
        graph = Graph(op.name)
        targets = dict(in_place)
        for i, described in enumerate(specs):
            graph.add_parameter(described, mutable=i in targets)
        values = tuple(graph.parameters)
        made = graph.append(op, params, values, planned.specs, planned.action)
        graph.writes = {i: made[j] for i, j in in_place}
        taken = targets.values()
        graph.outputs = [value for j, value in enumerate(made) if j not in taken]
        found = _Ready(compile_graph(graph, {}), planned.specs)
        _executables.keep(key, found)
    return found


# Writing ------------------------------------------------------------------------------


def write(
    op: Op,
    operands: Sequence[Operand],
    *params: Any,
    written: tuple[int, ...] = (0,),
) -> tuple[Tensor, ...]:
    """Applies an op whose first results become the content of some operands.

    Outside of a context their memory is reused when nothing else holds the array;
    otherwise one copy is made, and whoever holds the old array keeps its value.

    Args:
        op: The row.
        operands: Coerced operands.
        *params: Values of the row's static parameters.
        written: Position of the operand that each of the first results goes to.

    Returns:
        The other results.

    Raises:
        ShardingError: The write would move what it writes to.
    """
    ctx: Any = innermost()
    if ctx is not None:
        is_eager = isinstance(ctx, EagerRealizationContext)
        values = tuple(
            value_in(ctx, x) if is_eager or i not in written else _writable(ctx, x)
            for i, x in enumerate(operands)
        )
        planned = _plan_write(op, params, [value.spec for value in values], written)
        if is_eager:
            made = ctx.append(op, params, values)
        else:
            made = ctx.graph.append(op, params, values, planned.specs, planned.action)
        for i, value in zip(written, made, strict=False):
            ctx.write(operands[i], value)
        return tuple(ctx.create_unrealized((v,)) for v in made[len(written) :])
    if policy.needs_context:
        with ensure_context():
            return write(op, operands, *params, written=written)
    made = _write_now(op, operands, params, written)
    if not policy.is_plain:
        tell_ran()
    return made


def _writable(ctx: RealizationContext, tensor: Any) -> TensorValue:
    return ctx.add_mutable_source(tensor).values[0]


def _write_now(
    op: Op,
    operands: Sequence[Any],
    params: tuple[Any, ...],
    written: tuple[int, ...],
) -> tuple[Tensor, ...]:
    for i in written:
        operands[i]._stored()
    read = {i: _stored(x) for i, x in enumerate(operands) if i not in written}
    specs = tuple(x._spec for x in operands)
    planned = _plan_write(op, params, specs, written)
    # What is read is held here, so that a tensor both read and written is not alone.
    pairs = [(i, j) for j, i in enumerate(written) if holds_alone(operands[i])]
    in_place = tuple(sorted(pairs))
    ready = one_op(op, params, specs, planned, in_place=in_place)
    last = [j for _, j in in_place]
    order = [*(j for j in range(len(planned.specs)) if j not in last), *last]
    with uninterrupted():
        arrays = [read[i] if i in read else x._stored() for i, x in enumerate(operands)]
        results = dict(zip(order, ready.executable(arrays), strict=True))
        for j, i in enumerate(written):
            operands[i]._array = results[j]
    others = range(len(written), len(planned.specs))
    return tuple(wrap(planned.specs[j], results[j]) for j in others)


def _plan_write(
    op: Op, params: tuple[Any, ...], specs: Sequence[Spec], written: tuple[int, ...]
) -> Plan:
    """Plans a write, and refuses one that would change what it writes to."""
    planned = plan(op, params, specs)
    for i, result in zip(written, planned.specs, strict=False):
        if result is not specs[i]:
            raise ShardingError(
                f"{op.name}: a write must leave its target as it is, {specs[i]!r}, got "
                f"an index or a value that needs {result!r}. Move the target with to() "
                "first."
            )
    return planned
