"""Groups of ops that are known to be pure: recorded once, then only run.

A group that is not known to be pure runs its Python at every call, as in the reference:
it may read a file or append to a list. A pure one depends on its arguments alone, so
the program recorded at the first call serves all calls on the same kind of arguments.
Tensors that it closes over are read at every call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from maxlite.executor._policy import policy
from maxlite.graph import Graph
from maxlite.graph._node import Parameter
from maxlite.lowering import compile_graph
from maxlite.realization_context import GraphRealizationContext
from maxlite.tensor._context import RealizationState, realization_context
from maxlite.tensor._defaults import defaults
from maxlite.tensor._tensor import Tensor, wrap
from maxlite.tensor._watching import tell_used
from maxlite.tree import flatten, unflatten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maxlite.graph._spec import Spec
    from maxlite.lowering import Executable
    from maxlite.tree import TreeDef

MAX_KINDS = 256
"""Kinds of arguments that one function is kept for; it starts afresh beyond."""


ONLY_TENSORS = frozenset({Tensor})
"""Types of the arguments of most calls, which need no taking apart."""


_UNKNOWN: Any = object()


class PureGroup:
    """A pure function with its programs, one per kind of arguments.

    Args:
        run: The function on tensors.
        name: What its programs are called.
    """

    def __init__(self, run: Callable[..., Any], name: str) -> None:
        self._run = run
        self._name = name
        self._known: dict[tuple[Any, ...], _Program | None] = {}

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls the function outside of any context.

        Returns:
            NotImplemented for a call that must run as if it were not pure: on
            distributed tensors, or with a size that only values tell.
        """
        tensors: Sequence[Tensor] = args
        treedef = None
        if kwargs or not ONLY_TENSORS.issuperset(map(type, args)):
            tensors, treedef = flatten((args, kwargs), leaf=Tensor)
        arrays = [a if (a := x._array) is not None else x._stored() for x in tensors]
        if not policy.is_plain:
            tell_used(tensors)
        statics = None if treedef is None else (treedef, treedef.exact_statics)
        key = (statics, defaults(), *[x._spec for x in tensors])
        program = self._known.get(key, _UNKNOWN)
        if program is _UNKNOWN:
            program = self._record(tensors, args, kwargs)
            if len(self._known) >= MAX_KINDS:
                self._known.clear()
            self._known[key] = program
        if program is None:
            return NotImplemented
        if program.is_one:
            return wrap(program.specs[0], program.executable.call(*arrays)[0])
        return program(arrays, tensors)

    def _record(
        self, tensors: Sequence[Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> _Program | None:
        """Records the function; None when only a block of its own can run it.

        Raises:
            TypeError: It draws random numbers, prints, or writes to what it is given.
        """
        if any(tensor.is_distributed for tensor in tensors):
            return None
        graph = Graph(self._name)
        ctx = _PureContext(graph)
        arguments = [ctx.add_parameter(tensor._spec) for tensor in tensors]
        _, treedef = flatten((args, kwargs), leaf=Tensor)
        new_args, new_kwargs = unflatten(treedef, arguments)
        with realization_context(ctx), ctx:
            result = self._run(*new_args, **new_kwargs)
            leaves, out_tree = flatten(result, leaf=Tensor)
            graph.outputs = [ctx.add_source(leaf).value for leaf in leaves]
        if graph.draws or graph.has_effects:
            what = "random numbers" if graph.draws else "effects such as print"
            raise TypeError(
                f"{self._name}: a pure function must depend on its arguments alone, "
                f"got one with {what}. Leave pure=True out, or pass these in."
            )
        if graph.is_measured:
            return None
        position = {id(argument): i for i, argument in enumerate(arguments)}
        return _Program(
            compile_graph(graph, {}),
            ctx.captured,
            [value.spec for value in graph.outputs],
            [position.get(id(leaf)) for leaf in leaves],
            out_tree,
        )


@dataclass(slots=True, eq=False)
class _Program:
    """A recorded call.

    Attributes:
        executable: Takes the captured tensors, then the arguments.
        captured: Tensors that the function closes over.
        specs: One per result.
        own: Which argument a result is, or None.
        out_tree: The structure of the result.
        is_one: Whether the result is one new tensor, and nothing is in the way.
    """

    executable: Executable
    captured: list[Tensor]
    specs: list[Spec]
    own: list[int | None]
    out_tree: TreeDef
    is_one: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_one = (
            self.out_tree.kind == "leaf"
            and self.own == [None]
            and not self.captured
            and self.executable.is_direct
        )

    def __call__(self, arrays: list[Any], tensors: Sequence[Tensor]) -> Any:
        hidden = [tensor._stored() for tensor in self.captured]
        results = self.executable([*hidden, *arrays])
        return unflatten(
            self.out_tree,
            [
                wrap(spec, array) if own is None else tensors[own]
                for spec, array, own in zip(self.specs, results, self.own, strict=True)
            ],
        )


def _is_parameter(tensor: Tensor) -> bool:
    value = tensor._value
    return value is not None and isinstance(value.origin, Parameter)


class _PureContext(GraphRealizationContext):
    """A trace that remembers which tensors came from outside."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.captured: list[Tensor] = []

    def add_source(self, tensor: Tensor) -> RealizationState:
        """Makes a tensor from outside available."""
        before = len(self.graph.captures)
        state = super().add_source(tensor)
        if len(self.graph.captures) > before:
            self.captured.append(tensor)
        return state

    def add_mutable_source(self, tensor: Tensor) -> RealizationState:
        """Refuses to write to what the function did not compute.

        Raises:
            TypeError: The tensor is an argument, or from outside.
        """
        if tensor._ctx is not self or _is_parameter(tensor):
            raise TypeError(
                f"{self.graph.name}: a pure function cannot write to what it is given, "
                f"got {tensor._spec!r}. Write to a copy (x + 0), or leave pure=True "
                "out."
            )
        return super().add_mutable_source(tensor)
