from __future__ import annotations

import pytest

from barnabas.controller.core import reasons_topics as reasons

SENTENCES = {
    reasons.DeletionQueued(("t", "u")): "topics to be deleted: t, u",
    reasons.DeletionMarksRemoved(("t",), "it rains"): "not to be deleted, because it rains: t",
    reasons.DeletionHalted(("t",), "rain"): "deletion halted, because of rain: t",
    reasons.DeletionStarted(("t",)): "deletion (re)started: t",
    reasons.DeletionRetried(("r1", "r2")): "deletion to be tried again of the replicas r1, r2",
    reasons.TopicDeleted("t"): "topic t is deleted",
    reasons.TopicNamesIllegal(("a b",)): (
        "left out of the topics, because no topic may have these names: a b"
    ),
    reasons.PartitionsWritten("t", 4): "topic t written: 4 partitions from now on",
    reasons.PartitionsRefused("t", (4, 5)): "topic t is being deleted and gets no partitions: 4, 5",
}


@pytest.mark.parametrize("reason", SENTENCES, ids=lambda reason: type(reason).__name__)
def test_a_reason_is_a_sentence(reason: reasons.Reason) -> None:
    assert str(reason) == SENTENCES[reason]
