"""Declared functions with a signature: how they are called, where they run."""

import copy
import inspect
import pickle
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maxlite import compile, load
from maxlite import functional as F
from maxlite.custom import CustomOp, DTypeVar, Param, Symbols, TemplateType, declare
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph import DeviceRef, Dim, Graph, TensorType, TensorValue
from maxlite.sharding import AxisAssignment, Replicated, Sharded, TensorLayout
from maxlite.tensor import Tensor
from tests.functional._cross import check, check_sharded, place

T = DTypeVar("T")
N, M, K = Symbols("n", "m", "k")
GRID = np.arange(12, dtype=np.float32).reshape(4, 3)
LINE = np.array([1.0, 2.0, 4.0], np.float32)


def rows_rule(operands: Any, parameters: Any, n: int) -> list[AxisAssignment]:
    whole, rows = Replicated(), Sharded(0)
    count = len(operands)
    return [AxisAssignment((p,) * count, (p,)) for p in (whole, rows)]


@declare("op.mix", rule=rows_rule)
def mix(x: jax.Array, y: jax.Array, *, scale: float = 1) -> jax.Array:
    """Adds y to scaled x."""
    return (x * scale + y).astype(x.dtype)


@declare("op.ends")
def ends(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    return x[0], jnp.argmax(x, axis=0)


@declare("op.repeat")
def repeat(x: jax.Array, *, times: int) -> jax.Array:
    return jnp.tile(x, times)


@declare("op.product")
def product(x: jax.Array, y: jax.Array) -> jax.Array:
    return x @ y


@declare("op.first_half")
def first_half(x: jax.Array) -> jax.Array:
    return x[: x.shape[0] // 2]


def op(name: str, inputs: Any, outputs: Any, **parameters: Any) -> CustomOp:
    return declare(
        f"op.{name}", inputs=inputs, outputs=outputs, parameters=parameters or None
    )


def t(*shape: Any, dtype: Any = T) -> TemplateType:
    return TemplateType(dtype, shape)


MIX = op("mix", {"x": t(N), "y": t(N)}, [t(N)])
ENDS = op("ends", {"x": t(N, M)}, [t(M), t(M, dtype=DType.int64)])
REPEAT = op("repeat", {"x": t(N)}, [t(N * Param("times"))], times=2)
PRODUCT = op("product", {"x": t(N, K), "y": t(K, M)}, [t(N, M)])
HALF = op("first_half", {"x": t(N)}, [t(N // 2)])

# Calls ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bfloat16"])
def test_it_is_called_like_an_op_on_tensors(dtype):
    x = LINE.astype(jnp.dtype(dtype))
    check(MIX, x, x, want=x + x)


def test_inputs_are_given_by_position_or_by_name():
    x, y = Tensor(LINE), Tensor(LINE * 10)
    twice = MIX[{"scale": 2.0}]
    for result in (twice(x, y), twice(x, y=y), twice(y=y, x=x)):
        assert isinstance(result, Tensor)
        assert result.to_numpy().tolist() == [12.0, 24.0, 48.0]


def test_names_of_inputs_are_the_declarations_own():
    odd = op("mix", {"self": t(N), "not a word": t(N)}, [t(N)])
    x = Tensor(LINE)
    assert odd(self=x, **{"not a word": x}).to_numpy().tolist() == [2.0, 4.0, 8.0]


def test_several_outputs_make_a_list():
    found = ENDS(Tensor(GRID))
    assert isinstance(found, list)
    check(ENDS, GRID, want=(GRID[0], GRID.argmax(0)))


def test_symbols_bind_over_all_inputs():
    check(PRODUCT, GRID, GRID.T.copy(), want=GRID @ GRID.T)
    square = op("ends", {"x": t(N, N)}, [t(N), t(N, dtype=DType.int64)])
    check(square, GRID[:3], want=(GRID[0], GRID[:3].argmax(0)))


@pytest.mark.parametrize("size", [0, 1, 4, 5])
def test_sizes_of_outputs_are_computed(size):
    x = np.arange(size, dtype=np.float32)
    check(HALF, x, want=x[: size // 2])


def test_a_size_may_be_a_number():
    three = op("mix", {"x": t(3), "y": t(3)}, [t(3)])
    check(three, LINE, LINE, want=LINE * 2, named=False)


def test_a_scalar_has_no_sizes():
    scalar = op("mix", {"x": t(), "y": t()}, [t()])
    check(scalar, np.float32(3)[...], np.float32(4)[...], want=np.float32(7)[...])


def test_a_size_that_no_input_has_is_what_the_function_gives():
    declare("op.positive", lambda x: x[:2])
    some = op("positive", {"x": t(N)}, [t(M)])
    check(some, LINE, want=LINE[:2], named=False)
    layout = TensorLayout(DType.float32, ["n"], CPU())
    with pytest.raises(NotImplementedError, match=r"op\.positive: outputs.*got m\."):
        compile(some)(layout)


def test_sizes_that_only_values_tell_are_known_in_eager_code():
    """Both results of nonzero have two rows, under names of their own until then."""
    with F.lazy():
        found = [F.nonzero(Tensor([1.0, 0.0, 2.0])) for _ in range(2)]
    pair = op("mix", {"x": t(N, 1), "y": t(N, 1)}, [t(N, 1)])
    assert pair(*found).to_numpy().tolist() == [[0], [4]]


# Programs ---------------------------------------------------------------------------


def test_named_sizes_of_a_program_flow_through():
    layout = TensorLayout(DType.float32, ["n", "k"], CPU())
    other = TensorLayout(DType.float32, ["k", "m"], CPU())
    program = compile(lambda x, y: PRODUCT(x, y) + 1)(layout, other)
    assert program.out_layouts[0].shape == ["n", "m"]
    assert program(Tensor(GRID), Tensor(GRID.T.copy())).shape == [4, 4]
    line = TensorLayout(DType.float32, ["n"], CPU())
    program = compile(lambda x: (REPEAT(x), HALF(REPEAT(x))))(line)
    assert [x.shape for x in program.out_layouts] == [[Dim("n") * 2], ["n"]]
    assert program(Tensor(LINE))[1].to_numpy().tolist() == LINE.tolist()


def test_names_of_a_program_are_never_those_of_the_op():
    """The program's m goes in for n, and its n for m."""
    layout = TensorLayout(DType.float32, ["m", "n"], CPU())
    program = compile(ENDS)(layout)
    assert [x.shape for x in program.out_layouts] == [["n"], ["n"]]


def test_a_program_is_checked_when_it_is_traced():
    n, m = (TensorLayout(DType.float32, [name], CPU()) for name in "nm")
    with pytest.raises(
        ValueError, match="must have size n at axis 0, which is n at ax"
    ):
        compile(MIX)(n, m)
    program = compile(lambda x, y: MIX(x, F.rebind(y, x.shape)))(n, m)
    assert program(Tensor(LINE), Tensor(LINE)).to_numpy().tolist() == [2.0, 4.0, 8.0]


def test_values_of_an_open_graph_are_operands():
    kind = TensorType(DType.float32, ["n"], DeviceRef.CPU())
    with Graph("g", input_types=[kind, kind]) as graph:
        x, y = (value.tensor for value in graph.inputs)
        result = MIX(x, y=y)
        assert isinstance(result, TensorValue)
        assert result.shape == ["n"]
        assert isinstance(REPEAT(x), TensorValue)
        with pytest.raises(ValueError, match="must have rank 2"):
            PRODUCT(x, y)
        graph.output(result)


def test_a_program_in_a_file_has_the_name_of_the_function(tmp_path):
    path = tmp_path / "c.mef"
    compile(REPEAT)(TensorLayout(DType.float32, ["n"], CPU())).export_mef(path)
    assert load(path)(Tensor([1.0, 2.0])).to_numpy().tolist() == [1.0, 2.0] * 2


# Devices ----------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["R", "S0", "S0 R", "S0 S0"])
def test_on_a_mesh_it_lies_as_the_rows_of_the_function_say(given):
    two = op("mix", {"x": t(N, M), "y": t(N, M)}, [t(N, M)])
    grid = np.arange(16, dtype=np.float32).reshape(4, 4)
    check_sharded(two, (grid, given), (grid, given), lands=given)


def test_sizes_on_a_mesh_are_the_global_ones():
    four = op("mix", {"x": t(4, N), "y": t(4, N)}, [t(4, N)])
    check_sharded(four, (GRID, "S0"), (GRID, "S0"), lands="S0")
    assert four(place(GRID, "R"), Tensor(GRID)).placements == (Replicated(),)


def test_it_runs_where_its_first_operand_is():
    x = Tensor(LINE, device=CPU(1))
    assert MIX(x, Tensor(LINE)).device == CPU(1)
    assert MIX(Tensor(LINE), x).device == CPU(0)


# Parameters -------------------------------------------------------------------------


def test_parameters_reach_the_function_and_the_sizes():
    check(REPEAT, LINE, want=np.tile(LINE, 2))
    check(REPEAT[{"times": 3}], LINE, want=np.tile(LINE, 3))


def test_a_parameter_may_be_the_size_of_an_input():
    pinned = op("repeat", {"x": t(Param("times") + 1)}, [t(6)], times=2)
    assert pinned(Tensor(LINE)).shape == [6]
    with pytest.raises(
        ValueError, match=r"size 3 at axis 0, which is Param\('times'\)"
    ):
        pinned(Tensor([1.0, 2.0]))
    assert str(pinned.inputs["x"]) == "T[3]"
    assert str(pinned.declared_inputs["x"]) == "T[Param('times') + 1]"


@pytest.mark.parametrize("parameters", [{}, {"times": None}])
def test_an_op_is_complete_when_every_parameter_has_a_value(parameters):
    open_ = op("repeat", {"x": t(N)}, [t(N * Param("times"))], **parameters)
    assert not open_.is_complete
    with pytest.raises(
        ValueError, match=r"op\.repeat: every parameter.*none for times"
    ):
        open_(Tensor(LINE))
    filled = open_[{"times": 2}]
    assert filled.is_complete
    assert filled == REPEAT
    assert filled(Tensor(LINE)).shape == [6]
    assert not filled[{"times": None}].is_complete
    assert dict(open_.parameters) == parameters


def test_a_parameter_that_is_in_no_size_is_waited_for_as_well():
    waiting = op("mix", {"x": t(N), "y": t(N)}, [t(N)], scale=None)
    with pytest.raises(ValueError, match="none for scale"):
        waiting(Tensor(LINE), Tensor(LINE))


# Values -----------------------------------------------------------------------------


def test_ops_that_are_declared_alike_are_equal():
    again = op("repeat", {"x": t(N)}, [t(N * Param("times"))], times=2)
    others = [
        REPEAT[{"times": 3}],
        op("repeat", {"y": t(N)}, [t(N * Param("times"))], times=2),
        op("repeat", {"x": t(M)}, [t(M * Param("times"))], times=2),
        op("repeat", {"x": t(N)}, [t(N * 2)], times=2),
    ]
    assert again == REPEAT
    assert hash(again) == hash(REPEAT)
    assert again.token == REPEAT.token
    assert len({REPEAT.token, *(other.token for other in others)}) == 5
    assert all(other != REPEAT for other in others)
    assert REPEAT != 3
    one, true = (MIX[{"scale": value}] for value in (1, True))
    assert one != true


def test_it_survives_copies_and_pickles():
    assert pickle.loads(pickle.dumps(REPEAT)) == REPEAT == copy.deepcopy(REPEAT)


def test_its_token_is_the_same_in_every_process():
    code = """
from maxlite.custom import *
from maxlite.dtype import DType
declare("k", lambda x: x)
n = Symbol("n")
same = TemplateType(DType.int8, [n])
print(declare("k", inputs={"x": same}, outputs=[same], parameters={"g": 1.5}).token)
"""
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
            env={"PYTHONHASHSEED": seed, "JAX_PLATFORMS": "cpu"},
        ).stdout
        for seed in "12"
    ]
    assert runs[0] == runs[1]
    assert runs[0].startswith("k#")


def test_it_cannot_be_changed():
    with pytest.raises(AttributeError, match="cannot assign"):
        MIX.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError, match="does not support item assignment"):
        MIX.inputs["z"] = t(N)  # type: ignore[index]
    inputs = {"x": t(N), "y": t(N)}
    made = op("mix", inputs, [t(N)])
    del inputs["y"]
    assert list(made.inputs) == ["x", "y"]


def test_it_shows_its_signature():
    assert repr(REPEAT) == "<CustomOp op.repeat[times=2](x: T[n]) -> T[n * 2]>"
    assert repr(ENDS) == "<CustomOp op.ends(x: T[n, m]) -> T[m], int64[m]>"
    shown = inspect.signature(MIX)
    assert list(shown.parameters) == ["x", "y"]
    assert shown.return_annotation is Tensor
    assert inspect.signature(ENDS).return_annotation == list[Tensor]
    assert inspect.getdoc(MIX) == "Adds y to scaled x."
    assert "immutable" in (inspect.getdoc(REPEAT) or "")
    odd = op("ends", {"in": t(N)}, [t(), t(dtype=DType.int64)])
    assert list(inspect.signature(odd).parameters) == ["operands", "named"]


def test_it_is_no_sequence():
    with pytest.raises(TypeError, match="not iterable"):
        list(MIX)  # type: ignore[call-overload]


def test_a_name_declared_anew_means_the_new_function():
    declare("op.renewed", lambda x: x + 1)
    renewed = op("renewed", {"x": t(N)}, [t(N)])
    declare("op.renewed", lambda x: x + 10)
    assert renewed(Tensor([1.0])).item() == 11
