"""The migration door: MAX scripts run unchanged, and what is missing is said."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "maxlite", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


def write(path: Path, code: str) -> Path:
    path.write_text(textwrap.dedent(code), encoding="utf-8")
    return path


def test_every_name_of_max_is_the_object_of_maxlite(tmp_path: Path) -> None:
    """An installed ``max``, here one beside the script, is never looked at."""
    (tmp_path / "max").mkdir()
    write(tmp_path / "max" / "__init__.py", "raise RuntimeError('the installed max')")
    file = write(
        tmp_path / "script.py",
        """
        import json, sys
        import max
        import max.graph
        import max.experimental.sharding as sharding
        from max import driver
        from max.experimental import sharding as again
        from max.graph import Dim

        import maxlite.dtype, maxlite.graph, maxlite.sharding

        print(json.dumps({
            "module": max.graph is maxlite.graph is sys.modules["max.graph"],
            "experimental": sharding is again is maxlite.sharding,
            "class": Dim is maxlite.graph.Dim,
            "not imported": max.dtype is maxlite.dtype,
            "names": [driver.__name__, max.graph.__name__, max.graph.__spec__.name],
            "process": [__name__, sys.argv, __file__, sys.path[0]],
            "hasattr": [hasattr(max.graph, "Nope"), hasattr(max, "nope")],
        }))
        sys.exit(7)
        """,
    )
    done = run("script.py", "one", "--two", cwd=tmp_path)
    assert done.stderr == ""
    assert json.loads(done.stdout) == {
        "module": True,
        "experimental": True,
        "class": True,
        "not imported": True,
        "names": ["maxlite.driver", "maxlite.graph", "maxlite.graph"],
        "process": [
            "__main__",
            ["script.py", "one", "--two"],
            str(file),
            str(tmp_path),
        ],
        "hasattr": [False, False],
    }
    assert done.returncode == 7


REFUSED = {
    "import max.serve": "ModuleNotFoundError: No module named 'max.serve': "
    "maxlite lacks it.",
    "import max.graph.nope": "ModuleNotFoundError: No module named 'max.graph.nope': "
    "maxlite lacks it.",
    "import max.dtype.nope": "ModuleNotFoundError: No module named 'max.dtype.nope': "
    "maxlite lacks it.",
    "import max.graph._dim": "ModuleNotFoundError: No module named 'max.graph._dim': "
    "maxlite lacks it.",
    "import max.nn": "ModuleNotFoundError: No module named 'max.nn': maxlite lacks it.",
    "from max import nn": "ImportError: cannot import name 'nn' from 'max': "
    "maxlite lacks it.",
    "from max.graph import Nope": "ImportError: cannot import name 'Nope' from "
    "'max.graph': maxlite lacks it.",
    "from max.experimental import nope": "ImportError: cannot import name 'nope' from "
    "'max.experimental': maxlite lacks it.",
    "max.graph.Nope": "AttributeError: module 'max.graph' has no attribute 'Nope': "
    "maxlite lacks it.",
    "max.serve": "AttributeError: module 'max' has no attribute 'serve': "
    "maxlite lacks it.",
}


def test_what_maxlite_lacks_is_refused_by_name(tmp_path: Path) -> None:
    code = f"""
        import json
        import max.graph

        def refusal(line):
            try:
                exec(line)
            except (ImportError, AttributeError) as error:
                return f"{{type(error).__name__}}: {{error}}"

        print(json.dumps({{line: refusal(line) for line in {list(REFUSED)}}}))
    """
    done = run("-c", textwrap.dedent(code), cwd=tmp_path)
    assert done.stderr == ""
    assert json.loads(done.stdout) == REFUSED


def test_tracebacks_show_the_script_and_nothing_of_the_door(tmp_path: Path) -> None:
    file = write(
        tmp_path / "script.py",
        """\
        def load():
            from max.graph import Nope

        try:
            load()
        except ImportError as error:
            raise ValueError("no graph") from error
        """,
    )
    done = run("script.py", cwd=tmp_path)
    shown = [line.strip() for line in done.stderr.splitlines() if "File" in line]
    assert shown == [
        f'File "{file}", line 5, in <module>',
        f'File "{file}", line 2, in load',
        f'File "{file}", line 7, in <module>',
    ]
    assert done.stderr.endswith("ValueError: no graph\n")
    assert done.returncode == 1


def test_a_max_program_computes_under_pytest(tmp_path: Path) -> None:
    write(
        tmp_path / "test_program.py",
        """
        import max.experimental.functional as F
        from max.driver import CPU
        from max.dtype import DType
        from max.experimental.tensor import Tensor

        def test_sum():
            x = Tensor.ones([2, 3], dtype=DType.float32, device=CPU())
            assert F.sum(x, axis=-1).to_numpy().tolist() == [[3.0], [3.0]]

        def test_fails():
            assert F.sum(Tensor.ones([1]), axis=0).item() == 2.0
        """,
    )
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path)
    assert "1 failed, 1 passed" in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize("arguments", [[], ["--unknown"]])
def test_a_command_line_without_a_program_prints_the_usage(
    arguments: list[str], tmp_path: Path
) -> None:
    done = run(*arguments, cwd=tmp_path)
    assert done.stderr.startswith("usage: python -m maxlite script.py [args]")
    assert (done.stdout, done.returncode) == ("", 2)


def test_a_script_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = run("absent.py", cwd=tmp_path)
    assert "can't open file 'absent.py': No such file" in done.stderr
    assert done.returncode == 2


def test_importing_maxlite_leaves_max_alone() -> None:
    assert not any(type(f).__name__ == "_MaxFinder" for f in sys.meta_path)
    assert "max.experimental" not in sys.modules
