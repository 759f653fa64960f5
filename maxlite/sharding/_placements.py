"""How a tensor lies along one mesh axis: whole, cut, or as a sum still to be added up.

A tensor on a mesh has one placement per mesh axis:

- :class:`Replicated`: every position holds the whole tensor;
- :class:`Sharded`: the positions hold consecutive pieces along one tensor axis;
- :class:`Partial`: the positions hold terms, whose sum is the tensor;
- :class:`Unknown`: nothing is promised.

Going from one placement to another takes a :class:`Collective`; the table of them is
all that is known here about communication.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias, final

from maxlite._errors import ShardingError
from maxlite.graph import Dim, StaticDim, SymbolicDim
from maxlite.sharding._per_shard_dim import PerShardDim

if TYPE_CHECKING:
    from maxlite.graph import DimLike
    from maxlite.sharding._mesh import DeviceMesh, MeshAxes


class Collective(Enum):
    """What it takes to go from one placement to another.

    Source: max.experimental.sharding.placements.Collective.
    """

    NOOP = "noop"
    LOCAL_SLICE = "local_slice"
    KEEP_ONE_COPY = "keep_one_copy"
    ALLGATHER = "allgather"
    ALL_TO_ALL = "all_to_all"
    ALLREDUCE = "allreduce"
    REDUCE_SCATTER = "reduce_scatter"
    INFEASIBLE = "infeasible"


class Placement:
    """How a tensor lies along one mesh axis. Immutable, hashable, equal by value.

    The base of the four kinds, not to be made itself.

    Source: max.experimental.sharding.Placement.
    """

    # No ABC: its instance checks take longer, and every op makes several.
    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError(
            "Placement: must be one of its kinds, got the abstract base. "
            "Make a Replicated(), Sharded(axis), Partial() or Unknown()."
        )

    def localized_axis(self) -> int | None:
        """Tells which tensor axis is cut, ``None`` if none is.

        >>> Sharded(1).localized_axis(), Partial().localized_axis()
        (1, None)
        """
        return None

    def transition_to(self, other: Placement) -> Collective:
        """Looks up what it takes to go to another placement on the same mesh axis.

        >>> Partial().transition_to(Replicated())
        <Collective.ALLREDUCE: 'allreduce'>
        """
        if self == other:
            return Collective.NOOP
        return _COLLECTIVES.get((type(self), type(other)), Collective.INFEASIBLE)

    def local_dim(
        self,
        parent: DimLike,
        mesh: DeviceMesh,
        mesh_axis: MeshAxes,
        *,
        allow_symbolic_mint: bool = True,
    ) -> Dim:
        """Computes the size that each device holds of a tensor axis placed so.

        Args:
            parent: Size of the whole axis.
            mesh: Where the tensor lies.
            mesh_axis: The mesh axis, or several that cut it one after the other.
            allow_symbolic_mint: Whether a symbol may get a new name per shard.

        Returns:
            A dim if it is the same on every device, else a :class:`PerShardDim` with
            one size per device of the mesh.

        Raises:
            ShardingError: ``parent`` is an expression in symbols and must be cut, or a
                symbol that must not get new names.

        >>> from maxlite.driver import CPU
        >>> from maxlite.sharding import DeviceMesh
        >>> mesh = DeviceMesh((CPU(),) * 2, (2,), ("x",))
        >>> Sharded(0).local_dim(6, mesh, "x"), Replicated().local_dim(6, mesh, "x")
        (Dim(3), Dim(6))
        >>> Sharded(0).local_dim(5, mesh, "x")
        PerShardDim((Dim(3), Dim(2)))
        """
        return Dim(parent)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


@final
@dataclass(frozen=True, eq=False)
class Replicated(Placement):
    """Every position of the mesh axis holds the whole tensor.

    Source: max.experimental.sharding.Replicated.

    >>> Replicated()
    Replicated()
    """

    __slots__ = ()


@final
@dataclass(frozen=True)
class Sharded(Placement):
    """The positions of the mesh axis hold consecutive pieces along a tensor axis.

    Of an axis of size d over n positions, the first d % n pieces have one element more
    than the others.

    Args:
        axis: The tensor axis. Any int is taken here; where the rank is known it must be
            at least 0 and below it.

    Source: max.experimental.sharding.Sharded.

    >>> Sharded(0)
    Sharded(axis=0)
    """

    __slots__ = ("axis",)

    axis: int

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "axis", int(operator.index(self.axis)))
        except TypeError:
            raise TypeError(
                "Sharded: axis must be an int, "
                f"got {self.axis!r} of type {type(self.axis).__name__}. "
                "Pass the index of a tensor axis."
            ) from None

    def localized_axis(self) -> int | None:
        """Tells which tensor axis is cut."""
        return self.axis

    def local_dim(
        self,
        parent: DimLike,
        mesh: DeviceMesh,
        mesh_axis: MeshAxes,
        *,
        allow_symbolic_mint: bool = True,
    ) -> Dim:
        """Cuts a size; see :meth:`Placement.local_dim`."""
        dim = Dim(parent)
        axes = mesh.axis_indices(mesh_axis)
        if not axes or isinstance(dim, PerShardDim):
            return dim
        if isinstance(dim, StaticDim):
            return _per_shard(_static_sizes(dim.dim, mesh, axes))
        _check_may_cut(dim, allow_symbolic_mint)
        return _per_shard(_minted_names(str(dim), mesh, axes))

    def __reduce__(self) -> tuple[type[Sharded], tuple[int]]:
        return (Sharded, (self.axis,))


@final
@dataclass(frozen=True, eq=False)
class Partial(Placement):
    """The positions of the mesh axis hold terms; the tensor is their sum.

    Source: max.experimental.sharding.Partial.

    >>> Partial()
    Partial()
    """

    __slots__ = ()


@final
@dataclass(frozen=True, eq=False)
class Unknown(Placement):
    """Nothing is promised about how the positions' pieces make up the tensor.

    Source: max.experimental.sharding.Unknown.

    >>> Unknown()
    Unknown()
    """

    __slots__ = ()


Transition: TypeAlias = tuple[type[Placement], type[Placement]]
"""A kind of placement, and the kind that it turns into."""

DEFAULT_TRANSITIONS: frozenset[Transition] = frozenset(
    {
        (Replicated, Sharded),
        (Sharded, Replicated),
        (Sharded, Sharded),
        (Partial, Replicated),
    }
)
"""What ``auto_reshard`` may do when nothing else is said."""

ALL_TRANSITIONS: frozenset[Transition] = DEFAULT_TRANSITIONS | {(Partial, Sharded)}
"""All that ever helps an op; to Partial is allowed only by naming it."""

_COLLECTIVES: dict[Transition, Collective] = {
    (Replicated, Sharded): Collective.LOCAL_SLICE,
    (Replicated, Partial): Collective.KEEP_ONE_COPY,
    (Sharded, Replicated): Collective.ALLGATHER,
    (Sharded, Sharded): Collective.ALL_TO_ALL,
    (Partial, Replicated): Collective.ALLREDUCE,
    (Partial, Sharded): Collective.REDUCE_SCATTER,
}


def shard_range(
    size: int, mesh: DeviceMesh, axes: Sequence[int], device_idx: int
) -> range:
    """Finds which indices of a tensor axis one device holds.

    Args:
        size: Size of the whole tensor axis.
        mesh: Where the tensor lies.
        axes: Indices of the mesh axes that cut it, the outermost first.
        device_idx: Position in ``mesh.devices``.

    >>> from maxlite.driver import CPU
    >>> from maxlite.sharding import DeviceMesh
    >>> mesh = DeviceMesh((CPU(),) * 4, (4,), ("x",))
    >>> [shard_range(5, mesh, (0,), i) for i in range(4)]
    [range(0, 2), range(2, 3), range(3, 4), range(4, 5)]
    """
    coords = mesh.device_coords(device_idx)
    start = 0
    for axis in axes:
        quotient, remainder = divmod(size, mesh.mesh_shape[axis])
        start += coords[axis] * quotient + min(coords[axis], remainder)
        size = quotient + (coords[axis] < remainder)
    return range(start, start + size)


def _static_sizes(size: int, mesh: DeviceMesh, axes: Sequence[int]) -> list[Dim]:
    ranges = [shard_range(size, mesh, axes, i) for i in range(mesh.num_devices)]
    return [StaticDim(r.stop - r.start) for r in ranges]


def _minted_names(name: str, mesh: DeviceMesh, axes: Sequence[int]) -> list[Dim]:
    """Names the shards of a symbol by where they lie: ``n_x_0``, ``n_x_1``."""
    dims: list[Dim] = []
    for i in range(mesh.num_devices):
        coords = mesh.device_coords(i)
        place = "".join(f"_{mesh.axis_names[a]}_{coords[a]}" for a in axes)
        dims.append(SymbolicDim(name + place))
    return dims


def _per_shard(dims: list[Dim]) -> Dim:
    same = all(dim == dims[0] for dim in dims)
    return dims[0] if same else PerShardDim(dims)


def _check_may_cut(dim: Dim, allow_symbolic_mint: bool) -> None:
    if not isinstance(dim, SymbolicDim):
        raise ShardingError(
            f"local_dim: a sharded size must be a number or one symbol, got {dim}. "
            "Give the size a name of its own, or replicate the axis."
        )
    if not allow_symbolic_mint:
        raise ShardingError(
            f"local_dim: a sharded size must be a number here, got the symbol {dim}. "
            "Allow new names with allow_symbolic_mint=True, or replicate the axis."
        )
