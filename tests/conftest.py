"""What every test starts from: eight simulated devices, and no silent promotion."""

import gc
import os

import hypothesis
import jax
import numpy as np
import pytest

from maxlite import _backend

# Promotion is only ever maxlite's own: JAX refuses to mix dtypes by itself.
jax.config.update("jax_numpy_dtype_promotion", "strict")

# Compiled programs are many small objects: looking through all of them again and again
# takes a tenth of the time.
gc.set_threshold(100_000, 50, 100)

# The same examples in every run; MAXLITE_SEARCH=1 looks for new ones.
hypothesis.settings.register_profile(
    "maxlite", deadline=None, derandomize="MAXLITE_SEARCH" not in os.environ
)
hypothesis.settings.load_profile("maxlite")


@pytest.fixture(scope="session", autouse=True)
def eight_devices() -> None:
    """A clean process gets them from maxlite itself: nothing is configured here."""
    found = len(_backend.devices("cpu"))
    assert found >= 8, f"the tests need 8 CPU devices, XLA_FLAGS leaves {found}"


@pytest.fixture
def rng() -> np.random.Generator:
    """Random data that is the same in every run."""
    return np.random.default_rng(20250607)


QUICK = {"bool", "float32", "bfloat16", "int64", "uint8", "int32"}
"""The dtypes that `make test` computes each function in; `make test-all` takes all."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuses names with an address in them, and finds the slow ones among dtypes.

    Parallel workers must agree on names.
    """
    for item in items:
        assert "object at 0x" not in item.nodeid, f"give {item.nodeid} an id"
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        dtype = parameters.get("dtype")
        if isinstance(dtype, np.dtype) and dtype.name not in QUICK:
            item.add_marker(pytest.mark.slow)
