"""Sizes of tensor axes: numbers, names, and what is computed from them.

A program that is traced once and called with many sizes needs sizes that are not yet
numbers. A :class:`Dim` is a number (:class:`StaticDim`), a name that stands for one
(:class:`SymbolicDim`), or an expression in names (:class:`AlgebraicDim`). Arithmetic
gives the simplest of the three, in one normal form, so that ``==`` answers whether two
sizes are known to be the same whatever the names will stand for.

Numbers are exact: floor division rounds down as in Python, and nothing wraps around.
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeGuard

import numpy as np

from maxlite.graph import _polynomial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Self

    from maxlite.graph._polynomial import Polynomial

DimLike: TypeAlias = "int | str | Dim | np.integer[Any]"
"""What :class:`Dim` takes: a number, a name, or a dim."""

_INT64 = range(-(2**63), 2**63)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Dim:
    """The size of one tensor axis. Immutable, hashable, compared by value.

    ``Dim(3)`` is a :class:`StaticDim`, ``Dim("n")`` a :class:`SymbolicDim`, and the dim
    of a dim is itself. ``+``, ``-``, ``*`` and ``//`` take numbers, names and dims on
    either side.

    A floor division takes its divisor to be other than 0: ``n * m // n`` is ``m``.

    Args:
        value: An integer of 64 bits, a name made of ASCII letters, digits and
            underscores, or a dim.

    Raises:
        TypeError: ``value`` is of another kind, such as a float.
        ValueError: The number does not fit, or the string is no name.

    Source: max.graph.Dim.

    >>> Dim("n") * 4 // 2 == Dim("n") * 2
    True
    >>> print((Dim("n") + 1) * 3, Dim("n") - Dim("n"), "m" + Dim("n"), sep="; ")
    (n * 3) + 3; 0; m + n
    """

    __slots__ = ("_hash", "_terms")

    _terms: Polynomial
    _hash: int

    def __new__(cls, value: DimLike) -> Dim:
        if isinstance(value, Dim):
            return value
        if isinstance(value, str):
            return SymbolicDim(value)
        _check_integer(value, "Dim: the value must be an int, a name or a Dim")
        return StaticDim(value)

    @classmethod
    def _from_terms(cls, terms: Polynomial, hash_value: int) -> Self:
        self = object.__new__(cls)
        self._terms = terms
        self._hash = hash_value
        return self

    @staticmethod
    def _simplest(terms: Polynomial) -> Dim:
        number = _polynomial.as_constant(terms)
        if number is not None:
            return StaticDim(number)
        name = _polynomial.as_symbol(terms)
        if name is not None:
            return SymbolicDim(name)
        return AlgebraicDim._from_terms(terms, hash(terms))

    @staticmethod
    def _combine(
        operation: Callable[[Polynomial, Polynomial], Polynomial],
        lhs: object,
        rhs: object,
    ) -> Dim:
        if not (_is_dim_like(lhs) and _is_dim_like(rhs)):
            return NotImplemented
        return Dim._simplest(operation(Dim(lhs)._terms, Dim(rhs)._terms))

    @property
    def parameters(self) -> Iterator[SymbolicDim]:
        """The symbols in the order in which they are printed, each as often.

        >>> list((Dim("n") * "m" + "n").parameters)
        [Dim('m'), Dim('n'), Dim('n')]
        """
        return map(SymbolicDim, _polynomial.names(self._terms))

    @property
    def terms(self) -> Polynomial:
        """The normal form: monomials with their coefficients."""
        return self._terms

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """Computes the size from values for the symbols.

        Args:
            env: A value for each symbol: an int, or anything else with ``+``, ``*``
                and ``//``, also by ints. Further names are ignored.

        Returns:
            An int for ints, exact, with floor division as in Python; else whatever the
            operations give.

        Raises:
            ValueError: A symbol has no value.
            ZeroDivisionError: A divisor is 0 for these values.

        >>> ((Dim("n") + 1) // 2).evaluate({"n": 6})
        3
        """

        def value_of(name: str) -> Any:
            try:
                return env[name]
            except KeyError:
                raise ValueError(
                    f"Dim.evaluate: every symbol of {self} must have a value, "
                    f"got none for {name}. Add it to env."
                ) from None

        return _polynomial.evaluate(self._terms, value_of)

    def substitute(self, mapping: Mapping[str, DimLike]) -> Dim:
        """Replaces symbols, all at once; a name that is not in ``mapping`` stays.

        >>> (Dim("n") * "m").substitute({"n": "m", "m": 3})
        Dim('m') * Dim(3)
        """

        def value_of(name: str) -> Dim:
            return Dim(mapping.get(name, name))

        return Dim(_polynomial.evaluate(self._terms, value_of))

    def __add__(self, other: DimLike) -> Dim:
        return self._combine(_polynomial.add, self, other)

    def __radd__(self, other: DimLike) -> Dim:
        return self._combine(_polynomial.add, other, self)

    def __sub__(self, other: DimLike) -> Dim:
        return self._combine(_polynomial.subtract, self, other)

    def __rsub__(self, other: DimLike) -> Dim:
        return self._combine(_polynomial.subtract, other, self)

    def __mul__(self, other: DimLike) -> Dim:
        return self._combine(_polynomial.multiply, self, other)

    def __rmul__(self, other: DimLike) -> Dim:
        return self._combine(_polynomial.multiply, other, self)

    def __floordiv__(self, other: DimLike) -> Dim:
        return self._combine(_polynomial.floor_divide, self, other)

    def __rfloordiv__(self, other: DimLike) -> Dim:
        return self._combine(_polynomial.floor_divide, other, self)

    def __neg__(self) -> Dim:
        return self * -1

    def __int__(self) -> int:
        """Converts a static dim; no other one has a value yet."""
        raise TypeError(
            f"int: the dim must be static, got {self!r}. "
            "Use evaluate() with a value for each symbol."
        )

    def __index__(self) -> NoReturn:
        """Refuses, so that a dim never becomes a number unasked."""
        raise TypeError(
            f"Dim: an index must be an int, got {self!r}. "
            "Convert a static dim with int()."
        )

    def __eq__(self, other: object) -> bool:
        """Answers whether both are known to be the same whatever the symbols are."""
        return isinstance(other, Dim) and self._terms == other._terms

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return _polynomial.to_text(self._terms, lambda leaf: f"Dim({leaf!r})")

    def __str__(self) -> str:
        return _polynomial.to_text(self._terms, str)


class StaticDim(Dim):
    """A size that is a number.

    It equals the number, hashes like it, and has its order.

    >>> StaticDim(5).dim, Dim(5) == 5.0, Dim(3) < 4
    (5, True, True)
    """

    __slots__ = ("_dim",)

    _dim: int

    def __new__(cls, dim: int | np.integer[Any] | StaticDim) -> Self:
        if isinstance(dim, StaticDim):
            dim = dim.dim
        _check_integer(dim, "StaticDim: the value must be an int or a StaticDim")
        number = int(dim)
        self = cls._from_terms(_polynomial.constant(number), hash(number))
        self._dim = number
        return self

    @property
    def dim(self) -> int:
        """The number."""
        return self._dim

    def __int__(self) -> int:
        return self._dim

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dim):
            return super().__eq__(other)
        if isinstance(other, (int, float, np.generic)):
            return bool(self._dim == other)
        # What is no number answers itself; a tensor, element by element.
        return NotImplemented

    __hash__ = Dim.__hash__

    def __lt__(self, other: float | StaticDim) -> bool:
        return self._compare(operator.lt, other)

    def __le__(self, other: float | StaticDim) -> bool:
        return self._compare(operator.le, other)

    def __gt__(self, other: float | StaticDim) -> bool:
        return self._compare(operator.gt, other)

    def __ge__(self, other: float | StaticDim) -> bool:
        return self._compare(operator.ge, other)

    def _compare(self, order: Callable[[float, float], bool], other: object) -> bool:
        value = other.dim if isinstance(other, StaticDim) else other
        if not isinstance(value, (int, float)):
            return NotImplemented
        return order(self._dim, value)

    def __reduce__(self) -> tuple[Callable[[int], Dim], tuple[int]]:
        return type(self), (self._dim,)


class SymbolicDim(Dim):
    """A size that has a name.

    It equals the name as a string, and hashes like it.

    >>> SymbolicDim("batch").name, Dim("batch") == "batch"
    ('batch', True)
    """

    __slots__ = ("_name",)

    _name: str

    def __new__(cls, name: str | SymbolicDim) -> Self:
        if isinstance(name, SymbolicDim):
            name = name.name
        _check_name(name)
        self = cls._from_terms(_polynomial.symbol(name), hash(name))
        self._name = name
        return self

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    def __eq__(self, other: object) -> bool:
        return self._name == other if isinstance(other, str) else super().__eq__(other)

    __hash__ = Dim.__hash__

    def __reduce__(self) -> tuple[Callable[[str], Dim], tuple[str]]:
        return type(self), (self._name,)


class AlgebraicDim(Dim):
    """A size computed from names. Arithmetic makes it; the class takes only its own.

    >>> AlgebraicDim(Dim("n") + 1)
    Dim('n') + Dim(1)
    >>> type(Dim("n") + 1 - 1).__name__
    'SymbolicDim'
    """

    __slots__ = ()

    def __new__(cls, value: Dim) -> Self:
        if not isinstance(value, AlgebraicDim):
            raise TypeError(
                "AlgebraicDim: the value must be an AlgebraicDim, "
                f"got {type(value).__name__}. Compute one, such as Dim('n') + 1."
            )
        return cls._from_terms(value._terms, value._hash)

    def __reduce__(self) -> tuple[Callable[[Polynomial], Dim], tuple[Polynomial]]:
        # Made anew, because the hash of a name differs from process to process.
        return Dim._simplest, (self._terms,)


def provably_equal(a: int | Dim, b: int | Dim) -> bool:
    """Answers whether two sizes are known to be the same whatever the symbols are.

    ``False`` only says that it is not known: the normal forms differ.

    >>> provably_equal(Dim("n") * 4 // 2, Dim("n") * 2), provably_equal(3, Dim("n"))
    (True, False)
    """
    return a == b


def _is_integer(value: object) -> TypeGuard[int | np.integer[Any]]:
    return isinstance(value, (int, np.integer))


def _is_dim_like(value: object) -> TypeGuard[DimLike]:
    return isinstance(value, (Dim, str, int, np.integer))


def _check_integer(value: object, must: str) -> None:
    if not _is_integer(value):
        raise TypeError(
            f"{must}, got {value!r} of type {type(value).__name__}. Convert it first."
        )
    if int(value) not in _INT64:
        raise ValueError(
            "Dim: the value must be at least -2**63 and below 2**63, "
            f"got {value}. Use a smaller size."
        )


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(
            "SymbolicDim: the name must be a str or a SymbolicDim, "
            f"got {name!r} of type {type(name).__name__}. Use Dim() for numbers."
        )
    if not _NAME.fullmatch(name):
        raise ValueError(
            "SymbolicDim: the name must be ASCII letters, digits and underscores "
            f"and not begin with a digit, got {name!r}. Rename it."
        )
