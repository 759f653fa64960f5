"""The two rows through which declared functions are ops like any other.

A row does not know the function; it is a static parameter, with the user's parameters
and the stated types of the results. What the function gives is compared with them
before anything is recorded, and again whenever a program is specialised to numbers.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import jax
from jax import numpy as jnp

from maxlite._backend import lowering_scope
from maxlite._custom_registry import as_keywords
from maxlite._op_table import Op, register
from maxlite.dtype import DType
from maxlite.graph._shape import shape_text
from maxlite.lowering._evaluate import as_tuple
from maxlite.sharding.rules import custom_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite._custom_registry import Declaration, Static
    from maxlite.graph._shape import CompactShape
    from maxlite.graph._spec import Spec

ArrayType = tuple[DType, "CompactShape"]
"""Dtype and shape of an array."""


def _call(
    declaration: Declaration, statics: tuple[Static, ...], *arrays: jax.Array
) -> tuple[jax.Array, ...]:
    """Calls a function and lists what it gives as arrays."""
    try:
        made = as_tuple(declaration.fn(*arrays, **as_keywords(statics)))
    except Exception as error:
        error.add_note(f"in the function that is declared as {declaration.name!r}")
        raise
    for i, part in enumerate(made):
        if not hasattr(part, "dtype"):
            raise TypeError(
                f"{declaration.name}: a declared function must return arrays, got "
                f"{type(part).__name__} as result {i}. Return jax.numpy arrays."
            )
    return tuple(jnp.asarray(part) for part in made)


@functools.lru_cache(maxsize=1024)
def given_types(
    declaration: Declaration,
    statics: tuple[Static, ...],
    operands: tuple[ArrayType, ...],
) -> tuple[ArrayType, ...]:
    """Finds dtypes and shapes of what a function gives, by tracing it."""
    structs = [jax.ShapeDtypeStruct(shape, dtype.to_jax()) for dtype, shape in operands]
    with lowering_scope():
        made = jax.eval_shape(functools.partial(_call, declaration, statics), *structs)
    return tuple((DType.from_jax(part.dtype), part.shape) for part in made)


def check_given(
    declaration: Declaration,
    stated: Sequence[ArrayType],
    given: Sequence[ArrayType],
    *,
    only_ranks: bool = False,
) -> None:
    """Compares what a function gives with what was stated.

    Raises:
        ValueError: They differ in number, dtype or shape.
    """
    if len(given) != len(stated):
        raise ValueError(
            f"{declaration.name}: the function must return {len(stated)} arrays, "
            f"{len(declaration.inplace)} written operands and the out_types, got "
            f"{len(given)}. Mend out_types, or the function."
        )
    for i, (want, got) in enumerate(zip(stated, given, strict=True)):
        same_shape = len(want[1]) == len(got[1]) if only_ranks else want[1] == got[1]
        if want[0] is not got[0] or not same_shape:
            raise ValueError(
                f"{declaration.name}: the function must give what is stated, got "
                f"{_type_text(got)} for {_type_text(want)} as "
                f"{_result_name(declaration, i)}. Mend out_types, or the function."
            )


def _type_text(described: ArrayType) -> str:
    dtype, shape = described
    return f"{dtype.name}{shape_text(shape)}"


def _result_name(declaration: Declaration, i: int) -> str:
    written = declaration.inplace
    if i < len(written):
        return f"new value of operand {written[i]}"
    return f"result {i - len(written)}"


# The rows ----------------------------------------------------------------------------


def _custom(
    *operands: jax.Array,
    declaration: Declaration,
    parameters: tuple[Static, ...],
    results: tuple[ArrayType, ...],
    count: int,
) -> tuple[jax.Array, ...]:
    arrays = operands[:count]
    made = _call(declaration, parameters, *arrays)
    written = [_type_of(arrays[i]) for i in declaration.inplace]
    # On its own shards a device sees local sizes, and what is stated is global.
    is_local = bool(jax.sharding.get_abstract_mesh().manual_axes)
    stated = (*written, *results)
    check_given(declaration, stated, [*map(_type_of, made)], only_ranks=is_local)
    return made


def _type_of(array: jax.Array) -> ArrayType:
    return DType.from_jax(array.dtype), array.shape


def _infer_custom(
    *operands: Spec,
    declaration: Declaration,
    parameters: tuple[Static, ...],
    results: tuple[ArrayType, ...],
    count: int,
) -> list[ArrayType]:
    described = tuple((x.dtype, x.shape) for x in operands[:count])
    stated = [*(described[i] for i in declaration.inplace), *results]
    if all(x.is_static for x in operands):
        given = given_types(declaration, parameters, described)
        check_given(declaration, stated, given)
    return stated


def _row(name: str) -> Op:
    return register(
        Op(
            name=name,
            fn=_custom,
            infer=_infer_custom,
            rule=custom_rule,
            params=("declaration", "parameters", "results", "count"),
            runs_locally=True,
        )
    )


CUSTOM = _row("custom")
INPLACE_CUSTOM = _row("inplace_custom")
