"""Prints which device holds which part of a tensor.

Two drawings stand side by side: *blocks*, a grid with one cell per distinct part of the
tensor, and a *tree* that goes down the mesh axis by axis to each device. Blocks are
flat: a tensor cut along three axes, or a mesh of three, has only the tree.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import reduce
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeAlias

from maxlite.graph import Dim
from maxlite.sharding._layout import TensorLayout
from maxlite.sharding._mesh import DeviceMesh
from maxlite.sharding._per_shard_dim import PerShardDim
from maxlite.sharding._placements import Partial, Sharded, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_Cell: TypeAlias = tuple[str, str]
_Grid: TypeAlias = list[list[_Cell]]
_Coords: TypeAlias = tuple[int, ...]

_GAP = "   "


def visualize(
    value: object, *, title: str | None = None, blocks: bool = True, tree: bool = True
) -> None:
    """Prints which device holds which part of a tensor, or how a mesh is laid out.

    Starts and stops at the ends of an axis are left out of the slices. Devices are
    numbered by their position in the mesh.

    Args:
        value: A mesh, a layout, or anything with a ``layout``, such as a Tensor.
        title: Goes in front of the first line.
        blocks: Whether to draw the grid. What does not lie flat is drawn as a tree.
        tree: Whether to draw the tree.

    Raises:
        ShardingError: A sharded size is an expression in symbols.
        TypeError: ``value`` is of another kind.
        ValueError: Both drawings are switched off.

    Source: max.experimental.sharding.visualize.

    >>> from maxlite.driver import CPU
    >>> visualize(DeviceMesh((CPU(),) * 2, (2,), ("x",)))
    DeviceMesh(x=2)
    ┌──────────┬──────────┐   ├── x=0  device 0
    │ device 0 │ device 1 │   └── x=1  device 1
    │   x=0    │   x=1    │
    └──────────┴──────────┘
    """
    if not (blocks or tree):
        raise ValueError(
            "visualize: blocks or tree must be True, got False for both. "
            "Leave one of them out."
        )
    headline, grid, branches = _drawings(value)
    heading = f"{title}: {headline}" if title else headline
    left = _grid_lines(grid) if blocks and grid else []
    right = branches if tree or not left else []
    print("\n".join([heading, *_side_by_side(left, right)]))


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


def _drawings(value: object) -> tuple[str, _Grid, list[str]]:
    if isinstance(value, DeviceMesh):
        return repr(value), _mesh_grid(value), _mesh_tree(value)
    layout = (
        value if isinstance(value, TensorLayout) else getattr(value, "layout", None)
    )
    if not isinstance(layout, TensorLayout):
        raise TypeError(
            "visualize: value must be a DeviceMesh, a layout or a Tensor, "
            f"got {type(value).__name__}. A mapping needs a dtype and a shape: "
            "pass TensorLayout(dtype, shape, mapping)."
        )
    parts = _Parts.of(layout)
    shape = ", ".join(map(str, layout.shape))
    headline = f"{layout.dtype!s} [{shape}] with {layout.mapping!r}"
    return headline, _layout_grid(parts), _layout_tree(parts)


def _mesh_grid(mesh: DeviceMesh) -> _Grid:
    if mesh.ndim > 2:
        return []
    cells: list[_Cell] = []
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


def _layout_grid(parts: _Parts) -> _Grid:
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


def _block_cell(parts: _Parts, devices: Sequence[int]) -> _Cell:
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


def _grid_lines(grid: _Grid) -> list[str]:
    """Draws cells of two lines each, all as wide as the widest line."""
    width = 2 + max(len(line) for row in grid for cell in row for line in cell)

    def rule(left: str, middle: str, right: str) -> str:
        return left + middle.join(["─" * width] * len(grid[0])) + right

    lines: list[str] = []
    for row in grid:
        lines.append(rule("├", "┼", "┤") if lines else rule("┌", "┬", "┐"))
        for line in zip(*row, strict=True):
            lines.append(f"│{'│'.join(text.center(width) for text in line)}│")
    return [*lines, rule("└", "┴", "┘")]


def _side_by_side(left: Sequence[str], right: Sequence[str]) -> list[str]:
    if not left:
        return list(right)
    pairs = zip_longest(left, right, fillvalue="")
    return [f"{a.ljust(len(left[0]))}{_GAP}{b}".rstrip() for a, b in pairs]
