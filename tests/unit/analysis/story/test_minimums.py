"""The value of min.insync.replicas that lines prove for a time."""

from __future__ import annotations

import pytest

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.minimums import minimums_of
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.rows import BrokerLine, Setting
from tests.unit.analysis.story.rows import LIFE, at, broker_line, line


def configured(seconds: float, value: str, topic: str | None = None) -> BrokerLine:
    return broker_line(
        seconds, BrokerKind.CONFIGURED, topic=topic, settings=(f"min.insync.replicas={value}",)
    )


@pytest.mark.parametrize(
    ("lines", "value", "is_default"),
    [
        ((), None, False),
        ((configured(0, "2"),), 2, True),
        ((configured(90, "2"),), 2, True),
        ((configured(0, "2"), configured(30, "1")), None, False),
        ((configured(0, "2"), configured(0, "3", "t")), 3, False),
        ((configured(0, "2"), configured(0, "3", "t"), configured(30, "1", "t")), None, False),
        ((configured(0, "2"), configured(0, "", "t")), 2, True),
        ((configured(0, "2", "other"),), None, False),
    ],
)
def test_a_topics_own_value_counts_first_and_several_give_none(
    lines: tuple[BrokerLine, ...], value: int | None, is_default: bool
) -> None:
    found = minimums_of(Observed(brokers=lines)).held("t", at(10), at(60))
    assert (found.value, found.is_default) == (value, is_default)


def test_what_a_tool_prints_holds_at_all_times_unless_a_line_differs() -> None:
    printed = Setting("t", "min.insync.replicas", "2", line("printed"))
    assert minimums_of(Observed(settings=[printed])).held("t", at(10), at(60)).value == 2
    seen = Observed(settings=[printed], brokers=[configured(20, "1", "t")])
    assert minimums_of(seen).held("t", at(10), at(60)).differs


def test_a_refused_write_is_a_proof_at_its_time_alone() -> None:
    refused = broker_line(30, BrokerKind.WRITES_REFUSED, topic="t", partition=0, minimum=2)
    known = minimums_of(Observed(brokers=[refused]))
    assert known.proof(LIFE, at(10), at(60)) is refused
    assert known.proof(LIFE, at(40), at(60)) is None
    assert known.held("t", at(10), at(60)).value == 2
