"""Evaluating a recorded graph, row by row, on arrays.

The same walk serves everything: under ``jax.jit`` it gives an executable, under
``jax.export`` a portable module, under JAX's transforms a derivative. Sizes are numbers
or JAX's symbolic dims, so one recorded program is specialised as often as needed
without running the user's Python again.

A node whose placements were chosen is executed in four steps: each operand is moved to
the placements that its row needs, mesh axes whose result is a pending sum are mapped
over (each slot is one device's local computation, which costs no traffic), the row's
function runs, and the results are pinned where the row says they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from maxlite.graph._dim import Dim
from maxlite.graph._node import Literal, Region, TensorValue
from maxlite.lowering._redistribute import pin, redistribute
from maxlite.sharding import DeviceMapping, Partial, Replicated, Sharded

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from maxlite.graph._graph import Graph
    from maxlite.graph._node import Node
    from maxlite.graph._spec import Spec
    from maxlite.sharding import DeviceMesh, Placement

Arrays = Sequence[jax.Array]

LINE_SCOPE = "line:"
"""Marks the part of a name in a compiled program that is a line of the user."""


@dataclass(slots=True)
class Evaluator:
    """Evaluates graphs at one set of sizes.

    Bodies of subgraphs are traced once per evaluator and become one private function
    in the lowered module, however often they are called.

    Attributes:
        sizes: What each symbol stands for: a number, or a symbolic dim of JAX.
        one_device: Whether the program runs on one device, where JAX keeps the order
            of effects.
        bodies: Functions of the bodies met so far, by graph and sizes.
    """

    sizes: Mapping[str, Any]
    one_device: bool = True
    bodies: dict[tuple[int, tuple[tuple[str, Any], ...]], Callable[..., Any]] = field(
        default_factory=dict[
            tuple[int, tuple[tuple[str, Any], ...]], "Callable[..., Any]"
        ]
    )

    def run(self, graph: Graph, leaves: Arrays) -> list[jax.Array]:
        """Computes a graph's results.

        Args:
            graph: The recorded program.
            leaves: Stored arrays of the hidden inputs, then of the parameters.

        Returns:
            Stored arrays of the outputs, then of the written parameters.
        """
        known: dict[int, jax.Array] = {}
        inputs = [*graph.hidden, *graph.parameters]
        for value, array in zip(inputs, leaves, strict=True):
            known[id(value)] = array
        after = None if self.one_device else jnp.zeros((), jnp.int32)
        for node in graph.live_nodes():
            operands = [self._operand(value, known) for value in node.inputs]
            if node.op.effects:
                params = self._params(node)
                after = node.op.fn(*operands, **params, after=after)
                continue
            with _at_line(graph.lines.get(id(node))):
                results = self._apply(node, operands)
            for value, array in zip(node.outputs, results, strict=True):
                known[id(value)] = array
        return [self._operand(value, known) for value in graph.results]

    def _operand(self, value: TensorValue, known: Mapping[int, jax.Array]) -> jax.Array:
        if isinstance(value.origin, Literal):
            return literal_array(value.origin.value, value.spec)
        return known[id(value)]

    def _params(self, node: Node) -> dict[str, Any]:
        keywords = node.op.keywords(node.params)
        return {name: self._resolve(value) for name, value in keywords.items()}

    def _apply(self, node: Node, operands: list[jax.Array]) -> Sequence[jax.Array]:
        params = self._params(node)
        if node.op.places:
            return [_place(node, node.op.fn(*operands, **params))]
        if node.action is None:
            operands = [
                _pinned(value.spec, array)
                for value, array in zip(node.inputs, operands, strict=True)
            ]
            results = as_tuple(node.op.fn(*operands, **params))
            return [
                _pinned(value.spec, array)
                for value, array in zip(node.outputs, results, strict=True)
            ]
        return apply_action(node, operands, params)

    def _resolve(self, param: Any) -> Any:
        """Replaces what is symbolic in a static parameter by what it stands for."""
        if isinstance(param, Dim):
            return param.evaluate(self.sizes)
        if isinstance(param, Region):
            return self._body(param)
        if type(param) is tuple:
            return tuple(self._resolve(item) for item in cast("tuple[Any, ...]", param))
        return param

    def _body(self, region: Region) -> Callable[..., list[jax.Array]]:
        sizes = self.sizes
        if region.bindings:
            sizes = {name: self._resolve(dim) for name, dim in region.bindings}
        key = (id(region.graph), tuple(sorted(sizes.items(), key=lambda item: item[0])))
        if key not in self.bodies:
            inner = self
            if region.bindings:
                inner = Evaluator(sizes, self.one_device, self.bodies)
            graph = region.graph

            def body(*leaves: jax.Array) -> list[jax.Array]:
                return inner.run(graph, leaves)

            body.__name__ = body.__qualname__ = graph.name
            self.bodies[key] = jax.jit(body)
        return self.bodies[key]


def _at_line(line: str | None) -> AbstractContextManager[object]:
    """Names what is traced after the user's line, which XLA keeps for what it adds."""
    if line is None:
        return nullcontext()
    return jax.named_scope(LINE_SCOPE + line.replace("\\", "/").rpartition("/")[2])


def literal_array(value: bool | int | float, spec: Spec) -> Any:
    """Makes the array of a Python number; beyond the dtype's range it is infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(value).astype(spec.dtype.to_jax())


def as_tuple(result: Any) -> Sequence[jax.Array]:
    """Lists the results of a row's function, which gives one array or several."""
    if isinstance(result, (tuple, list)):
        return cast("Sequence[jax.Array]", result)
    return (result,)


def placements_on(spec: Spec, mesh: DeviceMesh) -> tuple[Placement, ...]:
    """Placements of an operand on a mesh; what lies on one device is replicated."""
    return spec.mapping.placements if spec.is_distributed else _whole(mesh)


def _pinned(spec: Spec, array: jax.Array) -> jax.Array:
    """Pins what goes into a body: JAX would trace it anew for what is not pinned."""
    return pin(array, spec.mapping, spec.rank) if spec.is_distributed else array


def _place(node: Node, array: jax.Array) -> jax.Array:
    """Moves the result of an op that places to where its spec says.

    What was made from nothing is whole; what was moved lies where it came from.
    """
    spec = node.outputs[0].spec
    target = spec.mapping
    source = node.inputs[0].spec.mapping if node.inputs else None
    if source is None:
        placements = _whole(target.mesh)
    elif source.mesh == target.mesh:
        placements = source.placements
    else:
        array = _cross(array, source, target, spec.rank)
        placements = _whole(target.mesh)
    return redistribute(array, target.mesh, placements, target.placements)


def _cross(
    array: jax.Array, source: DeviceMapping, target: DeviceMapping, rank: int
) -> jax.Array:
    """Moves an array from one mesh to another, of the same devices or of one.

    Sums are resolved on the first mesh, others start on the second; in between the
    array is pinned where the second wants it, or whole for a single device.
    """
    mesh = source.mesh
    if target.mesh.is_single:
        return redistribute(array, mesh, source.placements, _whole(mesh))
    resolved = _without_sums(source.placements)
    array = redistribute(array, mesh, source.placements, resolved)
    return pin(
        array, DeviceMapping(target.mesh, _without_sums(target.placements)), rank
    )


def _without_sums(placements: Sequence[Placement]) -> tuple[Placement, ...]:
    return tuple(Replicated() if isinstance(p, Partial) else p for p in placements)


def _whole(mesh: DeviceMesh) -> tuple[Placement, ...]:
    return (Replicated(),) * mesh.ndim


def apply_action(
    node: Node, operands: Sequence[jax.Array], params: Mapping[str, Any]
) -> Sequence[jax.Array]:
    """Executes one node under the placements that were chosen for it.

    Args:
        node: Its ``action`` gives the placements needed and had.
        operands: Stored arrays, in the placements of their own specs.
        params: Static parameters, sizes filled in.

    Returns:
        Stored arrays of the results, pinned.
    """
    mesh = node.outputs[0].spec.mapping.mesh
    outputs: tuple[tuple[Placement, ...], ...] = node.action.outputs
    pending = [i for i, p in enumerate(outputs[0]) if isinstance(p, Partial)]
    moved: list[jax.Array] = []
    lying: list[tuple[Placement, ...]] = []
    for value, array, needed in zip(
        node.inputs, operands, node.action.needed, strict=True
    ):
        if value.spec.literal:
            slots = [i for i in pending if isinstance(needed[i], Partial)]
            array = _literal_slots(array, mesh, slots)
        else:
            source = placements_on(value.spec, mesh)
            array = redistribute(array, mesh, source, needed)
            slots = [i for i in pending if not isinstance(needed[i], Replicated)]
            array = _split_blocks(array, mesh, needed, slots)
        moved.append(array)
        lying.append(
            tuple(Partial() if i in slots else p for i, p in enumerate(needed))
        )

    def local(*arrays: jax.Array) -> Any:
        return node.op.fn(*arrays, **params)

    run: Callable[..., Any] = local
    if node.op.runs_locally and _divide(moved, mesh, lying):
        run = _on_each_device(local, mesh, node, lying)
    else:
        for axis in reversed(pending):
            sums = (isinstance(placements[axis], Partial) for placements in lying)
            run = jax.vmap(run, in_axes=tuple(0 if is_sum else None for is_sum in sums))
    return [
        pin(array, DeviceMapping(mesh, placements), array.ndim - len(pending))
        for array, placements in zip(as_tuple(run(*moved)), outputs, strict=True)
    ]


def _divide(
    arrays: Sequence[jax.Array], mesh: DeviceMesh, lying: Sequence[Sequence[Placement]]
) -> bool:
    """Whether every shard of every operand has the same size."""
    for array, placements in zip(arrays, lying, strict=True):
        hidden = _hidden_axes(placements)
        for i, placement in enumerate(placements):
            if isinstance(placement, Sharded):
                size: Any = array.shape[hidden + placement.axis]
                ways = mesh.axis_size(
                    [k for k, p in enumerate(placements) if p == placements[i]]
                )
                if not isinstance(size, int) or size % ways:
                    return False
    return True


def _hidden_axes(placements: Sequence[Placement]) -> int:
    """Counts the hidden axes of a stored array, one per pending sum."""
    return sum(isinstance(placement, Partial) for placement in placements)


def _on_each_device(
    local: Callable[..., Any],
    mesh: DeviceMesh,
    node: Node,
    lying: Sequence[tuple[Placement, ...]],
) -> Callable[..., Any]:
    """Runs a row's function on the shards of each device by itself.

    Of a pending sum a device holds one term, so that hidden axes have size 1 there.

    Args:
        local: The function.
        mesh: The devices.
        node: What is executed.
        lying: Placements of each operand, as it is now.
    """

    def specs(
        values: Sequence[TensorValue], chosen: Sequence[tuple[Placement, ...]]
    ) -> tuple[Any, ...]:
        return tuple(
            DeviceMapping(mesh, placements).partition_spec(value.spec.rank)
            for value, placements in zip(values, chosen, strict=True)
        )

    outputs: Sequence[tuple[Placement, ...]] = node.action.outputs

    def several(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        own = [
            lax.squeeze(array, range(_hidden_axes(placements)))
            for array, placements in zip(arrays, lying, strict=True)
        ]
        return tuple(
            lax.expand_dims(result, range(_hidden_axes(placements)))
            for result, placements in zip(as_tuple(local(*own)), outputs, strict=True)
        )

    run: Any = jax.shard_map(
        several,
        mesh=mesh.to_jax(),
        in_specs=specs(node.inputs, lying),
        out_specs=specs(node.outputs, outputs),
        check_vma=False,
    )
    return run


def _literal_slots(array: Any, mesh: DeviceMesh, slots: Sequence[int]) -> Any:
    """Puts a number into the first slot of each pending sum, zeros elsewhere."""
    if not slots:
        return array
    sizes = tuple(mesh.mesh_shape[i] for i in slots)
    return jnp.zeros(sizes, array.dtype).at[(0,) * len(sizes)].set(array)


def _split_blocks(
    array: jax.Array,
    mesh: DeviceMesh,
    needed: Sequence[Placement],
    slots: Sequence[int],
) -> jax.Array:
    """Turns sharded axes that are summed over into one hidden axis per mesh axis.

    A contraction over a sharded axis is the sum of the devices' local contractions:
    the axis ``[k]`` becomes ``[n, k / n]`` and its first part a hidden axis, so that
    mapping over it is local work.
    """
    split = [i for i in slots if isinstance(needed[i], Sharded)]
    if not split:
        return array
    after = [Partial() if i in split else p for i, p in enumerate(needed)]
    rank = array.ndim - sum(isinstance(p, Partial) for p in needed)
    axes = sorted({p.axis for i in split if isinstance(p := needed[i], Sharded)})
    for axis in axes:
        array = _split_axis(array, mesh, needed, split, axis, rank)
        needed = [
            Partial() if i in split and _shards(p, axis) else p
            for i, p in enumerate(needed)
        ]
    return pin(array, DeviceMapping(mesh, tuple(after)), rank)


def _shards(placement: Placement, axis: int) -> bool:
    return isinstance(placement, Sharded) and placement.axis == axis


def _split_axis(
    array: jax.Array,
    mesh: DeviceMesh,
    needed: Sequence[Placement],
    split: Sequence[int],
    axis: int,
    rank: int,
) -> jax.Array:
    at = array.ndim - rank + axis
    owners = [i for i, p in enumerate(needed) if _shards(p, axis)]
    sizes = [mesh.mesh_shape[i] for i in owners]
    size: Any = array.shape[at]
    ways = int(np.prod(sizes))
    if isinstance(size, int) and size % ways:
        # Zeros add nothing to a sum, so the last block may be filled up with them.
        widths = [(0, 0, 0)] * array.ndim
        widths[at] = (0, -size % ways, 0)
        array = lax.pad(array, jnp.zeros((), array.dtype), widths)
        size = array.shape[at]
    shape: tuple[Any, ...] = array.shape
    array = array.reshape((*shape[:at], *sizes, size // ways, *shape[at + 1 :]))
    present = [i for i, p in enumerate(needed) if isinstance(p, Partial)]
    position = {i: slot for slot, i in enumerate(present)}
    position |= {i: at + owners.index(i) for i in owners if i in split}
    front = [position[i] for i in sorted(position)]
    array = array.transpose([*front, *(k for k in range(array.ndim) if k not in front)])
    # Mesh axes that stay on the tensor axis keep their blocks; join them again.
    head = len(front) + axis
    staying = [mesh.mesh_shape[i] for i in owners if i not in split]
    shape = array.shape
    joined = int(np.prod(staying)) * (size // ways)
    return array.reshape((*shape[:head], joined, *shape[head + len(staying) + 1 :]))
