"""What is printed, and when."""

import numpy as np
import pytest

import maxlite
from maxlite import functional as F
from maxlite.compilation import as_subgraph, compile, stage
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.sharding import (
    BufferLayout,
    DeviceMapping,
    ShardingError,
    TensorLayout,
    Unknown,
)
from maxlite.tensor import Tensor
from tests.functional._cross import NUMBERS, place
from tests.sharding.meshes import cpu_mesh

X = Tensor([1.0, 2.0])


def text(name: str, value: object) -> str:
    return f"{name} = {value}\n"


@pytest.fixture
def printed(capsys):
    """Gives what was printed since the last time that it was asked for."""
    return lambda: capsys.readouterr().out


# Eager --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*NUMBERS, np.dtype(bool)], ids=str)
def test_the_text_is_that_of_the_tensor(printed, dtype):
    for shape in ((), (2, 3), (0,), (2, 2, 2)):
        x = Tensor((np.arange(np.prod(shape)) % 2).reshape(shape).astype(dtype))
        F.print(x, "x")
        assert printed() == text("x", x)
        compile(show)(x.layout)(x)
        assert printed() == text("shown", x)


def show(x: Tensor) -> None:
    F.print(x, "shown")


def test_a_wide_number_is_printed_whole(printed):
    """JAX would cut it to 32 bits on its way out of a program."""
    for x in (Tensor(np.array([2**40 + 5, -1])), Tensor(np.array([1e300, 1 / 3]))):
        with F.lazy():
            y = x * 1
            F.print(y, "y")
        assert y.to_numpy().tolist() == x.to_numpy().tolist()
        assert printed() == text("y", x)


def test_a_large_tensor_shows_its_ends(printed):
    x = Tensor(np.arange(3000.0).reshape(1, 3000, 1))
    F.print(x, "x")
    assert printed() == text("x", x)
    compile(show)(x.layout)(x)
    out = printed()
    assert out == text("shown", x)
    assert "..." in out


def test_nothing_is_given_back():
    returned: object = F.print(X, "x")
    assert returned is None


def test_only_tensors_are_printed():
    with pytest.raises(TypeError, match="print: value must be a Tensor, got float"):
        F.print(3.0, "x")  # pyright: ignore[reportArgumentType]


# Lazy ---------------------------------------------------------------------------------


def test_a_lazy_block_prints_when_it_is_computed(printed):
    with F.lazy():
        y = X + 1
        F.print(y, "y")
        F.print(X, "x")
        z = y * 2
    del y
    assert printed() == ""
    z.to_numpy()
    assert printed() == text("y", X + 1) + text("x", X)
    z.to_numpy()
    assert printed() == ""


def test_an_eager_block_prints_at_its_end_though_nothing_is_left_of_it(printed):
    with F.ensure_context():
        F.print(X * 3, "y")
        assert printed() == ""
    assert printed() == text("y", X * 3)


def test_a_block_that_nobody_reads_prints_nothing(printed):
    with F.lazy():
        F.print(X * 3, "y")
    assert printed() == ""


def test_equal_blocks_print_their_own_values(printed):
    """They share an executable, in which numbers are arguments."""
    for number in (2.0, 5.0):
        with F.lazy():
            y = X * number
            F.print(y, "y")
        y.to_numpy()
        assert printed() == text("y", X * number)


def test_equal_blocks_print_their_own_names(printed):
    for name in ("a", "b"):
        with F.lazy():
            y = X * 2
            F.print(y, name)
        y.to_numpy()
        assert printed() == text(name, X * 2)


def test_a_block_on_several_devices_prints_on_each(printed):
    far = place(np.array([1.0, 2.0], np.float32), "S0")
    with F.lazy():
        y = X + 1
        F.print(y, "near")
        z = far + 1
        F.print(z, "far")
    z.to_numpy()
    near, rest = printed().split("\n", 1)
    assert near == text("near", X + 1).strip()
    assert rest.startswith("far = Tensor([2 3], ")


# Compiled -----------------------------------------------------------------------------


def test_a_program_prints_at_each_run_and_in_order(printed):
    def run(x: Tensor) -> Tensor:
        for i in range(8):
            F.print(x + i, f"x{i}")
        return x * 2

    program = compile(run)(X.layout)
    assert printed() == ""
    for _ in range(2):
        program(X)
        assert printed() == "".join(text(f"x{i}", X + i) for i in range(8))


def test_a_program_prints_at_each_size(printed):
    program = compile(show)(TensorLayout(DType.float32, ["n"], CPU()))
    for n in (0, 2, 7, 2000):
        x = Tensor(np.zeros(n, np.float32))
        program(x)
        assert printed() == text("shown", x)


def test_a_program_that_writes_prints_what_was_there_before(printed):
    def run(x: Tensor) -> None:
        F.print(x, "before")
        x[:] = x + 1
        F.print(x, "after")

    x = Tensor([1.0, 2.0])
    compile(run)(BufferLayout(DType.float32, [2], CPU()))(x)
    assert printed() == text("before", X) + text("after", X + 1)
    assert x.to_numpy().tolist() == [2, 3]


def test_a_subgraph_prints_at_each_call(printed):
    @as_subgraph
    def body(x: Tensor) -> Tensor:
        F.print(x, "in")
        return x + 1

    @as_subgraph
    def silent(x: Tensor) -> None:
        F.print(x, "only")

    def run(x: Tensor) -> Tensor:
        F.print(x, "first")
        y = body(body(x))
        silent(y)
        body(y)  # what it returns is not used
        F.print(y, "last")
        return y

    compile(run)(X.layout)(X)
    wanted = [("first", 0), ("in", 0), ("in", 1), ("only", 2), ("in", 2), ("last", 2)]
    assert printed() == "".join(text(name, X + i) for name, i in wanted)


def test_a_body_of_a_loop_prints_at_each_turn(printed):
    def body(x: Tensor) -> Tensor:
        F.print(x, "turn")
        return x + 1

    F.while_loop([Tensor(0.0)], lambda x: x < 3.0, body)
    assert printed() == "".join(text("turn", Tensor(float(i))) for i in range(3))


def test_a_branch_prints_when_it_is_taken(printed):
    def branch(name: str):
        def run() -> Tensor:
            F.print(X, name)
            return X

        return run

    for pred, name in ((True, "yes"), (False, "no")):
        taken = Tensor(np.array(pred))
        F.cond(taken, [X.type], branch("yes"), branch("no"))
        assert printed() == text(name, X)


def test_a_program_prints_after_it_was_stored(printed, tmp_path):
    path = tmp_path / "program"
    compile(show)(X.layout).export_mef(path)
    maxlite.load(path)(X)
    assert printed() == text("shown", X)


def test_a_program_that_prints_can_be_read():
    def run(x: Tensor) -> dict[str, Tensor]:
        F.print(x, "x")
        return {"doubled": x * 2}

    (main,) = [
        line for line in str(stage(run)(X.layout)).split("\n") if "@main" in line
    ]
    assert "-> (!stablehlo.token {jax.token = true}, tensor<2xf32>" in main
    assert 'jax.result_info = "doubled"' in main


def test_a_program_with_sizes_known_at_run_time_prints(printed):
    def run(x: Tensor) -> Tensor:
        F.print(x, "x")
        where = F.nonzero(x, "n")
        F.print(where, "where")
        return where

    compile(run)(X.layout)(Tensor([0.0, 5.0]))
    where = Tensor(np.array([[1]]))
    assert printed() == text("x", Tensor([0.0, 5.0])) + text("where", where)


# On a mesh ----------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["R", "S0", "P", "S0 P"])
def test_a_distributed_tensor_prints_its_global_value_once(printed, given):
    x = place(np.array([1.0, 2.0], np.float32), given)
    want = f"= Tensor([1 2], dtype=DType.float32, mapping={x.mapping!r})\n"
    F.print(x, "x")
    assert printed() == f"x {want}"
    compile(show)(x.layout)(x)
    assert printed() == f"shown {want}"


def test_prints_come_in_order_on_a_mesh(printed):
    """JAX keeps no order on several devices; each print waits for the one before."""

    def run(x: Tensor) -> Tensor:
        for i in range(8):
            F.print(x + i, f"x{i}")
        return x * 2

    x = place(np.array([1.0, 2.0], np.float32), "S0")
    program = compile(run)(x.layout)
    for _ in range(4):
        program(x)
        names = [line.partition(" ")[0] for line in printed().splitlines()]
        assert names == [f"x{i}" for i in range(8)]


def test_what_is_unknown_has_no_value_to_print():
    mapping = DeviceMapping(cpu_mesh(2), (Unknown(),))
    with F.ensure_context():
        x = Tensor.from_shard_values([X, X], mapping)
    with pytest.raises(ShardingError, match="Unknown"):
        F.print(x, "x")
