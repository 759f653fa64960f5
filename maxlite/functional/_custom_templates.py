"""What a declared op takes and gives: dtypes and sizes, some of them left open.

A template is a type with holes. A :class:`Symbol` is a size and a :class:`DTypeVar` a
dtype that the operands of a call fill in; a :class:`Param` is a size that a parameter
of the op fills in. All of them belong to the op: a program's own ``Dim("n")`` is never
``Symbol("n")``, so that an op may be called on any sizes.

Sizes computed from symbols are ordinary dims, which know nothing of their makers but
the names. So the names themselves say whose they are, by a prefix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from maxlite.dtype import DType
from maxlite.graph import Dim, StaticDim, SymbolicDim
from maxlite.graph._polynomial import to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Self

    from maxlite.graph import DimLike

_NAME = re.compile(r"[A-Za-z0-9_]+")


class _OwnDim(SymbolicDim):
    """A size of one op's templates, under a name that nothing else has."""

    __slots__ = ()

    _prefix: ClassVar[str]

    def __new__(cls, name: str | Self) -> Self:
        if isinstance(name, cls):
            return name
        if not isinstance(name, str):
            raise TypeError(
                f"{cls.__name__}: the name must be a str or a {cls.__name__}, got "
                f"{type(name).__name__}. Use {cls.__name__}('n'), say."
            )
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{cls.__name__}: the name must be ASCII letters, digits and "
                f"underscores, got {name!r}. Rename it."
            )
        return super().__new__(cls, cls._prefix + name)

    @property
    def _own_name(self) -> str:
        return self.name.removeprefix(self._prefix)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._own_name!r})"

    def __str__(self) -> str:
        return dim_text(self)

    def __reduce__(self) -> tuple[Callable[[str], Dim], tuple[str]]:
        return type(self), (self._own_name,)


class Symbol(_OwnDim):
    """A size in the templates of an op, which the operands of a call say.

    It is a :class:`~maxlite.graph.SymbolicDim` with the usual arithmetic, but differs
    from the one of the same name.

    Args:
        name: ASCII letters, digits and underscores; a Symbol is itself.

    Raises:
        TypeError: ``name`` is of another kind.
        ValueError: It holds other characters, or none.

    Source: max.experimental.custom.Symbol.

    >>> Symbol("n") == Symbol("n"), Symbol("n") == SymbolicDim("n")
    (True, False)
    >>> Symbol("n") * 4 // 2 == Symbol("n") * 2
    True
    """

    __slots__ = ()

    _prefix = "__co_"

    @property
    def symbol_name(self) -> str:
        """The name that it was given; ``name`` tells it from dims of programs."""
        return self._own_name


class Param(_OwnDim):
    """A size in the templates of an op that one of its parameters says.

    Args:
        name: Name of the parameter, whose value is an int; a Param is itself.

    Raises:
        TypeError: ``name`` is of another kind.
        ValueError: It holds other characters than ASCII letters, digits and
            underscores, or none.

    Source: max.experimental.custom.Param.

    >>> Param("n") == Param("n"), Param("n") == Symbol("n"), Param("n").param_name
    (True, False, 'n')
    """

    __slots__ = ()

    _prefix = "__param_"

    @property
    def param_name(self) -> str:
        """The name of the parameter."""
        return self._own_name


def Symbols(*names: str) -> tuple[Symbol, ...]:
    """Makes one :class:`Symbol` per name.

    Source: max.experimental.custom.Symbols.

    >>> Symbols("n", "m")
    (Symbol('n'), Symbol('m'))
    """
    return tuple(map(Symbol, names))


@dataclass(frozen=True, slots=True)
class DTypeVar:
    """A dtype in the templates of an op, which the operands of a call say.

    Args:
        name: Shown in errors; variables of one name are one.

    Raises:
        TypeError: ``name`` is no string.

    Source: max.experimental.custom.DTypeVar.

    >>> DTypeVar("T") == DTypeVar("T")
    True
    """

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(
                f"DTypeVar: the name must be a str, got {type(self.name).__name__}. "
                "Use DTypeVar('T'), say."
            )


@dataclass(frozen=True, init=False, repr=False, slots=True)
class TemplateType:
    """Dtype and shape of one input or output of an op, some of it left open.

    It says no device: an op runs where its operands are.

    Args:
        dtype: A dtype, or a variable for one.
        shape: Numbers, :class:`Symbol` and :class:`Param`, and what is computed from
            them. ``declare`` refuses a plain name.

    Raises:
        TypeError: An argument is of another kind, or a size is negative.

    Source: max.experimental.custom.TemplateType.

    >>> n, m = Symbols("n", "m")
    >>> TemplateType(DTypeVar("T"), [n, 2, n * m // 2])
    T[n, 2, (m * n) // 2]
    """

    dtype: DType | DTypeVar
    shape: tuple[Dim, ...]

    def __init__(self, dtype: DType | DTypeVar, shape: Sequence[DimLike]) -> None:
        if not isinstance(dtype, (DType, DTypeVar)):
            raise TypeError(
                "TemplateType: dtype must be a DType or a DTypeVar, got "
                f"{type(dtype).__name__}. Use DType.float32, say."
            )
        if isinstance(shape, (str, Dim)) or not hasattr(shape, "__iter__"):
            raise TypeError(
                "TemplateType: shape must be a sequence of sizes, got "
                f"{type(shape).__name__}. Put it into a list."
            )
        dims = tuple(map(Dim, shape))
        check_sizes("TemplateType: shape", dims)
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "shape", dims)

    def __repr__(self) -> str:
        return f"{self.dtype.name}{sizes_text(self.shape)}"


def check_sizes(what: str, dims: Iterable[int | Dim]) -> None:
    """Refuses negative numbers as sizes.

    Raises:
        TypeError: There is one; as that of a TensorType.
    """
    sizes = list(dims)
    if any(isinstance(dim, (int, StaticDim)) and dim < 0 for dim in sizes):
        raise TypeError(
            f"{what} must not have negative sizes, got {sizes_text(sizes)}. Give "
            "sizes of 0 or more."
        )


def parameters_of(dim: Dim) -> list[str]:
    """Lists the parameters of the op that a size is computed from, each once.

    >>> parameters_of(Param("g") * Symbol("n") + Param("g"))
    ['g']
    """
    names = dict.fromkeys(symbol.name for symbol in dim.parameters)
    prefix = Param._prefix
    return [n.removeprefix(prefix) for n in names if n.startswith(prefix)]


def foreign_names(dim: Dim) -> list[str]:
    """Lists names in a size that are neither of a Symbol nor of a Param.

    >>> foreign_names(Symbol("n") + "m")
    ['m']
    """
    own = (Symbol._prefix, Param._prefix)
    return [s.name for s in dim.parameters if not s.name.startswith(own)]


def with_parameters(dim: Dim, values: Mapping[str, int]) -> Dim:
    """Replaces parameters of the op that have values.

    >>> print(with_parameters(Param("g") * Dim("n"), {"g": 2}))
    n * 2
    """
    return dim.substitute({Param._prefix + name: n for name, n in values.items()})


def dim_text(dim: int | Dim) -> str:
    """Writes a size as in the program that declares it.

    >>> dim_text(Symbol("n") * 2 + Param("g"))
    "(n * 2) + Param('g')"
    """
    return to_text(dim.terms, _leaf_text) if isinstance(dim, Dim) else str(dim)


def sizes_text(dims: Iterable[int | Dim]) -> str:
    """Writes a shape, each size by :func:`dim_text`."""
    return f"[{', '.join(map(dim_text, dims))}]"


def _leaf_text(leaf: str | int) -> str:
    text = str(leaf)
    if text.startswith(Param._prefix):
        return repr(Param(text.removeprefix(Param._prefix)))
    return text.removeprefix(Symbol._prefix)
