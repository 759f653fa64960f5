"""Second names: what numpy and torch call the same thing.

Each is the very function that it names, not a copy. Where numpy or torch mean something
else by a name, there is no alias.

| Also called | is |
|---|---|
| ``absolute`` | ``abs`` |
| ``subtract``, ``multiply``, ``power``, ``negative`` | ``sub``, ``mul``, ... |
| ``divide``, ``true_divide`` | ``div`` |
| ``floor_divide`` | ``floor_div`` |
| ``remainder`` | ``mod`` |
| ``maximum``, ``minimum`` | ``elementwise_max``, ... |
| ``clip`` | ``clamp`` |
| ``rint`` | ``round`` |
| ``isfinite``, ``isinf``, ``isnan`` | ``is_finite``, ... |
| ``arccos``, ``arcsin``, ``arctan``, ``arctan2`` | ``acos``, ... |
| ``arccosh``, ``arcsinh``, ``arctanh`` | ``acosh``, ... |
| ``invert`` | ``bitwise_not`` |
| ``bitwise_left_shift``, ``bitwise_right_shift`` | ``left_shift``, ... |
| ``concatenate``, ``cat`` | ``concat`` |
| ``expand_dims`` | ``unsqueeze`` |
| ``swapaxes`` | ``transpose`` |
| ``ravel`` | ``flatten`` |
| ``movedim`` | ``moveaxis`` |
| ``log_softmax`` | ``logsoftmax`` |
| ``logsigmoid`` | ``log_sigmoid`` |
| ``hardsigmoid``, ``hardswish`` | ``hard_sigmoid``, ... |
| ``swish`` | ``silu`` |

Beyond the reference: all but ``clip``.
"""

from __future__ import annotations

from maxlite.functional._activation import log_sigmoid, silu
from maxlite.functional._binary import (
    div,
    elementwise_max,
    elementwise_min,
    floor_div,
    mod,
    mul,
    pow,
    sub,
)
from maxlite.functional._bitwise import bitwise_not, left_shift, right_shift
from maxlite.functional._comparison import clamp
from maxlite.functional._finite import is_finite, is_inf, is_nan
from maxlite.functional._join import concat
from maxlite.functional._rectifier import hard_sigmoid, hard_swish
from maxlite.functional._reshape import flatten
from maxlite.functional._rounding import round
from maxlite.functional._scan import logsoftmax
from maxlite.functional._shape import moveaxis, transpose, unsqueeze
from maxlite.functional._trigonometry import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
)
from maxlite.functional._unary import abs, negate

# Arithmetic
absolute = abs
subtract = sub
multiply = mul
divide = div
true_divide = div
floor_divide = floor_div
remainder = mod
power = pow
negative = negate
maximum = elementwise_max
minimum = elementwise_min
clip = clamp
rint = round
isfinite = is_finite
isinf = is_inf
isnan = is_nan

# Angles
arccos = acos
arccosh = acosh
arcsin = asin
arcsinh = asinh
arctan = atan
arctan2 = atan2
arctanh = atanh

# Bits
invert = bitwise_not
bitwise_left_shift = left_shift
bitwise_right_shift = right_shift

# Shapes
concatenate = concat
cat = concat
expand_dims = unsqueeze
swapaxes = transpose
ravel = flatten
movedim = moveaxis

# Activations
log_softmax = logsoftmax
logsigmoid = log_sigmoid
hardsigmoid = hard_sigmoid
hardswish = hard_swish
swish = silu
