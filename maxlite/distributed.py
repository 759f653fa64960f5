"""Several processes, on one machine or many, as one: a mesh over all their devices.

Each process runs the same program. :func:`initialize` joins them, before anything is
computed; from then on a mesh counts through the devices of all processes, those of
process 0 first, and one device by itself is the process's own.
"""

from __future__ import annotations

import operator
from typing import Any, cast

import jax

from maxlite._backend import devices
from maxlite._processes import JAX_RUNTIME_ERROR

__all__ = [
    "initialize",
    "is_initialized",
    "process_count",
    "process_index",
    "shutdown",
]


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    *,
    cpu_devices: int | None = None,
    timeout: float = 60,
    heartbeat: float = 30,
) -> None:
    """Joins this process to the others. All of them must call it.

    On a cluster that JAX knows (Slurm, Open MPI, Kubernetes, Cloud TPU) the first three
    arguments can be left out.

    A process that ends early, or cannot be reached for ``heartbeat`` seconds, ends the
    others too: with an error of what waits for it, or of JAX, which ends the process.

    Args:
        coordinator_address: Host and port where process 0 can be reached, such as
            ``"10.0.0.1:1234"``.
        num_processes: How many there are.
        process_id: Which of them this one is, from 0.
        cpu_devices: How many CPU devices this process has; 8 unless JAX was told
            otherwise.
        timeout: Seconds to wait for the others.
        heartbeat: Seconds after which a silent process is given up.

    Raises:
        RuntimeError: JAX has started its devices already, or the processes were joined
            before.
        TypeError: A count or an id is no int, or the address no string.
        ValueError: Something is missing or out of range.
        TimeoutError: The others did not come.

    Source: ours; jax.distributed.

    >>> is_initialized()
    False
    """
    _check_arguments(coordinator_address, num_processes, process_id, cpu_devices)
    if is_initialized():
        raise RuntimeError(
            f"initialize: the processes must be joined once, this is process "
            f"{process_index()} of {process_count()} already. Call shutdown first."
        )
    seconds = _seconds("timeout", timeout), _seconds("heartbeat", heartbeat)
    try:
        if cpu_devices is not None:
            jax.config.update("jax_num_cpu_devices", cpu_devices)
        if not getattr(jax.config, "jax_cpu_collectives_implementation", None):
            jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(
            coordinator_address,
            num_processes,
            process_id,
            initialization_timeout=seconds[0],
            heartbeat_timeout_seconds=seconds[1],
            shutdown_timeout_seconds=seconds[0],
        )
    except ValueError as error:
        raise ValueError(
            "initialize: coordinator_address, num_processes and process_id must be "
            f"given here, since this is no cluster that JAX knows. It says: {error}"
        ) from error
    except JAX_RUNTIME_ERROR as error:
        raise TimeoutError(
            f"initialize: all processes must call this within {timeout} seconds and "
            f"reach {coordinator_address}, got no answer from some. Start them "
            "together, with one address and different ids."
        ) from error
    except RuntimeError as error:
        raise RuntimeError(
            "initialize: the processes must be joined before JAX starts its devices, "
            "got a process where a tensor was made, or a device looked up, already. "
            "Call it first of all."
        ) from error
    devices("cpu")  # asks for the simulated devices


def shutdown() -> None:
    """Leaves the other processes; waits until all of them do. Does nothing else.

    >>> shutdown()
    """
    if is_initialized():
        jax.distributed.shutdown()


def is_initialized() -> bool:
    """Whether this process was joined to others."""
    return bool(jax.distributed.is_initialized())


def process_index() -> int:
    """Says which of the processes this is; 0 when it is alone.

    >>> process_index()
    0
    """
    return jax.process_index() if is_initialized() else 0


def process_count() -> int:
    """Counts the processes; 1 when there is just this one.

    >>> process_count()
    1
    """
    return jax.process_count() if is_initialized() else 1


def _check_arguments(
    address: object, count: object, index: object, cpu_devices: object
) -> None:
    if not isinstance(address, str | None):
        raise TypeError(
            "initialize: coordinator_address must be a string, got "
            f"{type(address).__name__}. Write 'host:port'."
        )
    if address is not None and not address.rpartition(":")[2].isdigit():
        raise ValueError(
            "initialize: coordinator_address must end with a port, got "
            f"{address!r}. Write 'host:port'."
        )
    number = _at_least("num_processes", count, 1)
    which = _at_least("process_id", index, 0)
    _at_least("cpu_devices", cpu_devices, 1)
    if number is not None and which is not None and which >= number:
        raise ValueError(
            f"initialize: process_id must be below num_processes, got {which} of "
            f"{number}. Count from 0."
        )


def _at_least(name: str, value: object, least: int) -> int | None:
    if value is None:
        return None
    try:
        number = operator.index(cast("Any", value))
    except TypeError:
        raise TypeError(
            f"initialize: {name} must be an int, got {type(value).__name__}."
        ) from None
    if number < least:
        raise ValueError(f"initialize: {name} must be at least {least}, got {number}.")
    return number


def _seconds(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 1:
        raise ValueError(
            f"initialize: {name} must be a number of seconds, 1 or more, got {value!r}."
        )
    return int(value)
