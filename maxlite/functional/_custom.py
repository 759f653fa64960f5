"""Functions of the user as ops: on JAX arrays, declared and called by name.

A call is one op like any other: it runs at once or is recorded, is compiled with what
stands around it, and lies on a mesh as its declaration says. What a function gives is
compared with what the call states before anything is recorded; of named sizes, when
the program is specialised to numbers.

Beyond the reference: ``inplace_custom`` writes to tensors outside of programs as well,
and a name in ``out_types`` that no operand has is the size that the function gives.

Differs from the reference: the functions are those of ``maxlite.custom.declare``, not
Mojo packages, and which operands are written is for the declaration to say.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, repeat
from typing import TYPE_CHECKING

from maxlite._custom_registry import as_statics, check_no_extensions, declared
from maxlite._op_table import front
from maxlite.driver import Device
from maxlite.dtype import DType
from maxlite.functional._creation import full
from maxlite.functional._custom_rows import (
    CUSTOM,
    INPLACE_CUSTOM,
    check_given,
    given_types,
)
from maxlite.functional._dispatch import apply, write
from maxlite.functional._operands import as_tensors
from maxlite.functional._transfer import move
from maxlite.graph import DeviceRef, TensorType
from maxlite.graph._shape import compact_shape, evaluate_shape, symbols_of
from maxlite.lowering._rebind import solve_sizes
from maxlite.tensor._context import innermost

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maxlite._custom_registry import Declaration, Extensions, Parameter, Static
    from maxlite.functional._custom_rows import ArrayType
    from maxlite.graph import Dim
    from maxlite.tensor._tensor import Tensor

# What a call states ------------------------------------------------------------------


def _declaration(who: str, name: str, extensions: Extensions) -> Declaration:
    check_no_extensions(who, name, extensions)
    return declared(who, name)


def _as_device(who: str, device: Device | DeviceRef) -> Device:
    if isinstance(device, DeviceRef):
        return device.to_device()
    if not isinstance(device, Device):
        raise TypeError(
            f"{who}: device must be a Device or DeviceRef, got "
            f"{type(device).__name__}. Pass CPU(), say; values on a mesh stay there."
        )
    return device


def _operands(who: str, values: Sequence[Tensor], device: Device) -> list[Tensor]:
    """Checks the values, and brings those on another single device to ``device``."""
    tensors = as_tensors(who, values, "values")
    wide = next((x for x in tensors if x.is_distributed), None)
    if wide is None:
        return [move(x, device) for x in tensors]
    if device not in wide.mesh.devices:
        raise ValueError(
            f"{who}: device must be one of the mesh that the values are on, got "
            f"{device} and {wide.mesh!r}. Move the values, or name one of its devices."
        )
    return tensors


def _result_types(
    who: str, out_types: Iterable[TensorType], device: Device
) -> tuple[ArrayType, ...]:
    if not isinstance(out_types, Iterable):
        raise TypeError(
            f"{who}: out_types must be a sequence of TensorTypes, got "
            f"{type(out_types).__name__}. Put it into a list."
        )
    return tuple(
        _result_type(f"{who}: out_types[{i}]", stated, DeviceRef.from_device(device))
        for i, stated in enumerate(out_types)
    )


def _result_type(where: str, stated: object, device: DeviceRef) -> ArrayType:
    if not isinstance(stated, TensorType):
        raise TypeError(
            f"{where} must be a TensorType, got {type(stated).__name__}. Say dtype, "
            "shape and device of the result."
        )
    if stated.device != device:
        raise ValueError(
            f"{where} must be on the device of the call, got {stated.device} and "
            f"{device}. Name the same device, and move the result afterwards."
        )
    return stated.dtype, compact_shape(stated.shape)


def with_known_sizes(operands: Sequence[Tensor]) -> Sequence[Tensor]:
    """Computes pending operands of eager code, whose values may tell a size."""
    if innermost() is None:
        for x in operands:
            if not x._spec.is_static:
                x._stored()
    return operands


def _numbered(
    declaration: Declaration,
    statics: tuple[Static, ...],
    operands: Sequence[Tensor],
    results: tuple[ArrayType, ...],
) -> tuple[ArrayType, ...]:
    """Replaces names of sizes in what is stated, where the operands have none."""
    if not any(symbols_of(shape) for _, shape in results):
        return results
    with_known_sizes(operands)
    if not all(x._spec.is_static for x in operands):
        return results
    described = tuple((x.dtype, x._spec.shape) for x in operands)
    given = given_types(declaration, statics, described)
    written = [described[i] for i in declaration.inplace]
    check_given(declaration, (*written, *results), given, only_ranks=True)
    own = given[len(written) :]
    pairs = zip(results, own, strict=True)
    sizes = solve_sizes(
        [p for (_, a), (_, b) in pairs for p in zip(a, b, strict=True)], {}
    )
    return tuple(
        (dtype, tuple(map(_number, stated, got, repeat(sizes))))
        for (dtype, stated), (_, got) in zip(results, own, strict=True)
    )


def _number(stated: int | Dim, got: int | Dim, sizes: Mapping[str, int]) -> int | Dim:
    """Computes a stated size; where its names are not known, what was got is right."""
    known = sizes.keys() >= set(symbols_of([stated]))
    return evaluate_shape([stated], sizes)[0] if known else got


# The ops -----------------------------------------------------------------------------


@front
def custom(
    name: str,
    device: Device | DeviceRef,
    values: Sequence[Tensor],
    out_types: Sequence[TensorType],
    parameters: Mapping[str, Parameter] | None = None,
    custom_extensions: Extensions = None,
) -> list[Tensor]:
    """Calls a function that was declared by ``maxlite.custom.declare``.

    Args:
        name: What it was declared as.
        device: Where it runs and its results lie. Values on another single device are
            moved there; values on a mesh stay, and ``device`` is one of the mesh.
        values: What it takes.
        out_types: What it gives: dtype, global shape, and ``device``. Sizes may be
            named as those of the values are.
        parameters: Static keywords of the function.
        custom_extensions: Nothing; the reference's packages of Mojo kernels.

    Returns:
        The results. On a mesh they lie as the declaration's placement rows say:
        replicated where it has none, and every value must then be.

    Raises:
        TypeError: A value is no tensor, a parameter of no static kind, or an argument
            of another kind.
        ValueError: The name is not declared, or is of a function that writes; nothing
            is stated, or something else than the function gives or on another device.
        NotImplementedError: There are ``custom_extensions``.
        ShardingError: The values lie as no placement row has them.

    Source: max.experimental.functional.custom.

    >>> from maxlite.custom import declare
    >>> from maxlite.driver import CPU
    >>> from maxlite.tensor import Tensor
    >>> _ = declare("halve", lambda x: (x / 2, x))
    >>> x = Tensor([2.0, 4.0])
    >>> half, same = custom("halve", CPU(), [x], [x.type, x.type])
    >>> half.to_numpy().tolist()
    [1.0, 2.0]
    """
    who = "custom"
    declaration = _declaration(who, name, custom_extensions)
    if declaration.inplace:
        raise ValueError(
            f"{who}: the function must write to no operand, got {name!r}, which writes "
            f"to {list(declaration.inplace)}. Use F.inplace_custom."
        )
    place = _as_device(who, device)
    operands = _operands(who, values, place)
    results = _result_types(who, out_types, place)
    if not results:
        raise ValueError(
            f"{who}: out_types must state at least one result, got none. Say what "
            f"{name!r} gives."
        )
    statics = as_statics(who, parameters)
    results = _numbered(declaration, statics, operands, results)
    # A call without values has to happen somewhere: an empty tensor stands there.
    standing = operands or [full([0], 0, dtype=DType.bool, device=place)]
    made: Tensor | tuple[Tensor, ...]
    made = apply(CUSTOM, standing, declaration, statics, results, len(operands))
    return list(made) if isinstance(made, tuple) else [made]


@front
def inplace_custom(
    name: str,
    device: Device | DeviceRef,
    values: Sequence[Tensor],
    out_types: Sequence[TensorType] | None = None,
    parameters: Mapping[str, Parameter] | None = None,
    custom_extensions: Extensions = None,
) -> list[Tensor]:
    """Calls a declared function that gives operands a new content.

    The declaration says which operands those are, and the function returns their new
    values before its results. Every name of a written tensor sees the new content, as
    with :func:`buffer_store`; what was computed before keeps its value. Memory is
    reused where nothing else holds it.

    Args:
        name: What it was declared as.
        device: Where it runs and its results lie; written tensors must be there.
        values: What it takes. In a program, those that are written are arguments
            staged by ``BufferLayout``.
        out_types: Further results, as in :func:`custom`; None when there are none.
        parameters: Static keywords of the function.
        custom_extensions: Nothing; the reference's packages of Mojo kernels.

    Returns:
        The further results.

    Raises:
        TypeError: There are no values, or one to be written cannot be; as
            :func:`custom` otherwise.
        ValueError: The function writes to nothing, to a value that is not there or on
            another device, or to one tensor twice; as :func:`custom` otherwise.
        NotImplementedError: There are ``custom_extensions``.
        ShardingError: The values lie as no placement row has them, or a written one
            would have to move.

    Source: max.experimental.functional.inplace_custom.

    >>> from maxlite.custom import declare
    >>> from maxlite.driver import CPU
    >>> from maxlite.tensor import Tensor
    >>> @declare("accumulate", inplace=(0,))
    ... def accumulate(total, x):
    ...     return total + x
    >>> total = Tensor([1.0, 2.0])
    >>> inplace_custom("accumulate", CPU(), [total, Tensor([10.0, 20.0])])
    []
    >>> total.to_numpy().tolist()
    [11.0, 22.0]
    """
    who = "inplace_custom"
    values = as_tensors(who, values, "values")
    if not values:
        raise TypeError(
            f"{who}: values must hold a tensor to write to, got none. Use F.custom "
            "where nothing is written."
        )
    declaration = _declaration(who, name, custom_extensions)
    place = _as_device(who, device)
    operands = _operands(who, values, place)
    _check_written(who, declaration, values, operands)
    statics = as_statics(who, parameters)
    stated = _result_types(who, out_types or (), place)
    results = _numbered(declaration, statics, operands, stated)
    params = (declaration, statics, results, len(operands))
    made = write(INPLACE_CUSTOM, operands, *params, written=declaration.inplace)
    return list(made)


def _check_written(
    who: str,
    declaration: Declaration,
    values: Sequence[Tensor],
    operands: Sequence[Tensor],
) -> None:
    name, written = declaration.name, declaration.inplace
    if not written:
        raise ValueError(
            f"{who}: the function must write to an operand, got {name!r}, which writes "
            "to none. Use F.custom, or declare it with inplace=."
        )
    if max(written) >= len(values):
        raise ValueError(
            f"{who}: the operands that {name!r} writes to must be there, got "
            f"{len(values)} values for positions {list(written)}. Pass them all."
        )
    for i in written:
        if operands[i] is not values[i]:
            raise ValueError(
                f"{who}: a tensor must be written where it lies, got values[{i}] on "
                f"{values[i].device}. Name this device, or move the tensor first."
            )
    for i, j in combinations(written, 2):
        if values[i] is values[j]:
            raise ValueError(
                f"{who}: a tensor must be written once, got one as values[{i}] and "
                f"values[{j}]. Pass a copy for one of them."
            )
