"""einsum and tensordot, against numpy."""

import jax.numpy as jnp
import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import compile
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import ShardingError, TensorLayout, auto_reshard
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, check, check_sharded, place

SMALL = {"i": 2, "j": 3, "k": 4, "l": 2, "b": 2}


def einsum(equation):
    return lambda *operands: F.einsum(equation, *operands)


def tensordot(axes):
    return lambda lhs, rhs: F.tensordot(lhs, rhs, axes)


@pytest.fixture
def draw(rng):
    return lambda *shape: rng.integers(-4, 5, shape).astype(np.float32)


@pytest.mark.parametrize(
    "equation",
    [
        "ij,jk->ik",
        "ij,jk->ki",
        "ij,jk",
        "ba,ca",
        "bij,bjk->bik",
        "ij,ij->",
        "ij,ij->i",
        "i,j->ij",
        "i,j->",
        "i,i",
        "ij->ji",
        "ji",
        "ij->",
        "ij->j",
        "ijk->ki",
        ",ij->ij",
        " i j , j k -> i k ",
        "ij,jk,kl->il",
        "ij,i,j->",
        "i,ij,jk,k->",
        "ij,jk,ik->ijk",
    ],
)
def test_equations_of_labels(draw, equation):
    terms = equation.replace(" ", "").split("->")[0].split(",")
    arrays = [draw(*(SMALL.get(x, 3) for x in term)) for term in terms]
    check(einsum(equation), *arrays, want=np.asarray(np.einsum(equation, *arrays)))


@pytest.mark.parametrize(
    "equation", ["ii", "ii->i", "iij->ji", "ii,ij->j", "iji->j", "ii,ii->"]
)
def test_a_label_that_stands_twice_takes_a_diagonal(draw, equation):
    arrays = [draw(*[3] * len(x)) for x in equation.split("->")[0].split(",")]
    check(einsum(equation), *arrays, want=np.asarray(np.einsum(equation, *arrays)))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
        ("...ij,...jk->...ik", [(6, 1, 3, 4), (2, 4, 5)]),
        ("...ij,...jk", [(3, 4), (2, 4, 5)]),
        ("i...,i...->...", [(3, 2), (3, 1)]),
        ("i...->...i", [(3, 2, 4)]),
        ("i...->i...", [(3,)]),
        ("i...->i", [(3,)]),
        ("...,...", [(2, 1), (1, 3)]),
        ("...ii->...i", [(2, 3, 3)]),
        ("a...b->b...", [(2, 3, 4)]),
        ("...j,jk->...k", [(2, 3, 4), (4, 5)]),
    ],
)
def test_an_ellipsis_stands_for_axes_that_broadcast(draw, equation, shapes):
    arrays = [draw(*shape) for shape in shapes]
    check(einsum(equation), *arrays, want=np.asarray(np.einsum(equation, *arrays)))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1)])
def test_sizes_may_be_small(draw, shape):
    x, y = draw(*shape), draw(*shape[::-1])
    check(einsum("ij,jk->ik"), x, y, want=x @ y)
    check(einsum("ij->j"), x, want=x.sum(0))


@pytest.mark.parametrize("dtype", [np.dtype(bool), *NUMBERS], ids=str)
def test_each_dtype_is_kept(dtype):
    x = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    y = np.array([[1, 0], [1, 0]]).astype(dtype)
    fns = [einsum("ij,jk->ik"), einsum("ij,jk->i"), einsum("ij,jk,kl->il")]
    want = tuple(
        np.asarray(np.einsum(equation, *(a.astype(float) for a in arrays))).astype(
            dtype
        )
        for equation, *arrays in (
            ("ij,jk->ik", x, y),
            ("ij,jk->i", x, y),
            ("ij,jk,kl->il", x, y, y),
        )
    )
    check(lambda x, y: (fns[0](x, y), fns[1](x, y), fns[2](x, y, y)), x, y, want=want)


def test_integers_wrap_around():
    x = np.array([[100, 100]], np.int8)
    check(einsum("ij->i"), x, want=np.array([-56], np.int8))
    check(einsum("ij,kj->ik"), x, x, want=np.array([[32]], np.int8))


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), np.dtype(jnp.bfloat16)])
@pytest.mark.parametrize(
    "equation", ["ij,ij->i", "ij,kj->i", "ij,ij,ij->i", "...j,...j->...", "ij->i"]
)
def test_halves_are_added_up_in_float32(equation, dtype):
    """Alone, 2048 + 1 is 2048 in these dtypes."""
    x = np.ones((2, 2052), dtype)
    operands = [x] * len(equation.split("->")[0].split(","))
    expected = 2052 * (2 if "k" in equation else 1)
    want = np.array([expected] * 2, np.float32).astype(dtype)
    check(einsum(equation), *operands, want=want)


def test_operands_promote():
    x, y = np.array([1, 2], np.int32), np.array([3.0, 4.0])
    check(einsum("i,i->"), x, y, want=np.array(11.0))
    flags = np.array([True, False])
    check(einsum("i,i,i->i"), flags, x, x, want=np.array([1, 0], np.int32))
    with pytest.raises(ValueError, match=r"einsum: .*DType.int32 and DType.float32"):
        F.einsum("i,i->", Tensor(x), Tensor([1.0, 2.0]))


def test_named_sizes_go_where_their_labels_go():
    lhs, rhs = (
        TensorLayout(DType.float32, sizes, CPU())
        for sizes in (["b", "n", "k"], ["k", "m"])
    )
    program = compile(einsum("...nk,km->m...n"))(lhs, rhs)
    assert program.out_layouts[0].shape == ["m", "b", "n"]


# tensordot ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "axes",
    [0, 1, 2, ([2], [0]), (2, 0), (-1, 0), ([1, 2], [1, 0]), ([0, 1, 2], [2, 1, 0])],
)
def test_tensordot_pairs_axes(draw, axes):
    x = draw(2, 3, 4)
    y = draw(3, 4, 2) if axes == 2 else draw(4, 3, 2)
    check(tensordot(axes), x, y, want=np.asarray(np.tensordot(x, y, axes)))


def test_tensordot_of_numbers(draw):
    x, y = draw(), draw(3)
    check(tensordot(0), x, y, want=np.asarray(np.tensordot(x, y, 0)))


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (3, "axes must be from 0 to the smaller rank, got 3 for ranks 2 and 2"),
        (-1, "axes must be from 0 to the smaller rank, got -1"),
        (([0, 1], [0]), r"axes must pair, each named once, got \[0, 1\] of lhs and"),
        (([0, 0], [0, 1]), r"axes must pair, each named once, got \[0, 0\]"),
        ((0, 2), "axis must be from -2 to 1, got 2"),
        ((0, 1, 1), "axes must be those of lhs and those of rhs, got 3 entries"),
        (
            (0, 1),
            r"paired axes .* equal sizes, got axis 0 of lhs \[2, 3\] and axis 1 of rhs",
        ),
    ],
)
def test_the_axes_of_a_tensordot_must_fit(axes, message):
    x = Tensor(np.ones((2, 3), np.float32))
    with pytest.raises(ValueError, match=f"tensordot: {message}"):
        F.tensordot(x, x, axes)


def test_tensordot_takes_tensors_and_ints():
    x = Tensor([1.0])
    with pytest.raises(TypeError, match="tensordot: rhs must be a Tensor, got float"):
        F.tensordot(x, 1.0, 0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="tensordot: axes must be an int, got float"):
        F.tensordot(x, x, 1.0)  # pyright: ignore[reportArgumentType]


# Errors -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("equation", "ranks", "message"),
    [
        ("ij,jk->ik", [2], "one term for each operand, of which there are 1"),
        ("ij", [2, 2], "one term for each operand, of which there are 2"),
        ("", [], "one term for each operand, of which there are 0"),
        ("ij->ij", [3], "a label for each axis of operand 0, which has rank 3"),
        ("i,ijk->", [1, 2], "a label for each axis of operand 1, which has rank 2"),
        ("ijk...->i", [2], "a label for each axis of operand 0, which has rank 2"),
        ("ij->ii", [2], "each label of the result once"),
        ("ij->k", [2], "no label in its result that no operand has"),
        ("i...->i", [2], "'...' in its result"),
        ("i1->i", [2], "letters, commas, '->' and one '...' in each term"),
        ("......->", [2], "letters, commas, '->' and one '...' in each term"),
        ("i->j->i", [1], "letters, commas, '->' and one '...' in each term"),
        ("i..->i", [1], "letters, commas, '->' and one '...' in each term"),
    ],
)
def test_an_equation_must_be_one(equation, ranks, message):
    operands = [Tensor(np.ones((2,) * rank, np.float32)) for rank in ranks]
    with pytest.raises(ValueError, match="einsum: the equation must have") as caught:
        F.einsum(equation, *operands)
    assert message in str(caught.value)
    assert repr(equation) in str(caught.value)


@pytest.mark.parametrize(
    ("equation", "shapes"), [("ij,jk->ik", [(2, 3), (2, 3)]), ("ii->i", [(2, 3)])]
)
def test_a_label_has_one_size(equation, shapes):
    operands = [Tensor(np.ones(shape, np.float32)) for shape in shapes]
    with pytest.raises(ValueError, match=r"einsum: a label must have one size, got"):
        F.einsum(equation, *operands)


def test_only_an_ellipsis_broadcasts():
    x, y = Tensor(np.ones((1, 2), np.float32)), Tensor(np.ones((3, 2), np.float32))
    with pytest.raises(ValueError, match="got 1 and 3 for 'i' in 'ij,ij->ij' of shape"):
        F.einsum("ij,ij->ij", x, y)
    with pytest.raises(ValueError, match="einsum: sizes must be equal or 1, got 3 and"):
        F.einsum("...j,...j->...", y, Tensor(np.ones((4, 2), np.float32)))


def test_the_equation_comes_first_and_tensors_follow():
    x = Tensor([1.0])
    with pytest.raises(TypeError, match="einsum: equation must be a string, got Te"):
        F.einsum(x, "i->")  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"einsum: operands\[1\] must be a Tensor, got"):
        F.einsum("i,i->", x, [1.0])  # pyright: ignore[reportArgumentType]


# On a mesh ----------------------------------------------------------------------------

GRID = np.arange(16, dtype=np.float32).reshape(4, 4) % 5
CUBE = np.arange(64, dtype=np.float32).reshape(4, 4, 4) % 7


@pytest.mark.parametrize(
    ("equation", "operands", "lands"),
    [
        ("ij,jk->ki", [(GRID, "S0"), (GRID, "R")], "S1"),
        ("ij,jk->ki", [(GRID, "R"), (GRID, "S1")], "S0"),
        ("ij,jk->ki", [(GRID, "S1"), (GRID, "S0")], "P"),
        ("ij,jk->ki", [(GRID, "P"), (GRID, "R")], "P"),
        ("ij,jk->ki", [(GRID, "S0 S1"), (GRID, "R S0")], "S1 P"),
        ("ij,jk->ki", [(GRID, "S1 S1"), (GRID, "S0 S0")], "P P"),
        ("bij,bjk->bik", [(CUBE, "S0 S1"), (CUBE, "S0 R")], "S0 S1"),
        ("...ij,jk->...ik", [(CUBE, "S0"), (GRID, "R")], "S0"),
        ("...ij,...jk->...ik", [(CUBE[:1], "R"), (CUBE, "S0")], "S0"),
        ("ij,jk,kl->il", [(GRID, "R"), (GRID, "S1"), (GRID, "S0")], "P"),
        ("ij,jk,kl->il", [(GRID, "R"), (GRID, "R"), (GRID, "S1")], "S1"),
        ("ij,ij,ij->ij", [(GRID, "S1")] * 3, "S1"),
        ("bii->bi", [(CUBE, "S0")], "S0"),
        ("ij->", [(GRID, "S0 S1")], "P P"),
    ],
)
def test_a_cut_follows_its_label(equation, operands, lands):
    check_sharded(einsum(equation), *operands, lands=lands)


@pytest.mark.parametrize(
    ("equation", "operands"),
    [
        ("ij,jk->ik", [(GRID, "S0"), (GRID, "S1")]),
        ("ij,jk->ik", [(GRID, "S1"), (GRID, "R")]),
        ("ij,jk->ik", [(GRID, "P"), (GRID, "P")]),
        ("ii->i", [(GRID, "S0")]),
    ],
)
def test_cuts_that_do_not_fit_are_moved_when_told(equation, operands):
    placed = [place(*operand) for operand in operands]
    with pytest.raises(ShardingError, match=r"einsum[\s\S]*auto_reshard"):
        F.einsum(equation, *placed)
    with auto_reshard(mode="silent"):
        result = F.einsum(equation, *placed)
    want = np.einsum(equation, *(array for array, _ in operands))
    np.testing.assert_allclose(result.to_numpy(), want)


def test_a_sum_of_bools_is_not_left_pending():
    flags = GRID > 2
    placed = Tensor(flags).to(place(GRID, "S0").mapping)
    with pytest.raises(ShardingError, match=r"einsum[\s\S]*auto_reshard"):
        F.einsum("ij->j", placed)
    with auto_reshard(mode="silent"):
        assert F.einsum("ij->j", placed).to_numpy().tolist() == flags.any(0).tolist()
