"""Joining along an axis and cutting into pieces: concat, stack, split, chunk."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile, stage
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph import Dim
from maxlite.sharding import DeviceMapping, ShardingError, TensorLayout
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, check, check_sharded, place
from tests.sharding.meshes import cpu_mesh

N, K = Dim("n"), Dim("k")


def layout(*sizes) -> TensorLayout:
    return TensorLayout(DType.float32, list(sizes), CPU())


def counted(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


# concat and stack -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shapes", "axis"),
    [
        ([(2,), (3,)], 0),
        ([(2, 1), (2, 3), (2, 0)], 1),
        ([(1, 2), (1, 2)], -2),
        ([(2, 3)], 0),
        ([(0, 3), (1, 3)], 0),
    ],
)
def test_concat_joins_end_to_end(shapes, axis):
    arrays = [counted(*shape) for shape in shapes]
    want = np.concatenate(arrays, axis)
    check(lambda *xs: F.concat(xs, axis), *arrays, want=want)


@pytest.mark.parametrize("dtype", [*NUMBERS, np.dtype(bool)], ids=str)
def test_concat_and_stack_take_any_dtype(dtype):
    x = counted(2, 3, dtype=dtype)
    check(lambda t: F.concat([t, t]), x, want=np.concatenate([x, x]))
    check(lambda t: F.stack([t, t], -1), x, want=np.stack([x, x], -1))


def test_concat_takes_any_iterable_and_gives_a_copy():
    x = Tensor([1.0])
    joined = F.concat(t for t in [x])
    joined[0] = Tensor(5.0)
    assert x.item() == 1.0


@pytest.mark.parametrize(("n", "m"), [(0, 0), (1, 0), (5, 2)])
def test_concat_of_named_sizes_adds_them(n, m):
    program = compile(lambda x, y: F.concat([x, y, x]))(layout("n", 2), layout("m", 2))
    assert [str(dim) for dim in program.out_layouts[0].shape] == ["(n * 2) + m", "2"]
    x, y = counted(n, 2), counted(m, 2)
    got = program(Tensor(x), Tensor(y)).to_numpy()
    np.testing.assert_array_equal(got, np.concatenate([x, y, x]))


@pytest.mark.parametrize(
    ("shapes", "axis", "error", "match"),
    [
        ([], 0, ValueError, "must hold at least one tensor"),
        (
            [(1, 2), (1, 1)],
            0,
            ValueError,
            r"equal but along the axis, got \[1, 2\] and",
        ),
        ([(1,), (1, 1)], 0, ValueError, r"ranks must be equal, got shapes \[1\] and"),
        ([(), ()], 0, IndexError, "axis must"),
        ([(1,), (1,)], 1, IndexError, "axis must be from -1 to 0, got 1"),
    ],
)
def test_concat_refuses_what_does_not_fit(shapes, axis, error, match):
    with pytest.raises(error, match=match):
        F.concat([Tensor(counted(*shape)) for shape in shapes], axis)


@pytest.mark.parametrize("join", [F.concat, F.stack])
def test_joined_tensors_have_one_dtype_and_are_a_list(join):
    x = Tensor([1.0])
    with pytest.raises(ValueError, match="dtypes must be equal, got float32 and int32"):
        join([x, Tensor(np.ones(1, np.int32))])
    with pytest.raises(TypeError, match="must be a list of tensors, got Tensor"):
        join(x)
    with pytest.raises(TypeError, match=r"s\[1\] must be a Tensor, got float"):
        join([x, 1.0])


def test_joined_tensors_with_other_names_do_not_fit():
    with pytest.raises(ValueError, match=r"got \[n\] and \[m\].*rebind"):
        stage(lambda x, y: F.stack([x, y]))(layout("n"), layout("m"))


@pytest.mark.parametrize("shape", [(), (2,), (2, 0), (1, 3)])
@pytest.mark.parametrize("axis", [0, -1])
def test_stack_adds_an_axis(shape, axis):
    x = counted(*shape)
    check(lambda a, b: F.stack([a, b], axis), x, x + 1, want=np.stack([x, x + 1], axis))


def test_stack_refuses_what_does_not_fit():
    with pytest.raises(IndexError, match="axis must be from -2 to 1, got 2"):
        F.stack([Tensor([1.0])], axis=2)
    with pytest.raises(ValueError, match=r"shapes must be equal, got \[2\] and \[1\]"):
        F.stack([Tensor([1.0, 2.0]), Tensor([3.0])])
    with pytest.raises(ValueError, match="must hold at least one tensor"):
        F.stack([])


def test_stack_moves_to_a_device():
    mapping = DeviceMapping.replicated(cpu_mesh(2))
    assert F.stack([Tensor([1.0, 2.0])], device=mapping).mapping == mapping


@pytest.mark.parametrize(
    ("fn", "placed", "lands"),
    [
        (lambda a, b: F.concat([a, b], 1), "R", "R"),
        (lambda a, b: F.concat([a, b], 1), "S0 P", "S0 P"),
        (lambda a, b: F.concat([a, b], 0), "S0", "S0"),
        (lambda a, b: F.concat([a, b], 0), "S0 S1", "S0 S1"),
        (lambda a, b: F.concat([a, b], 0), "S0 S0", "S0 S0"),
        (lambda a, b: F.stack([a, b]), "S0 P", "S1 P"),
        (lambda a, b: F.stack([a, b], -1), "S0 S1", "S0 S1"),
    ],
)
def test_joining_on_a_mesh_keeps_the_order(fn, placed, lands):
    x = counted(4, 4)
    check_sharded(fn, (x, placed), (x + 20, placed), lands=lands)


def test_joining_wants_all_alike():
    x = counted(4, 4)
    with pytest.raises(ShardingError, match="concat"):
        F.concat([place(x, "S0"), place(x, "S1")])


# split and chunk --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "sections", "bounds"),
    [
        (5, 2, [2, 4]),
        (6, 2, [2, 4]),
        (3, 5, []),
        (5, [2, 3], [2]),
        (5, (0, 1, 4), [0, 1]),
        (2, [2], []),
        (0, [0, 0], [0]),
    ],
)
@pytest.mark.parametrize("axis", [0, -1])
def test_split_cuts_into_sizes(size, sections, bounds, axis):
    x = counted(size, 2) if axis == 0 else counted(2, size)
    want = tuple(np.split(x, bounds, axis))
    check(lambda t: F.split(t, sections, axis), x, want=want, named=False)


def test_split_of_nothing_by_a_size_gives_no_pieces():
    assert F.split(Tensor(counted(0)), 2) == []


@pytest.mark.parametrize(("n", "k"), [(0, 0), (5, 5), (5, 2), (1, 0)])
def test_split_takes_named_sizes(n, k):
    program = compile(lambda x, y: tuple(F.split(x, [K, N - K])))(
        layout("n", 2), layout("k")
    )
    shapes = [str(out.shape[0]) for out in program.out_layouts]
    assert shapes == ["k", "(k * -1) + n"]
    first, second = program(Tensor(counted(n, 2)), Tensor(counted(k)))
    np.testing.assert_array_equal(first.to_numpy(), counted(n, 2)[:k])
    np.testing.assert_array_equal(second.to_numpy(), counted(n, 2)[k:])


def test_split_by_named_sizes_that_do_not_fit_is_refused_at_the_call():
    program = compile(lambda x, y: F.split(x, [K, N - K]))(layout("n"), layout("k"))
    with pytest.raises(ValueError, match=r"0 or more and add up to 2, got \[3, -1\]"):
        program(Tensor(counted(2)), Tensor(counted(3)))


@pytest.mark.parametrize("sections", [[2, 2], [], [-1, 6], 0, -2])
def test_split_refuses_sizes_that_do_not_add_up(sections):
    with pytest.raises(ValueError, match="split: the size"):
        F.split(Tensor(counted(5)), sections)


def test_split_of_a_named_size_wants_a_list():
    with pytest.raises(TypeError, match=r"List the sizes, as in \[2, n \+ -2\]"):
        stage(lambda x: F.split(x, 2))(layout("n"))


@pytest.mark.parametrize("cut", [F.split, F.chunk])
def test_pieces_need_an_axis(cut):
    with pytest.raises(IndexError, match="axis must"):
        cut(Tensor(counted(2)), 1, 3)
    with pytest.raises(IndexError, match="axis must"):
        cut(Tensor(1.0), 1)


@pytest.mark.parametrize(("size", "chunks"), [(6, 3), (2, 1), (0, 2), (4, 4)])
def test_chunk_cuts_into_equal_pieces(size, chunks):
    x = counted(size, 2)
    check(lambda t: F.chunk(t, chunks), x, want=tuple(np.split(x, chunks)), named=False)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_chunk_of_a_named_size_that_divides(n):
    program = compile(lambda x: F.chunk(F.concat([x, x]), 2)[1])(layout("n"))
    assert str(program.out_layouts[0].shape[0]) == "n"
    np.testing.assert_array_equal(program(Tensor(counted(n))).to_numpy(), counted(n))


@pytest.mark.parametrize("chunks", [2, 6, 0, -1])
def test_chunk_refuses_what_does_not_divide(chunks):
    with pytest.raises(ValueError, match=f"must divide into {chunks} equal pieces"):
        F.chunk(Tensor(counted(5)), chunks)


def test_chunk_wants_an_int_and_a_size_known_to_divide():
    with pytest.raises(TypeError, match="chunks must be an int, got float"):
        F.chunk(Tensor(counted(4)), 2.0)
    with pytest.raises(ValueError, match=r"got size n\. .*rebind"):
        stage(lambda x: F.chunk(x, 2))(layout("n"))


@pytest.mark.parametrize(
    ("fn", "placed", "lands"),
    [
        (lambda t: F.split(t, 2), "R", "R"),
        (lambda t: F.split(t, 2), "S1 P", "S1 P"),
        (lambda t: F.split(t, [1, 3]), "S1", "S1"),
        (lambda t: F.split(t, 2), "S0", "S0"),
        (lambda t: F.chunk(t, 2), "S1 P", "S1 P"),
    ],
)
def test_pieces_on_a_mesh_keep_the_order(fn, placed, lands):
    check_sharded(fn, (counted(4, 4), placed), lands=lands)


@pytest.mark.parametrize("cut", [lambda t: F.split(t, [1, 3]), lambda t: F.chunk(t, 4)])
def test_uneven_pieces_of_a_cut_axis_are_refused(cut):
    with pytest.raises(ShardingError, match=r"split|chunk"):
        cut(place(counted(4, 4), "S0"))
