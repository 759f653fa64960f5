"""Prints which device holds which part of a tensor.

Two drawings stand side by side: *blocks*, a grid with one cell per distinct part of the
tensor, and a *tree* that goes down the mesh axis by axis to each device. Blocks are
flat: a tensor cut along three axes, or a mesh of three, has only the tree.
"""

from __future__ import annotations

import operator
import os
import sys
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from maxlite.graph import Dim
from maxlite.sharding._drawing import Drawing
from maxlite.sharding._drawing_html import drawing_html
from maxlite.sharding._layout import TensorLayout
from maxlite.sharding._mesh import DeviceMesh
from maxlite.sharding._per_shard_dim import PerShardDim
from maxlite.sharding._placements import Partial, Sharded, Unknown
from maxlite.sharding._tensor_table import tensor_table
from maxlite.tree import paths
from maxlite.tree._node import is_node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from maxlite.sharding._drawing import Cell, Grid, Table

_Coords: TypeAlias = tuple[int, ...]


def visualize(
    value: object, *, title: str | None = None, blocks: bool = True, tree: bool = True
) -> None:
    """Prints which device holds which part of a tensor, or how a mesh is laid out.

    Starts and stops at the ends of an axis are left out of the slices. Devices are
    numbered by their position in the mesh. Of several tensors, such as those of a
    model, each has a line: its path, dtype and shape, its placement along each mesh
    axis (``R`` replicated, ``S0`` cut along axis 0, ``P`` a pending sum), and the bytes
    on the device that holds most of it.

    A terminal gets colours, unless ``NO_COLOR`` is set, and a notebook a drawing in
    HTML.

    Args:
        value: A mesh, a layout, anything with a ``layout``, such as a Tensor, or a tree
            of these.
        title: Goes in front of the first line.
        blocks: Whether to draw the grid. What does not lie flat is drawn as a tree.
        tree: Whether to draw the tree.

    Raises:
        ShardingError: A sharded size is an expression in symbols.
        TypeError: ``value`` is of another kind.
        ValueError: Both drawings are switched off.

    Source: max.experimental.sharding.visualize; trees of tensors are ours.

    >>> from maxlite.driver import CPU
    >>> visualize(DeviceMesh((CPU(),) * 2, (2,), ("x",)))
    DeviceMesh(x=2)
    ┌──────────┬──────────┐   ├── x=0  device 0
    │ device 0 │ device 1 │   └── x=1  device 1
    │   x=0    │   x=1    │
    └──────────┴──────────┘
    """
    drawn = drawing(value, title=title, blocks=blocks, tree=tree)
    display = _notebook_display()
    if display is None:
        print(drawn.text(colors=_has_colors()))
    else:
        display({"text/plain": drawn.text(), "text/html": drawing_html(drawn)})


def drawing(
    value: object, *, title: str | None = None, blocks: bool = True, tree: bool = True
) -> Drawing | Table:
    """Works out what :func:`visualize` prints, with its arguments and errors."""
    if not (blocks or tree):
        raise ValueError(
            "visualize: blocks or tree must be True, got False for both. "
            "Leave one of them out."
        )
    layout = _layout_of(value)
    if layout is None and not isinstance(value, DeviceMesh):
        return tensor_table(_layouts_in(value), title or "")
    headline, grid, branches = _drawings(layout or value)
    heading = f"{title}: {headline}" if title else headline
    shown = grid if blocks else ()
    return Drawing(heading, shown, branches if tree or not shown else [])


def _layout_of(value: object) -> TensorLayout | None:
    found = value if isinstance(value, TensorLayout) else getattr(value, "layout", None)
    return found if isinstance(found, TensorLayout) else None


def _has_layout(value: object) -> bool:
    return _layout_of(value) is not None


def _layouts_in(value: object) -> dict[str, TensorLayout]:
    """Finds the layouts of a tree, by path.

    Raises:
        TypeError: There is none.
    """
    found: dict[str, TensorLayout] = {}
    if is_node(value):
        for path, leaf in paths(value, leaf=_has_layout).items():
            layout = _layout_of(leaf)
            assert layout is not None
            found[path] = layout
    if not found:
        raise TypeError(
            "visualize: value must be a DeviceMesh, a layout, a Tensor or a tree of "
            f"these, got {type(value).__name__}. A mapping needs a dtype and a shape: "
            "pass TensorLayout(dtype, shape, mapping)."
        )
    return found


def _has_colors() -> bool:
    """Whether the output shows colours: a terminal, unless the user said otherwise."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _notebook_display() -> Callable[[dict[str, str]], object] | None:
    """Finds what shows a drawing in the notebook that this runs in."""
    ipython: Any = sys.modules.get("IPython")
    shell: Any = ipython and ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:
        return None
    return lambda texts: ipython.display.display(texts, raw=True)


def layout_blocks(layout: TensorLayout) -> list[list[tuple[str, str]]]:
    """Lists who holds which part of a tensor, as rows of cells.

    Returns:
        Holders and part, both in words, for each cell of the grid that ``visualize``
        draws; one row per device where the parts do not lie flat.

    Raises:
        ShardingError: A sharded size is an expression in symbols.

    >>> from maxlite.driver import CPU
    >>> from maxlite.dtype import DType
    >>> from maxlite.sharding import DeviceMapping
    >>> mapping = DeviceMapping(DeviceMesh((CPU(),) * 2, (2,), ("x",)), (Sharded(0),))
    >>> layout_blocks(TensorLayout(DType.int8, [4], mapping))
    [[('device 0', '[:2]'), ('device 1', '[2:]')]]
    """
    parts = _Parts.of(layout)
    one_by_one = [[_block_cell(parts, [i])] for i in range(layout.mesh.num_devices)]
    return _layout_grid(parts) or one_by_one


def _drawings(value: object) -> tuple[str, Grid, list[str]]:
    if isinstance(value, DeviceMesh):
        return repr(value), _mesh_grid(value), _mesh_tree(value)
    assert isinstance(value, TensorLayout)
    parts = _Parts.of(value)
    shape = ", ".join(map(str, value.shape))
    headline = f"{value.dtype!s} [{shape}] with {value.mapping!r}"
    return headline, _layout_grid(parts), _layout_tree(parts)


def _mesh_grid(mesh: DeviceMesh) -> list[list[Cell]]:
    if mesh.ndim > 2:
        return []
    cells: list[Cell] = []
    for i in range(mesh.num_devices):
        coords = zip(mesh.axis_names, mesh.device_coords(i), strict=True)
        cells.append((f"device {i}", ", ".join(f"{n}={c}" for n, c in coords)))
    width = mesh.mesh_shape[-1] if mesh.ndim else 1
    return [cells[i : i + width] for i in range(0, len(cells), width)]


def _mesh_tree(mesh: DeviceMesh) -> list[str]:
    if not mesh.ndim:
        return ["device 0"]
    return list(_branches(mesh, lambda coords: _device_text(mesh, coords)))


@dataclass(frozen=True)
class _Cut:
    """One tensor axis: the mesh axes that cut it, and the size of each piece."""

    mesh_axes: tuple[int, ...]
    sizes: tuple[Dim, ...]

    def slice_text(self, mesh: DeviceMesh, coords: _Coords) -> str:
        """Writes the part below a node of the tree, given by its first coordinates."""
        first, count = 0, 1
        for axis in self.mesh_axes:
            known = axis < len(coords)
            first = first * mesh.mesh_shape[axis] + (coords[axis] if known else 0)
            count *= 1 if known else mesh.mesh_shape[axis]
        last = first + count
        start = self._bound(first) if first else ""
        stop = self._bound(last) if last < len(self.sizes) else ""
        return f"{start}:{stop}"

    def position(self, mesh: DeviceMesh, device_idx: int) -> int:
        """Finds which of the pieces a device holds."""
        return mesh.device_coord(device_idx, self.mesh_axes)

    def _bound(self, pieces: int) -> str:
        return str(reduce(operator.add, self.sizes[:pieces]))


@dataclass(frozen=True)
class _Parts:
    """A layout, with the cut of each tensor axis worked out."""

    layout: TensorLayout
    cuts: tuple[_Cut, ...]

    @staticmethod
    def of(layout: TensorLayout) -> _Parts:
        """Works out the cuts."""
        return _Parts(layout, tuple(_cut(layout, axis) for axis in range(layout.rank)))

    def slices_text(self, coords: _Coords) -> str:
        """Writes the part below a node of the tree as an index."""
        mesh = self.layout.mesh
        return f"[{', '.join(cut.slice_text(mesh, coords) for cut in self.cuts)}]"

    def note(self, coords: _Coords) -> str:
        """Says what the placements down to a node make of the part."""
        placements = self.layout.placements[: len(coords)]
        if any(isinstance(p, Unknown) for p in placements):
            return "unknown"
        if any(isinstance(p, Partial) for p in placements):
            return "partial"
        return ""


def _cut(layout: TensorLayout, axis: int) -> _Cut:
    mesh = layout.mesh
    mesh_axes = layout.mapping.sharding_axes(axis)
    local = Sharded(axis).local_dim(layout.shape[axis], mesh, mesh_axes)
    pieces: dict[int, Dim] = {}
    for i in range(mesh.num_devices):
        size = local.per_shard[i] if isinstance(local, PerShardDim) else local
        pieces[mesh.device_coord(i, mesh_axes)] = size
    return _Cut(mesh_axes, tuple(pieces[k] for k in sorted(pieces)))


def _layout_grid(parts: _Parts) -> list[list[Cell]]:
    mesh = parts.layout.mesh
    cuts = [cut for cut in parts.cuts if len(cut.sizes) > 1]
    if len(cuts) > 2:
        return []
    holders: dict[_Coords, list[int]] = {}
    for i in range(mesh.num_devices):
        block = tuple(cut.position(mesh, i) for cut in cuts)
        holders.setdefault(block, []).append(i)
    cells = [_block_cell(parts, holders[block]) for block in sorted(holders)]
    rows_only = parts.layout.rank == 2 and cuts == [parts.cuts[0]]
    width = 1 if rows_only else len(cuts[-1].sizes) if cuts else 1
    return [cells[i : i + width] for i in range(0, len(cells), width)]


def _block_cell(parts: _Parts, devices: Sequence[int]) -> Cell:
    coords = parts.layout.mesh.device_coords(devices[0])
    numbers = ",".join(map(str, devices))
    holders = f"device {numbers}" if len(devices) == 1 else f"devices {numbers}"
    return holders, f"{parts.slices_text(coords)} {parts.note(coords)}".rstrip()


def _layout_tree(parts: _Parts) -> list[str]:
    mesh = parts.layout.mesh
    words = {"": "", "partial": "partial sum of ", "unknown": "unknown "}

    def label(coords: _Coords) -> str:
        holding = f"{words[parts.note(coords)]}tensor{parts.slices_text(coords)}"
        return f"{_device_text(mesh, coords)} - {holding}"

    if not mesh.ndim:
        return [label(()).strip()]
    return [f"tensor{parts.slices_text(())}", *_branches(mesh, label)]


def _device_text(mesh: DeviceMesh, coords: _Coords) -> str:
    """Names the device at a leaf of the tree; the empty string above the leaves."""
    if len(coords) < mesh.ndim:
        return ""
    index = 0
    for size, coord in zip(mesh.mesh_shape, coords, strict=True):
        index = index * size + coord
    return f"  device {index}"


def _branches(
    mesh: DeviceMesh,
    label: Callable[[_Coords], str],
    indent: str = "",
    above: _Coords = (),
) -> Iterator[str]:
    axis = len(above)
    size = mesh.mesh_shape[axis]
    for coord in range(size):
        coords = (*above, coord)
        fork, trunk = ("└── ", "    ") if coord == size - 1 else ("├── ", "│   ")
        yield f"{indent}{fork}{mesh.axis_names[axis]}={coord}{label(coords)}"
        if len(coords) < mesh.ndim:
            yield from _branches(mesh, label, indent + trunk, coords)
