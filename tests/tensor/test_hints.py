"""The advice for missing names: every name that it gives is there."""

import re
import sys

import pytest

from maxlite import functional as F
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.tensor import Tensor
from maxlite.tensor._hints import HINTS, missing


@pytest.mark.parametrize("name", HINTS)
def test_advice_is_for_what_is_missing_and_names_what_is_there(name):
    assert not hasattr(Tensor, name)
    remedy = HINTS[name]
    assert remedy.endswith(".")
    for attribute in re.findall(r"x\.(\w+)", remedy):
        assert hasattr(Tensor, attribute), remedy
    for function in re.findall(r"F\.(\w+)", remedy):
        assert hasattr(F, function), remedy
    for dtype in re.findall(r"DType\.(\w+)", remedy):
        assert DType(dtype)


def test_the_advice_for_an_op_is_the_function():
    assert missing("sqrt").endswith("Use F.sqrt(x, ...).")
    assert F.sqrt(Tensor(4.0)).item() == 2.0


def test_the_advice_works():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.cast(DType.int32).dtype is DType.int32
    assert x.to(CPU()) is x
    assert x.num_elements() * x.dtype.size_in_bytes == 16
    x.device.synchronize()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("numpy", r"x\.to_numpy\(\)"),
        ("astype", r"x\.cast\(dtype\)"),
        ("size", r"x\.num_elements\(\), or x\.shape"),
        ("ndim", r"x\.rank"),
        ("view", r"x\.reshape\(shape\)"),
        ("copy", r"copy\.copy\(x\)"),
        ("tolist", r"x\.to_numpy\(\)\.tolist\(\)"),
        ("cuda", r"x\.to\(Accelerator\(\)\)"),
        ("exp", r"F\.exp\(x, \.\.\.\)"),
        ("matmul", r"F\.matmul\(x, \.\.\.\)"),
        ("add_", r"x\[\.\.\.\] = F\.add\(x, \.\.\.\)"),
    ],
)
def test_a_name_of_another_library_leads_to_ours(name, words):
    x = Tensor([1.0])
    with pytest.raises(
        AttributeError, match=f"no attribute '{name}'. Use {words}"
    ) as e:
        getattr(x, name)
    assert (e.value.name, e.value.obj) == (name, x)
    assert not hasattr(x, name)
    assert getattr(x, name, 5) == 5


@pytest.mark.parametrize("name", ["colour", "frob_", "_repr_png_", "__jax_array__"])
def test_a_name_of_no_library_is_missing_in_plain_words(name):
    with pytest.raises(AttributeError) as e:
        getattr(Tensor([1.0]), name)
    assert str(e.value) == f"'Tensor' object has no attribute '{name}'"


def test_a_property_that_raises_raises_its_own_error(monkeypatch):
    def fail(x):
        raise AttributeError("from inside")

    monkeypatch.setattr(Tensor, "real", property(fail))
    with pytest.raises(AttributeError, match=r"^from inside$"):
        _ = Tensor([1.0]).real


def test_asking_for_protocols_costs_little_and_computes_nothing():
    with F.lazy():
        x = Tensor([1.0]) + 0
    for name in ("__array_interface__", "__array_struct__", "__torch_function__"):
        assert not hasattr(x, name)
    assert not x.real
    before = sys.getrefcount(x)
    hasattr(x, "__array_interface__")
    assert sys.getrefcount(x) == before
