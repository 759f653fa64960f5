"""Without PyTorch, its functions say what to install."""

import importlib

import pytest

from maxlite import interop
from maxlite.tensor import Tensor


@pytest.mark.parametrize("function", [interop.from_torch, interop.to_torch])
def test_a_missing_package_is_named(monkeypatch, function):
    def fail(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", fail)
    with pytest.raises(ImportError, match=r"No module named 'torch'\. Install the pa"):
        function(Tensor([1.0]))
