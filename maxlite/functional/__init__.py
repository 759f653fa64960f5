"""Functions on tensors: each is a typed front of one or more rows of the op table."""

from maxlite.functional._binary import (
    add,
    div,
    elementwise_max,
    elementwise_min,
    floor_div,
    mod,
    mul,
    pow,
    sub,
)
from maxlite.functional._creation import (
    arange,
    constant,
    constant_external,
    full,
    full_like,
    ones,
    ones_like,
    range,
    zeros,
    zeros_like,
)
from maxlite.functional._matmul import matmul, outer
from maxlite.functional._transfer import transfer_to
from maxlite.functional._unary import (
    abs,
    exp,
)
from maxlite.realization_context import ensure_context, in_graph_context, lazy
