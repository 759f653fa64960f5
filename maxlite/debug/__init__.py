"""Looking inside: what is kept, what is sent, and whether all ways of running agree."""

from maxlite.debug._caches import CacheInfo, cache_info, clear_caches
from maxlite.debug._compare import Comparison, compare
from maxlite.debug._traffic import Sent, Traffic, traffic

__all__ = [
    "CacheInfo",
    "Comparison",
    "Sent",
    "Traffic",
    "cache_info",
    "clear_caches",
    "compare",
    "traffic",
]
