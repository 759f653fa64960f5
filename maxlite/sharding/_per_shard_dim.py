"""The size of an axis that is cut into shards of different sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxlite.graph import Dim, StaticDim
from maxlite.graph._polynomial import symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Self

    from maxlite.graph import DimLike, SymbolicDim


class PerShardDim(Dim):
    """One size per device of a mesh, and the size of the whole axis if it is known.

    It reads as the global size: it converts, prints, compares, hashes and computes like
    it. Without one it stands for an unknown size, which only equals the same list.

    Args:
        per_shard: The size on each device, in mesh order.
        global_dim: Size of the whole axis.

    Source: max.experimental.sharding.per_shard_dim.PerShardDim.

    >>> sizes = PerShardDim((3, 2), global_dim=5)
    >>> sizes, sizes == 5, sizes + 1
    (PerShardDim((Dim(3), Dim(2)), global=Dim(5)), True, Dim(6))
    >>> print(PerShardDim((3, 2)))
    (3 | 2)
    """

    __slots__ = ("_global_dim", "_per_shard")

    _global_dim: Dim | None
    _per_shard: tuple[Dim, ...]

    def __new__(
        cls, per_shard: Iterable[DimLike], *, global_dim: DimLike | None = None
    ) -> Self:
        sizes = tuple(map(Dim, per_shard))
        # The name only makes an unknown size differ from others in arithmetic.
        unknown = symbol("_".join(("per_shard", *map(str, sizes))))
        known = None if global_dim is None else Dim(global_dim)
        self = cls._from_terms(
            unknown if known is None else known._terms,
            hash(sizes) if known is None else hash(known),
        )
        self._per_shard = sizes
        self._global_dim = known
        return self

    @property
    def per_shard(self) -> tuple[Dim, ...]:
        """The size on each device, in mesh order."""
        return self._per_shard

    @property
    def global_dim(self) -> Dim | None:
        """The size of the whole axis, ``None`` where it is not known."""
        return self._global_dim

    @property
    def parameters(self) -> Iterator[SymbolicDim]:
        """The symbols of the global size, or else of the shards' sizes."""
        dims = self._per_shard if self._global_dim is None else (self._global_dim,)
        return (symbol for dim in dims for symbol in dim.parameters)

    def __int__(self) -> int:
        if isinstance(self._global_dim, StaticDim):
            return self._global_dim.dim
        raise TypeError(
            f"int(PerShardDim): the global size must be a number, got {self!r}. "
            "Use .per_shard for the sizes of the shards."
        )

    def __eq__(self, other: object) -> bool:
        """Compares the global size, or else the list."""
        if isinstance(other, Dim) or self._global_dim is None:
            return super().__eq__(other)
        return self._global_dim == other

    __hash__ = Dim.__hash__

    def __repr__(self) -> str:
        tail = "" if self._global_dim is None else f", global={self._global_dim!r}"
        return f"PerShardDim({self._per_shard!r}{tail})"

    def __str__(self) -> str:
        """Writes the global size, or else the list."""
        if self._global_dim is not None:
            return str(self._global_dim)
        return f"({' | '.join(map(str, self._per_shard))})"

    def __reduce__(self) -> tuple[Callable[..., Dim], tuple[object, ...]]:
        return _rebuild, (self._per_shard, self._global_dim)


def _rebuild(per_shard: tuple[Dim, ...], global_dim: Dim | None) -> Dim:
    return PerShardDim(per_shard, global_dim=global_dim)
