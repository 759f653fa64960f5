"""Exact integer polynomials whose unknowns are names and floor divisions.

A size such as ``2*n + (m + 1) // 3`` is kept as a sum of terms, each a product of
atoms with an integer coefficient. The sum is sorted and its coefficients are not
zero, so two sizes that differ only in how they were written are the same tuple: that
is all that equality and hashing of dims need.

A floor division that comes out even is carried out (``4*n // 2`` is ``2*n``); any
other one is an atom of its own, with the factors that both sides share taken out.
The rest, ``(n + 4) // 4`` say, stays as it was written.
"""

from __future__ import annotations

import functools
import math
import operator
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Monomial: TypeAlias = "tuple[Atom, ...]"
"""Atoms that are multiplied, sorted; a square stands twice, the empty one is 1."""

Polynomial: TypeAlias = "tuple[tuple[Monomial, int], ...]"
"""Monomials with their coefficients, none zero, sorted; the empty one is 0."""


class Quotient(NamedTuple):
    """A floor division that does not come out even."""

    numerator: Polynomial
    denominator: Polynomial


Atom: TypeAlias = "str | Quotient"
"""What a size is made of: a name, or a floor division kept as it is."""


def constant(value: int) -> Polynomial:
    """Makes the polynomial of a number."""
    return (((), value),) if value else ()


def symbol(name: str) -> Polynomial:
    """Makes the polynomial of a name."""
    return (((name,), 1),)


def as_constant(x: Polynomial) -> int | None:
    """Reads the number that ``x`` is, if it has no unknowns."""
    if not x:
        return 0
    monomial, coefficient = x[0]
    return coefficient if len(x) == 1 and not monomial else None


def as_symbol(x: Polynomial) -> str | None:
    """Reads the name that ``x`` is, if it is nothing but a name."""
    if len(x) != 1:
        return None
    monomial, coefficient = x[0]
    if coefficient != 1 or len(monomial) != 1:
        return None
    (atom,) = monomial
    return atom if isinstance(atom, str) else None


def add(lhs: Polynomial, rhs: Polynomial) -> Polynomial:
    """Adds two polynomials."""
    return _collect((*lhs, *rhs))


def subtract(lhs: Polynomial, rhs: Polynomial) -> Polynomial:
    """Subtracts one polynomial from another."""
    return _collect((*lhs, *((monomial, -c) for monomial, c in rhs)))


def multiply(lhs: Polynomial, rhs: Polynomial) -> Polynomial:
    """Multiplies two polynomials, distributing over their terms.

    >>> one_more = add(symbol("n"), constant(1))
    >>> to_text(multiply(one_more, constant(3)), str)
    '(n * 3) + 3'
    """
    return _collect(
        (_sorted_atoms((*left, *right)), a * b) for left, a in lhs for right, b in rhs
    )


def floor_divide(numerator: Polynomial, denominator: Polynomial) -> Polynomial:
    """Divides, rounding down as Python does.

    Args:
        numerator: What is divided.
        denominator: What divides it; taken to be other than 0 where it has unknowns.

    Raises:
        ZeroDivisionError: ``denominator`` is 0.

    >>> to_text(floor_divide(multiply(symbol("n"), constant(4)), constant(6)), str)
    '(n * 2) // 3'
    """
    if not denominator:
        raise ZeroDivisionError("Dim: the divisor must not be 0.")
    if as_constant(numerator) is None or as_constant(denominator) is None:
        exact = _divide_exactly(numerator, denominator)
        if exact is not None:
            return exact
        numerator, denominator = _without_shared(numerator, denominator)
    top, bottom = as_constant(numerator), as_constant(denominator)
    if top is None or bottom is None:
        return (((Quotient(numerator, denominator),), 1),)
    return constant(top // bottom)


def evaluate(x: Polynomial, value_of: Callable[[str], Any]) -> Any:
    """Computes ``x`` for given values of its names.

    Args:
        x: What to compute.
        value_of: Gives the value of a name: an int, or anything else that knows
            ``+``, ``*`` and ``//``, also with ints. Nothing else is asked of it.

    Returns:
        What these operations give; an int when ``x`` has no names.
    """
    terms = [_evaluate_term(*term, value_of) for term in x]
    return functools.reduce(operator.add, terms) if terms else 0


def names(x: Polynomial) -> Iterator[str]:
    """Yields the names in ``x`` in the order in which it is printed, repeated."""
    for monomial, _ in x:
        for atom in monomial:
            if isinstance(atom, str):
                yield atom
            else:
                yield from names(atom.numerator)
                yield from names(atom.denominator)


def to_text(x: Polynomial, leaf: Callable[[str | int], str]) -> str:
    """Writes ``x`` in Python's syntax; ``leaf`` writes a name or a number."""
    if len(x) > 1:
        return " + ".join(_enclosed((term,), leaf) for term in x)
    monomial, coefficient = x[0] if x else ((), 0)
    if len(monomial) == 1 and coefficient == 1:
        return _atom_text(monomial[0], leaf)
    factors = [_enclosed((((atom,), 1),), leaf) for atom in monomial]
    if coefficient != 1 or not factors:
        factors.append(leaf(coefficient))
    return " * ".join(factors)


def _enclosed(x: Polynomial, leaf: Callable[[str | int], str]) -> str:
    is_leaf = as_constant(x) is not None or as_symbol(x) is not None
    return to_text(x, leaf) if is_leaf else f"({to_text(x, leaf)})"


def _atom_text(atom: Atom, leaf: Callable[[str | int], str]) -> str:
    if isinstance(atom, str):
        return leaf(atom)
    return " // ".join(_enclosed(side, leaf) for side in atom)


def _evaluate_term(
    monomial: Monomial, coefficient: int, value_of: Callable[[str], Any]
) -> Any:
    factors = [_evaluate_atom(atom, value_of) for atom in monomial]
    if coefficient != 1 or not factors:
        factors.append(coefficient)
    return functools.reduce(operator.mul, factors)


def _evaluate_atom(atom: Atom, value_of: Callable[[str], Any]) -> Any:
    if isinstance(atom, str):
        return value_of(atom)
    numerator, denominator = atom
    return evaluate(numerator, value_of) // evaluate(denominator, value_of)


def _collect(terms: Iterable[tuple[Monomial, int]]) -> Polynomial:
    coefficients: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        coefficients[monomial] = coefficients.get(monomial, 0) + coefficient
    present = [term for term in coefficients.items() if term[1]]
    return tuple(sorted(present, key=_term_key)) if len(present) > 1 else tuple(present)


def _sorted_atoms(atoms: Iterable[Atom]) -> Monomial:
    return tuple(sorted(atoms, key=_atom_key))


# The order in which MAX prints: sums, floor divisions, products, names and then
# numbers; of two sums or products the longer one first, then operand by operand;
# of two numbers the greater one.
_SUM, _QUOTIENT, _PRODUCT, _NAME, _NUMBER = range(5)

_Key: TypeAlias = tuple[Any, ...]


def _key(x: Polynomial) -> _Key:
    if len(x) == 1:
        return _term_key(x[0])
    return (_SUM, -len(x), *map(_term_key, x)) if x else (_NUMBER, 0)


def _term_key(term: tuple[Monomial, int]) -> _Key:
    monomial, coefficient = term
    factors = [_atom_key(atom) for atom in monomial]
    if coefficient != 1 or not factors:
        factors.append((_NUMBER, -coefficient))
    return factors[0] if len(factors) == 1 else (_PRODUCT, -len(factors), *factors)


def _atom_key(atom: Atom) -> _Key:
    if isinstance(atom, str):
        return (_NAME, atom)
    return (_QUOTIENT, _key(atom.numerator), _key(atom.denominator))


def _divide_exactly(dividend: Polynomial, divisor: Polynomial) -> Polynomial | None:
    """Divides when nothing is left over, else answers None.

    Long division by the leading term, the greatest in an order that products respect:
    with one divisor, it ends with no rest exactly when the divisor is a factor.
    """
    lead, lead_coefficient = max(divisor, key=_degree_key)
    quotient: Polynomial = ()
    rest = dividend
    while rest:
        monomial, coefficient = max(rest, key=_degree_key)
        factor = _without(monomial, lead)
        if factor is None or coefficient % lead_coefficient:
            return None
        step = ((factor, coefficient // lead_coefficient),)
        quotient = add(quotient, step)
        rest = subtract(rest, multiply(divisor, step))
    return quotient


def _degree_key(term: tuple[Monomial, int]) -> _Key:
    monomial, _ = term
    return (len(monomial), *map(_atom_key, monomial))


def _without(monomial: Monomial, factor: Monomial) -> Monomial | None:
    remaining = Counter(monomial)
    remaining.subtract(factor)
    if any(count < 0 for count in remaining.values()):
        return None
    return _sorted_atoms(remaining.elements())


def _without_shared(
    numerator: Polynomial, denominator: Polynomial
) -> tuple[Polynomial, Polynomial]:
    """Takes out of both sides the number and the atoms that every term shares.

    Of the two signs that the number may have, the one is taken that leaves fewer minus
    signs below, then above.
    """
    terms = (*numerator, *denominator)
    number = math.gcd(*(coefficient for _, coefficient in terms))
    atoms = Counter(terms[0][0])
    for monomial, _ in terms:
        atoms &= Counter(monomial)

    def reduced(sign: int) -> tuple[Polynomial, Polynomial]:
        top, bottom = (
            _collect(
                (_sorted_atoms((Counter(m) - atoms).elements()), sign * c // number)
                for m, c in side
            )
            for side in (numerator, denominator)
        )
        return top, bottom

    def cost(sides: tuple[Polynomial, Polynomial]) -> tuple[int, int, _Key, _Key]:
        top, bottom = sides
        return _minus_signs(bottom), _minus_signs(top), _key(bottom), _key(top)

    return min(reduced(1), reduced(-1), key=cost)


def _minus_signs(x: Polynomial) -> int:
    return sum(coefficient < 0 for _, coefficient in x)
