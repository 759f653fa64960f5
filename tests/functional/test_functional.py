"""Functions made ops of their own: what they get and give, when they run, and rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxlite import (
    CPU,
    CompiledCallable,
    DType,
    ShardingError,
    StagedGraph,
    Tensor,
    TensorLayout,
    auto_reshard,
    compile,
    stage,
)
from maxlite import functional as F
from maxlite.graph import BufferValue, Graph, TensorType, TensorValue, Value, ops
from maxlite.lowering import _cut
from maxlite.realization_context import in_graph_context
from maxlite.sharding import (
    AxisAssignment,
    DeviceMapping,
    Partial,
    Replicated,
    Sharded,
    Unknown,
    replicated_rows,
)
from maxlite.tensor import current_realization_context
from tests.functional._cross import check, check_sharded
from tests.sharding.meshes import cpu_mesh

X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
R, S0, S1, P = Replicated(), Sharded(0), Sharded(1), Partial()


def on(mesh: Any, *placements: Any, array: np.ndarray = X) -> Tensor:
    return Tensor(array).to(DeviceMapping(mesh, placements))


def executables() -> int:
    return len(_cut._executables)


# One device -------------------------------------------------------------------------


@F.functional
def normalized(x: Tensor, *, by: float = 1.0) -> Tensor:
    return (x - x.mean()) * by


def test_a_function_on_tensors_is_the_same_in_every_way() -> None:
    want = (X - X.mean(1, keepdims=True)) * 2
    check(lambda x: normalized(x, by=2.0), X, want=want)


def test_a_function_on_values_is_the_same_in_every_way() -> None:
    check(F.functional(ops.add), X, X, want=X + X)
    check(
        F.functional(lambda x: ops.split(ops.cumsum(x, exclusive=True), [1, 1], 1)),
        X,
        want=(np.zeros((2, 1), np.float32), X[:, :1]),
        named=False,  # the pieces must add up to the size
    )


def test_it_runs_as_one_executable() -> None:
    x = Tensor(np.ones((3, 5, 7)))
    before = executables()
    for _ in range(3):
        normalized(x, by=3.0)
    assert executables() == before + 1


def test_the_body_runs_in_a_context_and_the_result_is_real() -> None:
    seen: list[Any] = []

    @F.functional
    def f(x: Tensor) -> Tensor:
        y = x + 1
        context = type(current_realization_context()).__name__
        seen.append((type(x), x.item(), y.real, in_graph_context(), context))
        return y

    y = f(Tensor([1.0]))
    assert seen == [(Tensor, 1.0, False, True, "EagerRealizationContext")]
    assert y.real
    assert not in_graph_context()
    with F.lazy():
        pending = f(Tensor([1.0]))
        assert not pending.real
    assert pending.item() == 2


def test_trees_statics_and_arguments_come_back_as_they_are() -> None:
    x = Tensor([1.0, 2.0])

    @F.functional
    def f(tree: dict[str, Any]) -> dict[str, Any]:
        return {"same": tree["x"], "parts": [tree["x"] + 1, 7], "value": None}

    found = f({"x": x})
    assert found["same"] is x
    assert found["parts"][0].to_numpy().tolist() == [2, 3]
    assert (found["parts"][1], found["value"]) == (7, None)


def test_values_in_a_tree_become_tensors() -> None:
    @F.functional
    def f(x: Tensor) -> tuple[Any, ...]:
        return {"top": ops.top_k(x, 1)}, [ops.mul(x, 2), "text"]

    found, (double, text) = f(Tensor([1.0, 3.0]))
    assert [part.item() for part in found["top"]] == [3, 1]
    assert double.to_numpy().tolist() == [2, 6]
    assert text == "text"


def test_annotated_parameters_get_values() -> None:
    seen: list[type] = []

    @F.functional
    def f(x: TensorValue, y: Value, z: Tensor, k: TensorValue | int = 2) -> Any:
        seen.extend(map(type, (x, y, z, k)))
        return x + y

    assert f(Tensor([1.0]), y=Tensor([2.0]), z=Tensor([3.0])).item() == 3
    assert seen == [TensorValue, TensorValue, Tensor, int]
    with pytest.raises(TypeError, match="parameter 'b' must not be a BufferValue"):

        @F.functional
        def g(b: BufferValue) -> None:
            """Takes what a tensor is not."""


def test_it_keeps_name_signature_and_what_it_was_made_of() -> None:
    assert normalized.__name__ == "normalized"
    made = F.functional(ops.add, rule=replicated_rows)
    assert (made.graph_op, made.rule) == (ops.add, replicated_rows)  # type: ignore[attr-defined]


def test_it_works_as_a_method() -> None:
    class Scale:
        by = 3.0

        @F.functional
        def __call__(self, x: Tensor) -> Tensor:
            return x * self.by

    assert Scale()(Tensor([2.0])).item() == 6


def test_it_is_recorded_into_a_graph_and_a_program() -> None:
    kind = TensorType(DType.float32, [2, 2], CPU())
    with Graph("g", input_types=[kind]) as graph:
        x = Tensor.from_graph_value(graph.inputs[0])
        graph.output(normalized(x), F.functional(ops.mul)(x, 2))
    found = CompiledCallable(StagedGraph.from_graph(graph))(Tensor(X))
    assert found[1].to_numpy().tolist() == (X * 2).tolist()
    staged = stage(F.functional(ops.exp))(TensorLayout(DType.float32, ["n"], CPU()))
    assert [node.op.name for node in staged.graph.nodes] == ["exp"]


def test_an_error_leaves_no_context() -> None:
    @F.functional
    def f(x: Tensor) -> Tensor:
        raise KeyError("boo")

    with pytest.raises(KeyError, match="boo"):
        f(Tensor([1.0]))
    assert not in_graph_context()
    with pytest.raises(TypeError, match="graph_op must be a function, got int"):
        F.functional(3)


# On a mesh ----------------------------------------------------------------------------


def elementwise(*_: Any) -> list[AxisAssignment]:
    return [
        AxisAssignment((S0, S0), (S0,)),
        AxisAssignment((S1, S1), (S1,)),
        AxisAssignment((R, R), (R,)),
    ]


@pytest.mark.parametrize("text", ["S0", "S1", "R", "S0 R", "S1 S0"])
def test_a_rule_says_where_results_lie(text: str) -> None:
    fn = F.functional(lambda x, y: ops.add(x, y) * 2, rule=elementwise)
    array = np.arange(16, dtype=np.float32).reshape(4, 4)
    check_sharded(fn, (array, text), (array, text), lands=text)


def test_a_rule_may_give_pending_sums() -> None:
    def rule(x: TensorLayout) -> list[AxisAssignment]:
        return [AxisAssignment((S0,), (P,))]

    fn = F.functional(lambda x: ops.sum(x, 0), rule=rule)
    check_sharded(fn, (X, "S0"), lands="P")


def test_the_body_sees_shards_of_one_device() -> None:
    seen: list[Any] = []

    def fn(x: Tensor, y: Tensor) -> Tensor:
        seen.append((x.shape, x.is_distributed, y.shape))
        return x + y

    mesh = cpu_mesh(2)
    made = F.functional(fn, rule=elementwise)(on(mesh, S0), on(mesh, S0))
    assert seen == [([1, 2], False, [1, 2])]
    assert made.placements == (S0,)


def test_operands_are_moved_where_the_region_allows_it() -> None:
    fn, mesh = F.functional(ops.add, rule=elementwise), cpu_mesh(2)
    with pytest.raises(ShardingError, match=r"add(.|\n)*lhs +: float32\[2, 2\]@mesh"):
        fn(on(mesh, S0), on(mesh, R))
    with auto_reshard(mode="silent"):
        made = fn(on(mesh, S0), on(mesh, R))
        program = compile(fn)(on(mesh, S0).layout, on(mesh, R).layout)
    assert made.placements == (S0,)
    assert program.out_layouts[0].placements == (S0,)
    for found in (made, program(on(mesh, S0), on(mesh, R))):
        assert found.to_numpy().tolist() == (X * 2).tolist()


def test_a_rule_gets_layouts_and_statics_in_place() -> None:
    seen: list[Any] = []

    def rule(*args: Any, **kwargs: Any) -> list[AxisAssignment]:
        seen.append((args, kwargs))
        return elementwise()

    def fn(xs: list[Tensor], k: float = 2.0, *, m: int = 3) -> Tensor:
        return xs[0] * k + xs[1] * m

    mesh = cpu_mesh(2)
    x = on(mesh, S0)
    made = F.functional(fn, rule=rule)([x, x], m=5)
    assert seen == [(([x.layout, x.layout], 2.0), {"m": 5})]
    assert made.to_numpy().tolist() == (X * 7).tolist()
    seen.clear()
    F.functional(fn, rule=rule)([Tensor(X), Tensor(X)])
    assert seen == []


def test_a_tensor_of_one_device_counts_as_replicated() -> None:
    def rule(*_: Any) -> list[AxisAssignment]:
        return [AxisAssignment((S0, R), (S0,))]

    made = F.functional(ops.mul, rule=rule)(on(cpu_mesh(2), S0), Tensor(2.0))
    assert made.to_numpy().tolist() == (X * 2).tolist()


def test_results_keep_their_structure_on_a_mesh() -> None:
    def rule(x: TensorLayout) -> list[AxisAssignment]:
        return [AxisAssignment((S0,), (S0, S0))]

    fn = F.functional(lambda x: {"values": list(ops.top_k(x, 1)), "n": 1}, rule=rule)
    found = fn(on(cpu_mesh(2), S0))
    assert [part.to_numpy().tolist() for part in found["values"]] == [
        [[2], [4]],
        [[1], [1]],
    ]
    assert found["n"] == 1


def test_without_a_rule_results_are_unknown() -> None:
    made = normalized(on(cpu_mesh(2), S1), by=1.0)
    assert made.placements == (Unknown(),)
    assert [part.to_numpy().tolist() for part in made.local_shards] == [
        [[0], [0]],
        [[0], [0]],
    ]


@pytest.mark.parametrize("placements", [(S0, R), (R, S1), (S1, S0), (S0, P)])
def test_without_a_rule_each_device_of_a_grid_runs_it(placements: Any) -> None:
    x = Tensor(np.arange(16, dtype=np.float32).reshape(4, 4))
    x = x.to(cpu_mesh(2, 2)).to(DeviceMapping(cpu_mesh(2, 2), placements))
    program = compile(normalized)(TensorLayout(x.dtype, ["m", "n"], x.mapping))
    with F.lazy():
        pending = normalized(x)
    want = [normalized(part).to_numpy().tolist() for part in x.local_shards]
    for made in (normalized(x), pending, program(x)):
        assert made.placements == (Unknown(), Unknown())
        assert [part.to_numpy().tolist() for part in made.local_shards] == want


@pytest.mark.parametrize(
    ("rule", "match"),
    [
        (lambda *_: [], "must return at least one row, got none"),
        (lambda *_: [AxisAssignment((S0,), (S0,))], "place each of the 2 tensor"),
        (lambda *_: [AxisAssignment((S0, S0), (S0, S0))], "got 2 for 1"),
        (replicated_rows, "this region does not reshard"),
    ],
)
def test_a_rule_that_does_not_fit_is_refused(rule: Any, match: str) -> None:
    x = on(cpu_mesh(2), S0)
    with pytest.raises(ShardingError, match=match):
        F.functional(ops.add, rule=rule)(x, x)


def test_tensors_on_two_meshes_are_refused() -> None:
    x, y = on(cpu_mesh(2), S0), on(cpu_mesh(2, names=("z",)), S0)
    for rule in (None, elementwise):
        with pytest.raises(ShardingError, match="mesh"):
            F.functional(ops.add, rule=rule)(x, y)
