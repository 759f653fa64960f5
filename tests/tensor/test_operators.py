"""Every method of Tensor that is an op finds its function, and means what it says."""

import ast
import importlib
import inspect

import numpy as np
import pytest

from maxlite import functional as F
from maxlite._op_table import fronts
from maxlite.dtype import DType
from maxlite.graph import Dim
from maxlite.tensor import Tensor, _constructors, _operators

assert F  # filling the table is what importing it does


def names_used(module):
    """Lists each name in ``fronts["name"]``, as the source has it."""
    tree = ast.parse(inspect.getsource(module))
    return sorted(
        {
            node.slice.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Subscript)
            and ast.unparse(node.value) == "fronts"
            and isinstance(node.slice, ast.Constant)
        }
    )


@pytest.mark.parametrize(
    "name", [*names_used(_operators), *names_used(_constructors)], ids=str
)
def test_every_name_is_a_function_with_an_op_behind_it(name):
    function = fronts[name]
    assert function.__name__ == name
    room = importlib.import_module(function.__module__)
    assert function.__module__.startswith("maxlite.functional.")
    assert getattr(room, name) is function


def test_the_names_are_found_in_the_source():
    assert {"add", "slice_tensor", "move"} <= set(names_used(_operators))
    assert {"full", "from_dlpack"} <= set(names_used(_constructors))


OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!="]

X = np.array([[1.0, -2.0], [3.0, 4.5]], np.float32)
Y = np.array([[2.0, 2.0], [-3.0, 0.5]], np.float32)


@pytest.mark.parametrize(
    "expression",
    [
        "x + y",
        "x - y",
        "x * y",
        "x / y",
        "x // y",
        "x % y",
        "abs(x) ** y",
        "x @ y",
        "-x",
        "abs(x)",
        "x == y",
        "x != y",
        "x < y",
        "x <= y",
        "x > y",
        "x >= y",
        "(x > y) & (x > 0)",
        "(x > y) | (x > 0)",
        "(x > y) ^ (x > 0)",
        "~(x > y)",
        "divmod(x, y)[0]",
        "divmod(x, y)[1]",
        "+x",
        "len(x)",
        "len(x[0])",
        "x[0]",
        "x.T",
    ],
)
def test_an_operator_means_what_it_means_in_numpy(expression):
    want = eval(expression, {"x": X, "y": Y})
    got = eval(expression, {"x": Tensor(X), "y": Tensor(Y)})
    if isinstance(got, Tensor):
        got = got.to_numpy()
    np.testing.assert_allclose(got, want, rtol=1e-6, strict=isinstance(got, np.ndarray))


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "number", [2, 2.0, np.float32(2), np.full((2, 2), 2.0), Dim(2)]
)
def test_a_number_an_array_or_a_dim_may_stand_on_either_side(operator, number):
    plain = 2.0 if isinstance(number, Dim) else number
    x = abs(X)
    sides = [f"x {operator} n", f"n {operator} x"]
    if isinstance(number, Dim) and operator in ("==", "!="):
        sides.pop()  # a Dim on the left compares itself
    for expression in sides:
        want = eval(expression, {"x": x, "n": plain})
        got = eval(expression, {"x": Tensor(x), "n": number})
        np.testing.assert_allclose(got.to_numpy(), want, rtol=1e-6)
        assert got.dtype.name in ("float32", "bool")


@pytest.mark.parametrize("expression", ["True & x", "x | False", "1 ^ x"])
def test_a_bool_may_stand_beside_bools(expression):
    data = np.array([True, False])
    want = eval(expression, {"x": data}).astype(bool)
    got = eval(expression, {"x": Tensor(data)})
    np.testing.assert_array_equal(got.to_numpy(), want, strict=True)


@pytest.mark.parametrize("expression", ["x == None", "x + 'a'", "x * [1.0]", "x < {}"])
def test_other_operands_are_refused(expression):
    with pytest.raises(TypeError, match="an operand must be a Tensor, a number"):
        eval(expression, {"x": Tensor(X)})


@pytest.mark.parametrize(
    "expression",
    ["x & y", "x | y", "x ^ y", "~x", "x << y", "x >> y", "x & 6", "6 ^ x", "1 << y"],
)
def test_integers_have_operators_on_their_bits(expression):
    integers = {"x": np.array([12, -5], np.int32), "y": np.array([3, 2], np.int32)}
    tensors = {name: Tensor(value) for name, value in integers.items()}
    want, got = eval(expression, integers), eval(expression, tensors)
    np.testing.assert_array_equal(got.to_numpy(), want)
    assert got.dtype is DType.int32


def test_a_number_may_be_divided_with_remainder():
    quotient, remainder = divmod(7, Tensor([2.0, -2.0]))
    assert quotient.to_numpy().tolist() == [3.0, -4.0]
    assert remainder.to_numpy().tolist() == [1.0, -1.0]


def test_rounding_keeps_the_dtype():
    x = Tensor([0.5, 1.26, -2.5])
    assert round(x).to_numpy().tolist() == [0.0, 1.0, -2.0]
    np.testing.assert_allclose(round(x, 1).to_numpy(), [0.5, 1.3, -2.5], rtol=1e-6)
    assert round(Tensor([1234.0]), -2).item() == 1200.0


def test_plus_makes_a_tensor_of_its_own():
    x = Tensor([1.0, 2.0])
    y = +x
    y[0] = Tensor(3.0)
    assert x.to_numpy().tolist() == [1.0, 2.0]


def test_a_hash_goes_by_identity():
    x, y = Tensor([1.0]), Tensor([1.0])
    assert len({x, y, x}) == 2


def test_clip_bounds_one_side_or_both():
    x = Tensor([-2.0, 0.5, 3.0])
    assert x.clip(min=0.0).to_numpy().tolist() == [0.0, 0.5, 3.0]
    assert x.clip(max=1.0).to_numpy().tolist() == [-2.0, 0.5, 1.0]
    assert x.clip(min=0.0, max=1.0).to_numpy().tolist() == [0.0, 0.5, 1.0]
    assert x.clip().to_numpy().tolist() == [-2.0, 0.5, 3.0]
