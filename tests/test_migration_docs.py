"""The functions of the reference are here, and so is what docs and messages name."""

import re
from pathlib import Path

from maxlite import functional

FUNCTIONS = """
abs acos add allgather allreduce_sum arange argmax argmin argsort
as_interleaved_complex atanh avg_pool2d band_part bottom_k broadcast_to buffer_store
buffer_store_slice call_on_mesh cast ceil chunk clamp clip complex_mul concat cond
constant constant_external conv2d conv2d_transpose conv3d cos cumsum custom
dequantize distributed_broadcast div elementwise_max elementwise_min ensure_context
equal erf exp flatten floor floor_div fold full full_like functional gather
gather_nd gaussian gaussian_like gelu greater greater_equal group_norm hann_window
in_graph_context inplace_custom irfft is_inf is_nan layer_norm lazy log log1p
logical_and logical_not logical_or logical_xor logsoftmax masked_scatter matmul max
max_pool2d mean min mod mul negate non_maximum_suppression nonzero normal
normal_like not_equal ones ones_like outer pad permute pow print prod qmatmul range
rebind reduce_scatter relu repeat_interleave reshape resize resize_bicubic
resize_linear resize_nearest rms_norm roi_align round rsqrt scatter scatter_add
scatter_max scatter_min scatter_mul scatter_nd scatter_nd_add scatter_nd_max
scatter_nd_min scatter_nd_mul shape_to_tensor side_stream sigmoid silu sin
slice_tensor softmax split sqrt squeeze stack sub sum tanh tile top_k transfer_to
transpose trunc uniform uniform_like unsqueeze where while_loop zeros zeros_like
"""
"""All public names of ``max.experimental.functional`` 26.7."""

DOCS = Path(__file__).parents[1] / "docs"


def test_every_function_of_the_reference_is_here():
    assert [name for name in FUNCTIONS.split() if not hasattr(functional, name)] == []
    assert set(FUNCTIONS.split()) <= set(functional.__all__)


def test_every_function_that_docs_and_messages_name_exists():
    sources = [*DOCS.glob("*.md"), DOCS.parent / "README.md"]
    sources += (DOCS.parent / "maxlite").rglob("*.py")
    named = {
        (source.name, name)
        for source in sources
        for name in re.findall(r"\bF\.([a-z_0-9]+)", source.read_text())
    }
    assert {
        (source, name) for source, name in named if not hasattr(functional, name)
    } == set()
