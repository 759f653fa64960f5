"""Polynomials: what a floor division comes to, and what stays one."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from maxlite.graph import _polynomial as poly
from maxlite.graph._polynomial import Polynomial

N, M = poly.symbol("n"), poly.symbol("m")


def text(x: Polynomial) -> str:
    return poly.to_text(x, str)


@st.composite
def polynomials(draw: st.DrawFn) -> Polynomial:
    """Sums of up to three terms in two names."""
    total = poly.constant(draw(st.integers(-5, 5)))
    for _ in range(draw(st.integers(0, 2))):
        term = poly.constant(draw(st.integers(-5, 5)))
        for factor in draw(st.lists(st.sampled_from([N, M]), max_size=2)):
            term = poly.multiply(term, factor)
        total = poly.add(total, term)
    return total


def test_zero_has_no_terms() -> None:
    assert poly.constant(0) == ()
    assert poly.subtract(N, N) == ()
    assert poly.multiply(N, ()) == ()
    assert text(()) == "0"


def test_a_number_and_a_name_are_recognised() -> None:
    assert poly.as_constant(()) == 0
    assert poly.as_constant(poly.constant(-3)) == -3
    assert poly.as_constant(N) is None
    assert poly.as_symbol(N) == "n"
    for other in ((), poly.constant(1), poly.add(N, N), poly.add(N, M)):
        assert poly.as_symbol(other) is None
    assert poly.as_symbol(poly.floor_divide(N, M)) is None


@given(polynomials(), polynomials())
def test_a_product_divides_exactly(x: Polynomial, y: Polynomial) -> None:
    assume(y)
    assert poly.floor_divide(poly.multiply(x, y), y) == x


@given(polynomials(), polynomials(), st.integers(-9, 9), st.integers(-9, 9))
def test_a_floor_division_rounds_down(
    x: Polynomial, y: Polynomial, n: int, m: int
) -> None:
    values = {"n": n, "m": m}
    divisor = poly.evaluate(y, values.__getitem__)
    assume(divisor)
    quotient = poly.floor_divide(x, y)
    dividend = poly.evaluate(x, values.__getitem__)
    assert poly.evaluate(quotient, values.__getitem__) == dividend // divisor


@given(polynomials(), polynomials(), polynomials())
def test_a_quotient_does_not_depend_on_a_common_name_or_number(
    x: Polynomial, y: Polynomial, z: Polynomial
) -> None:
    assume(y)
    assume(len(z) == 1)
    expected = poly.floor_divide(x, y)
    assert poly.floor_divide(poly.multiply(x, z), poly.multiply(y, z)) == expected


def test_division_by_zero_raises() -> None:
    with pytest.raises(ZeroDivisionError, match="divisor must not be 0"):
        poly.floor_divide(N, ())


def test_a_long_division_of_polynomials_comes_out_even() -> None:
    square = poly.multiply(poly.add(N, M), poly.add(N, M))
    assert text(poly.floor_divide(square, poly.add(N, M))) == "m + n"
    assert (
        text(poly.floor_divide(square, N)) == "((m * n * 2) + (m * m) + (n * n)) // n"
    )
