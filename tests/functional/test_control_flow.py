"""Branches and loops: what they compute, what they may use, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxlite import (
    CPU,
    BufferLayout,
    Dim,
    DType,
    ShardingError,
    Tensor,
    TensorLayout,
    as_subgraph,
    compile,
    load,
    random,
    stage,
)
from maxlite import functional as F
from maxlite.functional import _dispatch
from maxlite.graph import BufferType, DeviceRef, TensorType
from maxlite.realization_context import in_graph_context
from maxlite.sharding import DeviceMapping, Partial, Replicated, Sharded
from tests.functional._cross import check, check_sharded
from tests.sharding.meshes import cpu_mesh

X = np.array([1.0, 2.0, 3.0], np.float32)
COUNT = np.array(3, np.int32)
MATRIX = np.arange(16, dtype=np.float32).reshape(4, 4)


def scalar(value: Any, dtype: str = "int32") -> Tensor:
    return Tensor(np.array(value, dtype))


def vector(*shape: int | str) -> TensorType:
    return TensorType(DType.float32, shape, DeviceRef.CPU())


def layout(*shape: int | str, dtype: DType = DType.float32) -> TensorLayout:
    return TensorLayout(dtype, shape, CPU())


def compiled_programs() -> int:
    return len(_dispatch._executables)


# What they compute ------------------------------------------------------------------


def repeated(x: Tensor, n: Tensor) -> tuple[Tensor, ...]:
    return tuple(
        F.while_loop([n * 0, x], lambda i, y: i < n, lambda i, y: [i + 1, y * 2 + x])
    )


def test_a_loop_is_the_same_in_every_way() -> None:
    check(repeated, X, COUNT, want=(COUNT, X * 15))


def test_a_loop_may_go_round_never() -> None:
    check(repeated, X, np.array(0, np.int32), want=(np.array(0, np.int32), X))


def test_a_loop_runs_on_an_empty_tensor() -> None:
    nothing = np.zeros((0, 2), np.float32)
    check(repeated, nothing, COUNT, want=(COUNT, nothing))


def test_a_loop_over_one_value_gives_a_list_of_one() -> None:
    found = F.while_loop(scalar(0), lambda i: i < 3, lambda i: i + 1)
    assert isinstance(found, list)
    assert [value.item() for value in found] == [3]


def chosen(x: Tensor, n: Tensor) -> Tensor:
    (found,) = F.cond(n > 2, [x.type], lambda: x + n.cast(x.dtype), lambda: x * 2)
    return found


@pytest.mark.parametrize(("n", "want"), [(3, X + 3), (2, X * 2)])
def test_a_branch_is_the_same_in_every_way(n: int, want: np.ndarray) -> None:
    check(chosen, X, np.array(n, np.int32), want=want)


def test_a_branch_returns_several_or_nothing() -> None:
    yes, x = scalar(True, "bool"), Tensor(X)
    kinds = [x.type, TensorType(DType.bool, [], DeviceRef.CPU())]
    found = F.cond(yes, kinds, lambda: (x, x[0] > 1), lambda: [x + 1, x[0] > 0])
    assert [part.to_numpy().tolist() for part in found] == [X.tolist(), False]
    assert F.cond(yes, None, lambda: None, lambda: None) == []
    assert F.cond(yes, [], lambda: [], lambda: None) == []


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64"])
def test_every_dtype_goes_round(dtype: str) -> None:
    x = np.array([0, 1, 1], dtype)

    def f(x: Tensor) -> Tensor:
        body = F.logical_not if x.dtype is DType.bool else (lambda x: x + 1)
        return F.while_loop(
            [x, F.cast(x[0], DType.int32) * 0],
            lambda x, i: i < 3,
            lambda x, i: [body(x), i + 1],
        )[0]

    check(f, x, want=~x if dtype == "bool" else (x + np.array(3, dtype)))


def test_int64_is_exact() -> None:
    start = scalar(2**40, "int64")
    (found,) = F.while_loop(start, lambda i: i < 2**40 + 5, lambda i: i + 1)
    assert found.item() == 2**40 + 5


def collatz(n: Tensor) -> Tensor:
    """Counts steps: a branch in a loop."""

    def step(n: Tensor, steps: Tensor) -> list[Tensor]:
        (after,) = F.cond(
            n % 2 > 0, [n.type], lambda: n * 3 + 1, lambda: F.floor_div(n, 2)
        )
        return [after, steps + 1]

    return F.while_loop([n, n * 0], lambda n, steps: n > 1, step)[1]


def test_a_branch_in_a_loop() -> None:
    check(collatz, np.array(27, np.int32), want=np.array(111, np.int32))


def table(n: Tensor) -> Tensor:
    """Adds i * j over all pairs: a loop that uses the values of the one around it."""

    def row(i: Tensor, total: Tensor) -> list[Tensor]:
        inner = F.while_loop(
            [n * 0, total],
            lambda j, total: j < n,
            lambda j, total: [j + 1, total + i * j],
        )
        return [i + 1, inner[1]]

    return F.while_loop([n * 0, n * 0], lambda i, total: i < n, row)[1]


def test_a_loop_in_a_loop() -> None:
    check(table, np.array(5, np.int32), want=np.array(100, np.int32))


# What bodies may use ----------------------------------------------------------------


def test_bodies_run_once_on_traced_tensors() -> None:
    seen: list[tuple[bool, bool]] = []

    def body(i: Tensor) -> Tensor:
        seen.append((i.real, in_graph_context()))
        return i + 1

    F.while_loop(scalar(0), lambda i: i < 100, body)
    assert seen == [(False, True)]


def test_a_body_uses_pending_tensors_of_its_block() -> None:
    with F.lazy():
        x = Tensor(X) + 1
        _, found = F.while_loop(
            [scalar(0), x], lambda i, y: i < 2, lambda i, y: [i + 1, y + x]
        )
        assert not found.real
    assert found.to_numpy().tolist() == [6, 9, 12]


def test_a_body_computes_pending_tensors_of_another_block() -> None:
    with F.lazy():
        x = Tensor(X) + 1
    (found,) = F.cond(scalar(True, "bool"), [x.type], lambda: x * 2, lambda: x)
    assert x.real
    assert found.to_numpy().tolist() == [4, 6, 8]


def test_a_write_after_recording_does_not_leak_in() -> None:
    x = Tensor(X)
    with F.lazy():
        _, found = F.while_loop(
            [scalar(0), x], lambda i, y: i < 2, lambda i, y: [i + 1, y + x]
        )
        x[0:1] = Tensor([100.0])
    assert found.to_numpy().tolist() == [3, 6, 9]
    assert x.to_numpy().tolist() == [100, 2, 3]


def test_a_body_may_write_to_what_it_computed() -> None:
    def body(i: Tensor, x: Tensor) -> list[Tensor]:
        y = x + 0
        y[0:1] = x[2:3]
        return [i + 1, y]

    found = F.while_loop([scalar(0), Tensor(X)], lambda i, x: i < 1, body)
    assert found[1].to_numpy().tolist() == [3, 2, 3]


def test_a_body_reads_real_tensors_from_around_as_numbers() -> None:
    step = Tensor(2.0)
    (found,) = F.while_loop(Tensor(0.0), lambda x: x < 5, lambda x: x + step.item())
    assert found.item() == 6


def test_sizes_may_have_names() -> None:
    def f(x: Tensor) -> Tensor:
        def body(i: Tensor, y: Tensor) -> list[Tensor]:
            assert y.shape == [Dim("n"), 2]
            pairs = F.reshape(y, [Dim("n") * 2])
            return [i + 1, F.reshape(pairs, y.shape) + F.sum(x, 0)]

        return F.while_loop([scalar(0), x], lambda i, y: i < 3, body)[1]

    program = compile(f)(layout("n", 2))
    for n in (0, 1, 3):
        x = np.arange(n * 2, dtype=np.float32).reshape(n, 2)
        assert program(Tensor(x)).to_numpy().tolist() == (x + 3 * x.sum(0)).tolist()


def test_a_weight_is_declared_in_the_program_around() -> None:
    def f(x: Tensor) -> Tensor:
        def body(i: Tensor, y: Tensor) -> list[Tensor]:
            return [i + 1, y * F.constant_external("w", layout(3))]

        return F.while_loop([scalar(0), x], lambda i, y: i < 2, body)[1]

    program = compile(f, weights={"w": Tensor([2.0, 3.0, 4.0])})(layout(3))
    assert list(program.weight_layouts) == ["w"]
    assert program(Tensor(X)).to_numpy().tolist() == [4, 18, 48]
    with pytest.raises(RuntimeError, match="weight 'w' can only be declared while"):
        f(Tensor(X))


def test_a_placeholder_in_a_body_takes_the_prefix_of_the_subgraph_call() -> None:
    def block(x: Tensor) -> Tensor:
        def body(i: Tensor, y: Tensor) -> list[Tensor]:
            w = F.constant_external("w", layout(3), is_placeholder=True)
            return [i + 1, y + w]

        return F.while_loop([scalar(0), x], lambda i, y: i < 2, body)[1]

    def f(x: Tensor) -> Tensor:
        for k in range(2):
            x = as_subgraph(block, prefix=f"{k}.")(x)
        return x

    weights = {"0.w": Tensor([1.0, 1, 1]), "1.w": Tensor([10.0, 10, 10])}
    program = compile(f, weights=weights)(layout(3))
    assert program(Tensor(X)).to_numpy().tolist() == [23, 24, 25]


def test_a_subgraph_called_in_a_body_is_one_function() -> None:
    traced: list[int] = []
    shift = Tensor([1.0, 0, 0])

    def block(x: Tensor) -> Tensor:
        traced.append(1)
        return x * 2 + shift

    def f(x: Tensor) -> Tensor:
        call = as_subgraph(block)
        _, y = F.while_loop(
            [scalar(0), call(x)], lambda i, y: i < 2, lambda i, y: [i + 1, call(y)]
        )
        return y

    staged = stage(f)(layout(3))
    assert traced == [1]
    assert str(staged).count("func.func private @block") == 1
    assert compile(f)(layout(3))(Tensor(X)).to_numpy().tolist() == [15, 16, 24]


def test_a_compiled_callable_is_called_in_a_body() -> None:
    shift = Tensor([1.0, 0, 0])
    double = compile(lambda x: x * 2 + shift)(layout(3))

    def f(x: Tensor) -> Tensor:
        return F.while_loop(
            [scalar(0), x], lambda i, y: i < 2, lambda i, y: [i + 1, double(y)]
        )[1]

    check(f, X, want=X * 4 + np.array([3, 0, 0], np.float32), named=False)


# On a mesh --------------------------------------------------------------------------


def grown(x: Tensor) -> Tensor:
    return F.while_loop(
        [scalar(0), x], lambda i, y: i < 3, lambda i, y: [i + 1, y + x]
    )[1]


@pytest.mark.parametrize("text", ["S0", "S1", "P", "R", "S1 S0", "P S1", "S0 P"])
def test_a_loop_keeps_placements(text: str) -> None:
    check_sharded(grown, (MATRIX, text), lands=text)


@pytest.mark.parametrize("text", ["S0", "P", "R", "S1 P"])
def test_a_branch_keeps_placements(text: str) -> None:
    def f(x: Tensor) -> Tensor:
        (y,) = F.cond(scalar(True, "bool"), [x.layout], lambda: x + x, lambda: x * 2)
        return y

    check_sharded(f, (MATRIX, text), lands=text)


def test_a_loop_over_shards_sends_nothing() -> None:
    mapping = DeviceMapping(cpu_mesh(4), (Sharded(0),))
    program = compile(grown)(TensorLayout(DType.float32, [8, 4], mapping))
    assert program.collectives() == []


def test_a_body_that_contracts_keeps_what_it_is_told_to() -> None:
    def f(x: Tensor, w: Tensor) -> Tensor:
        return F.while_loop(
            [scalar(0), x],
            lambda i, y: i < 2,
            lambda i, y: [i + 1, (y @ w).to(x.mapping)],
        )[1]

    check_sharded(f, (MATRIX, "S1"), (MATRIX / 8, "S0"), lands="S1")


def test_a_condition_on_a_mesh_is_replicated() -> None:
    mesh = cpu_mesh(2)
    n = scalar(3).to(mesh)
    (found,) = F.while_loop(n, lambda n: n > 0, lambda n: n - 1)
    assert found.mapping == n.mapping
    assert found.item() == 0
    flag = scalar(True, "bool").to(mesh)
    pending = flag.rebind_mapping(DeviceMapping(mesh, (Partial(),)))
    with pytest.raises(ShardingError, match=r"cond: the condition must be the same"):
        F.cond(pending, None, lambda: None, lambda: None)


def test_a_changed_placement_is_named_with_its_cure() -> None:
    mesh = cpu_mesh(2)
    x = Tensor(MATRIX).to(DeviceMapping(mesh, (Sharded(0),)))
    whole = DeviceMapping(mesh, (Replicated(),))
    match = (
        r"value 1 must keep its placement, got .*Replicated.* for .*Sharded\(axis=0\)"
        r".*Use to\(DeviceMapping\(DeviceMesh\(x=2\), \[Sharded\(axis=0\)\]\)\)"
    )
    with pytest.raises(TypeError, match=match):
        F.while_loop(
            [scalar(0), x], lambda i, x: i < 2, lambda i, x: [i + 1, x.to(whole)]
        )
    with pytest.raises(TypeError, match="result 0 must lie alike in both branches"):
        F.cond(scalar(True, "bool"), [vector(4, 4)], lambda: x, lambda: x.to(whole))
    with pytest.raises(TypeError, match="result 0 of then_fn must be of its type"):
        F.cond(scalar(True, "bool"), [x.to(whole).layout], lambda: x, lambda: x)


# Random numbers -----------------------------------------------------------------------


def walk(n: Tensor) -> Tensor:
    return F.while_loop(
        [n * 0, Tensor.zeros([3])],
        lambda i, x: i < n,
        lambda i, x: [i + 1, x * 10 + F.uniform([3])],
    )[1]


def drawn(run: Any) -> list[float]:
    random.set_seed(5)
    return [*run().to_numpy().tolist(), random.uniform([]).item()]


def test_a_loop_draws_the_same_in_every_way() -> None:
    n = scalar(3)
    want = drawn(lambda: walk(n))
    with F.lazy():
        random.set_seed(5)
        pending = walk(n)
        rest = random.uniform([])
    assert [*pending.to_numpy().tolist(), rest.item()] == want
    program = compile(walk)(n.layout)
    assert drawn(lambda: program(n)) == want
    on_mesh = drawn(lambda: walk(n.to(cpu_mesh(2))))
    assert on_mesh == want


def test_each_round_and_what_comes_after_draw_other_numbers() -> None:
    def f() -> Tensor:
        return F.while_loop(
            [scalar(0), Tensor.zeros([4])],
            lambda i, x: i < 4,
            lambda i, x: [i + 1, F.concat([x[1:], F.uniform([1])])],
        )[1]

    def g() -> Tensor:
        return F.concat([f(), F.uniform([4]), f()])

    found = drawn(g)
    assert len(set(found)) == len(found)
    assert drawn(lambda: compile(g)()()) == found


def test_a_condition_may_draw() -> None:
    def f(n: Tensor) -> Tensor:
        return F.while_loop(
            [n * 0, Tensor.zeros([2])],
            lambda i, x: F.logical_and(i < n, F.uniform([]) < 2),
            lambda i, x: [i + 1, F.uniform([2])],
        )[1]

    n = scalar(2)
    program = compile(f)(n.layout)
    assert drawn(lambda: f(n)) == drawn(lambda: program(n))


def test_branches_draw_from_one_seed_and_leave_another() -> None:
    def f(pick: Tensor) -> Tensor:
        (x,) = F.cond(pick, [vector(2)], lambda: F.uniform([2]), lambda: F.zeros([2]))
        return F.concat([x, F.uniform([2])])

    yes, no = scalar(True, "bool"), scalar(False, "bool")
    program = compile(f)(yes.layout)
    for flag in (yes, no):
        assert drawn(lambda flag=flag: f(flag)) == drawn(
            lambda flag=flag: program(flag)
        )
    *_, after_yes = drawn(lambda: f(yes))
    *_, after_no = drawn(lambda: f(no))
    assert after_yes == after_no
    assert len(set(drawn(lambda: f(yes)))) == 5


# Programs ---------------------------------------------------------------------------


def test_an_equal_body_is_compiled_once() -> None:
    x, y = Tensor(X), Tensor(X * 2)

    def run(x: Tensor, k: float) -> None:
        flag = x[0] > 0
        F.while_loop([scalar(0), x], lambda i, z: i < 3, lambda i, z: [i + 1, z + x])
        F.cond(flag, [x.type], lambda: x * k, lambda: Tensor([1.0, 2.0, 3.0]) + x)

    run(x, 2.0)
    before = compiled_programs()
    run(y, 2.0)
    assert compiled_programs() == before
    run(y, 3.0)
    assert compiled_programs() == before + 1


@pytest.mark.parametrize("number", [0.0, -0.0, 1, True, float("nan"), float("inf")])
def test_numbers_in_bodies_are_told_apart(number: float) -> None:
    (found,) = F.cond(
        scalar(True, "bool"),
        [vector(2)],
        lambda: F.full([2], 1.0) * number,
        lambda: F.full([2], 0.0),
    )
    want = np.full(2, number, np.float32)
    assert np.array_equal(np.signbit(found.to_numpy()), np.signbit(want))
    np.testing.assert_array_equal(found.to_numpy(), want)


def test_programs_with_bodies_are_written_and_read(tmp_path: Path) -> None:
    def f(x: Tensor, n: Tensor) -> Tensor:
        noise = F.while_loop(
            [n * 0, x],
            lambda i, y: i < n,
            lambda i, y: [i + 1, y + F.uniform_like(y)],
        )[1]
        return noise + repeated(x, n)[1] + chosen(x, n)

    program = compile(f)(layout("k"), layout(dtype=DType.int32))
    program.export_mef(tmp_path / "f.mef")
    again = load(tmp_path / "f.mef")
    x, n = Tensor(X), scalar(3)
    assert drawn(lambda: again(x, n)) == drawn(lambda: program(x, n))


def test_a_program_shows_its_bodies() -> None:
    text = str(stage(repeated)(layout("n"), layout(dtype=DType.int32)))
    for part in ("stablehlo.while", "private @predicate", "private @body"):
        assert part in text
    assert "stablehlo.case" in str(stage(chosen)(layout(2), layout(dtype=DType.int32)))


# What is refused --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("out_types", "then_fn", "match"),
    [
        ([vector(3)], lambda: Tensor([1.0]), r"result 0 of then_fn must be of its"),
        ([vector("n")], lambda: Tensor(X), r"result 0 of then_fn must be of its type"),
        ([vector(3)], lambda: scalar(1), r"result 0 of then_fn must be of its type"),
        ([vector(3)], lambda: [Tensor(X)] * 2, r"then_fn must return one tensor per"),
        ([vector(3)], lambda: None, r"then_fn must return one tensor per type, got 0"),
        (None, lambda: Tensor(X), r"must return one tensor per type, got 1 for 0"),
        ([vector(3)], lambda: 1.0, r"the result of then_fn must be a tensor or seve"),
        ([vector(3)], lambda: {"a": Tensor(X)}, r"then_fn\[0\] must be a Tensor, got"),
        (vector(3), lambda: Tensor(X), r"out_types must be several types, got Tensor"),
        ([3], lambda: Tensor(X), r"must be TensorTypes or TensorLayouts, got int"),
        (
            [BufferType(DType.float32, [3], DeviceRef.CPU())],
            lambda: Tensor(X),
            r"must be TensorTypes or TensorLayouts, got BufferType",
        ),
        (
            [BufferLayout(DType.float32, [3], CPU())],
            lambda: Tensor(X),
            r"must be TensorTypes or TensorLayouts, got BufferLayout",
        ),
    ],
)
def test_a_branch_of_another_type_is_refused(
    out_types: Any, then_fn: Any, match: str
) -> None:
    with pytest.raises(TypeError, match=match):
        F.cond(scalar(True, "bool"), out_types, then_fn, lambda: Tensor(X))


@pytest.mark.parametrize(
    ("values", "predicate", "body", "error", "match"),
    [
        ([], lambda: None, list, ValueError, "must hold at least one tensor"),
        (0, lambda i: i, lambda i: i, TypeError, "initial_values must be a tensor or"),
        ([0], lambda i: i, lambda i: i, TypeError, r"\[0\] must be a Tensor, got int"),
        ({"a": 0}, lambda i: i, lambda i: i, TypeError, "must be a Tensor, got str"),
        (scalar(0), lambda i: i, lambda i: i, ValueError, "must be a bool of rank 0"),
        (scalar([0]), lambda i: i < 1, lambda i: i, ValueError, "a bool of rank 0"),
        (scalar(0), lambda i: True, lambda i: i, TypeError, "predicate's result must"),
        (scalar(0), lambda i: i < 1, lambda i: [], TypeError, "got 0 for 1"),
        (scalar(0), lambda i: i < 1, lambda i: [i, i], TypeError, "got 2 for 1"),
        (scalar(0), lambda i: i < 1, lambda i: None, TypeError, "got NoneType"),
        (
            scalar(0),
            lambda i: i < 1,
            lambda i: F.cast(i, DType.float32),
            TypeError,
            r"value 0 must keep dtype and shape, got float32\[\].* for int32\[\]",
        ),
        (
            scalar(0),
            lambda i: i < 1,
            lambda i: F.reshape(i, [1]),
            TypeError,
            r"value 0 must keep dtype and shape, got int32\[1\].* for int32\[\]",
        ),
    ],
)
def test_a_loop_that_does_not_fit_is_refused(
    values: Any, predicate: Any, body: Any, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        F.while_loop(values, predicate, body)


@pytest.mark.parametrize("pred", [True, 1, np.bool_(True)])
def test_a_condition_must_be_a_tensor(pred: Any) -> None:
    with pytest.raises(TypeError, match="cond: pred must be a Tensor"):
        F.cond(pred, None, lambda: None, lambda: None)


@pytest.mark.parametrize("pred", [scalar([True], "bool"), scalar(1)])
def test_a_condition_must_be_one_bool(pred: Tensor) -> None:
    with pytest.raises(ValueError, match="cond: the condition must be a bool of rank"):
        F.cond(pred, None, lambda: None, lambda: None)


def test_bodies_write_to_nothing_from_outside() -> None:
    x = Tensor(X)

    def to_captured(y: Tensor) -> Tensor:
        x[0:1] = y[1:2]
        return y

    def to_argument(y: Tensor) -> Tensor:
        y[0:1] = x[1:2]
        return y

    for body, match in (
        (to_captured, "a body cannot write to a tensor from outside of it"),
        (to_argument, "a body cannot write to its argument"),
    ):
        with pytest.raises(TypeError, match=match):
            F.while_loop(x, lambda y: y[0] < 5, body)
    assert x.to_numpy().tolist() == X.tolist()


def test_bodies_write_to_no_buffer_of_the_program() -> None:
    def f(state: Tensor) -> Tensor:
        def body(i: Tensor) -> Tensor:
            state[0:1] = Tensor([5.0])
            return i + 1

        return F.while_loop(scalar(0), lambda i: i < 2, body)[0]

    with pytest.raises(TypeError, match="while_loop: a body cannot write to a tensor"):
        stage(f)(BufferLayout(DType.float32, [2], CPU()))


def test_bodies_read_no_values_of_the_loop() -> None:
    with pytest.raises(TypeError, match="a value was read while the graph is traced"):
        F.while_loop(scalar(0), lambda i: i < 1, lambda i: i + i.item())
    with F.lazy():
        x = Tensor(X) + 1
        with pytest.raises(TypeError, match="is still open"):
            F.while_loop(x, lambda y: y[0] < 1, lambda y: y + x.to_numpy()[0])
        (found,) = F.while_loop(x, lambda y: y[0] < 3, lambda y: y + x)
    assert found.to_numpy().tolist() == [4, 6, 8]


def test_a_tensor_of_a_body_means_nothing_outside_of_it() -> None:
    kept: list[Tensor] = []

    def body(i: Tensor) -> Tensor:
        kept.append(i + 1)
        return kept[0]

    F.while_loop(scalar(0), lambda i: i < 1, body)
    with pytest.raises(TypeError, match="used after its trace was finished"):
        kept[0].item()
    with pytest.raises(TypeError, match="a traced tensor of graph 'body' cannot be"):
        F.while_loop(scalar(0), lambda i: i < kept[0], lambda i: i + 1)


def test_a_failed_body_leaves_nothing_behind() -> None:
    def body(i: Tensor) -> Tensor:
        raise KeyError("boo")

    with F.lazy():
        x = Tensor(X) + 1
        with pytest.raises(KeyError, match="boo"):
            F.while_loop(scalar(0), lambda i: i < 1, body)
        y = x * 2
    assert not in_graph_context()
    assert y.to_numpy().tolist() == [4, 6, 8]
