"""Subgraphs: a body recorded once, called many times, each with its own weights."""

from __future__ import annotations

import functools
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from maxlite._op_table import Op, register
from maxlite.compilation._signature import graph_name
from maxlite.compilation._stage import check_callable
from maxlite.functional._random import traced_seed
from maxlite.graph import Dim, Graph
from maxlite.graph._graph import sized
from maxlite.graph._node import Captured, Region, TensorValue
from maxlite.realization_context import GraphRealizationContext
from maxlite.realization_context._default import graph_context
from maxlite.sharding._auto_reshard import current_region
from maxlite.tensor._context import realization_context
from maxlite.tensor._defaults import defaults
from maxlite.tensor._tensor import Tensor
from maxlite.tree import TreeDef, flatten, unflatten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maxlite.graph._spec import Spec

P = ParamSpec("P")
R = TypeVar("R")


def as_subgraph(
    fn: Callable[P, R], *, name: str | None = None, prefix: str | None = None
) -> Callable[P, R]:
    """Makes calls of ``fn`` inside a trace calls of one recorded body.

    The body runs once per distinct function, name, argument layouts and statics, and
    becomes one private function in StableHLO. Outside of a trace, and where the trace
    does not allow subgraphs, ``fn`` is simply called.

    Args:
        fn: Takes and returns trees of tensors and statics.
        name: Name of the private function; the function's own when None.
        prefix: A plain string put in front of the names of placeholder weights
            (``constant_external(..., is_placeholder=True)``) of this call. Prefixes of
            nested subgraphs add up, outer first.

    Returns:
        A callable like ``fn``.

    Raises:
        TypeError: ``fn`` cannot be called.

    Source: max.experimental.compilation.as_subgraph.

    >>> as_subgraph(lambda x: x + 1)(2)
    3
    """
    check_callable("as_subgraph", fn)
    own_prefix = prefix or ""

    @functools.wraps(fn)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        ctx = graph_context()
        if ctx is None or ctx.subgraph_cache is None:
            return fn(*args, **kwargs)
        return _call(ctx, fn, name, own_prefix, args, kwargs)

    return call


@dataclass(frozen=True, slots=True)
class _Body:
    """A recorded body: its graph and the tree of its result."""

    graph: Graph
    out_tree: TreeDef
    treedef: TreeDef


def _call(
    ctx: GraphRealizationContext,
    fn: Callable[..., R],
    name: str | None,
    prefix: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> R:
    tensors, treedef = flatten((args, kwargs), leaf=Tensor)
    cache = cast("dict[Any, list[_Body]]", ctx.subgraph_cache)
    for tensor in tensors:
        ctx.add_source(tensor)
    signature = tuple(tensor._spec for tensor in tensors)
    where = (defaults(), current_region())
    key = (
        _identity(fn),
        name,
        signature,
        treedef.leaf_paths,
        treedef.exact_statics,
        where,
    )
    known = cache.setdefault(key, [])
    # Statics may be unhashable, so they are compared one by one.
    body = next((b for b in known if b.treedef == treedef), None)
    if body is None:
        body = _record(ctx, fn, graph_name(fn, name), prefix, signature, treedef)
        known.append(body)
    if body.graph.is_measured:
        # The program is cut where the size must be known, which a body cannot be.
        with ctx.prefixed(prefix):
            return fn(*args, **kwargs)
    hidden = _hidden_values(ctx, body.graph, prefix)
    results = call_graph(ctx, Region(body.graph), hidden, tensors)
    own = _returned_arguments(body.graph, tensors)
    results = [
        own.get(id(v), r) for v, r in zip(body.graph.outputs, results, strict=True)
    ]
    return cast("R", unflatten(body.out_tree, results))


def _returned_arguments(graph: Graph, tensors: Sequence[Tensor]) -> dict[int, Tensor]:
    """Finds the caller's own tensor for each value that is an argument of the body.

    A body that returns its argument returns that very tensor, as the function would: a
    later write to it is a write to the argument.
    """
    return {
        id(graph.writes.get(i, value)): tensors[i]
        for i, value in enumerate(graph.parameters)
    }


def _record(
    ctx: GraphRealizationContext,
    fn: Callable[..., Any],
    name: str,
    prefix: str,
    signature: Sequence[Spec],
    treedef: TreeDef,
) -> _Body:
    inner = GraphRealizationContext(Graph(name), prefix=ctx.prefix + prefix)
    inner.subgraph_cache = ctx.subgraph_cache
    inner.is_subgraph = True
    # Whether an argument may be written to is the caller's to say: see call_graph.
    arguments = [inner.add_parameter(spec, mutable=True) for spec in signature]
    args, kwargs = unflatten(treedef, arguments)
    with realization_context(inner), inner:
        result = fn(*args, **kwargs)
        leaves, out_tree = flatten(result, leaf=Tensor)
        inner.graph.outputs = [inner.add_source(leaf).value for leaf in leaves]
    return _Body(inner.graph, out_tree, treedef)


def call_graph(
    ctx: GraphRealizationContext,
    region: Region,
    hidden: Sequence[TensorValue],
    arguments: Sequence[Tensor],
) -> list[Tensor]:
    """Records a call of a graph inside another.

    Args:
        ctx: Where the call is recorded.
        region: The graph to call, and what its symbols are bound to.
        hidden: Values for its hidden inputs, in its own order.
        arguments: One per parameter; those that it writes to are written to here.

    Returns:
        One traced tensor per output of the called graph.
    """
    _check_written(region.graph, arguments)
    values = tuple(ctx.add_source(argument).value for argument in arguments)
    specs = called_specs(region)
    made = ctx.graph.append(CALL, (region,), (*hidden, *values), specs)
    outputs = len(region.graph.outputs)
    for index, value in zip(sorted(region.graph.writes), made[outputs:], strict=True):
        ctx.add_mutable_source(arguments[index])
        ctx.write(arguments[index], value)
    return [ctx.create_unrealized((value,)) for value in made[:outputs]]


def _check_written(graph: Graph, arguments: Sequence[Tensor]) -> None:
    for i in graph.writes:
        for k, other in enumerate(arguments):
            if k != i and other is arguments[i]:
                raise ValueError(
                    f"{graph.name}: tensors {min(i, k)} and {max(i, k)} of the "
                    "arguments are one, and it is written to. Pass a copy as one of "
                    "them: x + 0."
                )


def called_specs(region: Region) -> list[Spec]:
    """Gives the specs of a called graph's results in terms of the caller's symbols."""
    sizes: dict[str, int | Dim] = dict(region.bindings)
    return [sized(value.spec, sizes) for value in region.graph.results]


def _hidden_values(
    ctx: GraphRealizationContext, body: Graph, prefix: str
) -> list[TensorValue]:
    weights = [
        ctx.declare_weight(
            prefix + external.name if external.placeholder else external.name,
            value.spec,
            placeholder=external.placeholder,
        )
        for external, value in body.externals.items()
    ]
    captures = [
        ctx.capture(value.origin.array, value.spec)
        for value in body.captures.values()
        if isinstance(value.origin, Captured)
    ]
    return [*weights, *captures, *called_seed(ctx, body)]


def called_seed(ctx: GraphRealizationContext, body: Graph) -> list[TensorValue]:
    """Takes the seeds of all draws in a body that is called; none if there are none."""
    if body.seed is None:
        return []
    return [traced_seed(ctx, body.seed.spec, body.draws)]


class _Identity:
    """Compares and hashes by the identity of what it holds, and keeps it alive."""

    __slots__ = ("held",)

    def __init__(self, held: object) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.held is self.held

    def __hash__(self) -> int:
        return id(self.held)


def _identity(fn: Any) -> tuple[Any, ...]:
    """Tells functions with one meaning apart from others.

    Two function objects are one body when they share code, closure, defaults and
    globals: a lambda in a loop is the same body each time, unless what it closes over
    changes.
    """
    if isinstance(fn, types.MethodType):
        return (_Identity(fn.__self__), *_identity(fn.__func__))
    if isinstance(fn, types.FunctionType):
        cells = tuple(_Identity(_contents(cell)) for cell in fn.__closure__ or ())
        defaults = tuple(_Identity(value) for value in fn.__defaults__ or ())
        keywords = tuple(
            (key, _Identity(value)) for key, value in (fn.__kwdefaults__ or {}).items()
        )
        return (fn.__code__, cells, defaults, keywords, _Identity(fn.__globals__))
    return (_Identity(fn),)


def _contents(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # a name that is not assigned yet
        return cell


def _run_body(*arrays: Any, body: Callable[..., Any]) -> Any:
    return body(*arrays)


def _infer_call(*operands: Spec, body: Region) -> list[tuple[Any, Any, Any]]:
    return [(s.dtype, s.shape, s.mapping) for s in called_specs(body)]


CALL = register(Op(name="call", fn=_run_body, infer=_infer_call, params=("body",)))
"""Calls a recorded graph; it becomes a call of a private function in StableHLO."""
