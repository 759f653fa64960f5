"""The drawings that visualize prints."""

import re
import shutil
import subprocess
import sys
from types import SimpleNamespace
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph import Dim
from maxlite.sharding import (
    DeviceMapping,
    DeviceMesh,
    NamedMapping,
    Partial,
    Placement,
    Replicated,
    Sharded,
    ShardingError,
    TensorLayout,
    Unknown,
    visualize,
)
from maxlite.sharding._drawing_html import drawing_html
from maxlite.sharding._visualize import drawing
from maxlite.tensor import Tensor
from tests.sharding.meshes import cpu_mesh

R, P, U = Replicated(), Partial(), Unknown()


def layout(shape, mesh: DeviceMesh, *placements: Placement) -> TensorLayout:
    return TensorLayout(DType.float32, shape, DeviceMapping(mesh, placements))


@pytest.fixture
def drawn(capsys: pytest.CaptureFixture[str]):
    """Prints, and gives the lines below the first one."""

    def draw(value: object, *, blocks: bool = True, tree: bool = True) -> list[str]:
        visualize(value, blocks=blocks, tree=tree)
        return capsys.readouterr().out.splitlines()[1:]

    return draw


def test_the_first_line_says_what_it_is(capsys: pytest.CaptureFixture[str]):
    cases = [
        (cpu_mesh(2), None, "DeviceMesh(x=2)"),
        (cpu_mesh(2), "", "DeviceMesh(x=2)"),
        (cpu_mesh(2), "mine", "mine: DeviceMesh(x=2)"),
        (
            layout(["n", 4], cpu_mesh(2), P),
            None,
            "DType.float32 [n, 4] with DeviceMapping(DeviceMesh(x=2), [Partial()])",
        ),
        (
            TensorLayout(DType.int8, [4], NamedMapping(cpu_mesh(2), ("x",))),
            "w",
            "w: DType.int8 [4] with NamedMapping(DeviceMesh(x=2), ('x'))",
        ),
    ]
    for value, title, line in cases:
        visualize(value, title=title)
        assert capsys.readouterr().out.splitlines()[0] == line


def test_a_sharded_vector(drawn):
    assert drawn(layout([4], cpu_mesh(2), Sharded(0))) == [
        "┌──────────┬──────────┐   tensor[:]",
        "│ device 0 │ device 1 │   ├── x=0  device 0 - tensor[:2]",
        "│   [:2]   │   [2:]   │   └── x=1  device 1 - tensor[2:]",
        "└──────────┴──────────┘",
    ]


def test_the_rows_of_a_matrix_stand_below_one_another(drawn):
    assert drawn(layout([4, 4], cpu_mesh(2), Sharded(0)), tree=False) == [
        "┌──────────┐",
        "│ device 0 │",
        "│ [:2, :]  │",
        "├──────────┤",
        "│ device 1 │",
        "│ [2:, :]  │",
        "└──────────┘",
    ]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_pieces_along_one_of_three_axes_stand_side_by_side(drawn, axis: int):
    lines = drawn(layout([4, 4, 4], cpu_mesh(2), Sharded(axis)), tree=False)
    assert lines[1] == "│  device 0  │  device 1  │"


def test_a_matrix_cut_both_ways(drawn):
    assert drawn(layout([5, 7], cpu_mesh(2, 3), Sharded(0), Sharded(1))) == [
        "┌───────────┬───────────┬───────────┐   tensor[:, :]",
        "│  device 0 │  device 1 │  device 2 │   ├── x=0 - tensor[:3, :]",
        "│  [:3, :3] │ [:3, 3:5] │  [:3, 5:] │   │   ├── y=0  device 0 - "
        "tensor[:3, :3]",
        "├───────────┼───────────┼───────────┤   │   ├── y=1  device 1 - "
        "tensor[:3, 3:5]",
        "│  device 3 │  device 4 │  device 5 │   │   └── y=2  device 2 - "
        "tensor[:3, 5:]",
        "│  [3:, :3] │ [3:, 3:5] │  [3:, 5:] │   └── x=1 - tensor[3:, :]",
        "└───────────┴───────────┴───────────┘       ├── y=0  device 3 - "
        "tensor[3:, :3]",
        " " * 44 + "├── y=1  device 4 - tensor[3:, 3:5]",
        " " * 44 + "└── y=2  device 5 - tensor[3:, 5:]",
    ]


def test_the_earlier_tensor_axis_makes_the_rows(drawn):
    lines = drawn(layout([8, 4], cpu_mesh(2, 2), Sharded(1), Sharded(0)), tree=False)
    assert lines[1:6] == [
        "│ device 0 │ device 2 │",
        "│ [:4, :2] │ [:4, 2:] │",
        "├──────────┼──────────┤",
        "│ device 1 │ device 3 │",
        "│ [4:, :2] │ [4:, 2:] │",
    ]


def test_devices_with_the_same_part_share_a_block(drawn):
    assert drawn(layout([4], cpu_mesh(2, 2), R, Sharded(0)), tree=False) == [
        "┌─────────────┬─────────────┐",
        "│ devices 0,2 │ devices 1,3 │",
        "│     [:2]    │     [2:]    │",
        "└─────────────┴─────────────┘",
    ]


def test_partial_and_unknown_are_written_next_to_the_part(drawn):
    assert drawn(layout([4], cpu_mesh(2, 2), Sharded(0), P)) == [
        "┌──────────────┬──────────────┐   tensor[:]",
        "│ devices 0,1  │ devices 2,3  │   ├── x=0 - tensor[:2]",
        "│ [:2] partial │ [2:] partial │   │   ├── y=0  device 0 - "
        "partial sum of tensor[:2]",
        "└──────────────┴──────────────┘   │   └── y=1  device 1 - "
        "partial sum of tensor[:2]",
        " " * 34 + "└── x=1 - tensor[2:]",
        " " * 38 + "├── y=0  device 2 - partial sum of tensor[2:]",
        " " * 38 + "└── y=1  device 3 - partial sum of tensor[2:]",
    ]
    assert drawn(layout([4], cpu_mesh(1, 2), P, U), blocks=False) == [
        "tensor[:]",
        "└── x=0 - partial sum of tensor[:]",
        "    ├── y=0  device 0 - unknown tensor[:]",
        "    └── y=1  device 1 - unknown tensor[:]",
    ]
    assert drawn(layout([], cpu_mesh(2), U), tree=False)[2] == "│  [] unknown │"


def test_slices_name_only_the_ends_inside(drawn):
    lines = drawn(layout([1], cpu_mesh(4), Sharded(0)), blocks=False)
    assert [line.split(" - ")[1] for line in lines[1:]] == [
        "tensor[:1]",
        "tensor[1:1]",
        "tensor[1:1]",
        "tensor[1:]",
    ]
    lines = drawn(layout([7], cpu_mesh(2, 2), Sharded(0), Sharded(0)), tree=False)
    assert lines[2] == "│   [:2]   │  [2:4]   │  [4:6]   │   [6:]   │"
    lines = drawn(layout([0], cpu_mesh(2), Sharded(0)), tree=False)
    assert lines[2] == "│   [:0]   │   [0:]   │"


def test_a_mesh_axis_of_size_one_cuts_nothing(drawn):
    lines = drawn(layout([8, 8], cpu_mesh(1, 2), Sharded(1), Sharded(0)), tree=False)
    assert lines[2] == "│ [:4, :]  │"


def test_symbols_are_added_up(drawn):
    lines = drawn(layout(["n"], cpu_mesh(2, 2), Sharded(0), Sharded(0)), blocks=False)
    assert lines[1] == "├── x=0 - tensor[:n_x_0_y_0 + n_x_0_y_1]"
    assert lines[2] == "│   ├── y=0  device 0 - tensor[:n_x_0_y_0]"
    with pytest.raises(ShardingError, match="one symbol"):
        drawn(layout([Dim("n") * 2], cpu_mesh(2), Sharded(0)))


def test_a_mesh(drawn):
    assert drawn(cpu_mesh(2, 2)) == [
        "┌──────────┬──────────┐   ├── x=0",
        "│ device 0 │ device 1 │   │   ├── y=0  device 0",
        "│ x=0, y=0 │ x=0, y=1 │   │   └── y=1  device 1",
        "├──────────┼──────────┤   └── x=1",
        "│ device 2 │ device 3 │       ├── y=0  device 2",
        "│ x=1, y=0 │ x=1, y=1 │       └── y=1  device 3",
        "└──────────┴──────────┘",
    ]


def test_what_does_not_lie_flat_is_drawn_as_a_tree(drawn):
    assert drawn(cpu_mesh(1, 1, 2), tree=False) == [
        "└── x=0",
        "    └── y=0",
        "        ├── z=0  device 0",
        "        └── z=1  device 1",
    ]
    cube = layout([2, 2, 2], cpu_mesh(2, 2, 2), Sharded(0), Sharded(1), Sharded(2))
    assert drawn(cube, tree=False) == drawn(cube, blocks=False)


def test_a_mesh_without_axes(drawn):
    mesh = DeviceMesh((CPU(),), (), ())
    assert drawn(mesh, blocks=False) == ["device 0"]
    assert drawn(layout([2], mesh), blocks=False) == ["device 0 - tensor[:]"]
    assert drawn(layout([2], mesh), tree=False)[2] == "│   [:]    │"


def test_anything_with_a_layout_is_drawn(drawn):
    class Value:
        layout = TensorLayout(DType.float32, [4], CPU())

    assert drawn(Value(), blocks=False) == [
        "tensor[:]",
        "└── _=0  device 0 - tensor[:]",
    ]


@pytest.mark.parametrize("value", [DeviceMapping(cpu_mesh(2), (R,)), 3, TensorLayout])
def test_what_has_no_layout_is_refused(value):
    with pytest.raises(TypeError, match="a DeviceMesh, a layout, a Tensor or a tree"):
        visualize(value)


def test_one_of_the_drawings_must_be_asked_for():
    with pytest.raises(ValueError, match="blocks or tree must be True"):
        visualize(cpu_mesh(2), blocks=False, tree=False)


# Trees ------------------------------------------------------------------------------


class Block(NamedTuple):
    up: TensorLayout
    down: TensorLayout
    gain: float = 1.0


def model():
    mesh = cpu_mesh(2, 2)
    return {
        "blocks": [
            Block(
                layout([16, 33], mesh, R, Sharded(1)),
                layout([33, 16], mesh, P, Sharded(0)),
            )
        ],
        "embedding": layout(["words", 16], mesh, Sharded(0), R),
        "scale": TensorLayout(DType.float64, [2], CPU(1)),
    }


TABLE = """\
DeviceMesh(x=2, y=2): 3 tensors, 2.125 KiB on each device, and 1 of a size that is \
not known yet
  blocks.0.up    float32[16, 33]     x=R   y=S1  1.062 KiB
  blocks.0.down  float32[33, 16]     x=P   y=S0  1.062 KiB
  embedding      float32[words, 16]  x=S0  y=R
Device(type=cpu,id=1): 1 tensor, 16 bytes on each device
  scale          float64[2]  16 bytes
"""


def test_a_tree_has_a_line_for_each_tensor(capsys):
    visualize(model())
    table = TABLE.replace("scale          f", "scale  f")
    assert capsys.readouterr().out == table
    visualize(model(), title="decoder")
    assert capsys.readouterr().out == f"decoder\n{table}"


def test_tensors_and_layouts_in_a_tree_are_listed_alike(capsys):
    tensors = [Tensor([1.0, 2.0]).to(DeviceMapping(cpu_mesh(2), (Sharded(0),))), 3.0]
    visualize(tensors)
    given = capsys.readouterr().out
    visualize([tensors[0].layout])
    assert capsys.readouterr().out == given
    assert given.splitlines()[1] == "  0  float32[2]  x=S0  4 bytes"


@pytest.mark.parametrize("value", [{}, [1.0], {"a": None}, 3, "x"])
def test_a_tree_without_tensors_is_refused(value):
    with pytest.raises(TypeError, match="a Tensor or a tree of these, got"):
        visualize(value)


# Colours ----------------------------------------------------------------------------


def plain(text):
    return re.sub(r"\x1b\[[\d;]*m", "", text)


@pytest.mark.parametrize(
    "value",
    [
        layout([4, 4], cpu_mesh(2, 2), Sharded(0), Sharded(1)),
        layout([4], cpu_mesh(2), P),
        cpu_mesh(2),
        model(),
    ],
    ids=["matrix", "pending", "mesh", "tree"],
)
def test_colours_change_nothing_but_colours(value):
    drawn = drawing(value)
    assert "\x1b" not in drawn.text()
    painted = drawn.text(colors=True)
    assert "\x1b[48;5;" in painted
    assert plain(painted) == drawn.text()


def test_each_part_has_a_colour_of_its_own_in_grid_and_tree():
    painted = drawing(layout([4], cpu_mesh(4), Sharded(0))).text(colors=True)
    for part in ("[:1]", "[1:2]", "[2:3]", "[3:]"):
        paint = rf"\x1b\[(48;5;\d+)m\x1b\[30m[ \w]*{re.escape(part)}"
        colours = set(re.findall(paint, painted))
        assert len(colours) == 1, part
        assert len(re.findall(paint, painted)) == 2, part
    assert len(set(re.findall(r"48;5;\d+", painted))) == 4


def test_a_terminal_has_colours_unless_the_user_says_no(monkeypatch, capsys):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")

    def colored():
        visualize(cpu_mesh(2))
        return "\x1b" in capsys.readouterr().out

    assert not colored()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert colored()
    monkeypatch.setenv("TERM", "dumb")
    assert not colored()
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert colored()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colored()


# Notebooks --------------------------------------------------------------------------


def test_a_notebook_shows_html(monkeypatch, capsys):
    shown = []
    notebook = SimpleNamespace(
        get_ipython=lambda: SimpleNamespace(kernel=object()),
        display=SimpleNamespace(display=lambda data, raw: shown.append((data, raw))),
    )
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    visualize(cpu_mesh(2), title="<mine>")
    assert capsys.readouterr().out == ""
    ((data, raw),) = shown
    assert raw
    assert data["text/plain"] == drawing(cpu_mesh(2), title="<mine>").text()
    assert "&lt;mine&gt;: DeviceMesh" in data["text/html"]
    shell = SimpleNamespace(get_ipython=SimpleNamespace)
    monkeypatch.setitem(sys.modules, "IPython", shell)  # a terminal
    visualize(cpu_mesh(2))
    assert capsys.readouterr().out.startswith("DeviceMesh(x=2)\n┌")


@pytest.mark.parametrize(
    ("value", "fewest"),
    [(layout([4], cpu_mesh(4), Sharded(0)), 4), (model(), 2)],
    ids=["grid", "tree"],
)
def test_the_html_is_well_formed_and_paints_the_parts(value, fewest):
    html = drawing_html(drawing(value))
    ElementTree.fromstring(html)  # every element is closed
    assert len(set(re.findall(r"hsla\(\d+", html))) >= fewest


@pytest.mark.skipif(not shutil.which("chromium"), reason="Chromium is not installed")
@pytest.mark.parametrize(
    ("value", "colours"),
    [(layout([4, 4], cpu_mesh(2, 2), Sharded(0), Sharded(1)), 4), (model(), 2)],
    ids=["grid", "tree"],
)
def test_a_browser_shows_the_parts_in_colours(value, colours, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    page, shot = tmp_path / "page.html", tmp_path / "page.png"
    page.write_text(f"<meta charset=utf-8>{drawing_html(drawing(value))}")
    subprocess.run(
        [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--screenshot={shot}",
            "--window-size=800,400",
            page.as_uri(),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    with image.open(shot) as opened:
        counts = opened.convert("RGB").getcolors(1 << 24)
    # What is painted is pale, and takes up more than the edges of letters do.
    painted = [n for n, (r, g, b) in counts if max(r, g, b) - min(r, g, b) > 40]
    assert len([n for n in painted if n > 500]) == colours
