"""What a public module exports is listed, sorted and documented.

A module is public when no part of its name starts with an underscore. A room's
``__init__`` exports what it imports from the room; a file exports what it defines.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import itertools
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


def _module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


FILES = {_module_name(file): file for file in sorted(ROOT.glob("maxlite/**/*.py"))}
PUBLIC = [name for name in FILES if "._" not in name]


@functools.cache
def _statements(name: str) -> list[ast.stmt]:
    return ast.parse(FILES[name].read_text(encoding="utf-8")).body


def _assigned(node: ast.stmt) -> list[str]:
    match node:
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id)):
            return [id]
        case _:
            return []


def _defined(name: str) -> set[str]:
    """Public names that a module defines itself."""
    found: set[str] = set()
    for node in _statements(name):
        found.update(_assigned(node))
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
    return {name for name in found if not name.startswith("_")}


def _taken(name: str) -> set[str]:
    """Public names that a module imports from maxlite."""
    return {
        alias.asname or alias.name
        for node in _statements(name)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("maxlite")
        for alias in node.names
        if not (alias.asname or alias.name).startswith("_")
    }


@functools.cache
def _described_constants() -> set[str]:
    """Names that are assigned somewhere and have a text below them."""
    found: set[str] = set()
    for name in FILES:
        for node, below in itertools.pairwise(_statements(name)):
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                found.update(_assigned(node))
    return found


def _order(name: str) -> tuple[int, list[tuple[int, str]]]:
    """Constants, then classes, then the rest: the order that ruff gives ``__all__``.

    Numbers in names count as numbers: ``log1p``, ``log2``, ``log10``.
    """
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    return kind, [
        (int(part) if part.isdigit() else -1, part) for part in re.split(r"(\d+)", name)
    ]


@pytest.mark.parametrize("name", PUBLIC)
def test_all_lists_what_a_module_exports(name: str) -> None:
    listed = importlib.import_module(name).__all__
    assert listed == sorted(set(listed), key=_order)
    public = {name for name in listed if not name.startswith("__")}
    if FILES[name].name == "__init__.py":
        assert public == _defined(name) | _taken(name)
    else:
        assert _defined(name) <= public <= _defined(name) | _taken(name)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_export_is_there_and_documented(name: str) -> None:
    module = importlib.import_module(name)
    assert inspect.getdoc(module)
    exports = {key: getattr(module, key) for key in module.__all__}
    described = _described_constants()
    assert [
        key
        for key, value in exports.items()
        if not key.startswith("__") and not _is_documented(key, value, described)
    ] == []


def _is_documented(key: str, value: object, described: set[str]) -> bool:
    if isinstance(value, type | ModuleType) or inspect.isroutine(value):
        return bool(value.__doc__)
    return key in described
