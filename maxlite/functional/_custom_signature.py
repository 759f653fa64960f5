"""The signature of a declared op: whether it makes sense, and whether a call fits.

A signature is checked once, when it is declared: then its inputs hold nothing but
numbers and symbols, so that a call binds each symbol by reading it off an operand,
and its outputs follow by substitution. No equation is ever solved.

Differs from the reference: a dtype variable that no input has is refused when the op
is declared, and a symbol that no input has needs no shape function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, cast

from maxlite.functional._custom_templates import (
    DTypeVar,
    TemplateType,
    check_sizes,
    dim_text,
    foreign_names,
    parameters_of,
    sizes_text,
    with_parameters,
)
from maxlite.graph import StaticDim, SymbolicDim
from maxlite.graph._shape import compact_shape, symbols_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maxlite._custom_registry import Parameter
    from maxlite.dtype import DType
    from maxlite.functional._custom_rows import ArrayType
    from maxlite.graph import Dim
    from maxlite.graph._shape import CompactShape

    Shape = tuple[Dim, ...]

Inputs = Mapping[str, TemplateType]
Outputs = tuple[TemplateType, ...]
Parameters = Mapping[str, "Parameter | None"]
"""Values by name; None where one is still to come."""


# When it is declared -----------------------------------------------------------------


def as_inputs(name: str, inputs: object) -> dict[str, TemplateType]:
    """Checks the inputs of an op, and copies them.

    Raises:
        TypeError: They are of another kind, or a size is no matter of the op.
        ValueError: There are none.
    """
    if not isinstance(inputs, Mapping):
        raise TypeError(
            f"declare: inputs of {name!r} must be a mapping from names to "
            f"TemplateTypes, got {type(inputs).__name__}. Pass {{'x': ...}}."
        )
    given = cast("Mapping[object, object]", inputs)
    made: dict[str, TemplateType] = {}
    for key, template in given.items():
        if not isinstance(key, str):
            raise TypeError(
                f"declare: names of inputs of {name!r} must be strings, got "
                f"{type(key).__name__}. They are keywords of the call."
            )
        made[key] = _checked(_input_of(name, key), template)
    if not made:
        raise ValueError(
            f"declare: {name!r} must have at least one input, got none. Use F.custom "
            "for a function that takes no values."
        )
    return made


def as_outputs(name: str, outputs: object) -> Outputs:
    """Checks the outputs of an op, and copies them.

    Raises:
        TypeError: They are of another kind, or a size is no matter of the op.
        ValueError: There are none.
    """
    if isinstance(outputs, str) or not isinstance(outputs, Iterable):
        raise TypeError(
            f"declare: outputs of {name!r} must be a sequence of TemplateTypes, got "
            f"{type(outputs).__name__}. Put it into a list."
        )
    given = cast("Iterable[object]", outputs)
    made = tuple(_checked(_output_of(name, i), t) for i, t in enumerate(given))
    if not made:
        raise ValueError(
            f"declare: {name!r} must have at least one output, got none. Say what the "
            "function gives."
        )
    return made


def fill(
    name: str, inputs: Inputs, outputs: Outputs, parameters: Parameters
) -> tuple[dict[str, TemplateType], Outputs]:
    """Puts the values of parameters into templates, and checks what comes of it.

    Raises:
        TypeError: A parameter in a size is no int, or makes it negative; an input has
            a size that is neither a number nor a symbol; no input has the dtype
            variable of an output.
    """
    filled = {
        key: _filled(_input_of(name, key), template, parameters)
        for key, template in inputs.items()
    }
    for key, template in filled.items():
        _check_bindable(_input_of(name, key), template)
    made = tuple(
        _filled(_output_of(name, i), template, parameters)
        for i, template in enumerate(outputs)
    )
    known = {template.dtype for template in filled.values()}
    for i, template in enumerate(made):
        if isinstance(template.dtype, DTypeVar) and template.dtype not in known:
            raise TypeError(
                f"{_output_of(name, i)} must have a dtype or a variable of the inputs, "
                f"got {template.dtype.name}. Name the dtype."
            )
    return filled, made


def unset(outputs: Outputs, parameters: Parameters) -> list[str]:
    """Lists the parameters without which an op cannot be called.

    Args:
        outputs: With the known parameters filled in.
        parameters: All of the op.
    """
    waiting = [name for name, value in parameters.items() if value is None]
    dims = chain.from_iterable(template.shape for template in outputs)
    left = chain.from_iterable(map(parameters_of, dims))
    return list(dict.fromkeys([*waiting, *left]))


def _input_of(name: str, key: str) -> str:
    return f"declare: input {key!r} of {name!r}"


def _output_of(name: str, i: int) -> str:
    return f"declare: output {i} of {name!r}"


def _checked(where: str, template: object) -> TemplateType:
    if not isinstance(template, TemplateType):
        raise TypeError(
            f"{where} must be a TemplateType, got {type(template).__name__}. Say dtype "
            "and shape."
        )
    for axis, dim in enumerate(template.shape):
        names = foreign_names(dim)
        if names:
            raise TypeError(
                f"{where}: sizes must be made of custom.Symbol, custom.Param and "
                f"numbers, got {names[0]!r} at axis {axis}. Use "
                f"custom.Symbol({names[0]!r}): names of programs are not the op's."
            )
    return template


def _filled(where: str, template: TemplateType, parameters: Parameters) -> TemplateType:
    names = dict.fromkeys(chain.from_iterable(map(parameters_of, template.shape)))
    sizes: dict[str, int] = {}
    for name in names:
        value = parameters.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(
                f"{where}: a parameter in a size must be an int, got "
                f"{type(value).__name__} for {name!r}. Use another one, or a Symbol."
            )
        sizes[name] = value
    if not sizes:
        return template
    shape = [with_parameters(dim, sizes) for dim in template.shape]
    check_sizes(where, shape)
    return TemplateType(template.dtype, shape)


def _check_bindable(where: str, template: TemplateType) -> None:
    for axis, dim in enumerate(template.shape):
        is_symbol = isinstance(dim, SymbolicDim) and not parameters_of(dim)
        if not is_symbol and not isinstance(dim, StaticDim):
            raise TypeError(
                f"{where}: sizes must be numbers, symbols, or computed from parameters "
                f"that have values, got {dim_text(dim)} at axis {axis}. Give it a "
                "symbol of its own."
            )


# When it is called -------------------------------------------------------------------


def infer_outputs(
    name: str,
    declared: Inputs,
    inputs: Inputs,
    outputs: Outputs,
    given: Sequence[ArrayType],
) -> list[ArrayType]:
    """Compares operands with the inputs of an op, and finds what it gives.

    Args:
        name: Of the op.
        declared: Its inputs as they were declared, for errors.
        inputs: The same with parameters filled in.
        outputs: Its outputs, likewise.
        given: Dtype and shape of each operand, in order.

    Returns:
        Dtype and shape of each output. Of symbols that no input has, the names stay.

    Raises:
        TypeError: A size would be negative.
        ValueError: An operand does not fit.
    """
    call = _Call(name)
    for (key, template), (dtype, shape) in zip(inputs.items(), given, strict=True):
        call.bind_dtype(key, template.dtype, dtype)
        call.bind_shape(key, template.shape, declared[key].shape, shape)
    return [call.output(i, template) for i, template in enumerate(outputs)]


def unbound(inputs: Inputs, outputs: Outputs) -> list[str]:
    """Lists symbols in the outputs that no input has, by name."""
    known = set(_symbols(inputs.values()))
    left = dict.fromkeys(name for name in _symbols(outputs) if name not in known)
    return [dim_text(SymbolicDim(name)) for name in left]


def _symbols(templates: Iterable[TemplateType]) -> Iterator[str]:
    for template in templates:
        yield from symbols_of(template.shape)


@dataclass(slots=True)
class _Call:
    """What the operands of one call say, and the input that said it first."""

    name: str
    dtypes: dict[DTypeVar, tuple[DType, str]] = field(
        default_factory=dict["DTypeVar", "tuple[DType, str]"]
    )
    sizes: dict[str, tuple[int | Dim, str]] = field(
        default_factory=dict[str, "tuple[int | Dim, str]"]
    )

    def bind_dtype(self, key: str, wanted: DType | DTypeVar, got: DType) -> None:
        if isinstance(wanted, DTypeVar):
            dtype, by = self.dtypes.setdefault(wanted, (got, key))
            reason = f", which is {wanted.name} in input {by!r}"
        else:
            dtype, reason = wanted, ""
        if got is not dtype:
            raise ValueError(
                f"{self.name}: input {key!r} must be {dtype.name}{reason}, got "
                f"{got.name}. Cast it."
            )

    def bind_shape(
        self, key: str, wanted: Shape, written: Shape, got: CompactShape
    ) -> None:
        if len(got) != len(wanted):
            raise ValueError(
                f"{self.name}: input {key!r} must have rank {len(wanted)}, being "
                f"{sizes_text(written)}, got {sizes_text(got)}. Reshape it."
            )
        for axis, size in enumerate(got):
            want, reason = self._size(
                f"axis {axis} of input {key!r}", wanted[axis], size
            )
            if wanted[axis] != written[axis]:
                reason = f", which is {dim_text(written[axis])}"
            if size != want:
                raise ValueError(
                    f"{self.name}: input {key!r} must have size {dim_text(want)} at "
                    f"axis {axis}{reason}, got {dim_text(size)}. Pass another one, or "
                    "rebind sizes that are the same."
                )

    def _size(self, where: str, wanted: Dim, got: int | Dim) -> tuple[int | Dim, str]:
        """Finds what a size must be, and why."""
        if not isinstance(wanted, SymbolicDim):
            return wanted, ""
        size, by = self.sizes.setdefault(wanted.name, (got, where))
        return size, f", which is {dim_text(wanted)} at {by}"

    def output(self, i: int, template: TemplateType) -> ArrayType:
        known = {symbol: size for symbol, (size, _) in self.sizes.items()}
        shape = compact_shape(dim.substitute(known) for dim in template.shape)
        stated = sizes_text(template.shape)
        check_sizes(f"{self.name}: output {i}, {stated},", shape)
        if isinstance(template.dtype, DTypeVar):
            return self.dtypes[template.dtype][0], shape
        return template.dtype, shape
