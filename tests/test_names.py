"""Names and arguments of other libraries: the error says what is ours."""

import re

import numpy as np
import pytest

import maxlite
from maxlite import CPU, DType, Tensor, TensorLayout, random
from maxlite import functional as F
from maxlite._names import unknown_name
from maxlite.functional._synonyms import REMEDIES
from maxlite.graph import Graph, TensorType, ops


@pytest.mark.parametrize("name", sorted(REMEDIES))
def test_a_remedy_names_what_is_there_for_what_is_not(name):
    with pytest.raises(AttributeError, match=re.escape(REMEDIES[name])):
        getattr(F, name)
    for function in re.findall(r"\bF\.(\w+)", REMEDIES[name]):
        assert function in F.__all__
    for member in re.findall(r"\bx\.(\w+)", REMEDIES[name]):
        assert hasattr(Tensor, member)


@pytest.mark.parametrize(
    ("owner", "name", "words"),
    [
        (F, "sigmod", "module 'maxlite.functional' has no attribute 'sigmod'. Did you"),
        (F, "xyzzy", "module 'maxlite.functional' has no attribute 'xyzzy'$"),
        (random, "randn", "Use normal"),
        (random, "unifrom", "Did you mean 'uniform'"),
        (maxlite, "Tensr", "Did you mean 'Tensor'"),
        (DType, "float", "Use DType.float32"),
        (DType, "f16", "Use DType.float16"),
        (DType, "int23", "Use DType.int32"),
    ],
)
def test_an_unknown_name_is_explained(owner, name, words):
    with pytest.raises(AttributeError, match=words):
        getattr(owner, name)


def test_probes_of_protocols_get_no_advice():
    error = unknown_name("module 'm'", "__pat__", ["__path__"])
    assert str(error) == "module 'm' has no attribute '__pat__'"
    assert not hasattr(F, "__wrapped__")


@pytest.mark.parametrize("room", maxlite._ROOMS)
def test_a_room_is_an_attribute_of_the_package(room):
    assert getattr(maxlite, room).__name__ == f"maxlite.{room}"


@pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype("float32")])
@pytest.mark.parametrize(
    "make",
    [
        lambda dtype: Tensor([1.0], dtype=dtype),
        lambda dtype: Tensor.zeros([1], dtype=dtype),
        lambda dtype: F.arange(0, 3, dtype=dtype),
        lambda dtype: F.normal([2], dtype=dtype),
        lambda dtype: Tensor([1.0]).cast(dtype),
        lambda dtype: maxlite.default_dtype(dtype),
    ],
)
def test_a_dtype_of_numpy_is_named_in_ours(make, dtype):
    with pytest.raises(TypeError, match=r"must be a DType, got .* Use DType\.float32"):
        make(dtype)


@pytest.mark.parametrize(
    "make",
    [
        F.zeros,
        Tensor.ones,
        lambda n: F.full(n, 7),
        random.normal,
        lambda n: TensorLayout(DType.float32, n, CPU()),
    ],
)
def test_a_size_is_no_shape(make):
    with pytest.raises(TypeError, match=r"must be a list of sizes, got int. Write \[3"):
        make(3)


def test_a_method_is_named_as_the_user_knows_it():
    x = Tensor([[1.0]])
    with pytest.raises(TypeError, match=r"^Tensor\.sum\(\) got an unexpected keyword"):
        x.sum(dim=0)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match=r"^Tensor\.permute\(\) takes 2 positional"):
        x.permute(1, 0)  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize(
    ("target", "words"),
    [("cpu", r"Use CPU\(\)"), (DType.float16, r"Use x\.cast\(DType\.float16\)")],
)
def test_a_target_that_is_none(target, words):
    with pytest.raises(TypeError, match=words):
        Tensor([1.0]).to(target)


def test_one_element_is_formatted_as_a_number():
    x = Tensor([[1.2345]])
    assert f"{x:.2f} {x[0, 0]:8.1e}" == "1.23  1.2e+00"
    assert f"{x}" == repr(x)
    assert f"{Tensor([1, 2]):>90}".startswith("  ")
    with pytest.raises(ValueError, match=r"one element for '.2f', got shape \[2\]"):
        f"{Tensor([1, 2]):.2f}"


def test_a_value_of_a_graph_is_neither_true_nor_false():
    with Graph("g", input_types=[TensorType(DType.bool, [1], CPU())]) as graph:
        value = graph.inputs[0].tensor
        with pytest.raises(TypeError, match="not known until the program runs"):
            bool(ops.logical_not(value))
