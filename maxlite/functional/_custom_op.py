"""A declared function with a signature: called like any function of tensors.

``F.custom`` is told at each call what the function gives. A :class:`CustomOp` knows it
from templates: it checks the operands against them, works out the types of the
results, and calls ``F.custom``. So it runs wherever that does, and as that does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter as ShownParameter
from inspect import Signature
from keyword import iskeyword
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from maxlite._custom_registry import as_statics, declared
from maxlite.functional._custom import custom, with_known_sizes
from maxlite.functional._custom_signature import (
    as_inputs,
    as_outputs,
    fill,
    infer_outputs,
    unbound,
    unset,
)
from maxlite.functional._graph_building import on_values
from maxlite.functional._operands import as_tensor
from maxlite.graph import TensorType, TensorValue
from maxlite.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite._custom_registry import Parameter
    from maxlite.functional._custom_signature import Parameters
    from maxlite.functional._custom_templates import TemplateType


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CustomOp:
    """A declared function that knows what it takes and gives; immutable.

    ``op(x, y)`` or ``op(x, y=y)`` runs it, eagerly or in a program, where its first
    operand lies, as ``F.custom`` does. ``op[{"g": 4}]`` is the op with another value of
    a parameter. Ops that were declared alike are equal.

    Made by :func:`maxlite.custom.declare`, which takes the same and raises the same.

    Attributes:
        name: What the function was declared as. A call runs what has the name then.
        inputs: A template by the name of each operand, parameters filled in.
        outputs: A template for each result, parameters filled in.
        parameters: Values by name; None for those that are still to come.
        declared_inputs: The inputs as they were declared.
        declared_outputs: The outputs as they were declared.

    Source: max.experimental.custom.CustomOp.
    """

    name: str
    inputs: Mapping[str, TemplateType]
    outputs: tuple[TemplateType, ...]
    parameters: Parameters
    declared_inputs: Mapping[str, TemplateType]
    declared_outputs: tuple[TemplateType, ...]

    def __init__(
        self,
        name: str,
        inputs: Mapping[str, TemplateType],
        outputs: Sequence[TemplateType],
        parameters: Parameters | None = None,
    ) -> None:
        given = _as_parameters("declare", {} if parameters is None else parameters)
        wanted, gives = as_inputs(name, inputs), as_outputs(name, outputs)
        filled = fill(name, wanted, gives, given)
        function = declared("declare", name)
        if function.inplace:
            raise ValueError(
                f"declare: a function with a signature must write to no operand, got "
                f"{name!r}, which writes to {list(function.inplace)}. Call it by "
                "F.inplace_custom."
            )
        facts = {
            "name": name,
            "inputs": MappingProxyType(filled[0]),
            "outputs": filled[1],
            "parameters": MappingProxyType(given),
            "declared_inputs": MappingProxyType(wanted),
            "declared_outputs": gives,
            "__name__": name,
            "__doc__": function.fn.__doc__ or type(self).__doc__,
        }
        for key, value in facts.items():
            object.__setattr__(self, key, value)
        if all(key.isidentifier() and not iskeyword(key) for key in wanted):
            object.__setattr__(self, "__signature__", _shown(wanted, len(gives)))

    @property
    def is_complete(self) -> bool:
        """Whether every parameter has a value, so that it can be called."""
        return not unset(self.outputs, self.parameters)

    @cached_property
    def token(self) -> str:
        """A short text that is the same for equal ops, in every process."""
        digest = hashlib.sha256(repr(self._key).encode()).hexdigest()
        return f"{self.name}#{digest[:16]}"

    def __call__(
        self, /, *operands: Tensor | TensorValue, **named: Tensor | TensorValue
    ) -> Any:  # how many results there are is declared, which types cannot say
        """Runs the function.

        Args:
            *operands: The inputs in order, as tensors; in an open graph values as well.
            **named: Further inputs by name.

        Returns:
            The result, or a list of them where several are declared; values of the
            graph where one came. On a mesh they lie as ``F.custom`` says.

        Raises:
            TypeError: An input is missing, given twice or no tensor.
            ValueError: A parameter has no value; an operand does not fit its template;
                the function gives something else than is declared.
            NotImplementedError: A symbol that no input has stands in an output, and the
                sizes of the operands are not known.
            ShardingError: The operands lie as no placement row has them.
        """
        values = self._in_order(operands, named)
        if any(isinstance(x, TensorValue) for x in values):
            return on_values(self._run, *values)
        return self._run(*values)

    def __getitem__(self, parameters: Parameters) -> CustomOp:
        """Gives the op with these values of parameters, and its others."""
        more = _as_parameters(self.name, parameters)
        given = {**self.parameters, **more}
        return CustomOp(self.name, self.declared_inputs, self.declared_outputs, given)

    # Without it, Python would take __getitem__ for that of a sequence.
    __iter__ = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CustomOp) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        values = ", ".join(f"{key}={value}" for key, value in self.parameters.items())
        takes = ", ".join(f"{key}: {t}" for key, t in self.inputs.items())
        gives = ", ".join(map(str, self.outputs))
        chosen = f"[{values}]" if values else ""
        return f"<CustomOp {self.name}{chosen}({takes}) -> {gives}>"

    def __reduce__(self) -> tuple[type[CustomOp], tuple[Any, ...]]:
        inputs, parameters = dict(self.declared_inputs), dict(self.parameters)
        return CustomOp, (self.name, inputs, self.declared_outputs, parameters)

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        known = {k: v for k, v in self.parameters.items() if v is not None}
        return (
            self.name,
            tuple(self.declared_inputs.items()),
            self.declared_outputs,
            as_statics(self.name, known),
            tuple(sorted(self.parameters.keys() - known.keys())),
        )

    def _in_order(
        self, operands: Sequence[Any], named: Mapping[str, Any]
    ) -> Sequence[Any]:
        names = list(self.inputs)
        left = names[len(operands) :]
        if len(operands) > len(names) or set(named) != set(left):
            raise TypeError(
                f"{self.name}: each of the inputs {', '.join(names)} must be given "
                f"once, got {len(operands)} by position and {sorted(named)} by name. "
                "Pass one tensor for each."
            )
        return [*operands, *(named[key] for key in left)]

    def _run(self, *values: Any) -> Tensor | list[Tensor]:
        missing = unset(self.outputs, self.parameters)
        if missing:
            raise ValueError(
                f"{self.name}: every parameter must have a value, got none for "
                f"{', '.join(missing)}. Declare it with one, or call op[{{...}}]."
            )
        pairs = zip(self.inputs, values, strict=True)
        tensors = with_known_sizes([as_tensor(self.name, x, key) for key, x in pairs])
        given = [(x.dtype, x._spec.shape) for x in tensors]
        found = infer_outputs(
            self.name, self.declared_inputs, self.inputs, self.outputs, given
        )
        if not all(x._spec.is_static for x in tensors):
            self._check_bound()
        wide = next((x for x in tensors if x.is_distributed), tensors[0])
        device = wide.mesh.devices[0]
        stated = [TensorType(dtype, shape, device) for dtype, shape in found]
        results = custom(self.name, device, tensors, stated, dict(self.parameters))
        return results[0] if len(results) == 1 else results

    def _check_bound(self) -> None:
        names = unbound(self.inputs, self.outputs)
        if names:
            raise NotImplementedError(
                f"{self.name}: outputs must have sizes that the inputs say where those "
                f"are not numbers, got {', '.join(names)}. Call it where the sizes are "
                "numbers, or state what the size is."
            )


def _as_parameters(who: str, parameters: object) -> dict[str, Parameter | None]:
    """Checks parameters that may be without a value, and copies them."""
    if not isinstance(parameters, Mapping):
        raise TypeError(
            f"{who}: parameters must be a mapping, got {type(parameters).__name__}. "
            'Pass {"name": value}.'
        )
    given = dict(cast("Mapping[Any, Any]", parameters))
    as_statics(who, {key: False if v is None else v for key, v in given.items()})
    return given


def _shown(names: Mapping[str, TemplateType], count: int) -> Signature:
    """Makes what ``inspect.signature`` shows of an op."""
    either = ShownParameter.POSITIONAL_OR_KEYWORD
    return Signature(
        [ShownParameter(name, either, annotation=Tensor) for name in names],
        return_annotation=Tensor if count == 1 else list[Tensor],
    )
