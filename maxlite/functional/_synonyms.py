"""What to write instead: functions that other libraries have under another name."""

from __future__ import annotations

_MATMUL = "Use F.matmul(x, y)."
_CONCAT = "Use F.concat([x, y], axis)."
_TENSOR = "Use Tensor(data)."
_FLIP = "Use F.flip(x, axis)."

REMEDIES = {
    # products
    "mm": _MATMUL,
    "bmm": _MATMUL,
    "mv": _MATMUL,
    "inner": "Use F.einsum('...i,...i', x, y).",
    "vdot": "Use F.dot(x, y).",
    "linear": "Use x @ weight.T + bias.",
    # joining and cutting
    "hstack": _CONCAT,
    "vstack": _CONCAT,
    "dstack": _CONCAT,
    "array_split": "Use F.split(x, sizes, axis), with a list of sizes.",
    "unbind": "Use list(x), or F.split.",
    "repeat": "Use F.repeat_interleave(x, repeats), or F.tile.",
    "view": "Use F.reshape(x, shape).",
    "rollaxis": "Use F.moveaxis(x, source, destination).",
    "broadcast_arrays": "Use F.broadcast_to(x, shape).",
    "fliplr": _FLIP,
    "flipud": _FLIP,
    "meshgrid": "Use F.arange, x[:, None] and y[None, :], which broadcast.",
    # making
    "tensor": _TENSOR,
    "array": _TENSOR,
    "asarray": _TENSOR,
    "as_tensor": _TENSOR,
    "from_numpy": _TENSOR,
    "empty": "Use F.zeros(shape).",
    "empty_like": "Use F.zeros_like(x).",
    "identity": "Use F.eye(n).",
    "diag": "Use F.diagonal(x), or F.eye(n) * x to build one.",
    "logspace": "Use base ** F.linspace(start, stop, num).",
    # random numbers
    "rand": "Use F.uniform(shape).",
    "randn": "Use F.normal(shape).",
    "randint": "Use F.floor(F.uniform(shape, (low, high))).cast(DType.int64).",
    "bernoulli": "Use F.uniform(shape) < p.",
    "dropout": "Use x * (F.uniform_like(x) > rate) / (1 - rate), written with F.where.",
    # elements
    "topk": "Use F.top_k(x, k, axis).",
    "amax": "Use F.max(x, axis).",
    "amin": "Use F.min(x, axis).",
    "median": "Use F.sort(x, axis), and take the middle.",
    "quantile": "Use F.sort(x, axis), and index it.",
    "flatnonzero": "Use F.nonzero(F.flatten(x)).",
    "neg": "Use F.negate(x), or -x.",
    "fmod": "Use x - F.trunc(x / y) * y; F.mod has the sign of y.",
    "fmax": "Use F.max(x, y), where NaN wins, and F.where(F.is_nan(x), y, x).",
    "fmin": "Use F.min(x, y), where NaN wins, and F.where(F.is_nan(x), y, x).",
    "cbrt": "Use F.sign(x) * F.abs(x) ** (1 / 3).",
    "erfc": "Use 1 - F.erf(x).",
    "lerp": "Use x + weight * (y - x).",
    "hardtanh": "Use F.clamp(x, -1, 1).",
    "isclose": "Use F.abs(x - y) <= atol + rtol * F.abs(y).",
    "allclose": "Use np.allclose(x, y).",
    "array_equal": "Use np.array_equal(x, y).",
    "select": "Use F.where(cond, x, y), nested.",
    "index_select": "Use F.gather(x, indices, axis).",
    "embedding": "Use F.gather(table, indices, 0).",
    "interpolate": "Use F.resize(x, shape, interpolation).",
    "upsample": "Use F.resize(x, shape, interpolation).",
    "conv1d": "Use F.conv2d on an input with an axis of size 1.",
    "astype": "Use F.cast(x, dtype).",
    "to_numpy": "Use x.to_numpy().",
    "shape": "Use x.shape.",
    "size": "Use x.num_elements().",
    "ndim": "Use x.rank.",
    # programs
    "scan": "Use F.while_loop.",
    "fori_loop": "Use F.while_loop.",
    "for_loop": "Use F.while_loop.",
    "jit": "Use maxlite.compile(function)(layouts), or F.functional.",
    "stop_gradient": "Leave it out: tensors record no gradients.",
    "detach": "Leave it out: tensors record no gradients.",
}
"""The remedy for a missing function, as a sentence."""
