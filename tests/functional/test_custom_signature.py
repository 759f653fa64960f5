"""The signature of a declared op: what is refused when it is declared, and called."""

from typing import Any

import jax
import numpy as np
import pytest

from maxlite import compile
from maxlite.custom import (
    CustomOp,
    DTypeVar,
    Param,
    Symbol,
    Symbols,
    TemplateType,
    declare,
)
from maxlite.dtype import DType
from maxlite.graph import SymbolicDim
from maxlite.tensor import Tensor

T = DTypeVar("T")
N, M, K = Symbols("n", "m", "k")
LINE = np.array([1.0, 2.0, 4.0], np.float32)
GRID = np.arange(12, dtype=np.float32).reshape(4, 3)


@declare("sig.mix")
def mix(x: jax.Array, y: jax.Array) -> jax.Array:
    return x + y


@declare("sig.product")
def product(x: jax.Array, y: jax.Array) -> jax.Array:
    return x @ y


def op(name: str, inputs: Any, outputs: Any) -> CustomOp:
    return declare(f"sig.{name}", inputs=inputs, outputs=outputs)


def t(*shape: Any, dtype: Any = T) -> TemplateType:
    return TemplateType(dtype, shape)


MIX = op("mix", {"x": t(N), "y": t(N)}, [t(N)])
PRODUCT = op("product", {"x": t(N, K), "y": t(K, M)}, [t(N, M)])

# Errors of calls --------------------------------------------------------------------

X, Y = Tensor(LINE), Tensor([1.0, 2.0, 3.0, 4.0])
INTS = Tensor(LINE.astype(np.int32))


@pytest.mark.parametrize(
    ("called", "operands", "message"),
    [
        (
            *(MIX, (X, Y)),
            "input 'y' must have size 3 at axis 0, which is n at axis 0 of input 'x', "
            "got 4",
        ),
        (
            MIX,
            (X, INTS),
            "input 'y' must be float32, which is T in input 'x', got int32",
        ),
        (
            MIX,
            (Tensor(GRID), X),
            r"input 'x' must have rank 1, being \[n\], got \[4, 3\]",
        ),
        (
            PRODUCT,
            (Tensor(GRID),) * 2,
            "size 3 at axis 0, which is k at axis 1 of input",
        ),
        (
            *(op("mix", {"x": t(N, N), "y": t(N)}, [t(N)]), (Tensor(GRID), X)),
            "input 'x' must have size 4 at axis 1, which is n at axis 0 of input 'x', "
            "got 3",
        ),
        (
            *(op("mix", {"x": t(4), "y": t(N)}, [t(N)]), (X, X)),
            "input 'x' must have size 4 at axis 0, got 3",
        ),
        (
            *(op("mix", {"x": t(N, dtype=DType.int8), "y": t(N)}, [t(N)]), (X, X)),
            r"input 'x' must be int8, got float32\. Cast it",
        ),
        (
            *(op("mix", {"x": t(N), "y": t(N)}, [t(N + 1)]), (X, X)),
            r"got float32\[3\] for float32\[4\] as result 0",
        ),
    ],
)
def test_operands_that_do_not_fit_are_refused(called, operands, message):
    for run in (called, compile(lambda *x: called(*x))):
        given = operands if run is called else [x.layout for x in operands]
        with pytest.raises(ValueError, match=rf"sig\.\w+: .*{message}"):
            run(*given)


@pytest.mark.parametrize(
    ("operands", "named", "message"),
    [
        (
            (X,),
            {},
            r"inputs x, y must be given once, got 1 by position and \[\] by name",
        ),
        ((X, X, X), {}, "got 3 by position"),
        ((X, X), {"y": X}, r"got 2 by position and \['y'\] by name"),
        ((X,), {"z": X}, r"got 1 by position and \['z'\] by name"),
        ((), {}, "got 0 by position"),
        ((X, LINE), {}, "y must be a Tensor, got ndarray"),
        ((None,), {"y": X}, "x must be a Tensor, got NoneType"),
    ],
)
def test_each_input_is_one_tensor(operands, named, message):
    with pytest.raises(TypeError, match=rf"sig\.mix: .*{message}"):
        MIX(*operands, **named)


def test_a_size_below_zero_is_refused():
    short = op("mix", {"x": t(N), "y": t(N)}, [t(N - 5)])
    with pytest.raises(TypeError, match=r"output 0, \[n \+ -5\], must.*got \[-2\]"):
        short(X, X)


@pytest.mark.parametrize("parameters", ["g", 3, [1]])
def test_parameters_are_chosen_by_a_mapping(parameters):
    with pytest.raises(TypeError, match=r"sig\.mix: parameters must be a mapping, got"):
        MIX[parameters]


# Errors of declarations -------------------------------------------------------------

F32 = TemplateType(DType.float32, [N])
G = Param("g")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"inputs": {}},
            ValueError,
            "'sig.mix' must have at least one input, got none",
        ),
        (
            {"outputs": []},
            ValueError,
            "'sig.mix' must have at least one output, got none",
        ),
        (
            {"inputs": [F32]},
            TypeError,
            "inputs of 'sig.mix' must be a mapping.*got list",
        ),
        ({"inputs": {3: F32}}, TypeError, "names of inputs .*must be strings, got int"),
        (
            {"outputs": F32},
            TypeError,
            "must be a sequence of TemplateTypes, got Templat",
        ),
        ({"outputs": "n"}, TypeError, "must be a sequence of TemplateTypes, got str"),
        (
            {"inputs": {"x": DType.int8}},
            TypeError,
            "input 'x' of 'sig.mix' must be a TemplateType, got DType",
        ),
        (
            {"outputs": [F32, DType.int8]},
            TypeError,
            "output 1 of 'sig.mix' must be a TemplateType, got DType",
        ),
        (
            {"inputs": {"x": t(2, "n")}},
            TypeError,
            r"input 'x' of 'sig.mix'.*custom\.Symbol.*got 'n' at axis 1",
        ),
        ({"inputs": {"x": t(SymbolicDim("n") * N)}}, TypeError, "got 'n' at axis 0"),
        ({"outputs": [t("n")]}, TypeError, "output 0 of 'sig.mix'.*got 'n' at axis 0"),
        (
            {"inputs": {"x": t(N * 2)}},
            TypeError,
            r"got n \* 2 at axis 0.*symbol of its",
        ),
        ({"inputs": {"x": t(N, G)}}, TypeError, r"got Param\('g'\) at axis 1"),
        ({"outputs": [t(N)]}, TypeError, "output 0.*variable of the inputs, got T"),
        ({"parameters": [1]}, TypeError, "parameters must be a mapping, got list"),
        ({"parameters": {3: None}}, TypeError, "must be strings, got int"),
        ({"parameters": {"g": [1]}}, TypeError, "parameter 'g' must be .*got list"),
        (
            {"outputs": [t(G, dtype=DType.int8)], "parameters": {"g": True}},
            TypeError,
            "output 0.*a parameter in a size must be an int, got bool for 'g'",
        ),
        (
            {"inputs": {"x": t(G)}, "parameters": {"g": "4"}},
            TypeError,
            "input 'x'.*a parameter in a size must be an int, got str for 'g'",
        ),
        (
            {"inputs": {"x": t(G - 3)}, "parameters": {"g": 2}},
            TypeError,
            r"input 'x' of 'sig.mix' must not have negative sizes, got \[-1\]",
        ),
        ({"name": "sig.mixx"}, ValueError, r"got 'sig.mixx'.*names like it: sig\.mix"),
        ({"name": 3}, TypeError, "name must be a string, got int"),
        (
            {"custom_extensions": ["kernels.mojopkg"]},
            NotImplementedError,
            r"'sig.mix'.*Write the kernel in JAX.*maxlite\.custom\.declare",
        ),
        ({"fn": mix}, TypeError, "got arguments of both"),
        ({"rule": mix}, TypeError, "got arguments of both"),
        ({"inplace": (0,)}, TypeError, "got arguments of both"),
        ({"inputs": None}, TypeError, "must have inputs and outputs, got no inputs"),
        ({"outputs": None}, TypeError, "must have inputs and outputs, got no outputs"),
    ],
)
def test_a_signature_is_checked(change, error, message):
    given: dict[str, Any] = {
        **{"name": "sig.mix", "inputs": {"x": F32, "y": F32}, "outputs": [F32]},
        **change,
    }
    with pytest.raises(error, match=f"declare: .*{message}"):
        declare(**given)


@pytest.mark.parametrize(
    "options", [{"parameters": {}}, {"custom_extensions": ["kernels.mojopkg"]}]
)
def test_parameters_come_with_a_signature(options):
    with pytest.raises(TypeError, match=r"declare: .*got neither inputs nor outputs"):
        declare("sig.mix", **options)  # type: ignore[call-overload]


def test_a_function_that_writes_has_no_signature():
    declare("sig.writer", lambda x: x, inplace=(0,))
    with pytest.raises(ValueError, match=r"'sig.writer', which writes to \[0\]"):
        declare("sig.writer", inputs={"x": F32}, outputs=[F32])


def test_symbols_of_one_name_are_one_in_a_signature():
    same = op("mix", {"x": t(Symbol("n")), "y": t(Symbol("n"))}, [t(Symbol("n"))])
    assert same == MIX
