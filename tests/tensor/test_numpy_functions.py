"""numpy's functions and operators with a tensor among their operands."""

import operator
from typing import Any

import numpy as np
import pytest

from maxlite import functional as F
from maxlite._op_table import fronts
from maxlite.compilation import compile
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import DeviceMapping, Sharded, TensorLayout
from maxlite.tensor import Tensor
from maxlite.tensor._numpy_functions import _FRONTS, _OPERATORS
from tests.sharding.meshes import cpu_mesh

MESH = cpu_mesh(2)

X = np.array([1.0, 2.0, 4.0], np.float32)
Y = np.array([3.0, -2.0, 0.5], np.float32)
N = np.array([5, -6, 12], np.int32)


def pending(data):
    with F.lazy():
        return Tensor(data) + 0


def test_every_name_in_the_tables_is_there():
    assert F
    for name in (*_OPERATORS, *_FRONTS):
        assert getattr(np, name).__name__ == name
    assert set(_FRONTS.values()) <= set(fronts)
    for _, reflected in _OPERATORS.values():
        assert hasattr(Tensor, reflected or "__neg__")


# Operators and ufuncs --------------------------------------------------------------

BINARY = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
]
BITS = ["and_", "or_", "xor", "lshift", "rshift"]


@pytest.mark.parametrize("name", BINARY)
def test_an_array_may_stand_on_either_side(name):
    apply = getattr(operator, name)
    for lhs, rhs in ((X, Tensor(Y)), (Tensor(X), Y), (np.float32(3), Tensor(Y))):
        result = apply(lhs, rhs)
        assert isinstance(result, Tensor)
        expected = apply(np.asarray(lhs), np.asarray(rhs))
        np.testing.assert_allclose(result.to_numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("name", BITS)
def test_an_array_of_integers_may_stand_on_either_side(name):
    apply, shift = getattr(operator, name), np.array([1, 2, 3], np.int32)
    for result in (apply(N, Tensor(shift)), apply(Tensor(N), shift)):
        assert isinstance(result, Tensor)
        np.testing.assert_array_equal(result.to_numpy(), apply(N, shift), strict=True)


def test_divmod_may_have_an_array_on_either_side():
    for pair in (divmod(X, Tensor(Y)), divmod(Tensor(X), Y)):
        for part, expected in zip(pair, divmod(X, Y), strict=True):
            assert part.to_numpy().tolist() == expected.tolist()


def test_a_product_takes_an_array_on_either_side():
    for product in (X @ Tensor(X), Tensor(X) @ X, np.matmul(X, Tensor(X))):
        assert isinstance(product, Tensor)
        assert product.item() == 21.0
    assert np.matmul(Tensor(X), Tensor(X)).item() == 21.0


@pytest.mark.parametrize(
    "name",
    [
        "negative",
        "absolute",
        "exp",
        "sqrt",
        "tanh",
        "floor",
        "rint",
        "isnan",
        "isinf",
        "arccos",
    ],
)
def test_a_ufunc_of_one_operand_is_the_op_of_that_meaning(name):
    ufunc, data = getattr(np, name), np.array([0.25, 0.5, 1.0], np.float32)
    result = ufunc(Tensor(data))
    assert isinstance(result, Tensor)
    np.testing.assert_allclose(result.to_numpy(), ufunc(data), rtol=1e-6)


def test_a_ufunc_is_recorded_like_any_op():
    with F.lazy():
        x: Any = np.exp(np.add(Tensor(X), 1))
    assert not x.real
    np.testing.assert_allclose(x.to_numpy(), np.exp(X + 1), rtol=1e-6)
    program = compile(lambda x: np.maximum(x, 2))(
        TensorLayout(DType.float32, ["n"], CPU())
    )
    assert program(Tensor(X)).to_numpy().tolist() == [2.0, 2.0, 4.0]


def test_a_ufunc_keeps_a_tensor_where_it_lies():
    x: Any = Tensor([1.0, 4.0], device=DeviceMapping(MESH, (Sharded(0),)))
    assert np.sqrt(x).placements == (Sharded(0),)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda x: np.heaviside(x, 1), r"np\.heaviside: .* Use np\.asarray\(x\)"),
        (lambda x: np.modf(x), r"np\.modf: the operands must be arrays"),
        (lambda x: np.add.reduce(x), r"np\.add\.reduce: .* maxlite\.functional"),
        (lambda x: np.add.outer(x, x), r"np\.add\.outer: .* or np\.asarray"),
        (lambda x: np.exp(x, dtype=np.float64), r"np\.exp: .* a call with dtype="),
        (lambda x: operator.iadd(X.copy(), x), r"np\.add: .* a call with out="),
    ],
)
def test_what_no_op_does_is_refused_in_words(use, words):
    with pytest.raises(TypeError, match=words):
        use(Tensor(X))


# Other functions --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (np.sum, 7.0),
        (np.max, 4.0),
        (lambda x: np.mean(x, axis=0), 7 / 3),
        (np.argmax, 2),
        (lambda x: np.concatenate([x, X]), [1, 2, 4, 1, 2, 4]),
        (lambda x: np.stack((x, x), axis=1), [[1, 1], [2, 2], [4, 4]]),
        (lambda x: np.where(x > 1, x, 0), [0, 2, 4]),
        (lambda x: np.reshape(x, (3, 1)), [[1], [2], [4]]),
        (lambda x: np.clip(x, 2, 3), [2, 2, 3]),
        (np.squeeze, [1, 2, 4]),
        (lambda x: np.interp(x, xp=x, fp=x), [1, 2, 4]),
    ],
)
def test_other_functions_read_tensors_as_arrays(use, expected):
    for x in (Tensor(X), pending(X)):
        result: Any = use(x)
        np.testing.assert_allclose(result, expected, rtol=1e-6)
        assert isinstance(result, np.ndarray | np.generic)


def test_comparing_functions_and_sizes_read_tensors_too():
    x: Any = Tensor(X).to(MESH)
    assert np.allclose(x, X)
    assert np.array_equal(X, x)
    assert (np.shape(x), np.ndim(x), np.size(x)) == ((3,), 1, 3)
    np.testing.assert_allclose(x, X)
    np.testing.assert_array_equal(X, x)


def test_a_function_cannot_write_to_a_tensor():
    x = Tensor(X)
    with pytest.raises(ValueError, match="read-only"):
        np.copyto(x, Y)
    assert x.to_numpy().tolist() == X.tolist()
