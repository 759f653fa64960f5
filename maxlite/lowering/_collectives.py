"""Which collectives XLA put into an executable, read from its optimized HLO."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from maxlite.lowering._evaluate import LINE_SCOPE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.sharding import DeviceMesh

_KINDS = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
    "collective-broadcast",
    "ragged-all-to-all",
)
_NAMES = {
    "all-reduce": "allreduce",
    "all-gather": "allgather",
    "collective-broadcast": "broadcast",
    "collective-permute": "permute",
}
_BITS = re.compile(r"(\d+)")
_LINE = re.compile(
    rf"= (?P<type>.+?) (?P<kind>{'|'.join(_KINDS)})(?:-start)?\((?P<operands>.*)$"
)
_TYPE = re.compile(r"(?P<dtype>[a-z]+\d*[a-z0-9]*)\[(?P<sizes>[\d,]*)\]")
_LISTED = re.compile(r"(?:replica_groups|source_target_pairs)=\{(\{[\d,{} ]*\})\}")
_IOTA = re.compile(
    r"replica_groups=\[(?P<groups>[\d,]+)\]<=\[(?P<shape>[\d,]+)\]"
    r"(?:T\((?P<order>[\d,]+)\))?"
)
_MESH = re.compile(
    r"replica_groups=mesh\[(?P<axes>[^\]]*)\]"
    r"(?:, device_ids=\((?P<ids>\[[\d,]+\](?:T\([\d,]+\))?|[\d,]+)\))?"
    r" \{(?P<moving>[^}]*)\}"
)
_IOTA_IDS = re.compile(r"\[(?P<shape>[\d,]+)\](?:T\((?P<order>[\d,]+)\))?")
_AXIS_SIZE = re.compile(r"'([^']+)'=(\d+)")
_AXIS_PART = re.compile(r"'([^']+)'(?::\((\d+)\)(\d+))?")
_LAYOUT = re.compile(r"\{[^}]*\}")
_DEFINED = re.compile(r"^\s*(?:ROOT )?(?P<name>%[\w.\-]+) = (?P<type>\(?[a-z]+\d*.*?) ")
_USER_LINE = re.compile(rf"{LINE_SCOPE}([^/\"]+:\d+)")
_OPERAND = re.compile(r"%[\w.\-]+")


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective of a compiled program.

    Attributes:
        kind: ``allreduce``, ``allgather``, ``reduce-scatter``, ``all-to-all``,
            ``permute`` or ``broadcast``.
        mesh_axes: Names of the mesh axes along which devices hear from each other.
        bytes: Size of the operand on each device, in bytes.
        count: How many like it there are.
        lines: The user's lines that they are from, as ``file:line``, where known.
    """

    kind: str
    mesh_axes: tuple[str, ...]
    bytes: int
    count: int = 1
    lines: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        axes = ", ".join(self.mesh_axes) or "?"
        where = f" ({', '.join(self.lines)})" if self.lines else ""
        return f"{self.count} x {self.kind} over {axes}, {self.bytes} bytes each{where}"


def find_collectives(hlo: str, mesh: DeviceMesh) -> list[Collective]:
    """Lists the collectives of an optimized module.

    Args:
        hlo: Text of the module after XLA's passes.
        mesh: The devices that it was compiled for.

    Returns:
        Equal collectives counted as one entry, in the order of the text. One inside a
        loop's body counts once.
    """
    counts: dict[tuple[str, tuple[str, ...], int], int] = {}
    lines: dict[tuple[str, tuple[str, ...], int], dict[str, None]] = {}
    types = _types_by_name(hlo)
    for line in hlo.splitlines():
        match = _LINE.search(line)
        if match is None:
            continue
        kind = match["kind"]
        size = _operand_bytes(match["operands"], types)
        key = (_NAMES.get(kind, kind), _mesh_axes(line, mesh), size)
        counts[key] = counts.get(key, 0) + 1
        known = lines.setdefault(key, {})
        known.update(dict.fromkeys(_USER_LINE.findall(line)[-1:]))
    return [Collective(*key, n, tuple(lines[key])) for key, n in counts.items()]


def _types_by_name(hlo: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in hlo.splitlines():
        if match := _DEFINED.match(line):
            found[match["name"]] = match["type"]
    return found


def _operand_bytes(operands: str, types: dict[str, str]) -> int:
    inside = _LAYOUT.sub("", operands).split(")", 1)[0]
    written = _sizes(inside)
    if written:
        return sum(written)
    return sum(sum(_sizes(types.get(name, ""))) for name in _OPERAND.findall(inside))


def _sizes(text: str) -> list[int]:
    return [
        math.prod(int(n) for n in m["sizes"].split(",") if n) * _bits(m["dtype"]) // 8
        for m in _TYPE.finditer(text)
    ]


def _bits(dtype: str) -> int:
    if dtype == "pred":
        return 8
    match = _BITS.search(dtype)
    return int(match[1]) if match else 8


def _mesh_axes(line: str, mesh: DeviceMesh) -> tuple[str, ...]:
    grid = np.arange(mesh.num_devices).reshape(mesh.mesh_shape)
    moving: set[int] = set()
    for group in _groups(line, mesh.num_devices):
        coordinates = np.array([np.argwhere(grid == device)[0] for device in group])
        moving |= {
            axis
            for axis in range(mesh.ndim)
            if len(set(coordinates[:, axis].tolist())) > 1
        }
    return tuple(mesh.axis_names[axis] for axis in sorted(moving))


def _groups(line: str, devices: int) -> Sequence[Sequence[int]]:
    """Reads which devices hear from each other, in any of XLA's notations."""
    if match := _MESH.search(line):
        return _mesh_groups(match, devices)
    if match := _IOTA.search(line):
        count = int(match["groups"].split(",")[0])
        return _iota(match["shape"], match["order"]).reshape(count, -1).tolist()
    if match := _LISTED.search(line):
        groups = re.findall(r"\{([\d, ]+)\}", match[1])
        return [[int(n) for n in group.split(",")] for group in groups]
    return [range(devices)]


def _iota(shape: str, order: str | None) -> np.ndarray:
    """Numbers a grid ``[2,4]`` and turns its axes by ``T(1,0)``."""
    sizes = [int(n) for n in shape.split(",")]
    grid = np.arange(math.prod(sizes)).reshape(sizes)
    return grid.transpose([int(n) for n in order.split(",")]) if order else grid


def _mesh_groups(match: re.Match[str], devices: int) -> Sequence[Sequence[int]]:
    """Reads ``mesh['a'=4,'b'=2], device_ids=([2,4]T(1,0)) {'a':(2)2}``.

    XLA's own mesh has other axes than ours. In braces stand those along which devices
    hear from each other; ``'a':(2)2`` is the part of ``a`` that has size 2 and steps
    over what is left of 4 after a part of size 2.
    """
    sizes = {name: int(size) for name, size in _AXIS_SIZE.findall(match["axes"])}
    places = np.indices(tuple(sizes.values())).reshape(len(sizes), -1)
    common = places.copy()
    for name, before, part in _AXIS_PART.findall(match["moving"]):
        row, size = list(sizes).index(name), int(part or sizes[name])
        step = sizes[name] // (int(before or 1) * size)
        common[row] -= places[row] // step % size * step
    groups: dict[tuple[int, ...], list[int]] = {}
    for device, key in zip(
        _mesh_devices(match["ids"], devices), common.T.tolist(), strict=True
    ):
        groups.setdefault(tuple(key), []).append(device)
    return list(groups.values())


def _mesh_devices(ids: str | None, devices: int) -> Sequence[int]:
    if ids is None:
        return range(devices)
    if match := _IOTA_IDS.match(ids):
        return _iota(match["shape"], match["order"]).ravel().tolist()
    return [int(n) for n in ids.split(",")]
