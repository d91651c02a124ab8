"""The answers print as Kafka's generated classes do."""

from __future__ import annotations

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.requests import LeaderAndIsrResponse, StopReplicaResponse, UpdateMetadataResponse
from barnabas.cluster.model.statechange.responses import api_of, write_response

ERRORS = {TopicPartition("t", 0): ErrorCode.KAFKA_STORAGE_ERROR, TopicPartition("t", 1): ErrorCode.NONE}


def test_each_answer_names_its_api_and_its_errors() -> None:
    assert [
        (api_of(response), write_response(response))
        for response in (
            LeaderAndIsrResponse(ErrorCode.NONE, ERRORS),
            UpdateMetadataResponse(ErrorCode.STALE_CONTROLLER_EPOCH),
            StopReplicaResponse(ErrorCode.NONE, {}),
        )
    ] == [
        (
            "LEADER_AND_ISR",
            (
                "LeaderAndIsrResponseData(errorCode=0, partitionErrors=["
                "LeaderAndIsrPartitionError(topicName='t', partitionIndex=0, errorCode=56), "
                "LeaderAndIsrPartitionError(topicName='t', partitionIndex=1, errorCode=0)], topics=[])"
            ),
        ),
        ("UPDATE_METADATA", "UpdateMetadataResponseData(errorCode=11)"),
        ("STOP_REPLICA", "StopReplicaResponseData(errorCode=0, partitionErrors=[])"),
    ]
