"""The context of what is called outside of any, and who makes it."""

import pytest

from maxlite import functional as F
from maxlite.executor._policy import policy
from maxlite.realization_context import (
    EagerRealizationContext,
    LazyRealizationContext,
    default_realization_context,
    set_default_realization_context,
)
from maxlite.support import SetterContext
from maxlite.tensor import Tensor, current_realization_context


@pytest.fixture(autouse=True)
def plain_before_and_after():
    assert policy.is_plain
    yield
    assert policy.is_plain


def test_the_usual_one_is_eager_and_new():
    one, other = default_realization_context(), default_realization_context()
    assert type(one) is type(other) is EagerRealizationContext
    assert one is not other


def test_a_maker_is_asked_once_per_op_or_group():
    made = []

    def make():
        made.append(EagerRealizationContext())
        return made[-1]

    handle = set_default_realization_context(make)
    assert isinstance(handle, SetterContext)
    x = Tensor([1.0, 2.0])
    assert len(made) == 0
    assert (x + 1).real
    assert len(made) == 1
    assert F.functional(lambda x: (x + 1) * 2)(x).to_numpy().tolist() == [4, 6]
    assert len(made) == 2
    x[0] = 5.0
    assert len(made) == 3
    with F.lazy():
        y = x + 1
    y.to_numpy()
    assert len(made) == 3
    handle.__exit__(None, None, None)
    assert (x + 1).to_numpy().tolist() == [6, 3]
    assert len(made) == 3


def test_with_lazy_ones_everything_stays_pending():
    x = Tensor([1.0, 2.0])
    with set_default_realization_context(LazyRealizationContext):
        y = x + 1
        z = y * 2
        found = F.functional(lambda x: x * 3)(x)
        assert (y.real, z.real, found.real) == (True, False, False)
        assert z.to_numpy().tolist() == [4, 6]
        x[0] = 10.0
        assert x.to_numpy().tolist() == [10, 2]
        drawn = F.uniform([2])
        assert not drawn.real
    assert found.to_numpy().tolist() == [3, 6]
    assert (x + 1).real


def test_an_error_restores_the_one_before():
    with (
        pytest.raises(ValueError, match="shape"),
        set_default_realization_context(LazyRealizationContext),
    ):
        F.add(Tensor([1.0, 2.0]), Tensor([1.0, 2.0, 3.0]))
    assert current_realization_context(None) is None
    assert (Tensor([1.0]) + 1).real


def test_a_maker_must_be_callable():
    with pytest.raises(TypeError, match="must be a function"):
        set_default_realization_context(3)  # pyright: ignore[reportArgumentType]
