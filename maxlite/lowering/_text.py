"""The StableHLO of a recorded program, for people to read.

Named sizes stay symbolic. Inputs carry their names as attributes, weights included,
and source locations are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jax.interpreters import mlir

from maxlite._backend import lowering_scope
from maxlite.lowering._program import argument_shapes, program_mesh, staged_function
from maxlite.lowering._symbolic import example_sizes, symbolic_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.graph import Graph


def stablehlo_text(
    graph: Graph, parameter_names: Sequence[str], output_names: Sequence[str]
) -> str:
    """Writes the module of a program, its subgraphs as private functions.

    Where JAX cannot lower an op at symbolic sizes, example sizes stand in for them, and
    a comment on top says so.

    Args:
        graph: The recorded program.
        parameter_names: One per parameter.
        output_names: One per output.
    """
    names = [*_hidden_names(graph), *parameter_names]
    try:
        module = _module(graph, symbolic_sizes(graph))
        head = ""
    except Exception as error:
        sizes = example_sizes(graph)
        if not sizes:
            raise
        module = _module(graph, sizes)
        head = _sizes_comment(sizes, error)
    written = [f"{parameter_names[i]} (written)" for i in sorted(graph.writes)]
    _annotate(module, names, [*output_names, *written])
    return head + module.operation.get_asm(enable_debug_info=False)


def _module(graph: Graph, sizes: Mapping[str, Any]) -> Any:
    mesh = program_mesh(graph)
    function = staged_function(graph, sizes, mesh, for_reading=True)
    with lowering_scope():
        lowered = function.lower(*argument_shapes(graph, sizes))
    return lowered.compiler_ir("stablehlo")


def _sizes_comment(sizes: Mapping[str, int], error: Exception) -> str:
    shown = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    reason = str(error).strip().partition("\n")[0]
    return f"// Shown at {shown}: JAX cannot lower symbolic sizes here ({reason}).\n"


def _hidden_names(graph: Graph) -> list[str]:
    names = [external.name for external in graph.externals]
    names += [f"captured.{i}" for i in range(len(graph.captures))]
    return names if graph.seed is None else [*names, "seed"]


def _annotate(
    module: Any, input_names: Sequence[str], output_names: Sequence[str]
) -> None:
    """Writes names of inputs and outputs into the main function's attributes."""
    main = next(op for op in module.body.operations if _symbol(op) == "main")
    arguments = list(main.attributes["arg_attrs"])
    # What stands in front of the inputs are the sizes that symbols stand for.
    first = len(arguments) - len(input_names)
    for i, name in enumerate(input_names):
        arguments[first + i] = _with(arguments[first + i], "maxlite.name", name)
    results = list(main.attributes["res_attrs"])
    # A program that prints gives back a token first.
    first = len(results) - len(output_names)
    for i, name in enumerate(output_names):
        results[first + i] = _with(
            results[first + i], "jax.result_info", name or "result"
        )
    with module.context:
        main.attributes["arg_attrs"] = mlir.ir.ArrayAttr.get(arguments)
        main.attributes["res_attrs"] = mlir.ir.ArrayAttr.get(results)


def _symbol(operation: Any) -> str:
    attributes = operation.attributes
    return str(attributes["sym_name"].value) if "sym_name" in attributes else ""


def _with(attributes: Any, key: str, value: str) -> Any:
    known: dict[str, Any] = {item.name: item.attr for item in attributes}
    with attributes.context:
        known[key] = mlir.ir.StringAttr.get(value)
        return mlir.ir.DictAttr.get(known)
