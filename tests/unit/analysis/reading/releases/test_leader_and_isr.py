"""What a broker said about LeaderAndIsr before and after 2.8."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from barnabas.analysis.reading.releases.leader_and_isr import LEADER_AND_ISR_ROWS
from barnabas.cluster.model.statechange import Message
from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.template import Speaker

Said = Callable[[str], Message]


def test_only_a_broker_speaks_here() -> None:
    assert {template.speaker for template in LEADER_AND_ISR_ROWS} == {Speaker.BROKER, Speaker.NOBODY}


@pytest.mark.parametrize(
    ("reason", "current"),
    [
        ("smaller than the current leader epoch 9", 9),
        ("not higher than the current leader epoch 9", 9),
        ("old. Current leader epoch is 9", 9),
    ],
)
def test_a_stale_leader_epoch_is_one_kind_in_all_wordings(reason: str, current: int, said: Said) -> None:
    message = said(
        "[Broker id=1] Ignoring LeaderAndIsr request from controller 2 with correlation id 7 epoch 3 for "
        "partition t-0 "
        f"since its associated leader epoch 8 is {reason}"
    )
    assert message.kind is Kind.LEADER_AND_ISR_STALE_EPOCH
    assert (message.values["leader_epoch"], message.values["current_leader_epoch"]) == (8, current)


def test_the_sender_s_epoch_is_not_the_payload_s(said: Said) -> None:
    message = said(
        "Broker 0 received LeaderAndIsr request "
        "(LeaderAndIsrInfo:(Leader:0,ISR:0,LeaderEpoch:1,ControllerEpoch:3),"
        "ReplicationFactor:1),AllReplicas:0) correlation id 1 from controller 2 epoch 4 for partition "
        "[my-topic,0]"
    )
    assert (message.values["controller"], message.values["controller_epoch"]) == (2, 4)
    assert message.values["leadership"].controller_epoch == 3


def test_a_line_without_prefix_names_its_broker_in_the_text(said: Said) -> None:
    message = said(
        "Error on broker 7 while processing LeaderAndIsr request with correlationId 1 received from "
        "controller 0 epoch 59"
    )
    assert (message.kind, message.speaker, message.speaker_id) == (
        Kind.LEADER_AND_ISR_FAILED,
        Speaker.BROKER,
        7,
    )


def test_the_two_numbers_that_0_8_0_swapped_are_put_right(said: Said) -> None:
    message = said(
        "Broker 1 received LeaderAndIsr request correlation id 5 with an old controller epoch 12. "
        "Latest known controller epoch is 6"
    )
    assert (message.values["controller_epoch"], message.values["correlation_id"]) == (5, 12)


def test_the_end_point_of_2_4_is_a_leader_too(said: Said) -> None:
    message = said(
        "[Broker id=0] Started fetcher to new leader as part of become-follower request from controller 0 "
        "epoch 1 with "
        "correlation id 5 for partition t-0 with leader BrokerEndPoint(id=2, host=salty-NUC8i7BEH:9094)"
    )
    assert message.values["leader"] == 2
