"""A second name is the very function, and is told in the table of its module."""

import re

import pytest

from maxlite import functional as F
from maxlite._op_table import fronts
from maxlite.functional import _aliases

ALIASES = {
    name: value
    for name, value in vars(_aliases).items()
    if callable(value) and value.__name__ != name
}


def test_there_are_some():
    assert {"absolute", "clip", "arccos", "maximum", "log_softmax"} <= set(ALIASES)


@pytest.mark.parametrize("name", ALIASES)
def test_an_alias_is_the_function_itself(name):
    original = ALIASES[name]
    assert getattr(F, name) is original
    assert getattr(F, original.__name__) is original
    assert fronts[original.__name__] is original
    assert name not in fronts


def test_the_table_tells_them_all():
    assert _aliases.__doc__ is not None
    rows = re.findall(r"^\| (``.*?) \|", _aliases.__doc__, re.MULTILINE)
    told = re.findall(r"``(\w+)``", " ".join(rows))
    assert sorted(told) == sorted(ALIASES)


@pytest.mark.parametrize(
    ("alias", "original"),
    [
        ("power", F.pow),
        ("remainder", F.mod),
        ("true_divide", F.div),
        ("minimum", F.elementwise_min),
        ("arctan2", F.atan2),
        ("isnan", F.is_nan),
        ("invert", F.bitwise_not),
        ("cat", F.concat),
        ("expand_dims", F.unsqueeze),
    ],
)
def test_it_is_the_one_that_the_name_promises(alias, original):
    assert getattr(F, alias) is original
