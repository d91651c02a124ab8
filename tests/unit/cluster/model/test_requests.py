"""Control requests are values: what is equal is the same request, and nobody changes one under way."""

from __future__ import annotations

import dataclasses

import pytest

from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.requests import (
    LeaderAndIsrResponse,
    StopReplicaPartition,
    StopReplicaRequest,
    StopReplicaResponse,
)


def stop(epoch: int) -> StopReplicaRequest:
    partition = StopReplicaPartition(TopicPartition("t", 0), LeaderEpoch(3), delete=True)
    return StopReplicaRequest(BrokerId(1), ControllerEpoch(epoch), BrokerEpoch(9), (partition,))


def test_requests_are_compared_by_what_they_say() -> None:
    assert stop(1) == stop(1)
    assert stop(1) != stop(2)


def test_a_request_does_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        stop(1).controller_epoch = ControllerEpoch(2)  # type: ignore[misc]


def test_answers_do_not_share_their_errors() -> None:
    first, second = LeaderAndIsrResponse(ErrorCode.NONE), StopReplicaResponse(ErrorCode.NONE)
    first.partition_errors[TopicPartition("t", 0)] = ErrorCode.KAFKA_STORAGE_ERROR
    assert not second.partition_errors
    assert not LeaderAndIsrResponse(ErrorCode.NONE).partition_errors
