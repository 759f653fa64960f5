"""Regions of images, against loops over bins, points and corners."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maxlite import functional as F
from maxlite._backend import x64
from maxlite._op_table import lookup
from maxlite.dtype import DType
from maxlite.sharding import (
    ALL_TRANSITIONS,
    Partial,
    ShardingError,
    auto_reshard,
)
from maxlite.tensor import Tensor
from tests.functional._cross import FLOATS, check, check_eager, check_sharded, place

IMAGES = (np.arange(120, dtype=np.float32).reshape(2, 5, 6, 2) % 13) - 4
# Powers of two all over, so that the points are exact in float32.
REGIONS = np.array(
    [
        [0, 0.75, 1.25, 4.25, 3.5],  # inside
        [1, -2, -3, 5, 4],  # larger than the image
        [1, 2, 2, 2.25, 2.125],  # smaller than a pixel
        [0, 4, 4, 1, 1],  # ends before it starts
        [0, -24, 1, 40, 2],  # most of it is outside
        [1, 50, 50, 66, 66],  # all of it is
    ],
    np.float32,
)


def answer(x, regions, high, wide, scale=1.0, ratio=0, aligned=False, mode="AVG"):
    made = np.zeros((len(regions), high, wide, x.shape[3]))
    for m, (number, *box) in enumerate(regions.astype(np.float64)):
        shift = 0.5 if aligned else 0.0
        x1, y1, x2, y2 = (side * scale for side in box)
        sides = [y2 - y1, x2 - x1]
        if not aligned:
            sides = [max(side, 1.0) for side in sides]
        rows = points(y1 - shift, sides[0], high, ratio)
        columns = points(x1 - shift, sides[1], wide, ratio)
        image = x[int(number)].astype(np.float64)
        for p in range(high):
            for q in range(wide):
                corners = [
                    products(image, y, column) for y in rows[p] for column in columns[q]
                ]
                if corners and mode == "AVG":
                    made[m, p, q] = np.mean(np.sum(corners, 1), 0)
                elif corners:
                    made[m, p, q] = np.max(corners, (0, 1))
    return made.astype(x.dtype)


def points(start: float, side: float, bins: int, ratio: int) -> list[list[float]]:
    count = ratio or math.ceil(side / bins)
    step = side / bins / count if count else 0.0
    return [
        [start + p * side / bins + (i + 0.5) * step for i in range(count)]
        for p in range(bins)
    ]


def products(image: np.ndarray, y: float, x: float) -> np.ndarray:
    """Lists the four pixels around a point, each times its weight."""
    height, width, channels = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros((4, channels))
    top, bottom, down = around(y, height)
    left, right, across = around(x, width)
    return np.stack(
        [
            (1 - down) * (1 - across) * image[top, left],
            (1 - down) * across * image[top, right],
            down * (1 - across) * image[bottom, left],
            down * across * image[bottom, right],
        ]
    )


def around(at: float, size: int) -> tuple[int, int, float]:
    at = max(at, 0.0)
    low = min(math.floor(at), size - 1)
    return low, min(low + 1, size - 1), at - low


@pytest.mark.parametrize(
    ("scale", "ratio", "aligned", "mode"),
    [
        (1.0, 0, False, "AVG"),
        (0.5, 0, True, "AVG"),
        (0.5, 4, False, "AVG"),
        (1.0, 1, True, "MAX"),
        (0.5, 0, False, "MAX"),
        (1.0, 0, True, "MAX"),
    ],
)
def test_regions_are_sampled(scale, ratio, aligned, mode):
    options = (scale, ratio, aligned, mode)
    want = answer(IMAGES, REGIONS, 2, 4, *options)
    check_eager(
        lambda x, r: F.roi_align(x, r, 2, 4, *options), IMAGES, REGIONS, want=want
    )


def test_regions_run_in_every_way():
    def run(x: Tensor, regions: Tensor) -> Tensor:
        fives = F.rebind(regions, [regions.shape[0], 5])
        return F.roi_align(x, fives, 1, 2)

    check(run, IMAGES, REGIONS, want=answer(IMAGES, REGIONS, 1, 2))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_each_float_dtype_is_kept(dtype):
    """Coordinates stay in float32; sixteen bits could not tell them apart."""
    x = IMAGES.astype(dtype)
    want = answer(x, REGIONS[:3], 2, 2)
    check_eager(lambda x, r: F.roi_align(x, r, 2, 2), x, REGIONS[:3], want=want)


def test_many_regions_are_computed_in_parts():
    regions = np.tile(REGIONS, (4, 1))[:19]
    want = answer(IMAGES, regions, 2, 2)
    check_eager(lambda x, r: F.roi_align(x, r, 2, 2), IMAGES, regions, want=want)


def test_there_may_be_no_regions_or_bins():
    x, none = Tensor(IMAGES), Tensor(np.zeros((0, 5), np.float32))
    for mode in ("AVG", "MAX"):
        assert F.roi_align(x, none, 2, 3, mode=mode).shape == [0, 2, 3, 2]
        assert F.roi_align(x, Tensor(REGIONS), 0, 3, mode=mode).shape == [6, 0, 3, 2]


def test_the_ratio_is_rounded_down():
    x, regions = Tensor(IMAGES), Tensor(REGIONS)
    found = F.roi_align(x, regions, 2, 2, sampling_ratio=2.75)
    assert (
        found.to_numpy() == F.roi_align(x, regions, 2, 2, 1.0, 2.0).to_numpy()
    ).all()


@pytest.mark.parametrize("mode", ["AVG", "MAX"])
def test_what_is_not_finite_stays_where_it_is(mode):
    x = IMAGES.copy()
    x[0, 0, 0, 0], x[0, 4, 5, 1] = np.inf, np.nan
    regions = np.array([[0, 1, 1, 3, 3], [0, 0, 0, 2, 2], [0, 3, 2, 6, 5]], np.float32)
    found = F.roi_align(Tensor(x), Tensor(regions), 1, 1, mode=mode).to_numpy()
    clean = answer(IMAGES, regions, 1, 1, mode=mode)
    np.testing.assert_allclose(found[0], clean[0], 1e-6)
    assert found[1, 0, 0, 0] == np.inf
    assert np.isnan(found[2, 0, 0, 1])
    np.testing.assert_allclose(found[2, 0, 0, 0], clean[2, 0, 0, 0], 1e-6)


@pytest.mark.parametrize("mode", ["AVG", "MAX"])
def test_it_can_be_differentiated(mode):
    """Against differences; the points lie off the pixels, where it is smooth."""
    options = {"scale": 1.0, "ratio": 0, "aligned": False, "mode": mode}
    run = partial(lookup("roi_align").fn, bins=(2, 2), **options)
    regions = np.array([[0, 0.35, 0.4, 3.0, 3.7], [1, -1.3, 0.25, 2.9, 2.3]])
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 4, 5, 1))
    with x64():
        total = jax.jit(lambda *a: jnp.sum(jnp.sin(run(*a))))
        found = jax.jit(jax.grad(total, (0, 1)))(jnp.asarray(x), jnp.asarray(regions))
        for which, at in ((0, (0, 1, 2, 0)), (1, (0, 1)), (1, (1, 4))):
            step = np.zeros((x, regions)[which].shape)
            step[at] = 1e-5
            moved = [
                [
                    jnp.asarray(a + sign * step if i == which else a)
                    for i, a in enumerate((x, regions))
                ]
                for sign in (1, -1)
            ]
            slope = (total(*moved[0]) - total(*moved[1])) / 2e-5
            np.testing.assert_allclose(found[which][at], slope, 1e-5, 1e-8)


# Errors -------------------------------------------------------------------------------

X, R = Tensor(IMAGES), Tensor(REGIONS)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: F.roi_align(X, R, 2, 2, mode="avg"), "mode must be 'AVG' or 'MAX'"),
        (lambda: F.roi_align(X[0], R, 2, 2), r"input must have shape .*\[5, 6, 2\]"),
        (lambda: F.roi_align(X, R[0], 2, 2), r"rois must have shape .* got \[5\]"),
        (lambda: F.roi_align(X, R[:, :4], 2, 2), r"rois must have .* got \[6, 4\]"),
        (lambda: F.roi_align(X, R, -1, 2), "output_height must be 0 or more, got -1"),
        (lambda: F.roi_align(X, R + 1, 2, 2), "from 0 to 1, got 1 to 2"),
        (lambda: F.roi_align(X, R - 1, 2, 2), "from 0 to 1, got -1 to 0"),
    ],
)
def test_shapes_and_options_are_checked(run, message):
    with pytest.raises(ValueError, match=message):
        run()


def test_images_and_regions_are_floats():
    with pytest.raises(TypeError, match="input must be of floating dtype, got int32"):
        F.roi_align(F.cast(X, DType.int32), R, 2, 2)
    with pytest.raises(TypeError, match="rois must be of floating dtype, got int64"):
        F.roi_align(X, F.cast(R, DType.int64), 2, 2)
    with pytest.raises(TypeError, match="output_width must be an int, got float"):
        F.roi_align(X, R, 2, 2.0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="rois must be a Tensor, got list"):
        F.roi_align(X, [0, 0, 0, 1, 1], 2, 2)  # pyright: ignore[reportArgumentType]


def test_a_program_answers_a_missing_image_with_nan():
    with F.lazy():
        found = F.roi_align(X, R[:2] * 0 - 1, 1, 1)
    assert np.isnan(found.to_numpy()).all()


# On a mesh ----------------------------------------------------------------------------


def test_regions_and_channels_may_be_sharded():
    check_sharded(
        lambda x, r: F.roi_align(x, r, 2, 2),
        (IMAGES, "S3 R"),
        (REGIONS, "R S0"),
        lands="S3 S0",
    )


def test_a_mean_passes_a_pending_sum_on():
    found = F.roi_align(place(IMAGES, "P"), place(REGIONS, "R"), 2, 2)
    assert found.placements == (Partial(),)
    want = answer(IMAGES, REGIONS, 2, 2)
    np.testing.assert_allclose(found.to_numpy(), want, 1e-5, 1e-5)


def test_maxima_need_the_sum():
    x, regions = place(IMAGES, "P"), place(REGIONS, "R")
    with pytest.raises(ShardingError, match="roi_align"):
        F.roi_align(x, regions, 2, 2, mode="MAX")
    with auto_reshard(ALL_TRANSITIONS, mode="silent"):
        found = F.roi_align(x, regions, 2, 2, mode="MAX")
    want = answer(IMAGES, REGIONS, 2, 2, mode="MAX")
    np.testing.assert_allclose(found.to_numpy(), want, 1e-5, 1e-5)
