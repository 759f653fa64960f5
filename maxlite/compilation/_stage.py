"""Staging: the user's function, run once on traced tensors, becomes a program."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from maxlite._unique import Unique
from maxlite.compilation._signature import (
    argument_name,
    flatten_layouts,
    graph_name,
    is_mutable,
    layout_spec,
    spec_layout,
)
from maxlite.compilation._warnings import warn_of_large_captures
from maxlite.graph import Graph, TensorValue
from maxlite.lowering import stablehlo_text
from maxlite.realization_context import GraphRealizationContext
from maxlite.tensor._context import realization_context
from maxlite.tensor._tensor import Tensor
from maxlite.tree import TreeDef, flatten, unflatten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from maxlite.driver import Device
    from maxlite.lowering import Executable
    from maxlite.sharding import TensorLayout

P = ParamSpec("P")
R = TypeVar("R")


class StagedGraph(Unique, Generic[P, R]):
    """A function recorded as a program, with the trees of its arguments and results.

    Making one runs ``fn`` exactly once, on traced tensors. Printing shows the StableHLO
    of the whole module, with its subgraphs.

    Args:
        fn: The function to record.
        graph: An empty graph that it is recorded into; if it declares input types,
            they are those of the layouts, one per shard.
        layouts: One per leaf of ``treedef``.
        treedef: The tree of ``(args, kwargs)``, statics inside.
        signal_device_ids: Accepted for the reference's sake; XLA synchronizes devices.
        prefix: Stands in front of the names of placeholder weights.
        subgraph_cache: Table of subgraphs; None makes ``as_subgraph`` call its body.
        signal_buffer_index: Accepted for the reference's sake.

    Attributes:
        graph: The recorded program.
        in_layouts: One per argument leaf.
        in_tree: The tree of ``(args, kwargs)``.
        out_layouts: One per result leaf; sizes may hold symbols.
        out_tree: The tree of the result.

    Raises:
        TypeError: The function reads a value, or writes to an argument that is not
            staged by ``BufferLayout``; and whatever the function itself raises.
        ValueError: The graph declares other input types.

    Source: max.experimental.compilation.StagedGraph.
    """

    def __init__(
        self,
        fn: Callable[P, R],
        graph: Graph,
        layouts: Sequence[TensorLayout],
        treedef: TreeDef,
        signal_device_ids: tuple[int, ...] = (),
        *,
        prefix: str = "",
        subgraph_cache: dict[Any, Any] | None = None,
        signal_buffer_index: int | None = None,
    ) -> None:
        self.in_tree = treedef
        _check_input_types(graph, layouts)
        graph.parameters.clear()  # declared one per shard
        ctx = GraphRealizationContext(graph, prefix=prefix)
        ctx.subgraph_cache = subgraph_cache
        arguments = [
            ctx.add_parameter(layout_spec(layout), mutable=is_mutable(layout))
            for layout in layouts
        ]
        args, kwargs = unflatten(treedef, arguments)
        body: Callable[..., Any] = fn
        with realization_context(ctx), ctx:
            result = body(*args, **kwargs)
            leaves, self.out_tree = flatten(result, leaf=Tensor)
            graph.outputs = [ctx.add_source(leaf).value for leaf in leaves]
        self._finish(graph)
        self.in_layouts = list(layouts)
        warn_of_large_captures(graph)

    def _finish(self, graph: Graph) -> None:
        self.graph = graph
        # Executables know no weights, so every binding of the program shares them.
        self.executables: dict[tuple[tuple[str, int], ...], Executable] = {}
        self.lock = threading.RLock()
        self.in_layouts = [
            spec_layout(value.spec, mutable=value.is_mutable)
            for value in graph.parameters
        ]
        self.out_layouts = [spec_layout(value.spec) for value in graph.outputs]

    @classmethod
    def from_graph(cls, graph: Graph) -> StagedGraph[..., tuple[Tensor, ...]]:
        """Makes a staged graph of a graph that was built by hand.

        It takes one tensor per input, by position, and gives a tuple of its outputs.

        Args:
            graph: Its outputs were said by ``graph.output(...)``.

        Raises:
            ValueError: They were not.

        >>> from maxlite.driver import CPU
        >>> from maxlite.dtype import DType
        >>> from maxlite.graph import TensorType
        >>> pair = TensorType(DType.float32, [2], CPU())
        >>> graph = Graph("double", lambda x: x * 2, input_types=[pair])
        >>> StagedGraph.from_graph(graph).out_layouts[0].shape
        [Dim(2)]
        """
        if not graph.is_built:
            raise ValueError(
                f"{graph.name}: the graph must have been told its outputs, got "
                f"{graph!r}. Call graph.output(...) while it is open."
            )
        inputs, outputs = tuple(graph.parameters), tuple(graph.outputs)
        _, in_tree = flatten((inputs, {}), leaf=TensorValue)
        _, out_tree = flatten(outputs, leaf=TensorValue)
        return cls.restored(graph, in_tree, out_tree)

    @classmethod
    def restored(
        cls, graph: Graph, in_tree: TreeDef, out_tree: TreeDef
    ) -> StagedGraph[..., Any]:
        """Makes a staged graph from a program that was recorded before."""
        staged: StagedGraph[..., Any] = object.__new__(cls)
        staged.in_tree, staged.out_tree = in_tree, out_tree
        staged._finish(graph)
        return staged

    @property
    def weight_layouts(self) -> dict[str, TensorLayout]:
        """The weights that the program declares, by name."""
        return {
            external.name: spec_layout(value.spec)
            for external, value in self.graph.externals.items()
        }

    @property
    def argument_names(self) -> list[str]:
        """What errors call each argument leaf: ``argument 0.weights``."""
        return [argument_name(path) for path in self.in_tree.leaf_paths]

    def __repr__(self) -> str:
        names = [path.partition(".")[2] for path in self.in_tree.leaf_paths]
        return stablehlo_text(self.graph, names, self.out_tree.leaf_paths)

    __str__ = __repr__


def _check_input_types(graph: Graph, layouts: Sequence[TensorLayout]) -> None:
    expected = [kind for layout in layouts for kind in layout.local_types]
    declared = list(graph.input_types)
    if declared and declared != expected:
        raise ValueError(
            f"StagedGraph: the graph {graph.name!r} must declare the types of the "
            f"layouts, expected {expected}, got {declared}. Leave input_types out."
        )


def stage(
    fn: Callable[P, R],
    *,
    name: str | None = None,
    custom_extensions: Iterable[Any] = (),
    allow_subgraphs: bool = True,
    signal_devices: Iterable[Device] = (),
    is_device_graph: bool = False,
    signal_buffer_index: int | None = None,
) -> Callable[..., StagedGraph[P, R]]:
    """Makes a function that, called with layouts, records ``fn`` as a program.

    Works as a bare decorator. Nothing happens until the result is called; then ``fn``
    runs once, on traced tensors. Layouts may stand anywhere in nested containers;
    everything else is a static, passed to ``fn`` as it is and kept for comparison.

    Args:
        fn: Takes and returns trees of tensors and statics.
        name: Name of the graph; the function's own name when None or empty.
        custom_extensions: Must be empty: there are no Mojo kernels here.
        allow_subgraphs: False makes ``as_subgraph`` call its body.
        signal_devices: Ignored; XLA synchronizes devices.
        is_device_graph: Ignored.
        signal_buffer_index: Ignored.

    Returns:
        ``(*layouts, **layouts) -> StagedGraph``.

    Raises:
        TypeError: ``fn`` cannot be called.
        NotImplementedError: ``custom_extensions`` is not empty.

    Source: max.experimental.compilation.stage.

    >>> from maxlite.driver import CPU
    >>> from maxlite.dtype import DType
    >>> from maxlite.sharding import TensorLayout
    >>> double = stage(lambda x: x * 2)
    >>> double(TensorLayout(DType.float32, ["n", 2], CPU())).out_layouts[0].shape
    [Dim('n'), Dim(2)]
    """
    check_callable("stage", fn)
    if tuple(custom_extensions):
        raise NotImplementedError(
            "stage: custom_extensions are packages of Mojo kernels, which do not run "
            "on XLA. Declare a JAX or Pallas function instead."
        )
    chosen = graph_name(fn, name)

    @functools.wraps(fn)
    def staged(*layouts: Any, **named: Any) -> StagedGraph[P, R]:
        flat, treedef = flatten_layouts(chosen, layouts, named)
        return StagedGraph(
            fn,
            Graph(chosen),
            flat,
            treedef,
            subgraph_cache={} if allow_subgraphs else None,
        )

    return staged


def check_callable(who: str, fn: Any) -> None:
    """Refuses what cannot be called.

    Raises:
        TypeError: It cannot.
    """
    if not callable(fn):
        raise TypeError(
            f"{who}: fn must be callable, got {type(fn).__name__}. Pass a function, a "
            "module, or any object with __call__."
        )
