"""maxlite answers the conformance cases as the reference does, but for known misses.

A miss is argued in ``tests/known_differences.jsonl``, one ``{"id", "reason"}`` a line.
"""

from collections import Counter
from pathlib import Path

import pytest

from tests.conformance import _cases
from tests.conformance._cases import Case

KNOWN = {
    row["id"]: row["reason"]
    for row in _cases.read_lines(Path(__file__).parents[1] / "known_differences.jsonl")
}
CASES = [case for topic in _cases.topics() for case in _cases.load(topic)]

MOST_KNOWN = 0.03
"""Share of a topic's cases that may differ."""

NONE_KNOWN = {"tree"}
"""Topics of which every case must agree."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.topic}-{case.id}")
def test_answers_as_the_reference(case: Case) -> None:
    answer = _cases.run(case)
    agrees = _cases.matches(case.expect, answer)
    if case.id in KNOWN:
        assert not agrees, f"{case.id} agrees now: take it off the known differences"
        return
    got = answer.trace or answer.value
    assert agrees, f"\n{case.source}\n\nexpected {case.expect}\ngot {got}"


def test_known_differences_are_few() -> None:
    of_topic = Counter(case.topic for case in CASES)
    known = Counter(case.topic for case in CASES if case.id in KNOWN)
    for topic, count in known.items():
        assert topic not in NONE_KNOWN
        assert count < MOST_KNOWN * of_topic[topic], topic


def test_known_differences_name_cases_and_argue() -> None:
    assert set(KNOWN) <= {case.id for case in CASES}
    assert [id for id, reason in KNOWN.items() if len(reason.split()) < 6] == []
