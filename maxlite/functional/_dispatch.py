"""From a call of an op to its result: coerce, then run now or record.

Outside of any context an op runs at once, through an executable kept under the row, its
static parameters and the specs of its operands. Inside one it is appended to the
context's graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from maxlite._caches import Cache
from maxlite._frames import user_line
from maxlite._op_table import fronts
from maxlite._signals import uninterrupted
from maxlite.dtype import DType, check_scalar
from maxlite.executor._policy import policy
from maxlite.graph import Dim
from maxlite.graph._graph import Graph
from maxlite.graph._node import TensorValue, exact
from maxlite.graph._spec import Spec, spec
from maxlite.lowering._plan import Plan, plan
from maxlite.lowering._program import Executable, compile_graph
from maxlite.realization_context import EagerRealizationContext, ensure_context
from maxlite.realization_context._eager import value_in
from maxlite.sharding import DeviceMapping, ShardingError
from maxlite.sharding._auto_reshard import current_region
from maxlite.tensor._context import RealizationContext, innermost, outside
from maxlite.tensor._data import check_array, plain_number
from maxlite.tensor._defaults import on_device
from maxlite.tensor._number import Number
from maxlite.tensor._ownership import holds_alone
from maxlite.tensor._tensor import Tensor, from_numpy, wrap
from maxlite.tensor._watching import tell_ran

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maxlite._op_table import Op

MAX_EAGER_OPS = 20_000
"""Eager ops kept ready; the table starts afresh beyond."""

MAX_NUMBERS = 10_000
"""Numbers kept that were met beside tensors; the table starts afresh beyond."""


Operand = Tensor | Number


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
    key: tuple[Any, ...] = (op, params, *specs)
    if any(spec.is_distributed for spec in specs):
        key = (op, params, current_region(), *specs)
        if key in _ready:
            return _ready[key]
    planned = plan(op, params, specs)
    ready = one_op(op, params, specs, planned)
    # A move may have to be warned of each time, so it is planned each time.
    if planned.action is None or not planned.action.moved:
        _ready.keep(key, ready)
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


# Coercion -----------------------------------------------------------------------------


def as_tensor(who: str, x: Any, name: str = "x") -> Tensor:
    """Checks that an operand is a Tensor.

    Raises:
        TypeError: It is something else.
    """
    if isinstance(x, Tensor):
        return x
    raise TypeError(
        f"{who}: {name} must be a Tensor, got {type(x).__name__}. Use Tensor({name})."
    )


def as_tensors(who: str, values: Any, name: str) -> list[Tensor]:
    """Checks that an argument is a list of Tensors, which one Tensor is not.

    Raises:
        TypeError: It is something else, or holds something else.
    """
    if isinstance(values, Tensor) or not isinstance(values, Iterable):
        raise TypeError(
            f"{who}: {name} must be a list of tensors, got {type(values).__name__}. "
            "Put it in a list."
        )
    items = list(cast("Iterable[Any]", values))
    return [as_tensor(who, x, f"{name}[{i}]") for i, x in enumerate(items)]


def as_operands(who: str, *operands: Any) -> tuple[Operand, ...]:
    """Coerces the operands of an op on several values.

    Numbers, Dims and numpy arrays take the dtype of the first tensor, when it can hold
    them.

    Raises:
        TypeError: An operand is no number, or there is no tensor among them.
        ValueError: A value does not fit the tensor's dtype.
    """
    # By far the commonest cases come first.
    if len(operands) == 2 and type(operands[0]) is Tensor:
        x, y = operands
        if type(y) is Tensor:
            return operands
        if type(y) is float or type(y) is int:
            return x, number(who, y, x._spec)
    like = next((x for x in operands if isinstance(x, Tensor)), None)
    if like is None:
        raise TypeError(
            f"{who}: one operand must be a Tensor, got "
            f"{', '.join(type(x).__name__ for x in operands)}. Use Tensor(value)."
        )
    return tuple(
        x if isinstance(x, Tensor) else as_operand(who, x, like) for x in operands
    )


def as_operand(who: str, x: Any, like: Tensor) -> Operand:
    """Coerces one operand to the dtype and place of a tensor beside it."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, Dim):
        return _dim_operand(x, like)
    if isinstance(x, np.ndarray):
        array = cast("np.ndarray", x)
        check_array(who, array)
        if array.ndim:
            return _array_operand(who, array, like)
    if isinstance(x, (np.generic, np.ndarray)):
        x = plain_number(who, cast("Any", x))
    if isinstance(x, (bool, int, float)):
        return number(who, x, like._spec)
    raise TypeError(
        f"{who}: an operand must be a Tensor, a number, a numpy array or a Dim, got "
        f"{type(x).__name__}. Use Tensor(value)."
    )


def number(who: str, value: bool | int | float, like: Spec) -> Number:
    """Makes a number beside a tensor, or remembers it.

    Raises:
        ValueError: The tensor's dtype cannot hold it.
    """
    key = (exact(value), like)
    found = _numbers.get(key)
    if found is None:
        check_scalar(value, like.dtype, who=who)
        whole = DeviceMapping.replicated(like.mapping.mesh)
        found = Number(value, spec(like.dtype, (), whole, literal=True))
        _numbers.keep(key, found)
    return found


_numbers: Cache[tuple[Any, ...], Number] = Cache("numbers", MAX_NUMBERS)


def _dim_operand(x: Dim, like: Tensor) -> Operand:
    from_dim: Callable[[Dim], Tensor] = fronts["from_dim"]
    if not tuple(x.parameters):
        return as_operand("Dim", int(x), like)
    cast: Callable[[Tensor, DType], Tensor] = fronts["cast"]
    return cast(from_dim(x), like.dtype)


def _array_operand(who: str, x: np.ndarray, like: Tensor) -> Tensor:
    if like.is_distributed:
        raise TypeError(
            f"{who}: a numpy array cannot stand next to a distributed tensor, got "
            f"{like.mapping!r}. Use Tensor(array).to(mapping)."
        )
    if x.size:
        check_scalar(x.min().item(), like.dtype, who=who)
        check_scalar(x.max().item(), like.dtype, who=who)
    with outside():
        return from_numpy(x.astype(like.dtype.to_jax()), on_device(like.device))
