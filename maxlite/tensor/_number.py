"""A Python number that meets tensors, as an operand like them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxlite.lowering._literals import literal_argument

if TYPE_CHECKING:
    import jax

    from maxlite.graph._spec import Spec


class Number:
    """A Python number beside a tensor: its value, and the spec that it takes.

    What hot paths ask a tensor, they may ask a number, too.
    """

    __slots__ = ("_argument", "_spec", "value")

    _ctx = None
    _value = None
    """A number is never pending."""

    def __init__(self, value: bool | int | float, spec: Spec) -> None:
        self.value = value
        self._spec = spec
        self._argument: jax.Array | None = None

    @property
    def _array(self) -> jax.Array:
        if self._argument is None:
            self._argument = literal_argument(self.value, self._spec)
        return self._argument
