"""assert_all_close: what passes, what fails, and what the failure says."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import DeviceMapping, DeviceMesh, Partial, Sharded
from maxlite.tensor import Tensor
from maxlite.testing import assert_all_close

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("t1", "t2"),
    [
        ([1, 2], Tensor([1.0, 2.0])),
        (Tensor([1.0, 2.0]), [1.0, 2.0]),
        (np.array([1, 2], np.float32), Tensor([1.0, 2.0])),
        (Tensor([[1.0, 2.0]]), Tensor([[1.0, 2.0000005]])),
        (Tensor([1.0]), Tensor([1.0])),
        (1.0, Tensor(1.0)),
        (0.0, Tensor([0.0, 0.0])),
        (Tensor([]), Tensor([])),
        ([NAN, INF, -INF], Tensor([NAN, INF, -INF])),
        ([True, False], Tensor([True, False], dtype=DType.bool)),
        ([1.0, 0.5], Tensor([1.0, 0.5], dtype=DType.bfloat16)),
    ],
)
def test_equal_values_of_any_kind_pass(t1: Any, t2: Any) -> None:
    assert_all_close(t1, t2)


@pytest.mark.parametrize(
    ("t1", "t2"),
    [
        ([1.0, NAN], Tensor([1.0, 2.0])),
        ([1.0, 2.0], Tensor([1.0, NAN])),
        ([INF], Tensor([-INF])),
        ([INF], Tensor([1.0])),
        (0.0, Tensor(1e-9)),
        (Tensor([1.0]), Tensor([2.0])),
        ([2**53], Tensor([2**53 + 1], dtype=DType.int64)),
        ([True], Tensor([False], dtype=DType.bool)),
    ],
)
def test_other_values_fail(t1: Any, t2: Any) -> None:
    with pytest.raises(AssertionError, match=r"1 of [12] differ"):
        assert_all_close(t1, t2)


@pytest.mark.parametrize(
    ("atol", "rtol", "passes"),
    [(2.0, 0.02, True), (0.5, 0.02, False), (2.0, 0.001, False)],
)
def test_both_tolerances_must_hold(atol: float, rtol: float, passes: bool) -> None:
    expected, actual = [100.0, 1.0], Tensor([101.0, 1.0])
    if passes:
        assert_all_close(expected, actual, atol=atol, rtol=rtol)
    else:
        with pytest.raises(AssertionError, match=f"atol={atol} and rtol={rtol}"):
            assert_all_close(expected, actual, atol=atol, rtol=rtol)


def test_the_failure_names_the_pair_that_differs_most() -> None:
    says = re.escape(
        "got 4.0 and 2.0 * |t1| at index [1, 0]: t1 2.0, t2 6.0; 2 of 4 differ."
    )
    with pytest.raises(AssertionError, match=says):
        assert_all_close([[1.0, 1.0], [2.0, 2.0]], Tensor([[1.0, 2.0], [6.0, 2.0]]))


def test_shapes_that_do_not_broadcast_fail() -> None:
    with pytest.raises(AssertionError, match=re.escape("got t1 [3] and t2 [2]")):
        assert_all_close([1.0, 2.0, 3.0], Tensor([1.0, 2.0]))


def test_a_tensor_on_a_mesh_is_compared_by_its_global_value() -> None:
    mesh = DeviceMesh((CPU(), CPU()), (2,), ("x",))
    for placement in (Sharded(0), Partial()):
        moved = Tensor([1.0, 2.0]).to(mesh).to(DeviceMapping(mesh, (placement,)))
        assert_all_close([1.0, 2.0], moved)
