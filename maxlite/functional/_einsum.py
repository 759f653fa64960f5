"""Sums of products, written as an equation between the labels of axes.

An equation is worked out to a form of its own before it becomes a parameter of the row:
explicit, without spaces, and with a letter for each axis that an ellipsis stands for.
These letters are the ones that broadcast; any other label has one size everywhere.
Floats below 32 bits are added up in float32.

Beyond the reference: the whole family, with numpy's names and meaning. A label must
have the same size in all operands, where numpy lets size 1 stretch.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Any

import jax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import DType, promote
from maxlite.functional._dispatch import apply
from maxlite.functional._infer import (
    broadcast_shapes,
    normal_axis,
    one_or_several,
    whole_number,
)
from maxlite.functional._operands import beside
from maxlite.functional._precision import widened
from maxlite.graph._shape import shape_text
from maxlite.sharding.rules import einsum_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maxlite.graph import Dim
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor

LETTERS = string.ascii_letters
"""What labels are made of."""


def _einsum(*operands: jax.Array, equation: str, stretched: str) -> jax.Array:
    target = _promoted_dtype(DType.from_jax(x.dtype) for x in operands).to_jax()
    arrays = [x.astype(target) for x in operands]
    if _is_one_product(equation):
        wide = widened(jnp.zeros((), target)).dtype
        product = jnp.einsum(equation, *arrays, preferred_element_type=wide)
    else:
        product = jnp.einsum(equation, *map(widened, arrays))
    return product.astype(target)


def _is_one_product(equation: str) -> bool:
    """Whether an equation is a batched matrix product, which can add up in float32."""
    inputs, result = equation.split("->")
    terms = inputs.split(",")
    return len(terms) == 2 and all(
        len(set(term)) == len(term) and set(term) <= {*other, *result}
        for term, other in (terms, reversed(terms))
    )


def _infer_einsum(*operands: Spec, equation: str, stretched: str) -> tuple[DType, Any]:
    inputs, result = equation.split("->")
    sizes: dict[str, int | Dim] = {}
    for term, operand in zip(inputs.split(","), operands, strict=True):
        for label, size in zip(term, operand.shape, strict=True):
            known = sizes.setdefault(label, size)
            if label in stretched:
                (sizes[label],) = broadcast_shapes("einsum", (known,), (size,))
            elif size != known:
                shapes = " and ".join(shape_text(x.shape) for x in operands)
                raise ValueError(
                    f"einsum: a label must have one size, got {known} and {size} for "
                    f"{label!r} in {equation!r} of shapes {shapes}. Slice, broadcast "
                    "or rebind an operand."
                )
    dtype = _promoted_dtype(operand.dtype for operand in operands)
    return dtype, tuple(sizes[label] for label in result)


def _promoted_dtype(dtypes: Iterable[DType]) -> DType:
    return reduce(lambda one, other: promote(one, other, who="einsum"), dtypes)


_EINSUM = register(
    Op(
        name="einsum",
        fn=_einsum,
        infer=_infer_einsum,
        rule=einsum_rule,
        params=("equation", "stretched"),
    )
)


@front
def einsum(equation: str, *operands: Tensor) -> Tensor:
    """Multiplies operands and adds up the products along the axes that are left out.

    A label may be sharded: a sharded label of the result stays so, and one that is
    summed over leaves a pending sum. Either way each operand that has the label must be
    sharded along it, and nothing is communicated. One operand may be a pending sum,
    when the others are whole.

    Args:
        equation: A letter for each axis, operands separated by commas, then ``->`` and
            the axes of the result: ``"bij,bjk->bik"``. Without ``->`` the result has
            the letters that stand once, in alphabetical order. A letter that stands
            twice in one operand takes its diagonal. ``...`` stands for further axes,
            which broadcast from the right.
        operands: One tensor for each term; all promote.

    Returns:
        The axes named, in the promoted dtype; integers wrap around. Floats below 32
        bits are added up in float32.

    Raises:
        TypeError: An operand is no tensor, or ``equation`` no string.
        ValueError: The equation is none, or does not fit the shapes; or the dtypes do
            not promote.

    Source: ours; numpy's einsum.

    >>> from maxlite.tensor import Tensor
    >>> x, y = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1.0, 10.0])
    >>> einsum("ij,j->i", x, y).to_numpy().tolist()
    [21.0, 43.0]
    """
    if not isinstance(equation, str):
        raise TypeError(
            f"einsum: equation must be a string, got {type(equation).__name__}. Write "
            "'ij,jk->ik', for example."
        )
    tensors = beside("einsum", **{f"operands[{i}]": x for i, x in enumerate(operands)})
    ranks = tuple(x.rank for x in tensors)
    return apply(_EINSUM, tensors, *_explicit(equation, ranks))


@front
def tensordot(
    lhs: Tensor,
    rhs: Tensor,
    axes: int | tuple[int | Sequence[int], int | Sequence[int]] = 2,
) -> Tensor:
    """Multiplies two tensors and adds up the products along pairs of axes.

    Args:
        lhs: Any shape.
        rhs: Any shape; the two promote.
        axes: How many axes: the last ones of ``lhs`` with the first ones of ``rhs``, in
            order. Or which ones: those of ``lhs``, and those of ``rhs``.

    Returns:
        The other axes of ``lhs``, then those of ``rhs``, in the promoted dtype. Sharded
        or pending as in :func:`einsum`.

    Raises:
        TypeError: An operand is no tensor, or an axis no int.
        ValueError: There is no such axis, the axes do not pair, or sizes or dtypes do
            not fit.

    Source: ours; numpy's tensordot.

    >>> from maxlite.tensor import Tensor
    >>> x, y = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[1.0, 10.0]])
    >>> tensordot(x, y, axes=(1, 1)).to_numpy().tolist()
    [[21.0], [43.0]]
    """
    lhs, rhs = operands = beside("tensordot", lhs=lhs, rhs=rhs)
    left, right = _pairs(axes, lhs.rank, rhs.rank)
    for i, j in zip(left, right, strict=True):
        if lhs._spec.shape[i] != rhs._spec.shape[j]:
            raise ValueError(
                "tensordot: paired axes must have equal sizes, got axis "
                f"{i} of lhs {shape_text(lhs._spec.shape)} and axis {j} of rhs "
                f"{shape_text(rhs._spec.shape)}. Transpose or rebind one of them."
            )
    first = LETTERS[: lhs.rank]
    second = list(LETTERS[lhs.rank : lhs.rank + rhs.rank])
    for i, j in zip(left, right, strict=True):
        second[j] = first[i]
    result = [
        letter
        for letter in (*first, *second)
        if (letter in first) != (letter in second)
    ]
    return apply(_EINSUM, operands, f"{first},{''.join(second)}->{''.join(result)}", "")


def _pairs(
    axes: Any, left_rank: int, right_rank: int
) -> tuple[Sequence[int], Sequence[int]]:
    """Reads the axes of a tensordot."""
    if not isinstance(axes, Iterable):
        count = whole_number("tensordot", axes, "axes")
        if not 0 <= count <= min(left_rank, right_rank):
            raise ValueError(
                "tensordot: axes must be from 0 to the smaller rank, got "
                f"{count} for ranks {left_rank} and {right_rank}."
            )
        return range(left_rank - count, left_rank), range(count)
    sides = one_or_several(axes)
    if len(sides) != 2:
        raise ValueError(
            f"tensordot: axes must be those of lhs and those of rhs, got {len(sides)} "
            "entries. Write ([0, 1], [1, 0]), for example."
        )
    left, right = (
        [normal_axis("tensordot", axis, rank) for axis in one_or_several(side)]
        for side, rank in zip(sides, (left_rank, right_rank), strict=True)
    )
    if len(left) != len(right) or any(
        len(set(side)) < len(side) for side in (left, right)
    ):
        raise ValueError(
            f"tensordot: axes must pair, each named once, got {left} of lhs and "
            f"{right} of rhs. List the axis of rhs for each of lhs."
        )
    return left, right


# Equations ----------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _explicit(equation: str, ranks: tuple[int, ...]) -> tuple[str, str]:
    """Works an equation out for operands of these ranks.

    Returns:
        The equation with a result and without ellipses, and the letters that broadcast.
    """
    inputs, arrow, result = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if not ranks or len(terms) != len(ranks):
        raise _error(
            equation, f"one term for each operand, of which there are {len(ranks)}"
        )
    for term in [*terms, result]:
        _check_term(equation, term)
    depths = [
        _ellipsis_rank(equation, term, rank, i)
        for i, (term, rank) in enumerate(zip(terms, ranks, strict=True))
    ]
    free = [letter for letter in LETTERS if letter not in equation]
    if max(depths) > len(free):
        raise _error(equation, f"at most {len(LETTERS)} labels and axes")
    stretched = "".join(free[: max(depths)])
    if not arrow:
        result = "..." + _once(inputs)
    elif "..." not in result and stretched:
        raise _error(equation, "'...' in its result, as some operand has axes for it")
    written = [
        term.replace("...", stretched[len(stretched) - depth :])
        for term, depth in zip(terms, depths, strict=True)
    ]
    result = result.replace("...", stretched)
    _check_result(equation, result, "".join(written))
    return f"{','.join(written)}->{result}", stretched


def _once(inputs: str) -> str:
    """Lists the letters that stand once, in alphabetical order."""
    counts = Counter(letter for letter in inputs if letter in LETTERS)
    return "".join(sorted(letter for letter, count in counts.items() if count == 1))


def _check_term(equation: str, term: str) -> None:
    labels = term.replace("...", "", 1)
    if any(label not in LETTERS for label in labels):
        raise _error(equation, "letters, commas, '->' and one '...' in each term")


def _ellipsis_rank(equation: str, term: str, rank: int, i: int) -> int:
    """Counts the axes that the ellipsis of a term stands for."""
    labels = len(term.replace("...", ""))
    if labels > rank or (labels < rank and "..." not in term):
        raise _error(
            equation, f"a label for each axis of operand {i}, which has rank {rank}"
        )
    return rank - labels


def _check_result(equation: str, result: str, inputs: str) -> None:
    if len(set(result)) < len(result):
        raise _error(equation, "each label of the result once")
    if not set(result) <= set(inputs):
        raise _error(equation, "no label in its result that no operand has")


def _error(equation: str, wanted: str) -> ValueError:
    return ValueError(
        f"einsum: the equation must have {wanted}, got {equation!r}. Write "
        "'ij,jk->ik', for example."
    )
