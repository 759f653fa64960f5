"""The shape of the package: who may import whom, and how long a file may be.

The rules read the imports off the source with ``ast``, and nothing is run. Each rule is
a function from modules to the violations that it finds; it is tried on an invented
package with one violation, and then on maxlite.
"""

from __future__ import annotations

import ast
import graphlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "maxlite"

# A room imports only from rooms before it; inside a room any order without a circle.
ROOMS = [
    "_errors",
    "_names",
    "_frames",
    "_signals",
    "_jax_compat",
    "_fork",
    "_programs",
    "_unique",
    "_processes",
    "_backend",
    "_caches",
    "support",
    "tree",
    "_op_table",
    "dtype",
    "_custom_registry",
    "driver",
    "graph",
    "sharding",
    "lowering",
    "executor",
    "tensor",
    "realization_context",
    "functional",
    "graph.ops",
    "random",
    "custom",
    "compilation",
    "transforms",
    "nn",
    "interop",
    "distributed",
    "testing",
    "validation",
    "debug",
    "__init__",
    "_migration",
    "__main__",
]

FRONT_DOORS = {"__init__", "_migration", "__main__"}
"""Rooms that may import the root, and others late."""

JAX_DOOR = "maxlite._jax_compat"
"""The one module that may import JAX's private ones."""

MOST_LINES = 500


@dataclass(frozen=True)
class Import:
    """One own or foreign module that a statement imports."""

    target: str
    line: int
    late: bool = False
    """It runs when a function is called, not when the module is imported."""
    root: bool = False
    """It binds the package itself, or takes a name from it."""

    @property
    def own(self) -> bool:
        return _is_below(self.target, "maxlite")


@dataclass(frozen=True)
class Module:
    """One file, and what it imports at run time; for type checking only is free."""

    name: str
    source: str = field(repr=False)
    imports: tuple[Import, ...] = field(repr=False)

    @property
    def room(self) -> str:
        return _room(self.name)

    def at(self, line: int, what: str) -> str:
        return f"{self.name}:{line} {what}"


Modules = dict[str, Module]


class _Reader(ast.NodeVisitor):
    """Collects the imports of one file."""

    def __init__(self, package: str, names: set[str]) -> None:
        self.package = package
        self.names = names
        self.found: list[Import] = []
        self.late = False

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for statement in node.orelse:
                self.visit(statement)
        else:
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.AST) -> None:
        outer, self.late = self.late, True
        self.generic_visit(node)
        self.late = outer

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            binds_root = alias.name == "maxlite" or alias.asname is None
            self.add(alias.name, node.lineno, root=binds_root)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        written = "." * node.level + (node.module or "")
        source = importlib.util.resolve_name(written, self.package)
        for alias in node.names:
            inner = f"{source}.{alias.name}"
            known = inner in self.names or not _is_below(source, "maxlite")
            target = inner if known else source
            self.add(target, node.lineno, root=source == "maxlite")

    def visit_Call(self, node: ast.Call) -> None:
        called = ast.unparse(node.func).rpartition(".")[2]
        if called in ("import_module", "__import__") and node.args:
            name = ast.unparse(node.args[0]).lstrip("f").strip("'\"")
            if _is_below(name, "maxlite"):
                self.found.append(Import(name, node.lineno, late=True))
        self.generic_visit(node)

    def add(self, target: str, line: int, root: bool) -> None:
        root = root and _is_below(target, "maxlite")
        self.found.append(Import(target, line, self.late, root))


def read(sources: dict[str, str]) -> Modules:
    """Reads a package given as source text by module name."""
    modules: Modules = {}
    for name, source in sources.items():
        is_package = any(_is_below(other, name) and other != name for other in sources)
        package = name if is_package else name.rpartition(".")[0]
        reader = _Reader(package, set(sources))
        reader.visit(ast.parse(source))
        modules[name] = Module(name, source, tuple(reader.found))
    return modules


def _is_below(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _room(name: str) -> str:
    parts = name.split(".")
    inner = ".".join(parts[1:3])
    return inner if inner in ROOMS else parts[1] if len(parts) > 1 else "__init__"


def _packages_around(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


def _own_imports(modules: Modules) -> Iterator[tuple[Module, Import]]:
    for module in modules.values():
        for found in module.imports:
            if found.own:
                yield module, found


# ----------------------------------------------------------------------- the rules


def root_imports(modules: Modules) -> list[str]:
    return [
        module.at(found.line, "imports from the root")
        for module, found in _own_imports(modules)
        if found.root and module.room not in FRONT_DOORS
    ]


def hidden_imports(modules: Modules) -> list[str]:
    return [
        module.at(found.line, f"hides the import of {found.target}")
        for module, found in _own_imports(modules)
        if found.late and module.room not in FRONT_DOORS
    ]


def order(modules: Modules) -> list[str]:
    strangers = [
        m.at(1, "is in no room") for m in modules.values() if m.room not in ROOMS
    ]
    return strangers + [
        module.at(found.line, f"imports {found.target}, which comes later")
        for module, found in _own_imports(modules)
        if module.room in ROOMS
        and _room(found.target) in ROOMS[ROOMS.index(module.room) + 1 :]
        and not found.root
    ]


def circles(modules: Modules) -> list[str]:
    """Gives the first circle of files, if there is one.

    An import also runs the packages around its target, but for those of the importer.
    """
    graph: dict[str, set[str]] = {name: set() for name in modules}
    for module, found in _own_imports(modules):
        if not found.late:
            entered = {*_packages_around(found.target)}
            entered -= {module.name, *_packages_around(module.name)}
            graph[module.name] |= {found.target, *entered}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return [" <- ".join(error.args[1])]
    return []


def private_jax(modules: Modules) -> list[str]:
    imported = [
        module.at(found.line, "imports jax._src")
        for module in modules.values()
        for found in module.imports
        if _is_below(found.target, "jax._src") and module.name != JAX_DOOR
    ]
    return imported + [
        module.at(node.lineno, "reads jax._src")
        for module in modules.values()
        for node in ast.walk(ast.parse(module.source))
        if isinstance(node, ast.Attribute)
        and ast.unparse(node) == "jax._src"
        and module.name != JAX_DOOR
    ]


def long_files(modules: Modules) -> list[str]:
    counts = {name: len(m.source.splitlines()) for name, m in modules.items()}
    return [f"{name} has {n} lines" for name, n in counts.items() if n > MOST_LINES]


# ----------------------------------------------------------------------- the tests


def _maxlite() -> Modules:
    sources: dict[str, str] = {}
    for file in sorted(ROOT.rglob("*.py")):
        parts = ["maxlite", *file.relative_to(ROOT).with_suffix("").parts]
        name = ".".join(parts).removesuffix(".__init__")
        sources[name] = file.read_text(encoding="utf-8")
    return read(sources)


MAXLITE = _maxlite()

Rule = Callable[[Modules], list[str]]

VIOLATIONS: list[tuple[Rule, dict[str, str]]] = [
    (root_imports, {"maxlite.tree": "import maxlite"}),
    (root_imports, {"maxlite.tree": "import maxlite.support"}),
    (root_imports, {"maxlite.tree": "from maxlite import Tensor"}),
    (root_imports, {"maxlite.tree": "from . import Tensor"}),
    (hidden_imports, {"maxlite.tree": "def f():\n    import maxlite.support as s"}),
    (hidden_imports, {"maxlite.tree": "def f():\n    from .support import g"}),
    (hidden_imports, {"maxlite.tree": "import_module('maxlite.support')"}),
    (hidden_imports, {"maxlite.tree": "f = lambda n: import_module(f'maxlite.{n}')"}),
    (order, {"maxlite.tree": "from maxlite.graph import Dim"}),
    (order, {"maxlite.tree": "import maxlite.graph._dim as d"}),
    (order, {"maxlite.cellar": ""}),
    (circles, {"maxlite.a": "import maxlite.b as b", "maxlite.b": "import maxlite.a"}),
    (circles, {"maxlite.a": "from . import _b", "maxlite.a._b": "import maxlite.a"}),
    (
        circles,
        {
            "maxlite.a": "import maxlite.b.c as c",
            "maxlite.b": "import maxlite.a as a",
            "maxlite.b.c": "",
        },
    ),
    (private_jax, {"maxlite.tree": "from jax._src import core"}),
    (private_jax, {"maxlite.tree": "import jax\njax._src.core"}),
    (private_jax, {"maxlite.tree": "from jax import _src"}),
    (private_jax, {"maxlite.tree": "def f():\n    import jax._src.core as core"}),
    (long_files, {"maxlite.tree": "\n" * 501}),
]

LAWFUL = {
    "maxlite": "from maxlite.tree import f",
    "maxlite.support": "import jax",
    "maxlite.tree": "from maxlite.tree import _a\nfrom maxlite.tree._b import g",
    "maxlite.tree._a": "from maxlite.tree._b import g\nimport maxlite.support as s",
    "maxlite.tree._b": "from typing import TYPE_CHECKING\n"
    "if TYPE_CHECKING:\n    from maxlite.graph import Dim\n"
    "def f(name):\n    import torch\n    return import_module(name)",
    "maxlite._jax_compat": "from jax._src import core",
    "maxlite._migration": "import maxlite\nimport_module('maxlite.tree')",
}

RULES: list[Rule] = list(dict.fromkeys(rule for rule, _ in VIOLATIONS))


@pytest.mark.parametrize("rule", RULES)
def test_maxlite_keeps(rule: Rule) -> None:
    found = rule(MAXLITE)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("rule", "sources"), VIOLATIONS)
def test_a_violation_is_found(rule: Rule, sources: dict[str, str]) -> None:
    assert len(rule(read(sources))) == 1


@pytest.mark.parametrize("rule", RULES)
def test_a_lawful_package_passes(rule: Rule) -> None:
    assert rule(read(LAWFUL)) == []


def test_each_room_stands_once_in_the_order() -> None:
    assert len(set(ROOMS)) == len(ROOMS)
