"""How a tensor looks in a notebook: what it is, its values, and who holds which part.

First the facts are read off the tensor, which computes and gathers nothing; the rest
are functions from facts to strings. There are no scripts and no style sheet: colours
are translucent and text keeps its own, so that it reads on a light and a dark page.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, TypeVar

from maxlite.sharding import ShardingError
from maxlite.sharding._drawing import Drawing, bytes_text
from maxlite.sharding._drawing_html import grid_html
from maxlite.sharding._visualize import layout_blocks
from maxlite.tensor._shown import (
    EDGE_ITEMS,
    element_texts,
    elided_axes,
    shown_elements,
    shown_positions,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np

    from maxlite.tensor._tensor import Tensor

_T = TypeVar("_T")

MOST_MATRICES = 12
"""Matrices that are shown of a tensor of rank 3 and more."""

_GAP = "…"
_TEXT = "color:inherit;font-size:inherit"  # some pages start tables afresh
_SMALL = "font-size:smaller;opacity:.8"
_LINES = "1px solid rgba(128,128,128,.5)"


@dataclass(frozen=True)
class Values:
    """The elements that are shown.

    Attributes:
        texts: The elements as text, without those that are left out.
        elided: One per axis: whether its middle is left out.
        positions: One list per axis: where the items lie that are there.
    """

    texts: np.ndarray
    elided: Sequence[bool]
    positions: Sequence[np.ndarray]


@dataclass(frozen=True)
class Facts:
    """All that is drawn.

    Attributes:
        headline: Dtype and shape.
        details: Further facts for the same line.
        note: Why there are no values, or nothing.
        values: The values that are there.
        blocks: Holders and part of each cell, when several devices hold the tensor.
    """

    headline: str
    details: Sequence[str]
    note: str = ""
    values: Values | None = None
    blocks: Sequence[Sequence[tuple[str, str]]] = ()


def tensor_html(tensor: Tensor) -> str:
    """Draws a tensor; a pending one stays pending."""
    return facts_html(tensor_facts(tensor))


def tensor_facts(tensor: Tensor) -> Facts:
    """Reads what is drawn off a tensor: of its values, only those that are shown."""
    note = _why_no_values(tensor)
    return Facts(
        headline=f"{tensor.dtype.name} [{', '.join(map(str, tensor.shape))}]",
        details=[*_size(tensor), _place(tensor)],
        note=note,
        values=None if note else _values(tensor),
        blocks=_blocks(tensor),
    )


def facts_html(facts: Facts) -> str:
    """Draws facts as one block element."""
    parts = [_line(facts)]
    if facts.note:
        parts.append(f'<div style="{_SMALL}">{escape(facts.note)}</div>')
    if facts.values is not None:
        parts += _matrices(facts.values)
    if facts.blocks:
        parts.append(_blocks_html(facts.blocks))
    return f'<div class="maxlite-tensor">{"".join(parts)}</div>'


# Facts ------------------------------------------------------------------------------


def _why_no_values(tensor: Tensor) -> str:
    if not tensor.real:
        return "pending: not computed yet"
    if tensor.mapping.is_unknown:
        return "unknown shards: no global value"
    if tensor.mapping.partial_axes:
        return "pending sum: not added up yet"
    if not tensor._stored().is_fully_addressable:
        return "values in several processes: to_numpy() collects them"
    return "" if tensor.num_elements() else "no elements"


def _size(tensor: Tensor) -> list[str]:
    if not tensor._spec.is_static:
        return []
    return [bytes_text(tensor.num_elements() * tensor.dtype.size_in_bytes)]


def _place(tensor: Tensor) -> str:
    if not tensor.is_distributed:
        return str(tensor.device)
    return f"{tensor.mesh!r} {list(tensor.placements)!r}"


def _values(tensor: Tensor) -> Values:
    array = tensor._stored()
    elided = elided_axes(array.shape)
    texts = element_texts(shown_elements(array, elided), tensor.dtype)
    return Values(texts, elided, shown_positions(array.shape, elided))


def _blocks(tensor: Tensor) -> list[list[tuple[str, str]]]:
    if not tensor.is_distributed:
        return []
    try:
        return layout_blocks(tensor.layout)
    except ShardingError:  # the parts of a symbolic size cannot be told
        return []


# Strings ----------------------------------------------------------------------------


def _line(facts: Facts) -> str:
    details = "".join(f" · {escape(detail)}" for detail in facts.details)
    return f"<div><b>Tensor</b> {escape(facts.headline)}{details}</div>"


def _matrices(values: Values) -> Iterator[str]:
    """Draws one table per matrix, each under its index unless it is the only one."""
    leading = values.texts.shape[:-2]
    for count, index in enumerate(itertools.product(*map(range, leading))):
        if count == MOST_MATRICES:
            yield f"<div>{_GAP}</div>"
            return
        if index:
            yield f'<div style="{_SMALL}">{_index_text(index, values)}</div>'
        yield _table(_rows(values.texts[index], values.elided[-2:]))


def _index_text(index: Sequence[int], values: Values) -> str:
    """Writes a matrix as an index into the whole tensor; gaps stand before it."""
    where = [str(values.positions[axis][i]) for axis, i in enumerate(index)]
    jumped = any(
        cut and i == EDGE_ITEMS for cut, i in zip(values.elided, index, strict=False)
    )
    return f"{f'{_GAP} ' if jumped else ''}[{', '.join([*where, ':', ':'])}]"


def _rows(texts: np.ndarray, elided: Sequence[bool]) -> list[list[str]]:
    """Lays a matrix, vector or number out as rows of cells, with gaps."""
    missing = 2 - texts.ndim
    matrix: list[list[str]] = texts.reshape((1,) * missing + texts.shape).tolist()
    down, across = [*[False] * missing, *elided]
    rows = [_with_gap(row, across, _GAP) for row in matrix]
    return _with_gap(rows, down, [_GAP] * len(rows[0]))


def _with_gap(items: list[_T], elided: bool, gap: _T) -> list[_T]:
    return [*items[:EDGE_ITEMS], gap, *items[EDGE_ITEMS:]] if elided else items


def _table(rows: Iterable[Iterable[str]]) -> str:
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return (
        f'<div style="overflow-x:auto"><table style="{_TEXT};text-align:right;'
        "border-collapse:separate;border-spacing:.5em 0;font-family:monospace;"
        f'border-left:{_LINES};border-right:{_LINES}">'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(text: str) -> str:
    return f"<td>{escape(text)}</td>"


def _blocks_html(blocks: Sequence[Sequence[tuple[str, str]]]) -> str:
    drawn = Drawing("", blocks, ())
    return grid_html(drawn.grid, drawn.parts)
