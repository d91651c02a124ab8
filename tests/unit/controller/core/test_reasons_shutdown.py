from __future__ import annotations

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.reasons_shutdown import ShutdownRefused, ShuttingDown


def test_sentences():
    assert str(ShuttingDown(BrokerId(2), 3, 1, (TopicPartition("t", 0),))) == (
        "broker 2 is about to stop: 2 of 3 leaders moved, 1 followers stopped; it still leads: t-0"
    )
    assert str(ShuttingDown(BrokerId(2), 0, 0, ())).endswith("it still leads: none")
    assert str(ShutdownRefused(BrokerId(2), ErrorCode.BROKER_NOT_AVAILABLE, "no.")) == (
        "controlled shutdown of broker 2 refused with BROKER_NOT_AVAILABLE: no."
    )
