"""Real lines of real clusters, one of every kind for four generations of Kafka."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cluster.model.ids import TopicPartition
from cluster.model.statechange.kinds import Kind
from cluster.model.statechange.reader import read_message
from cluster.model.statechange.template import Speaker

SAMPLES = Path(__file__).parents[4] / "data" / "state-change"
LINE = re.compile(r"\[[^\]]*\] (?:TRACE|DEBUG|INFO|WARN|ERROR) (.*) \(state\.change\.logger\)")


@pytest.mark.parametrize(("generation", "lines"), [("0.9", 54), ("1.x", 86), ("2.x", 243), ("3.x", 92)])
def test_every_sample_line_is_understood(generation: str, lines: int) -> None:
    texts = LINE.findall((SAMPLES / f"{generation}-one-line-per-kind.log").read_text())
    assert len(texts) == lines
    unknown = [text for text in texts if read_message(text).kind is None]
    assert unknown == []


def test_a_line_that_no_row_knows_keeps_its_speaker() -> None:
    message = read_message("[Controller id=1 epoch=3] Danced around partition t-0")
    assert (message.kind, message.speaker, message.speaker_id, message.speaker_epoch) == (
        None,
        Speaker.CONTROLLER,
        1,
        3,
    )
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


def test_the_oldest_hyphen_form_is_a_partition_too() -> None:
    message = read_message(
        "Controller 0 epoch 4 sending UpdateMetadata request "
        "(Leader:-2,ISR:,LeaderEpoch:0,ControllerEpoch:29) to "
        "broker 1 for partition topic55-1"
    )
    assert message.kind is Kind.UPDATE_METADATA_SENDING
    assert message.values["tp"] == TopicPartition("topic55", 1)
    assert (message.values["leadership"].leader, message.values["leadership"].isr) == (-2, ())


def test_a_controller_s_line_may_come_without_epoch() -> None:
    message = read_message("[Controller id=1] Mark replicas a-0,b-1 on broker 3 as offline")
    assert (message.speaker, message.speaker_id, message.speaker_epoch) == (
        Speaker.CONTROLLER_WITHOUT_EPOCH,
        1,
        None,
    )
    assert message.values["tps"] == (TopicPartition("a", 0), TopicPartition("b", 1))


@pytest.mark.parametrize(
    ("text", "releases"),
    [
        (("Broker 1 deleted partition [t,0] from metadata cache in response to UpdateMetadata request sent "
         "by controller 0 epoch 29 with correlation id 9"), "0.8.2 to 0.11"),
        ("[Controller id=1 epoch=3] Sending StopReplica request for 2 replicas to broker 3", "2.6+"),
        ("[Controller id=1 epoch=3] Changed partition t-0 from NewPartition to OnlinePartition with leader 2",
         "0.8 to 1.0"),
        ("[Controller id=1 epoch=3] Danced", None),
    ],
)  # fmt: skip
def test_a_line_tells_its_releases(text: str, releases: str | None) -> None:
    assert read_message(text).releases == releases
