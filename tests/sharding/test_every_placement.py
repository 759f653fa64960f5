"""Every op under every placement of its operands gives what one device gives.

By brute force: each sample of each row, each operand whole, cut along each axis (evenly
or not) or a pending sum of unequal terms. Where the rule allows it at once, and where a
region moves operands first; a placement that works without a move must be in the rule.
`make test` runs one sample of each on a mesh of two in a lazy block, `make test-all`
the rest.
"""

import itertools

import numpy as np
import pytest

from maxlite import CPU, DeviceMapping, Tensor, compile
from maxlite import functional as F
from maxlite._op_table import rows
from maxlite.sharding import (
    ALL_TRANSITIONS,
    Partial,
    Replicated,
    Sharded,
    ShardingError,
    auto_reshard,
)
from tests.lowering.op_samples import SAMPLES, WRITES
from tests.sharding.meshes import cpu_mesh
from tests.test_one_meaning import arrays_of, listed

MOST_CASES = 40
"""Placements tried of one sample on a larger mesh; of more, every few-th."""

STRETCHING = ("broadcast_to",)
OPS = [name for name, op in rows().items() if name in SAMPLES and name not in WRITES]
MESHES = [
    pytest.param(ways, id="x".join(map(str, ways))) for ways in ((2,), (4,), (2, 2))
]

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("name", OPS)
def test_a_block_of_all_placements_on_a_mesh_of_two(name):
    for sample in SAMPLES[name][:1]:
        operands = arrays_of(sample)
        want = listed(sample.run(*map(Tensor, operands)))
        chosen = list(itertools.product(*(placements_of(a, name) for a in operands)))
        placed = [
            [place(a, (2,), (p,)) for a, p in zip(operands, lying, strict=True)]
            for lying in chosen
        ]
        # One program for all, since compiling is most of the work.
        with auto_reshard(ALL_TRANSITIONS, mode="silent"), F.lazy():
            found = [listed(sample.run(*tensors)) for tensors in placed]
        for lying, results in zip(chosen, found, strict=True):
            agree(f"{lying}", results, want)


@pytest.mark.slow
@pytest.mark.parametrize("ways", MESHES)
@pytest.mark.parametrize("name", OPS)
def test_eager_ops(name, ways):
    for sample, operands, lying in cases(name, ways):
        want = listed(sample.run(*map(Tensor, operands)))
        with auto_reshard(ALL_TRANSITIONS, mode="silent"):
            placed = [place(a, ways, p) for a, p in zip(operands, lying, strict=True)]
            agree(f"{lying}", listed(sample.run(*placed)), want)
        try:
            found = listed(sample.run(*placed))
        except ShardingError:
            continue
        agree(f"{lying}, without a move", found, want)


@pytest.mark.slow
@pytest.mark.parametrize("ways", MESHES)
@pytest.mark.parametrize("name", OPS)
def test_blocks_and_programs(name, ways):
    for sample, operands, lying in cases(name, ways):
        with auto_reshard(ALL_TRANSITIONS, mode="silent"):
            placed = [place(a, ways, p) for a, p in zip(operands, lying, strict=True)]
            want = listed(sample.run(*placed))
            with F.lazy():
                lazily = listed(sample.run(*placed))
            program = compile(sample.run)(*(tensor.layout for tensor in placed))
        for how, found in (("lazy", lazily), ("compiled", listed(program(*placed)))):
            agree(f"{how}, {lying}", found, want)
            assert [t.placements for t in found] == [t.placements for t in want]


def cases(name, ways):
    """Gives samples with the placements of their operands."""
    for sample in SAMPLES[name]:
        operands = arrays_of(sample)
        per_operand = [
            list(itertools.product(placements_of(array, name), repeat=len(ways)))
            for array in operands
        ]
        lying = list(itertools.product(*per_operand))
        step = max(1, len(lying) // MOST_CASES)
        for chosen in lying[::step]:
            yield sample, operands, chosen


def placements_of(array, name):
    # An axis that broadcast_to stretches may be cut in no mode, as in the reference.
    stretched = [i for i, n in enumerate(array.shape) if n == 1 and name in STRETCHING]
    axes = [i for i in range(array.ndim) if i not in stretched]
    found = [Replicated(), *map(Sharded, axes)]
    return found if array.dtype == bool else [*found, Partial()]


def place(array, ways, placements):
    """Puts an array on a mesh; a pending sum has unequal terms."""
    mesh = cpu_mesh(*ways)
    whole = Tensor(array).to(DeviceMapping.replicated(mesh))
    target = DeviceMapping(mesh, placements)
    moved = whole.to(target)
    if any(isinstance(p, Partial) for p in placements):
        noise = Tensor(np.arange(array.size).reshape(array.shape) % 3).cast(moved.dtype)
        first = noise.to(DeviceMapping.replicated(mesh)).to(target)
        return moved + first - _last(first)
    return moved


def _last(terms):
    """The same sum, held by the last devices rather than by the first."""
    shards = reversed([shard.to_numpy() for shard in terms.local_shards])
    if terms.mesh.ndim > 1 and len(set(map(type, terms.placements))) > 1:
        return terms  # pieces would change their place
    with F.ensure_context():
        return Tensor.from_shard_values(list(map(Tensor, shards)), terms.mapping)


def agree(how, found, want):
    for one, other in zip(found, want, strict=True):
        assert one.dtype is other.dtype, how
        array = one.to(CPU()).to_numpy() if one.is_distributed else one.to_numpy()
        assert list(array.shape) == list(other.to_numpy().shape), how
        np.testing.assert_allclose(
            array.astype(np.float64),
            other.to_numpy().astype(np.float64),
            rtol=1e-4,
            atol=1e-5,
            err_msg=how,
        )
