"""Static values as plain JSON, and back.

Every value that is no JSON value of its own becomes a one-entry object whose key says
its kind.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from maxlite._custom_registry import Declaration, restored
from maxlite.driver import CPU, Accelerator
from maxlite.dtype import DType
from maxlite.graph import Dim, Graph, Shape
from maxlite.graph._node import Region
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

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


def write_spec(described: Spec) -> Json:
    """Writes a spec."""
    return [
        described.dtype.name,
        encode(described.shape),
        _write_mapping(described.mapping),
        described.literal,
    ]


def read_spec(data: Json) -> Spec:
    """Reads a spec."""
    dtype, shape, mapping, literal = data
    where = _read_mapping(mapping)
    return spec(DType[dtype], decode(shape), where, literal=bool(literal))


def write_action(action: Action) -> Json:
    """Writes the placements chosen for a node."""
    return [encode(action.needed), encode(action.outputs), action.moved]


def read_action(data: Json) -> Action:
    """Reads the placements chosen for a node."""
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
    return find_class(module, name)


_KINDS: dict[str, tuple[type[Any], Callable[[Any], Json], Callable[[Json], Any]]] = {
    "dtype": (DType, lambda dtype: dtype.name, lambda name: DType[name]),
    "dim": (Dim, _write_dim, _read_dim),
    "shape": (Shape, lambda shape: encode(tuple(shape)), lambda d: Shape(decode(d))),
    "class": (type, _write_known_class, _read_known_class),
    "placement": (Placement, _write_placement, _read_placement),
    "mapping": (DeviceMapping, _write_mapping, _read_mapping),
    "spec": (Spec, write_spec, read_spec),
    "action": (Action, write_action, read_action),
    "custom": (Declaration, lambda declaration: declaration.name, restored),
}


def find_class(module: str, name: str) -> Any:
    """Finds a class by the module and name it was defined under, or gives None.

    Only modules that are imported already are looked at: importing runs code, and a
    file must not choose which.
    """
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None
