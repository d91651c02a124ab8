"""Old and failed things a controller says, in the words of the releases that said them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from barnabas.analysis.reading.events.kinds import OtherKind
from barnabas.analysis.reading.releases.controller import CONTROLLER_ROWS
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.statechange import Message
from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.template import Speaker

Said = Callable[[str], Message]


def test_only_a_controller_speaks_here() -> None:
    assert {template.speaker for template in CONTROLLER_ROWS} == {
        Speaker.CONTROLLER,
        Speaker.CONTROLLER_WITHOUT_EPOCH,
    }


def test_an_election_of_0_9_won_though_it_says_offline(said: Said) -> None:
    message = said("Controller 0 epoch 4 elected leader 0 for Offline partition [my-topic,0]")
    assert (message.kind, message.values) == (
        OtherKind.ELECTION_WON,
        {"leader": 0, "tp": TopicPartition("my-topic", 0)},
    )


def test_the_partition_named_in_a_reason_is_not_the_line_s_own(said: Said) -> None:
    message = said(
        "Controller 0 epoch 58 encountered error while electing leader for partition "
        "[__consumer_offsets,30] due to: "
        "Preferred replica 1 for partition [other,1] is either not alive or not in the isr. "
        'Current leader and ISR: [{"leader":2,"leader_epoch":34,"isr":[2]}].'
    )
    assert message.kind is OtherKind.ELECTION_FAILED
    assert message.values["tp"] == TopicPartition("__consumer_offsets", 30)
    assert "leadership" not in message.values


@pytest.mark.parametrize(
    "text",
    [
        (
            "[Controller id=2 epoch=5] Controller 2 epoch 5 failed to change state for partition t-0 from "
            "OfflinePartition to OnlinePartition"
        ),
        (
            "[Controller id=2 epoch=5] Initiated state change for partition t-0 from OfflinePartition to "
            "OnlinePartition failed"
        ),
        (
            "Controller 2 epoch 5 initiated state change for partition [t,0] from OfflinePartition to "
            "OnlinePartition failed"
        ),
    ],
)
def test_a_failed_change_is_one_kind_in_all_three_wordings(text: str, said: Said) -> None:
    message = said(text)
    assert (message.kind, message.speaker_id, message.speaker_epoch) == (Kind.PARTITION_CHANGE_FAILED, 2, 5)
    assert (message.values["from"], message.values["to"]) == ("OfflinePartition", "OnlinePartition")


def test_a_replica_line_of_0_8_0_names_no_former_state(said: Said) -> None:
    message = said("Controller 0 epoch 1 changed state of replica 0 for partition [t,0] to OnlineReplica")
    assert message.kind is Kind.REPLICA_CHANGE
    assert "from" not in message.values


def test_update_metadata_of_0_8_0_has_no_payload(said: Said) -> None:
    message = said(
        "Controller 0 epoch 1 sending UpdateMetadata request with correlationId 7 to broker 2 for "
        "partition [t,0]"
    )
    assert message.kind is OtherKind.UPDATE_METADATA_SENDING
    assert (message.values["broker"], message.values["tp"]) == (2, TopicPartition("t", 0))
