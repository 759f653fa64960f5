"""Declared functions as ops: what they take, what they must give, where they run."""

import math
import subprocess
import sys
import textwrap
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl

from maxlite import as_subgraph, compile, load
from maxlite import functional as F
from maxlite.custom import declare
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph import DeviceRef, TensorType
from maxlite.sharding import TensorLayout
from maxlite.tensor import Tensor
from tests.functional._cross import check

GRID = np.arange(12, dtype=np.float32).reshape(4, 3)


@declare("test.affine")
def affine(x: jax.Array, y: jax.Array, *, scale: float = 1.0) -> jax.Array:
    return x * scale + y


@declare("test.both_ends")
def both_ends(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jnp.min(x, axis=0), jnp.argmax(x, axis=0)


@declare("test.twice_as_long")
def twice_as_long(x: jax.Array) -> jax.Array:
    return jnp.concatenate([x, x])


def call(name: str, *values: Tensor, to: Any = None, **parameters: Any) -> Tensor:
    """Calls a function of one result, of the type of the first value by default."""
    stated = values[0].type if to is None else to
    (result,) = F.custom(name, CPU(), values, [stated], parameters or None)
    return result


def of(dtype: DType, *shape: Any) -> TensorType:
    return TensorType(dtype, shape, DeviceRef.CPU())


# Calls ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "bfloat16"])
def test_a_function_is_an_op_like_any_other(dtype):
    x = GRID.astype(jnp.dtype(dtype))
    declare("test.first_two_swapped", lambda x, y: (y, x))

    def swapped(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        types = [x.type, y.type]
        return tuple(F.custom("test.first_two_swapped", CPU(), [x, y], types))

    check(swapped, x, x[::-1].copy(), want=(x[::-1], x))


@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (2, 1, 3)])
def test_a_function_takes_any_shape(shape):
    x = np.full(shape, 3, np.float32)
    check(lambda x: call("test.affine", x, x, scale=2.0), x, want=x * 3)


def test_several_results_have_types_of_their_own():
    def ends(x: Tensor) -> tuple[Tensor, ...]:
        types = [of(DType.float32, x.shape[1]), of(DType.int64, x.shape[1])]
        return tuple(F.custom("test.both_ends", CPU(), [x], types))

    check(ends, GRID, want=(GRID.min(0), GRID.argmax(0)))


def test_sizes_of_results_may_be_computed_from_names():
    def long(x: Tensor) -> Tensor:
        return call("test.twice_as_long", x, to=of(DType.float32, x.shape[0] * 2, 3))

    check(long, GRID, want=np.concatenate([GRID, GRID]))


def test_a_name_that_no_value_has_is_the_size_that_the_function_gives():
    x = Tensor(GRID)
    assert call("test.twice_as_long", x, to=of(DType.float32, "n", "m")).shape == [8, 3]
    program = compile(
        lambda x: call("test.twice_as_long", x, to=of(DType.float32, "n", "m"))
    )(x.layout)
    assert program.out_layouts[0].shape == [8, 3]
    with pytest.raises(ValueError, match=r"float32\[8, 3\] for float32\[8, 8\]"):
        call("test.twice_as_long", x, to=of(DType.float32, "n", "n"))


def test_64_bit_numbers_stay_exact():
    x = np.array([2**40 + 5])
    declare("test.next", lambda x: x + 1)
    check(lambda x: call("test.next", x), x, want=x + 1)


def test_what_stands_around_a_call_is_compiled_with_it():
    def around(x: Tensor) -> Tensor:
        return as_subgraph(lambda x: call("test.affine", x + 1, x, scale=2.0))(x) * 2

    program = compile(around)(TensorLayout(DType.float32, ["n"], CPU()))
    assert program(Tensor([1.0, 2.0])).to_numpy().tolist() == [10.0, 16.0]


def test_a_function_of_no_values_is_called_with_parameters_alone():
    declare("test.ramp", lambda *, length: jnp.arange(length, dtype=jnp.float32))

    def ramp() -> Tensor:
        types = [of(DType.float32, 3)]
        (result,) = F.custom("test.ramp", CPU(), [], types, parameters={"length": 3})
        return result

    check(ramp, want=np.arange(3, dtype=np.float32))


def test_a_pallas_kernel_is_called_in_a_program():
    """A grid of two blocks of rows, each scaled and added to its neighbour."""

    def kernel(x: Any, y: Any, out: Any) -> None:
        out[...] = x[...] * 2 + y[...]

    @declare("test.pallas_add")
    def pallas_add(x: jax.Array, y: jax.Array) -> jax.Array:
        rows = pl.BlockSpec((x.shape[0] // 2, x.shape[1]), lambda i: (i, 0))
        return pl.pallas_call(
            kernel,
            grid=(2,),
            in_specs=[rows, rows],
            out_specs=rows,
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            interpret=True,
        )(x, y)

    check(lambda x, y: call("test.pallas_add", x, y), GRID, GRID, want=GRID * 3)


# Parameters -------------------------------------------------------------------------


def test_parameters_come_as_they_were_passed():
    seen: list[dict[str, Any]] = []

    @declare("test.recorder")
    def recorder(x: jax.Array, **parameters: Any) -> jax.Array:
        seen.append(parameters)
        return x

    given: dict[str, Any] = {
        **{"b": True, "i": 3, "f": 0.1, "s": "word", "d": DType.bfloat16},
        **{"inf": math.inf, "big": 2**70},
    }
    call("test.recorder", Tensor([1.0]), **given)
    assert seen[-1] == given
    assert [type(seen[-1][k]) for k in "bifsd"] == [bool, int, float, str, DType]


def test_parameters_that_are_equal_in_python_are_not_confused():
    x = Tensor([8.0])
    declare("test.kind", lambda x, *, k: x * 0 + len(type(k).__name__))
    answers = [call("test.kind", x, k=k).item() for k in (1, True, 1.0, "1")]
    assert answers == [3, 4, 5, 3]
    declare("test.sign", lambda x, *, k: x * math.copysign(1, k))
    assert [call("test.sign", x, k=k).item() for k in (0.0, -0.0)] == [8, -8]


def test_a_function_is_traced_once_per_kind_of_call():
    traced: list[Any] = []

    @declare("test.counted")
    def counted(x: jax.Array, *, k: float) -> jax.Array:
        traced.append(k)
        return x * k

    call("test.counted", Tensor([1.0]), k=math.nan)
    before = len(traced)
    for _ in range(3):
        declare("test.counted", counted)
        call("test.counted", Tensor([2.0]), k=math.nan)
    assert len(traced) == before
    call("test.counted", Tensor([1.0, 2.0]), k=math.nan)
    assert len(traced) > before


# Declaring --------------------------------------------------------------------------


def test_declare_gives_the_function_back():
    assert affine(jnp.ones(1), jnp.ones(1)).shape == (1,)

    def plain(x: jax.Array) -> jax.Array:
        return x

    assert declare("test.plain", plain) is plain


def test_a_name_declared_anew_means_the_new_function_from_then_on():
    declare("test.renewed", lambda x: x + 1)
    x = Tensor([1.0])
    program = compile(lambda x: call("test.renewed", x))(x.layout)
    assert call("test.renewed", x).item() == 2
    declare("test.renewed", lambda x: x + 10)
    assert call("test.renewed", x).item() == 11
    with F.lazy():
        pending = call("test.renewed", x)
    assert pending.item() == 11
    assert program(x).item() == 2


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((3,), {}, TypeError, "name must be a string, got int"),
        (("",), {}, ValueError, "name must not be empty"),
        (("t", 3), {}, TypeError, "fn of 't' must be a function, got int"),
        (("t",), {"rule": 3}, TypeError, "rule of 't' must be a function, got int"),
        (("t",), {"inplace": 0}, TypeError, "must list positions, got int"),
        (("t",), {"inplace": [True]}, TypeError, "must list ints, got bool"),
        (("t",), {"inplace": [-1]}, ValueError, r"from 0 on, got \(-1,\)"),
        (("t",), {"inplace": [1, 1]}, ValueError, r"different positions.*\(1, 1\)"),
    ],
)
def test_a_declaration_is_checked(arguments, options, error, message):
    with pytest.raises(error, match=f"declare: .*{message}"):
        declare(*arguments, **options)


# Errors -----------------------------------------------------------------------------

X = Tensor([1.0, 2.0])


def test_an_unknown_name_is_refused_and_near_ones_are_listed():
    with pytest.raises(ValueError, match=r"got 'test.affin'\..*Declared.*test\.affine"):
        call("test.affin", X)
    with pytest.raises(ValueError, match=r"got 'zzz'.*import the module that does\.$"):
        call("zzz", X)


def test_packages_of_mojo_kernels_are_refused():
    with pytest.raises(NotImplementedError, match=r"maxlite\.custom\.declare"):
        F.custom("test.affine", CPU(), [X, X], [X.type], None, ["kernels.mojopkg"])
    assert F.custom("test.affine", CPU(), [X, X], [X.type], custom_extensions=[])


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ([of(DType.float32, 3)], r"got float32\[2\] for float32\[3\] as result 0"),
        ([of(DType.float32, 2, 1)], r"got float32\[2\] for float32\[2, 1\]"),
        ([of(DType.int32, 2)], r"got float32\[2\] for int32\[2\]"),
        ([of(DType.float32, 2)] * 2, "must return 2 arrays.*got 1"),
    ],
)
def test_what_the_function_gives_is_compared_with_what_is_stated(stated, message):
    with pytest.raises(ValueError, match=rf"test\.affine: .*{message}"):
        F.custom("test.affine", CPU(), [X, X], stated)


def test_named_sizes_are_compared_when_they_are_known():
    declare("test.at_most_two", lambda x: x[:2])
    program = compile(lambda x: call("test.at_most_two", x))(
        TensorLayout(DType.float32, ["n"], CPU())
    )
    assert program(Tensor([1.0, 2.0])).shape == [2]
    with pytest.raises(ValueError, match=r"got float32\[2\] for float32\[3\]"):
        program(Tensor([1.0, 2.0, 3.0]))


def test_a_function_returns_arrays():
    declare("test.nothing", lambda x: None)
    with pytest.raises(TypeError, match="must return arrays, got NoneType as result 0"):
        call("test.nothing", X)


def test_an_error_of_the_function_says_where_it_was_declared():
    declare("test.failing", lambda x: {}[x.ndim])
    with pytest.raises(KeyError) as caught:
        call("test.failing", X)
    (first, *_) = caught.value.__notes__
    assert first == "in the function that is declared as 'test.failing'"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"name": 3}, TypeError, "name must be a string, got int"),
        ({"values": [3.0]}, TypeError, r"values\[0\] must be a Tensor, got float"),
        ({"out_types": []}, ValueError, "out_types must state at least one result"),
        ({"out_types": X.type}, TypeError, "out_types must be a sequence"),
        ({"out_types": [X]}, TypeError, r"out_types\[0\] must be a TensorType, got Te"),
        (
            {"out_types": [TensorType(DType.float32, [2], DeviceRef.CPU(1))]},
            ValueError,
            r"out_types\[0\] must be on the device of the call, got cpu:1 and cpu:0",
        ),
        ({"device": "cpu"}, TypeError, "device must be a Device or DeviceRef, got str"),
        ({"parameters": [1]}, TypeError, "parameters must be a mapping, got list"),
        ({"parameters": {1: 2}}, TypeError, "must be strings, got int"),
        ({"parameters": {"k": [1]}}, TypeError, "parameter 'k' must be.* got list"),
    ],
)
def test_arguments_are_checked(change, error, message):
    given: dict[str, Any] = {
        **{"name": "test.affine", "device": CPU()},
        **{"values": [X, X], "out_types": [X.type]},
    }
    with pytest.raises(error, match=f"custom: .*{message}"):
        F.custom(**{**given, **change})


# Files ------------------------------------------------------------------------------


def scaled(x: Tensor) -> Tensor:
    return call("test.affine", x, x, scale=0.5)


def test_a_program_in_a_file_finds_the_function_by_its_name(tmp_path):
    path = tmp_path / "c.mef"
    compile(scaled)(TensorLayout(DType.float32, ["n"], CPU())).export_mef(path)
    again = load(path)
    assert again(Tensor([2.0, 4.0])).to_numpy().tolist() == [3.0, 6.0]
    loading = f"program = load({str(path)!r})"
    code = f"""
        import numpy as np
        from maxlite import Tensor, load
        from maxlite.custom import declare
        try:
            {loading}
        except ImportError as error:
            print(error)
        declare("test.affine", lambda x, y, *, scale: x - y + scale)
        {loading}
        print(program(Tensor([2.0, 4.0])).to_numpy().tolist())
        declare("test.affine", lambda x, y, *, scale: x[:1])
        {loading}
        try:
            program(Tensor([2.0, 4.0]))
        except ValueError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    refused, answer, mistaken = done.stdout.splitlines()
    assert "custom function 'test.affine', which this process has not" in refused
    assert answer == "[0.5, 0.5]"
    assert "got float32[1] for float32[2] as result 0" in mistaken


# Devices ----------------------------------------------------------------------------


def test_it_runs_on_the_device_that_is_named_and_values_are_moved_there():
    there = TensorType(DType.float32, [2], DeviceRef.CPU(1))
    values = [X, X.to(CPU(1))]
    for device in (CPU(1), DeviceRef.CPU(1)):
        (result,) = F.custom("test.affine", device, values, [there])
        assert result.device == CPU(1)
        assert result.to_numpy().tolist() == [2.0, 4.0]
