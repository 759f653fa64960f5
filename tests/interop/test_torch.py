"""PyTorch tensors in and out, where PyTorch is installed."""

import copy
import subprocess
import sys

import numpy as np
import pytest

from maxlite import functional as F
from maxlite import interop
from maxlite.compilation import compile
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import TensorLayout
from maxlite.tensor import Tensor
from tests.sharding.meshes import cpu_mesh

torch = pytest.importorskip("torch")

SHARED = sorted(
    dtype.name for dtype in DType if not dtype.name.startswith(("float4", "float6"))
)
"""The dtypes that both libraries have."""


def address(x):
    return x._stored().unsafe_buffer_pointer()


def data(dtype="float32", shape=(2, 3)):
    return torch.arange(6.0).reshape(shape).to(getattr(torch, dtype))


# In ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", SHARED)
@pytest.mark.parametrize("copied", [True, False])
def test_every_dtype_comes_in(dtype, copied):
    tensor = data(dtype)
    x = interop.from_torch(tensor, copy=copied)
    assert (x.dtype, x.shape, x.device) == (DType(dtype), [2, 3], CPU())
    assert (address(x) == tensor.data_ptr()) == (not copied)
    expected = tensor.float().numpy()
    np.testing.assert_array_equal(x.cast(DType.float32).to_numpy(), expected)


def test_integers_are_exact():
    x = interop.from_torch(torch.tensor([2**40 + 5, -(2**62) - 1]))
    assert x.to_numpy().tolist() == [2**40 + 5, -(2**62) - 1]


@pytest.mark.parametrize("make", [interop.from_torch, Tensor, F.constant])
@pytest.mark.parametrize(
    "change",
    [lambda t: t, lambda t: t.T, lambda t: t[1], lambda t: t.reshape(6)[2]],
)
def test_a_copy_is_made_of_any_strides(make, change):
    tensor = change(data())
    expected = tensor.tolist()
    x = make(tensor)
    tensor.zero_()
    assert x.to_numpy().tolist() == expected
    assert (x + 1).to_numpy().tolist() == (torch.tensor(expected) + 1).tolist()


@pytest.mark.parametrize(
    "change", [lambda t: t[:, ::2], lambda t: t[:1].expand(2, 3), lambda t: t[1:1]]
)
def test_gaps_and_repeats_are_copied_too(change):
    tensor = change(data())
    assert interop.from_torch(tensor).to_numpy().tolist() == tensor.tolist()


def test_a_parameter_needs_detach():
    weight = torch.nn.Parameter(torch.ones(2))
    with pytest.raises(ValueError, match=r"requires_grad=True\. Use tensor\.detach"):
        interop.from_torch(weight)
    for make in (Tensor, Tensor.from_dlpack):
        with pytest.raises(ValueError, match=r"use tensor\.detach\(\)"):
            make(weight)
    assert interop.from_torch(weight.detach()).to_numpy().tolist() == [1.0, 1.0]
    frozen = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    assert interop.from_torch(frozen).to_numpy().tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: torch.zeros(2, dtype=torch.complex64), "dtype"),
        (lambda: torch.zeros(2, device="meta"), "meta"),
        (lambda: torch.eye(2).to_sparse(), r"must be dense.*to_dense"),
    ],
)
def test_what_has_no_values_of_ours_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        interop.from_torch(make())


@pytest.mark.parametrize("given", [[1.0], np.ones(2), Tensor([1.0])])
def test_only_torch_tensors_come_in(given):
    with pytest.raises(TypeError, match=r"must be a torch\.Tensor, got"):
        interop.from_torch(given)


# Shared -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "share", [lambda t: interop.from_torch(t, copy=False), Tensor.from_dlpack]
)
def test_shared_memory_is_only_read(share):
    tensor = torch.ones(1024)
    x = share(tensor)
    assert address(x) == tensor.data_ptr()
    kept = copy.copy(x)
    x[0:2] = Tensor([7.0, 7.0])
    assert tensor.eq(1).all()
    assert x.to_numpy()[:3].tolist() == [7.0, 7.0, 1.0]
    tensor[0] = 5
    assert kept[0].item() == 5.0  # sharing was asked for
    assert x[0].item() == 7.0


def test_the_memory_outlives_the_torch_tensor():
    x = interop.from_torch(torch.ones(100_000), copy=False)
    room = [torch.zeros(100_000) for _ in range(4)]
    assert (x.to_numpy() == 1).all()
    del room


@pytest.mark.parametrize("change", [lambda t: t.T, lambda t: t[1], lambda t: t[:, ::2]])
def test_without_a_copy_strange_memory_is_refused(change):
    with pytest.raises(ValueError, match=r"copy=False .*Copy it"):
        interop.from_torch(change(data()), copy=False)


# Out --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", SHARED)
@pytest.mark.parametrize("copied", [True, False])
def test_every_dtype_goes_out(dtype, copied):
    x = Tensor(np.arange(6.0).reshape(2, 3)).cast(DType(dtype))
    tensor = interop.to_torch(x, copy=copied)
    assert (tensor.dtype, list(tensor.shape)) == (getattr(torch, dtype), [2, 3])
    assert (tensor.data_ptr() == address(x)) == (not copied)
    again = interop.from_torch(tensor)
    assert again.dtype is x.dtype
    assert again.to_numpy().tobytes() == x.to_numpy().tobytes()


@pytest.mark.parametrize(
    "lend", [torch.from_dlpack, torch.utils.dlpack.from_dlpack, torch.as_tensor]
)
def test_torch_takes_the_memory_by_itself(lend):
    for x in (Tensor([1.0, 2.0]), Tensor([1.0, 2.0]).cast(DType.bfloat16)):
        tensor = lend(x)
        assert tensor.float().tolist() == [1.0, 2.0]
        assert tensor.data_ptr() == address(x)


def test_a_copy_is_torchs_to_write():
    x = Tensor([1.0, 2.0])
    tensor = interop.to_torch(x)
    tensor.zero_()
    assert x.to_numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "lend", [lambda x: interop.to_torch(x, copy=False), torch.from_dlpack]
)
def test_what_torch_sees_keeps_its_value(lend):
    x = Tensor(np.zeros(1024, np.float32))
    seen = lend(x)
    x[0:2] = Tensor([7.0, 7.0])
    x[2:4] = Tensor([7.0, 7.0])
    assert not seen.any()
    assert x.to_numpy()[:4].tolist() == [7.0] * 4


def test_what_is_pending_is_computed_and_what_is_traced_is_refused():
    with F.lazy():
        x = Tensor([1.0, 2.0]) + 1
    assert interop.to_torch(x).tolist() == [2.0, 3.0]

    def body(x):
        interop.to_torch(x)
        return x

    with pytest.raises(TypeError):
        compile(body)(TensorLayout(DType.float32, [2], CPU()))


def test_what_torch_cannot_hold_is_refused():
    with pytest.raises(ValueError, match="must lie on one device"):
        interop.to_torch(Tensor([1.0]).to(cpu_mesh(2)))
    with pytest.raises(ValueError, match=r"must have the dtype .*float4_e2m1fn"):
        interop.to_torch(Tensor([1.0], dtype=DType.float4_e2m1fn))
    with pytest.raises(TypeError, match="to_torch: x must be a Tensor, got list"):
        interop.to_torch([1.0])


@pytest.mark.parametrize("lhs_is_ours", [True, False])
def test_the_two_are_not_mixed_in_one_op(lhs_is_ours):
    x, y = Tensor([1.0, 2.0]), torch.ones(2)
    with pytest.raises(TypeError, match=r"must be a Tensor, a number.*Use Tensor"):
        _ = x + y if lhs_is_ours else y + x


def test_a_process_that_starts_with_torch_has_a_mesh_of_eight():
    code = """
import torch
from maxlite import CPU, DeviceMesh, interop
x = interop.from_torch(torch.ones(8))
assert x.to(DeviceMesh((CPU(),) * 8, (8,), ("x",))).num_shards == 8
"""
    subprocess.run([sys.executable, "-c", code], check=True)
