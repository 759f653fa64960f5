"""Every example in a docstring, in the README and in the docs runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
MODULES = sorted(
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for file in ROOT.glob("maxlite/**/*.py")
)

# The fence may be indented, as it is in a list.
_BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_examples_run(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page run top to bottom in one module, and print nothing amiss."""
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    text = page.read_text(encoding="utf-8")
    for block in _BLOCK.finditer(text):
        above = text.count("\n", 0, block.start(2))
        tree = ast.increment_lineno(ast.parse(_dedented(block)), above)
        exec(compile(tree, str(page), "exec"), vars(module))


def _dedented(block: re.Match[str]) -> str:
    return re.sub(f"^{block[1]}", "", block[2], flags=re.MULTILINE)


def test_blocks_are_found_in_order_and_at_any_indent() -> None:
    text = (
        "```python\na\n```\n```text\nb\n```\n- c\n  ```python\n  d:\n      e\n  ```\n"
    )
    assert [_dedented(b) for b in _BLOCK.finditer(text)] == ["a\n", "d:\n    e\n"]
