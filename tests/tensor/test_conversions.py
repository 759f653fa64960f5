"""A Tensor as a Python number, as an index, and its length."""

import math
import operator

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import stage
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph import Dim
from maxlite.sharding import TensorLayout
from maxlite.tensor import Tensor
from tests.functional._cross import place


def whole(value, dtype=np.int64):
    return Tensor(np.array(value, dtype))


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_element_is_a_number(shape):
    x = Tensor(np.full(shape, -2.75, np.float32))
    assert (int(x), float(x)) == (-2, -2.75)
    assert (math.sqrt(-x), math.floor(x)) == (math.sqrt(2.75), -3)
    assert type(int(whole(np.full(shape, 2**62)))) is int
    assert int(whole(np.full(shape, 2**62))) == 2**62
    assert float(whole(np.full(shape, True), bool)) == 1.0


@pytest.mark.parametrize("convert", [int, float, operator.index])
def test_several_elements_are_none(convert):
    with pytest.raises(TypeError, match=r"(item|index): the tensor must .*\[.*2.*\]"):
        convert(whole([1, 2]))


def test_what_python_cannot_convert_it_refuses():
    with pytest.raises(ValueError, match="NaN"):
        int(Tensor(float("nan")))
    with pytest.raises(OverflowError, match="infinity"):
        int(Tensor(float("inf")))


def test_a_whole_number_of_rank_0_is_an_index():
    two = whole(2)
    assert [5, 6, 7][two] == 7
    assert list(range(two)) == [0, 1]
    assert np.arange(4)[two] == 2
    assert F.sum(Tensor([[1.0, 2.0]]), whole(0)).shape == [1, 2]


@pytest.mark.parametrize(
    "x", [Tensor(2.0), whole([2]), whole(True, bool)], ids=["float", "vector", "bool"]
)
def test_nothing_else_is_an_index(x):
    with pytest.raises(TypeError, match="index: the tensor must be an integer of rank"):
        operator.index(x)
    with pytest.raises(TypeError, match="sum: axis must be an int"):
        F.sum(Tensor([1.0]), x)


def test_a_tensor_as_an_index_stays_a_tensor():
    """Read as a number, it could not be an operand of a program."""

    def pick(x, i):
        return x[i]

    layouts = [TensorLayout(DType.float32, [3], CPU()), whole(1).layout]
    assert len(stage(pick)(*layouts).in_layouts) == 2
    with F.lazy():
        picked = Tensor([1.0, 2.0, 3.0])[whole(1) + 1]
    assert picked.item() == 3.0


def test_a_program_has_no_numbers_yet():
    layout = TensorLayout(DType.int64, [], CPU())
    for convert in (int, float, operator.index):
        with pytest.raises(TypeError, match="value"):
            stage(lambda x, convert=convert: x + convert(x))(layout)


# Length -------------------------------------------------------------------------------


def test_the_length_counts_along_the_first_axis():
    x = Tensor(np.zeros((3, 2, 0), np.float32))
    assert [len(x), len(x[0]), len(x[0, 0])] == [3, 2, 0]
    assert [row.shape for row in reversed(x)] == [[2, 0]] * 3
    assert len(place(np.zeros((4, 2), np.float32), "S0")) == 4


def test_a_scalar_has_none():
    with pytest.raises(TypeError, match="len: a tensor of rank 0 has no axis"):
        len(Tensor(1.0))


def test_the_length_does_not_change_the_truth():
    with pytest.raises(TypeError, match="one element"):
        bool(Tensor(np.zeros((0, 2), np.float32)))
    assert not Tensor([0.0])


def test_a_size_with_a_name_is_no_length():
    layout = TensorLayout(DType.float32, [Dim("n"), 2], CPU())
    assert stage(lambda x: x[0] * len(x[0]))(layout).out_layouts[0].shape == [2]
    with pytest.raises(TypeError, match=r"len: the size of the first axis .* got n"):
        stage(lambda x: x * len(x))(layout)


def test_lists_of_tensors_are_stacked():
    rows = [Tensor([1.0, 2.0]), Tensor([3.0, 4.0])]
    for made in (Tensor(rows).to_numpy(), np.asarray(rows), np.asarray(Tensor(rows))):
        np.testing.assert_array_equal(made, [[1.0, 2.0], [3.0, 4.0]])
    assert np.asarray([whole(1), whole(2)]).tolist() == [1, 2]
