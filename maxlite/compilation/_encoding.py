"""Recorded programs and trees as plain JSON values, and back.

Every value that is no JSON value of its own becomes a one-entry object whose key says
its kind. Nothing in a file is ever run: ops are looked up in the op table by name, and
classes are only imported for containers that the user's own tree is made of.
"""

from __future__ import annotations

import collections
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from maxlite._op_table import lookup
from maxlite.driver import CPU, Accelerator
from maxlite.dtype import DType
from maxlite.graph import Dim, Graph, Shape, TensorValue
from maxlite.graph._graph import Captured, External, Literal, Region
from maxlite.graph._polynomial import Polynomial, Quotient
from maxlite.graph._spec import Spec, spec
from maxlite.sharding import (
    DeviceMapping,
    DeviceMesh,
    Partial,
    Placement,
    Replicated,
    Sharded,
    Unknown,
)
from maxlite.sharding._action import Action
from maxlite.tree import TreeDef

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import jax

    from maxlite.driver import Device

Json = Any
"""What ``json`` reads and writes."""

_KNOWN_MODULES = ("builtins", "collections")
"""Modules of the classes that containers are made with: OrderedDict, int, list."""

_PLACEMENTS: dict[str, type[Any]] = {
    "R": Replicated,
    "P": Partial,
    "U": Unknown,
}


# Values -------------------------------------------------------------------------------


def encode(value: Any, graphs: Mapping[int, int] | None = None) -> Json:
    """Writes a static value.

    Args:
        value: Numbers, strings, None, dtypes, dims, placements, mappings, and tuples,
            lists and dicts of these.
        graphs: Numbers of the graphs that values may refer to, by identity.

    Raises:
        NotImplementedError: Any other kind of value.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if type(value) in (tuple, list):
        items = cast("list[Any] | tuple[Any, ...]", value)
        return {type(value).__name__: [encode(item, graphs) for item in items]}
    if type(value) is dict:
        pairs = cast("dict[Any, Any]", value).items()
        return {"dict": [[encode(k, graphs), encode(v, graphs)] for k, v in pairs]}
    if isinstance(value, Region):
        assert graphs is not None
        return {"region": [graphs[id(value.graph)], encode(value.bindings)]}
    for kind, (cls, write, _) in _KINDS.items():
        if isinstance(value, cls):
            return {kind: write(value)}
    raise NotImplementedError(
        f"export: a value of type {type(value).__name__} cannot be written to a file. "
        "Use numbers, strings, None, dtypes, dims and containers of them."
    )


def decode(data: Json, graphs: Sequence[Graph] = ()) -> Any:
    """Reads what :func:`encode` wrote.

    Raises:
        ValueError: The data are not of that form.
    """
    if data.__class__ is not dict:
        return data
    kind: str
    content: Any
    ((kind, content),) = data.items()
    match kind:
        case "float":
            return float.fromhex(content)
        case "tuple":
            return tuple(decode(item, graphs) for item in content)
        case "list":
            return [decode(item, graphs) for item in content]
        case "dict":
            return {decode(k, graphs): decode(v, graphs) for k, v in content}
        case "region":
            number, bindings = content
            return Region(graphs[int(number)], decode(bindings))
        case _:
            return _KINDS[kind][2](content)


def _write_dim(dim: Dim) -> Json:
    return _write_terms(dim.terms)


def _write_terms(terms: Polynomial) -> Json:
    return [
        [
            coefficient,
            [
                {"//": [_write_terms(atom.numerator), _write_terms(atom.denominator)]}
                if isinstance(atom, Quotient)
                else atom
                for atom in monomial
            ],
        ]
        for monomial, coefficient in terms
    ]


def _read_dim(terms: Json) -> Dim:
    total = Dim(0)
    for coefficient, atoms in terms:
        product = Dim(int(coefficient))
        for atom in atoms:
            if isinstance(atom, dict):
                top, bottom = cast("dict[str, Any]", atom)["//"]
                product = product * (_read_dim(top) // _read_dim(bottom))
            else:
                product = product * Dim(str(atom))
        total = total + product
    return total


def _write_placement(placement: Placement) -> Json:
    if isinstance(placement, Sharded):
        return placement.axis
    return next(k for k, cls in _PLACEMENTS.items() if type(placement) is cls)


def _read_placement(data: Json) -> Placement:
    return Sharded(data) if isinstance(data, int) else _PLACEMENTS[data]()


def _write_mapping(mapping: DeviceMapping) -> Json:
    mesh = mapping.mesh
    return {
        "devices": [[device.label, device.id] for device in mesh.devices],
        "shape": list(mesh.mesh_shape),
        "axes": list(mesh.axis_names),
        "placements": [_write_placement(p) for p in mapping.placements],
    }


def _read_mapping(data: Json) -> DeviceMapping:
    mesh = DeviceMesh(
        tuple(_read_device(label, number) for label, number in data["devices"]),
        tuple(data["shape"]),
        tuple(data["axes"]),
    )
    return DeviceMapping(mesh, tuple(_read_placement(p) for p in data["placements"]))


def _read_device(label: str, number: int) -> Device:
    return CPU(number) if label == "cpu" else Accelerator(number)


def _write_spec(described: Spec) -> Json:
    return [
        described.dtype.name,
        encode(described.shape),
        _write_mapping(described.mapping),
        described.literal,
    ]


def _read_spec(data: Json) -> Spec:
    dtype, shape, mapping, literal = data
    where = _read_mapping(mapping)
    return spec(DType[dtype], decode(shape), where, literal=bool(literal))


def _write_action(action: Action) -> Json:
    return [encode(action.needed), encode(action.outputs), action.moved]


def _read_action(data: Json) -> Action:
    return Action(decode(data[0]), decode(data[1]), data[2])


def _write_known_class(cls: type[Any]) -> Json:
    if cls.__module__ not in _KNOWN_MODULES:
        raise NotImplementedError(
            f"export: the class {cls.__module__}.{cls.__qualname__} cannot be written "
            "to a file. Pass a name or a number in its place."
        )
    return [cls.__module__, cls.__qualname__]


def _read_known_class(data: Json) -> Any:
    module, name = data
    if module not in _KNOWN_MODULES:
        raise ValueError(f"a class of module {module} is not expected in a program")
    return _find_class(module, name)


_KINDS: dict[str, tuple[type[Any], Callable[[Any], Json], Callable[[Json], Any]]] = {
    "dtype": (DType, lambda dtype: dtype.name, lambda name: DType[name]),
    "dim": (Dim, _write_dim, _read_dim),
    "shape": (Shape, lambda shape: encode(tuple(shape)), lambda d: Shape(decode(d))),
    "class": (type, _write_known_class, _read_known_class),
    "placement": (Placement, _write_placement, _read_placement),
    "mapping": (DeviceMapping, _write_mapping, _read_mapping),
    "spec": (Spec, _write_spec, _read_spec),
    "action": (Action, _write_action, _read_action),
}


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


def decode_tree(data: Json) -> TreeDef:
    """Reads what :func:`encode_tree` wrote.

    Raises:
        ImportError: A container's class cannot be imported in this process.
    """
    kind, children, keys, meta = data
    read = _read_class(meta) if kind in ("namedtuple", "node") else decode(meta)
    nodes = tuple(decode_tree(child) for child in children)
    return TreeDef(kind, nodes, decode(keys), read)


def _write_class(treedef: TreeDef) -> Json:
    if treedef.kind == "namedtuple":
        cls, meta = treedef.meta, None
        fields = list(cls._fields)
    else:
        cls, meta = treedef.meta
        fields = None
    return [cls.__module__, cls.__qualname__, encode(meta), fields]


def _read_class(data: Json) -> Any:
    module, name, meta, fields = data
    found = _find_class(module, name)
    if fields is not None:
        # A namedtuple is its fields: one like it will do where its class is unknown.
        return found or _make_namedtuple(name.rpartition(".")[2], fields)
    if found is None:
        raise ImportError(
            f"load: the program's arguments or results contain {module}.{name}, which "
            "cannot be imported here. Make that class importable, or stage with dicts."
        )
    return found, decode(meta)


_make_namedtuple: Callable[[str, list[str]], Any] = collections.namedtuple


def _find_class(module: str, name: str) -> Any:
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    return found if isinstance(found, type) else None


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
            return {"literal": [encode(value.origin.value), _write_spec(value.spec)]}
        return numbers[id(value)]

    def number_of(value: TensorValue) -> int:
        assert isinstance(value.origin, Captured)
        array = value.origin.array
        known = next((i for i, other in enumerate(arrays) if other is array), None)
        if known is None:
            arrays.append(array)
        return len(arrays) - 1 if known is None else known

    return {
        "name": graph.name,
        "externals": [
            [name(value), key.name, key.placeholder, _write_spec(value.spec)]
            for key, value in graph.externals.items()
        ],
        "captures": [
            [name(value), number_of(value), _write_spec(value.spec)]
            for value in graph.captures.values()
        ],
        "parameters": [
            [name(value), value.is_mutable, _write_spec(value.spec)]
            for value in graph.parameters
        ],
        "nodes": [
            {
                "op": node.op.name,
                "params": [encode(param, graphs) for param in node.params],
                "inputs": [reference(value) for value in node.inputs],
                "outputs": [[name(v), _write_spec(v.spec)] for v in node.outputs],
                "action": None if node.action is None else _write_action(node.action),
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
            return TensorValue(_read_spec(described), Literal(decode(number)))
        return values[reference]

    for key, name, placeholder, described in data["externals"]:
        external = External(name, placeholder)
        values[key] = graph.add_external(external, _read_spec(described))
    for key, number, described in data["captures"]:
        values[key] = graph.capture(where[number], _read_spec(described))
    for key, mutable, described in data["parameters"]:
        values[key] = graph.add_parameter(_read_spec(described), mutable=mutable)
    for node in data["nodes"]:
        made = graph.append(
            lookup(node["op"]),
            tuple(decode(param, graphs) for param in node["params"]),
            tuple(value_of(reference) for reference in node["inputs"]),
            [_read_spec(described) for _, described in node["outputs"]],
            None if node["action"] is None else _read_action(node["action"]),
        )
        for (key, _), value in zip(node["outputs"], made, strict=True):
            values[key] = value
    graph.outputs = [value_of(reference) for reference in data["outputs"]]
    graph.writes = {i: value_of(reference) for i, reference in data["writes"]}
    return graph
