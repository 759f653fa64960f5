"""The part of a compiled call that depends on its sizes, made once and then only run.

The budget of a call is counted in hundreds of nanoseconds, so what can be decided once
is: each kind of program gets a function of its own that asks no questions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from maxlite._signals import uninterrupted
from maxlite.compilation._arguments import check_shared
from maxlite.tensor._context import outside
from maxlite.tensor._ownership import array_to_write
from maxlite.tensor._tensor import Tensor, wrap

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
    if graph.writes:
        return _writing(graph, names, hidden, executable, specs, rebuild)
    if not executable.is_direct:
        return _moving(hidden, executable, specs, rebuild)
    if len(specs) == 1 and rebuild((hidden,)) is hidden:
        # The result is the tensor itself, with no tree around it.
        inputs = len(hidden) + len(graph.parameters)
        return _with_one_result(hidden, executable, specs[0], inputs)
    return _direct(hidden, executable, specs, rebuild)


def stored_arrays(tensors: Sequence[Tensor]) -> list[Any]:
    """Lists the arrays of tensors, computing the pending ones first."""
    return [a if (a := x._array) is not None else _computed(x) for x in tensors]


def _computed(tensor: Tensor) -> jax.Array:
    """Computes a pending tensor, also one of the block that is open."""
    with outside():
        return tensor._stored()


def _with_one_result(
    hidden: Sequence[jax.Array], executable: Executable, spec: Spec, inputs: int
) -> Run:
    if not hidden and inputs == 1:

        def run_one(tensors: Sequence[Tensor]) -> Any:
            (x,) = tensors
            given = x._array
            (array,) = executable.call(_computed(x) if given is None else given)
            return wrap(spec, array)

        return run_one

    def run(tensors: Sequence[Tensor]) -> Any:
        (array,) = executable.call(*hidden, *stored_arrays(tensors))
        return wrap(spec, array)

    return run


def _direct(
    hidden: Sequence[jax.Array],
    executable: Executable,
    specs: Sequence[Spec],
    rebuild: Rebuild,
) -> Run:
    def run(tensors: Sequence[Tensor]) -> Any:
        arrays = executable.call(*hidden, *stored_arrays(tensors))
        return rebuild(map(wrap, specs, arrays))

    return run


def _moving(
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
            results = executable(arrays)
            for i, array in zip(written, results[len(specs) :], strict=True):
                tensors[i]._array = array
        return rebuild(map(wrap, specs, results))

    return run
