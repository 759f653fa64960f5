"""The table of many tensors that ``visualize`` prints: how each lies, and its bytes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from maxlite.graph import StaticDim
from maxlite.sharding._drawing import Line, Section, Table, bytes_text
from maxlite.sharding._explain import short
from maxlite.sharding._placements import Sharded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maxlite.sharding._layout import TensorLayout
    from maxlite.sharding._mesh import DeviceMesh


def tensor_table(layouts: Mapping[str, TensorLayout], heading: str = "") -> Table:
    """Makes a table of tensors, in a section for each mesh.

    Args:
        layouts: By path.
        heading: The first line; none when empty.
    """
    by_mesh: dict[DeviceMesh, dict[str, TensorLayout]] = {}
    for path, layout in layouts.items():
        by_mesh.setdefault(layout.mesh, {})[path] = layout
    return Table(heading, [_section(mesh, held) for mesh, held in by_mesh.items()])


def _section(mesh: DeviceMesh, layouts: Mapping[str, TensorLayout]) -> Section:
    many = "tensors" if len(layouts) > 1 else "tensor"
    where = repr(mesh) if mesh.num_devices > 1 else str(mesh.devices[0])
    known = [count for x in layouts.values() if (count := local_bytes(x)) is not None]
    total = f", {bytes_text(sum(known))} on each device" if known else ""
    left = len(layouts) - len(known)
    rest = f", and {left} of a size that is not known yet" if left else ""
    lines = [_line(path, layout) for path, layout in layouts.items()]
    return Section(f"{where}: {len(layouts)} {many}{total}{rest}", lines)


def _line(path: str, layout: TensorLayout) -> Line:
    pairs = zip(layout.mesh.axis_names, layout.placements, strict=True)
    several = layout.mesh.num_devices > 1
    count = local_bytes(layout)
    return Line(
        path or "the tensor",
        f"{layout.dtype.name}[{', '.join(map(str, layout.shape))}]",
        [(name, short(placement)) for name, placement in pairs] if several else [],
        "" if count is None else bytes_text(count),
    )


def local_bytes(layout: TensorLayout) -> int | None:
    """Counts the bytes of a tensor on the device that holds most of it.

    Returns:
        None when a size is a symbol.
    """
    sizes: list[int] = []
    for axis, dim in enumerate(layout.shape):
        if not isinstance(dim, StaticDim):
            return None
        ways = math.prod(
            layout.mesh.mesh_shape[i]
            for i, placement in enumerate(layout.placements)
            if placement == Sharded(axis)
        )
        sizes.append(-(-int(dim) // ways))
    return math.prod(sizes) * layout.dtype.size_in_bytes
