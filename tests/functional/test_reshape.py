"""Other shapes for the same elements: reshape, broadcast_to, flatten, rebind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import as_subgraph, compile, stage
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph import Dim
from maxlite.sharding import ShardingError, TensorLayout
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, check, check_sharded, place

N, M = Dim("n"), Dim("m")


def layout(*sizes) -> TensorLayout:
    return TensorLayout(DType.float32, list(sizes), CPU())


def counted(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def staged_shape(fn, *layouts) -> list[str]:
    return [str(dim) for dim in stage(fn)(*layouts).out_layouts[0].shape]


# reshape ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("have", "shape"),
    [
        ((6,), [2, 3]),
        ((2, 3), (3, 2)),
        ((2, 3), [-1]),
        ((4, 3), [-1, 6]),
        ((1,), []),
        ((), [1, 1]),
        ((), [-1]),
        ((0, 3), [0]),
        ((0,), [2, -1]),
        ((5, 1), [1, 5, 1]),
    ],
)
def test_reshape_keeps_row_major_order(have, shape):
    x = counted(*have)
    want = x.reshape(shape)
    check(lambda t: F.reshape(t, shape), x, want=want, named=False)


@pytest.mark.parametrize("dtype", [*NUMBERS, np.dtype(bool)], ids=str)
def test_reshape_moves_any_dtype(dtype):
    x = counted(2, 3, dtype=dtype)
    check(lambda t: t.reshape([3, 2]), x, want=x.reshape(3, 2), named=False)


@pytest.mark.parametrize(
    ("have", "shape", "want"),
    [
        (["n"], ["n", 1], ["n", "1"]),
        (["n", "m"], [-1], ["m * n"]),
        (["n", "m"], ["m", "n"], ["m", "n"]),
        (["n", "m"], ["m", -1], ["m", "n"]),
        (["n", 4], [-1, 2], ["n * 2", "2"]),
        (["n", 4], [2, N * 2], ["2", "n * 2"]),
    ],
)
@pytest.mark.parametrize("n", [0, 1, 5])
def test_reshape_of_named_sizes_is_proven_and_runs_at_all(have, shape, want, n):
    program = compile(lambda x: F.reshape(x, shape))(layout(*have))
    assert [str(dim) for dim in program.out_layouts[0].shape] == want
    x = counted(*({"n": n, "m": 3}.get(dim, dim) for dim in have))
    sizes = [dim.evaluate({"n": n, "m": 3}) for dim in program.out_layouts[0].shape]
    got = program(Tensor(x)).to_numpy()
    assert got.shape == tuple(sizes)
    np.testing.assert_array_equal(got.ravel(), x.ravel())


@pytest.mark.parametrize("shape", [["m"], [4], [-1, 2], ["k", -1], [N // 2, 2]])
def test_reshape_that_cannot_be_proven_points_to_rebind(shape):
    with pytest.raises(ValueError, match="rebind"):
        stage(lambda x: F.reshape(x, shape))(layout("n"))


@pytest.mark.parametrize(
    ("have", "shape", "match"),
    [
        ((3,), [2, 2], r"number of elements must stay, got \[3\] to \[2, 2\]"),
        ((6,), [4, -1], "6 elements must divide by 4"),
        ((4,), [-1, -1], "only one size can be -1"),
        ((0, 3), [0, -1], "beside a size of 0"),
        ((4,), [-2, -2], "a size must be -1 or more"),
    ],
)
def test_reshape_refuses_shapes_that_do_not_fit(have, shape, match):
    with pytest.raises(ValueError, match=match):
        F.reshape(Tensor(counted(*have)), shape)


def test_reshape_takes_a_list_of_sizes_only():
    x = Tensor(counted(4))
    with pytest.raises(TypeError, match=r"shape must be a list of sizes, got int"):
        F.reshape(x, 4)
    with pytest.raises(TypeError, match="must be an int, a name or a Dim"):
        F.reshape(x, [4.0])
    with pytest.raises(TypeError, match="x must be a Tensor, got list"):
        F.reshape([1.0], [1])


@pytest.mark.parametrize(
    ("x", "placed", "shape", "lands"),
    [
        (counted(4, 4), "R", [16], "R"),
        (counted(4, 4), "P", [2, 8], "P"),
        (counted(4, 4), "S0", [2, 2, 4], "S0"),
        (counted(4, 4), "S1", [1, 4, 4], "S2"),
        (counted(4, 4), "S0", [1, 16], "S1"),
        (counted(4, 4), "S0 R", [16], "S0 R"),
        (counted(4, 4), "S0 P", [2, 2, 4], "S0 P"),
        (counted(4, 4), "S0 S0", [4, 2, 2], "S0 S0"),
    ],
)
def test_reshape_on_a_mesh(x, placed, shape, lands):
    check_sharded(lambda t: F.reshape(t, shape), (x, placed), lands=lands)


def test_reshape_that_mixes_shards_is_refused():
    with pytest.raises(ShardingError, match="reshape"):
        F.reshape(place(counted(4, 4), "S1"), [8, 2])


# broadcast_to -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("have", "shape"),
    [((2,), [3, 2]), ((2, 1), [2, 3]), ((), [2, 2]), ((1,), [0]), ((0, 1), [0, 2])],
)
def test_broadcast_to_repeats_as_numpy_does(have, shape):
    x = counted(*have)
    want = np.broadcast_to(x, shape)
    check(lambda t: F.broadcast_to(t, shape), x, want=want, named=False)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_broadcast_to_takes_named_sizes(n):
    program = compile(lambda x, y: F.broadcast_to(x, ["n", "m"]) + y)(
        layout(1, "m"), layout("n", 1)
    )
    got = program(Tensor(counted(1, 3)), Tensor(np.zeros((n, 1), np.float32)))
    np.testing.assert_array_equal(got.to_numpy(), np.broadcast_to(counted(3), (n, 3)))


@pytest.mark.parametrize("shape", [[3], [2], [2, 3], [], [-1, 2]])
def test_broadcast_to_refuses_other_sizes(shape):
    with pytest.raises(ValueError, match="broadcast_to: "):
        F.broadcast_to(Tensor(counted(1, 2)), shape)


@pytest.mark.parametrize(
    ("placed", "shape", "lands"),
    [
        ("R", [3, 4, 4], "R"),
        ("S0", [3, 4, 4], "S1"),
        ("P S1", [2, 4, 4], "P S2"),
    ],
)
def test_broadcast_to_on_a_mesh(placed, shape, lands):
    x = counted(4, 4)
    check_sharded(lambda t: F.broadcast_to(t, shape), (x, placed), lands=lands)


# flatten ------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(2, 3, 4), (0, 3, 1), (1, 1, 1)])
@pytest.mark.parametrize(("start", "end"), [(0, -1), (1, 2), (0, 1), (-2, -2)])
def test_flatten_merges_neighbours(sizes, start, end):
    x = counted(*sizes)
    merged = int(np.prod(sizes[start : end % 3 + 1]))
    first = start % 3
    want = x.reshape(*sizes[:first], merged, *sizes[end % 3 + 1 :])
    if first == end % 3:
        want = x
    check(lambda t: F.flatten(t, start, end), x, want=want)


def test_flatten_of_a_scalar_has_one_axis():
    check(F.flatten, counted(), want=counted(1))


def test_flatten_of_named_sizes_multiplies_them():
    assert staged_shape(lambda x: F.flatten(x, 1), layout("n", "m", 3)) == [
        "n",
        "m * 3",
    ]


def test_flatten_refuses_axes_that_are_not_there():
    x = Tensor(counted(1, 2))
    with pytest.raises(ValueError, match="start_dim must not come after end_dim"):
        F.flatten(x, 1, 0)
    with pytest.raises(IndexError, match="axis must be from -2 to 1, got 3"):
        F.flatten(x, 3)


@pytest.mark.parametrize(
    ("placed", "lands"), [("R", "R"), ("P", "P"), ("S0 R", "S0 R"), ("S0 P", "S0 P")]
)
def test_flatten_on_a_mesh(placed, lands):
    x = counted(4, 2, 2)
    check_sharded(lambda t: F.flatten(t, 1), (x, placed), lands=lands)


def test_flatten_needs_what_it_merges_whole():
    with pytest.raises(ShardingError, match="flatten"):
        F.flatten(place(counted(4, 4), "S0"))


# rebind -------------------------------------------------------------------------------


def test_rebind_outside_of_a_program_only_checks():
    x = counted(2, 3)
    check(lambda t: F.rebind(t, [2, 3]), x, want=x, named=False)
    assert F.rebind(Tensor(x), ["n", "m"]).shape == [2, 3]
    assert F.rebind(Tensor(x), [M * 2, "k"]).shape == [2, 3]


def test_rebind_gives_a_tensor_of_its_own():
    x = Tensor([1.0, 2.0])
    y = F.rebind(x, [2])
    y[0] = Tensor(5.0)
    assert x.to_numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("shape", [[3], ["n", "n"], [M * 2 + 1]])
def test_rebind_refuses_other_sizes(shape):
    x = Tensor(counted(*([2] if len(shape) == 1 else [1, 2])))
    with pytest.raises(TypeError, match="hm: the sizes must be as stated"):
        F.rebind(x, shape, "hm")


def test_rebind_refuses_another_rank():
    with pytest.raises(ValueError, match="one size per axis"):
        F.rebind(Tensor([1.0]), [1, 1])


def test_rebind_refuses_a_name_that_nothing_tells():
    with pytest.raises(ValueError, match="got none for"):
        F.rebind(Tensor([1.0]), [M * "k"])


@pytest.mark.parametrize("n", [0, 1, 5])
def test_rebind_introduces_a_name(n):
    """The new name is as good as one of a parameter, also without the tensor."""

    def fn(x):
        return F.rebind(x, ["m"]) + F.zeros(["m"]), F.full([M + 1], 2.0)

    program = compile(fn)(layout("n"))
    assert [str(dim) for dim in program.out_layouts[0].shape] == ["m"]
    same, longer = program(Tensor(counted(n)))
    assert same.shape == [n]
    assert longer.shape == [n + 1]
    np.testing.assert_array_equal(same.to_numpy(), counted(n))


@pytest.mark.parametrize("pairs", [0, 1, 3])
def test_rebind_to_a_multiple_lets_reshape_halve(pairs):
    program = compile(lambda x: F.reshape(F.rebind(x, [M * 2]), [-1, 2]))(layout("n"))
    got = program(Tensor(counted(2 * pairs)))
    np.testing.assert_array_equal(got.to_numpy(), counted(pairs, 2))
    with pytest.raises(ValueError, match=r"must be as stated, got \[5\] for \[4\]"):
        program(Tensor(counted(5)))


def test_rebind_to_known_sizes_is_checked_at_each_call():
    program = compile(lambda x: F.rebind(x, [4], "four, please") + 1)(layout("n"))
    assert program(Tensor(counted(4))).shape == [4]
    with pytest.raises(ValueError, match="four, please: the sizes must be as stated"):
        program(Tensor(counted(3)))
    both = compile(lambda x, y: F.rebind(x, ["m"]) + y)(layout("n"), layout("m"))
    assert both(Tensor(counted(2)), Tensor(counted(2))).shape == [2]
    with pytest.raises(ValueError, match=r"got \[3\] for \[2\]"):
        both(Tensor(counted(3)), Tensor(counted(2)))


def test_rebind_names_a_number_too():
    program = compile(lambda x: F.rebind(x, ["q"]) * 2)(layout(3))
    assert program(Tensor(counted(3))).shape == [3]


def test_a_name_from_a_subgraph_is_known_outside():
    inner = as_subgraph(lambda x: F.rebind(x, ["m"]) + 1)
    program = compile(lambda x: inner(x) + F.zeros(["m"]))(layout("n"))
    for n in (0, 1, 5):
        got = program(Tensor(counted(n))).to_numpy()
        np.testing.assert_array_equal(got, counted(n) + 1)


def test_names_of_an_inlined_program_stay_its_own():
    """``m`` of the inner program is half of ``k``, not the outer ``m``."""
    inner = compile(lambda x: F.reshape(F.rebind(x, [M * 2]), ["m", 2]))(layout("n"))
    outer = compile(lambda x, y: (inner(x), y))(layout("k"), layout("m"))
    first, second = outer(Tensor(counted(6)), Tensor(counted(5)))
    assert (first.shape, second.shape) == ([3, 2], [5])


@pytest.mark.parametrize("shape", [["m"], [M * 2], [4]])
def test_a_program_with_rebind_can_be_printed(shape):
    text = str(stage(lambda x: F.rebind(x, shape) + F.zeros(shape))(layout("n")))
    assert "stablehlo.add" in text


@pytest.mark.parametrize(("placed", "lands"), [("S0", "S0"), ("P S1", "P S1")])
def test_rebind_on_a_mesh(placed, lands):
    x = counted(4, 4)
    check_sharded(lambda t: F.rebind(t, ["r", "c"]), (x, placed), lands=lands)
