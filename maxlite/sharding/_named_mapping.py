"""Mappings written tensor axis by tensor axis, with the names of mesh axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from maxlite._errors import ConversionError, check_type
from maxlite.sharding._default_mesh import default_mesh
from maxlite.sharding._mappings import DeviceMapping, check_mesh
from maxlite.sharding._placements import Partial, Placement, Replicated, Sharded

if TYPE_CHECKING:
    from maxlite.sharding._mesh import DeviceMesh

SpecEntry: TypeAlias = str | Sequence[str] | None
"""The mesh axes that shard one tensor axis: a name, several, or none."""

_NO_MESH = """\
NamedMapping: needs a mesh to look up its names in, got none. Pass mesh=, or make it \
inside a block `with default_device(mesh):`."""


class NamedMapping(DeviceMapping):
    """A mapping written tensor axis by tensor axis, with the names of mesh axes.

    Args:
        mesh: The devices; by default those of the enclosing ``default_device`` block.
        spec: Entry i names the mesh axis that shards tensor axis i, or several of
            them, or is ``None``. Names that the mesh lacks are ignored, so that one
            spec serves several meshes; mesh order decides which of several is outer.
        unreduced: Names of the mesh axes that hold a pending sum (Partial).

    Raises:
        ConversionError: One mesh axis shards two tensor axes, or is both sharded and
            unreduced.
        TypeError: ``mesh`` is no mesh, or an entry of ``spec`` is of another kind.
        ValueError: There is no mesh.

    Source: max.experimental.sharding.NamedMapping.

    >>> from maxlite.driver import CPU
    >>> from maxlite.sharding import DeviceMesh
    >>> mesh = DeviceMesh((CPU(),) * 4, (2, 2), ("x", "y"))
    >>> named = NamedMapping(mesh, (None, "y"), unreduced=["x"])
    >>> named
    NamedMapping(DeviceMesh(x=2, y=2), (None, 'y'), unreduced={'x'})
    >>> named.placements
    (Partial(), Sharded(axis=1))
    """

    def __init__(
        self,
        mesh: DeviceMesh | None = None,
        spec: Sequence[SpecEntry] = (),
        *,
        unreduced: Iterable[str] = (),
    ) -> None:
        mesh = default_mesh() if mesh is None else mesh
        if mesh is None:
            raise ValueError(_NO_MESH)
        check_mesh(mesh)
        super().__init__(mesh, _resolve(mesh, spec, unreduced))

    @classmethod
    def replicated(cls, mesh: DeviceMesh) -> NamedMapping:
        """Makes the mapping with the whole tensor on every device.

        >>> from maxlite.driver import CPU
        >>> from maxlite.sharding import DeviceMesh
        >>> NamedMapping.replicated(DeviceMesh.single(CPU()))
        NamedMapping(DeviceMesh(_=1), ())
        """
        return cls(mesh)

    def __repr__(self) -> str:
        """Writes a spec that gives the same placements."""
        entries = ", ".join(map(repr, _spec_of(self)))
        unreduced = ", ".join(
            repr(name)
            for name, placement in zip(
                self.mesh.axis_names, self.placements, strict=True
            )
            if isinstance(placement, Partial)
        )
        tail = f", unreduced={{{unreduced}}}" if unreduced else ""
        return f"NamedMapping({self.mesh!r}, ({entries}){tail})"


def _spec_of(mapping: DeviceMapping) -> list[str | tuple[str, ...] | None]:
    """Lists the mesh axes of each tensor axis, without trailing ``None``."""
    axes = (p.localized_axis() for p in mapping.placements)
    rank = max((axis + 1 for axis in axes if axis is not None), default=0)
    return [mapping.spec_entry(axis) for axis in range(rank)]


def _resolve(
    mesh: DeviceMesh, spec: Sequence[SpecEntry], unreduced: Iterable[str]
) -> tuple[Placement, ...]:
    placements: dict[str, Placement] = {}
    for axis, entry in enumerate(spec):
        for name in _entry_names(entry):
            if name not in mesh.axis_names:
                continue
            if name in placements:
                raise ConversionError(
                    "NamedMapping: a mesh axis must shard at most one tensor axis, "
                    f"got {name!r} more than once in {tuple(spec)}. Name it once."
                )
            placements[name] = Sharded(axis)
    for name in dict.fromkeys(unreduced):
        if name not in mesh.axis_names:
            continue
        if name in placements:
            raise ConversionError(
                "NamedMapping: a mesh axis must be either in spec or in unreduced, "
                f"got {name!r} in both. Remove it from one."
            )
        placements[name] = Partial()
    return tuple(placements.get(name, Replicated()) for name in mesh.axis_names)


def _entry_names(entry: SpecEntry) -> tuple[str, ...]:
    if entry is None:
        return ()
    if isinstance(entry, str):
        return (entry,)
    must = "NamedMapping: an entry of spec must be a name, several names or None"
    remedy = "Pass for example ('x', None, ('y', 'z'))."
    check_type(entry, Iterable, must, remedy)
    names = tuple(entry)
    for name in names:
        check_type(name, str, must, remedy)
    return names
