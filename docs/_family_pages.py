"""One page per family of functions, made from the docstrings when the docs are built.

A family is a file of ``maxlite/functional`` that defines public functions. Its page is
the text on top of the file, which ends with how the family differs from the reference,
and then each function with its signature. mkdocs calls the hooks here.
"""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

from maxlite import functional

FOLDER = "functional"

_SECTION = re.compile(r"^(Args|Returns|Raises|Attributes|Yields):$")
_ENTRY = re.compile(r"^(\*{0,2}[\w., ]+): +(.*)$")
_ROLE = re.compile(r":(?:func|class|meth|attr):`~?\.?([\w.]+)`")


def family_pages() -> dict[str, str]:
    """Makes the pages.

    Returns:
        Markdown by the name of the family.
    """
    return {name: _page(module) for name, module in sorted(_families().items())}


def index_page() -> str:
    """Makes the page that leads from the name of each function to its family."""
    rows = ["# All functions", ""]
    for name in sorted(functional.__all__):
        function = getattr(functional, name)
        family = function.__module__.rpartition("._")[2]
        own = function.__name__
        if family not in _families():
            continue
        link = f"[{name}]({family}.md#{own})"
        summary = (inspect.getdoc(function) or "").partition("\n")[0]
        rows.append(f"- {link}: {_inline(summary)}")
    return "\n".join(rows) + "\n"


def on_config(config: Any) -> Any:
    """Lists the pages in the navigation: a hook of mkdocs."""
    pages = [f"{FOLDER}/{name}.md" for name in ("index", *sorted(_families()))]
    config.nav.append({"Functions by family": pages})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages to the docs: a hook of mkdocs."""
    from mkdocs.structure.files import File

    for name, text in {"index": index_page(), **family_pages()}.items():
        path = f"{FOLDER}/{name}.md"
        files.append(File.generated(config, path, content=text))
    return files


def _families() -> dict[str, ModuleType]:
    owners = {
        getattr(functional, name).__module__
        for name in functional.__all__
        if getattr(functional, name).__module__.startswith(functional.__name__)
    }
    modules = [importlib.import_module(owner) for owner in sorted(owners)]
    aliases = importlib.import_module("maxlite.functional._aliases")
    return {m.__name__.rpartition("._")[2]: m for m in (*modules, aliases)}


def _page(module: ModuleType) -> str:
    title = Path(module.__file__ or "").stem.strip("_").replace("_", " ")
    parts = [f"# {title.capitalize()}", _markdown(inspect.getdoc(module) or "")]
    for name in functional.__all__:
        function = getattr(functional, name)
        if function.__module__ == module.__name__ and function.__name__ == name:
            parts.append(_entry(name, function))
    return "\n\n".join(parts) + "\n"


def _entry(name: str, function: Any) -> str:
    signature = str(inspect.signature(function)).replace("'", "")
    if len(name + signature) > 80:
        inside, _, result = signature[1:].rpartition(") -> ")
        arguments = re.split(r", (?![^\[(]*[\])])", inside)
        lines = "".join(f"    {argument},\n" for argument in arguments)
        signature = f"(\n{lines}) -> {result}"
    code = f"```text\n{name}{signature}\n```"
    return f"## {name}\n\n{code}\n\n{_markdown(inspect.getdoc(function) or '')}"


def _markdown(docstring: str) -> str:
    """Turns Google sections into lists, examples and tables into blocks."""
    blocks: list[str] = []
    lines = docstring.split("\n")
    while lines:
        line = lines.pop(0)
        if _SECTION.match(line):
            inside = _taken(lines, lambda text: not text or text.startswith(" "))
            entries = _entries(textwrap.dedent("\n".join(inside)).strip("\n"))
            blocks.append(_inline(f"**{line}**\n\n{entries}\n"))
        elif line.startswith(">>>"):
            example = [line, *_taken(lines, bool)]
            blocks.append("```pycon\n" + "\n".join(example) + "\n```")
        elif line.startswith("==="):
            table = [line, *_taken(lines, bool)]
            blocks.append("```text\n" + "\n".join(table) + "\n```")
        else:
            blocks.append(_inline(line))
    return "\n".join(blocks).strip()


def _inline(text: str) -> str:
    return _ROLE.sub(r"`\1`", text.replace("``", "`"))


def _taken(lines: list[str], belongs: Any) -> list[str]:
    count = next((i for i, text in enumerate(lines) if not belongs(text)), len(lines))
    taken = lines[:count]
    del lines[:count]
    return taken


def _entries(text: str) -> str:
    """Writes ``name: what it is`` as items of a list; plain text stays."""
    if not _ENTRY.match(text.partition("\n")[0]):
        return text
    items: list[str] = []
    for line in text.split("\n"):
        entry = _ENTRY.match(line)
        if entry:
            items.append(f"- `{entry[1]}`: {entry[2]}")
        elif line:
            items.append(f"  {line.strip()}")
    return "\n".join(items)
