"""One leadership, a dozen spellings."""

from __future__ import annotations

import re

import pytest

from barnabas.analysis.reading.releases.leadership import (
    LEADERSHIP_PATTERN,
    locate_leadership,
    read_leadership,
)
from barnabas.cluster.model.statechange.leadership import Leadership


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # 0.8 and 0.9: the parentheses do not balance.
        (
            (
                "(LeaderAndIsrInfo:(Leader:2,ISR:2,1,LeaderEpoch:8,ControllerEpoch:9),ReplicationFactor:2),AllReplicas:2,1)"
            ),
            Leadership(2, 8, (2, 1), None, 9, (2, 1)),
        ),
        ("(Leader:-2,ISR:,LeaderEpoch:0,ControllerEpoch:29)", Leadership(-2, 0, (), None, 29)),
        # 0.10.0.0: an object's hash and nothing else.
        ("org.apache.kafka.common.requests.LeaderAndIsrRequest$PartitionState@48db407a", Leadership()),
        (
            (
                "PartitionState(controllerEpoch=2, leader=1, leaderEpoch=1, isr=1,2, zkVersion=1, "
                "replicas=1,2,3, isNew=false)"
            ),
            Leadership(1, 1, (1, 2), 1, 2, (1, 2, 3)),
        ),
        (
            (
                "PartitionState(controllerEpoch=2, leader=0, leaderEpoch=0, isr=[0], zkVersion=0, "
                "replicas=[0], offlineReplicas=[])"
            ),
            Leadership(0, 0, (0,), 0, 2, (0,)),
        ),
        (
            (
                "LeaderAndIsr(leader=2, leaderEpoch=3, isr=List(2, 1), leaderRecoveryState=RECOVERED, "
                "zkVersion=5)"
            ),
            Leadership(2, 3, (2, 1), 5),
        ),
        (
            (
                "LeaderAndIsr(leader=1, leaderEpoch=3, isrWithBrokerEpoch=List(BrokerState(brokerId=1, "
                "brokerEpoch=-1), "
                "BrokerState(brokerId=0, brokerEpoch=-1)), leaderRecoveryState=RECOVERED, partitionEpoch=4)"
            ),
            Leadership(1, 3, (1, 0), 4),
        ),
        (
            "(Leader:-1,ISR:0,LeaderRecoveryState:RECOVERED,LeaderEpoch:1,ZkVersion:1,ControllerEpoch:15)",
            Leadership(-1, 1, (0,), 1, 15),
        ),
        ('{"leader":2,"leader_epoch":34,"isr":[2,3]}', Leadership(2, 34, (2, 3))),
        (
            "StopReplicaPartitionState(partitionIndex=0, leaderEpoch=3, deletePartition=false)",
            Leadership(leader_epoch=3, delete=False),
        ),
    ],
)
def test_older_and_newer_spellings_are_read(text: str, expected: Leadership) -> None:
    assert re.fullmatch(LEADERSHIP_PATTERN, text)
    assert read_leadership(text) == expected
    parts = locate_leadership(text)
    if parts is None:
        assert "isrWithBrokerEpoch" in text
        return
    topic = expected.topic_partition
    assert parts.keys() - {"topic", "partition"} == {
        name
        for name in Leadership.__slots__
        if name != "topic_partition" and getattr(expected, name) is not None
    }
    assert ("topic" in parts) == (topic is not None)
    if expected.leader is not None:
        assert text[slice(*parts["leader"])] == str(expected.leader)
