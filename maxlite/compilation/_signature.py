"""The arguments of a staged function: layouts, statics, and names for both.

``(args, kwargs)`` is one tree. Its leaves are the layouts, which become the inputs of
the program; everything else that is no container is a static, kept by value in the
tree's definition and compared at every call by :func:`maxlite.tree.same_static`: the
same object, or equal by ``==``, where NaN equals NaN and arrays are equal element by
element. What defines no ``__eq__`` is thus compared by identity.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from maxlite.graph import AlgebraicDim, BufferType, TensorType
from maxlite.graph._shape import compact_shape
from maxlite.graph._spec import Spec, spec
from maxlite.sharding import BufferLayout, TensorLayout
from maxlite.sharding._layout import as_layout
from maxlite.tensor._defaults import plain
from maxlite.tensor._tensor import Tensor
from maxlite.tree import TreeDef, flatten, paths
from maxlite.tree import map as map_tree

if TYPE_CHECKING:
    from collections.abc import Callable


def flatten_layouts(
    who: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[TensorLayout], TreeDef]:
    """Flattens the arguments that a function is staged with.

    Args:
        who: Name of the function, for errors.
        args: Positional arguments: trees of layouts, types and statics.
        kwargs: Keyword arguments, likewise.

    Returns:
        The layouts, positional ones first, then keywords by name; and the tree.

    Raises:
        TypeError: A Tensor stands where a layout belongs.
        ValueError: An argument's dim is an expression, which no call could bind.
    """
    arguments = map_tree(as_layout, (args, kwargs), leaf=(TensorType, BufferType))
    for path in paths(arguments, leaf=Tensor):
        raise TypeError(
            f"{who}: {argument_name(path)} must be a layout, got a Tensor. Pass its "
            ".layout, and the tensor itself when the compiled function is called."
        )
    layouts, treedef = flatten(arguments, leaf=TensorLayout)
    for path, layout in zip(treedef.leaf_paths, layouts, strict=True):
        _check_dims(who, path, layout)
    return layouts, treedef


def argument_name(path: str) -> str:
    """Names an argument as errors do: ``argument 0.weights.2``.

    The first segment of a tree path only says positional or keyword.

    >>> argument_name("0.1.weights"), argument_name("1.gain")
    ('argument 1.weights', 'argument gain')
    """
    return f"argument {path.partition('.')[2]}"


def layout_spec(layout: TensorLayout) -> Spec:
    """Gives the spec of a layout."""
    return spec(layout.dtype, compact_shape(layout.shape), plain(layout.mapping))


def is_mutable(layout: TensorLayout) -> bool:
    """Whether a program may write to the argument with this layout."""
    return isinstance(layout, BufferLayout)


def spec_layout(described: Spec, *, mutable: bool = False) -> TensorLayout:
    """Gives the layout of a spec, one that may be written to when ``mutable``."""
    kind = BufferLayout if mutable else TensorLayout
    return kind(described.dtype, described.shape, described.mapping)


def graph_name(fn: Callable[..., Any], name: str | None) -> str:
    """Names the graph of a function: what was asked for, or the function's own name.

    >>> graph_name(lambda x: x, None), graph_name(len, "size")
    ('lambda', 'size')
    """
    if name:
        return name
    if isinstance(fn, functools.partial):
        return "partial"
    own = getattr(fn, "__name__", None) or type(fn).__name__
    return own.strip("<>")


def expected_text(described: Spec) -> str:
    """Says what an argument must be, as errors do."""
    sizes = ", ".join(map(str, described.shape))
    where = (
        repr(described.mapping)
        if described.is_distributed
        else str(described.mapping.mesh.devices[0])
    )
    return f"{described.dtype} shape [{sizes}] on {where}"


def _check_dims(who: str, path: str, layout: TensorLayout) -> None:
    for axis, dim in enumerate(layout.shape):
        if isinstance(dim, AlgebraicDim):
            raise ValueError(
                f"{who}: a dim of {argument_name(path)} must be a number or a name, "
                f"got {dim} at axis {axis}. Give it a name of its own and rebind it "
                "inside the function."
            )
