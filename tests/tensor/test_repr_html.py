"""Drawing for notebooks: the structure is read back with a parser."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from maxlite import functional as F
from maxlite.compilation import stage
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph import Dim
from maxlite.sharding import (
    DeviceMapping,
    DeviceMesh,
    Partial,
    Replicated,
    Sharded,
    TensorLayout,
    Unknown,
)
from maxlite.tensor import Tensor, _repr_html
from maxlite.tensor._repr_html import MOST_MATRICES, Facts, bytes_text, facts_html
from tests.sharding.meshes import cpu_mesh

VOID = {"br"}


class Page(HTMLParser):
    """Reads a drawing, and refuses what is not nested well."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.styles, self.lines = [], [], []
        self.tables = []
        self.feed(html)
        self.close()
        assert self.tags == [], f"left open: {self.tags}"

    def handle_starttag(self, tag, attrs):
        self.styles += [value for name, value in attrs if name == "style"]
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag == "td":
            self.tables[-1][-1].append("")
        elif tag == "div":
            self.lines.append("")
        if tag not in VOID:
            self.tags.append(tag)
        elif "td" in self.tags:
            self.tables[-1][-1][-1] += "\n"

    def handle_startendtag(self, tag, attrs):
        assert tag in VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert self.tags.pop() == tag

    def handle_data(self, data):
        if "td" in self.tags:
            self.tables[-1][-1][-1] += data
        else:
            self.lines[-1] += data

    @property
    def texts(self):
        return [line for line in self.lines if line]


def page(tensor):
    return Page(tensor._repr_html_())


def counted(*shape):
    return Tensor(np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape))


def on(mesh, *placements):
    return DeviceMapping(mesh, placements)


# One device -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "rows"),
    [
        ((), [["0"]]),
        ((3,), [["0", "1", "2"]]),
        ((2, 2), [["0", "1"], ["2", "3"]]),
    ],
)
def test_up_to_rank_2_it_is_one_table(shape, rows):
    assert page(counted(*shape)).tables == [rows]


def test_the_first_line_says_what_it_is_and_where():
    (line,) = page(counted(2, 3)).texts
    assert line == "Tensor int32 [2, 3] · 24 bytes · Device(type=cpu,id=0)"
    (line,) = page(Tensor(np.zeros(1 << 16, np.int16), device=CPU(1))).texts
    assert line == "Tensor int16 [65536] · 128 KiB · Device(type=cpu,id=1)"


@pytest.mark.parametrize(
    ("data", "row"),
    [
        (np.array([True, False]), ["True", "False"]),
        (np.array([2**63 - 1, -5]), ["9223372036854775807", "-5"]),
        (np.array([1 / 3, np.nan, -np.inf, -0.0]), ["0.3333", "nan", "-inf", "-0"]),
    ],
)
def test_elements_are_written_as_in_the_text(data, row):
    assert page(Tensor(data)).tables == [[row]]
    assert page(Tensor(np.array([0.5])).cast(DType.bfloat16)).tables == [[["0.5"]]]


def test_higher_ranks_are_matrices_under_their_index():
    drawn = page(counted(2, 1, 2, 2))
    assert drawn.texts[1:] == ["[0, 0, :, :]", "[1, 0, :, :]"]
    assert drawn.tables == [[["0", "1"], ["2", "3"]], [["4", "5"], ["6", "7"]]]


def test_long_axes_show_their_ends_as_in_the_text():
    (row,) = page(counted(1001)).tables[0]
    assert row == ["0", "1", "2", "…", "998", "999", "1000"]
    (table,) = page(counted(300, 4)).tables
    assert table[2:5] == [
        ["8", "9", "10", "11"],
        ["…"] * 4,
        [*map(str, range(1188, 1192))],
    ]
    drawn = page(counted(300, 2, 2))
    assert drawn.texts[1:] == [
        "[0, :, :]",
        "[1, :, :]",
        "[2, :, :]",
        "… [297, :, :]",
        "[298, :, :]",
        "[299, :, :]",
    ]
    assert drawn.tables[-1] == [["1196", "1197"], ["1198", "1199"]]


def test_of_many_matrices_the_first_are_shown():
    drawn = page(counted(100, 2, 2))
    assert len(drawn.tables) == MOST_MATRICES
    assert drawn.texts[-1] == "…"
    assert page(counted(MOST_MATRICES, 1, 1)).texts[-1] != "…"


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), (2, 0, 2)])
def test_an_empty_tensor_says_so(shape):
    drawn = page(counted(*shape))
    assert drawn.texts[1:] == ["no elements"]
    assert drawn.tables == []


def test_only_what_is_shown_is_written(monkeypatch):
    written = []
    texts = _repr_html.element_texts

    def spy(elements, dtype):
        written.append(elements.size)
        return texts(elements, dtype)

    monkeypatch.setattr(_repr_html, "element_texts", spy)
    page(F.zeros([1000, 2000]))
    assert written == [6 * 6]


# Pending ----------------------------------------------------------------------------


def test_a_pending_tensor_says_so_and_stays_pending():
    mesh = cpu_mesh(2)
    with F.lazy():
        x = counted(2) + 1
        y = F.ones([2], device=on(mesh, Sharded(0))) + 1
    assert page(x).texts == [
        "Tensor int32 [2] · 8 bytes · Device(type=cpu,id=0)",
        "pending: not computed yet",
    ]
    assert page(y).texts[1:] == ["pending: not computed yet"]
    assert page(y).tables == [[["device 0\n[:1]", "device 1\n[1:]"]]]
    assert not x.real
    assert not y.real


def test_a_traced_tensor_shows_its_named_sizes():
    drawn = []

    def body(x, y):
        drawn.extend([page(x), page(y), page(F.concat([x, x]))])
        return x, y

    mesh = cpu_mesh(2)
    stage(body)(
        TensorLayout(DType.int8, [Dim("n"), 2], on(mesh, Sharded(0))),
        TensorLayout(DType.int8, ["m"], CPU()),
    )
    cut, whole, longer = drawn
    assert cut.texts[0] == "Tensor int8 [n, 2] · DeviceMesh(x=2) [Sharded(axis=0)]"
    assert len(cut.tables[0]) == 2
    assert whole.texts[0] == "Tensor int8 [m] · Device(type=cpu,id=0)"
    assert longer.texts[0].startswith("Tensor int8 [n * 2, 2] · DeviceMesh")


# Distributed ------------------------------------------------------------------------


def test_a_grid_shows_which_device_holds_which_piece():
    x = counted(4, 2).to(on(cpu_mesh(2, 2), Sharded(0), Sharded(1)))
    drawn = page(x)
    values, grid = drawn.tables
    assert values == [["0", "1"], ["2", "3"], ["4", "5"], ["6", "7"]]
    assert grid == [
        ["device 0\n[:2, :1]", "device 1\n[:2, 1:]"],
        ["device 2\n[2:, :1]", "device 3\n[2:, 1:]"],
    ]
    place = "DeviceMesh(x=2, y=2) [Sharded(axis=0), Sharded(axis=1)]"
    assert drawn.texts == [f"Tensor int32 [4, 2] · 32 bytes · {place}"]


def test_what_is_replicated_is_one_piece():
    drawn = page(counted(2).to(cpu_mesh(2)))
    assert drawn.tables == [[["0", "1"]], [["devices 0,1\n[:]"]]]


def test_pieces_that_do_not_lie_flat_are_a_row_each():
    x = counted(2, 2, 2).to(on(cpu_mesh(2, 2, 2), Sharded(0), Sharded(1), Sharded(2)))
    grid = page(x).tables[-1]
    assert len(grid) == 8
    assert grid[-1] == ["device 7\n[1:, 1:, 1:]"]


def test_every_piece_has_a_colour_of_its_own():
    mesh = cpu_mesh(8)
    styles = page(counted(8).to(on(mesh, Sharded(0)))).styles
    colours = {c for style in styles for c in re.findall(r"background:([^;]*)", style)}
    assert len(colours) == 8


@pytest.mark.parametrize(
    ("placement", "note"),
    [
        (Partial(), "pending sum: not added up yet"),
        (Unknown(), "unknown shards: no global value"),
    ],
)
def test_shards_without_a_value_are_not_added_up(placement, note):
    mesh = cpu_mesh(2)
    x = counted(2).to(mesh).rebind_mapping(on(mesh, placement))
    drawn = page(x)
    assert drawn.texts[1:] == [note]
    assert len(drawn.tables) == 1


def test_a_sharded_tensor_keeps_its_values_where_they_are(monkeypatch):
    x = counted(2000, 4).to(on(cpu_mesh(2), Sharded(0)))

    def refuse(*_):
        raise AssertionError("something ran")

    monkeypatch.setattr(Tensor, "to", refuse)
    monkeypatch.setattr(Tensor, "to_numpy", refuse)
    table = page(x).tables[0]
    assert table[0] == ["0", "1", "2", "3"]
    assert table[-1] == ["7996", "7997", "7998", "7999"]


# The page around it -----------------------------------------------------------------


def test_text_is_escaped():
    mesh = DeviceMesh((CPU(),) * 2, (2,), ("<b>&",))
    html = counted(2).to(on(mesh, Sharded(0)))._repr_html_()
    assert "DeviceMesh(<b>&=2)" in Page(html).texts[0]
    assert html.count("<b>") == 1  # the word Tensor
    odd = "<i>&\"'</i>"
    drawn = Page(facts_html(Facts(odd, [odd], odd, None, [[(odd, odd)]])))
    assert drawn.texts == [f"Tensor {odd} · {odd}", odd]
    assert drawn.tables == [[[f"{odd}\n{odd}"]]]


def test_colours_suit_a_light_and_a_dark_page():
    """Text has the colour of the page; what lies behind it lets the page through."""
    x = counted(4, 2).to(on(cpu_mesh(2, 2), Sharded(0), Replicated()))
    for style in page(x).styles:
        rules = dict(rule.split(":") for rule in style.split(";"))
        assert rules.get("color", "inherit") == "inherit"
        for colour in re.findall(r"(?:rgb|hsl|#)[^;]*", style):
            assert re.match(r"(rgba|hsla)\([^)]*,\.\d+\)", colour)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (1024**2 - 1, "1024 KiB"),
        (5 * 1024**3 // 2, "2.5 GiB"),
        (3 * 1024**5, "3072 TiB"),
    ],
)
def test_bytes_are_written_in_the_largest_unit(count, text):
    assert bytes_text(count) == text
