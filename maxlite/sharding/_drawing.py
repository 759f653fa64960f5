"""What ``visualize`` draws, as data, and how it looks as text.

A :class:`Drawing` is one tensor or mesh: *blocks*, a grid with one cell per distinct
part, beside a *tree* that goes down the mesh axis by axis to each device. A
:class:`Table` is many tensors, a line each.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count, zip_longest
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Cell: TypeAlias = tuple[str, str]
"""Who holds a part of the tensor, and which part that is."""

Grid: TypeAlias = "Sequence[Sequence[Cell]]"

_GAP = "   "
_PAINTS = (117, 216, 150, 183, 222, 115, 211, 153, 186, 174, 147, 181)
"""Pale colours of the 256 that terminals know, for parts beside one another."""

_RESET = "\x1b[0m"


@dataclass(frozen=True)
class Drawing:
    """One tensor, or a mesh.

    Attributes:
        heading: The first line.
        grid: Rows of cells; empty when the parts do not lie flat.
        branches: Lines of the tree.
    """

    heading: str
    grid: Grid
    branches: Sequence[str]

    @property
    def parts(self) -> dict[str, int]:
        """Numbers the distinct parts, which have a colour each."""
        found = dict.fromkeys(part for row in self.grid for _, part in row)
        return dict(zip(found, count(), strict=False))

    def text(self, *, colors: bool = False) -> str:
        """Draws with lines of text, and paints the parts of a terminal's background."""
        parts = self.parts if colors else {}
        left = _grid_lines(self.grid, parts) if self.grid else []
        width = len(_grid_lines(self.grid[:1], {})[0]) if self.grid else 0
        right = [_painted_branch(line, parts) for line in self.branches]
        return "\n".join([self.heading, *_side_by_side(left, right, width)])


@dataclass(frozen=True)
class Line:
    """One tensor of several.

    Attributes:
        path: Where it stands in the tree.
        kind: Dtype and shape.
        placements: How it lies: mesh axis and placement in short, for each mesh axis.
        size: Bytes on the device that holds most of it; empty when that is not known.
    """

    path: str
    kind: str
    placements: Sequence[tuple[str, str]]
    size: str


@dataclass(frozen=True)
class Section:
    """The tensors of one mesh, below a heading."""

    heading: str
    lines: Sequence[Line]


@dataclass(frozen=True)
class Table:
    """Many tensors; a section for each mesh."""

    heading: str
    sections: Sequence[Section]

    def text(self, *, colors: bool = False) -> str:
        """Writes a line for each tensor, and paints what is cut and what is pending."""
        lines = [self.heading] if self.heading else []
        for section in self.sections:
            lines.append(section.heading)
            lines += _table_lines(section.lines, colors)
        return "\n".join(lines)


def bytes_text(count: float) -> str:
    """Writes a number of bytes in the largest unit that leaves a whole part.

    >>> bytes_text(12), bytes_text(1536), bytes_text(2**40)
    ('12 bytes', '1.5 KiB', '1 TiB')
    """
    if count < 1024:
        return f"{count} bytes"
    for unit in ("KiB", "MiB", "GiB"):
        count /= 1024
        if count < 1024:
            return f"{count:.4g} {unit}"
    return f"{count / 1024:.4g} TiB"


def _grid_lines(grid: Grid, parts: dict[str, int]) -> list[str]:
    """Draws cells of two lines each, all as wide as the widest line."""
    width = 2 + max(len(line) for row in grid for cell in row for line in cell)

    def rule(left: str, middle: str, right: str) -> str:
        return left + middle.join(["─" * width] * len(grid[0])) + right

    lines: list[str] = []
    for row in grid:
        lines.append(rule("├", "┼", "┤") if lines else rule("┌", "┬", "┐"))
        for which in (0, 1):
            texts = [_painted(c[which].center(width), parts.get(c[1])) for c in row]
            lines.append(f"│{'│'.join(texts)}│")
    return [*lines, rule("└", "┴", "┘")]


def _painted(text: str, number: int | None) -> str:
    if number is None:
        return text
    return f"\x1b[48;5;{_PAINTS[number % len(_PAINTS)]}m\x1b[30m{text}{_RESET}"


def _painted_branch(line: str, parts: dict[str, int]) -> str:
    """Paints the part at a leaf as in the grid."""
    stem, word, part = line.partition("tensor[")
    held = f"[{part}"
    number = next((n for p, n in parts.items() if f"{p} ".startswith(held + " ")), None)
    if number is None or "device" not in stem:
        return line
    return f"{stem}{_painted(word + part, number)}"


def _side_by_side(left: Sequence[str], right: Sequence[str], width: int) -> list[str]:
    if not left:
        return list(right)
    blank = " " * width
    return [
        f"{a or blank}{_GAP}{b}".rstrip()
        for a, b in zip_longest(left, right, fillvalue="")
    ]


def _table_lines(lines: Sequence[Line], colors: bool) -> list[str]:
    rows = [
        [line.path, line.kind, *(f"{n}={p}" for n, p in line.placements), line.size]
        for line in lines
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    drawn: list[str] = []
    for line, row in zip(lines, rows, strict=True):
        texts = [
            text.rjust(width) if i == len(row) - 1 else text.ljust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        if colors:
            for i, (_, placement) in enumerate(line.placements, start=2):
                paint = None if placement == "R" else i - 2
                texts[i] = _painted(texts[i], paint)
        drawn.append("  " + "  ".join(texts).rstrip())
    return drawn
