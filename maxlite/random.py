"""Random tensors, and the seed that they depend on.

>>> set_seed(1)
>>> first = normal([2])
>>> set_seed(1)
>>> bool((first == normal([2])).to_numpy().all())
True
"""

from typing import TYPE_CHECKING

from maxlite._names import unknown_name
from maxlite.functional import gaussian, normal, uniform
from maxlite.realization_context import seed, set_seed

__all__ = ["gaussian", "normal", "seed", "set_seed", "uniform"]

if not TYPE_CHECKING:  # a type checker would then let every name pass

    def __getattr__(name: str) -> object:
        remedies = {
            "rand": "Use uniform(shape).",
            "random": "Use uniform(shape).",
            "randn": "Use normal(shape).",
            "PRNGKey": "Use set_seed(seed), or the seed of a compiled call.",
            "key": "Use set_seed(seed), or the seed of a compiled call.",
            "manual_seed": "Use set_seed(seed).",
        }
        raise unknown_name("module 'maxlite.random'", name, __all__, remedies)
