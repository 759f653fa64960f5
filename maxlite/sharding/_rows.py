"""Ready-made placement rules for ops that users add.

Such a rule is called with the op's own arguments, each tensor replaced by its layout,
and returns rows with one placement per layout, in order of appearance.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from maxlite._errors import ShardingError
from maxlite.sharding._assignment import AxisAssignment
from maxlite.sharding._layout import TensorLayout
from maxlite.sharding._placements import Replicated

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxlite.sharding._placements import Placement


def replicated_rows(*args: Any, output_count: int = 1) -> list[AxisAssignment]:
    """Lists the one row of an op that needs every operand whole.

    Args:
        *args: The op's arguments; layouts count, also inside lists, tuples and dicts.
        output_count: How many results the op has.

    Raises:
        ValueError: No argument holds a layout.

    Source: max.experimental.sharding.replicated_rows.

    >>> from maxlite.driver import CPU
    >>> from maxlite.dtype import DType
    >>> replicated_rows(TensorLayout(DType.float32, [4], CPU()), 2.0)[0].needed_inputs
    (Replicated(),)
    """
    operands = len(list(_layouts(args)))
    if not operands:
        raise ValueError(
            "replicated_rows: the arguments must hold at least one layout, got "
            f"{list(args)}. Pass the arguments that a rule gets."
        )
    whole = Replicated()
    return [AxisAssignment((whole,) * operands, (whole,) * output_count)]


def match_operand_placement(
    graph_op: Callable[..., Any], name: str, *, output_count: int = 1
) -> Callable[..., list[AxisAssignment]]:
    """Makes a rule under which an op runs as its operands lie.

    Args:
        graph_op: The op; its signature says which argument is which.
        name: The parameter whose placement the results take.
        output_count: How many results the op has.

    Returns:
        A rule with a row per mesh axis: every operand keeps its placement. It raises
        ValueError when ``graph_op`` has no parameter ``name``, and ShardingError when
        the parameter holds no tensor.

    Source: max.experimental.sharding.match_operand_placement.

    >>> from maxlite.driver import CPU
    >>> from maxlite.dtype import DType
    >>> layout = TensorLayout(DType.float32, [4], CPU())
    >>> rule = match_operand_placement(lambda x, y: x, "x", output_count=2)
    >>> rule(layout, layout)[0].outputs
    (Replicated(), Replicated())
    """
    op = getattr(graph_op, "__name__", repr(graph_op))

    def rule(*args: Any, **kwargs: Any) -> list[AxisAssignment]:
        signature = inspect.signature(graph_op)
        if name not in signature.parameters:
            raise ValueError(
                f"match_operand_placement: name must be a parameter of {op!r}, "
                f"got {name!r}. Pass one of {list(signature.parameters)}."
            )
        given = signature.bind(*args, **kwargs).arguments
        model = given.get(name)
        if not isinstance(model, TensorLayout):
            raise ShardingError(
                f"match_operand_placement: parameter {name!r} of {op!r} must hold a "
                f"tensor, got {model!r}. Name a tensor parameter."
            )
        layouts = list(_layouts(given))
        wide = [layout for layout in layouts if not layout.mesh.is_single]
        ndim = (wide or layouts)[0].mesh.ndim
        rows = [
            AxisAssignment(
                tuple(_placement(layout, axis) for layout in layouts),
                (_placement(model, axis),) * output_count,
            )
            for axis in range(ndim)
        ]
        return list(dict.fromkeys(rows))

    return rule


def _layouts(value: object) -> Iterator[TensorLayout]:
    if isinstance(value, TensorLayout):
        yield value
    elif isinstance(value, Mapping):
        yield from _layouts(list(cast("Mapping[Any, object]", value).values()))
    elif isinstance(value, (list, tuple)):
        for item in cast("list[object]", value):
            yield from _layouts(item)


def _placement(layout: TensorLayout, axis: int) -> Placement:
    return Replicated() if layout.mesh.is_single else layout.placements[axis]
