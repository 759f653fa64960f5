"""Programs as files: written by one process, run by another without the source.

The file is a zip archive:

- ``maxlite.json``: the recorded program, op by op, with the trees of its arguments and
  results. This is what :func:`load` runs: it is specialised to the sizes of each call
  exactly as in the process that wrote it, so a loaded program answers as the original.
- ``arrays/0`` ...: raw bytes of captured tensors.
- ``module.mlir`` and ``module.bin``: the program's StableHLO as text, and as JAX's
  serialized export, for tools that know nothing of maxlite. They hold for sizes of 1
  and more. When JAX cannot export the program, ``module.txt`` says why.

Weights are not in the file; they are supplied by name when it is loaded.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxlite._backend import devices, put
from maxlite.compilation._json_program import (
    decode_graphs,
    decode_tree,
    encode_graphs,
    encode_tree,
)
from maxlite.compilation._stage import StagedGraph
from maxlite.dtype import DType
from maxlite.lowering import export_module

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    import jax

FORMAT = 1
"""Version of the file's form; a reader refuses newer ones."""

_PROGRAM = "maxlite.json"

_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    LookupError,
    AttributeError,
    AssertionError,
    TypeError,
    ValueError,
    OverflowError,
)
"""What reading a damaged file can raise, here and in the libraries below."""


def write_artifact(path: str | PathLike[str], staged: StagedGraph[Any, Any]) -> None:
    """Writes a staged program to a file.

    The file appears at once and whole, or not at all.

    Raises:
        NotImplementedError: A static cannot be written; nothing is left behind.
    """
    content = to_bytes(staged)
    target = Path(path)
    partial = target.with_name(target.name + ".partial")
    try:
        partial.write_bytes(content)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def to_bytes(staged: StagedGraph[Any, Any], *, module: bool = True) -> bytes:
    """Gives the content of a program's file.

    Args:
        staged: The program.
        module: Whether the StableHLO for other tools is put in.
    """
    graphs, arrays = encode_graphs(staged.graph)
    program = {
        "format": FORMAT,
        "graphs": graphs,
        "in_tree": encode_tree(staged.in_tree),
        "out_tree": encode_tree(staged.out_tree),
        "arrays": [[DType.from_jax(a.dtype).name, list(a.shape)] for a in arrays],
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(_PROGRAM, json.dumps(program))
        for i, array in enumerate(arrays):
            file.writestr(f"arrays/{i}", np.asarray(array).tobytes())
        for name, content in _modules(staged).items() if module else ():
            file.writestr(name, content)
    return buffer.getvalue()


def _modules(staged: StagedGraph[Any, Any]) -> dict[str, str | bytes]:
    try:
        exported = export_module(staged.graph)
    except Exception as error:
        return {"module.txt": f"JAX cannot export this program: {error}"}
    return {"module.mlir": str(staged), "module.bin": exported}


def read_artifact(path: str | PathLike[str]) -> StagedGraph[..., Any]:
    """Reads a program from a file.

    Raises:
        ValueError: The file is no program, is damaged, or is of a newer form.
        FileNotFoundError: There is no such file.
    """
    return from_bytes(Path(path).read_bytes(), str(path))


def from_bytes(content: bytes, name: str = "artifact") -> StagedGraph[..., Any]:
    """Reads a program from the content of its file.

    Raises:
        ValueError: The content is no program, is damaged, or is of a newer form.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            program = json.loads(file.read(_PROGRAM))
            blobs = [file.read(f"arrays/{i}") for i, _ in enumerate(program["arrays"])]
        if program["format"] > FORMAT:
            raise ValueError(f"it has form {program['format']}, newer than {FORMAT}")
        arrays = _read_arrays(program["arrays"], blobs)
        return StagedGraph.restored(
            decode_graphs(program["graphs"], arrays),
            decode_tree(program["in_tree"]),
            decode_tree(program["out_tree"], invent=True),
        )
    except _DAMAGE as error:
        raise ValueError(
            f"load: {name} must be a file that export_mef wrote, got {error}. Export "
            "the program again, or upgrade maxlite."
        ) from error


def _read_arrays(described: Sequence[Any], blobs: Sequence[bytes]) -> list[jax.Array]:
    target = devices("cpu")[0]
    arrays: list[jax.Array] = []
    for (dtype, shape), blob in zip(described, blobs, strict=True):
        flat = np.frombuffer(blob, DType[dtype].to_jax())
        arrays.append(put(flat.reshape(shape), target))
    return arrays
