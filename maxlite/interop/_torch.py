"""PyTorch tensors in and out, through DLPack.

A PyTorch tensor can be written to, whoever else sees its memory. So both functions copy
unless they are told not to: with ``copy=False`` what is written on PyTorch's side shows
on ours, while our own writes never reach what is shared.
"""

from __future__ import annotations

import importlib
from typing import Any, TypeAlias

from maxlite.tensor import Tensor
from maxlite.tensor._tensor import from_foreign

TorchTensor: TypeAlias = Any
"""A ``torch.Tensor``; types cannot name what need not be installed."""


def from_torch(tensor: TorchTensor, *, copy: bool = True) -> Tensor:
    """Makes a tensor of a PyTorch one, on the same device.

    Args:
        tensor: Of any strides; an ``nn.Parameter`` needs ``detach()`` first.
        copy: False shares the memory, for reading only, or raises.

    Returns:
        A tensor of the same dtype, bfloat16 and the floats of 8 bits included.

    Raises:
        ImportError: PyTorch is not installed.
        TypeError: ``tensor`` is no PyTorch tensor.
        ValueError: It requires a gradient, its dtype or kind of storage is none that
            maxlite has, or ``copy`` is False and its memory cannot be shared.

    Source: ours.
    """
    torch = _torch("from_torch")
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(
            f"from_torch: tensor must be a torch.Tensor, got {type(tensor).__name__}. "
            "Use Tensor(data) for anything else."
        )
    if tensor.requires_grad:
        raise ValueError(
            "from_torch: the tensor must not require a gradient, got requires_grad="
            "True. Use tensor.detach()."
        )
    if tensor.layout is not torch.strided:
        raise ValueError(
            f"from_torch: the tensor must be dense, got {tensor.layout}. Use "
            "tensor.to_dense()."
        )
    return from_foreign(tensor.contiguous() if copy else tensor, copy=copy)


def to_torch(x: Tensor, *, copy: bool = True) -> TorchTensor:
    """Makes a PyTorch tensor, on the same device.

    Args:
        x: On one device.
        copy: False shares the memory, which PyTorch must then not write to: ``x`` and
            whoever shares with it would change.

    Returns:
        A tensor of the same dtype, bfloat16 and the floats of 8 bits included.

    Raises:
        ImportError: PyTorch is not installed.
        TypeError: ``x`` is no tensor, or belongs to a program that is being traced.
        ValueError: ``x`` is distributed, or PyTorch lacks its dtype.

    Source: ours.
    """
    torch = _torch("to_torch")
    if not isinstance(x, Tensor):
        raise TypeError(
            f"to_torch: x must be a Tensor, got {type(x).__name__}. Use "
            "torch.as_tensor for anything else."
        )
    x._one_device("to_torch")
    try:
        shared = torch.from_dlpack(x)
    except (BufferError, RuntimeError) as e:
        raise ValueError(
            f"to_torch: PyTorch must have the dtype and the device, got {x.dtype} on "
            f"{x.device} ({e}). Use x.cast(dtype), or x.to(CPU())."
        ) from e
    return shared.clone() if copy else shared


def _torch(who: str) -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError as e:
        raise ImportError(
            f"{who}: PyTorch must be installed, got {e}. Install the package torch."
        ) from e
