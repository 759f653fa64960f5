"""Printing: the text that a tensor has in each state, rank and dtype."""

import jax.numpy as jnp
import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import stage
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import (
    DeviceMapping,
    Partial,
    Replicated,
    Sharded,
    TensorLayout,
)
from maxlite.tensor import Tensor, _repr, _shown
from tests.sharding.meshes import cpu_mesh

TAIL = ", dtype=DType.int32, device=Device(type=cpu,id=0))"


def counted(*shape):
    return Tensor(np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape))


def values(tensor):
    text = repr(tensor)
    assert text.startswith("Tensor(")
    return text[len("Tensor(") : text.index(", dtype=")]


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((), "0"),
        ((1,), "[0]"),
        ((3,), "[0 1 2]"),
        ((2, 2), "[0 1\n 2 3]"),
        ((2, 2, 2), "[0 1 | 4 5\n 2 3 | 6 7]"),
        ((2, 1, 3), "[0 1 2 | 3 4 5]"),
        ((2, 1, 2, 2), "[0 1\n 2 3\n \n 4 5\n 6 7]"),
        (
            (2, 2, 2, 2),
            "[ 0  1 |  4  5\n  2  3 |  6  7\n \n  8  9 | 12 13\n 10 11 | 14 15]",
        ),
        (
            (2, 2, 1, 2, 2),
            "[ 0  1 :  8  9\n  2  3 : 10 11\n       :      \n"
            "  4  5 : 12 13\n  6  7 : 14 15]",
        ),
        ((2, 1, 1, 1, 1, 1), "[0\n -\n 1]"),
        ((2, 1, 1, 1, 2, 1), "[0\n 1\n -\n 2\n 3]"),
        ((2, 1, 1, 1, 1, 2), "[0 1\n ---\n 2 3]"),
    ],
)
def test_axes_alternate_across_and_down(shape, text):
    assert repr(counted(*shape)) == f"Tensor({text}{TAIL}"


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((0,), "[]"),
        ((0, 2), "[]"),
        ((2, 0), "[\n ]"),
        ((2, 0, 2), "[ | ]"),
        ((2, 2, 0), "[ | \n  | ]"),
        ((2, 2, 0, 2), "[ | \n \n  | ]"),
        ((0, 2, 2, 2), "[]"),
        ((2, 3, 0, 2, 2), "[ : \n  : \n  : \n  : \n  : ]"),
    ],
)
def test_an_empty_tensor_keeps_the_separators_of_its_other_axes(shape, text):
    assert values(counted(*shape)) == text


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_have_four_digits_and_align_to_the_widest(dtype):
    numbers = [0, -0.0, 1 / 3, 1e-4, np.nan, np.inf, -np.inf, 2.5]
    text = "[     0     -0 0.3333 0.0001    nan    inf   -inf    2.5]"
    x = Tensor(np.array(numbers, dtype))
    assert repr(x) == f"Tensor({text}, dtype=DType.{dtype}, device={CPU()!r})"


def test_large_and_small_floats_have_an_exponent():
    assert values(Tensor([123456.0, 1e-8, 1e10])) == "[1.235e+05     1e-08     1e+10]"


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        ("bfloat16", "[    0  -0.5 0.334  1000]"),
        ("float8_e5m2", "[     0   -0.5 0.3125   1024]"),
        ("float8_e4m3fn", "[     0   -0.5 0.3438    448]"),
    ],
)
def test_floats_that_numpy_lacks_print_as_any_other(dtype, text):
    data = np.array([0, -0.5, 1 / 3, 1000], np.float32)
    if dtype == "float8_e4m3fn":
        data[-1] = 448  # its largest
    x = Tensor(data.astype(jnp.dtype(dtype)))
    assert repr(x) == f"Tensor({text}, dtype=DType.{dtype}, device={CPU()!r})"


@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
def test_integers_print_every_digit(dtype):
    limits = np.iinfo(dtype)
    least, most = int(limits.min), int(limits.max)
    width = max(len(str(least)), len(str(most)))
    text = f"[{least:>{width}} {most:>{width}} {3:>{width}}]"
    assert values(Tensor(np.array([least, most, 3], dtype))) == text


def test_bools_print_as_words():
    assert values(Tensor(np.array([[True], [False]]))) == "[ True\n False]"
    assert values(Tensor(np.array(True))) == "True"


def test_str_and_format_are_the_repr():
    x = counted(2)
    assert str(x) == f"{x}" == repr(x)


def test_a_thousand_elements_are_shown_whole():
    assert "..." not in values(counted(1000))
    assert "..." not in values(counted(100, 10))


def test_a_long_axis_shows_its_two_ends():
    text = "[   0    1    2 ...  998  999 1000]"
    assert values(counted(1001)) == text


def test_elided_rows_are_one_line():
    text = "\n ".join(
        [
            "   0    1    2    3",
            "   4    5    6    7",
            "   8    9   10   11",
            "...",
            "1188 1189 1190 1191",
            "1192 1193 1194 1195",
            "1196 1197 1198 1199",
        ]
    )
    assert values(counted(300, 4)) == f"[{text}]"


def test_an_axis_of_six_is_shown_whole_however_large():
    lines = values(counted(6, 400)).strip("[]").split("\n")
    assert [len(line.split()) for line in lines] == [400] * 6
    assert values(counted(2, 1001)).count("...") == 2


def test_what_lies_inside_an_elided_axis_may_be_whole():
    lines = values(counted(7, 1, 2, 80)).strip("[]").split("\n")
    assert [line.strip() for line in lines[9:11]] == ["...", ""]
    assert [len(line.split()) for line in lines[:2]] == [80, 80]


def test_an_elided_block_side_by_side_keeps_its_column():
    first, second = values(counted(7, 2, 80)).split("\n")
    assert first.split("|")[3] == " ... "
    assert second.split("|")[3] == "     "


def test_the_width_follows_what_is_shown():
    data = np.zeros(5000, np.int64)
    data[2500] = 10**15
    assert values(Tensor(data)) == "[0 0 0 ... 0 0 0]"


def test_only_what_is_shown_is_written(monkeypatch):
    written = []
    texts = _repr.element_texts

    def spy(elements, dtype):
        written.append(elements.size)
        return texts(elements, dtype)

    monkeypatch.setattr(_repr, "element_texts", spy)
    repr(F.zeros([1000, 2000]))
    assert written == [6 * 6]


class Fetching:
    """numpy, but for ``asarray``, which notes how many elements it is given."""

    def __init__(self):
        self.fetched = []

    def __getattr__(self, name):
        return getattr(np, name)

    def asarray(self, array):
        self.fetched.append(array.size)
        return np.asarray(array)


@pytest.mark.parametrize(
    ("shape", "shown"),
    [((2000,), 6), ((7, 2, 80), 6 * 2 * 80), ((8, 400, 9), 6 * 6 * 9), ((2, 2), 4)],
)
def test_an_accelerator_gives_what_is_shown_and_no_more(monkeypatch, shape, shown):
    x = counted(*shape).cast(DType.int64) * (1 << 40)
    text, spy = repr(x), Fetching()
    monkeypatch.setattr(_shown, "_on_host", lambda array: False)
    monkeypatch.setattr(_shown, "np", spy)
    assert repr(x) == text
    assert spy.fetched == [shown]


@pytest.mark.parametrize("shape", [(7, 20_000), (20_000, 7)])
def test_both_ends_of_every_elided_axis_are_kept(shape):
    x = counted(*shape)
    kept = _shown.shown_elements(x._stored(), [True, True])
    assert kept.shape == (6, 6)
    assert kept[0, :3].tolist() == [0, 1, 2]
    assert kept[-1, -1] == x.num_elements() - 1


@pytest.mark.parametrize("placement", [Sharded(0), Sharded(1), Replicated()])
@pytest.mark.parametrize("shape", [(2000, 4), (4, 2000), (2, 6), (0, 2), (400, 8, 2)])
def test_each_device_gives_what_it_holds_of_what_is_shown(placement, shape):
    x = counted(*shape).to(DeviceMapping(cpu_mesh(2), (placement,)))
    elided = _shown.elided_axes(shape)
    expected = x.to_numpy()[np.ix_(*_shown.shown_positions(shape, elided))]
    shown = _shown.shown_elements(x._stored(), elided)
    np.testing.assert_array_equal(shown, expected, strict=True)


def test_printing_leaves_the_tensor_to_be_written_in_place():
    x = counted(2000)
    before = x._stored().unsafe_buffer_pointer()
    assert repr(x)
    assert x._repr_html_()
    x[0:1] = counted(1)
    assert x._stored().unsafe_buffer_pointer() == before


def test_a_traced_tensor_prints_its_named_sizes():
    texts = []

    def body(x):
        texts.append(repr(x))
        return x + 1

    stage(body)(TensorLayout(DType.int8, ["n", 2], CPU()))
    assert "shape=[Dim('n'), Dim(2)]" in texts[0]
    assert "'<unrealized>'" in texts[0]


def test_a_pending_tensor_says_so_and_stays_pending():
    with F.lazy():
        x = counted(2) + 1
    expected = (
        "Tensor(\n    '<unrealized>',\n    shape=[Dim(2)],\n    dtype=int32,\n"
        "    device=Device(type=cpu,id=0)\n)"
    )
    assert repr(x) == str(x) == expected
    assert not x.real


def test_a_distributed_tensor_shows_its_mapping_and_no_values():
    mapping = DeviceMapping(cpu_mesh(2, 2), (Sharded(0), Partial()))
    expected = (
        "Tensor(shape=[4], dtype=DType.float32, "
        "mapping=DeviceMapping(DeviceMesh(x=2, y=2), [Sharded(axis=0), Partial()]))"
    )
    x = F.ones([4], device=mapping)
    assert repr(x) == str(x) == expected
    with F.lazy():
        pending = x + x
    assert repr(pending) == expected
    assert not pending.real
