"""What brokers said about starts, StopReplica and UpdateMetadata, in several releases."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from barnabas.analysis.reading.releases.broker import BROKER_ROWS
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.statechange import Message
from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.template import Speaker

Said = Callable[[str], Message]


def test_only_a_broker_speaks_here() -> None:
    assert {template.speaker for template in BROKER_ROWS} == {Speaker.BROKER}


@pytest.mark.parametrize(
    "text",
    [
        (
            "Leader a-1-0 starts at leader epoch 4 from offset 51 with high watermark 50 ISR [1,2] "
            "addingReplicas [] removingReplicas []. Previous leader epoch was 3."
        ),
        (
            "Leader a-1-0 starts at leader epoch 4 from offset 51 with high watermark 50 ISR 1,2 "
            "addingReplicas  removingReplicas  .Previous leader epoch was 3."
        ),
        (
            "Leader a-1-0 with topic id Some(2-3qO3o8RgetP5oocXJFcQ) starts at leader epoch 4 from offset 51 "
            "with partition epoch 9, high watermark 50, ISR [1,2], adding replicas [] and removing replicas "
            "[]. Previous leader epoch was 3."
        ),
        (
            "Leader a-1-0 with topic id Some(2-3qO3o8RgetP5oocXJFcQ) starts at leader epoch 4 from offset 51 "
            "with partition epoch 9, high watermark 50, ISR [1,2], adding replicas [] and removing replicas "
            "[] . Previous leader epoch was 3."
        ),
        (
            "Leader a-1-0 with topic id None starts at leader epoch 4 from offset 51 with partition epoch 9, "
            "high watermark 50, ISR [1,2], adding replicas [] and removing replicas [] (under-min-isr). "
            "Previous leader Some(1) and previous leader epoch was 3."
        ),
    ],
)
def test_a_leader_starts_in_five_wordings(text: str, said: Said) -> None:
    message = said(f"[Broker id=1] {text}")
    assert message.kind is Kind.LEADER_STARTS
    assert message.values["tp"] == TopicPartition("a-1", 0)
    expected = {
        "leader_epoch": 4,
        "offset": 51,
        "high_watermark": 50,
        "isr": (1, 2),
        "previous_leader_epoch": 3,
    }
    assert expected.items() <= message.values.items()


def test_a_reason_may_hold_anything(said: Said) -> None:
    message = said(
        "[Broker id=1] Ignoring StopReplica request (delete=true) from controller 2 with correlation id 7 "
        "epoch 3 for "
        "partition t-0 due to an unexpected java.io.IOException exception: no space: left [on] device"
    )
    assert message.kind is Kind.STOP_REPLICA_EXCEPTION
    assert (message.values["exception"], message.values["error"]) == (
        "java.io.IOException",
        "no space: left [on] device",
    )
