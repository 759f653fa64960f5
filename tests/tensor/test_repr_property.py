"""Printing against a formatter that is slow and plain: it writes on a canvas.

Where an element stands follows from its index alone: axes go across and down in turn,
and each lays its items one after another with a separator between.
"""

import itertools
from dataclasses import dataclass

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from maxlite.dtype import ALL, FLOATS, DType
from maxlite.tensor import Tensor

ACROSS = {1: " ", 3: " | "}
KEPT, WHOLE, EDGE = 6, 1000, 3
GAP = -1

DTYPES = sorted(
    ALL - {DType.float6_e2m3fn, DType.float6_e3m2fn}, key=lambda dtype: dtype.name
)


@dataclass
class Canvas:
    """Text that is written anywhere, and read line by line."""

    lines: list[list[str]]

    def write(self, y: int, x: int, text: str) -> None:
        while len(self.lines) <= y:
            self.lines.append([])
        line = self.lines[y]
        line.extend(" " * (x + len(text) - len(line)))
        line[x : x + len(text)] = text


def slow_text(data: np.ndarray, dtype: DType) -> str:
    """Writes the values of a tensor; the lines after the first have no indent."""
    items = [shown_items(data.shape, axis) for axis in range(data.ndim)]
    shown = [i for i in itertools.product(*items) if GAP not in i]
    texts = {i: element_text(data[i], dtype) for i in shown}
    width = max(map(len, texts.values()), default=0)
    canvas = Canvas([[]])

    def draw(index: tuple[int, ...], y: int, x: int) -> tuple[int, int]:
        """Draws what is left of the axes at a place; gives its height and width."""
        rank = data.ndim - len(index)
        canvas.write(y, x, "")  # an empty block has a line of its own
        if not rank:
            canvas.write(y, x, texts[index].rjust(width))
            return 1, width
        across = rank % 2 == 1
        apart = len(ACROSS.get(rank, " : ")) if across else int(rank > 2)
        along, beside, marks = 0, 0, []
        for number, item in enumerate(items[len(index)]):
            if number:
                marks.append(along)
                along += apart
            place = (y, x + along) if across else (y + along, x)
            if item == GAP:
                canvas.write(*place, "...")
                tall, wide = 1, 3
            else:
                tall, wide = draw((*index, item), *place)
            along += wide if across else tall
            beside = max(beside, tall if across else wide)
        for mark in marks:
            if across:
                for line in range(beside):
                    canvas.write(y + line, x + mark, ACROSS.get(rank, " : "))
            elif rank > 4:
                canvas.write(y + mark, x, "-" * beside)
        return (max(beside, 1), along) if across else (max(along, 1), beside)

    draw((), 0, 0)
    return "\n".join("".join(line) for line in canvas.lines)


def shown_items(shape: tuple[int, ...], axis: int) -> list[int]:
    """Lists the items of an axis; GAP stands for those that are left out."""
    size, inside = shape[axis], int(np.prod(shape[axis:], dtype=object))
    if size <= KEPT or inside <= WHOLE:
        return list(range(size))
    return [*range(EDGE), GAP, *range(size - EDGE, size)]


def element_text(value: object, dtype: DType) -> str:
    if dtype in FLOATS:
        return format(float(value), ".4g")
    return str(bool(value)) if dtype is DType.bool else str(int(value))


@st.composite
def arrays(draw: st.DrawFn) -> tuple[np.ndarray, DType]:
    """Arrays of every dtype, small and large along any axis."""
    sizes = st.sampled_from([0, 1, 1, 2, 2, 3, 6, 7, 8, 40, 1001])
    shape: list[int] = []
    for size in draw(st.lists(sizes, max_size=6)):
        if np.prod([*shape, size]) <= 30_000:
            shape.append(size)
    dtype = draw(st.sampled_from(DTYPES))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    if dtype in FLOATS:
        scale = 10.0 ** rng.integers(-6, 7, shape)
        data = rng.normal(size=shape) * scale
        special = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0], shape)
        data = np.where(rng.random(shape) < draw(st.floats(0, 1)), special, data)
        with np.errstate(all="ignore"):
            return np.asarray(data).astype(dtype.to_jax()), dtype
    if dtype is DType.bool:
        return np.asarray(rng.random(shape) < 0.5), dtype
    limits = np.iinfo(dtype.to_jax())
    data = rng.integers(limits.min, limits.max, shape, dtype.to_jax(), endpoint=True)
    return np.asarray(data >> draw(st.integers(0, limits.bits - 1))), dtype


def stripped(text: str) -> list[str]:
    return [line.rstrip() for line in text.split("\n")]


@hypothesis.settings(max_examples=150)
@hypothesis.given(arrays())
def test_any_tensor_prints_as_the_slow_formatter_writes_it(case):
    data, dtype = case
    x = Tensor(data)
    tail = f", dtype={dtype}, device={x.device})"
    text = repr(x)
    assert text.startswith("Tensor(")
    assert text.endswith(tail)
    values = text[len("Tensor(") : -len(tail)]
    if data.ndim:
        assert (values[0], values[-1]) == ("[", "]")
        values = values[1:-1].replace("\n ", "\n")
    assert stripped(values) == stripped(slow_text(data, dtype))


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((2, 2, 2), "0 1 | 4 5\n2 3 | 6 7"),
        ((2, 1, 1, 2), "0 1\n\n2 3"),
        ((2, 2, 1, 1, 1), "0 : 2\n  :\n1 : 3"),
        ((2, 1, 1, 1, 1, 2), "0 1\n---\n2 3"),
        ((1001,), "   0    1    2 ...  998  999 1000"),
    ],
)
def test_the_slow_formatter_writes_what_the_reference_does(shape, text):
    data = np.arange(np.prod(shape)).reshape(shape)
    assert stripped(slow_text(data, DType.int64)) == stripped(text)
