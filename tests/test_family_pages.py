"""Every function has its place on a page that is made from the docstrings."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from maxlite import functional as F

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def made() -> Any:
    path = ROOT / "docs" / "_family_pages.py"
    found = importlib.util.spec_from_file_location("family_pages", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_each_function_is_on_one_page(made: Any) -> None:
    pages = made.family_pages()
    titles = [
        t for text in pages.values() for t in re.findall(r"^## (\w+)$", text, re.M)
    ]
    assert len(titles) == len(set(titles))
    own = {
        name
        for name in F.__all__
        if getattr(F, name).__name__ == name
        and getattr(F, name).__module__.startswith("maxlite.functional")
    }
    assert set(titles) == own
    listed = pages["aliases"]
    others = set(F.__all__) - own - {"ensure_context", "in_graph_context", "lazy"}
    assert {name for name in others if f"`{name}`" not in listed} == set()


def test_the_index_leads_from_each_name_to_its_page(made: Any) -> None:
    pages, index = made.family_pages(), made.index_page()
    links = dict(re.findall(r"^- \[(\w+)\]\((\w+\.md#\w+)\): \w", index, re.M))
    assert set(F.__all__) - {"ensure_context", "in_graph_context", "lazy"} == set(links)
    for link in links.values():
        family, _, title = link.partition(".md#")
        assert f"## {title}\n" in pages[family], link
    assert links["clip"].endswith("#clamp")


def test_a_docstring_becomes_markdown(made: Any) -> None:
    text = made._markdown(
        "Adds up; see :func:`mean`.\n\nArgs:\n    x: Any ``shape``.\n    axis: Which\n"
        "        one.\n\nReturns:\n    A sum.\n\nSource: ours.\n\n>>> 1 + 1\n2"
    )
    assert text == (
        "Adds up; see `mean`.\n\n**Args:**\n\n- `x`: Any `shape`.\n- `axis`: Which\n"
        "  one.\n\n**Returns:**\n\nA sum.\n\n"
        "Source: ours.\n\n```pycon\n>>> 1 + 1\n2\n```"
    )


def test_pages_say_how_a_family_differs(made: Any) -> None:
    pages = made.family_pages()
    assert "Differs from the reference:" in pages["random"]
    assert "Beyond the reference:" in pages["nonzero"]
    assert all(text.startswith("# ") for text in pages.values())
