"""Functions of the user that ops call by name.

The reference compiles custom kernels from packages of Mojo source. Here a kernel is a
function on JAX arrays, Pallas included, that is declared under the name by which
programs call it. A program holds the declaration that it was recorded with, so that a
name may be given to another function at any time; a file holds the name alone.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from maxlite.dtype import DType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from maxlite.sharding._assignment import Rule

    Extensions = str | Path | Sequence[str | Path] | None

Parameter = bool | int | float | str | DType
"""What a parameter of a custom function may be."""

Static = tuple[str, str, bool | int | str | DType]
"""A parameter as it is recorded: name, kind, and value; a float as its hex digits.

So no two parameters are equal that a function may tell apart, such as 1 and True or
0.0 and -0.0, and NaN is equal to itself.
"""

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False, slots=True)
class Declaration:
    """A function under the name that programs call it by; compared by identity.

    Attributes:
        name: What it is called.
        fn: ``fn(*arrays, **parameters)`` on JAX arrays, pure.
        inplace: Positions of the operands whose new values it returns first.
        rule: Placement rows; None when every operand must be whole.
    """

    name: str
    fn: Callable[..., Any]
    inplace: tuple[int, ...] = ()
    rule: Rule | None = None


_declared: dict[str, Declaration] = {}


def declare_function(
    name: str,
    fn: Function | None,
    inplace: Iterable[int],
    rule: Rule | None,
) -> Function | Callable[[Function], Function]:
    """Declares a function, or makes a decorator; see ``maxlite.custom.declare``."""
    _check_name(name)
    positions = _checked_positions(name, inplace)
    if rule is not None:
        _check_callable(name, "rule", rule)
    if fn is None:
        return lambda fn: _declare(name, fn, positions, rule)
    return _declare(name, fn, positions, rule)


def check_no_extensions(who: str, name: str, extensions: Extensions) -> None:
    """Refuses packages of Mojo kernels.

    Raises:
        NotImplementedError: There is one.
    """
    if extensions:
        raise NotImplementedError(
            f"{who}: packages of Mojo kernels cannot be loaded, got custom_extensions "
            f"for {name!r}. Write the kernel in JAX or Pallas, declare it with "
            "maxlite.custom.declare, and leave custom_extensions out."
        )


def declared(who: str, name: str) -> Declaration:
    """Finds a declaration by its name.

    Raises:
        TypeError: The name is no string.
        ValueError: There is none; names that look like it are listed.
    """
    if not isinstance(name, str):
        raise TypeError(f"{who}: name must be a string, got {type(name).__name__}.")
    found = _declared.get(name)
    if found is None:
        near = difflib.get_close_matches(name, _declared)
        listed = f" Declared names like it: {', '.join(near)}." if near else ""
        raise ValueError(
            f"{who}: name must be that of a declared function, got {name!r}. Declare "
            f"it with maxlite.custom.declare, or import the module that does.{listed}"
        )
    return found


def restored(name: str) -> Declaration:
    """Finds the declaration that a file names.

    Raises:
        ImportError: There is none in this process.
    """
    if name not in _declared:
        raise ImportError(
            f"load: the program calls the custom function {name!r}, which this process "
            "has not declared. Import the module that declares it first."
        )
    return _declared[name]


def as_statics(
    who: str, parameters: Mapping[str, Parameter] | None
) -> tuple[Static, ...]:
    """Makes parameters hashable, in the order of their names.

    Raises:
        TypeError: A name is no string, or a value of no kind that is allowed.
    """
    given = cast("Mapping[Any, Any]", parameters or {})
    if not isinstance(given, Mapping):
        raise TypeError(
            f"{who}: parameters must be a mapping, got {type(parameters).__name__}. "
            'Pass {"name": value}.'
        )
    for name in given:
        if not isinstance(name, str):
            raise TypeError(
                f"{who}: names of parameters must be strings, got "
                f"{type(name).__name__}. They are the keywords of the function."
            )
    return tuple(_as_static(who, name, given[name]) for name in sorted(given))


def as_keywords(statics: Iterable[Static]) -> dict[str, Parameter]:
    """Gives parameters back as they were passed.

    >>> as_keywords([("alpha", "float", "0x1.8000000000000p+0"), ("n", "int", 2)])
    {'alpha': 1.5, 'n': 2}
    """
    return {
        name: float.fromhex(str(value)) if kind == "float" else value
        for name, kind, value in statics
    }


def _as_static(who: str, name: str, value: object) -> Static:
    if isinstance(value, (bool, DType)):
        return name, type(value).__name__, value
    if isinstance(value, int):
        return name, "int", int(value)
    if isinstance(value, float):
        return name, "float", float(value).hex()
    if isinstance(value, str):
        return name, "str", str(value)
    raise TypeError(
        f"{who}: parameter {name!r} must be a bool, int, float, str or DType, got "
        f"{type(value).__name__}. Pass arrays among the values."
    )


def _declare(
    name: str, fn: Function, inplace: tuple[int, ...], rule: Rule | None
) -> Function:
    _check_callable(name, "fn", fn)
    known = _declared.get(name)
    # Declared again as it was it stays the same, so that what was compiled serves.
    if (
        known is None
        or known.fn is not fn
        or known.rule is not rule
        or known.inplace != inplace
    ):
        _declared[name] = Declaration(name, fn, inplace, rule)
    return fn


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(
            f"declare: name must be a string, got {type(name).__name__}. Use "
            '@declare("name").'
        )
    if not name:
        raise ValueError("declare: name must not be empty. Pass the name to call by.")


def _check_callable(name: str, role: str, value: object) -> None:
    if not callable(value):
        raise TypeError(
            f"declare: {role} of {name!r} must be a function, got "
            f"{type(value).__name__}."
        )


def _checked_positions(name: str, inplace: Iterable[int]) -> tuple[int, ...]:
    if not isinstance(inplace, Iterable):
        raise TypeError(
            f"declare: inplace of {name!r} must list positions, got "
            f"{type(inplace).__name__}. Pass (0,), say."
        )
    positions = tuple(inplace)
    for position in positions:
        if isinstance(position, bool) or not isinstance(position, int):
            raise TypeError(
                f"declare: inplace of {name!r} must list ints, got "
                f"{type(position).__name__}. Pass (0,), say."
            )
    if min(positions, default=0) < 0 or len(set(positions)) < len(positions):
        raise ValueError(
            f"declare: inplace of {name!r} must list different positions from 0 on, "
            f"got {positions}. Count the operands from the left."
        )
    return positions
