"""The spellings of responses to the controller's requests (release 2.8, the ``…ResponseData`` classes)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.requests import (
    ControlResponse,
    LeaderAndIsrResponse,
    StopReplicaResponse,
    UpdateMetadataResponse,
)


def api_of(response: ControlResponse) -> str:
    """Return the API of ``response``: ``LEADER_AND_ISR``, ``UPDATE_METADATA`` or ``STOP_REPLICA``."""
    match response:
        case LeaderAndIsrResponse():
            return "LEADER_AND_ISR"
        case UpdateMetadataResponse():
            return "UPDATE_METADATA"
        case StopReplicaResponse():
            return "STOP_REPLICA"
        case unknown:
            assert_never(unknown)


def write_response(response: ControlResponse) -> str:
    """Write a response as Kafka prints it."""
    match response:
        case LeaderAndIsrResponse(error, errors):
            return (
                f"LeaderAndIsrResponseData(errorCode={error.value}, "
                f"partitionErrors=[{_errors('LeaderAndIsrPartitionError', errors)}], topics=[])"
            )
        case UpdateMetadataResponse(error):
            return f"UpdateMetadataResponseData(errorCode={error.value})"
        case StopReplicaResponse(error, errors):
            return (
                f"StopReplicaResponseData(errorCode={error.value}, "
                f"partitionErrors=[{_errors('StopReplicaPartitionError', errors)}])"
            )
        case unknown:
            assert_never(unknown)


def _errors(name: str, errors: Mapping[TopicPartition, ErrorCode]) -> str:
    return ", ".join(
        f"{name}(topicName='{tp.topic}', partitionIndex={tp.partition}, errorCode={error.value})"
        for tp, error in errors.items()
    )
