"""Regions of images brought to one size, for detection.

A region is divided into bins, a bin is sampled at evenly spaced points, and a point
takes part of the four pixels around it. All points of a region lie on a grid, so its
two axes are worked out apart: a mean is one product with a matrix for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from maxlite._op_table import Op, front, register
from maxlite.dtype import FLOATS
from maxlite.functional._dispatch import apply
from maxlite.functional._index import known_values
from maxlite.functional._infer import check_dtype, real_number, whole_number
from maxlite.functional._operands import as_tensor
from maxlite.functional._precision import widened
from maxlite.graph._shape import shape_text
from maxlite.sharding.rules import roi_align_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from maxlite.dtype import DType
    from maxlite.graph._shape import CompactShape
    from maxlite.graph._spec import Spec
    from maxlite.tensor._tensor import Tensor

REGIONS_AT_ONCE = 8
"""Regions computed side by side; each takes memory of about two images."""

_TOO_LARGE = 2.0**31
"""Neither a scale nor a number of points reaches this far in earnest."""


@dataclass(frozen=True, slots=True)
class _Points:
    """Sample points of a region along one axis.

    Attributes:
        bins: In how many bins.
        size: Of the image.
        per_bin: Points in each bin.
        bin: The bin of each point that may lie in the image; ``bins`` if there is none.
        inside: Whether the point lies in the image.
        low: The pixel before each point, held to the image.
        high: The pixel after it.
        part: How far it is from ``low`` to ``high``.
    """

    bins: int
    size: Any
    per_bin: jax.Array
    bin: jax.Array
    inside: jax.Array
    low: jax.Array
    high: jax.Array
    part: jax.Array

    @property
    def corners(self) -> tuple[jax.Array, jax.Array]:
        """Pixels and weights, two per point; a point outside of the image weighs 0."""
        weights = jnp.stack([1 - self.part, self.part], -1)
        zero = jnp.zeros((), weights.dtype)
        return (
            jnp.stack([self.low, self.high], -1),
            jnp.where(self.inside[:, None], weights, zero),
        )

    @property
    def means(self) -> jax.Array:
        """What each pixel weighs in the mean of each bin, ``[bins, size]``."""
        pixels, weights = self.corners
        empty = jnp.zeros((self.bins, self.size), weights.dtype)
        total = empty.at[self.bin[:, None], pixels].add(weights, mode="drop")
        return total / jnp.maximum(self.per_bin, 1).astype(total.dtype)

    @property
    def reaches_out(self) -> jax.Array:
        """Whether a point of each bin lies outside, or there is none."""
        counted = jnp.zeros(self.bins, jnp.int64)
        counted = counted.at[self.bin].add(self.inside.astype(jnp.int64), mode="drop")
        return counted < jnp.maximum(self.per_bin, 1)


def _points(
    start: jax.Array, length: jax.Array, bins: int, size: Any, ratio: int
) -> _Points:
    """Lays points along one axis of a region.

    Args:
        start: Where the region begins, in pixels.
        length: Its size, in pixels.
        bins: How many bins it is divided into.
        size: Of the image.
        ratio: Points per bin, or 0 for as many as a bin has pixels, rounded up.
    """
    width = length / bins
    if ratio:
        per_bin = jnp.asarray(ratio, jnp.int64)
        number = jnp.arange(bins * ratio, dtype=jnp.int64)
        step = width / ratio
    else:
        per_bin = jnp.maximum(jnp.ceil(width), 0).astype(jnp.int64)
        step = width / jnp.maximum(per_bin, 1).astype(width.dtype)
        # Bins of several points have them more than half a pixel apart, so that few
        # lie in the image; those before it are skipped.
        near = jnp.where(per_bin > 1, step, 1)
        before = jnp.floor((-1 - start) / near).astype(jnp.int64) - 1
        skipped = jnp.where(per_bin > 1, jnp.maximum(before, 0), 0)
        number = skipped + jnp.arange(max(bins, 2 * size + 6), dtype=jnp.int64)
    at = start + (number.astype(start.dtype) + 0.5) * step
    known = number < bins * per_bin
    inside = known & (at >= -1) & (at <= size)
    last = jnp.asarray(size - 1, jnp.int64)
    at = jnp.clip(at, 0, size)
    low = jnp.minimum(jnp.floor(at).astype(jnp.int64), last)
    return _Points(
        bins=bins,
        size=size,
        per_bin=per_bin,
        bin=jnp.where(known, number // jnp.maximum(per_bin, 1), bins),
        inside=inside,
        low=low,
        high=jnp.minimum(low + 1, last),
        part=at - low.astype(at.dtype),
    )


def _roi_align(
    images: jax.Array,
    rois: jax.Array,
    *,
    bins: tuple[int, int],
    scale: float,
    ratio: int,
    aligned: bool,
    mode: str,
) -> jax.Array:
    wide = widened(images)
    precise = np.promote_types(wide.dtype, widened(rois).dtype)
    _, height, width, _ = images.shape

    def grid(roi: jax.Array) -> tuple[_Points, _Points]:
        x1, y1, x2, y2 = (roi[i] * scale for i in range(1, 5))
        shift = 0.5 if aligned else 0.0
        least = -jnp.inf if aligned else 1.0
        return (
            _points(y1 - shift, jnp.maximum(y2 - y1, least), bins[0], height, ratio),
            _points(x1 - shift, jnp.maximum(x2 - x1, least), bins[1], width, ratio),
        )

    def mapped(one: Callable[..., jax.Array]) -> jax.Array:
        def region(roi: jax.Array) -> jax.Array:
            number = roi[0].astype(jnp.int64)
            number = jnp.where(number < 0, images.shape[0], number)
            image = jnp.take(wide, number, 0, mode="fill")
            return one(image, *grid(roi))

        parts = _parts(rois.astype(precise))
        made = cast("jax.Array", lax.map(jax.vmap(region), parts))
        return lax.collapse(made, 0, 2)[: rois.shape[0]]

    if mode == "MAX":
        return mapped(_maxima).astype(images.dtype)
    # A product with weights 0 would spread what is not finite over all regions.
    finite = jnp.all(jnp.isfinite(wide))
    made = cast(
        "jax.Array",
        lax.cond(finite, lambda: mapped(_means), lambda: mapped(_careful_means)),
    )
    return made.astype(images.dtype)


def _parts(rois: jax.Array) -> jax.Array:
    """Lays regions out in parts of equal length, the last one filled up."""
    count = rois.shape[0]
    length = min(REGIONS_AT_ONCE, max(count, 1))
    filled = jnp.pad(rois, ((0, -count % length), (0, 0)))
    return filled.reshape(-1, length, 5)


def _means(image: jax.Array, rows: _Points, columns: _Points) -> jax.Array:
    weights = [points.means.astype(image.dtype) for points in (rows, columns)]
    over_rows = jnp.einsum("ph,hwc->pwc", weights[0], image)
    return jnp.einsum("qw,pwc->pqc", weights[1], over_rows)


def _careful_means(image: jax.Array, rows: _Points, columns: _Points) -> jax.Array:
    """Takes means of pixels that need not be finite."""
    down, across = (points.means.astype(image.dtype) for points in (rows, columns))
    over_rows = jnp.sum(_weighed(down[:, :, None, None], image), 1)
    return jnp.sum(_weighed(across[:, :, None], over_rows[:, None]), 2)


def _maxima(image: jax.Array, rows: _Points, columns: _Points) -> jax.Array:
    # Weights are not negative, so the largest product is found axis by axis.
    over_rows = jnp.moveaxis(_axis_maxima(image, rows), 1, 0)
    return jnp.moveaxis(_axis_maxima(over_rows, columns), 1, 0)


def _axis_maxima(values: jax.Array, points: _Points) -> jax.Array:
    """Finds the largest product with a weight in each bin of the first axis."""
    pixels, weights = points.corners
    ones = (1,) * (values.ndim - 1)
    factors = weights.astype(values.dtype).reshape(-1, *ones)
    products = _weighed(factors, jnp.take(values, pixels.ravel(), 0))
    least = jnp.full((points.bins, *values.shape[1:]), -jnp.inf, values.dtype)
    both = jnp.repeat(points.bin, 2)
    made = least.at[both].max(products, mode="drop")
    outside = points.reaches_out.reshape(-1, *ones)
    return jnp.where(outside, jnp.maximum(made, jnp.zeros((), made.dtype)), made)


def _weighed(weights: jax.Array, values: jax.Array) -> jax.Array:
    """Multiplies; what has weight 0 does not count, be it infinite."""
    zero = jnp.zeros((), values.dtype)
    return jnp.where(weights == 0, zero, values) * weights


def _infer_roi_align(
    images: Spec, rois: Spec, *, bins: tuple[int, int], **_: Any
) -> tuple[DType, CompactShape]:
    check_dtype("roi_align", images, FLOATS, name="input")
    check_dtype("roi_align", rois, FLOATS, name="rois")
    if images.rank != 4 or 0 in images.shape[:3]:
        raise ValueError(
            "roi_align: input must have shape [n, height, width, channels] and pixels, "
            f"got {shape_text(images.shape)}. Unsqueeze or permute it."
        )
    if rois.rank != 2 or rois.shape[1] != 5:
        raise ValueError(
            "roi_align: rois must have shape [regions, 5], a region being image, x1, "
            f"y1, x2 and y2, got {shape_text(rois.shape)}."
        )
    return images.dtype, (rois.shape[0], *bins, images.shape[3])


_ROI_ALIGN = register(
    Op(
        name="roi_align",
        fn=_roi_align,
        infer=_infer_roi_align,
        rule=roi_align_rule,
        params=("bins", "scale", "ratio", "aligned", "mode"),
        runs_locally=True,
        dtypes=FLOATS,
    )
)


@front
def roi_align(
    input: Tensor,
    rois: Tensor,
    output_height: int,
    output_width: int,
    spatial_scale: float = 1.0,
    sampling_ratio: float = 0.0,
    aligned: bool = False,
    mode: str = "AVG",
) -> Tensor:
    """Brings regions of images to one size.

    A region is divided into ``output_height`` times ``output_width`` bins. Points of a
    bin lie evenly in it; one that is more than a pixel outside of the image has value
    0, any other takes part of the four pixels around it.

    Args:
        input: Images, shape ``[n, height, width, channels]``; floats.
        rois: Regions, shape ``[m, 5]``: number of the image, x1, y1, x2, y2; floats.
        output_height: Bins along the height.
        output_width: Bins along the width.
        spatial_scale: Pixels of ``input`` per unit of the coordinates.
        sampling_ratio: Points of a bin along each axis, rounded down; with 0, as many
            as a bin has pixels, rounded up.
        aligned: Whether a pixel's center lies at half its number, so that regions are
            shifted by half a pixel; if not, a region is at least one pixel large.
        mode: ``"AVG"`` for the mean of the points, each an interpolation of its four
            pixels; ``"MAX"`` for the largest product of a pixel and its weight.

    Returns:
        Shape ``[m, output_height, output_width, channels]``, dtype of ``input``. Runs
        on sharded regions or sharded channels; a mean passes a pending sum on. A region
        without points gives 0, one of an image that is not there NaN.

    Raises:
        TypeError: An operand is no tensor or has no floats, a number of bins is no int,
            or another number none.
        ValueError: Shapes do not fit, there is no such mode, a number of bins is
            negative or, outside of a program, there is no such image.

    Source: max.experimental.functional.roi_align.

    >>> from maxlite.tensor import Tensor
    >>> image = Tensor([[[[0.0], [1.0]], [[2.0], [3.0]]]])
    >>> regions = Tensor([[0.0, 0.0, 0.0, 1.0, 1.0]])
    >>> roi_align(image, regions, 1, 1).item()
    1.5
    """
    as_tensor("roi_align", input, "input")
    as_tensor("roi_align", rois, "rois")
    bins = (
        _bin_count(output_height, "output_height"),
        _bin_count(output_width, "output_width"),
    )
    if mode not in ("AVG", "MAX"):
        raise ValueError(f"roi_align: mode must be 'AVG' or 'MAX', got {mode!r}.")
    scale = _factor(spatial_scale, "spatial_scale")
    ratio = max(int(_factor(sampling_ratio, "sampling_ratio")), 0)
    made = apply(_ROI_ALIGN, (input, rois), bins, scale, ratio, bool(aligned), mode)
    _check_images(rois, input._spec.shape[0])
    return made


def _factor(value: Any, name: str) -> float:
    factor = real_number("roi_align", value, name)
    if not abs(factor) < _TOO_LARGE:
        raise ValueError(
            f"roi_align: {name} must be a number between -2**31 and 2**31, got "
            f"{factor}."
        )
    return factor


def _bin_count(count: Any, name: str) -> int:
    bins = whole_number("roi_align", count, name)
    if bins < 0:
        raise ValueError(f"roi_align: {name} must be 0 or more, got {bins}.")
    return bins


def _check_images(rois: Tensor, count: Any) -> None:
    """Refuses regions of images that are not there, where that can be seen at once."""
    known = known_values(rois)
    if known is None or not known.size:
        return
    numbers = np.trunc(known[:, 0].astype(np.float64))
    if not (numbers.min() >= 0 and numbers.max() < count):
        raise ValueError(
            f"roi_align: the image of a region must be from 0 to {count - 1}, got "
            f"{numbers.min():g} to {numbers.max():g}."
        )
