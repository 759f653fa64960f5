"""Dataclasses as nodes.

The children are the fields that are not ``None`` when the object is taken apart, so the
structure says which fields are there: two objects of one class have the same structure
if they have the same fields set. That is what an optional argument wants: a function
compiled without a mask is another program than the one with it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")


@overload
@dataclass_transform(field_specifiers=(dataclasses.field,))
def dataclass(cls: type[T], /) -> type[T]: ...
@overload
def dataclass(cls: None = None, /, **kwargs: Any) -> Callable[[type[T]], type[T]]: ...
def dataclass(
    cls: type[T] | None = None, /, **kwargs: Any
) -> type[T] | Callable[[type[T]], type[T]]:
    """Makes a class a dataclass whose objects are nodes.

    The children are positional: the fields that are not ``None``, in order. Rebuilding
    calls the constructor and passes ``None`` for every other field, whatever its
    default. A class that is a dataclass already, by inheritance too, is kept as it is
    and becomes a node: the fields that a subclass adds count only with
    ``@dataclasses.dataclass`` below this decorator.

    Args:
        cls: The class, when the decorator is used bare.
        kwargs: Arguments of :func:`dataclasses.dataclass`, such as ``frozen=True``.

    Raises:
        TypeError: There are arguments, and the class is a dataclass already. Or, when
            an object is rebuilt, the constructor does not take one of its fields.

    Source: max.tree.dataclass.

    >>> from maxlite import tree
    >>> @tree.dataclass
    ... class Batch:
    ...     tokens: list
    ...     mask: list | None = None
    >>> tree.map(lambda x: x + 1, Batch([1, 2]))
    Batch(tokens=[2, 3], mask=None)
    >>> tree.paths(Batch([1, 2], mask=[0]))
    {'0.0': 1, '0.1': 2, '1.0': 0}
    """
    if cls is None:
        return lambda decorated: _make_node(decorated, kwargs)
    return _make_node(cls, kwargs)


def _make_node(cls: type[T], kwargs: dict[str, Any]) -> type[T]:
    if not dataclasses.is_dataclass(cls):
        cls = dataclasses.dataclass(**kwargs)(cls)
    elif kwargs:
        options = ", ".join(sorted(kwargs))
        raise TypeError(
            f"dataclass: {cls.__name__} is a dataclass already, so there must be no "
            f"options, got {options}. Pass them to @dataclasses.dataclass below."
        )
    methods = {
        "__tree_flatten__": _flatten_fields,
        "__tree_unflatten__": classmethod(_rebuild),
    }
    for name, method in methods.items():
        setattr(cls, name, method)
    return cls


def _flatten_fields(self: Any) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    names = [field.name for field in dataclasses.fields(self)]
    present = tuple([name for name in names if getattr(self, name) is not None])
    return tuple([getattr(self, name) for name in present]), present


def _rebuild(cls: Any, meta: tuple[str, ...], children: Sequence[Any]) -> Any:
    fields = dataclasses.fields(cls)
    fixed = [field.name for field in fields if not field.init]
    if fixed:
        raise TypeError(
            f"unflatten: every field of {cls.__name__} must be in its constructor, got "
            f"{', '.join(fixed)} with init=False. Make it a property, or write "
            "__tree_flatten__ and __tree_unflatten__ for the class."
        )
    values = dict.fromkeys((field.name for field in fields), None)
    values.update(zip(meta, children, strict=True))
    return cls(**values)
