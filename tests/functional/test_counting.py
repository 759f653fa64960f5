"""any, all and count_nonzero, against numpy."""

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.dtype import DType
from maxlite.sharding import ShardingError
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, check, check_eager, check_sharded, place

NAN = float("nan")
NAMES = {"any": np.any, "all": np.all, "count_nonzero": np.count_nonzero}
ROWS = [[0, 0, 0], [0, 2, 1], [1, 1, 3]]


@pytest.mark.parametrize("dtype", [*NUMBERS, np.dtype(bool)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_each_dtype_gives_what_numpy_gives(name, dtype):
    x = np.array(ROWS).astype(dtype)
    check_eager(getattr(F, name), x, want=NAMES[name](x, -1, keepdims=True))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("axis", "keepdims"), [(0, True), ((0, 2), False)])
def test_axes_are_taken_as_by_sum(name, axis, keepdims):
    x = np.array([ROWS, [[1, 1, 0]] * 3], np.float32)
    want = NAMES[name](x, axis, keepdims=keepdims)
    check(lambda x: getattr(F, name)(x, axis, keepdims=keepdims), x, want=want)


@pytest.mark.parametrize("name", NAMES)
def test_without_an_axis_everything_becomes_one_element(name):
    x = np.array(ROWS, np.int32)
    want = np.asarray(NAMES[name](x))
    fn = getattr(F, name)
    check(lambda x: fn(x, None), x, want=want.reshape(1))
    check(lambda x: fn(x, None, keepdims=False), x, want=want)


def test_what_is_not_0_is_true():
    x = Tensor([NAN, -0.0, 1e-30, float("-inf")])
    assert F.count_nonzero(x).item() == 3
    assert F.any(Tensor([NAN])).item() is True
    assert F.all(Tensor([-0.0])).item() is False


@pytest.mark.parametrize(("name", "start"), [("any", False), ("all", True)])
def test_no_elements_give_the_value_to_start_from(name, start):
    x = np.zeros((2, 0), np.float32)
    check(getattr(F, name), x, want=np.full((2, 1), start))
    check(F.count_nonzero, x, want=np.zeros((2, 1), np.int64))


@pytest.mark.parametrize("name", NAMES)
def test_the_operand_must_be_a_tensor(name):
    with pytest.raises(TypeError, match=f"{name}: x must be a Tensor, got list"):
        getattr(F, name)([1.0])


# On a mesh ----------------------------------------------------------------------------

GRID = np.arange(16, dtype=np.float32).reshape(4, 4) % 3


@pytest.mark.parametrize(
    ("axis", "given", "lands"),
    [
        (0, "R", "R"),
        (0, "S0", "P"),
        (0, "S1", "S1"),
        (None, "S0", "P"),
        (0, "S0 S1", "P S1"),
    ],
)
def test_a_count_over_a_sharded_axis_is_left_pending(axis, given, lands):
    check_sharded(lambda x: F.count_nonzero(x, axis), (GRID, given), lands=lands)


def test_terms_of_a_pending_sum_are_not_counted():
    with pytest.raises(ShardingError, match=r"count_nonzero[\s\S]*auto_reshard"):
        F.count_nonzero(place(GRID, "P"))


@pytest.mark.parametrize("name", ["any", "all"])
def test_the_axis_of_a_question_must_be_whole(name):
    fn = getattr(F, name)
    check_sharded(lambda x: fn(x, keepdims=False), (GRID, "S0"), lands="S0")
    with pytest.raises(ShardingError, match=rf"{name}[\s\S]*auto_reshard"):
        fn(place(GRID, "S1"))


def test_a_count_is_int64():
    assert F.count_nonzero(Tensor([1.0])).dtype is DType.int64
