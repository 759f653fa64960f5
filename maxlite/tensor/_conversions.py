"""What a Tensor is to Python itself: a number if it has one element, and a length.

Reading a number waits for the value, so inside of a program that is being recorded it
is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from maxlite.dtype import INTEGERS
from maxlite.graph._shape import shape_text

if TYPE_CHECKING:
    from maxlite.dtype import DType
    from maxlite.graph import Shape


class _Host(Protocol):
    """What a class must have to be converted."""

    @property
    def dtype(self) -> DType: ...

    @property
    def shape(self) -> Shape: ...

    def item(self) -> bool | int | float: ...

    def num_elements(self) -> int: ...


class Conversions:
    """Conversions of Tensor to Python's own types; see :meth:`Tensor.item`."""

    __slots__ = ()

    def __format__(self: _Host, spec: str) -> str:
        """Formats one element as a number, and more as the text of the tensor."""
        if spec and self.num_elements() == 1:
            return format(self.item(), spec)
        try:
            return format(repr(self), spec)
        except ValueError:
            raise ValueError(
                f"format: the tensor must have one element for {spec!r}, got shape "
                f"{shape_text(self.shape)}. Use x.to_numpy()."
            ) from None

    def __int__(self: _Host) -> int:
        return int(self.item())

    def __float__(self: _Host) -> float:
        return float(self.item())

    def __index__(self: _Host) -> int:
        """Lets an integer of rank 0 stand where Python wants an index."""
        if self.dtype not in INTEGERS or self.shape.rank:
            raise TypeError(
                "index: the tensor must be an integer of rank 0, got "
                f"{self.dtype.name}{self.shape}. Convert one element with int()."
            )
        return int(self.item())

    def __len__(self: _Host) -> int:
        """Counts along the first axis."""
        if not self.shape.rank:
            raise TypeError("len: a tensor of rank 0 has no axis to count along.")
        size = self.shape[0]
        if tuple(size.parameters):
            raise TypeError(
                f"len: the size of the first axis must be a number, got {size}. Use "
                "shape[0], which is a Dim."
            )
        return int(size)
