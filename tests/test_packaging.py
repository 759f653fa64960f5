"""The built wheel installs in a clean environment and imports there."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import maxlite

ROOT = Path(__file__).parents[1]


def pip(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*command, *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the wheel, and sees what it needs.

    No network is used: the wheel is built with the backend at hand, and its
    dependencies are found through a path to the environment of the tests. A path added
    so brings no editable install along.
    """
    folder = tmp_path_factory.mktemp("packaging")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT)
    (wheel,) = folder.glob("maxlite-*.whl")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    home = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
    scheme = sysconfig.get_preferred_scheme("prefix")
    packages = Path(sysconfig.get_path("purelib", scheme, home))
    here = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "dependencies.pth").write_text(
        "\n".join(sorted(here)), encoding="utf-8"
    )
    pip("install", "--no-deps", "--no-index", "--target", packages, wheel)
    return folder / "venv" / "bin" / "python"


def test_the_wheel_imports_in_a_clean_environment(python: Path, tmp_path: Path) -> None:
    code = """
import importlib.metadata, importlib.resources, json, maxlite
print(json.dumps({
    "file": maxlite.__file__,
    "version": [maxlite.__version__, importlib.metadata.version("maxlite")],
    "py.typed": importlib.resources.files("maxlite").joinpath("py.typed").is_file(),
    "license": importlib.metadata.metadata("maxlite")["License-Expression"],
}))
"""
    done = subprocess.run(
        [python, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    found = json.loads(done.stdout)
    assert Path(found.pop("file")).is_relative_to(python.parents[1])
    assert found == {
        "version": [maxlite.__version__] * 2,
        "py.typed": True,
        "license": "Apache-2.0",
    }


def test_the_wheel_holds_the_package_and_nothing_else(python: Path) -> None:
    packages = next(python.parents[1].glob("lib/python*/site-packages"))
    installed = {
        file.relative_to(packages).as_posix()
        for file in (packages / "maxlite").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    source = {
        file.relative_to(ROOT).as_posix()
        for file in (ROOT / "maxlite").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert installed == source
    top = {folder.name.partition("-")[0] for folder in packages.glob("*")}
    assert top == {"maxlite", "dependencies.pth"}
