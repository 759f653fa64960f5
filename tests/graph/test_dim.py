"""Dims: construction, normal form, comparison, algebra and evaluation."""

from __future__ import annotations

import copy
import operator
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, reject
from jax import export

from maxlite.graph import AlgebraicDim, Dim, StaticDim, SymbolicDim
from maxlite.graph._dim import provably_equal
from tests.strategies import (
    SYMBOLS,
    Expression,
    compute,
    dims,
    environments,
    expressions,
)

A, B, K, M, N = map(Dim, "abkmn")


class TestConstruction:
    @pytest.mark.parametrize(
        ("value", "kind", "text"),
        [
            (3, StaticDim, "Dim(3)"),
            (-1, StaticDim, "Dim(-1)"),
            (True, StaticDim, "Dim(1)"),
            (np.int8(3), StaticDim, "Dim(3)"),
            (2**63 - 1, StaticDim, "Dim(9223372036854775807)"),
            ("batch_size", SymbolicDim, "Dim('batch_size')"),
            ("_", SymbolicDim, "Dim('_')"),
            (N + 1, AlgebraicDim, "Dim('n') + Dim(1)"),
        ],
    )
    def test_a_dim_takes_the_class_that_fits(
        self, value: int | str | Dim, kind: type, text: str
    ) -> None:
        assert type(Dim(value)) is kind
        assert repr(Dim(value)) == text

    def test_the_dim_of_a_dim_is_itself(self) -> None:
        for dim in (Dim(3), N, N + 1):
            assert Dim(dim) is dim

    @pytest.mark.parametrize("value", [1.5, 3.0, None, [1], np.float32(1), np.True_])
    def test_other_kinds_are_refused(self, value: Any) -> None:
        with pytest.raises(TypeError, match=r"must be an int, a name or a Dim, got"):
            Dim(value)

    @pytest.mark.parametrize("name", ["", "1abc", "a b", "a-b", "a.b", "é", "n\n"])
    def test_a_string_must_be_a_name(self, name: str) -> None:
        with pytest.raises(ValueError, match=r"must be ASCII letters, digits and"):
            Dim(name)

    @pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
    def test_a_number_must_fit_64_bits(self, value: int) -> None:
        with pytest.raises(ValueError, match=r"at least -2\*\*63 and below 2\*\*63"):
            Dim(value)

    def test_a_result_that_does_not_fit_raises_instead_of_wrapping(self) -> None:
        with pytest.raises(ValueError, match="got 18446744073709551616"):
            _ = Dim(2**62) * 4

    def test_each_class_takes_its_own_kind(self) -> None:
        assert StaticDim(StaticDim(5)).dim == 5
        assert SymbolicDim(SymbolicDim("k")).name == "k"
        assert AlgebraicDim(N + 1) == N + 1

    @pytest.mark.parametrize(
        ("kind", "value", "message"),
        [
            (StaticDim, "n", "StaticDim: the value must be an int or a StaticDim"),
            (StaticDim, N, r"got Dim\('n'\) of type SymbolicDim"),
            (SymbolicDim, 3, "SymbolicDim: the name must be a str or a SymbolicDim"),
            (AlgebraicDim, N, "got SymbolicDim. Compute one, such as"),
        ],
    )
    def test_each_class_refuses_other_kinds(
        self, kind: Any, value: object, message: str
    ) -> None:
        with pytest.raises(TypeError, match=message):
            kind(value)

    def test_dims_are_immutable(self) -> None:
        for dim, attribute in ((Dim(3), "dim"), (N, "name"), (N + 1, "other")):
            with pytest.raises(AttributeError, match=attribute):
                setattr(dim, attribute, 4)


class TestNormalForm:
    @pytest.mark.parametrize(
        ("dim", "text"),
        [
            (N + 1, "n + 1"),
            (1 + N, "n + 1"),
            (N - 1, "n + -1"),
            (7 - N, "(n * -1) + 7"),
            (-N, "n * -1"),
            (2 * N, "n * 2"),
            (B * A, "a * b"),
            (A + "b", "a + b"),
            ("b" - A, "(a * -1) + b"),
            (A - B, "(b * -1) + a"),
            (A + B * 2, "(b * 2) + a"),
            (B + A * B, "(a * b) + b"),
            (N + N, "n * 2"),
            (N * N * N, "n * n * n"),
            ((A + 1) + 2, "a + 3"),
            ((N + 1) * 3, "(n * 3) + 3"),
            ((N + 1) * (N - 1), "(n * n) + -1"),
            ((N + 1) * (M + 1), "(m * n) + m + n + 1"),
            ((N + M) * (N - M), "(m * m * -1) + (n * n)"),
            (2 * N + 3 * M - 5, "(m * 3) + (n * 2) + -5"),
            (A * 3 + A * K, "(a * k) + (a * 3)"),
            (N * 2 * M * 3, "m * n * 6"),
            (N // 2, "n // 2"),
            (1 // N, "1 // n"),
            ("b" // A, "b // a"),
            (N // 2 // 3, "(n // 2) // 3"),
            ((N + 1) // 2, "(n + 1) // 2"),
            ((N - 1) // 2 + 1, "((n + -1) // 2) + 1"),
            (-(-N // 2), "((n * -1) // 2) * -1"),
            (N // -2, "(n * -1) // 2"),
            (N * (M // 2), "(m // 2) * n"),
            ((N // 2 + M) * 3, "((n // 2) * 3) + (m * 3)"),
            (N // 2 + 1 // A + A * B, "(n // 2) + (1 // a) + (a * b)"),
            (N // (M + 1), "n // (m + 1)"),
            (N // (A - B), "n // ((b * -1) + a)"),
        ],
    )
    def test_str_writes_the_normal_form(self, dim: Dim, text: str) -> None:
        assert str(dim) == text
        assert f"{dim}" == text

    @pytest.mark.parametrize(
        ("dim", "simple"),
        [
            (N + 0, N),
            (N * 1, N),
            (N * 0, 0),
            (N - N, 0),
            (N + 1 - 1, N),
            (A * 2 - A, A),
            (N // 1, N),
            (N // -1, -N),
            (N // N, 1),
            (0 // N, 0),
            (N * 4 // 2, N * 2),
            (N * 4 // 8, N // 2),
            (N * 6 // 4, N * 3 // 2),
            ((N * 4 + 2) // 2, N * 2 + 1),
            ((N * 2 + 4) // 6, (N + 2) // 3),
            (N * M // M, N),
            ((N * M + N) // N, M + 1),
            (N * M * K // (K * M), N),
            (N * M // (K * M), N // K),
            (N * 2 // (N * 3), 0),
            (N * 2 // (M * 2), N // M),
            ((N + 1) // (N + 1), 1),
            ((N + 1) * (M - K) // (N + 1), M - K),
            ((N // 2) * N // (N // 2), N),
            (-N // -2, N // 2),
            (-N // (A - B), N // (B - A)),
            ((A - B) // (K - M), (B - A) // (M - K)),
            (Dim(7) // 2, 3),
            (Dim(-7) // 2, -4),
            (Dim(7) // -2, -4),
        ],
    )
    def test_what_can_be_computed_is(self, dim: Dim, simple: int | Dim) -> None:
        assert dim == simple
        assert type(dim) is type(Dim(simple))
        assert provably_equal(dim, simple)

    def test_what_rounds_down_is_not_cancelled(self) -> None:
        assert N // 2 * 2 != N
        assert (N + 1) // 2 != N // 2
        assert not provably_equal(N // 2 * 2, N)

    def test_dividing_by_zero_raises(self) -> None:
        for divisor in (0, Dim(0), M - M):
            with pytest.raises(ZeroDivisionError, match="divisor must not be 0"):
                _ = N // divisor

    @given(dims())
    def test_repr_and_str_are_expressions_of_the_dim(self, dim: Dim) -> None:
        names = {name: Dim(name) for name in SYMBOLS}
        assert eval(repr(dim), {"Dim": Dim}) == dim
        assert eval(str(dim), names) == dim


class TestOtherOperations:
    @pytest.mark.parametrize(
        ("operation", "operands"),
        [
            (operator.mod, (N, 2)),
            (operator.truediv, (N, 2)),
            (operator.pow, (N, 2)),
            (divmod, (N, 2)),
            (abs, (N,)),
            (operator.pos, (N,)),
            (operator.add, (N, 1.5)),
            (operator.add, (None, N)),
            (operator.lt, (N, M)),
            (operator.lt, (N, 3)),
            (operator.lt, (Dim(3), N)),
            (operator.ge, (Dim(3), "n")),
        ],
    )
    def test_what_a_size_cannot_do_is_a_type_error(
        self, operation: Callable[..., object], operands: tuple[object, ...]
    ) -> None:
        with pytest.raises(TypeError, match=r"unsupported|not supported|bad operand"):
            operation(*operands)

    def test_numpy_integers_count_as_ints_on_either_side(self) -> None:
        assert N + np.int64(3) == N + 3
        assert np.int64(3) + N == N + 3
        assert np.int64(3) * Dim(2) == 6

    def test_only_a_static_dim_converts_to_int(self) -> None:
        assert int(Dim(3)) == 3
        with pytest.raises(TypeError, match=r"must be static, got Dim\('n'\)"):
            int(N)

    @pytest.mark.parametrize("use", [range, float, [1, 2, 3].__getitem__])
    def test_a_dim_never_becomes_a_number_unasked(
        self, use: Callable[[Any], object]
    ) -> None:
        with pytest.raises(TypeError, match=r"Convert a static dim with int\(\)"):
            use(Dim(1))

    def test_every_dim_is_true(self) -> None:
        assert bool(Dim(0))
        assert bool(N)


class TestComparison:
    @pytest.mark.parametrize(
        ("dim", "other"), [(Dim(3), 3), (Dim(3), 3.0), (Dim(3), np.int64(3)), (N, "n")]
    )
    def test_a_dim_equals_the_number_or_name_that_it_is(
        self, dim: Dim, other: object
    ) -> None:
        assert dim == other
        assert other == dim

    @pytest.mark.parametrize("dim", [Dim(3), N, N + 1])
    @pytest.mark.parametrize("other", [None, object(), 4, "3", "m", "n + 1", [3], M])
    def test_a_dim_equals_nothing_else(self, dim: Dim, other: object) -> None:
        assert dim != other
        assert other != dim

    def test_equal_values_hash_alike(self) -> None:
        assert hash(Dim(3)) == hash(3)
        assert hash(N) == hash("n")
        assert hash(N + 1) == hash(1 + N)
        assert "n" in {N}
        assert Dim(3) in {3}
        assert len({N + 1, 1 + N, N + 2}) == 2

    def test_static_dims_have_an_order(self) -> None:
        three = StaticDim(3)
        assert three < StaticDim(4)
        assert three <= 3
        assert three > 2.5
        assert three >= 3
        assert max(three, StaticDim(1)) is three


class TestAlgebra:
    @given(dims(), dims(), dims())
    def test_sums_and_products_are_a_ring(self, x: Dim, y: Dim, z: Dim) -> None:
        assert x + y == y + x
        assert x * y == y * x
        assert (x + y) + z == x + (y + z)
        assert (x * y) * z == x * (y * z)
        assert x * (y + z) == x * y + x * z
        assert x - y == x + -y
        assert x - x == 0

    @given(dims(), dims())
    def test_division_undoes_a_product(self, x: Dim, y: Dim) -> None:
        assume(y != 0)
        assert x * y // y == x

    @given(dims(), dims(), dims())
    def test_a_factor_on_both_sides_cancels(self, x: Dim, y: Dim, z: Dim) -> None:
        assume(y != 0)
        assume(isinstance(z, SymbolicDim) or (isinstance(z, StaticDim) and z != 0))
        assert (x * z) // (y * z) == x // y


class TestEvaluation:
    @given(expressions(), environments())
    def test_evaluate_and_substitute_agree_with_python(
        self, expression: Expression | str | int, env: dict[str, int]
    ) -> None:
        try:
            expected = compute(expression, env)
        except ZeroDivisionError:
            reject()
        dim = Dim(compute(expression, {name: Dim(name) for name in SYMBOLS}))
        assert dim.evaluate(env) == expected
        assert type(dim.evaluate(env)) is int
        assert dim.substitute(env) == expected

    def test_evaluate_takes_whatever_adds_multiplies_and_divides(self) -> None:
        a, b = export.symbolic_shape("a, b")
        dim = (A * B + 3) // 2 - A
        assert dim.evaluate({"a": a, "b": b}) == (a * b + 3) // 2 - a
        assert Dim(3).evaluate({}) == 3

    def test_evaluate_names_the_symbol_without_a_value(self) -> None:
        with pytest.raises(ValueError, match=r"every symbol of m \+ n .* none for n\."):
            (N + M).evaluate({"m": 1})

    def test_evaluate_divides_by_zero_as_python_does(self) -> None:
        with pytest.raises(ZeroDivisionError):
            (N // M).evaluate({"n": 1, "m": 0})

    def test_substitute_replaces_at_once_and_leaves_the_rest(self) -> None:
        assert (N * M + 1).substitute({"n": "m", "m": "n"}) == N * M + 1
        assert (N + 1).substitute({"n": M * 2, "k": 3}) == M * 2 + 1
        assert (N + M).substitute({"n": 3}) == M + 3

    def test_parameters_are_the_symbols_as_printed(self) -> None:
        assert list((N * M + N // K).parameters) == ["n", "k", "m", "n"]
        assert list(N.parameters) == [N]
        assert list(Dim(3).parameters) == []


@given(dims())
def test_copies_and_pickles_are_equal_and_hash_alike(dim: Dim) -> None:
    for made in (copy.copy(dim), copy.deepcopy(dim), pickle.loads(pickle.dumps(dim))):
        assert made == dim
        assert hash(made) == hash(dim)
        assert type(made) is type(dim)


def test_a_pickle_hashes_right_in_a_process_with_another_hash_seed() -> None:
    program = (
        "import pickle, sys\n"
        "from maxlite.graph import Dim\n"
        "dim = pickle.loads(sys.stdin.buffer.read())\n"
        "print({dim: 'found'}[(Dim('n') + 1) // 2])\n"
    )
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=pickle.dumps((N + 1) // 2),
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        assert done.stdout.split() == [b"found"]
