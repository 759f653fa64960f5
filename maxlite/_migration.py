"""Runs an unmodified MAX script: in its process, ``max`` means maxlite.

Two ideas carry it:

- *Aliases, not copies.* A finder in front of ``sys.meta_path`` answers an import of
  ``max.X`` or ``max.experimental.X`` with the module object ``maxlite.X`` itself, so a
  class is the same class by whichever name a script or a library reaches it. Only the
  packages ``max`` and ``max.experimental`` are made up. An installed ``max`` is never
  looked at.
- *A plain refusal.* What maxlite lacks fails where it is imported, in words that name
  it, as an ImportError; reading it as an attribute is an AttributeError, so that
  ``hasattr`` keeps its meaning.

The script runs as ``__main__`` and as it would under plain Python: arguments,
``sys.path``, exit code and tracebacks. Child processes start without the finder.
"""

from __future__ import annotations

import dis
import importlib
import importlib.util
import inspect
import io
import os
import runpy
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

USAGE = """\
usage: python -m maxlite script.py [args]     run a MAX script on maxlite
       python -m maxlite -m module [args]     the same for a module, such as pytest
       python -m maxlite -c code [args]       the same for a line of code

The script is not changed: its imports of max.* are answered by maxlite.
"""

_MADE_UP = frozenset({"max", "max.experimental"})
_PREFIXES = ("max.experimental.", "max.")

# The reference has these twice, and maxlite has the experimental one.
_EXPERIMENTAL_WINS = frozenset({"max.nn", "max.support"})


def main(arguments: Sequence[str]) -> None:
    """Runs what the command line names, with ``max`` answered by maxlite.

    Args:
        arguments: The command line after ``python -m maxlite``.

    Raises:
        SystemExit: The script's own, or 2 when the command line names nothing to run.
    """
    match [*arguments]:
        case ["-h" | "--help", *_]:
            sys.stdout.write(USAGE)
        case ["-m", module, *rest]:
            _prepare(module, rest)
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", code, *rest]:
            _prepare("-c", rest, search=[""])
            _run(code, "<string>")
        case [script, *rest] if not script.startswith("-"):
            code = _read(script)
            _prepare(script, rest, search=[os.path.dirname(os.path.realpath(script))])
            _run(code, os.path.abspath(script))
        case _:
            sys.stderr.write(USAGE)
            raise SystemExit(2)


def install() -> None:
    """Makes ``max`` mean maxlite for the rest of this process."""
    for name in [name for name in sys.modules if _is_max(name)]:
        del sys.modules[name]
    sys.meta_path.insert(0, _MaxFinder())


class _MaxFinder(MetaPathFinder, Loader):
    """Finds ``max`` and all below it; loading hands out maxlite's own modules."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Answers for every name under ``max``, with a refusal if maxlite lacks it."""
        if not _is_max(fullname):
            return None
        if fullname not in _MADE_UP and not _is_known(fullname):
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: {_reason(fullname)}", name=fullname
            )
        # As a package, so that a missing module below it reaches this finder too.
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Gives maxlite's module, or an empty package for the two made-up names."""
        if spec.name in _MADE_UP:
            return ModuleType(spec.name, "Stands for the package of the reference.")
        module = importlib.import_module(_maxlite_name(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Gives the module its own spec back and lets it explain what it lacks."""
        spec = module.__spec__
        assert spec is not None
        if spec.name not in _MADE_UP:
            module.__spec__ = spec.loader_state
        names = vars(module)
        names["__getattr__"] = _explaining(spec.name, module, names.get("__getattr__"))


def _is_max(name: str) -> bool:
    return name == "max" or name.startswith("max.")


def _maxlite_name(name: str) -> str:
    prefix = next(prefix for prefix in _PREFIXES if name.startswith(prefix))
    return f"maxlite.{name.removeprefix(prefix)}"


def _is_known(name: str) -> bool:
    private = any(part.startswith("_") for part in name.split("."))
    if private or name in _EXPERIMENTAL_WINS:
        return False
    return importlib.util.find_spec(_maxlite_name(name)) is not None


def _reason(name: str) -> str:
    if name in _EXPERIMENTAL_WINS:
        wins = name.replace("max.", "max.experimental.", 1)
        if _is_known(wins):
            return f"maxlite lacks it, it has {wins}. Import that one."
    return "maxlite lacks it."


def _explaining(
    package: str, module: ModuleType, own: Callable[[str], object] | None
) -> Callable[[str], object]:
    """Builds the ``__getattr__`` of a module that the script knows as ``package``."""

    def look_up(name: str) -> object:
        if own is not None:
            try:
                return own(name)
            except AttributeError:
                pass
        if package in _MADE_UP and not name.startswith("__"):
            # The reference's modules import each other, so that scripts get away with
            # `import max.graph` followed by `max.driver.CPU()`.
            try:
                return importlib.import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{package}.{name}":
                    raise
        frame = inspect.currentframe()
        _refuse(package, module, name, frame.f_back if frame else None)

    return look_up


def _refuse(
    package: str, module: ModuleType, name: str, caller: FrameType | None
) -> NoReturn:
    reason = _reason(f"{package}.{name}")
    if caller is not None and _imports(caller):
        raise ImportError(
            f"cannot import name {name!r} from {package!r}: {reason}", name=package
        )
    raise AttributeError(
        f"module {package!r} has no attribute {name!r}: {reason}",
        name=name,
        obj=module,
    )


def _imports(caller: FrameType) -> bool:
    """Tells ``from max.graph import X`` from ``max.graph.X``.

    Python turns an AttributeError of the first into an ImportError with a text of its
    own, and an ImportError of the second would break ``hasattr``.
    """
    instruction = caller.f_code.co_code[caller.f_lasti]
    return dis.opname[instruction] == "IMPORT_FROM"


def _read(script: str) -> bytes:
    try:
        with io.open_code(os.path.abspath(script)) as file:
            return file.read()
    except OSError as error:
        sys.stderr.write(f"maxlite: can't open file {script!r}: {error.strerror}\n")
        raise SystemExit(2) from None


def _prepare(name: str, rest: Sequence[str], search: Sequence[str] = ()) -> None:
    """Sets what a script sees of its process as ``python name *rest`` would.

    Args:
        name: Becomes ``sys.argv[0]``.
        rest: The other arguments.
        search: What replaces the working directory at the front of ``sys.path``.
    """
    sys.argv = [name, *rest]
    if search and not sys.flags.safe_path:
        sys.path[:1] = search
    sys.excepthook = _show
    install()


def _run(code: str | bytes, filename: str) -> None:
    main_module = ModuleType("__main__")
    if filename != "<string>":
        main_module.__file__ = filename
    sys.modules["__main__"] = main_module
    exec(compile(code, filename, "exec", dont_inherit=True), vars(main_module))


def _show(
    kind: type[BaseException],
    error: BaseException,
    traceback: TracebackType | None,
) -> None:
    """Prints an uncaught error as plain Python would, without the frames of this door.

    Only the printing changes: exit codes and signals are left to Python.
    """
    told: set[int] = set()
    chain: list[BaseException | None] = [error]
    while chain:
        link = chain.pop()
        if link is None or id(link) in told:
            continue
        told.add(id(link))
        link.__traceback__ = _without_own_frames(link.__traceback__)
        chain += [link.__cause__, link.__context__]
    sys.__excepthook__(kind, error, error.__traceback__)


def _without_own_frames(traceback: TracebackType | None) -> TracebackType | None:
    own = {__file__, os.path.join(os.path.dirname(__file__), "__main__.py")}
    own |= {runpy.__file__, "<frozen runpy>"}
    kept: list[TracebackType] = []
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename not in own:
            kept.append(traceback)
        traceback = traceback.tb_next
    shown = None
    for link in reversed(kept):
        link.tb_next = shown
        shown = link
    return shown
