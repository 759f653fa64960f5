"""Shapes: a list of dims for users, a tuple of ints and dims inside.

:class:`Shape` is what a tensor answers. The framework itself works on *compact*
shapes, tuples in which a static dim is a plain int: they hash, compare and multiply
as fast as Python does when no symbol is involved, which is nearly always.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, cast, overload

from maxlite.graph._dim import Dim, DimLike, StaticDim, SymbolicDim

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

ShapeLike: TypeAlias = Iterable[DimLike]
"""What :class:`Shape` takes: sizes in order."""

CompactShape: TypeAlias = tuple[int | Dim, ...]
"""A shape inside the framework: static dims are ints, the others dims."""


class Shape(list[Dim]):
    """The dims of a tensor, a list of :class:`~maxlite.graph.Dim`.

    Ints and names compare with dims, so ``shape == [2, "n"]`` and ``"n" in shape``
    work. Slices, ``+`` and ``*`` give plain lists.

    Args:
        dims: Sizes in order; a string gives one name per letter.

    Raises:
        TypeError: ``dims`` cannot be iterated, or an item is no int, name or dim.
        ValueError: An item does not fit 64 bits, or is no name.

    Source: max.graph.Shape.

    >>> Shape([1, "n", Dim("n") + 1])
    [Dim(1), Dim('n'), Dim('n') + Dim(1)]
    """

    __slots__ = ()

    def __init__(self, dims: ShapeLike = ()) -> None:
        super().__init__(map(Dim, _listed(dims)))

    # What comes in later becomes a dim too, so that every property sees it.

    def append(self, dim: DimLike, /) -> None:
        """Adds a dim at the end."""
        super().append(Dim(dim))

    def extend(self, dims: ShapeLike, /) -> None:
        """Adds dims at the end."""
        super().extend(map(Dim, dims))

    def insert(self, index: SupportsIndex, dim: DimLike, /) -> None:
        """Adds a dim in front of another one."""
        super().insert(index, Dim(dim))

    def __iadd__(self, dims: ShapeLike, /) -> Self:
        """Adds dims at the end."""
        self.extend(dims)
        return self

    @overload
    def __setitem__(self, index: SupportsIndex, dims: DimLike, /) -> None: ...
    @overload
    def __setitem__(self, index: slice, dims: ShapeLike, /) -> None: ...
    def __setitem__(self, index: Any, dims: Any, /) -> None:
        """Replaces a dim, or those of a slice."""
        is_slice = isinstance(cast("object", index), slice)
        super().__setitem__(index, list(map(Dim, dims)) if is_slice else Dim(dims))

    @property
    def rank(self) -> int:
        """How many dims there are."""
        return len(self)

    @property
    def static_dims(self) -> list[int]:
        """The static dims as ints; the others are left out."""
        return [int(dim) for dim in self if isinstance(dim, StaticDim)]

    @property
    def parameters(self) -> Iterator[SymbolicDim]:
        """The symbols, in order, as often as they appear."""
        return (symbol for dim in self for symbol in dim.parameters)

    def is_static(self) -> bool:
        """Answers whether every dim is a number."""
        return all(isinstance(dim, StaticDim) for dim in self)


def compact_dim(dim: DimLike) -> int | Dim:
    """Makes a static dim an int, and anything else a dim.

    >>> compact_dim(Dim(3)), compact_dim("n")
    (3, Dim('n'))
    """
    if type(dim) is int:
        return dim
    made = Dim(dim)
    return made.dim if isinstance(made, StaticDim) else made


def compact_shape(shape: ShapeLike) -> CompactShape:
    """Makes a compact shape.

    Raises:
        TypeError: It is no list of sizes.

    >>> compact_shape(Shape([2, "n"]))
    (2, Dim('n'))
    """
    return tuple(map(compact_dim, _listed(shape)))


def _listed(shape: ShapeLike) -> ShapeLike:
    if isinstance(shape, Iterable):
        return shape
    raise TypeError(
        f"shape: must be a list of sizes, got {type(shape).__name__}. Write [{shape}]."
    )


def num_elements(shape: Iterable[int | Dim]) -> int | Dim:
    """Multiplies the sizes; a scalar has one element.

    >>> num_elements((2, 3)), num_elements((2, Dim("n")))
    (6, Dim('n') * Dim(2))
    """
    count: int | Dim = 1
    for dim in shape:
        count = count * dim
    return compact_dim(count)


def symbols_of(shape: Iterable[int | Dim]) -> list[str]:
    """Lists the names in a shape, each once, in order of appearance.

    >>> symbols_of((Dim("n"), 2, Dim("m") * "n"))
    ['n', 'm']
    """
    dims = (dim for dim in shape if isinstance(dim, Dim))
    return list(dict.fromkeys(symbol.name for dim in dims for symbol in dim.parameters))


def evaluate_shape(
    shape: Iterable[int | Dim], env: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Computes each size from values for the symbols; see :meth:`Dim.evaluate`.

    >>> evaluate_shape((2, Dim("n") * 2), {"n": 5})
    (2, 10)
    """
    return tuple(dim.evaluate(env) if isinstance(dim, Dim) else dim for dim in shape)


def shape_text(shape: Iterable[object]) -> str:
    """Writes a shape as it is read: ``[2, n]``."""
    return f"[{', '.join(map(str, shape))}]"
