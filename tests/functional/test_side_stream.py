"""side_stream: its body runs once, in its place, and gives what is stated."""

from typing import Any

import numpy as np
import pytest

from maxlite import compile
from maxlite import functional as F
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.graph import DeviceRef, TensorType
from maxlite.sharding import BufferLayout, TensorLayout
from maxlite.tensor import Tensor
from tests.functional._cross import check, check_sharded

X = np.array([1.0, 2.0], np.float32)
Y = np.array([10.0, 20.0], np.float32)


def of(dtype: DType, *shape: Any, device: DeviceRef | None = None) -> TensorType:
    return TensorType(dtype, shape, device or DeviceRef.CPU())


def values(x: Tensor) -> Any:
    return x.to_numpy().tolist()


def test_by_default_there_is_one_result_of_the_type_of_each_input():
    def f(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return tuple(F.side_stream([x, y], lambda x, y: (x + y, x - y)))

    check(f, X, Y, want=(X + Y, X - Y))


@pytest.mark.parametrize("several", [list, tuple, iter])
def test_a_body_gives_one_tensor_or_any_iterable(several):
    x = Tensor(X)
    (one,) = F.side_stream([x], lambda x: x + 1, stream_id=3)
    assert values(one) == [2.0, 3.0]
    results = F.side_stream([x], lambda x: several([x + 1]))
    assert isinstance(results, list)
    assert values(results[0]) == [2.0, 3.0]


def test_results_may_be_of_other_types_when_these_are_stated():
    def f(x: Tensor) -> tuple[Tensor, ...]:
        types = [of(DType.bool, *x.shape), of(DType.float32, 1)]
        made = F.side_stream([x], lambda x: (x > 1, x.sum()), result_types=types)
        return tuple(made)

    check(f, X, want=(X > 1, X.sum(keepdims=True)))


def test_there_may_be_nothing_to_take_or_to_give():
    (x,) = F.side_stream([], lambda: Tensor(X), result_types=[of(DType.float32, 2)])
    assert values(x) == [1.0, 2.0]
    assert F.side_stream([], lambda: []) == []
    assert F.side_stream([x], lambda x: [], result_types=[]) == []


def test_the_body_may_close_over_tensors():
    y = Tensor(Y)

    def both(x: Tensor) -> Tensor:
        return F.side_stream([x], lambda x: x + y)[0]

    check(both, X, want=X + Y, named=False)


def test_the_body_runs_once_in_its_place_among_the_writes():
    calls: list[str] = []

    def step(total: Tensor, x: Tensor) -> Tensor:
        def body(total: Tensor) -> Tensor:
            calls.append("body")
            F.buffer_store(total, total * 2)
            return total + 0

        F.buffer_store(total, total + x)
        (seen,) = F.side_stream([total], body)
        F.buffer_store(total, total + 1)
        return seen

    program = compile(step)(
        BufferLayout(DType.float32, ["n"], CPU()),
        TensorLayout(DType.float32, ["n"], CPU()),
    )
    total = Tensor(X)
    assert values(program(total, Tensor(Y))) == [22.0, 44.0]
    assert values(total) == [23.0, 45.0]
    assert calls == ["body"]


def test_results_are_tensors_of_their_own():
    x = Tensor(X)
    y, z = F.side_stream([x, x], lambda x, _: (x, x))
    y[:] = Tensor([7.0, 7.0])
    assert (values(x), values(z)) == ([1.0, 2.0], [1.0, 2.0])
    made, same = F.side_stream([x, x], lambda x, _: [x + 1] * 2)
    made[:] = Tensor([7.0, 7.0])
    assert values(same) == [2.0, 3.0]


def test_it_runs_on_a_mesh_like_any_other_part():
    grid = np.arange(8, dtype=np.float32).reshape(4, 2)
    check_sharded(
        lambda x: F.side_stream([x], lambda x: x * 2)[0], (grid, "S0"), lands="S0"
    )


@pytest.mark.parametrize(
    ("body", "types", "message"),
    [
        (lambda x: [x, x], None, "must return 1 tensors.*got 2"),
        (lambda x: [], None, "must return 1 tensors.*got 0"),
        (lambda x: x.sum(), None, r"result 0 must be float32\[2\] on cpu:0.*t32\[1\]"),
        (lambda x: x > 0, None, r"result 0 must be float32\[2\].*got bool\[2\]"),
        (lambda x: x, [of(DType.int32, 2)], r"must be int32\[2\].*got float32\[2\]"),
        (lambda x: x, [of(DType.float32, 3)], r"must be float32\[3\].*float32\[2\]"),
        (
            lambda x: x,
            [of(DType.float32, 2, device=DeviceRef.CPU(1))],
            "on cpu:1, as its type states, got .* on cpu:0",
        ),
    ],
)
def test_results_are_compared_with_their_types(body, types, message):
    with pytest.raises(ValueError, match=f"side_stream: .*{message}"):
        F.side_stream([Tensor(X)], body, result_types=types)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"inputs": [X]}, TypeError, r"inputs\[0\] must be a Tensor, got ndarray"),
        ({"body_fn": 3}, TypeError, "body_fn must be a function, got int"),
        ({"body_fn": lambda x: None}, TypeError, "must return a Tensor or.*got NoneT"),
        ({"body_fn": lambda x: 2.0}, TypeError, "must return a Tensor or.*got float"),
        ({"body_fn": lambda x: [2.0]}, TypeError, "result 0 must be a Tensor, got flo"),
        ({"result_types": [X]}, TypeError, r"result_types\[0\] must be a TensorType"),
        ({"result_types": 3}, TypeError, "must be a sequence of TensorTypes, got int"),
        ({"stream_id": "a"}, TypeError, "stream_id must be an int, got str"),
        ({"stream_id": -1}, ValueError, "stream_id must be 0 or more, got -1"),
    ],
)
def test_arguments_are_checked(change, error, message):
    given: dict[str, Any] = {"inputs": [Tensor(X)], "body_fn": lambda x: x}
    with pytest.raises(error, match=f"side_stream: .*{message}"):
        F.side_stream(**{**given, **change})
