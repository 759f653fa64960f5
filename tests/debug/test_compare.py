"""One function in every way, and what is said of a difference."""

import re

import numpy as np
import pytest

from maxlite import DType, Tensor
from maxlite import functional as F
from maxlite.debug import compare
from maxlite.realization_context import in_graph_context
from maxlite.sharding import DeviceMapping, Sharded
from tests.sharding.meshes import cpu_mesh


def test_ways_agree():
    found = compare(lambda x, k: {"y": F.exp(x) * k}, Tensor([1.0, 2.0]), k=2.0)
    assert found
    assert found.ways == ("eager", "lazy", "compiled")
    assert str(found) == "all ways agree: eager, lazy, compiled"
    assert found.values["y"].shape == [2]


def test_a_sharded_run_is_compared_with_one_device():
    where = DeviceMapping(cpu_mesh(2), (Sharded(0),))
    x = Tensor(np.ones((4, 2), np.float32)).to(where)
    found = compare(lambda x: F.softmax(x, axis=1), x)
    assert found
    assert found.ways == ("eager", "lazy", "compiled", "unsharded")


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (
            lambda x: x + (1.0 if in_graph_context() else 0.0),
            "lazy: result differs in 2",
        ),
        (
            lambda x: x[:1] if in_graph_context() else x,
            r"lazy: result has shape \['1'\]",
        ),
        (lambda x: [x] if in_graph_context() else x, "lazy: gives"),
        (
            lambda x: x.cast(DType.float64) if in_graph_context() else x,
            "lazy: result has dtype DType.float64, eager",
        ),
        (lambda x: x * x[0].item(), "compiled: raised TypeError"),
    ],
)
def test_differences_are_told(fn, text):
    found = compare(fn, Tensor([1.0, 2.0]))
    assert not found
    assert re.search(text, str(found))


def test_an_eager_error_is_raised():
    with pytest.raises(ValueError, match="shape"):
        compare(lambda x: x + Tensor([1.0, 2.0, 3.0]), Tensor([1.0, 2.0]))


def test_another_value_without_a_mesh_is_found():
    where = DeviceMapping(cpu_mesh(2), (Sharded(0),))
    x = Tensor([1.0, 2.0]).to(cpu_mesh(2)).to(where)
    found = compare(lambda x: x if x.is_distributed else x + 1, x)
    assert not found
    assert "unsharded: result differs in 2 of 2 elements, first at [0]" in str(found)
