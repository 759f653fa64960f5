"""The seed: the one state of random numbers, shared by the process.

Every draw takes the seed as it is and moves it on by one step, when the draw is called
or recorded, so that a program's draws follow one sequence however they are run. A
compiled program knows how many draws it holds, and takes that many steps with each
call. A step is affine, so any number of them is one multiplication and one addition
modulo 2**64; the steps of neighbouring seeds do not meet.
"""

from __future__ import annotations

import operator
import threading
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from maxlite._backend import put
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph._spec import Spec, spec
from maxlite.lowering import edge_sharding
from maxlite.tensor._defaults import as_mapping, on_device
from maxlite.tensor._tensor import Tensor, from_numpy, wrap

if TYPE_CHECKING:
    import jax

    from maxlite.sharding import DeviceMesh

_MODULUS = 2**64
_MULTIPLIER = 6364136223846793005
_INCREMENT = 1442695040888963407
"""Knuth's step of the MMIX computer, a full cycle over the 64-bit numbers."""

_lock = threading.Lock()
_current = 0


def seed() -> Tensor:
    """Gives the current seed.

    Returns:
        Shape ``[1]``, uint64.

    Source: max.experimental.realization_context.seed.

    >>> set_seed(42)
    >>> seed().item()
    42
    """
    return from_numpy(np.array([_current], np.uint64), on_device(CPU()))


def set_seed(value: int) -> None:
    """Starts the sequence of random numbers anew, for the whole process.

    Args:
        value: From 0 to 2**64 - 1; the same seed gives the same sequence.

    Raises:
        TypeError: ``value`` is no int.
        ValueError: It is negative, or has more than 64 bits.

    Source: max.experimental.realization_context.set_seed.
    """
    global _current
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(
            f"set_seed: value must be an int, got {type(value).__name__}. Pass a "
            "number such as 42."
        ) from None
    if not 0 <= number < _MODULUS:
        raise ValueError(
            f"set_seed: value must be from 0 to 2**64 - 1, got {number}. Pass a "
            "number such as 42."
        )
    with _lock:
        _current = number


def take_seed(draws: int = 1) -> int:
    """Gives the current seed and moves it on, by one step per draw."""
    global _current
    multiplier, increment = steps(draws)
    with _lock:
        taken = _current
        _current = (taken * multiplier + increment) % _MODULUS
    return taken


@cache
def steps(count: int) -> tuple[int, int]:
    """Joins steps of the seed to one: what to multiply with, and what to add."""
    multiplier, increment = 1, 0
    for _ in range(count):
        multiplier = multiplier * _MULTIPLIER % _MODULUS
        increment = (increment * _MULTIPLIER + _INCREMENT) % _MODULUS
    return multiplier, increment


def seed_spec(mesh: DeviceMesh) -> Spec:
    """Describes a seed inside a program: rank 0, uint64, the same on every device."""
    return spec(DType.uint64, (), as_mapping(mesh))


def seed_array(value: int, described: Spec) -> jax.Array:
    """Puts a seed on the devices of its spec."""
    sharding = edge_sharding(described, described.mapping.mesh)
    return put(np.asarray(value, np.uint64), sharding)


def seed_tensor(mesh: DeviceMesh, draws: int = 1) -> Tensor:
    """Takes a seed for draws on a mesh."""
    described = seed_spec(mesh)
    return wrap(described, seed_array(take_seed(draws), described))
