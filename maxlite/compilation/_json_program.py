"""Trees and recorded programs as plain JSON, and back.

Nothing in a file is ever run: ops are looked up in the op table by name, and classes of
containers among those that the process has imported.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from maxlite._op_table import lookup
from maxlite.compilation._json_values import (
    Json,
    decode,
    encode,
    find_class,
    read_action,
    read_spec,
    write_action,
    write_spec,
)
from maxlite.graph import Graph, TensorValue
from maxlite.graph._node import Captured, External, Literal, Region, new_value
from maxlite.tree import TreeDef

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import jax

# Trees --------------------------------------------------------------------------------


def encode_tree(treedef: TreeDef) -> Json:
    """Writes the definition of a tree, statics inside.

    Raises:
        NotImplementedError: A static cannot be written.
    """
    if treedef.kind in ("namedtuple", "node"):
        meta = _write_class(treedef)
    else:
        meta = encode(treedef.meta)
    children = [encode_tree(child) for child in treedef.children]
    return [treedef.kind, children, encode(treedef.keys), meta]


def decode_tree(data: Json, *, invent: bool = False) -> TreeDef:
    """Reads what :func:`encode_tree` wrote.

    Args:
        data: The definition.
        invent: Whether a namedtuple that this process does not know becomes one with
            the same name and fields. A result may; an argument is the caller's own.

    Raises:
        ImportError: A container's class is not imported in this process.
    """
    kind, children, keys, meta = data
    is_class = kind in ("namedtuple", "node")
    read = _read_class(meta, invent) if is_class else decode(meta)
    nodes = tuple(decode_tree(child, invent=invent) for child in children)
    return TreeDef(kind, nodes, decode(keys), read)


def _write_class(treedef: TreeDef) -> Json:
    if treedef.kind == "namedtuple":
        cls, meta = treedef.meta, None
        fields = list(cls._fields)
    else:
        cls, meta = treedef.meta
        fields = None
    return [cls.__module__, cls.__qualname__, encode(meta), fields]


def _read_class(data: Json, invent: bool) -> Any:
    module, name, meta, fields = data
    found = find_class(module, name)
    if found is None and fields is not None and invent:
        return _make_namedtuple(name.rpartition(".")[2], fields)
    if found is None:
        raise ImportError(
            f"load: the program's arguments or results contain {module}.{name}, which "
            f"this process does not know. Import {module} first, or stage with dicts."
        )
    return found if fields is not None else (found, decode(meta))


_make_namedtuple: Callable[[str, list[str]], Any] = collections.namedtuple


# Graphs -------------------------------------------------------------------------------


def encode_graphs(graph: Graph) -> tuple[Json, list[jax.Array]]:
    """Writes a graph and every graph inside it.

    Returns:
        The graphs, inner ones first and the whole program last; and the captured
        arrays, which the data refer to by number.
    """
    ordered = _inner_first(graph)
    numbers = {id(region): i for i, region in enumerate(ordered)}
    arrays: list[jax.Array] = []
    return [_encode_graph(region, numbers, arrays) for region in ordered], arrays


def _inner_first(graph: Graph) -> list[Graph]:
    ordered: dict[int, Graph] = {}

    def visit(region: Graph) -> None:
        if id(region) in ordered:
            return
        for node in region.nodes:
            for param in node.params:
                if isinstance(param, Region):
                    visit(param.graph)
        ordered[id(region)] = region

    visit(graph)
    return list(ordered.values())


def _encode_graph(
    graph: Graph, graphs: Mapping[int, int], arrays: list[jax.Array]
) -> Json:
    numbers: dict[int, int] = {}

    def name(value: TensorValue) -> int:
        return numbers.setdefault(id(value), len(numbers))

    def reference(value: TensorValue) -> Json:
        if isinstance(value.origin, Literal):
            return {"literal": [encode(value.origin.value), write_spec(value.spec)]}
        return numbers[id(value)]

    def number_of(value: TensorValue) -> int:
        assert isinstance(value.origin, Captured)
        array = value.origin.array
        known = next((i for i, other in enumerate(arrays) if other is array), None)
        if known is None:
            arrays.append(array)
        return len(arrays) - 1 if known is None else known

    seed = graph.seed
    return {
        "name": graph.name,
        "externals": [
            [name(value), key.name, key.placeholder, write_spec(value.spec)]
            for key, value in graph.externals.items()
        ],
        "captures": [
            [name(value), number_of(value), write_spec(value.spec)]
            for value in graph.captures.values()
        ],
        "seed": None if seed is None else [name(seed), write_spec(seed.spec)],
        "draws": graph.draws,
        "parameters": [
            [name(value), value.is_mutable, write_spec(value.spec)]
            for value in graph.parameters
        ],
        "nodes": [
            {
                "op": node.op.name,
                "params": [encode(param, graphs) for param in node.params],
                "inputs": [reference(value) for value in node.inputs],
                "outputs": [[name(v), write_spec(v.spec)] for v in node.outputs],
                "action": None if node.action is None else write_action(node.action),
            }
            for node in graph.live_nodes()
        ],
        "outputs": [reference(value) for value in graph.outputs],
        "writes": [[i, reference(value)] for i, value in graph.writes.items()],
    }


def decode_graphs(data: Json, arrays: Sequence[jax.Array]) -> Graph:
    """Reads what :func:`encode_graphs` wrote and gives the whole program.

    Raises:
        ValueError: An op is not in this version's table.
    """
    graphs: list[Graph] = []
    for item in data:
        graphs.append(_decode_graph(item, graphs, arrays))
    return graphs[-1]


def _decode_graph(
    data: Json, graphs: Sequence[Graph], arrays: Sequence[jax.Array]
) -> Graph:
    graph = Graph(data["name"])
    where: Sequence[Any] = arrays
    values: dict[int, TensorValue] = {}

    def value_of(reference: Json) -> TensorValue:
        if reference.__class__ is dict:
            number, described = reference["literal"]
            return new_value(read_spec(described), Literal(decode(number)))
        return values[reference]

    for key, name, placeholder, described in data["externals"]:
        external = External(name, placeholder)
        values[key] = graph.add_external(external, read_spec(described))
    for key, number, described in data["captures"]:
        values[key] = graph.capture(where[number], read_spec(described))
    if data.get("seed"):
        key, described = data["seed"]
        values[key], _ = graph.draw(read_spec(described), data["draws"])
    for key, mutable, described in data["parameters"]:
        values[key] = graph.add_parameter(read_spec(described), mutable=mutable)
    for node in data["nodes"]:
        made = graph.append(
            lookup(node["op"]),
            tuple(decode(param, graphs) for param in node["params"]),
            tuple(value_of(reference) for reference in node["inputs"]),
            [read_spec(described) for _, described in node["outputs"]],
            None if node["action"] is None else read_action(node["action"]),
        )
        for (key, _), value in zip(node["outputs"], made, strict=True):
            values[key] = value
    graph.outputs = [value_of(reference) for reference in data["outputs"]]
    graph.writes = {i: value_of(reference) for i, reference in data["writes"]}
    return graph
