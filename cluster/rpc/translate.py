"""The translation between messages of ``control.proto`` and ``cluster.model``.

Every pair is lossless with one exception: a request groups its partitions by topic, so the partitions of a
topic are adjacent after decoding, and topics are in the order of their first partition. Partitions of
LeaderAndIsr and UpdateMetadata are encoded by `cluster.rpc.partition_encoding`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch, LeaderEpoch, PartitionVersion, Zxid
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicIdentity, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaPartition,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataPartition,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from barnabas.cluster.rpc import control_pb2 as pb


def _ids(numbers: Iterable[int]) -> tuple[BrokerId, ...]:
    return cast("tuple[BrokerId, ...]", tuple(numbers))


# Brokers and leaderships


def broker_to_message(broker: Broker) -> pb.Broker:
    """Translate a broker with all its endpoints."""
    return pb.Broker(
        id=broker.id,
        epoch=broker.epoch,
        rack=broker.rack,
        endpoints=[
            pb.Endpoint(listener=e.listener, host=e.host, port=e.port, security_protocol=e.security_protocol)
            for e in broker.endpoints
        ],
    )


def broker_from_message(message: pb.Broker) -> Broker:
    """Translate the message of ``broker_to_message`` back."""
    return Broker(
        id=BrokerId(message.id),
        epoch=BrokerEpoch(message.epoch),
        endpoints=tuple(Endpoint(e.listener, e.host, e.port, e.security_protocol) for e in message.endpoints),
        rack=message.rack if message.HasField("rack") else None,
    )


def _state_from_message(message: pb.LeadershipState) -> PartitionState:
    return PartitionState(
        LeaderAndIsr(
            leader=BrokerId(message.leader),
            leader_epoch=LeaderEpoch(message.leader_epoch),
            isr=_ids(message.isr),
            version=PartitionVersion(message.zk_version),
        ),
        ControllerEpoch(message.controller_epoch),
    )


# LeaderAndIsr


def leader_and_isr_request_to_message(request: LeaderAndIsrRequest) -> pb.LeaderAndIsrRequest:
    """Translate the request without its partitions."""
    return pb.LeaderAndIsrRequest(
        controller_id=request.controller_id,
        controller_epoch=request.controller_epoch,
        broker_epoch=request.broker_epoch,
        live_leaders=[broker_to_message(broker) for broker in request.live_leaders],
        is_full=request.is_full,
        parts_to_follow=request.parts_to_follow,
    )


def leader_and_isr_topic_to_message(topic: str, identity: TopicIdentity | None) -> pb.LeaderAndIsrTopic:
    """Return the topic without its partitions."""
    message = None if identity is None else pb.TopicIdentity(tree=identity.tree, topic=identity.topic)
    return pb.LeaderAndIsrTopic(topic=topic, identity=message)


def _identity_from_message(topic: pb.LeaderAndIsrTopic) -> TopicIdentity | None:
    if not topic.HasField("identity"):
        return None
    return TopicIdentity(topic.identity.tree, Zxid(topic.identity.topic))


def leader_and_isr_request_from_message(message: pb.LeaderAndIsrRequest) -> LeaderAndIsrRequest:
    """Translate the whole request back."""
    return LeaderAndIsrRequest(
        controller_id=BrokerId(message.controller_id),
        controller_epoch=ControllerEpoch(message.controller_epoch),
        broker_epoch=BrokerEpoch(message.broker_epoch),
        partitions=tuple(
            LeaderAndIsrPartition(
                topic_partition=TopicPartition(topic.topic, p.partition),
                state=_state_from_message(p.state),
                assignment=Assignment(_ids(p.replicas), _ids(p.adding_replicas), _ids(p.removing_replicas)),
                is_new=p.is_new,
                is_unconfirmed=p.is_unconfirmed,
                topic_identity=identity,
            )
            for topic in message.topics
            for identity in (_identity_from_message(topic),)
            for p in topic.partitions
        ),
        live_leaders=tuple(broker_from_message(broker) for broker in message.live_leaders),
        is_full=message.is_full,
        parts_to_follow=message.parts_to_follow,
    )


def leader_and_isr_response_to_message(response: LeaderAndIsrResponse) -> pb.LeaderAndIsrResponse:
    """Translate the error of the request and of each partition."""
    return pb.LeaderAndIsrResponse(
        error_code=response.error, partition_errors=_partition_errors_to_messages(response.partition_errors)
    )


def leader_and_isr_response_from_message(message: pb.LeaderAndIsrResponse) -> LeaderAndIsrResponse:
    """Return the response that ``leader_and_isr_response_to_message`` wrote."""
    return LeaderAndIsrResponse(
        ErrorCode.from_code(message.error_code), _partition_errors_from_messages(message.partition_errors)
    )


# UpdateMetadata


def update_metadata_request_to_message(request: UpdateMetadataRequest) -> pb.UpdateMetadataRequest:
    """Translate the request without its partitions."""
    return pb.UpdateMetadataRequest(
        controller_id=request.controller_id,
        controller_epoch=request.controller_epoch,
        broker_epoch=request.broker_epoch,
        live_brokers=[broker_to_message(broker) for broker in request.live_brokers],
        is_complete=request.is_complete,
    )


def update_metadata_request_from_message(message: pb.UpdateMetadataRequest) -> UpdateMetadataRequest:
    """Translate the whole request back."""
    return UpdateMetadataRequest(
        controller_id=BrokerId(message.controller_id),
        controller_epoch=ControllerEpoch(message.controller_epoch),
        broker_epoch=BrokerEpoch(message.broker_epoch),
        partitions=tuple(
            UpdateMetadataPartition(
                topic_partition=TopicPartition(topic.topic, p.partition),
                state=_state_from_message(p.state),
                replicas=_ids(p.replicas),
                offline_replicas=_ids(p.offline_replicas),
            )
            for topic in message.topics
            for p in topic.partitions
        ),
        live_brokers=tuple(broker_from_message(broker) for broker in message.live_brokers),
        is_complete=message.is_complete,
    )


def update_metadata_response_to_message(response: UpdateMetadataResponse) -> pb.UpdateMetadataResponse:
    """Translate the error of the request."""
    return pb.UpdateMetadataResponse(error_code=response.error)


def update_metadata_response_from_message(message: pb.UpdateMetadataResponse) -> UpdateMetadataResponse:
    """Return the response that ``update_metadata_response_to_message`` wrote."""
    return UpdateMetadataResponse(ErrorCode.from_code(message.error_code))


# StopReplica


def stop_replica_request_to_message(request: StopReplicaRequest) -> pb.StopReplicaRequest:
    """Translate the request with its partitions in their order."""
    return pb.StopReplicaRequest(
        controller_id=request.controller_id,
        controller_epoch=request.controller_epoch,
        broker_epoch=request.broker_epoch,
        partitions=[
            pb.StopReplicaPartition(
                topic=p.topic_partition.topic,
                partition=p.topic_partition.partition,
                leader_epoch=p.leader_epoch,
                delete_partition=p.delete,
            )
            for p in request.partitions
        ],
    )


def stop_replica_request_from_message(message: pb.StopReplicaRequest) -> StopReplicaRequest:
    """Return the request that ``stop_replica_request_to_message`` wrote."""
    return StopReplicaRequest(
        controller_id=BrokerId(message.controller_id),
        controller_epoch=ControllerEpoch(message.controller_epoch),
        broker_epoch=BrokerEpoch(message.broker_epoch),
        partitions=tuple(
            StopReplicaPartition(
                TopicPartition(p.topic, p.partition), LeaderEpoch(p.leader_epoch), p.delete_partition
            )
            for p in message.partitions
        ),
    )


def stop_replica_response_to_message(response: StopReplicaResponse) -> pb.StopReplicaResponse:
    """Translate the error of the request and of each partition."""
    return pb.StopReplicaResponse(
        error_code=response.error, partition_errors=_partition_errors_to_messages(response.partition_errors)
    )


def stop_replica_response_from_message(message: pb.StopReplicaResponse) -> StopReplicaResponse:
    """Return the response that ``stop_replica_response_to_message`` wrote."""
    return StopReplicaResponse(
        ErrorCode.from_code(message.error_code), _partition_errors_from_messages(message.partition_errors)
    )


def _partition_errors_to_messages(errors: Mapping[TopicPartition, ErrorCode]) -> list[pb.PartitionError]:
    return [
        pb.PartitionError(topic=tp.topic, partition=tp.partition, error_code=error)
        for tp, error in errors.items()
    ]


def _partition_errors_from_messages(
    messages: Iterable[pb.PartitionError],
) -> dict[TopicPartition, ErrorCode]:
    return {TopicPartition(m.topic, m.partition): ErrorCode.from_code(m.error_code) for m in messages}
