from __future__ import annotations

from barnabas.controller.core.effects import NO_REIGN, Ask
from barnabas.controller.core.effects_topics import DeleteTopic, MarkTopicDeletions, ReadTopicDeletions


def test_they_are_questions_told_apart_by_what_they_ask() -> None:
    asked: list[Ask[object]] = [
        ReadTopicDeletions(),
        MarkTopicDeletions(("t",), NO_REIGN),
        DeleteTopic("t", NO_REIGN),
    ]
    assert len(set(asked)) == 3
    assert DeleteTopic("t", NO_REIGN) == DeleteTopic("t", NO_REIGN) != DeleteTopic("u", NO_REIGN)
