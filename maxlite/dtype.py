"""Element types: their facts, what promotes to what, and their names elsewhere.

Every fact is derived from two tables, the members of :class:`DType` and the formats
that numpy and ml_dtypes describe, so that nothing about one dtype is written twice:

- *Promotion* loses nothing. Two dtypes promote to one of the two, and only when it
  holds every value of the other; anything else is a question for the user, and an
  error that says so. The one exception are formats below 16 bits, which compute in
  float16 as soon as two of them meet.
- *Python and numpy scalars* are weak: the tensor's dtype wins, but only when it can
  hold the scalar. :func:`check_scalar` says whether it does.
- *Elsewhere* means numpy, which knows no bfloat16, and JAX, which knows every dtype
  here but the two of 6 bits.

Members hash by identity: a dtype is part of the key under which every eager op finds
its executable.
"""

from __future__ import annotations

import builtins
import difflib
import math
from dataclasses import dataclass, field, fields
from enum import Enum, EnumMeta
from typing import Any, cast

import ml_dtypes
import numpy as np

__all__ = [
    "ALL",
    "BOOL",
    "FLOATS",
    "INTEGERS",
    "NUMBERS",
    "SIGNED",
    "UNSIGNED",
    "DType",
    "check_scalar",
    "finfo",
    "promote",
]


class _Names(EnumMeta):
    """Explains a member that is asked for and is not there."""

    def __getattr__(cls, name: str) -> Any:
        others = {"float": "float32", "double": "float64", "half": "float16"}
        meant = others.get(name) or getattr(_BY_NAME.get(name), "name", name)
        found = name[0] != "_" and difflib.get_close_matches(meant, cls.__members__, 1)
        advice = f". Use DType.{found[0]}." if found else ""
        raise AttributeError(f"DType has no attribute {name!r}{advice}", name=name)


class DType(Enum, metaclass=_Names):
    """The type of a tensor's elements.

    ``str`` of a member is ``DType.int32``, ``repr`` is ``int32``. Members equal only
    themselves: neither strings nor numpy dtypes.

    Source: max.dtype.DType.

    >>> DType.float32.size_in_bytes
    4
    >>> DType.from_numpy(np.dtype("int64"))
    int64
    """

    bool = 1
    int8 = 135
    int16 = 137
    int32 = 139
    int64 = 141
    uint8 = 134
    uint16 = 136
    uint32 = 138
    uint64 = 140
    float16 = 79
    float32 = 81
    float64 = 82
    bfloat16 = 80
    float4_e2m1fn = 64
    float6_e2m3fn = 65
    float6_e3m2fn = 66
    float8_e8m0fnu = 73
    float8_e4m3fn = 75
    float8_e4m3fnuz = 76
    float8_e5m2 = 77
    float8_e5m2fnuz = 78

    # Enum hashes the name in Python code; the identity is ten times faster, and a
    # member is a singleton under pickle and copy too.
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        """Gives the bare name, as it stands in a tensor type."""
        return self.name

    def __str__(self) -> str:
        """Gives the name as it is written in a program."""
        return f"DType.{self.name}"

    @property
    def size_in_bits(self) -> int:
        """Bits that one value needs; bool takes 8."""
        return finfo(self).bits if self in FLOATS else 8 * self.size_in_bytes

    @property
    def size_in_bytes(self) -> int:
        """Bytes that one element takes in memory; types below 8 bits take 1."""
        return _FORMATS[self].itemsize

    @property
    def align(self) -> int:
        """Alignment of one element in bytes."""
        return _FORMATS[self].itemsize

    def is_integral(self) -> builtins.bool:
        """Tells whether this is an integer type; bool is none."""
        return self in INTEGERS

    def is_signed_integral(self) -> builtins.bool:
        """Tells whether this is a signed integer type."""
        return self in SIGNED

    def is_unsigned_integral(self) -> builtins.bool:
        """Tells whether this is an unsigned integer type."""
        return self in UNSIGNED

    def is_float(self) -> builtins.bool:
        """Tells whether this is a floating-point type of any width."""
        return self in FLOATS

    def is_float8(self) -> builtins.bool:
        """Tells whether this is one of the 8-bit floating-point types."""
        return self in _FLOAT8

    def is_half(self) -> builtins.bool:
        """Tells whether this is float16 or bfloat16."""
        return self is DType.float16 or self is DType.bfloat16

    @classmethod
    def from_numpy(cls, dtype: np.dtype | type[np.generic]) -> DType:
        """Finds the member for a numpy dtype.

        Args:
            dtype: A numpy dtype in any byte order, or numpy's scalar class for it.
                Those of ml_dtypes (``bfloat16``, ``float8_e5m2``, ...) count too.

        Raises:
            ValueError: There is no member for it (complex, strings, objects, ...).

        Source: max.dtype.DType.from_numpy.

        >>> DType.from_numpy(np.float32)
        float32
        """
        return _member(dtype, "DType.from_numpy")

    def to_numpy(self) -> np.dtype:
        """Gives the dtype of this member in plain numpy.

        Returns:
            The numpy dtype; ``uint8`` for the 8-bit floats, whose bytes numpy can
            carry but not read. :meth:`to_jax` gives a dtype that can.

        Raises:
            ValueError: numpy has none (bfloat16 and the types below 8 bits).

        Source: max.dtype.DType.to_numpy.

        >>> DType.int16.to_numpy()
        dtype('int16')
        """
        found = _TO_NUMPY.get(self)
        if found is None:
            raise ValueError(
                f"DType.to_numpy: the dtype must be one that numpy has, got {self}. "
                "Cast to DType.float32 first, or use to_jax()."
            )
        return found

    @classmethod
    def from_jax(cls, dtype: np.dtype) -> DType:
        """Finds the member for the ``dtype`` of a JAX array.

        Raises:
            ValueError: There is no member for it (complex, PRNG keys, int4, ...).

        >>> import jax.numpy as jnp
        >>> DType.from_jax(jnp.dtype(jnp.bfloat16))
        bfloat16
        """
        found = _FROM_NUMPY.get(dtype)
        return _member(dtype, "DType.from_jax") if found is None else found

    def to_jax(self) -> np.dtype:
        """Gives the dtype of this member in JAX: exact, 64 bit included.

        Raises:
            NotImplementedError: JAX has no such type, which holds for the floats of
                6 bits.

        >>> DType.float8_e5m2.to_jax()
        dtype(float8_e5m2)
        """
        if self in _UNKNOWN_TO_JAX:
            raise NotImplementedError(
                f"DType.to_jax: JAX has no arrays of {self}, only of the other dtypes. "
                "Cast to DType.float8_e4m3fn, which holds its values, or use "
                "DType.uint8 for its bytes."
            )
        return _FORMATS[self]

    @classmethod
    def _missing_(cls, value: object) -> DType | None:
        return _BY_NAME.get(value) if isinstance(value, str) else None


@dataclass(frozen=True, repr=False)
class finfo:
    """The limits of a floating-point type, under numpy's names.

    Real numbers are Python floats, which hold the values of every type here exactly.

    Args:
        dtype: A floating-point type of any width.

    Attributes:
        bits: Bits that one value needs.
        eps: Distance from 1 to the next value above.
        epsneg: Distance from 1 to the next value below.
        iexp: Bits of the exponent; the same as ``nexp``.
        machep: ``eps`` as a power of 2.
        max: Largest finite value.
        maxexp: Smallest power of 2 above every value.
        min: Smallest finite value; the negative of ``max`` where there is a sign.
        minexp: ``smallest_normal`` as a power of 2.
        negep: ``epsneg`` as a power of 2.
        nexp: Bits of the exponent.
        nmant: Bits of the fraction, without the leading one.
        precision: Decimal digits that every value keeps.
        resolution: ``10 ** -precision``.
        smallest_normal: Smallest positive value of full precision.
        smallest_subnormal: Smallest positive value.
        tiny: The same as ``smallest_normal``.

    Raises:
        TypeError: ``dtype`` is no floating-point type.

    Source: max.dtype.finfo.

    >>> finfo(DType.bfloat16).eps
    0.0078125
    """

    dtype: DType
    bits: int = field(init=False)
    eps: float = field(init=False)
    epsneg: float = field(init=False)
    iexp: int = field(init=False)
    machep: int = field(init=False)
    max: float = field(init=False)
    maxexp: int = field(init=False)
    min: float = field(init=False)
    minexp: int = field(init=False)
    negep: int = field(init=False)
    nexp: int = field(init=False)
    nmant: int = field(init=False)
    precision: int = field(init=False)
    resolution: float = field(init=False)
    smallest_normal: float = field(init=False)
    smallest_subnormal: float = field(init=False)
    tiny: float = field(init=False)

    def __post_init__(self) -> None:
        """Checks the dtype and looks its limits up."""
        if self.dtype not in FLOATS:
            raise TypeError(
                "finfo: the dtype must be a floating-point DType, got "
                f"{self.dtype!r}. Pass one of {_listed(FLOATS)}."
            )
        known = cast(object, ml_dtypes.finfo(_FORMATS[self.dtype]))
        for each in fields(self):
            if each.name != "dtype":
                as_python = int if each.type == "int" else float
                value = as_python(getattr(known, each.name))
                object.__setattr__(self, each.name, value)
        # numpy rounds it to the type itself: 0.125 for float8_e8m0fnu.
        object.__setattr__(self, "resolution", 10.0**-self.precision)

    def __repr__(self) -> str:
        """Writes the limits that are asked for most."""
        return (
            f"finfo(dtype={self.dtype!r}, bits={self.bits}, eps={self.eps}, "
            f"max={self.max}, min={self.min}, tiny={self.tiny})"
        )


def promote(lhs: DType, rhs: DType, *, who: str = "promote") -> DType:
    """Finds the dtype in which two tensors of different dtype are combined.

    Args:
        lhs: Dtype of the one.
        rhs: Dtype of the other; the result is the same when they are swapped.
        who: The operation that asks, for the error.

    Returns:
        That of the two which holds every value of the other, or float16 for two
        different formats of 8 bits and less.

    Raises:
        ValueError: Neither holds the other.

    >>> promote(DType.int32, DType.int64)
    int64
    >>> promote(DType.float16, DType.int8)
    float16
    """
    found = _PROMOTED.get((lhs, rhs))
    if found is None:
        raise ValueError(
            f"{who}: one of the dtypes must hold every value of the other, got {lhs} "
            f"and {rhs}. Cast one first, as in x.cast({rhs if rhs in FLOATS else lhs})."
        )
    return found


def check_scalar(
    value: builtins.bool | int | float | np.generic,
    dtype: DType,
    *,
    who: str = "scalar",
) -> None:
    """Checks that a number can stand beside a tensor without changing its dtype.

    Args:
        value: A Python or numpy number.
        dtype: Dtype of the tensor.
        who: The operation that asks, for the error.

    Raises:
        TypeError: ``value`` is no real number.
        ValueError: A float beside integers or bools, or an integer beyond those that
            ``dtype`` holds without a gap. What matters for a float dtype is the size,
            not whether this one integer happens to be exact. A float always fits a
            float dtype; beyond its range it is infinite.

    >>> check_scalar(255, DType.uint8)
    >>> check_scalar(0.1, DType.float16)
    """
    number: object = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, float):
        if dtype in FLOATS:
            return
        raise ValueError(
            f"{who}: a number beside a tensor of {dtype} must be an integer, got "
            f"{number}. Cast the tensor to a float dtype first."
        )
    if not isinstance(number, int):
        raise TypeError(
            f"{who}: a number must be a bool, an int or a float, got "
            f"{type(value).__name__}. Make a Tensor of it first."
        )
    least, most = _BOUNDS[dtype]
    if not least <= number <= most:
        raise ValueError(
            f"{who}: an integer beside a tensor of {dtype} must lie in "
            f"[{least}, {most}], got {number}. Cast the tensor to a wider dtype first."
        )


def _format(member: DType) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, member.name, member.name))


def _short(name: str) -> str:
    # The MLIR spelling, which the reference's constructor takes: f32, bf16, si8, ui8.
    if name == "bool":
        return "i1"
    return (
        name.replace("float", "f")
        .replace("int", "si")
        .replace("us", "u")
        .replace("_", "")
    )


def _listed(members: frozenset[DType]) -> str:
    return ", ".join(str(member) for member in DType if member in members)


def _member(dtype: Any, who: str) -> DType:
    # Nothing else: np.dtype(None) is float64, and np.dtype("f4") would pass as well.
    is_type = isinstance(dtype, type) and issubclass(dtype, np.generic)
    is_one = is_type or isinstance(dtype, np.dtype)
    plain: Any = np.dtype(cast("Any", dtype)).newbyteorder("=") if is_one else None
    found = _FROM_NUMPY.get(plain)
    if found is None:
        raise ValueError(
            f"{who}: the dtype must be that of one of {_listed(ALL)}, got {dtype!r}. "
            "Convert the data before it is passed in."
        )
    return found


def _bounds(member: DType) -> tuple[int, int]:
    """Least and largest integer that a dtype takes from a scalar."""
    if member in BOOL:
        return 0, 1
    if member in INTEGERS:
        known = np.iinfo(_FORMATS[member])
        return int(known.min), int(known.max)
    limits = _LIMITS[member]
    if limits.bits >= 16:
        return -_exact(limits), _exact(limits)
    # So few integers are exact in 8 bits that the range is all that is checked.
    return math.ceil(limits.min), int(limits.max)


def _exact(limits: finfo) -> int:
    """Up to here a float dtype holds every integer."""
    return 2 ** (limits.nmant + 1)


def _holds(wide: DType, narrow: DType) -> builtins.bool:
    """Tells whether every value of one dtype is a value of another."""
    if narrow in FLOATS:
        if wide not in FLOATS:
            return False
        inner, outer = _LIMITS[narrow], _LIMITS[wide]
        return (
            outer.nmant >= inner.nmant
            and outer.max >= inner.max
            and outer.min <= inner.min
            and outer.smallest_subnormal <= inner.smallest_subnormal
        )
    least, most = _BOUNDS[narrow]
    lowest, highest = _BOUNDS[wide]
    if wide in FLOATS:
        highest = min(highest, _exact(_LIMITS[wide]))
        lowest = max(lowest, -highest)
    return lowest <= least and most <= highest


def _promotions() -> dict[tuple[DType, DType], DType]:
    holds = {
        (wide, narrow) for wide in DType for narrow in DType if _holds(wide, narrow)
    }
    tiny = frozenset(member for member in DType if member.size_in_bits <= 8) - BOOL
    table: dict[tuple[DType, DType], DType] = {}
    for lhs in DType:
        for rhs in DType:
            meet = lhs is not rhs and {lhs, rhs} <= tiny and {lhs, rhs} & FLOATS
            for result in (DType.float16,) if meet else (lhs, rhs):
                if {(result, lhs), (result, rhs)} <= holds:
                    table[lhs, rhs] = result
    return table


BOOL = frozenset({DType.bool})
"""The bool type alone."""

SIGNED = frozenset({DType.int8, DType.int16, DType.int32, DType.int64})
"""Integers with a sign."""

UNSIGNED = frozenset({DType.uint8, DType.uint16, DType.uint32, DType.uint64})
"""Integers without a sign."""

INTEGERS = SIGNED | UNSIGNED
"""All integers; bool is none."""

FLOATS = frozenset(member for member in DType if "float" in member.name)
"""Floating-point types of all widths."""

NUMBERS = INTEGERS | FLOATS
"""Everything but bool."""

ALL = frozenset(DType)
"""Every member."""

_FLOAT8 = frozenset(member for member in DType if member.name.startswith("float8"))
_UNKNOWN_TO_JAX = frozenset({DType.float6_e2m3fn, DType.float6_e3m2fn})

_BY_NAME = {member.name: member for member in DType} | {
    _short(member.name): member for member in DType
}
_FORMATS = {member: _format(member) for member in DType}
_FROM_NUMPY = {found: member for member, found in _FORMATS.items()}
_TO_NUMPY = {
    member: np.dtype(np.uint8) if member in _FLOAT8 else found
    for member, found in _FORMATS.items()
    if member in _FLOAT8 or found.isbuiltin == 1
}
_LIMITS = {member: finfo(member) for member in FLOATS}
_BOUNDS = {member: _bounds(member) for member in DType}
_PROMOTED = _promotions()
