"""The part of a compiled call that depends on its sizes, made once and then only run.

The budget of a call is counted in hundreds of nanoseconds, so what can be decided once
is: each kind of program gets a function of its own that asks no questions. Only what a
program draws is decided at each call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from maxlite._signals import uninterrupted
from maxlite.compilation._arguments import check_shared
from maxlite.executor._compute import compute
from maxlite.graph._graph import sized
from maxlite.realization_context._seed import seed_array, take_seed
from maxlite.tensor._context import outside
from maxlite.tensor._ownership import array_to_write
from maxlite.tensor._tensor import Tensor, wrap
from maxlite.tensor._watching import tell_made, tell_used
from maxlite.tree import flatten

if TYPE_CHECKING:
    import jax

    from maxlite.compilation._plan import Rebuild
    from maxlite.graph import Graph
    from maxlite.graph._spec import Spec
    from maxlite.lowering import Executable

Run = Callable[[Sequence[Any]], Any]
"""Takes argument tensors and gives the result."""


def make_run(
    graph: Graph,
    names: Sequence[str],
    hidden: Sequence[jax.Array],
    executable: Executable,
    specs: Sequence[Spec],
    rebuild: Rebuild,
) -> Run:
    """Makes the function that runs a program on checked arguments.

    Args:
        graph: The program.
        names: What errors call each argument.
        hidden: Arrays of weights and captured tensors.
        executable: The program at the sizes of these arguments.
        specs: One per result.
        rebuild: Makes the result from its tensors.
    """
    if graph.seed is None:
        return _make_run(graph, names, hidden, executable, specs, rebuild)
    seed = graph.seed.spec

    def run(tensors: Sequence[Tensor]) -> Any:
        drawn = seed_array(take_seed(graph.draws), seed)
        leaves = [*hidden, drawn]
        return _make_run(graph, names, leaves, executable, specs, rebuild)(tensors)

    return run


def run_in_turns(
    graph: Graph,
    names: Sequence[str],
    hidden: Sequence[jax.Array],
    sizes: Mapping[str, int],
    rebuild: Rebuild,
) -> Run:
    """Makes the function that runs a program with sizes known at run time only.

    Such a program is cut where a size must be known, so it is several executables, and
    arguments that it writes to get new memory.

    Args:
        graph: The program.
        names: What errors call each argument.
        hidden: Arrays of weights and captured tensors.
        sizes: What the symbols of the arguments stand for.
        rebuild: Makes the result from its tensors.
    """
    inputs = [*graph.hidden, *graph.parameters]
    outputs = [value.spec for value in graph.outputs]

    def run(tensors: Sequence[Tensor]) -> Any:
        check_shared(graph, names, tensors)
        seed = graph.seed
        drawn = [] if seed is None else [seed_array(take_seed(graph.draws), seed.spec)]
        arrays = [*hidden, *drawn, *stored_arrays(tensors)]
        known = {id(v): array for v, array in zip(inputs, arrays, strict=True)}
        results, found = compute(graph, graph.results, known, sizes)
        with uninterrupted():
            for i, array in zip(
                sorted(graph.writes), results[len(outputs) :], strict=True
            ):
                tensors[i]._array = array
        specs = [sized(described, found) for described in outputs]
        return rebuild(map(wrap, specs, results))

    return run


def run_watched(run: Run, tensors: Sequence[Tensor]) -> Any:
    """Runs a program as it always runs, and tells of what it read and made."""
    result = run(tensors)
    tell_used(tensors)
    tell_made(flatten(result, leaf=Tensor)[0])
    return result


def _make_run(
    graph: Graph,
    names: Sequence[str],
    hidden: Sequence[jax.Array],
    executable: Executable,
    specs: Sequence[Spec],
    rebuild: Rebuild,
) -> Run:
    if graph.writes:
        return _writing(graph, names, hidden, executable, specs, rebuild)
    one_to_one = len(specs) == len(graph.parameters) == 1 and not hidden
    if one_to_one and executable.is_direct and rebuild((hidden,)) is hidden:
        # One tensor in and one out, with no tree around it.
        return _one_to_one(executable, specs[0])
    return _plain(hidden, executable, specs, rebuild)


def stored_arrays(tensors: Sequence[Tensor]) -> list[Any]:
    """Lists the arrays of tensors, computing the pending ones first."""
    return [a if (a := x._array) is not None else _computed(x) for x in tensors]


def _computed(tensor: Tensor) -> jax.Array:
    """Computes a pending tensor, also one of the block that is open."""
    with outside():
        return tensor._stored()


def _one_to_one(executable: Executable, spec: Spec) -> Run:
    def run(tensors: Sequence[Tensor]) -> Any:
        (x,) = tensors
        given = x._array
        (array,) = executable.call(_computed(x) if given is None else given)
        return wrap(spec, array)

    return run


def _plain(
    hidden: Sequence[jax.Array],
    executable: Executable,
    specs: Sequence[Spec],
    rebuild: Rebuild,
) -> Run:
    def run(tensors: Sequence[Tensor]) -> Any:
        arrays = executable([*hidden, *stored_arrays(tensors)])
        return rebuild(map(wrap, specs, arrays))

    return run


def _writing(
    graph: Graph,
    names: Sequence[str],
    hidden: Sequence[jax.Array],
    executable: Executable,
    specs: Sequence[Spec],
    rebuild: Rebuild,
) -> Run:
    written = sorted(graph.writes)

    def run(tensors: Sequence[Tensor]) -> Any:
        check_shared(graph, names, tensors)
        arrays = [*hidden, *stored_arrays(tensors)]
        for i in written:
            # Counted while the list holds no reference of its own.
            arrays[len(hidden) + i] = None
            read_too = any(t is tensors[i] for k, t in enumerate(tensors) if k != i)
            arrays[len(hidden) + i] = array_to_write(tensors[i], shared=read_too)
        with uninterrupted():
            try:
                results = executable(arrays)
            except Exception as error:
                _check_alive(graph, [names[i] for i in written], tensors, error)
                raise
            for i, array in zip(written, results[len(specs) :], strict=True):
                tensors[i]._array = array
        return rebuild(map(wrap, specs, results))

    return run


def _check_alive(
    graph: Graph, names: Sequence[str], tensors: Sequence[Tensor], error: Exception
) -> None:
    """Says so where a failed program took the memory that it was to write to.

    Raises:
        RuntimeError: A tensor has lost its values.
    """
    arrays = [tensor._array for tensor in tensors]
    if any(array is not None and array.is_deleted() for array in arrays):
        raise RuntimeError(
            f"{graph.name}: the program failed while it wrote to {', '.join(names)}, "
            "whose values are lost: the memory was given to the program. Keep a copy "
            "(copy.copy) of what must survive a failure."
        ) from error
