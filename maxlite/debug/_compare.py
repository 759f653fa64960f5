"""One function in every way that it can run, and where the ways differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maxlite.compilation import compile
from maxlite.functional import lazy
from maxlite.sharding import ShardingError, auto_reshard
from maxlite.tensor._tensor import Tensor
from maxlite.tree import flatten, unflatten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True)
class Comparison:
    """What :func:`compare` found; true if all ways agree.

    Attributes:
        differences: One sentence each: which way, which result, and how it differs.
        ways: The ways that ran.
        values: The results of the eager run, as they were returned.
    """

    differences: tuple[str, ...]
    ways: tuple[str, ...]
    values: Any

    def __bool__(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        ways = ", ".join(self.ways)
        if not self.differences:
            return f"all ways agree: {ways}"
        return "\n".join([f"compared: {ways}", *self.differences])


def compare(
    fn: Callable[..., Any],
    *args: Any,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    **kwargs: Any,
) -> Comparison:
    """Runs a function eagerly, lazily, compiled, and without a mesh, and compares.

    Args:
        fn: Takes and gives trees of tensors and statics. It is called once for each
            way and must not write to its arguments.
        *args: Its arguments.
        rtol: How far values may differ, relative to their size; eager code rounds each
            op, a compiled program may not.
        atol: How far they may differ besides.
        **kwargs: Its arguments by name.

    Returns:
        The differences in structure, dtype, shape, placement and value from the eager
        run. Without a mesh, placements are not compared, and moves are allowed.

    Raises:
        Exception: What the eager run raises. What another way raises is a difference.

    Source: ours.

    >>> from maxlite.tensor import Tensor
    >>> print(compare(lambda x: x * 2, Tensor([1.0])))
    all ways agree: eager, lazy, compiled
    """
    eager = fn(*args, **kwargs)
    want, want_tree = flatten(eager, leaf=Tensor)
    tensors, tree = flatten((args, kwargs), leaf=Tensor)
    ways: dict[str, Callable[[], Any]] = {
        "lazy": lambda: _lazily(fn, args, kwargs),
        "compiled": lambda: _compiled(fn, args, kwargs),
    }
    if any(tensor.is_distributed for tensor in tensors):
        ways["unsharded"] = lambda: _unsharded(fn, tensors, tree)
    found: list[str] = []
    for way, run in ways.items():
        try:
            got, got_tree = flatten(run(), leaf=Tensor)
        except Exception as error:  # whatever it is, it is what the user looks for
            found.append(f"{way}: raised {type(error).__name__}: {error}")
            continue
        if got_tree != want_tree:
            found.append(f"{way}: gives {got_tree}, eager gives {want_tree}")
            continue
        places = way != "unsharded"
        found += _differences(way, got, want, want_tree.leaf_paths, places, rtol, atol)
    return Comparison(tuple(found), ("eager", *ways), eager)


def _lazily(fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    with lazy():
        return fn(*args, **kwargs)


def _compiled(fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    tensors, tree = flatten((args, kwargs), leaf=Tensor)
    layouts, named = unflatten(tree, [tensor.layout for tensor in tensors])
    return compile(fn)(*layouts, **named)(*args, **kwargs)


def _unsharded(fn: Callable[..., Any], tensors: Sequence[Tensor], tree: Any) -> Any:
    whole = [tensor.materialize() for tensor in tensors]
    args, kwargs = unflatten(tree, whole)
    with auto_reshard(mode="silent"):
        return fn(*args, **kwargs)


def _differences(
    way: str,
    got: Sequence[Tensor],
    want: Sequence[Tensor],
    paths: Sequence[str],
    places: bool,
    rtol: float,
    atol: float,
) -> list[str]:
    found: list[str] = []
    for path, one, other in zip(paths, got, want, strict=True):
        name = f"{way}: result{f' {path}' if path else ''}"
        facts: dict[str, tuple[Any, Any]] = {
            "dtype": (one.dtype, other.dtype),
            "shape": (list(map(str, one.shape)), list(map(str, other.shape))),
        }
        if places:
            facts["placement"] = (one.mapping, other.mapping)
        wrong = [
            f"{name} has {fact} {a}, eager has {b}"
            for fact, (a, b) in facts.items()
            if a != b
        ]
        found += wrong or _value_difference(name, one, other, rtol, atol)
    return found


def _value_difference(
    name: str, one: Tensor, other: Tensor, rtol: float, atol: float
) -> list[str]:
    try:
        a, b = (np.asarray(t.to_numpy(), np.float64) for t in (one, other))
    except ShardingError:  # Unknown shards have no value to compare
        return []
    close = np.isclose(a, b, rtol, atol, equal_nan=True)
    if close.all():
        return []
    index = tuple(int(i) for i in np.argwhere(~close)[0])
    return [
        f"{name} differs in {int((~close).sum())} of {a.size} elements, first at "
        f"{list(index)}: {a[index]!r}, eager {b[index]!r}"
    ]
