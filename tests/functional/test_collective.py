"""Collectives: what each device then holds, and how the result lies, against numpy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial, reduce
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from maxlite import (
    CPU,
    DeviceMapping,
    DeviceMesh,
    DType,
    Tensor,
    TensorLayout,
    as_subgraph,
    compile,
    load,
    stage,
)
from maxlite import functional as F
from maxlite.sharding import NamedMapping, Partial, Replicated, Sharded, Unknown
from tests.functional._cross import every_third, place
from tests.sharding.meshes import cpu_mesh

PLACEMENTS = {
    "R": Replicated(),
    "P": Partial(),
    "S0": Sharded(0),
    "S1": Sharded(1),
    "U": Unknown(),
}
DTYPES = [np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32)]
DTYPES += [np.dtype(name) for name in ("bool", "int64", "uint64", "float16")]
DTYPES += [np.dtype(t) for t in ("float32", "float64", jnp.bfloat16, jnp.float8_e5m2)]
NAMES = "xyz"


def mapping(sizes: tuple[int, ...], text: str) -> DeviceMapping:
    """Reads one of R, P, S0, S1, U per mesh axis."""
    placements = tuple(PLACEMENTS[word] for word in text.split())
    return DeviceMapping(cpu_mesh(*sizes), placements)


def tensor_of(held: np.ndarray, text: str) -> Tensor:
    """Makes a tensor of what each device shall hold.

    Args:
        held: One axis per mesh axis, then those of a shard.
        text: What the shards are, one placement per mesh axis.
    """
    sizes = held.shape[: len(text.split())]
    joined = np.concatenate([held[at] for at in np.ndindex(*sizes)])
    cut = mapping(sizes, " ".join("S0" for _ in sizes))
    return Tensor(joined).to(cut).rebind_mapping(mapping(sizes, text))


def held_by(
    sizes: tuple[int, ...], text: str, *shard: int, dtype: Any = np.float32
) -> np.ndarray:
    """Makes unequal shards, but equal ones along replicated mesh axes."""
    shape = (*sizes, *shard)
    held = (np.arange(np.prod(shape)) * 7 % 23).reshape(shape).astype(dtype)
    for i, word in enumerate(text.split()):
        if word == "R":
            held = np.broadcast_to(held.take([0], i), shape)
    return held


def groups(
    held: np.ndarray, ndim: int, over: str
) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Lists for each device its position in its group, and the shards of the group."""
    fixed = [i for i in range(ndim) if NAMES[i] not in over]
    places = list(np.ndindex(*held.shape[:ndim]))
    for at in places:
        members = [c for c in places if all(c[i] == at[i] for i in fixed)]
        yield members.index(at), [held[c] for c in members]


def added(parts: list[np.ndarray]) -> np.ndarray:
    """Adds up in the dtype of the shards; bools as their or."""
    add = np.logical_or if parts[0].dtype == bool else np.add
    return reduce(add, parts)


def check(fn: Callable[..., Any], x: Tensor, want: list[np.ndarray], text: str) -> None:
    """Runs in every way, and looks at the shards, the shape and the placements."""
    names = [f"n{i}" for i in range(x.rank)]
    named = compile(fn)(TensorLayout(x.dtype, names, x.mapping))
    with F.lazy():
        pending = fn(x)
    runs = {
        "eager": fn(x),
        "lazy": pending,
        "compiled": compile(fn)(x.layout)(x),
        "named": named(x),
    }
    for how, made in runs.items():
        lands = tuple(PLACEMENTS[word] for word in text.split())
        assert made.placements == lands, how
        shapes = [kind.shape for kind in made.layout.local_types]
        assert shapes == [list(shard.shape) for shard in want], how
        for got, shard in zip(made.local_shards, want, strict=True):
            np.testing.assert_array_equal(got.to_numpy(), shard, how, strict=True)


def landed(text: str, over: str, word: str) -> str:
    """Writes ``word`` for the mesh axes that a collective is over."""
    words = text.split()
    return " ".join(word if NAMES[i] in over else w for i, w in enumerate(words))


# What they compute --------------------------------------------------------------------


def test_the_example_of_each() -> None:
    x = Tensor([1.0, 2.0, 3.0, 4.0]).to(mapping((2,), "S0"))
    gathered = F.allgather(x)
    assert gathered.to_numpy().tolist() == [1, 2, 3, 4]
    assert gathered.placements == (Replicated(),)
    total = F.allreduce_sum(x)
    assert total.to_numpy().tolist() == [4, 6]
    assert total.placements == (Replicated(),)
    pieces = F.reduce_scatter(x)
    assert pieces.to_numpy().tolist() == [4, 6]
    assert [shard.to_numpy().tolist() for shard in pieces.local_shards] == [[4], [6]]
    assert pieces.placements == (Sharded(0),)


CASES = [
    *(((2,), text, "x") for text in ("S0", "S1", "P", "R", "U")),
    ((4,), "S0", "x"),
    *(
        ((2, 2), text, over)
        for text in ("S0 R", "S0 S1", "S0 S0", "P S0", "P P")
        for over in ("x", "y", "xy")
    ),
    ((2, 2), "U U", "xy"),
    ((2, 3), "S0 P", "y"),
    ((3, 2), "P S1", "xy"),
    ((1, 2), "P S0", "x"),
    ((2, 1, 2), "S1 R P", "xz"),
]
"""Mesh, placements, and the mesh axes that a collective is over."""


@pytest.mark.parametrize(("sizes", "text", "over"), every_third(CASES))
def test_allgather_joins_the_shards_of_a_group(
    sizes: tuple[int, ...], text: str, over: str
) -> None:
    held = held_by(sizes, text, 3, 4)
    for axis in (0, -1):
        want = [np.concatenate(g, axis) for _, g in groups(held, len(sizes), over)]
        fn = partial(F.allgather, tensor_axis=axis, mesh_axis=tuple(over))
        check(fn, tensor_of(held, text), want, landed(text, over, "R"))


@pytest.mark.parametrize(("sizes", "text", "over"), [*CASES, ((2, 2), "U U", "y")])
def test_allreduce_sum_adds_up_the_shards_of_a_group(
    sizes: tuple[int, ...], text: str, over: str
) -> None:
    held = held_by(sizes, text, 3, 4)
    want = [added(group) for _, group in groups(held, len(sizes), over)]
    fn = partial(F.allreduce_sum, mesh_axis=tuple(over))
    check(fn, tensor_of(held, text), want, landed(text, over, "R"))


@pytest.mark.parametrize(("sizes", "text", "over"), every_third(CASES))
def test_reduce_scatter_leaves_each_device_a_piece_of_the_sum(
    sizes: tuple[int, ...], text: str, over: str
) -> None:
    held = held_by(sizes, text, 12, 12)
    for axis in (0, -1):
        want = [
            np.split(added(group), len(group), axis)[position]
            for position, group in groups(held, len(sizes), over)
        ]
        fn = partial(F.reduce_scatter, scatter_axis=axis, mesh_axis=tuple(over))
        lands = landed(text, over, f"S{axis % 2}")
        check(fn, tensor_of(held, text), want, lands)


@pytest.mark.parametrize("text", ["P", "P R", "S1 P", "P S0", "P P"])
def test_a_pending_sum_keeps_its_value(text: str) -> None:
    array = np.arange(32, dtype=np.float32).reshape(8, 4)
    x = place(array, text)
    over = [i for i, word in enumerate(text.split()) if word == "P"]
    total, pieces = F.allreduce_sum(x, over), F.reduce_scatter(x, 1, over)
    assert total.to_numpy().tolist() == array.tolist()
    if text != "S1 P":  # both mesh axes then cut axis 1, the pieces of x outermost
        assert pieces.to_numpy().tolist() == array.tolist()


def test_gathering_the_outer_axis_alone_reorders() -> None:
    x = Tensor([0.0, 1.0, 2.0, 3.0]).to(mapping((2, 2), "S0 S0"))
    assert F.allgather(x, 0, "x").to_numpy().tolist() == [0, 2, 1, 3]
    assert F.allgather(x, 0, "y").to_numpy().tolist() == [0, 1, 2, 3]


def test_scattering_and_gathering_is_adding_up() -> None:
    x = tensor_of(held_by((4,), "P", 4, 3), "P")
    again = F.allgather(F.reduce_scatter(x))
    assert again.to_numpy().tolist() == F.allreduce_sum(x).to_numpy().tolist()


@pytest.mark.parametrize(
    "over", [("x", "y"), ("y", "x"), [1, 0], ("y", 0, "x"), {0, 1}]
)
def test_mesh_axes_count_in_mesh_order_however_they_are_named(over: Any) -> None:
    x = Tensor([0.0, 1.0, 2.0, 3.0]).to(mapping((2, 2), "S0 S0"))
    assert F.allgather(x, 0, over).to_numpy().tolist() == [0, 1, 2, 3]
    assert F.allreduce_sum(x, over).to_numpy().tolist() == [6]
    whole = Tensor([0.0, 1.0, 2.0, 3.0]).to(x.mesh)
    assert F.reduce_scatter(whole, 0, over).to_numpy().tolist() == [0, 4, 8, 12]


def test_a_named_mapping_is_read() -> None:
    x = Tensor([0.0, 1.0]).to(NamedMapping(cpu_mesh(2), ("x",)))
    assert F.allreduce_sum(x).to_numpy().tolist() == [1]


# Dtypes and sizes ---------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype(dtype: np.dtype) -> None:
    held = held_by((2,), "S0", 4, dtype=dtype)
    if dtype.kind in "iu":
        held[:, 0] = np.iinfo(dtype).max  # the sum wraps around, as in numpy
    x, total = tensor_of(held, "S0"), added(list(held))
    check(F.allgather, x, [np.concatenate(held)] * 2, "R")
    check(F.allreduce_sum, x, [total] * 2, "R")
    check(F.reduce_scatter, x, [total[:2], total[2:]], "S0")


def test_a_bool_is_added_up_as_or() -> None:
    held = np.array([[True, True, False, False], [True, False, True, False]])
    x = tensor_of(held, "P")
    assert F.allreduce_sum(x).to_numpy().tolist() == [True, True, True, False]
    assert F.reduce_scatter(x).to_numpy().tolist() == [True, True, True, False]


@pytest.mark.parametrize("dtype", [np.float16, jnp.bfloat16])
def test_low_precision_is_added_up_as_a_move_does_it(dtype: Any) -> None:
    """In its own dtype, so that no more is sent."""
    big = 2048 if dtype is np.float16 else 256  # big + 1 is big
    x = tensor_of(np.array([[big] * 4, [1] * 4, [1] * 4, [1] * 4]).astype(dtype), "P")
    total = x.to(mapping((4,), "R")).to_numpy().tolist()
    assert F.allreduce_sum(x).to_numpy().tolist() == total
    assert F.reduce_scatter(x).to_numpy().tolist() == total


def test_what_is_not_finite_is_passed_on() -> None:
    held = np.array([[np.nan, np.inf, np.inf, 1], [1, np.inf, -np.inf, 2]], np.float32)
    found = F.allreduce_sum(tensor_of(held, "P")).to_numpy()
    np.testing.assert_array_equal(found, [np.nan, np.inf, np.nan, 3])


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
@pytest.mark.parametrize("shard", [(0, 4), (0, 0)])
def test_empty_shards(shard: tuple[int, int], dtype: Any) -> None:
    held = np.zeros((2, *shard), dtype)
    for text in ("S0", "P"):
        x = tensor_of(held, text)
        for axis in (0, 1):
            joined = np.concatenate(held, axis)
            piece = np.split(held[0], 2, axis)[0]
            check(lambda x, i=axis: F.allgather(x, i), x, [joined] * 2, "R")
            check(lambda x, i=axis: F.reduce_scatter(x, i), x, [piece] * 2, f"S{axis}")
        check(F.allreduce_sum, x, [held[0]] * 2, "R")


def test_rank_0_and_size_1() -> None:
    x = Tensor(3.0).to(cpu_mesh(2, 2))
    assert F.allreduce_sum(x, ("x", "y")).item() == 12
    one = Tensor([[5.0]]).to(cpu_mesh(2))
    assert F.allgather(one).to_numpy().tolist() == [[5], [5]]
    assert F.allgather(one, -1).to_numpy().tolist() == [[5, 5]]


# One device ---------------------------------------------------------------------------


@pytest.mark.parametrize("mesh_axis", [0, "x", ("x", "y")])
def test_a_tensor_of_one_device_is_given_back(mesh_axis: Any) -> None:
    """Code for a mesh runs on a mesh of one device, which keeps no names."""
    lone = DeviceMesh((CPU(),), (1, 1), ("x", "y"))
    for x in (Tensor([1.0, 2.0]), Tensor([1.0, 2.0]).to(lone)):
        assert F.allgather(x, 0, mesh_axis) is x
        assert F.allreduce_sum(x, mesh_axis) is x
        assert F.reduce_scatter(x, 0, mesh_axis) is x


# Programs -----------------------------------------------------------------------------


def on_two(text: str, *shape: int | str, dtype: DType = DType.float32) -> TensorLayout:
    return TensorLayout(dtype, shape, mapping((2,), text))


@pytest.mark.parametrize(
    ("fn", "text", "shape"),
    [
        (F.allgather, "S0", "[n, 2]"),
        (F.allgather, "R", "[n * 2, 2]"),
        (F.allgather, "S1", "[n * 2, 1]"),
        (lambda x: F.allgather(x, 1), "P", "[n, 4]"),
        (F.allreduce_sum, "S0", "[n // 2, 2]"),
        (F.allreduce_sum, "P", "[n, 2]"),
        (F.reduce_scatter, "R", "[(n // 2) * 2, 2]"),
        (lambda x: F.reduce_scatter(x, 1), "S0", "[n // 2, 2]"),
    ],
)
def test_sizes_may_have_names(fn: Any, text: str, shape: str) -> None:
    program = compile(fn)(on_two(text, "n", 2))
    assert f"[{', '.join(map(str, program.out_layouts[0].shape))}]" == shape
    for n in (0, 4, 12):
        shard = {"S0": (n // 2, 2), "S1": (n, 1)}.get(text, (n, 2))
        x = tensor_of(held_by((2,), text, *shard), text)
        found, want = program(x), fn(x)
        assert found.shape == want.shape
        for got, piece in zip(found.local_shards, want.local_shards, strict=True):
            assert got.to_numpy().tolist() == piece.to_numpy().tolist()


@pytest.mark.parametrize("dtype", [DType.float32, DType.bool])
def test_a_named_size_must_divide_too(dtype: DType) -> None:
    program = compile(F.reduce_scatter)(on_two("R", "n", dtype=dtype))
    match = r"at n = 3: reduce_scatter: the size must divide evenly, got 3 on each of 2"
    with pytest.raises(ValueError, match=match):
        program(F.zeros([3], dtype=dtype, device=cpu_mesh(2)))


@pytest.mark.parametrize(
    ("fn", "kind", "op"),
    [
        (F.allgather, "allgather", "all_gather"),
        (F.allreduce_sum, "allreduce", "all_reduce"),
        (F.reduce_scatter, "reduce-scatter", "reduce_scatter"),
    ],
)
def test_each_is_one_collective(fn: Any, kind: str, op: str) -> None:
    for sizes, text in (((2,), "S0"), ((2, 2), "P S0"), ((2, 2), "S0 R")):
        layout = TensorLayout(DType.float32, [8, 4], mapping(sizes, text))
        (found,) = compile(fn)(layout).collectives()
        assert (found.kind, found.mesh_axes, found.count) == (kind, ("x",), 1)
    layout = TensorLayout(DType.float32, [8, 4], mapping((2, 2), "S0 P"))
    everywhere = compile(lambda x: fn(x, mesh_axis=("x", "y")))(layout)
    assert [c.mesh_axes for c in everywhere.collectives()] == [("x", "y")]
    assert f"stablehlo.{op}" in str(stage(fn)(on_two("S0", "n", 2)))


def test_in_subgraphs_loops_and_branches() -> None:
    def total(x: Tensor) -> Tensor:
        x = as_subgraph(F.allreduce_sum)(x)
        (x,) = F.while_loop(x, lambda y: y[0] < 20, F.allreduce_sum)
        (x,) = F.cond(x[0] > 0, [x.layout], lambda: F.allreduce_sum(x), lambda: x)
        return x

    x = tensor_of(np.array([[1.0, 2.0], [2.0, 3.0]], np.float32), "P")
    check(total, x, [np.array([48, 80], np.float32)] * 2, "R")


def test_in_files(tmp_path: Path) -> None:
    program = compile(lambda x: F.allgather(F.reduce_scatter(x) + 1))(on_two("P", "n"))
    program.export_mef(tmp_path / "f.mef")
    again = load(tmp_path / "f.mef")
    for n in (0, 4):
        x = tensor_of(held_by((2,), "P", n), "P")
        assert again(x).to_numpy().tolist() == program(x).to_numpy().tolist()


# Broadcast ----------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(2,), (2, 2), (1, 3)])
@pytest.mark.parametrize(
    "array",
    [
        np.array(2.5),
        np.array([True, False]),
        np.arange(6).reshape(2, 3),
        np.zeros((0, 2), np.float32),
        np.ones(1, jnp.bfloat16),
    ],
    ids=lambda array: f"{array.dtype}{list(array.shape)}",
)
def test_a_broadcast_copies_to_every_device(
    array: np.ndarray, sizes: tuple[int, ...]
) -> None:
    mesh = cpu_mesh(*sizes)
    lands = " ".join("R" for _ in sizes)
    copy = partial(F.distributed_broadcast, mesh=mesh)
    check(copy, Tensor(array), [array] * mesh.num_devices, lands)


def test_a_broadcast_takes_what_is_pending_and_keeps_its_value() -> None:
    mesh = cpu_mesh(2)
    with F.lazy():
        x = Tensor([1.0, 2.0]) + 1
        copies = F.distributed_broadcast(x, mesh)
        assert not copies.real
        x[0] = 9
    assert copies.to_numpy().tolist() == [2, 3]
    assert x.to_numpy().tolist() == [9, 3]


def test_a_broadcast_to_one_device_stays_there() -> None:
    x = Tensor([1.0])
    assert F.distributed_broadcast(x, DeviceMesh((CPU(),), (1,), ("x",))) is x


# What is refused ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fn", "error", "match"),
    [
        (lambda f, x: f(1.0), TypeError, "{who}: t must be a Tensor, got float"),
        (lambda f, x: f([x]), TypeError, "{who}: t must be a Tensor, got list"),
        (lambda f, x: f(x, mesh_axis="z"), ValueError, r"must be one of \('x',\)"),
        (lambda f, x: f(x, mesh_axis=("x", "z")), ValueError, "got 'z'"),
        (lambda f, x: f(x, mesh_axis=()), ValueError, "{who}: mesh_axis must name at"),
        (lambda f, x: f(x, mesh_axis=1), IndexError, r"below 1 on .*x=2.*, got 1"),
        (lambda f, x: f(x, mesh_axis=-1), IndexError, "at least 0 .*, got -1"),
        (lambda f, x: f(x, mesh_axis=0.5), TypeError, "a name, an index or several"),
        (lambda f, x: f(x, mesh_axis=None), TypeError, "a name, an index or several"),
    ],
)
@pytest.mark.parametrize("name", ["allgather", "allreduce_sum", "reduce_scatter"])
def test_wrong_tensors_and_mesh_axes(
    name: str, fn: Any, error: type[Exception], match: str
) -> None:
    x = Tensor([1.0, 2.0]).to(mapping((2,), "S0"))
    with pytest.raises(error, match=match.format(who=name)):
        fn(getattr(F, name), x)


@pytest.mark.parametrize("name", ["allgather", "reduce_scatter"])
def test_wrong_tensor_axes(name: str) -> None:
    fn, x = getattr(F, name), Tensor([1.0, 2.0]).to(mapping((2,), "S0"))
    for axis in (1, -2):
        match = re.escape(f"{name}: axis must be from -1 to 0, got {axis} for a tensor")
        with pytest.raises(IndexError, match=match):
            fn(x, axis)
    with pytest.raises(IndexError, match=f"{name}: axis must exist, got 0 for a tenso"):
        fn(Tensor(1.0).to(cpu_mesh(2)))
    with pytest.raises(TypeError, match=f"{name}: axis must be an int, got float"):
        fn(x, 0.0)


def test_a_size_that_does_not_divide() -> None:
    x = F.zeros([6, 4], device=mapping((2, 2), "S0 R"))
    match = r"reduce_scatter: the size must divide evenly, got 3 on each of 2 devices"
    with pytest.raises(ValueError, match=match):
        F.reduce_scatter(x)
    with pytest.raises(ValueError, match=r"got 3 on each of 4 devices\. Pad it"):
        F.reduce_scatter(x, mesh_axis=(0, 1))
    assert F.reduce_scatter(x, 1).shape == [3, 4]


def test_a_broadcast_that_does_not_fit() -> None:
    mesh = cpu_mesh(2)
    with pytest.raises(RuntimeError, match=r"t must lie on one device, got .*x=2"):
        F.distributed_broadcast(Tensor([1.0]).to(mesh), mesh)
    with pytest.raises(TypeError, match="mesh must be a DeviceMesh, got CPU"):
        F.distributed_broadcast(Tensor([1.0]), CPU())
    with pytest.raises(TypeError, match="mesh must be a DeviceMesh, got DeviceMapping"):
        F.distributed_broadcast(Tensor([1.0]), DeviceMapping.replicated(mesh))
    with pytest.raises(TypeError, match="distributed_broadcast: t must be a Tensor"):
        F.distributed_broadcast(1.0, mesh)
