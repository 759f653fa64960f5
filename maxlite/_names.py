"""Words for a name that a module has not: what it may have been meant to be."""

from __future__ import annotations

import difflib
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NONE: Mapping[str, str] = MappingProxyType({})


def unknown_name(
    owner: str, name: str, known: Iterable[str], remedies: Mapping[str, str] = _NONE
) -> AttributeError:
    """Words the error for a name that is looked up and is not there.

    Args:
        owner: Who lacks it, as in ``module 'maxlite.functional'``.
        name: What was looked up. Names with an underscore in front are the probes of
            protocols, which get no advice.
        known: Names that there are.
        remedies: A sentence for some names of other libraries.

    >>> unknown_name("module 'm'", "sigmod", ["sigmoid", "sign"]).args[0]
    "module 'm' has no attribute 'sigmod'. Did you mean 'sigmoid'?"
    """
    stated = f"{owner} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(stated, name=name)
    if name in remedies:
        return AttributeError(f"{stated}. {remedies[name]}", name=name)
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.7)
    advice = f". Did you mean {close[0]!r}?" if close else ""
    return AttributeError(f"{stated}{advice}", name=name)
