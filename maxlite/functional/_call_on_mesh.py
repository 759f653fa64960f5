"""Calling a function on the shards that each device holds.

The function runs once, on traced tensors of one device, and its recorded body then runs
on every device by itself. With mesh axes given, it sees the shards of a whole group of
devices, which are gathered for it; each device keeps the item that is its own.

Differs from the reference: the function runs once rather than once per device, so all
devices do the same; shards must have one shape; and a mapping in ``out_specs`` must be
on the mesh of the call.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.functional._dispatch import apply
from maxlite.functional._on_shards import global_shape, local_shape, on_shards
from maxlite.functional._random import seeds_of
from maxlite.graph._spec import Spec, spec
from maxlite.realization_context._bodies import Bodies, settle
from maxlite.realization_context._seed import steps
from maxlite.sharding import DeviceMapping, DeviceMesh, ShardingError, Unknown
from maxlite.tensor._defaults import on_device, plain
from maxlite.tensor._tensor import Tensor
from maxlite.tree import TreeDef, flatten, unflatten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import jax

    from maxlite.dtype import DType
    from maxlite.functional._on_shards import Place
    from maxlite.graph._node import Region

    Specs = DeviceMapping | Sequence[DeviceMapping] | None


def _call_on_mesh(
    *arrays: jax.Array,
    body: Callable[..., list[jax.Array]],
    sources: tuple[Place, ...],
    targets: tuple[tuple[DeviceMapping, int], ...],
    group: tuple[int, ...],
    draws: int | None,
) -> tuple[jax.Array, ...]:
    mesh = targets[0][0].mesh
    axes = tuple(mesh.axis_names[i] for i in group)
    members = mesh.axis_size(group)
    seeds = 0 if draws is None else 1

    def parameters(pieces: Sequence[jax.Array]) -> Iterator[jax.Array]:
        if draws is not None:
            yield _own_seed(pieces[0], mesh, group, draws)
        for piece, place in zip(pieces[seeds:], sources[seeds:], strict=True):
            if axes and place:
                gather = cast("Callable[..., jax.Array]", lax.all_gather)
                gathered = gather(piece, axes, axis=0, tiled=False)
                yield from (gathered[i] for i in range(members))
            else:
                yield piece

    def local(*pieces: jax.Array) -> Sequence[jax.Array]:
        results = body(*parameters(pieces))
        if not axes:
            return results
        own, count = lax.axis_index(axes), len(targets)
        return [jnp.stack(results[k::count])[own] for k in range(count)]

    return on_shards(local, mesh, sources, targets)(*arrays)


def _own_seed(
    seed: jax.Array, mesh: DeviceMesh, group: Sequence[int], draws: int
) -> jax.Array:
    """Moves a seed on by what the devices before draw."""
    others = tuple(n for i, n in enumerate(mesh.axis_names) if i not in group)
    if not others:
        return seed
    moves = [steps(k * draws) for k in range(mesh.axis_size(others))]
    table = jnp.asarray(np.array(moves, np.uint64))
    multiplier, increment = table[lax.axis_index(others)]
    return seed * multiplier + increment


def _infer(
    *operands: Spec,
    body: Region,
    sources: tuple[Place, ...],
    targets: tuple[tuple[DeviceMapping, int], ...],
    group: tuple[int, ...],
    draws: int | None,
) -> list[tuple[DType, Any, DeviceMapping]]:
    made = [value.spec for value in body.graph.outputs[: len(targets)]]
    return [
        (local.dtype, global_shape(local.shape, mapping, operands), mapping)
        for local, (mapping, _) in zip(made, targets, strict=True)
    ]


_CALL_ON_MESH = register(
    Op(
        name="call_on_mesh",
        fn=_call_on_mesh,
        infer=_infer,
        params=("body", "sources", "targets", "group", "draws"),
    )
)


@front
def call_on_mesh(
    fn: Callable[..., Any],
    mesh: DeviceMesh,
    mesh_axes: Sequence[str | int] = (),
    *,
    out_specs: DeviceMapping | Sequence[DeviceMapping] | None = None,
) -> Callable[..., Any]:
    """Makes a function that runs ``fn`` on what each device of a mesh holds.

    Args:
        fn: Takes and returns trees of one-device tensors and statics. It is called
            once per call, on traced tensors, and may use one-device tensors from around
            it.
        mesh: The devices.
        mesh_axes: None: ``fn`` gets the device's own shard of each distributed tensor.
            Otherwise it gets a list with the shards of all devices along these axes, in
            mesh order, and returns a list with one item per device.
        out_specs: What the shards of the results are: a mapping for all results, or one
            per result; Unknown when None.

    Returns:
        A function of the same arguments: distributed tensors on ``mesh``, and statics
        and tensors of one device, which every device gets.

    Raises:
        TypeError: ``fn`` cannot be called, ``mesh`` is no mesh, or ``out_specs`` holds
            something else than mappings.
        ValueError: No mesh axis has that name, a sharded size does not divide, or the
            devices of a group get results of different structure or type.
        IndexError: No mesh axis has that index.
        ShardingError: A tensor is on another mesh, ``fn`` uses a distributed tensor
            from around it, ``out_specs`` does not fit, or there is not one item per
            device of a group.

    Source: max.experimental.functional.call_on_mesh.

    >>> from maxlite.driver import CPU
    >>> from maxlite.sharding import Partial, Sharded
    >>> mesh = DeviceMesh((CPU(), CPU()), (2,), ("x",))
    >>> x = Tensor([1.0, 2.0, 3.0, 4.0]).to(DeviceMapping(mesh, (Sharded(0),)))
    >>> total = DeviceMapping(mesh, (Partial(),))
    >>> add_up = call_on_mesh(lambda part: part.sum(), mesh, out_specs=total)
    >>> add_up(x).to_numpy().tolist()
    [10.0]
    """
    if not callable(fn):
        raise TypeError(
            f"call_on_mesh: fn must be a function, got {type(fn).__name__}."
        )
    if not isinstance(mesh, DeviceMesh):
        raise TypeError(
            f"call_on_mesh: mesh must be a DeviceMesh, got {type(mesh).__name__}."
        )
    group = tuple(sorted(set(mesh.axis_indices(mesh_axes))))
    mappings = _mappings(out_specs, mesh)

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _LocalCall(fn, mesh, group).run(mappings, args, kwargs)

    return call


def _mappings(out_specs: Any, mesh: DeviceMesh) -> Specs:
    """Checks what results shall be."""
    if out_specs is None:
        return None
    if isinstance(out_specs, DeviceMapping) or not isinstance(out_specs, Iterable):
        return _checked(out_specs, mesh)
    return [_checked(item, mesh) for item in cast("Iterable[Any]", out_specs)]


def _checked(mapping: Any, mesh: DeviceMesh) -> DeviceMapping:
    if not isinstance(mapping, DeviceMapping):
        raise TypeError(
            "call_on_mesh: out_specs must be DeviceMappings, got "
            f"{type(mapping).__name__}. Use DeviceMapping(mesh, placements)."
        )
    if mapping.mesh != mesh:
        raise ShardingError(
            f"call_on_mesh: out_specs must be on the mesh of the call, {mesh!r}, got "
            f"{mapping!r}. Move the result with to(mesh) afterwards."
        )
    return mapping


class _LocalCall:
    """One call: what goes in, and the tree that comes out.

    Args:
        fn: The user's function.
        mesh: The devices.
        group: Mesh axes whose devices are called together; none for each by itself.
    """

    def __init__(
        self, fn: Callable[..., Any], mesh: DeviceMesh, group: tuple[int, ...]
    ) -> None:
        self.fn = fn
        self.mesh = mesh
        self.group = group
        self.members = mesh.axis_size(group)

    def run(self, mappings: Specs, args: Any, kwargs: Any) -> Any:
        """Records the function and applies it."""
        self.tensors, self.treedef = flatten((args, kwargs), leaf=Tensor)
        for tensor in self.tensors:
            self._check(tensor)
            settle(tensor)
        bodies = Bodies("call_on_mesh", self._local_specs(), on_one_device=True)
        name = getattr(self.fn, "__name__", "").strip("<>") or "local"
        made = bodies.record(name, self._call)
        count = len(made) // self.members
        targets = self._targets(mappings, made, count)
        if not count:
            return unflatten(self.out_tree, ())
        (graph,) = bodies.graphs
        calls = self.mesh.num_devices // self.members
        seeds = seeds_of([graph], graph.draws * calls)
        operands = [*seeds, *self.tensors, *bodies.taken]
        places = (_place(tensor) for tensor in self.tensors)
        sources = (*(None for _ in seeds), *places, *(None for _ in bodies.taken))
        draws = graph.draws if seeds else None
        static = (*bodies.regions(), sources, targets, self.group, draws)
        results = apply(_CALL_ON_MESH, operands, *static)
        several = (results,) if isinstance(results, Tensor) else results
        return unflatten(self.out_tree, several)

    def _check(self, tensor: Tensor) -> None:
        if tensor.is_distributed and tensor.mesh != self.mesh:
            raise ShardingError(
                "call_on_mesh: distributed tensors must be on the mesh of the call, "
                f"{self.mesh!r}, got {tensor.mapping!r}. Move it with to(mesh)."
            )

    def _local_specs(self) -> list[Spec]:
        """Tells what the function's parameters are."""
        device = on_device(self.mesh.devices[0])
        specs: list[Spec] = []
        for tensor in self.tensors:
            shape = local_shape("call_on_mesh", tensor._spec)
            copies = self.members if self.group and tensor.is_distributed else 1
            specs += [spec(tensor.dtype, shape, device)] * copies
        return specs

    def _call(self, *parameters: Tensor) -> list[Tensor]:
        """Calls the user's function on the parameters of the body."""
        rest = iter(parameters)
        leaves: list[Any] = [
            [next(rest) for _ in range(self.members)]
            if self.group and tensor.is_distributed
            else next(rest)
            for tensor in self.tensors
        ]
        args, kwargs = unflatten(self.treedef, leaves)
        result = self.fn(*args, **kwargs)
        items = self._items(result) if self.group else [result]
        flat = [flatten(item, leaf=Tensor) for item in items]
        self.out_tree: TreeDef = flat[0][1]
        for i, (_, other) in enumerate(flat):
            if other != self.out_tree:
                raise ValueError(
                    "call_on_mesh: the devices of a group must get results of one "
                    f"structure, got {self.out_tree} and, for device {i}, {other}. "
                    "Return equal statics."
                )
        return [leaf for found, _ in flat for leaf in found]

    def _items(self, result: Any) -> list[Any]:
        several = isinstance(cast("object", result), (list, tuple))
        listed: list[Any] = list(result) if several else []
        if len(listed) != self.members:
            got = f"{len(listed)} items" if listed else type(result).__name__
            raise ShardingError(
                "call_on_mesh: fn must return one item per device of a group of "
                f"{self.members}, got {got}. Return a list in mesh order."
            )
        return listed

    def _targets(
        self, mappings: Specs, made: Sequence[Spec], count: int
    ) -> tuple[tuple[DeviceMapping, int], ...]:
        """Tells what the results are, and checks that all devices get the same kind."""
        for i, local in enumerate(made):
            if local is not made[i % count]:
                raise ValueError(
                    "call_on_mesh: the devices of a group must get results of one "
                    f"dtype and shape, got {made[i % count]!r} and {local!r}. Cast "
                    "them, or pad the smaller ones."
                )
        if mappings is None:
            unknown = (Unknown(),) * self.mesh.ndim
            mappings = DeviceMapping(self.mesh, unknown)
        listed = [mappings] * count if isinstance(mappings, DeviceMapping) else mappings
        if len(listed) != count:
            raise ShardingError(
                f"call_on_mesh: out_specs must name one mapping per result, got "
                f"{len(listed)} for {count}. Pass one mapping for all, or {count}."
            )
        return tuple(
            (plain(mapping), local.rank)
            for mapping, local in zip(listed, made, strict=False)
        )


def _place(tensor: Tensor) -> Place:
    return (tensor.mapping, tensor.rank) if tensor.is_distributed else None
