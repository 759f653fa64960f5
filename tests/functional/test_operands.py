"""numpy arrays beside tensors: the tensor says dtype and place; positions do not."""

import numpy as np
import pytest

from maxlite import CPU, DeviceMapping, DType, Sharded, Tensor, TensorLayout, compile
from maxlite import functional as F
from maxlite.graph import Graph, TensorType
from tests.sharding.meshes import cpu_mesh

X = np.array([[1.0, 2.0], [3.0, 4.0]])
V = np.array([3.0, 5.0])
AT = np.array([1, 0])
MASK = np.array([True, False])

OPS = {
    "matmul": (lambda x: x @ X, X @ X),
    "matmul on the right": (lambda x: X @ x, X @ X),
    "matmul of a vector": (lambda x: F.matmul(x, V), X @ V),
    "outer": (lambda x: F.outer(x[0], V), np.outer(X[0], V)),
    "dot": (lambda x: F.dot(x[0], V), X[0] @ V),
    "kron": (lambda x: F.kron(x, X), np.kron(X, X)),
    "tensordot": (lambda x: F.tensordot(x, X, 1), X @ X),
    "einsum": (lambda x: F.einsum("ij,kj->ik", X, x), X @ X.T),
    "concat": (lambda x: F.concat([x, X]), np.concatenate([X, X])),
    "stack": (lambda x: F.stack([X, x]), np.stack([X, X])),
    "where": (lambda x: F.where(MASK, x, V), np.where(MASK, X, V)),
    "masked_fill": (lambda x: F.masked_fill(x, MASK, 0), np.where(MASK, 0, X)),
    "gather": (lambda x: F.gather(x, AT, 0), X[AT]),
    "take": (lambda x: F.take(x, AT, 1), X[:, AT]),
    "gather_nd": (lambda x: F.gather_nd(x, AT), X[1, 0]),
    "scatter": (
        lambda x: F.scatter(x, V[None], np.array([[1, 0]]), 0),
        np.array([[1.0, 5.0], [3.0, 4.0]]),
    ),
    "layer_norm": (
        lambda x: F.layer_norm(x, V, V, 1.0),
        (X - X.mean(1, keepdims=True)) / np.sqrt(X.var(1, keepdims=True) + 1) * V + V,
    ),
}


@pytest.mark.parametrize(("run", "expected"), OPS.values(), ids=OPS)
def test_an_array_stands_beside_a_tensor(run, expected):
    x = Tensor(X.astype(np.float32))
    with F.lazy():
        pending = run(x)
    compiled = compile(run)(TensorLayout(DType.float32, [2, 2], CPU()))(x)
    for result in (run(x), pending, compiled):
        assert result.dtype is DType.float32
        np.testing.assert_allclose(result.to_numpy(), expected, rtol=1e-6)


def test_an_array_keeps_to_the_device_of_the_tensor():
    x = Tensor(X, device=CPU(1))
    assert F.matmul(x, X).device == CPU(1)
    assert F.gather(x, AT, 0).device == CPU(1)


def test_positions_beside_a_distributed_tensor_lie_on_every_device():
    mapping = DeviceMapping(cpu_mesh(2), (Sharded(1),))
    picked = F.gather(Tensor(X).to(mapping), AT, 0)
    assert picked.placements == (Sharded(1),)
    assert (picked.to_numpy() == X[AT]).all()


def test_what_does_not_fit_is_refused():
    whole = Tensor([[1, 2], [3, 4]], dtype=DType.int32)
    with pytest.raises(ValueError, match="matmul: a number beside a tensor of"):
        F.matmul(whole, X)
    with pytest.raises(TypeError, match=r"concat: original_vals\[1\] must be a Tensor"):
        F.concat([whole, [1, 2]])
    with pytest.raises(TypeError, match="matmul: lhs must be a Tensor, got ndarray"):
        F.matmul(X, X)
    with pytest.raises(TypeError, match="matmul: an array must hold a value every"):
        F.matmul(whole, np.ma.masked_array([1, 2], [True, False]))


def test_a_value_of_a_graph_is_led_to_the_ops_on_values():
    with Graph("g", input_types=[TensorType(DType.float32, [1], CPU())]) as graph:
        value = graph.inputs[0].tensor
        with pytest.raises(TypeError, match=r"Use graph\.ops\.exp, or Tensor\.from_gr"):
            F.exp(value)
        graph.output(value)


@pytest.mark.parametrize("numbers", [(5, -3), (1.0, 0), (np.ones((2, 2)), 0)])
def test_where_needs_a_tensor_that_says_the_dtype(numbers):
    with pytest.raises(ValueError, match="one of x and y must be a tensor, which says"):
        F.where(Tensor(X) > 2, *numbers)
    assert F.where(Tensor(X) > 2, 1, 0).dtype is DType.bool
