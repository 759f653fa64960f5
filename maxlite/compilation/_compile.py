"""Compiling: a staged program becomes a callable that only runs."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from maxlite.compilation._arguments import ArgumentChecker, structure_text
from maxlite.compilation._artifact import (
    from_bytes,
    read_artifact,
    to_bytes,
    write_artifact,
)
from maxlite.compilation._plan import flat_count, rebuilder, unpacker
from maxlite.compilation._raw import join_buffers, split_arrays, write_back
from maxlite.compilation._run import (
    make_run,
    run_in_turns,
    run_watched,
    stored_arrays,
)
from maxlite.compilation._stage import StagedGraph, stage
from maxlite.compilation._subgraph import call_graph, called_seed, called_specs
from maxlite.compilation._weights import bind_weights
from maxlite.executor._policy import policy
from maxlite.graph._node import Region
from maxlite.lowering import (
    Collective,
    Executable,
    compile_graph,
    complete_sizes,
    find_collectives,
    program_mesh,
)
from maxlite.realization_context._default import graph_context
from maxlite.tensor._context import innermost
from maxlite.tensor._tensor import wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from os import PathLike

    import jax

    from maxlite.compilation._plan import Rebuild
    from maxlite.compilation._run import Run
    from maxlite.driver import Buffer, Device
    from maxlite.graph._spec import Spec
    from maxlite.realization_context import GraphRealizationContext
    from maxlite.sharding import TensorLayout
    from maxlite.tensor._tensor import Tensor
    from maxlite.tree import TreeDef

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class EngineModel:
    """The executables of a compiled callable.

    Attributes:
        name: Name of the graph.
        executables: JAX's compiled object per set of sizes; each set is a tuple of
            ``(symbol, size)`` pairs, empty when nothing is symbolic.
    """

    name: str
    executables: Mapping[tuple[tuple[str, int], ...], jax.stages.Compiled]


class CompiledCallable(Generic[P, R]):
    """A staged program bound to its weights, ready to be called with tensors.

    A call checks its arguments, binds the symbols to the sizes that came, and runs; the
    user's function is never run again. One executable is compiled per set of sizes, at
    once when nothing is symbolic, and otherwise when the sizes are first met.

    Args:
        staged: The program.
        weights: Tensors, numpy arrays or anything with DLPack, by name.
        session: Accepted for the reference's sake.

    Raises:
        ValueError: A weight is missing, or has another shape or dtype.
        TypeError: A weight is no array.

    Source: max.experimental.compilation.CompiledCallable.
    """

    def __init__(
        self,
        staged: StagedGraph[P, R],
        weights: Mapping[str, Any] | None = None,
        *,
        session: object = None,
    ) -> None:
        self._staged = staged
        self._graph = staged.graph
        self._mesh = program_mesh(staged.graph)
        self._weights = MappingProxyType(dict(weights or {}))
        self._hidden = bind_weights(staged.graph, self._weights, self._mesh)
        self._is_measured = staged.graph.is_measured
        self._names = staged.argument_names
        self._checker = ArgumentChecker(staged.graph, self._names)
        self._flat_count = flat_count(staged.in_tree)
        self._unpack = unpacker(staged.in_tree)
        self._rebuild = rebuilder(staged.out_tree)
        self._runs: dict[Spec | tuple[Spec, ...], Run] = {}
        self._executables = staged.executables
        self.__name__ = staged.graph.name
        if not self._checker.symbols and not self._is_measured:
            self._executable({})

    # Calling ----------------------------------------------------------------------

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs the program on tensors in the structure that it was staged with.

        Returns:
            The result's structure with fresh realized tensors; statics as they were.

        Raises:
            ValueError: Structure, statics, dtype, rank, size or placement differ from
                what was staged; the message names the argument.
            TypeError: An argument is no tensor.
        """
        if len(args) == self._flat_count and not kwargs:
            leaves: Any = args
        else:
            leaves = self._unpack(args, kwargs) or self._flatten(args, kwargs)
        if innermost() is not None and (ctx := graph_context()) is not None:
            return self._inline(ctx, leaves)
        try:
            if len(leaves) == 1:
                run = self._runs[leaves[0]._spec]
            else:
                run = self._runs[tuple([leaf._spec for leaf in leaves])]
        except (KeyError, AttributeError):
            run = None
        if run is None:
            leaves, run = self._prepare(leaves)
        return run(leaves) if policy.is_plain else run_watched(run, leaves)

    def _flatten(self, args: Any, kwargs: Any) -> list[Any]:
        try:
            return self.in_tree.flatten_up_to((args, kwargs))
        except ValueError as error:
            raise ValueError(
                f"{self._graph.name}: {structure_text(str(error))}. Call it as it was "
                "staged, or stage it again for another structure."
            ) from None

    def _prepare(self, leaves: Sequence[Any]) -> tuple[list[Tensor], Run]:
        """Checks arguments whose specs were not met before, and finds what to run."""
        tensors = self._checker.as_tensors(leaves)
        stored_arrays([x for x in tensors if not x._spec.is_static])  # tells their size
        specs = tuple(tensor._spec for tensor in tensors)
        key = specs[0] if len(specs) == 1 else specs
        if key not in self._runs:
            self._runs[key] = self._make_run(specs, self._rebuild)
        return tensors, self._runs[key]

    def _make_run(self, specs: Sequence[Spec], rebuild: Rebuild) -> Run:
        sizes = {k: int(v) for k, v in self._checker.bind(specs).items()}
        if self._is_measured:
            return run_in_turns(self._graph, self._names, self._hidden, sizes, rebuild)
        executable = self._executable(sizes)
        results = called_specs(Region(self._graph, tuple(sizes.items())))
        outputs = results[: len(self.out_layouts)]
        return make_run(
            self._graph, self._names, self._hidden, executable, outputs, rebuild
        )

    def _executable(self, sizes: Mapping[str, int]) -> Executable:
        sizes = complete_sizes(self._graph, sizes)
        key = tuple(sizes.items())
        with self._staged.lock:
            if key not in self._executables:
                self._executables[key] = self._compile(sizes)
            return self._executables[key]

    def _compile(self, sizes: Mapping[str, int]) -> Executable:
        try:
            return compile_graph(self._graph, sizes)
        except ValueError as error:
            if not sizes:
                raise
            at = ", ".join(f"{name} = {size}" for name, size in sizes.items())
            raise ValueError(f"{self._graph.name}, at {at}: {error}") from error

    def _inline(self, ctx: GraphRealizationContext, leaves: Sequence[Any]) -> R:
        """Records a call of the program into the program that is being traced.

        Raises:
            NotImplementedError: The program has sizes that are known at run time only.
        """
        if self._is_measured:
            raise NotImplementedError(
                f"{self._graph.name}: a program with sizes that are known at run time "
                "only cannot be called inside another, which would have to be cut "
                "there. Call the function that it was compiled from."
            )
        tensors = self._checker.as_tensors(leaves)
        sizes = self._checker.bind([tensor._spec for tensor in tensors])
        hidden = [
            ctx.capture(array, value.spec)
            for value, array in zip(self._graph.bound, self._hidden, strict=True)
        ]
        hidden += called_seed(ctx, self._graph)
        region = Region(self._graph, tuple(sizes.items()))
        return self._rebuild(call_graph(ctx, region, hidden, tensors))

    # What it is -------------------------------------------------------------------

    @property
    def in_layouts(self) -> list[TensorLayout]:
        """One per argument leaf."""
        return self._staged.in_layouts

    @property
    def in_tree(self) -> TreeDef:
        """The tree of ``(args, kwargs)``, statics inside."""
        return self._staged.in_tree

    @property
    def out_layouts(self) -> list[TensorLayout]:
        """One per result leaf; sizes may hold symbols."""
        return self._staged.out_layouts

    @property
    def out_tree(self) -> TreeDef:
        """The tree of the result, statics inside."""
        return self._staged.out_tree

    @property
    def weights(self) -> Mapping[str, Any]:
        """The weights as they were given, by name; read-only."""
        return self._weights

    @property
    def signal_buffers(self) -> list[Buffer]:
        """Always empty: XLA synchronizes devices by itself."""
        return []

    @property
    def engine_model(self) -> EngineModel:
        """The executables compiled so far."""
        table = {key: run.compiled for key, run in self._executables.items()}
        return EngineModel(self._graph.name, MappingProxyType(table))

    @property
    def weight_layouts(self) -> dict[str, TensorLayout]:
        """The weights that the program declares, by name."""
        return self._staged.weight_layouts

    def __copy__(self) -> CompiledCallable[P, R]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledCallable[P, R]:
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        externals = self._graph.externals.items()
        weights = {
            external.name: wrap(value.spec, array)
            for (external, value), array in zip(externals, self._hidden, strict=False)
        }
        return _unpickle, (to_bytes(self._staged, module=False), weights)

    def __repr__(self) -> str:
        sizes = len(self._executables)
        return (
            f"CompiledCallable({self._graph.name}, {len(self.in_layouts)} inputs, "
            f"{len(self._hidden)} hidden, {len(self.out_layouts)} outputs, compiled "
            f"for {sizes} set{'s' * (sizes != 1)} of sizes)"
        )

    # Other ways to use it -----------------------------------------------------------

    def execute_raw(self, *buffers: Buffer) -> list[Buffer]:
        """Runs on buffers in the order of the graph's inputs, one per shard, unchecked.

        Returns:
            One buffer per result and shard, in mesh order.

        Raises:
            ValueError: The number of buffers is wrong, or they do not fit.
        """
        tensors = join_buffers(self._graph, buffers)
        run = self._make_run([tensor._spec for tensor in tensors], list)
        results = split_arrays(run(tensors))
        write_back(self._graph, tensors, buffers)
        return results

    def collectives(self, **sizes: int) -> list[Collective]:
        """Tells which collectives XLA put into the program.

        Args:
            **sizes: The size of each symbol; may be left out after a call, which then
                tells of the last sizes compiled for.

        Returns:
            Kind, mesh axes, and bytes of the operand on each device; equal ones
            counted as one entry. Empty on one device.

        Raises:
            ValueError: A size is missing and nothing was compiled, or is no symbol.
        """
        if self._is_measured:
            raise NotImplementedError(
                f"{self._graph.name}: a program with sizes that are known at run time "
                "only is not one executable, so there is no one list of collectives. "
                "Compile the parts before and behind nonzero apart."
            )
        missing = [name for name in self._checker.symbols if name not in sizes]
        unknown = [name for name in sizes if name not in self._checker.symbols]
        if unknown or (missing and (sizes or not self._executables)):
            raise ValueError(
                f"{self._graph.name}: collectives needs the size of "
                f"{', '.join(map(repr, self._checker.symbols)) or 'no symbol'}, got "
                f"{sizes}. Name each size, as in collectives(batch=8)."
            )
        if missing:
            executable = list(self._executables.values())[-1]
        else:
            executable = self._executable({n: sizes[n] for n in self._checker.symbols})
        return find_collectives(executable.compiled.as_text() or "", self._mesh)

    def export_mef(self, path: str | PathLike[str]) -> None:
        """Writes the program to a file that :func:`load` brings back.

        The file holds the recorded program, its StableHLO for other tools, and captured
        tensors; weights are not in it. See ``docs/artifacts.md``.

        Raises:
            NotImplementedError: A static or an op of the program cannot be written.
        """
        write_artifact(path, self._staged)


def compile(
    fn: Callable[P, R],
    *,
    weights: Mapping[str, Any] | None = None,
    name: str | None = None,
    custom_extensions: Iterable[Any] = (),
    allow_subgraphs: bool = True,
    signal_devices: Iterable[Device] = (),
    is_device_graph: bool = False,
    session: object = None,
    signal_buffer_index: int | None = None,
) -> Callable[..., CompiledCallable[P, R]]:
    """Makes a function that, called with layouts, compiles ``fn`` for them.

    Works as a bare decorator. The same as :func:`stage` followed by
    :class:`CompiledCallable`.

    Args:
        fn: Takes and returns trees of tensors and statics.
        weights: Values of the weights that ``fn`` declares, by name.
        name: Name of the graph; the function's own name when None or empty.
        custom_extensions: Must be empty: there are no Mojo kernels here.
        allow_subgraphs: False makes ``as_subgraph`` call its body.
        signal_devices: Ignored; XLA synchronizes devices.
        is_device_graph: Ignored.
        session: Ignored.
        signal_buffer_index: Ignored.

    Returns:
        ``(*layouts, **layouts) -> CompiledCallable``.

    Raises:
        TypeError: ``fn`` cannot be called.
        NotImplementedError: ``custom_extensions`` is not empty.

    Source: max.experimental.compilation.compile.

    >>> from maxlite.driver import CPU
    >>> from maxlite.dtype import DType
    >>> from maxlite.sharding import TensorLayout
    >>> from maxlite.tensor import Tensor
    >>> double = compile(lambda x: x * 2)(TensorLayout(DType.float32, ["n"], CPU()))
    >>> double(Tensor([1.0, 2.0])).to_numpy().tolist()
    [2.0, 4.0]
    """
    staging = stage(
        fn,
        name=name,
        custom_extensions=custom_extensions,
        allow_subgraphs=allow_subgraphs,
        signal_devices=signal_devices,
        is_device_graph=is_device_graph,
        signal_buffer_index=signal_buffer_index,
    )

    @functools.wraps(fn)
    def compiled(*layouts: Any, **named: Any) -> CompiledCallable[P, R]:
        return CompiledCallable(staging(*layouts, **named), weights, session=session)

    return compiled


def load(
    path: str | PathLike[str], weights: Mapping[str, Any] | None = None
) -> CompiledCallable[..., Any]:
    """Brings back a program that :meth:`CompiledCallable.export_mef` wrote.

    The function's source is not needed. Nothing in the file is run but the program
    itself, and nothing is imported for it.

    Args:
        path: The file.
        weights: Tensors, numpy arrays or anything with DLPack, by name.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is no program, is damaged or newer; or a weight is missing or
            does not fit.
        ImportError: The arguments or results are of a class that is not imported.
    """
    return CompiledCallable(read_artifact(path), weights)


def _unpickle(program: bytes, weights: Mapping[str, Any]) -> CompiledCallable[..., Any]:
    return CompiledCallable(from_bytes(program), weights)
