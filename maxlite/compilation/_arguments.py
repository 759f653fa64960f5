"""Checking the arguments of a call, and binding symbols to the sizes that came.

What is checked depends only on the specs of the arguments, so it is done once per
combination of specs; a later call with the same ones only looks the outcome up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maxlite.compilation._signature import expected_text
from maxlite.driver import Buffer
from maxlite.graph import Dim
from maxlite.graph._shape import symbols_of
from maxlite.lowering import complete_sizes
from maxlite.tensor._tensor import Tensor, from_jax

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite.graph import Graph
    from maxlite.graph._spec import Spec


@dataclass(frozen=True, slots=True)
class ArgumentChecker:
    """Checks argument leaves against the parameters of a program.

    Attributes:
        graph: The program.
        names: What errors call each leaf.
    """

    graph: Graph
    names: Sequence[str]

    @property
    def symbols(self) -> list[str]:
        """Names of all symbols in the parameters, in order of appearance."""
        shapes = [value.spec.shape for value in self.graph.parameters]
        return symbols_of(dim for shape in shapes for dim in shape)

    def as_tensors(self, leaves: Sequence[Any]) -> list[Tensor]:
        """Coerces the leaves to real tensors.

        Raises:
            TypeError: A leaf is neither a Tensor nor a Buffer.
        """
        return [
            self._as_tensor(name, value.spec, leaf)
            for name, value, leaf in zip(
                self.names, self.graph.parameters, leaves, strict=True
            )
        ]

    def _as_tensor(self, name: str, spec: Spec, leaf: Any) -> Tensor:
        if isinstance(leaf, Buffer):
            return from_jax(leaf.to_jax())
        if isinstance(leaf, Tensor):
            return leaf
        raise TypeError(
            f"{self.graph.name}: {name}: expected {expected_text(spec)}, got "
            f"{type(leaf).__name__}. Use Tensor(value, dtype={spec.dtype})."
        )

    def bind(self, specs: Sequence[Spec]) -> Mapping[str, int | Dim]:
        """Checks dtype, rank, sizes and placement, and binds the symbols.

        Args:
            specs: One per leaf.

        Returns:
            The size of every symbol, those of the program's own rebinds included; a
            Dim where the call is traced itself.

        Raises:
            ValueError: The first leaf that does not fit; names it, what was expected
                and what came.
        """
        sizes: dict[str, int | Dim] = {}
        owners: dict[str, str] = {}
        for name, value, got in zip(
            self.names, self.graph.parameters, specs, strict=True
        ):
            expected = value.spec
            fits = (
                got.dtype is expected.dtype
                and got.rank == expected.rank
                and got.mapping == expected.mapping
            )
            if not fits:
                raise self._mismatch(name, expected, got)
            for want, have in zip(expected.shape, got.shape, strict=True):
                if not isinstance(want, Dim):
                    if want != have:
                        raise self._mismatch(name, expected, got)
                    continue
                symbol = str(want)
                if sizes.setdefault(symbol, have) != have:
                    raise ValueError(
                        f"{self.graph.name}: {name}: symbol {symbol!r} must have one "
                        f"size, got {have} here and {sizes[symbol]} in "
                        f"{owners[symbol]}. Give equal sizes, or other names."
                    )
                owners.setdefault(symbol, name)
        return complete_sizes(self.graph, sizes)

    def _mismatch(self, name: str, expected: Spec, got: Spec) -> ValueError:
        return ValueError(
            f"{self.graph.name}: {name}: expected {expected_text(expected)}, got "
            f"{expected_text(got)}. {_way_out(expected, got)}"
        )


def _way_out(expected: Spec, got: Spec) -> str:
    if got.dtype is not expected.dtype:
        return f"Use .cast({expected.dtype})."
    if got.mapping != expected.mapping:
        return "Move it with .to(...) first; a call never reshards."
    return "Reshape it, or stage with a name for the dim that varies."


_MISMATCH = re.compile(r"'(?P<kind>[01])(?:\.(?P<path>[^']*))?': (?P<what>.*)", re.S)


def structure_text(found: str) -> str:
    """Says in terms of arguments what a tree of ``(args, kwargs)`` says of its paths.

    >>> structure_text("'1.gain': expected 3.0, got 4.0")
    'argument gain: expected 3.0, got 4.0'
    >>> structure_text("'0': expected keys [0], got []")
    'positional arguments: expected keys [0], got []'
    """
    match = _MISMATCH.fullmatch(found)
    if match is None:
        return found
    if match["path"]:
        return f"argument {match['path']}: {match['what']}"
    kind = "keyword" if match["kind"] == "1" else "positional"
    return f"{kind} arguments: {match['what']}"


def check_shared(graph: Graph, names: Sequence[str], tensors: Sequence[Tensor]) -> None:
    """Refuses one tensor for two arguments that the program may write to.

    Raises:
        ValueError: Names both arguments.
    """
    seen: dict[int, int] = {}
    for i, value in enumerate(graph.parameters):
        if not value.is_mutable:
            continue
        first = seen.setdefault(id(tensors[i]), i)
        if first != i:
            raise ValueError(
                f"{graph.name}: {names[first]} and {names[i]} are one tensor, but both "
                "are staged by BufferLayout and may be written to. Pass a copy for "
                "one: copy.copy(tensor)."
            )
