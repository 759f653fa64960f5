"""Exception classes that several rooms raise, and the check of a value's kind."""

from __future__ import annotations


class ShardingError(RuntimeError):
    """The placements of some operands do not fit what is asked of them.

    Source: max.experimental.sharding.ShardingError.

    >>> issubclass(ShardingError, RuntimeError)
    True
    """


class ConversionError(Exception):
    """A spec of axis names contradicts itself.

    Source: max.experimental.sharding.ConversionError.

    >>> issubclass(ConversionError, ValueError)
    False
    """


def check_type(value: object, kind: type, must: str, remedy: str) -> None:
    """Raises unless a value is of a kind.

    Args:
        value: What the user passed.
        kind: The class that it must belong to.
        must: Who asks for what: ``"f: x must be an int"``.
        remedy: What to do instead, as a sentence.

    Raises:
        TypeError: ``value`` is of another kind.

    >>> check_type(2, str, "f: x must be a str", "Call str().")
    Traceback (most recent call last):
    TypeError: f: x must be a str, got 2 of type int. Call str().
    """
    if not isinstance(value, kind):
        raise TypeError(
            f"{must}, got {value!r} of type {type(value).__name__}. {remedy}"
        )
