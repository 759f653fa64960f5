"""What to write instead: names that other libraries' arrays have and a Tensor has not.

The reference's tensors lack them too, so they stay missing; the error says which
spelling is ours.
"""

from __future__ import annotations

from maxlite._op_table import fronts


def missing(name: str) -> str:
    """Words the error for an attribute that a Tensor has not.

    Args:
        name: Anything. Names with an underscore in front are the probes of protocols
            (``__array_interface__``, ``_repr_png_``), which get no advice.

    >>> missing("astype")
    "'Tensor' object has no attribute 'astype'. Use x.cast(dtype)."
    >>> missing("__jax_array__")
    "'Tensor' object has no attribute '__jax_array__'"
    """
    stated = f"'Tensor' object has no attribute {name!r}"
    if name.startswith("_"):
        return stated
    remedy = HINTS.get(name) or _op(name)
    return f"{stated}. {remedy}" if remedy else stated


def _op(name: str) -> str:
    if name in fronts:
        return f"Use F.{name}(x, ...)."
    if name.endswith("_") and name[:-1] in fronts:
        return f"Use x[...] = F.{name[:-1]}(x, ...) to write in place."
    return ""


def _cast(dtype: str) -> str:
    return f"Use x.cast(DType.{dtype})."


_TO_NUMPY = "Use x.to_numpy()."
_RANK = "Use x.rank."
_COUNT = "Use x.num_elements()."
_BYTES = "Use x.num_elements() * x.dtype.size_in_bytes."
_COPY = "Use copy.copy(x)."
_RESHAPE = "Use x.reshape(shape)."
_FLATTEN = "Use F.flatten(x)."
_MATMUL = "Use x @ y."
_PLAIN = "Leave it out: tensors record no gradients."
_ROW_MAJOR = "Leave it out: tensors are row-major without gaps."
_WRITE = "Use x[...] = value, with a Tensor."

HINTS = {
    # values
    "numpy": _TO_NUMPY,
    "tolist": "Use x.to_numpy().tolist().",
    "tobytes": "Use x.to_numpy().tobytes().",
    "values": _TO_NUMPY,
    "flat": "Use x.to_numpy().flat.",
    # sizes
    "ndim": _RANK,
    "dim": _RANK,
    "size": "Use x.num_elements(), or x.shape.",
    "numel": _COUNT,
    "nelement": _COUNT,
    "nbytes": _BYTES,
    "itemsize": "Use x.dtype.size_in_bytes.",
    "element_size": "Use x.dtype.size_in_bytes.",
    "strides": _ROW_MAJOR,
    "stride": _ROW_MAJOR,
    "is_contiguous": _ROW_MAJOR,
    "contiguous": _ROW_MAJOR,
    # dtypes
    "astype": "Use x.cast(dtype).",
    "type_as": "Use x.cast(y.dtype).",
    "bool": _cast("bool"),
    "int": _cast("int32"),
    "long": _cast("int64"),
    "half": _cast("float16"),
    "bfloat16": _cast("bfloat16"),
    "float": _cast("float32"),
    "double": _cast("float64"),
    # places
    "cpu": "Use x.to(CPU()).",
    "cuda": "Use x.to(Accelerator()).",
    "is_cuda": "Use x.device.",
    "get_device": "Use x.device.",
    "devices": "Use x.mesh.devices.",
    "to_device": "Use x.to(device).",
    "sharding": "Use x.mapping.",
    "addressable_shards": "Use x.local_shards.",
    "block_until_ready": "Use x.device.synchronize().",
    # copies and gradients
    "copy": _COPY,
    "clone": _COPY,
    "detach": _PLAIN,
    "requires_grad": _PLAIN,
    "requires_grad_": _PLAIN,
    "grad": _PLAIN,
    "backward": _PLAIN,
    # shapes
    "view": _RESHAPE,
    "resize": _RESHAPE,
    "ravel": _FLATTEN,
    "expand": "Use x.broadcast_to(shape).",
    "swapaxes": "Use x.transpose(dim1, dim2).",
    "t": "Use x.T.",
    "mT": "Use x.T.",
    "unbind": "Use list(x).",
    "append": "Use F.concat([x, y]).",
    # writing
    "at": "Use x[index] = value, with a Tensor.",
    "copy_": _WRITE,
    "fill": _WRITE,
    "fill_": _WRITE,
    "zero_": _WRITE,
    # ops by other names
    "mm": _MATMUL,
    "bmm": _MATMUL,
    "amax": "Use x.max(axis).",
    "amin": "Use x.min(axis).",
    "isnan": "Use F.is_nan(x).",
    "isinf": "Use F.is_inf(x).",
    "log_softmax": "Use F.logsoftmax(x).",
    "repeat": "Use F.tile(x, repeats), or F.repeat_interleave.",
    "where": "Use F.where(cond, x, y).",
    "gather": "Use F.gather(x, indices, axis).",
    "index_select": "Use F.gather(x, indices, axis).",
}
"""The remedy for a missing attribute, as a sentence."""
