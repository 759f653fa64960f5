"""Regions: what is inherited, what is checked, and where a region ends."""

import threading

import pytest

from maxlite.sharding import (
    ALL_TRANSITIONS,
    DEFAULT_TRANSITIONS,
    Partial,
    Replicated,
    Sharded,
)
from maxlite.sharding._auto_reshard import Region, auto_reshard, current_region


def test_outermost_nothing_is_resharded():
    assert current_region() == Region(DEFAULT_TRANSITIONS, "raise")


def test_no_argument_changes_nothing():
    with auto_reshard():
        assert current_region() == Region()


def test_each_argument_is_inherited_on_its_own():
    with auto_reshard([], mode="warn"):
        assert current_region() == Region(frozenset(), "warn")
        with auto_reshard(mode="silent"):
            assert current_region() == Region(frozenset(), "silent")
        with auto_reshard(ALL_TRANSITIONS):
            assert current_region() == Region(ALL_TRANSITIONS, "warn")
        assert current_region() == Region(frozenset(), "warn")
    assert current_region() == Region()


def test_an_error_ends_the_region():
    with pytest.raises(RuntimeError, match="stop"), auto_reshard(mode="silent"):
        raise RuntimeError("stop")
    assert current_region() == Region()


def test_it_decorates_functions_that_may_call_themselves():
    @auto_reshard(mode="silent")
    def depth(n: int) -> list[str]:
        return [current_region().mode, *(depth(n - 1) if n else [])]

    assert depth(2) == ["silent"] * 3
    assert depth(0) == ["silent"]
    assert current_region().mode == "raise"


def test_a_region_is_per_thread():
    seen: list[Region] = []
    with auto_reshard(mode="silent"):
        thread = threading.Thread(target=lambda: seen.append(current_region()))
        thread.start()
        thread.join()
    assert seen == [Region()]


def test_pairs_may_come_from_any_iterable():
    with auto_reshard(pair for pair in [(Replicated, Partial), (Sharded, Partial)]):
        assert current_region().transitions == {
            (Replicated, Partial),
            (Sharded, Partial),
        }


@pytest.mark.parametrize("mode", ["loud", "", 1])
def test_the_mode_is_checked(mode):
    with pytest.raises(ValueError, match="mode must be"), auto_reshard(mode=mode):
        pass


@pytest.mark.parametrize(
    "transitions",
    [
        [(Sharded(0), Replicated())],
        [(Sharded,)],
        [Sharded],
        [(Sharded, int)],
        (Sharded, Replicated),
        "SR",
    ],
)
def test_transitions_are_pairs_of_placement_classes(transitions):
    with (
        pytest.raises(TypeError, match="pairs of placement classes, got"),
        auto_reshard(transitions),
    ):
        pass


@pytest.mark.parametrize("number", [5])
def test_transitions_are_iterable(number):
    with pytest.raises(TypeError, match="not iterable"), auto_reshard(number):
        pass


@pytest.mark.parametrize(
    ("region", "text"),
    [
        (Region(), 'auto_reshard(DEFAULT_TRANSITIONS, mode="raise")'),
        (
            Region(ALL_TRANSITIONS, "warn"),
            'auto_reshard(ALL_TRANSITIONS, mode="warn")',
        ),
        (
            Region(frozenset({(Sharded, Replicated)}), "silent"),
            'auto_reshard({(Sharded, Replicated)}, mode="silent")',
        ),
    ],
)
def test_a_region_prints_as_it_is_opened(region, text):
    assert str(region) == text


def test_equal_regions_are_one_key():
    assert len({Region(), Region(frozenset(DEFAULT_TRANSITIONS), "raise")}) == 1
    assert Region().allows(Partial(), Partial())
    assert not Region().allows(Partial(), Sharded(0))
