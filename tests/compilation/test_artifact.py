"""Programs as files: brought back in a fresh process, refused when damaged."""

import json
import subprocess
import sys
import textwrap
import zipfile
from collections import namedtuple

import jax
import numpy as np
import pytest

from maxlite import (
    DeviceMapping,
    Partial,
    Replicated,
    Sharded,
    as_subgraph,
    compile,
    load,
    tree,
)
from maxlite import functional as F
from tests.compilation.layouts import buffer, layout, mesh, tensor, values


def model():
    bias = tensor([0.5, 0.25])

    def block(x):
        return x * F.constant_external("w", layout(2), is_placeholder=True) + bias

    def f(inputs, k, *, mode):
        x = inputs["x"]
        for i in range(2):
            x = as_subgraph(block, prefix=f"{i}.")(x)
        return {"y": F.concat([x, x]) * k, "mode": mode, "rows": x.shape[0]}

    weights = {"0.w": tensor([1, 2]), "1.w": tensor([3, 4])}
    program = compile(f, weights=weights)({"x": layout("n", 2)}, 2.0, mode="m")
    return program, weights


@pytest.fixture
def saved(tmp_path):
    program, weights = model()
    assert program.export_mef(tmp_path / "f.mef") is None
    return program, weights, tmp_path / "f.mef"


@pytest.mark.parametrize("n", [0, 1, 3])
def test_it_answers_as_the_original(saved, n):
    program, weights, path = saved
    again = load(path, weights)
    x = tensor(np.arange(2 * n).reshape(n, 2))
    want, got = (p({"x": x}, 2.0, mode="m") for p in (program, again))
    assert values(got["y"]) == values(want["y"])
    assert (got["mode"], got["rows"]) == ("m", "n")
    assert again.out_layouts == program.out_layouts
    assert again.in_tree == program.in_tree


def test_it_checks_as_the_original(saved):
    _, weights, path = saved
    with pytest.raises(ValueError, match=r"1 weight is missing: '1\.w'"):
        load(path, {"0.w": weights["0.w"]})
    with pytest.raises(ValueError, match=r"argument 0\.x: expected"):
        load(path, weights)({"x": tensor([1, 2])}, 2.0, mode="m")


def test_a_fresh_process_needs_no_source(saved):
    *_, path = saved
    code = f"""
        import numpy as np
        from maxlite import Tensor, load
        weights = {{"0.w": np.array([1, 2], np.float32),
                    "1.w": np.array([3, 4], np.float32)}}
        program = load({str(path)!r}, weights)
        result = program({{"x": Tensor([[1.0, 1.0]])}}, 2.0, mode="m")
        print(result["y"].to_numpy().tolist(), program.weight_layouts.keys())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    assert done.stdout.startswith("[[10.0, 18.5], [10.0, 18.5]]")


def test_other_tools_find_the_stablehlo(saved):
    program, weights, path = saved
    with zipfile.ZipFile(path) as file:
        exported = jax.export.deserialize(bytearray(file.read("module.bin")))
        assert "func.func private @block" in file.read("module.mlir").decode()
    x = np.ones((3, 2), np.float32)
    arrays = [weights["0.w"].to_numpy(), weights["1.w"].to_numpy()]
    (y,) = exported.call(*arrays, np.array([0.5, 0.25], np.float32), x)
    assert np.asarray(y).tolist() == values(
        program({"x": tensor(x)}, 2.0, mode="m")["y"]
    )


def test_written_arguments_and_placements_survive(tmp_path):
    m = mesh(2, 2)
    on = DeviceMapping(m, (Sharded(0), Replicated()))
    cut = DeviceMapping(m, (Replicated(), Sharded(0)))

    def f(x, w):
        return x @ w.to(cut)

    x = layout("n", 4, on=m, placements=(Sharded(0), Sharded(1)))
    w = layout(4, 4, on=m, placements=cut.placements)
    program = compile(f)(x, w)
    program.export_mef(tmp_path / "s.mef")
    again = load(tmp_path / "s.mef")
    assert again.out_layouts == program.out_layouts
    assert again.out_layouts[0].placements == (Sharded(0), Partial())
    a = tensor(np.arange(16).reshape(4, 4))
    args = a.to(x.mapping), a.to(cut)
    assert values(again(*args)) == values(program(*args))
    assert on.mesh == again.in_layouts[0].mesh

    def g(b, y):
        F.buffer_store(b, b + y)

    compile(g)(buffer(2), layout(2)).export_mef(tmp_path / "b.mef")
    b = tensor([1, 2])
    load(tmp_path / "b.mef")(b, tensor([1, 1]))
    assert values(b) == [2.0, 3.0]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"no archive",
        lambda content: content[: len(content) // 2],
        lambda content: b"",
    ],
)
def test_damaged_files_are_refused(saved, damage):
    *_, path = saved
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match="must be a file that export_mef wrote"):
        load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.update(format=99), "newer than"),
        (lambda p: p.pop("graphs"), "graphs"),
        (lambda p: p.update(arrays=[["float32", [10**6]]] * 1), "must be a file"),
        (
            lambda p: p["graphs"][-1]["nodes"][0].update(op="no_such_op"),
            "no_such_op",
        ),
    ],
)
def test_wrong_programs_are_refused(saved, change, message):
    *_, path = saved
    with zipfile.ZipFile(path) as file:
        content = {name: file.read(name) for name in file.namelist()}
    program = json.loads(content["maxlite.json"])
    change(program)
    content["maxlite.json"] = json.dumps(program).encode()
    with zipfile.ZipFile(path, "w") as file:
        for name, data in content.items():
            file.writestr(name, data)
    with pytest.raises(ValueError, match=message):
        load(path)


def test_what_cannot_be_written_leaves_no_file(tmp_path):
    program = compile(lambda x, s: x)(layout(1), object())
    with pytest.raises(NotImplementedError, match="type object cannot be written"):
        program.export_mef(tmp_path / "f.mef")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.mef")


@tree.dataclass
class Batch:
    tokens: object
    mask: object = None


Point = namedtuple("Point", "x y")


def test_classes_of_ones_own_survive_where_they_are_imported(tmp_path):
    def f(batch, point):
        return Batch(batch.tokens + point.x), Point(point.y, 3)

    program = compile(f)(Batch(layout(2)), Point(layout(2), "s"))
    program.export_mef(tmp_path / "f.mef")
    t = tensor([1, 2])
    batch, point = load(tmp_path / "f.mef")(Batch(t), Point(t, "s"))
    assert values(batch.tokens) == [2.0, 4.0]
    assert point == Point("s", 3)


def test_a_file_imports_nothing(tmp_path, monkeypatch):
    program = compile(lambda batch: batch)(Batch(layout(2)))
    program.export_mef(tmp_path / "f.mef")
    monkeypatch.delitem(sys.modules, __name__)
    with pytest.raises(ImportError, match=f"Import {__name__} first"):
        load(tmp_path / "f.mef")
    assert __name__ not in sys.modules


def test_every_flipped_byte_is_refused_or_harmless(saved):
    _, weights, path = saved
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for position in rng.integers(0, len(content), 150):
        damaged = bytearray(content)
        damaged[position] ^= 0xFF
        path.write_bytes(bytes(damaged))
        try:
            load(path, weights)
        except (ValueError, ImportError):
            continue


def test_a_namedtuple_is_made_anew_for_results_only(tmp_path, monkeypatch):
    compile(lambda x: Point(x, 1))(layout(2)).export_mef(tmp_path / "out.mef")
    compile(lambda p: p.x)(Point(layout(2), 1)).export_mef(tmp_path / "in.mef")
    monkeypatch.delitem(sys.modules, __name__)
    assert load(tmp_path / "out.mef")(tensor([1, 2]))._fields == ("x", "y")
    with pytest.raises(ImportError, match=f"Import {__name__} first"):
        load(tmp_path / "in.mef")
