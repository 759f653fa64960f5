"""From a recorded graph to an executable: lower, compile, execute.

A program runs on one set of devices: the mesh its values lie on, or one device. What
lies on a single device inside a program on a mesh is kept replicated and moved at the
edges. Everything is traced and lowered with 64-bit types on; the finished executable
may be called from anywhere.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from maxlite._backend import lowering_scope, place, put
from maxlite._fork import check_not_forked, refuse_after_fork
from maxlite._jax_compat import direct_call
from maxlite._programs import add_program
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph._dim import Dim
from maxlite.graph._node import TensorValue
from maxlite.lowering._evaluate import Evaluator
from maxlite.lowering._rebind import complete_sizes
from maxlite.lowering._uneven import pad, padded_shape, unpad
from maxlite.sharding import DeviceMapping, DeviceMesh, Replicated, Sharded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from maxlite._backend import JaxDevice
    from maxlite.graph._graph import Graph
    from maxlite.graph._spec import Spec

MAX_CALLS_IN_FLIGHT = 16
"""Calls on a mesh of CPU devices before one is waited for. XLA's CPU collectives
deadlock when more than about 30 unawaited calls are in flight, so this is no tuning
knob: it is a bound of safety."""


_FLOAT4 = DType.float4_e2m1fn.to_jax()


def stored_shape(spec: Spec, sizes: Mapping[str, Any]) -> tuple[Any, ...]:
    """Gives the shape of a tensor's stored array: hidden axes, then tensor axes.

    Those are rounded up where they are sharded and do not divide.
    """
    mapping = spec.mapping
    return (*mapping.hidden_sizes, *padded_shape(_sizes(spec, sizes), mapping))


def _sizes(spec: Spec, sizes: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(d.evaluate(sizes) if isinstance(d, Dim) else d for d in spec.shape)


def program_mesh(graph: Graph) -> DeviceMesh:
    """Finds the devices that a program runs on.

    Raises:
        ValueError: Values lie on meshes of different devices.
    """
    meshes: dict[DeviceMesh, None] = {}
    for region in graph.regions():
        for value in _values(region):
            meshes[value.spec.mapping.mesh] = None
    wide = [mesh for mesh in meshes if mesh.num_devices > 1]
    for mesh in wide:
        if _devices(mesh) != _devices(wide[0]):
            got = (f"{m!r} on {list(map(str, _devices(m)))}" for m in (wide[0], mesh))
            raise ValueError(
                f"{graph.name}: one program must run on one list of devices, got "
                f"{' and '.join(got)}. Move the tensors before the program."
            )
    if not meshes:
        return DeviceMesh.single(CPU())  # nothing is computed, it may be anywhere
    return next(iter(wide or meshes))


def _devices(mesh: DeviceMesh) -> list[Any]:
    return list(mesh.to_jax().devices.flat)


def _values(graph: Graph) -> list[TensorValue]:
    computed = [value for node in graph.nodes for value in node.outputs]
    return [*graph.parameters, *graph.hidden, *graph.results, *computed]


def edge_sharding(spec: Spec, mesh: DeviceMesh) -> jax.sharding.Sharding:
    """Tells where a value's stored array lies at the edge of a program on a mesh."""
    if mesh.num_devices == 1:
        return jax.sharding.SingleDeviceSharding(mesh.devices[0].to_jax())
    if spec.is_distributed:
        return spec.mapping.named_sharding(spec.rank)
    whole = DeviceMapping(mesh, (Replicated(),) * mesh.ndim)
    return whole.named_sharding(spec.rank)


def check_divisible(who: str, spec: Spec, sizes: Mapping[str, Any]) -> None:
    """Refuses a sharded size that does not divide.

    Raises:
        ValueError: Names the tensor axis, its size and the mesh axes.
    """
    mesh = spec.mapping.mesh
    if mesh.num_devices == 1:
        return
    for axis, size in enumerate(_sizes(spec, sizes)):
        owners = [
            name
            for name, placement in zip(
                mesh.axis_names, spec.mapping.placements, strict=True
            )
            if isinstance(placement, Sharded) and placement.axis == axis
        ]
        ways = mesh.axis_size(owners)
        if size % ways:
            raise ValueError(
                f"{who}: a sharded size must divide evenly, got dim {axis} "
                f"({spec.shape[axis]}) of size {size} over mesh axis "
                f"{', '.join(map(repr, owners))} of size {ways}. Pad the dim to a "
                f"multiple of {ways}, or replicate it."
            )


@dataclass(slots=True, weakref_slot=True, eq=False)
class Executable:
    """A compiled program at one set of sizes.

    Attributes:
        compiled: JAX's executable, for its HLO and its memory analysis.
        mesh: The devices it runs on.
        in_moves: Position and sharding of arguments that lie elsewhere.
        out_moves: Position and device of results that belong elsewhere.
        empty: Position, value and sharding of results on a mesh that have no elements:
            XLA gives shards of the whole shape for them, which JAX cannot read.
        written: Number of written parameters, if there are other results as well.
        has_effects: Whether a call acts on the world outside; it is waited for then.
        call: Runs on stored arrays that lie where they must, hidden inputs first; gives
            written parameters first.
        is_direct: Whether nothing has to be moved, so that ``call`` will do.
    """

    compiled: jax.stages.Compiled
    mesh: DeviceMesh
    in_moves: tuple[tuple[int, jax.sharding.Sharding], ...]
    out_moves: tuple[tuple[int, JaxDevice], ...]
    empty: tuple[tuple[int, np.ndarray, jax.sharding.Sharding], ...]
    written: int
    has_effects: bool
    call: Callable[..., Sequence[jax.Array]] = field(init=False)
    is_direct: bool = field(init=False)

    def __post_init__(self) -> None:
        self.call = self._first_call
        moves = self.in_moves or self.out_moves
        self.is_direct = not (moves or self.empty or self.written)
        refuse_after_fork(self)
        add_program(self)

    def _first_call(self, *arrays: jax.Array) -> Sequence[jax.Array]:
        try:
            results = self._watched(self.compiled)(*arrays)
        except ValueError as error:
            if any(array.dtype == _FLOAT4 for array in arrays):
                raise NotImplementedError(
                    "a program must take no float4_e2m1fn, whose arrays JAX does not "
                    "pass to compiled code here. Cast numpy data to float32 before a "
                    "Tensor is made, or cast inside of the program."
                ) from error
            raise
        self.call = self._watched(direct_call(self.compiled))
        return results

    def _watched(self, call: Callable[..., Any]) -> Callable[..., Sequence[jax.Array]]:
        guarded = _guarded(call, self.mesh)
        return _awaited(guarded) if self.has_effects else guarded

    def __call__(self, arrays: list[jax.Array]) -> Sequence[jax.Array]:
        """Runs on stored arrays, wherever they lie."""
        if self.is_direct:
            return self.call(*arrays)
        for i, sharding in self.in_moves:
            arrays[i] = place(arrays[i], sharding)
        results = self.call(*arrays)
        results = [*results[self.written :], *results[: self.written]]
        for i, device in self.out_moves:
            results[i] = place(results[i], device)
        for i, value, sharding in self.empty:
            results[i] = put(value, sharding)
        return results


def compile_graph(graph: Graph, sizes: Mapping[str, int]) -> Executable:
    """Lowers and compiles a graph at one set of sizes.

    Written parameters are donated: their memory becomes that of the new value.

    Args:
        graph: The recorded program.
        sizes: What each symbol stands for.

    Raises:
        ValueError: A sharded size does not divide.
        RuntimeError: The process was forked after JAX had started.
    """
    check_not_forked()
    sizes = complete_sizes(graph, sizes)
    mesh = program_mesh(graph)
    compiled = lower(graph, sizes, mesh).compile()
    inputs = [*graph.hidden, *graph.parameters]
    return Executable(
        compiled=compiled,
        mesh=mesh,
        in_moves=tuple(
            (i, edge_sharding(value.spec, mesh))
            for i, value in enumerate(inputs)
            if _elsewhere(value.spec, mesh)
        ),
        out_moves=tuple(
            (i, value.spec.mapping.mesh.devices[0].to_jax())
            for i, value in enumerate(graph.results)
            if _elsewhere(value.spec, mesh)
        ),
        empty=tuple(
            (
                i,
                np.zeros(shape, value.spec.dtype.to_jax()),
                edge_sharding(value.spec, mesh),
            )
            for i, value in enumerate(graph.results)
            if 0 in (shape := stored_shape(value.spec, sizes))
            and value.spec.is_distributed
        ),
        written=len(graph.writes) if graph.outputs else 0,
        has_effects=graph.has_effects,
    )


def lower(graph: Graph, sizes: Mapping[str, Any], mesh: DeviceMesh) -> Any:
    """Traces a graph at one set of sizes into StableHLO.

    Args:
        graph: The recorded program.
        sizes: What each symbol stands for: a number, or a symbolic dim of JAX.
        mesh: From :func:`program_mesh`.

    Returns:
        A ``jax.stages.Lowered``.
    """
    with lowering_scope():
        return staged_function(graph, sizes, mesh).lower(*argument_shapes(graph, sizes))


def staged_function(
    graph: Graph,
    sizes: Mapping[str, Any],
    mesh: DeviceMesh,
    *,
    for_reading: bool = False,
) -> Any:
    """Wraps a graph's evaluation in ``jax.jit`` with its shardings and donations.

    Args:
        graph: The recorded program.
        sizes: What each symbol stands for.
        mesh: From :func:`program_mesh`.
        for_reading: Whether the module is to be printed or shipped, and so shows
            inputs that nothing uses, and written parameters behind the outputs.

    Returns:
        From stored arrays to stored arrays. Written parameters come first: JAX gives
        donated memory to the first result that fits, which must be the new value.
    """
    mesh.to_jax()  # starts JAX with all its devices; tracing would start it with one
    first = 0 if for_reading else len(graph.outputs)

    def program(*leaves: jax.Array) -> tuple[jax.Array, ...]:
        arrays = _at_edge(unpad, inputs, leaves, sizes)
        found = Evaluator(sizes, mesh.num_devices == 1).run(graph, arrays)
        return tuple(_at_edge(pad, results, (*found[first:], *found[:first]), sizes))

    program.__name__ = program.__qualname__ = graph.name
    inputs = [*graph.hidden, *graph.parameters]
    results = [*graph.results[first:], *graph.results[:first]]
    donated = tuple(len(graph.hidden) + i for i in sorted(graph.writes))
    if for_reading and mesh.num_devices == 1:
        # One device needs no shardings, which would only crowd the text.
        return jax.jit(program, donate_argnums=donated, keep_unused=True)
    return jax.jit(
        program,
        in_shardings=tuple(edge_sharding(value.spec, mesh) for value in inputs),
        out_shardings=tuple(edge_sharding(value.spec, mesh) for value in results),
        donate_argnums=donated,
        keep_unused=for_reading,
    )


def _at_edge(
    change: Callable[..., jax.Array],
    values: Sequence[TensorValue],
    arrays: Sequence[jax.Array],
    sizes: Mapping[str, Any],
) -> list[jax.Array]:
    """Pads what goes out of a program, or unpads what comes in."""
    return [
        change(array, value.spec.mapping, _sizes(value.spec, sizes))
        if value.spec.is_distributed
        else array
        for value, array in zip(values, arrays, strict=True)
    ]


def argument_shapes(
    graph: Graph, sizes: Mapping[str, Any]
) -> list[jax.ShapeDtypeStruct]:
    """Lists shape and dtype of the stored array of every input."""
    return [
        jax.ShapeDtypeStruct(stored_shape(value.spec, sizes), value.spec.dtype.to_jax())
        for value in (*graph.hidden, *graph.parameters)
    ]


def _elsewhere(spec: Spec, mesh: DeviceMesh) -> bool:
    return spec.mapping.mesh.num_devices == 1 and (
        mesh.num_devices > 1 or spec.mapping.mesh.devices != mesh.devices
    )


def _awaited(
    call: Callable[..., Sequence[jax.Array]],
) -> Callable[..., Sequence[jax.Array]]:
    """Waits until a program has acted: what it prints stands before what comes next."""

    def awaited(*arrays: jax.Array) -> Sequence[jax.Array]:
        results = call(*arrays)
        jax.effects_barrier()
        return results

    return awaited


_flight_lock = threading.Lock()
_calls_in_flight = 0


def _guarded(
    call: Callable[..., Any], mesh: DeviceMesh
) -> Callable[..., Sequence[jax.Array]]:
    """Bounds the calls in flight on a mesh of CPU devices."""
    if mesh.num_devices == 1 or not mesh.devices[0].is_host:
        return call

    def guarded(*arrays: jax.Array) -> Sequence[jax.Array]:
        global _calls_in_flight
        with _flight_lock:
            results = call(*arrays)
            _calls_in_flight += 1
            if _calls_in_flight % MAX_CALLS_IN_FLIGHT == 0:
                jax.block_until_ready(results)
            return results

    return guarded
