"""No test leaves a validator active."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from maxlite.compilation import compile
from maxlite.driver import CPU
from maxlite.dtype import DType
from maxlite.executor._policy import policy
from maxlite.sharding import TensorLayout
from maxlite.tensor import Tensor
from maxlite.validation import active_validator
from tests.validation.reports import Reports


@pytest.fixture(autouse=True)
def nothing_stays_active() -> Iterator[None]:
    assert policy.is_plain
    yield
    assert active_validator() is None
    assert policy.is_plain
    assert not policy.needs_context


@pytest.fixture
def x() -> Tensor:
    return Tensor([1.0, 2.0])


@pytest.fixture
def program() -> Callable[..., Any]:
    """Two results of one argument, compiled."""
    return compile(lambda x: (x + 1, x * 2))(TensorLayout(DType.float32, [2], CPU()))


@pytest.fixture
def seen(capsys: pytest.CaptureFixture[str]) -> Reports:
    return Reports(capsys)
