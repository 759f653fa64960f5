"""Ops whose results have a size that only the values tell, in every way to run them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from maxlite import CPU, DType, Tensor, TensorLayout
from maxlite import functional as F
from maxlite.compilation import as_subgraph, compile, load, stage
from maxlite.functional import _dispatch
from maxlite.sharding import DeviceMapping, Replicated, ShardingError
from tests.functional._cross import NUMBERS, check
from tests.sharding.meshes import cpu_mesh

NAN = float("nan")


def layout(*sizes: Any, dtype: DType = DType.float32) -> TensorLayout:
    return TensorLayout(dtype, list(sizes), CPU())


# nonzero ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        [0.0, 1.0, 2.0],
        [[0.0, 1.0], [2.0, 0.0]],
        [[[0.0], [NAN]], [[-0.0], [1.0]]],
        [0.0, 0.0],
        [1.0] * 40,
        np.zeros((0,)),
        np.zeros((2, 0)),
    ],
)
def test_nonzero_finds_positions_in_order(values):
    x = np.array(values, np.float32)
    check(lambda t: F.nonzero(t, "k"), x, want=np.argwhere(x), named=False)


@pytest.mark.parametrize("dtype", [*NUMBERS, np.dtype(bool)], ids=str)
def test_nonzero_takes_every_dtype(dtype):
    x = np.array([[0, 1, 0], [1, 1, 0]]).astype(dtype)
    check(lambda t: F.nonzero(t, "k"), x, want=np.argwhere(x), named=False)


def test_a_tensor_of_rank_0_has_no_positions():
    with pytest.raises(ValueError, match="x must have rank 1 or more"):
        F.nonzero(Tensor(1.0), "n")
    with pytest.raises(TypeError, match="x must be a Tensor"):
        F.nonzero([1.0], "n")


def test_a_number_states_how_many_there_are():
    x = Tensor([1.0, 0.0, 2.0])
    assert F.nonzero(x, 2).shape == [2, 1]
    with pytest.raises(ValueError, match="nonzero: the size must be as stated, got 2"):
        F.nonzero(x, 3)
    program = compile(lambda x: F.nonzero(x, 2))(layout(3))
    assert program(x).to_numpy().tolist() == [[0], [2]]
    with pytest.raises(ValueError, match="got 3 for 2"):
        program(Tensor([1.0, 1.0, 1.0]))


def test_eager_sizes_compile_few_programs():
    x = np.ones(2000, np.float32)
    F.nonzero(Tensor(x))
    before = len(_dispatch._executables)
    for count in range(1030, 1060):
        x[:] = np.arange(2000) < count
        assert F.nonzero(Tensor(x)).shape == [count, 1]
    assert len(_dispatch._executables) == before


# Lazy blocks and programs ------------------------------------------------------------


def test_a_lazy_size_has_a_name_until_it_is_known():
    with F.lazy():
        found = F.nonzero(Tensor([1.0, 0.0, 2.0]), "n")
        doubled, made = found * 2, F.zeros(found.shape)
    assert [str(d) for d in doubled.shape] == ["n", "1"]
    assert doubled.to_numpy().tolist() == [[0], [4]]
    assert found.shape == doubled.shape == made.shape == [2, 1]


def test_each_size_of_a_block_gets_a_name_of_its_own():
    with F.lazy():
        first = F.nonzero(Tensor([1.0, 0.0]))
        second = F.nonzero(Tensor([1.0, 1.0]))
        chained = F.nonzero(F.cast(first, DType.float32) + 1)
    names = [str(x.shape[0]) for x in (first, second, chained)]
    assert len(set(names)) == 3
    assert [x.to_numpy().shape for x in (first, second, chained)] == [
        (1, 1),
        (2, 1),
        (1, 2),
    ]


def test_one_name_for_two_sizes_is_refused_and_can_be_tried_again():
    with F.lazy():
        first = F.nonzero(Tensor([1.0, 0.0]), "n")
        second = F.nonzero(Tensor([1.0, 1.0]), "n")
    for _ in range(2):
        with pytest.raises(ValueError, match=r"the size must be as stated, got \d"):
            first.to_numpy()
    del second
    assert first.to_numpy().tolist() == [[0]]


def test_a_pending_size_settles_where_it_is_used_eagerly():
    with F.lazy():
        found = F.nonzero(Tensor([1.0, 0.0, 2.0]))
        other = found + 1
    assert (found * 2).to_numpy().tolist() == [[0], [4]]
    program = compile(lambda x: x + 1)(layout("m", 1, dtype=DType.int64))
    with F.lazy():
        pending = F.nonzero(Tensor([0.0, 2.0]))
    assert program(pending).to_numpy().tolist() == [[2]]
    assert other.shape == [2, 1]


def chosen(x: Tensor) -> dict[str, Any]:
    where = F.nonzero(x, "k")
    flat = F.reshape(x, [-1])
    values = F.gather(flat, where[:, 0] * x.shape[1] + where[:, 1], 0)
    again = F.nonzero(values - 1, "j")
    return {"where": where, "double": values * 2, "again": again, "sum": F.sum(x)}


PROGRAM_INPUTS = ([[0.0, 1.0], [2.0, 0.0]], [[0.0, 0.0, 0.0]], [[3.0, 1.0, 1.0]])


def check_chosen(program: Any) -> None:
    for values in PROGRAM_INPUTS:
        got, want = program(Tensor(values)), chosen(Tensor(values))
        assert got.keys() == want.keys()
        for key, tensor in want.items():
            assert got[key].shape == tensor.shape
            np.testing.assert_array_equal(got[key].to_numpy(), tensor.to_numpy())


def test_a_program_is_cut_where_a_size_must_be_known(tmp_path):
    program = compile(chosen)(layout("a", "b"))
    shapes = [[str(d) for d in x.shape] for x in program.out_layouts]
    assert shapes == [["j", "1"], ["k"], ["a", "1"], ["k", "2"]]
    check_chosen(program)
    check_chosen(pickle.loads(pickle.dumps(program)))
    program.export_mef(tmp_path / "chosen.mef")
    check_chosen(load(tmp_path / "chosen.mef"))
    assert "Shown at" in str(program._staged)


def test_a_subgraph_with_such_a_size_becomes_part_of_its_caller():
    def body(x: Tensor) -> Tensor:
        weight = F.constant_external("w", layout(1), is_placeholder=True)
        return F.nonzero(x, "k") * F.cast(weight, DType.int64)

    call = as_subgraph(body, prefix="one.")
    program = compile(lambda x: call(x) + 1, weights={"one.w": np.float32([3])})(
        layout("n")
    )
    assert program(Tensor([0.0, 1.0, 1.0])).to_numpy().tolist() == [[4], [7]]


def test_writes_and_draws_of_a_cut_program_are_done():
    def fill(x: Tensor) -> Tensor:
        found = F.nonzero(x, "k")
        x[...] = x * 2 + F.sum(F.cast(found, DType.float32), axis=None)
        return found + F.cast(F.uniform([1], (0, 0.5)), DType.int64)

    program = compile(fill)(layout(3).as_buffer())
    x = Tensor([0.0, 1.0, 1.0])
    keeper = x + 0
    assert program(x).to_numpy().tolist() == [[1], [2]]
    assert x.to_numpy().tolist() == [3.0, 5.0, 5.0]
    assert keeper.to_numpy().tolist() == [0.0, 1.0, 1.0]


def test_a_size_that_is_an_argument_too_is_compared():
    def same(x: Tensor, y: Tensor) -> Tensor:
        return F.nonzero(x, "n")[:, 0] + y

    program = compile(same)(layout("m"), layout("n", dtype=DType.int64))
    y = Tensor([10, 20], dtype=DType.int64)
    assert program(Tensor([1.0, 0.0, 1.0]), y).to_numpy().tolist() == [10, 22]
    with pytest.raises(ValueError, match="got 1 for n = 2"):
        program(Tensor([1.0, 0.0, 0.0]), y)


def test_what_needs_one_program_says_so():
    program = compile(chosen)(layout(2, 2))
    with pytest.raises(NotImplementedError, match="not one executable"):
        program.collectives()
    with pytest.raises(NotImplementedError, match="cannot be called inside another"):
        stage(lambda x: program(x))(layout(2, 2))


def test_a_size_that_nothing_tells_is_an_error():
    with F.lazy():
        x = F.nonzero(Tensor([1.0]), "n")
        lost = F.zeros(["elsewhere"]) + 1
    with pytest.raises(ValueError, match="the sizes elsewhere must be known"):
        lost.to_numpy()
    del lost
    assert x.to_numpy().tolist() == [[0]]


def test_on_a_mesh_the_values_must_be_whole():
    mesh = cpu_mesh(2)
    x = Tensor([1.0, 0.0, 2.0, 3.0])
    whole = DeviceMapping(mesh, (Replicated(),))
    found = F.nonzero(x.to(whole), "n")
    assert found.mapping == whole
    assert found.to_numpy().tolist() == [[0], [2], [3]]
    program = compile(lambda x: F.nonzero(x, "n") * 2)(
        TensorLayout(DType.float32, [4], whole)
    )
    result = program(x.to(whole))
    assert result.mapping == whole
    assert result.to_numpy().tolist() == [[0], [4], [6]]
    from_shards = x.to(DeviceMapping(mesh, (cut(),)))
    with pytest.raises(ShardingError, match="nonzero"):
        F.nonzero(from_shards, "n")


def cut() -> Any:
    from maxlite.sharding import Sharded

    return Sharded(0)


# unique -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [[3.0, 1.0, 3.0, -2.0], [[2.0, NAN], [NAN, 2.0]], [0.0, -0.0], [5.0], []],
)
def test_unique_gives_the_distinct_elements(values):
    x = np.array(values, np.float32)
    want = np.unique(x, return_inverse=True, return_counts=True)
    want = (want[0], want[1].reshape(x.shape), want[2])

    def found(t: Tensor) -> Any:
        return F.unique(t, "u", return_inverse=True, return_counts=True)

    check(found, x, want=want, named=False)
    check(lambda t: F.unique(t, "u"), x, want=want[0], named=False)
    check(
        lambda t: F.unique(t, "u", return_counts=True),
        x,
        want=(want[0], want[2]),
        named=False,
    )


@pytest.mark.parametrize("dtype", [*NUMBERS, np.dtype(bool)], ids=str)
def test_unique_takes_every_dtype(dtype):
    x = np.array([1, 0, 1, 1]).astype(dtype)
    check(lambda t: F.unique(t, "u"), x, want=np.unique(x), named=False)


# masked_scatter ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "mask", "updates"),
    [
        ([1.0, 2.0, 3.0], [True, False, True], [9.0, 8.0]),
        (
            [[1.0, 2.0], [3.0, 4.0]],
            [[True, False], [True, True]],
            [[7.0], [8.0], [9.0]],
        ),
        ([[1.0, 2.0], [3.0, 4.0]], [True, False], [7.0, 8.0]),
        ([1.0, 2.0], [2, 0], [5.0]),
        ([1.0, 2.0], [False, False], []),
        ([], [], []),
    ],
)
def test_masked_scatter_writes_in_order(x, mask, updates):
    data, given = np.array(x, np.float32), np.array(updates, np.float32)
    chosen = np.array(mask, None if mask else bool)
    want = data.copy()
    want[np.broadcast_to(chosen != 0, want.shape)] = given.ravel()
    check(
        lambda a, m, u: F.masked_scatter(a, m, u, "n"),
        *(data, chosen, given),
        want=want,
        named=False,
    )


@pytest.mark.parametrize("count", [1, 3])
def test_the_number_of_updates_is_checked_where_it_can_be(count):
    x, mask = Tensor([1.0, 2.0, 3.0]), Tensor([True, False, True], dtype=DType.bool)
    updates = Tensor([9.0, 8.0, 7.0])[:count]
    with pytest.raises(ValueError, match=f"as many elements .* 2, got {count}"):
        F.masked_scatter(x, mask, updates, "n")
    with F.lazy():
        result = F.masked_scatter(x, mask, updates, "n")
    want = [9.0, 2.0, NAN if count == 1 else 8.0]
    np.testing.assert_array_equal(result.to_numpy(), np.float32(want))


def test_masked_scatter_refuses_what_does_not_fit():
    x, mask = Tensor([1.0, 2.0]), Tensor([True, False], dtype=DType.bool)
    with pytest.raises(ValueError, match="updates must have the dtype of input"):
        F.masked_scatter(x, mask, Tensor([1], dtype=DType.int32), "n")
    with pytest.raises(ValueError, match="mask must be of"):
        F.masked_scatter(x, x, Tensor([1.0]), "n")
    with pytest.raises(ValueError, match=r"mask must broadcast|sizes must be equal"):
        F.masked_scatter(x[:1], mask, Tensor([1.0]), "n")


# non_maximum_suppression ------------------------------------------------------------


def suppressed(
    boxes: np.ndarray, scores: np.ndarray, most: int, iou: float, least: float
) -> list[list[int]]:
    """The definition, box by box."""

    def overlap(a: Any, b: Any) -> float:
        (y0, x0), (y1, x1) = np.minimum(a[:2], a[2:]), np.maximum(a[:2], a[2:])
        (v0, u0), (v1, u1) = np.minimum(b[:2], b[2:]), np.maximum(b[:2], b[2:])
        common = max(0.0, min(y1, v1) - max(y0, v0)) * max(
            0.0, min(x1, u1) - max(x0, u0)
        )
        return common / ((y1 - y0) * (x1 - x0) + (v1 - v0) * (u1 - u0) - common)

    rows: list[list[int]] = []
    for image, kind in np.ndindex(*scores.shape[:2]):
        kept: list[int] = []
        for i in np.argsort(-scores[image, kind], kind="stable"):
            fits = all(overlap(boxes[image, i], boxes[image, k]) <= iou for k in kept)
            if scores[image, kind, i] > least and fits and len(kept) < most:
                kept.append(int(i))
        rows += [[image, kind, i] for i in kept]
    return rows


@pytest.mark.parametrize(
    ("most", "iou", "least"),
    [(10, 0.5, 0.0), (2, 0.5, 0.0), (10, 0.1, 0.3), (0, 0.5, 0.0), (10, 1.0, 2.0)],
)
def test_suppression_is_the_greedy_choice(rng, most, iou, least):
    boxes = rng.random((2, 12, 4), np.float32)
    scores = rng.random((2, 3, 12), np.float32)
    want = np.array(suppressed(boxes, scores, most, iou, least), int).reshape(-1, 3)

    def run(b: Tensor, s: Tensor) -> Tensor:
        return F.non_maximum_suppression(b, s, most, iou, least)

    check(run, boxes, scores, want=want, named=False)


def test_suppression_refuses_what_does_not_fit():
    boxes, scores = F.zeros([1, 2, 4]), F.zeros([1, 1, 2])
    with pytest.raises(ValueError, match=r"shape \[b, n, 4\] and scores"):
        F.non_maximum_suppression(boxes, F.zeros([1, 1, 3]), 1, 0.5, 0.0)
    with pytest.raises(ValueError, match="boxes must be of floating dtype"):
        F.non_maximum_suppression(F.cast(boxes, DType.int32), scores, 1, 1, 0)
    with pytest.raises(ValueError, match="must have rank 0"):
        F.non_maximum_suppression(boxes, scores, 1, F.zeros([1]), 0.0)


# Sizes that nothing but a size needs --------------------------------------------------


def ones_of_positive(x):
    return F.ones_like(x[x > 0])


def mean_of_positive(x):
    found = x[x > 0]
    return F.sum(found) / found.shape[0]


def eye_of_distinct(x):
    return F.eye(F.unique(x).shape[0])


@pytest.mark.parametrize("fn", [ones_of_positive, mean_of_positive, eye_of_distinct])
def test_a_size_may_be_needed_where_no_element_is(fn):
    x = Tensor([3.0, -1.0, 2.0, 3.0])
    want = fn(x).to_numpy().tolist()
    for size in (4, "n"):
        program = compile(fn)(TensorLayout(DType.float32, [size], CPU()))
        assert program(x).to_numpy().tolist() == want
    with F.lazy():
        pending = fn(x)
    assert pending.to_numpy().tolist() == want


def test_one_mask_gives_one_size():
    def difference(x, y, mask):
        return x[mask] - y[mask]

    x, y = Tensor([1.0, 2.0, 3.0]), Tensor([3.0, 2.0, 1.0])
    mask = Tensor(np.array([True, False, True]))
    want = difference(x, y, mask).to_numpy().tolist()
    program = compile(difference)(x.layout, y.layout, mask.layout)
    assert program(x, y, mask).to_numpy().tolist() == want == [-2, 2]


def test_sizes_that_xla_cannot_count_are_refused():
    for make in (
        lambda: F.zeros([2**40, 2**40, 0]),
        lambda: F.eye(2**33),
        lambda: F.tile(Tensor([1.0]), [2**62]),
    ):
        with pytest.raises(ValueError, match="less than 2\\*\\*63 bytes"):
            make()
