"""Branches and loops whose condition is a tensor.

Each is one row that holds its bodies as graphs. The functions run once, on traced
tensors, and become bodies of one program; they may use whatever is around them. XLA
decides at run time which branch runs and how often a loop goes round, so nothing is
read back in between.

Beyond the reference: bodies work on distributed tensors and keep their placements,
sizes may be symbolic, random numbers may be drawn, and a type that a branch must have
may be given as a TensorLayout.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from jax import lax

from maxlite._op_table import Op, front, register
from maxlite.dtype import DType
from maxlite.functional._dispatch import apply
from maxlite.functional._operands import as_tensor
from maxlite.functional._random import advanced, forked, seeds_of
from maxlite.graph import TensorType
from maxlite.graph._shape import compact_shape
from maxlite.realization_context._bodies import Bodies, settle
from maxlite.sharding import BufferLayout, ShardingError, TensorLayout
from maxlite.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import jax

    from maxlite.graph._node import Region
    from maxlite.graph._spec import Spec

    Facts = tuple[DType, Any, Any]


def _infer_cond(
    predicate: Spec, *operands: Spec, then_branch: Region, else_branch: Region
) -> list[Facts]:
    return [_facts(value.spec) for value in then_branch.graph.outputs]


def _facts(spec: Spec) -> Facts:
    return spec.dtype, spec.shape, spec.mapping


def _cond(
    predicate: jax.Array,
    *operands: jax.Array,
    then_branch: Callable[..., list[jax.Array]],
    else_branch: Callable[..., list[jax.Array]],
) -> Any:
    choose = cast("Callable[..., Any]", lax.cond)
    return choose(predicate, then_branch, else_branch, *operands)


_COND = register(
    Op(
        name="cond",
        fn=_cond,
        infer=_infer_cond,
        params=("then_branch", "else_branch"),
    )
)


def _infer_while(
    *operands: Spec, predicate: Region, body: Region, carried: int, draws: Any
) -> list[Facts]:
    first = len(body.graph.hidden)
    return [_facts(spec) for spec in operands[first : first + carried]]


def _while_loop(
    *operands: jax.Array,
    predicate: Callable[..., list[jax.Array]],
    body: Callable[..., list[jax.Array]],
    carried: int,
    draws: tuple[int, int] | None,
) -> Any:
    first = 0 if draws is None else 1
    seeds, values = operands[:first], operands[first : first + carried]
    taken = operands[first + carried :]

    def goes_on(state: tuple[jax.Array, ...]) -> jax.Array:
        return predicate(*state, *taken)[0]

    def step(state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        if draws is None:
            return tuple(body(*state, *taken))
        seed, *carry = state
        made = body(advanced(seed, draws[0]), *carry, *taken)
        return (advanced(seed, sum(draws)), *made)

    # How often it will draw is not known, so it draws from a sequence of its own.
    start = (*map(forked, seeds), *values)
    return lax.while_loop(goes_on, step, start)[first:]


_WHILE_LOOP = register(
    Op(
        name="while_loop",
        fn=_while_loop,
        infer=_infer_while,
        params=("predicate", "body", "carried", "draws"),
    )
)


@front
def cond(
    pred: Tensor,
    out_types: Iterable[TensorType | TensorLayout] | None,
    then_fn: Callable[[], Iterable[Tensor] | Tensor | None],
    else_fn: Callable[[], Iterable[Tensor] | Tensor | None],
) -> list[Tensor]:
    """Runs one of two functions, as a tensor says.

    Both functions are called once, on traced tensors, so that one program holds both
    branches. They may use tensors from around them, but not write to them.

    Args:
        pred: Rank 0, bool; on a mesh, replicated.
        out_types: What the branches return, in order: a TensorType for dtype and global
            shape, or a TensorLayout for the placements too. None when they return
            nothing.
        then_fn: Takes nothing; returns a tensor, several, or None.
        else_fn: The same for False; its results lie where those of ``then_fn`` do.

    Returns:
        One tensor per type.

    Raises:
        TypeError: ``pred`` is no Tensor, a branch returns something else than
            ``out_types`` or than the other branch, or it writes to what is not its own.
        ValueError: ``pred`` is not of rank 0 and bool.
        ShardingError: ``pred`` is not replicated.

    Source: max.experimental.functional.cond.

    >>> from maxlite.graph import DeviceRef
    >>> x = Tensor([1.0, 2.0])
    >>> pair = TensorType(DType.float32, [2], DeviceRef.CPU())
    >>> cond(x[0] > 0, [pair], lambda: x * 10, lambda: x)[0].to_numpy().tolist()
    [10.0, 20.0]
    """
    _check_predicate("cond", as_tensor("cond", pred, "pred"))
    _check_functions("cond", then_fn=then_fn, else_fn=else_fn)
    types = [_checked_type(kind) for kind in _listed_types(out_types)]
    bodies = Bodies("cond", ())
    made = bodies.record("then_fn", lambda: _results("then_fn", then_fn()))
    others = bodies.record("else_fn", lambda: _results("else_fn", else_fn()))
    _check_branches(types, made, others)
    if not types and not any(graph.has_effects for graph in bodies.graphs):
        return []
    draws = max(graph.draws for graph in bodies.graphs)
    operands = [pred, *seeds_of(bodies.graphs, draws), *bodies.taken]
    return _as_list(apply(_COND, operands, *bodies.regions()))


@front
def while_loop(
    initial_values: Iterable[Tensor] | Tensor,
    predicate: Callable[..., Tensor],
    body: Callable[..., Tensor | Iterable[Tensor]],
) -> list[Tensor]:
    """Repeats a function on its own results, as long as a condition holds.

    Both functions are called once, on traced tensors, and become the loop of one
    program. They may use tensors from around them, but not write to them.

    Args:
        initial_values: One tensor or several; what ``body`` gets first.
        predicate: From one argument per value to a bool of rank 0; on a mesh,
            replicated.
        body: From one argument per value to the next values, each of the dtype, shape
            and placements that it had.

    Returns:
        The last values; the initial ones if the condition never holds.

    Raises:
        TypeError: A value is no Tensor, ``body`` returns values of another dtype, shape
            or mapping, or one of the functions writes to what is not its own.
        ValueError: There are no values, or ``predicate`` returns something else than a
            bool of rank 0.
        ShardingError: The condition is not replicated.

    Source: max.experimental.functional.while_loop.

    >>> i, power = while_loop(
    ...     [Tensor(0.0), Tensor(1.0)],
    ...     lambda i, power: i < 5,
    ...     lambda i, power: [i + 1, power * 2],
    ... )
    >>> power.item()
    32.0
    """
    values = _listed("while_loop", initial_values, "initial_values")
    _check_functions("while_loop", predicate=predicate, body=body)
    if not values:
        raise ValueError(
            "while_loop: initial_values must hold at least one tensor, got none. Pass "
            "what the loop computes on."
        )
    for value in values:
        settle(value)
    specs = [value._spec for value in values]
    bodies = Bodies("while_loop", specs)
    bodies.record("predicate", lambda *args: [_condition(predicate(*args))])
    made = bodies.record(
        "body", lambda *args: _listed("while_loop", body(*args), "body's result")
    )
    _check_next(specs, made)
    graphs = bodies.graphs
    draws = tuple(graph.draws for graph in graphs)
    operands = [*seeds_of(graphs, min(sum(draws), 1)), *values, *bodies.taken]
    static = (len(values), draws if any(draws) else None)
    return _as_list(apply(_WHILE_LOOP, operands, *bodies.regions(), *static))


def _check_functions(who: str, **functions: Any) -> None:
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(
                f"{who}: {name} must be a function, got {type(function).__name__}. "
                "Write lambda: value for a constant."
            )


# What bodies return -------------------------------------------------------------------


def _results(name: str, result: Any) -> list[Tensor]:
    return [] if result is None else _listed("cond", result, f"the result of {name}")


def _listed(who: str, values: Any, name: str) -> list[Tensor]:
    """Lists tensors given as one or as several."""
    if isinstance(values, Tensor):
        return [values]
    if not isinstance(values, Iterable):
        raise TypeError(
            f"{who}: {name} must be a tensor or several, got {type(values).__name__}. "
            "Use Tensor(value) for a number."
        )
    items = list(cast("Iterable[Any]", values))
    return [as_tensor(who, item, f"{name}[{i}]") for i, item in enumerate(items)]


def _condition(result: Any) -> Tensor:
    found = as_tensor("while_loop", result, "predicate's result")
    _check_predicate("while_loop", found)
    return found


def _check_predicate(who: str, pred: Tensor) -> None:
    if pred.rank or pred.dtype is not DType.bool:
        raise ValueError(
            f"{who}: the condition must be a bool of rank 0, got {pred._spec!r}. "
            "Compare, and reduce to one element: F.sum(x) > 0, reshaped to []."
        )
    if pred.is_distributed and not pred.mapping.is_fully_replicated:
        raise ShardingError(
            f"{who}: the condition must be the same on every device, got "
            f"{pred.mapping!r}. Replicate it with to(mesh)."
        )


def _check_next(specs: Sequence[Spec], made: Sequence[Spec]) -> None:
    if len(made) != len(specs):
        raise TypeError(
            f"while_loop: body must return as many values as it takes, got {len(made)} "
            f"for {len(specs)}. Return a value for each argument."
        )
    for i, (before, after) in enumerate(zip(specs, made, strict=True)):
        if (before.dtype, before.shape) != (after.dtype, after.shape):
            raise TypeError(
                f"while_loop: value {i} must keep dtype and shape, got {after!r} for "
                f"{before!r}. Cast or reshape it in body."
            )
        if before.mapping != after.mapping:
            raise TypeError(
                f"while_loop: value {i} must keep its placement, got {after!r} for "
                f"{before!r}. Use to({before.mapping!r}) at the end of body, or "
                "to(mapping) on the initial value."
            )


def _listed_types(out_types: Any) -> list[Any]:
    if out_types is None:
        return []
    if not isinstance(out_types, Iterable):
        raise TypeError(
            "cond: out_types must be several types, got "
            f"{type(out_types).__name__}. Pass a list of them."
        )
    return list(cast("Iterable[Any]", out_types))


def _checked_type(kind: Any) -> TensorType | TensorLayout:
    if isinstance(kind, BufferLayout) or not isinstance(
        kind, (TensorType, TensorLayout)
    ):
        raise TypeError(
            "cond: out_types must be TensorTypes or TensorLayouts, got "
            f"{type(kind).__name__}. Use tensor.type or tensor.layout."
        )
    return kind


def _check_branches(
    types: Sequence[TensorType | TensorLayout],
    then_specs: Sequence[Spec],
    else_specs: Sequence[Spec],
) -> None:
    for name, specs in (("then_fn", then_specs), ("else_fn", else_specs)):
        if len(specs) != len(types):
            raise TypeError(
                f"cond: {name} must return one tensor per type, got {len(specs)} for "
                f"{len(types)} out_types. State a type for each result."
            )
        for i, (kind, spec) in enumerate(zip(types, specs, strict=True)):
            if not _is_of(kind, spec):
                raise TypeError(
                    f"cond: result {i} of {name} must be of its type, got {spec!r} for "
                    f"{kind}. State another type, or cast, reshape or move the result."
                )
    for i, (one, other) in enumerate(zip(then_specs, else_specs, strict=True)):
        if one.mapping != other.mapping:
            raise TypeError(
                f"cond: result {i} must lie alike in both branches, got {one!r} from "
                f"then_fn and {other!r} from else_fn. Use to({one.mapping!r}) in "
                "else_fn."
            )


def _is_of(kind: TensorType | TensorLayout, spec: Spec) -> bool:
    if (kind.dtype, compact_shape(kind.shape)) != (spec.dtype, spec.shape):
        return False
    if isinstance(kind, TensorLayout):
        return kind.mapping == spec.mapping
    first, *_ = spec.mapping.mesh.devices
    return spec.is_distributed or kind.device.to_device() == first


def _as_list(results: Any) -> list[Tensor]:
    return [results] if isinstance(results, Tensor) else list(results)
