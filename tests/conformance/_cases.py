"""Conformance cases: small programs, and what the reference system answered.

Each line of a ``<topic>.jsonl`` beside this file is one case, ``{"id", "src",
"expect"}``. ``src`` runs with the names of :func:`namespace` in scope and leaves its
answer in ``out``; ``expect`` is what MAX 26.7.0 answered, in the form that
:func:`encode` gives: dtype, shape, placements and value of a tensor, a plain value, or
the class of the error.
"""

from __future__ import annotations

import importlib
import json
import math
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent

# The rooms a case may name, each with the names that it may use without the room.
ROOMS = {
    "tensor": "Tensor default_dtype default_device defaults realization_context "
    "current_realization_context RealizationState",
    "dtype": "DType",
    "driver": "CPU Accelerator Buffer",
    "sharding": "TensorLayout BufferLayout DeviceMesh DeviceMapping NamedMapping "
    "Sharded Replicated Partial Unknown auto_reshard ShardingError ConversionError",
    "compilation": "stage compile as_subgraph StagedGraph CompiledCallable",
    "graph": "TensorType BufferType DeviceRef Dim SymbolicDim StaticDim AlgebraicDim "
    "Shape",
    "functional": "",
    "nn": "",
    "realization_context": "",
    "executor": "",
    "random": "",
    "support": "",
    "testing": "",
    "validation": "",
    "custom": "",
    "tree": "",
}

# Relative tolerances, by the dtype or numpy dtype that an answer carries.
TOLERANCES = {"float64": 1e-9, "float32": 1e-5, "float16": 4e-3, "bfloat16": 2e-2}

# Raised by a name that is missing, which is no refusal.
MISSING = {"NameError", "AttributeError", "ImportError", "ModuleNotFoundError"}


@dataclass(frozen=True)
class Case:
    """One program and the answer of the reference."""

    topic: str
    id: str
    source: str = field(repr=False)
    expect: Any = field(repr=False)


@dataclass(frozen=True)
class Answer:
    """What maxlite answered: an encoded value, or the error's classes and trace."""

    value: Any = None
    raised: tuple[str, ...] = ()
    trace: str = ""


def topics() -> list[str]:
    return sorted(file.stem for file in FOLDER.glob("*.jsonl"))


def load(topic: str) -> list[Case]:
    return [
        Case(topic, row["id"], row["src"], row["expect"])
        for row in read_lines(FOLDER / f"{topic}.jsonl")
    ]


def read_lines(file: Path) -> list[dict[str, Any]]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def run(case: Case) -> Answer:
    """Runs the program; a case is about its answer, so its warnings are let pass."""
    scope = namespace()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(textwrap.dedent(case.source), case.id, "exec"), scope)
            return Answer(encode(scope["out"], scope))
    except Exception as error:
        everyday = {object, BaseException, Exception}
        classes = [c.__name__ for c in type(error).__mro__ if c not in everyday]
        return Answer(
            raised=tuple(classes) or ("Exception",), trace=traceback.format_exc()
        )


def matches(expect: Any, answer: Answer) -> bool:
    """Tells whether maxlite answered as the reference did."""
    if isinstance(expect, dict) and "raises" in expect:
        if expect["raises"] == "Exception":
            # The reference's own class is an accident, any refusal will do.
            return bool(answer.raised) and answer.raised[0] not in MISSING
        return expect["raises"] in answer.raised
    return not answer.raised and _same(expect, answer.value, TOLERANCES["float32"])


def _same(expect: Any, got: Any, tolerance: float) -> bool:
    match expect, got:
        case dict(), dict():
            dtype = str(expect.get("dtype", expect.get("numpy")))
            tolerance = TOLERANCES.get(dtype, tolerance)
            return expect.keys() == got.keys() and all(
                _same(expect[key], got[key], tolerance) for key in expect
            )
        case list(), list():
            return len(expect) == len(got) and all(
                _same(a, b, tolerance) for a, b in zip(expect, got, strict=True)
            )
        case (bool(), _) | (_, bool()):
            return expect is got
        case int() | float(), int() | float():
            return expect == got or abs(expect - got) <= tolerance * max(1, abs(expect))
        case _:
            return expect == got


def encode(value: Any, scope: dict[str, Any]) -> Any:
    """Writes an answer as JSON; ``scope`` is the namespace that it comes from."""
    if "Tensor" in scope and isinstance(value, scope["Tensor"]):
        return _encode_tensor(value, scope)
    match value:
        case dict():
            return {"dict": {str(k): encode(v, scope) for k, v in value.items()}}
        case tuple():
            return {"tuple": [encode(item, scope) for item in value]}
        case list():
            return {"list": [encode(item, scope) for item in value]}
        case np.ndarray() | np.generic():
            return {"numpy": str(value.dtype), "value": _plain(value.tolist())}
        case None | bool() | int() | float() | str():
            return {"plain": _plain(value)}
        case _ if "DType" in scope and isinstance(value, scope["DType"]):
            return {"plain": value.name}
        case _:
            return {"text": str(value)}


def _encode_tensor(tensor: Any, scope: dict[str, Any]) -> dict[str, Any]:
    encoded: dict[str, Any] = {
        "dtype": tensor.dtype.name,
        "shape": [_dim(d) for d in tensor.shape],
    }
    if tensor.is_distributed:
        mesh = tensor.mesh
        encoded["placements"] = [repr(p) for p in tensor.placements]
        encoded["mesh"] = [list(mesh.mesh_shape), list(mesh.axis_names)]
        encoded["shards"] = [[_dim(d) for d in s.shape] for s in tensor.local_shards]
        if any(isinstance(p, scope["Partial"]) for p in tensor.placements):
            tensor = tensor.materialize()
    if tensor.dtype.name.startswith(("bfloat16", "float8")):
        tensor = scope["functional"].cast(tensor, scope["DType"].float32)
    encoded["value"] = _plain(np.asarray(tensor.to_numpy()).tolist())
    return encoded


def _plain(value: Any) -> Any:
    """Lists and numbers as JSON has them: nan and infinities are spelled as text."""
    match value:
        case list():
            return [_plain(item) for item in value]
        case float() if not math.isfinite(value):
            return repr(value)
        case complex():
            return [value.real, value.imag]
        case _:
            return value


def _dim(dim: Any) -> int | str:
    try:
        return int(dim)
    except (TypeError, ValueError):
        return str(dim)


def namespace() -> dict[str, Any]:
    """Gives the names that a case may use, in a dict of its own."""
    scope: dict[str, Any] = {"np": np}
    for room, short in ROOMS.items():
        module = _room(room)
        if module is not None:
            scope[room] = module
            there = [name for name in short.split() if hasattr(module, name)]
            scope |= {name: getattr(module, name) for name in there}
    # Cases mean the tensor room's context manager by this name, and by ``rc`` the room.
    scope["rc"] = scope.pop("realization_context", None)
    if "tensor" in scope:
        scope["realization_context"] = scope["tensor"].realization_context
    scope["F"] = scope.get("functional")
    return scope | _helpers(scope) | {"raised": raised, "once": once}


def _room(name: str) -> Any:
    """Imports one room; None if maxlite has no such room."""
    try:
        return importlib.import_module(f"maxlite.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"maxlite.{name}":
            raise
        return None


def _helpers(scope: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """The short forms of cases that build tensors, meshes and layouts."""

    def tensor(data: Any, dtype: str = "float32") -> Any:
        """Makes a realized tensor on one device."""
        if dtype == "bfloat16":
            return scope["F"].cast(tensor(data), scope["DType"].bfloat16)
        return scope["Tensor"].from_dlpack(np.array(data, dtype=dtype))

    def mesh(*shape: int, names: tuple[str, ...] | None = None) -> Any:
        """Makes a mesh of CPUs, its axes x, y and z unless named."""
        devices = tuple(scope["CPU"]() for _ in range(math.prod(shape)))
        return scope["DeviceMesh"](devices, shape, names or tuple("xyz"[: len(shape)]))

    def place(t: Any, m: Any, *placements: Any) -> Any:
        """Moves a tensor onto mesh ``m``."""
        return t.to(scope["DeviceMapping"](m, placements))

    def layout(
        shape: Iterable[Any], dtype: str = "float32", m: Any = None, *placements: Any
    ) -> Any:
        """Makes a layout on the CPU, or on mesh ``m``."""
        where = scope["CPU"]()
        if m is not None:
            where = scope["DeviceMapping"](m, placements)
        return scope["TensorLayout"](getattr(scope["DType"], dtype), [*shape], where)

    def planned(function: Callable[..., Any], *layouts: Any) -> list[Any]:
        """Stages a function: each result's placements, then its shape."""
        outputs = scope["stage"](function)(*layouts).out_layouts
        return [
            [*map(repr, output.placements), [_dim(d) for d in output.shape]]
            for output in outputs
        ]

    return {
        "T": tensor,
        "mesh": mesh,
        "place": place,
        "layout": layout,
        "planned": planned,
    }


def raised(function: Callable[[], object], *needles: str) -> list[Any]:
    """The nearest built-in class of what a call raises, and which needles it names."""
    try:
        function()
    except Exception as error:
        builtin = next(c for c in type(error).__mro__ if c.__module__ == "builtins")
        return [builtin.__name__, *(needle in str(error) for needle in needles)]
    return ["nothing"]


_KEPT: dict[str, Any] = {}


def once(key: str, make: Callable[[], Any]) -> Any:
    """Calls ``make`` for the first case that asks and keeps its result for others."""
    if key not in _KEPT:
        _KEPT[key] = make()
    return _KEPT[key]
