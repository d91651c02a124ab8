"""Real lines of real clusters, one of every kind for four generations, and every row of the table."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.analysis.reading.events.kinds import OtherKind
from barnabas.analysis.reading.releases.lines import TABLE, locate_message
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.statechange import Kind, Message
from barnabas.cluster.model.statechange.template import Speaker, Template

Said = Callable[[str], Message]
SAMPLES = Path(__file__).parents[4] / "data" / "state-change"
LINE = re.compile(r"\[[^\]]*\] (?:TRACE|DEBUG|INFO|WARN|ERROR) (.*) \(state\.change\.logger\)")


@pytest.mark.parametrize(("generation", "lines"), [("0.9", 54), ("1.x", 86), ("2.x", 243), ("3.x", 92)])
def test_every_sample_line_is_understood(generation: str, lines: int, said: Said) -> None:
    texts = LINE.findall((SAMPLES / f"{generation}-one-line-per-kind.log").read_text())
    assert len(texts) == lines
    unknown = [text for text in texts if said(text).kind is None]
    assert unknown == []


def test_a_line_that_no_row_knows_keeps_its_speaker(said: Said) -> None:
    message = said("[Controller id=1 epoch=3] Danced around partition t-0")
    assert (message.kind, message.speaker, message.speaker_id, message.speaker_epoch) == (
        None,
        Speaker.CONTROLLER,
        1,
        3,
    )
    assert said("").kind is None


@pytest.mark.parametrize("number", ["9" * 5000, "\N{ARABIC-INDIC DIGIT THREE}"], ids=["endless", "arabic"])
@pytest.mark.parametrize(
    "text",
    [
        "[Broker id={}] Danced",
        "[Broker id=1] Handling StopReplica request correlationId {} from controller 1 for 2 partitions",
    ],
)
def test_what_python_cannot_or_would_not_take_for_a_number_of_kafka_s_is_unknown(
    text: str, number: str, said: Said
) -> None:
    assert said(text.format(number)).kind is None


def test_the_oldest_hyphen_form_is_a_partition_too(said: Said) -> None:
    message = said(
        "Controller 0 epoch 4 sending UpdateMetadata request "
        "(Leader:-2,ISR:,LeaderEpoch:0,ControllerEpoch:29) to broker 1 for partition topic55-1"
    )
    assert message.kind is OtherKind.UPDATE_METADATA_SENDING
    assert message.values["tp"] == TopicPartition("topic55", 1)
    assert (message.values["leadership"].leader, message.values["leadership"].isr) == (-2, ())


def test_a_controller_s_line_may_come_without_epoch(said: Said) -> None:
    message = said("[Controller id=1] Mark replicas a-0,b-1 on broker 3 as offline")
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
def test_a_line_has_its_releases(text: str, releases: str | None) -> None:
    assert locate_message(text).releases == releases


PREFIXES = {
    Speaker.CONTROLLER: ("[Controller id=1 epoch=3] ", "Controller 1 epoch 3 "),
    Speaker.CONTROLLER_WITHOUT_EPOCH: ("[Controller id=1] ",),
    Speaker.BROKER: ("[Broker id=1] ", "Broker 1 "),
    Speaker.NOBODY: ("",),
}


def name(template: Template) -> str:
    return f"{template.kind.value}-{'.'.join(map(str, template.since))}"


@pytest.mark.parametrize("template", TABLE, ids=name)
@settings(max_examples=5)
@given(data=st.data())
def test_every_row_renders_and_reads_back(
    template: Template, said: Said, line_values: dict[str, st.SearchStrategy[Any]], data: st.DataObject
) -> None:
    values = {field: data.draw(line_values[shape.name], field) for field, shape in template.formats.items()}
    body = template.write(values)
    for prefix in PREFIXES[template.speaker]:
        # Up to 0.11 the sentence begins with a small letter.
        small = prefix and not prefix.startswith("[")
        message = said(prefix + (body[0].lower() + body[1:] if small else body))
        assert message.kind == template.kind
        for field, value in values.items():
            shape = template.formats[field]
            assert message.values[field] == shape.read(shape.write(value))


def test_a_kind_is_our_release_s_or_another_s() -> None:
    assert {template.kind for template in TABLE} == {*Kind, *OtherKind}
