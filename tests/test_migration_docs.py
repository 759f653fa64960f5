"""What the docs say is missing is missing, and nothing else that they name is."""

import re
from pathlib import Path

from maxlite import functional

DOCS = Path(__file__).parents[1] / "docs"


def test_the_listed_functions_are_missing():
    text = (DOCS / "from_max.md").read_text()
    (listed,) = re.findall(r"```text missing\n(.*?)```", text, re.DOTALL)
    assert [name for name in listed.split() if hasattr(functional, name)] == []


def test_every_function_that_docs_and_messages_name_exists():
    sources = [*DOCS.glob("*.md"), DOCS.parent / "README.md"]
    sources += (DOCS.parent / "maxlite").rglob("*.py")
    named = {
        (source.name, name)
        for source in sources
        for name in re.findall(r"\bF\.([a-z_0-9]+)", source.read_text())
    }
    assert {
        (source, name) for source, name in named if not hasattr(functional, name)
    } == set()
