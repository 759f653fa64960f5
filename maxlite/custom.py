"""Functions of your own on JAX arrays, as ops: by name, or with a signature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from maxlite._custom_registry import (
    Function,
    Parameter,
    check_no_extensions,
    declare_function,
)
from maxlite.functional._custom_op import CustomOp
from maxlite.functional._custom_templates import (
    DTypeVar,
    Param,
    Symbol,
    Symbols,
    TemplateType,
)

if TYPE_CHECKING:
    from pathlib import Path

    from maxlite.sharding._assignment import Rule

__all__ = [
    "CustomOp",
    "DTypeVar",
    "Param",
    "Symbol",
    "Symbols",
    "TemplateType",
    "declare",
]


@overload
def declare(
    name: str, fn: Function, *, inplace: Iterable[int] = (), rule: Rule | None = None
) -> Function: ...


@overload
def declare(
    name: str, fn: None = None, *, inplace: Iterable[int] = (), rule: Rule | None = None
) -> Callable[[Function], Function]: ...


@overload
def declare(
    name: str,
    *,
    inputs: Mapping[str, TemplateType],
    outputs: Sequence[TemplateType],
    parameters: Mapping[str, Parameter | None] | None = None,
    custom_extensions: Sequence[Path | str] = (),
) -> CustomOp: ...


def declare(
    name: str,
    fn: Callable[..., Any] | None = None,
    *,
    inplace: Iterable[int] = (),
    rule: Rule | None = None,
    inputs: Mapping[str, TemplateType] | None = None,
    outputs: Sequence[TemplateType] | None = None,
    parameters: Mapping[str, Parameter | None] | None = None,
    custom_extensions: Sequence[Path | str] = (),
) -> Callable[..., Any]:
    """Declares a function by name, or the signature of one that has been.

    **A function** is what ``F.custom`` and ``F.inplace_custom`` call by name. It may be
    declared by a call, or by a decorator without ``fn``. A name that is declared again
    means the new function from then on; programs that were recorded before keep theirs.

    **A signature**, ``inputs`` and ``outputs``, makes a :class:`CustomOp` of a declared
    function: it is called like a function of tensors, checks them, and knows what
    comes of them.

    Args:
        name: What the function is called.
        fn: ``fn(*arrays, **parameters)``: takes JAX arrays, and parameters as keywords,
            which are static. It returns one array or several and must be pure: it is
            traced by JAX, with 64-bit types on.
        inplace: Positions of the operands that are written. ``fn`` returns their new
            values, of the same dtype and shape, in this order and before its results.
        rule: ``rule(operands, parameters, n)``: placement rows for a mesh axis of size
            ``n``, written operands among the results as well. Each device runs ``fn``
            on its shards as a row says. None: every operand must be whole.
        inputs: What the function takes, in order, by names that are keywords of the op.
            Sizes are numbers, Symbols, or computed from Params that have values.
        outputs: What it gives. Sizes may be computed from Symbols and Params; a Symbol
            that no input has is the size that the function gives.
        parameters: Keywords of the function; None for a value that ``op[{...}]`` brings
            later.
        custom_extensions: Nothing; the reference's packages of Mojo kernels.

    Returns:
        ``fn``, unchanged; or the op.

    Raises:
        TypeError: An argument is of another kind, or of the other form; a template has
            a plain name as a size, an input one that no operand can say, an output the
            dtype variable of no input; a Param is no int.
        ValueError: ``name`` is empty, or a position is negative or named twice; there
            are no inputs or no outputs; the function is not declared, or writes.
        NotImplementedError: There are ``custom_extensions``.

    Source: max.experimental.custom.declare; functions stand for its Mojo packages.

    >>> from maxlite import functional as F
    >>> from maxlite.driver import CPU
    >>> from maxlite.tensor import Tensor
    >>> @declare("plus")
    ... def plus(x, *, amount):
    ...     return x + amount
    >>> x = Tensor([1.0, 2.0])
    >>> (y,) = F.custom("plus", CPU(), [x], [x.type], parameters={"amount": 3})
    >>> y.to_numpy().tolist()
    [4.0, 5.0]

    >>> same = TemplateType(DTypeVar("T"), Symbols("n"))
    >>> op = declare(
    ...     "plus", inputs={"x": same}, outputs=[same], parameters={"amount": 3}
    ... )
    >>> op
    <CustomOp plus[amount=3](x: T[n]) -> T[n]>
    >>> op(x).to_numpy().tolist(), op[{"amount": 10}](x=x).to_numpy().tolist()
    ([4.0, 5.0], [11.0, 12.0])
    """
    if inputs is None and outputs is None:
        if parameters is not None or custom_extensions:
            raise TypeError(
                f"declare: parameters and custom_extensions of {name!r} must come with "
                "a signature, got neither inputs nor outputs. Say both, or pass them "
                "to F.custom."
            )
        return declare_function(name, fn, inplace, rule)
    if inputs is None or outputs is None:
        missing = "inputs" if inputs is None else "outputs"
        raise TypeError(
            f"declare: a signature of {name!r} must have inputs and outputs, got no "
            f"{missing}. Say both."
        )
    if fn is not None or rule is not None or inplace != ():
        raise TypeError(
            f"declare: {name!r} must be declared as a function or with a signature, "
            "got arguments of both. Declare the function, and then its signature."
        )
    check_no_extensions("declare", name, custom_extensions)
    return CustomOp(name, inputs, outputs, parameters)
