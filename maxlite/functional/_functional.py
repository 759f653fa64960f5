"""Functions on values of a graph, or on tensors, as one op of their own.

Outside of any context such a function runs as one executable; inside one it is recorded
like everything else. On a mesh it runs on the shards of each device, and a rule says
how they must lie and how the results then lie.

Differs from the reference: on a mesh the function runs once, not once per device, and a
parameter annotated as BufferValue is refused: a tensor that is passed is written to by
``x[...] = value``.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from maxlite._op_table import front
from maxlite.executor._policy import policy
from maxlite.functional._call_on_mesh import call_on_mesh
from maxlite.functional._graph_building import graph_value, with_tensors
from maxlite.functional._pure import PureGroup
from maxlite.functional._transfer import move
from maxlite.realization_context import ensure_context
from maxlite.realization_context._default import in_context
from maxlite.sharding import DeviceMapping
from maxlite.sharding._picker import pick_action
from maxlite.sharding.rules._custom import checked_rows
from maxlite.tensor._context import innermost
from maxlite.tensor._tensor import Tensor
from maxlite.tensor._watching import tell_ran
from maxlite.tree import flatten, unflatten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maxlite.sharding import AxisAssignment, DeviceMesh

    Rule = Callable[..., list[AxisAssignment]]


@front
def functional(
    graph_op: Callable[..., Any] | None = None,
    rule: Rule | None = None,
    *,
    pure: bool = False,
) -> Callable[..., Any]:
    """Makes a function on tensors of one on values of a graph, or on tensors.

    Works as a decorator, bare or with options: ``@functional(pure=True)``. Outside of
    any context the result is computed at once, as one executable, when the function
    returns; inside one it stays pending.

    Args:
        graph_op: Takes trees that hold tensors and returns a tree of tensors or values
            and statics. A parameter that is annotated as ``TensorValue`` or ``Value``
            gets the value in place of the tensor.
        rule: What distributed operands need: called with the arguments, a TensorLayout
            in place of each tensor, it lists the rows that may be used, with one
            placement per tensor. ``graph_op`` then runs on the shards of each device.
            None: it runs on the shards as they are, and the results are Unknown.
        pure: Whether the result depends on the arguments alone. Then ``graph_op`` need
            not run at each call: what was recorded on the first arguments of a kind
            runs for all of that kind. It may close over tensors, but not read values,
            draw random numbers, print or write to its arguments. What else it looks up
            (globals, attributes of ``self``) is taken as it was then.

    Returns:
        A function of the same arguments; ``graph_op`` and ``rule`` are its attributes.

    Raises:
        TypeError: ``graph_op`` cannot be called, is async or a generator, or takes a
            BufferValue; by a call: it is not pure though it was said to be.
        ShardingError: By a call: the rule has no row, or one that does not place every
            tensor and result, or a move is needed that the region does not allow.

    Source: max.experimental.functional.functional; pure is ours.

    >>> @functional
    ... def scaled(x, by):
    ...     return (x - x.mean()) * by
    >>> scaled(Tensor([1.0, 3.0]), 10).to_numpy().tolist()
    [-10.0, 10.0]
    """
    if graph_op is None:
        return functools.partial(functional, rule=rule, pure=pure)
    if not callable(graph_op):
        raise TypeError(
            f"functional: graph_op must be a function, got {type(graph_op).__name__}."
        )
    if inspect.iscoroutinefunction(graph_op) or inspect.isgeneratorfunction(graph_op):
        raise TypeError(
            f"functional: graph_op must return its result, and {_name(graph_op)!r} is "
            "run piece by piece (async def, or yield). Write a plain function."
        )
    run = _on_tensors(graph_op)
    group = PureGroup(run, _name(graph_op)) if pure else None

    @functools.wraps(graph_op)
    def call(*args: Any, **kwargs: Any) -> Any:
        if group is not None and innermost() is None and not policy.needs_context:
            result = group(args, kwargs)
            if result is not NotImplemented:
                if not policy.is_plain:
                    tell_ran()
                return result
        wide = _distributed(args, kwargs)
        if wide is None:
            return in_context(run, args, kwargs)
        with ensure_context():
            if rule is None:
                return call_on_mesh(run, wide.mesh)(*args, **kwargs)
            return _by_rule(graph_op, run, rule, args, kwargs, wide.mesh)

    call.__dict__.update(graph_op=graph_op, rule=rule)
    return call


def _distributed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """Finds a distributed tensor among the arguments."""
    for tensor in args:
        if type(tensor) is not Tensor:
            break
        if tensor._spec.is_distributed:
            return tensor
    else:
        if not kwargs:
            return None
    tensors, _ = flatten((args, kwargs), leaf=Tensor)
    return next((t for t in tensors if t.is_distributed), None)


def _by_rule(
    graph_op: Callable[..., Any],
    run: Callable[..., Any],
    rule: Rule,
    args: Any,
    kwargs: Any,
    mesh: DeviceMesh,
) -> Any:
    """Moves operands as the rule says, and runs a function on their shards."""
    bound = inspect.signature(graph_op).bind(*args, **kwargs)
    bound.apply_defaults()
    tensors, treedef = flatten((bound.args, bound.kwargs), leaf=Tensor)
    layouts, named = unflatten(treedef, [tensor.layout for tensor in tensors])
    name = _name(graph_op)
    rows = checked_rows(name, rule(*layouts, **named))
    operands = [tensor._spec for tensor in tensors]
    names = _names(bound, tensors)

    def rows_of_axis(*_: Any) -> list[AxisAssignment]:
        return rows

    action = pick_action(name, operands, rows_of_axis, {}, names)
    moved = [
        move(tensor, DeviceMapping(mesh, needed)) if tensor.is_distributed else tensor
        for tensor, needed in zip(tensors, action.needed, strict=True)
    ]
    args, kwargs = unflatten(treedef, moved)
    out_specs = [DeviceMapping(mesh, placements) for placements in action.outputs]
    return call_on_mesh(run, mesh, out_specs=out_specs)(*args, **kwargs)


def _name(graph_op: Callable[..., Any]) -> str:
    return getattr(graph_op, "__name__", "functional").strip("<>")


def _names(bound: inspect.BoundArguments, tensors: Sequence[Tensor]) -> list[str]:
    """Names each tensor after the parameter that holds it."""
    found: list[str] = []
    for name, argument in bound.arguments.items():
        held, _ = flatten(argument, leaf=Tensor)
        found += [name if len(held) == 1 else f"{name}[{i}]" for i in range(len(held))]
    assert len(found) == len(tensors)
    return found


def _on_tensors(graph_op: Callable[..., Any]) -> Callable[..., Any]:
    """Makes the function that takes and gives tensors, whatever ``graph_op`` takes."""
    signature, taking_values = _signature(graph_op)

    @functools.wraps(graph_op)
    def run(*args: Any, **kwargs: Any) -> Any:
        if signature is not None and taking_values:
            bound = signature.bind(*args, **kwargs)
            for name in taking_values & bound.arguments.keys():
                if isinstance(bound.arguments[name], Tensor):
                    bound.arguments[name] = graph_value(bound.arguments[name])
            args, kwargs = bound.args, bound.kwargs
        result = graph_op(*args, **kwargs)
        return result if type(result) is Tensor else with_tensors(result)

    return run


def _signature(
    graph_op: Callable[..., Any],
) -> tuple[inspect.Signature | None, set[str]]:
    """Finds the parameters that are annotated to take values.

    Raises:
        TypeError: One is annotated to take a buffer.
    """
    try:
        signature = inspect.signature(graph_op)
    except ValueError:  # a function of C that does not say
        return None, set()
    kinds = {
        name: _kind(parameter.annotation)
        for name, parameter in signature.parameters.items()
    }
    buffers = [name for name, kind in kinds.items() if kind == "BufferValue"]
    if buffers:
        raise TypeError(
            f"functional: parameter {buffers[0]!r} must not be a BufferValue. Take a "
            "Tensor, and write to it: x[...] = value."
        )
    return signature, {n for n, kind in kinds.items() if kind in _VALUES}


_VALUES = ("TensorValue", "Value")


def _kind(annotation: Any) -> str:
    """Names a class that a parameter is annotated with, written out or as a string."""
    text = annotation if isinstance(annotation, str) else ""
    return text.rpartition(".")[2] or getattr(annotation, "__name__", "")
