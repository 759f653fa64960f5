"""How a drawing looks in a notebook.

There are no scripts and no style sheet: colours are translucent and text keeps its own,
so that it reads on a light and a dark page.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from maxlite.sharding._drawing import Drawing, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maxlite.sharding._drawing import Grid, Line, Section

_TEXT = "color:inherit;font-size:inherit"  # some pages start tables afresh
_LINES = "1px solid rgba(128,128,128,.5)"
_HUE_STEP = 137
"""Degrees between the colours of neighbours: no small number of steps comes back."""


def drawing_html(drawn: Drawing | Table) -> str:
    """Draws as one block element."""
    body = _table(drawn) if isinstance(drawn, Table) else _drawing(drawn)
    return f'<div class="maxlite-sharding">{body}</div>'


def grid_html(grid: Grid, parts: dict[str, int]) -> str:
    """Draws the parts of a tensor where they lie, each in a colour of its own."""
    body = "".join(
        f"<tr>{''.join(_block(parts[cell[1]], *cell) for cell in row)}</tr>"
        for row in grid
    )
    return (
        f'<table style="{_TEXT};border-collapse:collapse;margin-top:.5em">'
        f"<tbody>{body}</tbody></table>"
    )


def _drawing(drawn: Drawing) -> str:
    grid = grid_html(drawn.grid, drawn.parts) if drawn.grid else ""
    lines = escape("\n".join(drawn.branches))
    tree = f'<pre style="{_TEXT};margin:.5em 0 0">{lines}</pre>' if lines else ""
    return (
        f"<div>{escape(drawn.heading)}</div>"
        f'<div style="display:flex;gap:2em;flex-wrap:wrap">{grid}{tree}</div>'
    )


def _block(number: int, holders: str, part: str) -> str:
    style = (
        f"border:{_LINES};padding:.3em .6em;text-align:center;"
        f"background:{_paint(number)}"
    )
    return f'<td style="{style}">{escape(holders)}<br/>{escape(part)}</td>'


def _paint(number: int) -> str:
    return f"hsla({number * _HUE_STEP % 360},70%,50%,.25)"


def _table(drawn: Table) -> str:
    heading = f"<div><b>{escape(drawn.heading)}</b></div>" if drawn.heading else ""
    return heading + "".join(map(_section, drawn.sections))


def _section(section: Section) -> str:
    body = "".join(f"<tr>{''.join(_cells(line))}</tr>" for line in section.lines)
    return (
        f'<div style="margin-top:.5em">{escape(section.heading)}</div>'
        f'<div style="overflow-x:auto"><table style="{_TEXT};text-align:left;'
        f'border-collapse:collapse;font-family:monospace"><tbody>{body}</tbody>'
        "</table></div>"
    )


def _cells(line: Line) -> Iterator[str]:
    style = f"padding:.1em .6em;border-bottom:{_LINES}"
    for text in (line.path, line.kind):
        yield f'<td style="{style}">{escape(text)}</td>'
    for number, (axis, placement) in enumerate(line.placements):
        paint = "" if placement == "R" else f";background:{_paint(number)}"
        yield f'<td style="{style}{paint}">{escape(f"{axis}={placement}")}</td>'
    yield f'<td style="{style};text-align:right">{escape(line.size)}</td>'
