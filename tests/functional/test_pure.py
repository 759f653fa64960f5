"""Groups of ops that are known to be pure run what was recorded before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxlite import DType, Tensor, compile, default_dtype
from maxlite import functional as F
from maxlite.graph import ops
from maxlite.sharding import AxisAssignment, DeviceMapping, Replicated, Sharded
from tests.functional._cross import check
from tests.sharding.meshes import cpu_mesh

X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


def counting(body: Any) -> tuple[Any, list[int]]:
    seen: list[int] = []

    def fn(*args: Any, **kwargs: Any) -> Any:
        seen.append(1)
        return body(*args, **kwargs)

    return F.functional(fn, pure=True), seen


def test_it_is_the_same_in_every_way() -> None:
    fn = F.functional(lambda x, y: (x + y) * y - x, pure=True)
    for _ in range(2):
        check(fn, X, X, want=(X + X) * X - X)
    check(F.functional(ops.add, pure=True), X, X, want=X + X)


def test_the_body_runs_once_per_kind_of_arguments() -> None:
    fn, seen = counting(lambda x, k=2.0: x * k)
    for value in (1.0, 2.0):
        assert fn(Tensor([value])).item() == 2 * value
    assert len(seen) == 1
    assert fn(Tensor([1.0, 2.0])).to_numpy().tolist() == [2, 4]
    assert fn(Tensor([3], dtype=DType.int32), 2).dtype == DType.int32
    assert len(seen) == 3
    for k, want in ((1, 3), (True, 3), (1.0, 3), (0.0, 0), (-0.0, 0)):
        assert fn(Tensor([3.0]), k=k).item() == want
    assert len(seen) == 8
    assert str(fn(Tensor([3.0]), k=-0.0).item()) == "-0.0"
    assert len(seen) == 8


def test_one_tensor_for_two_arguments_is_no_special_kind() -> None:
    fn, seen = counting(lambda x, y: x - y)
    x, y = Tensor([5.0]), Tensor([3.0])
    assert [fn(x, x).item(), fn(x, y).item(), fn(y, x).item()] == [0, 2, -2]
    assert len(seen) == 1


def test_trees_arguments_and_statics_come_back() -> None:
    fn, seen = counting(lambda t: {"same": t["x"], "made": [t["x"] + 1, "text", None]})
    for value in (1.0, 2.0):
        x = Tensor([value])
        found = fn({"x": x})
        assert found["same"] is x
        assert found["made"][0].item() == value + 1
        assert found["made"][1:] == ["text", None]
    assert len(seen) == 1


def test_what_it_closes_over_is_read_at_every_call() -> None:
    weight = Tensor([10.0])
    fn, seen = counting(lambda x: x * weight)
    assert fn(Tensor([2.0])).item() == 20
    weight[...] = 3.0
    assert fn(Tensor([2.0])).item() == 6
    assert len(seen) == 1


def test_defaults_are_part_of_the_kind() -> None:
    fn, _ = counting(lambda x: x + F.ones([1]).cast(x.dtype) * F.full([1], 2.0).sum())
    assert fn(Tensor([1.0])).item() == 3
    made, _ = counting(lambda x: F.zeros_like(x) + 1 if x.rank else F.ones([2]))
    scalar = Tensor(1.0)
    assert made(scalar).dtype == DType.float32
    with default_dtype(DType.float64):
        assert made(scalar).dtype == DType.float64


def test_inside_a_context_it_is_recorded() -> None:
    fn, seen = counting(lambda x: x + 1)
    with F.lazy():
        y = fn(Tensor([1.0]))
        assert not y.real
    assert y.item() == 2
    assert compile(fn)(Tensor([1.0]).layout)(Tensor([4.0])).item() == 5
    assert len(seen) == 2


def test_sharded_and_measured_ones_run_as_usual() -> None:
    mapping = DeviceMapping(cpu_mesh(2), (Sharded(0),))
    rows = [_row(Sharded(0)), _row(Replicated())]
    fn = F.functional(lambda x: x * 2, rule=lambda x: rows, pure=True)
    made = fn(Tensor(X).to(mapping))
    assert made.placements == (Sharded(0),)
    assert made.to_numpy().tolist() == (X * 2).tolist()
    found, seen = counting(lambda x: F.nonzero(x))
    for data in ([0.0, 3.0], [1.0, 1.0]):
        want = np.argwhere(np.array(data))
        assert found(Tensor(data)).to_numpy().tolist() == want.tolist()
    assert len(seen) == 3  # once in vain


def _row(placement: Any) -> Any:
    return AxisAssignment((placement,), (placement,))


@pytest.mark.parametrize(
    ("body", "match"),
    [
        (lambda x: x + F.uniform([1]), "random numbers"),
        (lambda x: F.print(x, "x") or x, "effects such as print"),
        (lambda x: x.__setitem__(0, 5.0) or x, "cannot write to what it is given"),
        (lambda x: x * x.item(), "while the graph is traced"),
    ],
)
def test_what_is_not_pure_is_refused(body: Any, match: str) -> None:
    x = Tensor([1.0])
    with pytest.raises(TypeError, match=match):
        F.functional(body, pure=True)(x)
    assert x.item() == 1
    F.functional(lambda x: x + 1)(x)


def test_what_it_computed_may_be_written_to() -> None:
    def body(x: Tensor) -> Tensor:
        y = x + 0.0
        y[0] = 7.0
        return y

    fn, x = F.functional(body, pure=True), Tensor([1.0, 2.0])
    for _ in range(2):
        assert fn(x).to_numpy().tolist() == [7, 2]
    assert x.to_numpy().tolist() == [1, 2]


def test_an_error_is_not_remembered() -> None:
    fn, seen = counting(lambda x: x[7] if len(seen) == 1 else x + 1)
    with pytest.raises(ValueError, match="index"):
        fn(Tensor([1.0]))
    assert fn(Tensor([1.0])).item() == 2
