"""Short names for what these tests stage with."""

import numpy as np

from maxlite import (
    CPU,
    BufferLayout,
    DeviceMapping,
    DeviceMesh,
    DType,
    Tensor,
    TensorLayout,
)


def mesh(*shape):
    names = tuple("xyz"[: len(shape)])
    return DeviceMesh((CPU(),) * int(np.prod(shape)), shape, names)


def layout(*shape, dtype=DType.float32, on=None, placements=()):
    where = CPU() if on is None else DeviceMapping(on, tuple(placements))
    return TensorLayout(dtype, shape, where)


def buffer(*shape, dtype=DType.float32):
    return BufferLayout(dtype, shape, CPU())


def tensor(data, dtype="float32"):
    return Tensor(np.array(data, dtype))


def values(t):
    return t.to_numpy().tolist()
