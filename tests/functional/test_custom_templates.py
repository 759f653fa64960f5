"""Templates of declared ops: values whose sizes belong to the op, not to a program."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from maxlite.custom import DTypeVar, Param, Symbol, Symbols, TemplateType
from maxlite.dtype import DType
from maxlite.graph import Dim, SymbolicDim

N, G = Symbol("n"), Param("g")
VALUES = [N, G, DTypeVar("T"), TemplateType(DType.int8, [N * 2, 3, G])]


def test_a_symbol_is_a_named_dim_that_differs_from_that_of_the_name():
    assert isinstance(N, SymbolicDim)
    assert Symbol("n") == N
    assert hash(Symbol("n")) == hash(N)
    for other in (SymbolicDim("n"), "n", Symbol("m"), Param("n")):
        assert other != N
        assert N != other
    assert len({N, SymbolicDim("n"), Param("n"), Symbol("n")}) == 3


def test_a_param_is_a_named_dim_of_its_own():
    assert isinstance(G, SymbolicDim)
    assert not isinstance(G, Symbol)
    assert Param("g") == G
    assert G not in (Symbol("g"), SymbolicDim("g"), "g")


def test_they_keep_their_names_and_themselves():
    assert (N.symbol_name, G.param_name) == ("n", "g")
    assert Symbol(N) is N
    assert Param(G) is G
    assert Dim(N) is N
    assert Symbols("n", "m") == (N, Symbol("m"))
    assert Symbols() == ()


def test_arithmetic_keeps_whose_they_are():
    assert N * 4 // 2 == N + N
    assert N * 2 // 2 == N
    assert N * 2 != Dim("n") * 2
    assert N + G == G + N
    assert N - Dim("n") != 0
    assert (N * G).substitute({N.name: 3, G.name: Dim("n")}) == Dim("n") * 3


def test_dtype_variables_of_one_name_are_one():
    assert DTypeVar("T") == DTypeVar("T") != DTypeVar("U")
    assert {DTypeVar("T"): 1}[DTypeVar("T")] == 1


def test_a_template_is_a_value_that_cannot_change():
    template = TemplateType(DType.float32, [N, 2])
    assert template.shape == (N, Dim(2))
    assert template == TemplateType(DType.float32, (Symbol("n"), Dim(2)))
    assert hash(template) == hash(TemplateType(DType.float32, iter([N, 2])))  # type: ignore
    assert template != TemplateType(DType.float32, ["n", 2])
    assert template != TemplateType(DTypeVar("float32"), [N, 2])
    assert TemplateType(DTypeVar("T"), []).shape == ()
    with pytest.raises(AttributeError, match="cannot assign"):
        template.dtype = DType.int8  # type: ignore[misc]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_each_survives_copies_and_pickles(value: Any):
    for again in (copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert again == value
        assert type(again) is type(value)


def test_they_print_as_they_are_written():
    assert [repr(N), str(N), repr(G), str(G)] == [
        *("Symbol('n')", "n", "Param('g')", "Param('g')")
    ]
    m = Symbol("m")
    template = TemplateType(DTypeVar("T"), [N, 2, N * m // 2, G + 1])
    assert repr(template) == "T[n, 2, (m * n) // 2, Param('g') + 1]"
    assert repr(TemplateType(DType.bfloat16, [])) == "bfloat16[]"


@pytest.mark.parametrize("kind", [Symbol, Param])
@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        (3, TypeError, "must be a str or a {}, got int"),
        (Dim("n"), TypeError, "must be a str or a {}, got SymbolicDim"),
        ("", ValueError, "digits and underscores, got ''"),
        ("a b", ValueError, "digits and underscores, got 'a b'"),
        ("größe", ValueError, "must be ASCII letters"),
    ],
)
def test_names_are_checked(kind, name, error, message):
    found = message.format(kind.__name__)
    with pytest.raises(error, match=f"{kind.__name__}: the name .*{found}"):
        kind(name)


def test_a_symbol_is_no_param_and_a_param_no_symbol():
    with pytest.raises(TypeError, match="a str or a Symbol, got Param"):
        Symbol(G)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a str or a Param, got Symbol"):
        Param(N)  # type: ignore[arg-type]


def test_a_dtype_variable_has_a_string_as_its_name():
    with pytest.raises(TypeError, match="DTypeVar: the name must be a str, got int"):
        DTypeVar(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dtype", "shape", "message"),
    [
        ("float32", [N], "dtype must be a DType or a DTypeVar, got str"),
        (np.float32, [N], "dtype must be a DType or a DTypeVar, got type"),
        (DType.int8, N, "shape must be a sequence of sizes, got Symbol"),
        (DType.int8, "nm", "shape must be a sequence of sizes, got str"),
        (DType.int8, 3, "shape must be a sequence of sizes, got int"),
        (DType.int8, [N, -1], r"shape must not have negative sizes, got \[n, -1\]"),
    ],
)
def test_what_a_template_is_made_of_is_checked(dtype, shape, message):
    with pytest.raises(TypeError, match=f"TemplateType: {message}"):
        TemplateType(dtype, shape)


def test_a_size_is_what_a_dim_takes():
    with pytest.raises(TypeError, match=r"Dim: .*got 1\.5"):
        TemplateType(DType.int8, [1.5])  # type: ignore[list-item]
