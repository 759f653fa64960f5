"""dot, kron and cross, against numpy."""

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import ShardingError, TensorLayout, auto_reshard
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, check, check_sharded, place


@pytest.fixture
def draw(rng):
    return lambda *shape: rng.integers(-4, 5, shape).astype(np.float32)


def cross(axis):
    return lambda lhs, rhs: F.cross(lhs, rhs, axis)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_each_dtype_is_kept(dtype):
    x, y = np.array([1, 2, 3]).astype(dtype), np.array([1, 5, 9]).astype(dtype)
    check(
        lambda x, y: (F.dot(x, y), F.kron(x, y), F.cross(x, y)),
        *(x, y),
        want=(np.dot(x, y)[...], np.kron(x, y), np.cross(x, y)),
        named=False,
    )


def test_operands_promote():
    x, y = np.array([1, 2, 3], np.int32), np.array([0.5, 1.0, 2.0])
    check(F.kron, x, y, want=np.kron(x, y))
    check(F.cross, x, y, want=np.cross(x, y), named=False)
    for fn in (F.kron, F.cross, F.dot):
        with pytest.raises(ValueError, match=r"DType.int32 and DType.float32"):
            fn(Tensor(x), Tensor([1.0, 2.0, 3.0]))


def test_halves_do_not_overflow_on_the_way():
    """300 * 300 is beyond float16."""
    x, y = np.array([300, 300, 0], np.float16), np.array([300, 300, 1], np.float16)
    want = np.array([300, -300, 0], np.float16)
    check(F.cross, x, y, want=want, named=False)


# dot ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 4])
def test_dot_of_any_length(draw, size):
    x, y = draw(size), draw(size)
    check(F.dot, x, y, want=np.dot(x, y)[...])


def test_dot_is_for_vectors():
    x = Tensor([[1.0]])
    with pytest.raises(
        ValueError, match=r"dot: .* one axis, got \[1, 1\] and \[1, 1\]"
    ):
        F.dot(x, x)
    with pytest.raises(TypeError, match="dot: rhs must be a Tensor, got float"):
        F.dot(Tensor([1.0]), 1.0)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("given", "lands"), [("R", "R"), ("S0", "P")])
def test_dot_of_sharded_vectors_is_a_pending_sum(draw, given, lands):
    check_sharded(F.dot, (draw(4), given), (draw(4), given), lands=lands)


# kron ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2,), (3,)),
        ((2, 3), (4, 2)),
        ((2, 3), (4,)),
        ((3,), (2, 1, 2)),
        ((), (2,)),
        ((2, 2), ()),
        ((), ()),
        ((0, 2), (3, 1)),
        ((2, 1, 2), (1, 3, 2)),
    ],
)
def test_kron_of_any_shapes(draw, left, right):
    x, y = draw(*left), draw(*right)
    check(F.kron, x, y, want=np.asarray(np.kron(x, y)))


def test_kron_multiplies_named_sizes():
    sides = (
        TensorLayout(DType.float32, sizes, CPU()) for sizes in (["n", 2], ["m", "n", 3])
    )
    shape = compile(F.kron)(*sides).out_layouts[0].shape
    assert list(map(str, shape)) == ["m", "n * n", "6"]


def test_kron_keeps_the_blocks_of_a_bool():
    x = np.array([True, False])
    check(F.kron, x, x, want=np.array([True, False, False, False]))


@pytest.mark.parametrize(
    ("left", "right", "lands"),
    [("S0", "R", "S0"), ("S1", "R", "S1"), ("P", "R", "P"), ("R", "P", "P")],
)
def test_kron_of_sharded_blocks(draw, left, right, lands):
    check_sharded(F.kron, (draw(4, 2), left), (draw(2, 3), right), lands=lands)


def test_kron_of_one_sharded_block(draw):
    x, y = (draw(1, 2), "R R"), (draw(4, 3), "S0 S0")
    check_sharded(F.kron, x, y, lands="S0 S0")


@pytest.mark.parametrize(("left", "right"), [("R", "S0"), ("S0", "S0"), ("P", "P")])
def test_blocks_that_would_be_torn_are_moved_when_told(draw, left, right):
    x, y = draw(4, 2), draw(2, 3)
    operands = place(x, left), place(y, right)
    with pytest.raises(ShardingError, match=r"kron[\s\S]*auto_reshard"):
        F.kron(*operands)
    with auto_reshard(mode="silent"):
        np.testing.assert_array_equal(F.kron(*operands).to_numpy(), np.kron(x, y))


# cross --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "axis"),
    [
        ((3,), (3,), -1),
        ((3,), (3,), 0),
        ((2, 3), (2, 3), 1),
        ((3, 2), (3, 2), 0),
        ((4, 1, 3), (2, 3), -1),
        ((3, 4), (2, 3, 1), -2),
        ((0, 3), (3,), -1),
    ],
)
def test_cross_of_vectors(draw, left, right, axis):
    x, y = draw(*left), draw(*right)
    back = [np.moveaxis(a, axis, -1) for a in (x, y)]
    check(cross(axis), x, y, want=np.moveaxis(np.cross(*back), -1, axis), named=False)


def test_cross_of_named_batches(draw):
    batch, one = (
        TensorLayout(DType.float32, sizes, CPU()) for sizes in (["n", 3], [3])
    )
    program = compile(F.cross)(batch, one)
    x, y = draw(2, 3), draw(3)
    assert program.out_layouts[0].shape == ["n", 3]
    np.testing.assert_array_equal(
        program(Tensor(x), Tensor(y)).to_numpy(), np.cross(x, y)
    )


@pytest.mark.parametrize(
    ("shapes", "axis", "message"),
    [
        (((2,), (2,)), -1, r"must have size 3, got lhs \[2\] and rhs \[2\]"),
        (((2, 3), (3, 2)), 1, "must have size 3"),
        (((2, 3), (4, 3)), 1, "sizes must be equal or 1, got 2 and 4"),
        (((2, 3), (3,)), 0, "axis must be negative for ranks 2 and 1, got 0"),
        (((2, 3), (3,)), -2, "axis must be from -1 to 0, got -2"),
        (((), (3,)), -1, "axis must exist, got -1 for a tensor of rank 0"),
    ],
)
def test_the_vectors_must_fit(shapes, axis, message):
    operands = [Tensor(np.ones(shape, np.float32)) for shape in shapes]
    with pytest.raises(ValueError, match=f"cross: .*{message}"):
        F.cross(*operands, axis)


def test_a_named_size_is_not_known_to_be_three():
    vectors = TensorLayout(DType.float32, ["n"], CPU())
    with pytest.raises(
        ValueError, match=r"cross: .* size 3, got lhs \[n\] .* rebind it"
    ):
        compile(F.cross)(vectors, vectors)


def test_cross_takes_tensors_of_numbers():
    flags, x = Tensor(np.ones(3, bool)), Tensor([1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="cross: rhs must be of integer or floating"):
        F.cross(x, flags)
    with pytest.raises(TypeError, match="cross: lhs must be a Tensor, got list"):
        F.cross([1.0], x)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="kron: lhs must be a Tensor, got list"):
        F.kron([1.0], x)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("left", "right", "lands"),
    [("S0", "S0", "S0"), ("P", "R", "P"), ("R", "P", "P"), ("S0 S2", "S0 S2", "S0 S2")],
)
def test_the_batch_of_a_cross_may_be_sharded(draw, left, right, lands):
    x, y = (draw(4, 3, 2), left), (draw(4, 3, 2), right)
    check_sharded(cross(1), x, y, lands=lands)


def test_one_vector_serves_a_sharded_batch(draw):
    check_sharded(F.cross, (draw(4, 3), "S0"), (draw(3), "R"), lands="S0")
    with pytest.raises(ShardingError, match=r"cross[\s\S]*auto_reshard"):
        F.cross(place(draw(4, 3), "P"), place(draw(4, 3), "P"))
