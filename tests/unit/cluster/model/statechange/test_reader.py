"""Lines of our release are read back; all others are unknown here."""

from __future__ import annotations

import pytest

from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.statechange.reader import read_message
from barnabas.cluster.model.statechange.template import Speaker


def test_a_line_that_no_row_knows_keeps_its_speaker() -> None:
    message = read_message("[Controller id=1 epoch=3] Danced around partition t-0")
    assert (message.kind, message.speaker) == (None, Speaker.CONTROLLER)
    assert (message.speaker_id, message.speaker_epoch) == (1, 3)
    assert read_message("").kind is None


@pytest.mark.parametrize("number", ["9" * 5000, "\N{ARABIC-INDIC DIGIT THREE}"], ids=["endless", "arabic"])
@pytest.mark.parametrize(
    "text",
    [
        "[Broker id={}] Danced",
        "[Broker id=1] Handling StopReplica request correlationId {} from controller 1 for 2 partitions",
    ],
)
def test_what_python_cannot_or_would_not_take_for_a_number_of_kafka_s_is_unknown(
    text: str, number: str
) -> None:
    assert read_message(text.format(number)).kind is None


def test_a_controller_s_line_may_come_without_epoch() -> None:
    message = read_message("[Controller id=1] Mark replicas a-0,b-1 on broker 3 as offline")
    assert (message.speaker, message.speaker_id) == (Speaker.CONTROLLER_WITHOUT_EPOCH, 1)
    assert message.speaker_epoch is None
    assert message.values["tps"] == (TopicPartition("a", 0), TopicPartition("b", 1))


@pytest.mark.parametrize(
    "text",
    [
        "Broker 1 handling StopReplica request correlationId 1 from controller 1 for 2 partitions",
        "[Controller id=1 epoch=3] Changed partition t-0 from NewPartition to OnlinePartition with leader 2",
        "[Broker id=1] Transitioning 3 partition(s) to local leaders.",
    ],
)
def test_a_line_of_another_release_is_unknown(text: str) -> None:
    assert read_message(text).kind is None
