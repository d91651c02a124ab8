"""Each kind of line about brokers is used by the story, or has a reason not to be."""

from __future__ import annotations

import re
from pathlib import Path

import barnabas.analysis.story
from barnabas.analysis.reading.events.broker_kinds import BrokerKind

SOURCES = sorted(Path(barnabas.analysis.story.__file__).parent.glob("*.py"))

REASONS = {
    BrokerKind.BROKER_STOP_REFUSED: "the broker asks again, until it is granted or gives up",
    BrokerKind.DESCRIBED: "it has no time, and becomes ``Observed.settings``",
}


def test_the_story_uses_each_kind_or_there_is_a_reason() -> None:
    used = {name for path in SOURCES for name in re.findall(r"\bBrokerKind\.(\w+)", path.read_text())}
    assert {kind for kind in BrokerKind if kind.name not in used} == set(REASONS)
