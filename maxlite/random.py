"""Random tensors, and the seed that they depend on.

>>> set_seed(1)
>>> first = normal([2])
>>> set_seed(1)
>>> bool((first == normal([2])).to_numpy().all())
True
"""

from maxlite.functional import gaussian, normal, uniform
from maxlite.realization_context import seed, set_seed

__all__ = ["gaussian", "normal", "seed", "set_seed", "uniform"]
