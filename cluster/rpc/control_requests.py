"""The encoder of the controller's requests, which encodes partitions sent to several brokers once.

After a failover every broker receives thousands of partitions. Their fields are therefore encoded by hand
(`cluster.rpc.partition_encoding`), the rest by protobuf. The bytes follow ``control.proto``, so any protobuf
library reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, TypeVar

from google.protobuf.message import Message

from barnabas.cluster.model.ids import TopicIdentity
from barnabas.cluster.model.requests import (
    ControlRequest,
    ControlResponse,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataPartition,
    UpdateMetadataRequest,
)
from barnabas.cluster.rpc import control_pb2 as pb
from barnabas.cluster.rpc import translate
from barnabas.cluster.rpc.partition_encoding import head, leader_and_isr_field, tag, update_metadata_field

SERVICE = "barnabas.control.BrokerControl"
"""The name of the service in ``proto/control.proto``."""

REMEMBERED_LISTS = 16
"""The number of encoded lists of partitions that are cached, a few MB.

UpdateMetadata is the same for all brokers; so is LeaderAndIsr if every broker has every partition.
"""


@dataclass(frozen=True, slots=True)
class ControlCall:
    """The gRPC method of a kind of request.

    Attributes:
        name: The method of the service.
        response: Decodes a response.
    """

    name: str
    response: Callable[[bytes], ControlResponse]

    @property
    def path(self) -> str:
        """Return the name of the call in gRPC."""
        return f"/{SERVICE}/{self.name}"


CALLS: Mapping[type[ControlRequest], ControlCall] = MappingProxyType(
    {
        LeaderAndIsrRequest: ControlCall(
            "LeaderAndIsr",
            lambda data: translate.leader_and_isr_response_from_message(
                pb.LeaderAndIsrResponse.FromString(data)
            ),
        ),
        UpdateMetadataRequest: ControlCall(
            "UpdateMetadata",
            lambda data: translate.update_metadata_response_from_message(
                pb.UpdateMetadataResponse.FromString(data)
            ),
        ),
        StopReplicaRequest: ControlCall(
            "StopReplica",
            lambda data: translate.stop_replica_response_from_message(
                pb.StopReplicaResponse.FromString(data)
            ),
        ),
    }
)
"""The call of each kind of request."""


P = TypeVar("P", LeaderAndIsrPartition, UpdateMetadataPartition)
K = TypeVar("K", bound=Hashable)


class _Encoded(Generic[P, K]):
    """A cache of encoded lists of partitions, as the field ``topics`` of a request.

    The key is the identity of the list's objects: encoding equal lists twice is cheaper than comparing them.
    The cache holds references to the objects, so that their ids are not reused.
    """

    def __init__(
        self,
        topics_field: int,
        topic_of: Callable[[P], K],
        to_message: Callable[[K], Message],
        to_field: Callable[[P], bytes],
    ) -> None:
        self._topics_tag = tag(topics_field)
        self._topic_of: Callable[[P], K] = topic_of
        self._to_message: Callable[[K], Message] = to_message
        self._to_field: Callable[[P], bytes] = to_field
        self._lists: dict[tuple[int, ...], tuple[tuple[P, ...], bytes]] = {}

    def topics(self, partitions: tuple[P, ...]) -> bytes:
        """Encode partitions grouped by topic, in the order of each topic's first partition."""
        ids = tuple(map(id, partitions))
        known = self._lists.get(ids)
        if known is None:
            if len(self._lists) >= REMEMBERED_LISTS:
                self._lists.clear()
            known = self._lists[ids] = partitions, self._by_topic(partitions)
        return known[1]

    def _by_topic(self, partitions: tuple[P, ...]) -> bytes:
        by_topic: dict[K, list[bytes]] = {}
        for partition in partitions:
            by_topic.setdefault(self._topic_of(partition), []).append(self._to_field(partition))
        return b"".join(self._one_topic(topic, encoded) for topic, encoded in by_topic.items())

    def _one_topic(self, topic: K, partitions: list[bytes]) -> bytes:
        content = self._to_message(topic).SerializeToString() + b"".join(partitions)
        return head(self._topics_tag, len(content)) + content


class Encoder:
    """An encoder of one controller's requests to all brokers."""

    def __init__(self) -> None:
        self._leader_and_isr: _Encoded[LeaderAndIsrPartition, tuple[str, TopicIdentity | None]] = _Encoded(
            pb.LeaderAndIsrRequest.TOPICS_FIELD_NUMBER,
            lambda partition: (partition.topic_partition.topic, partition.topic_identity),
            lambda topic: translate.leader_and_isr_topic_to_message(*topic),
            leader_and_isr_field,
        )
        self._update_metadata: _Encoded[UpdateMetadataPartition, str] = _Encoded(
            pb.UpdateMetadataRequest.TOPICS_FIELD_NUMBER,
            lambda partition: partition.topic_partition.topic,
            lambda topic: pb.UpdateMetadataTopic(topic=topic),
            update_metadata_field,
        )

    def encode(self, request: ControlRequest) -> bytes:
        """Encode a request; its partitions are grouped by topic, except for StopReplica."""
        match request:
            case LeaderAndIsrRequest():
                rest = translate.leader_and_isr_request_to_message(request).SerializeToString()
                return rest + self._leader_and_isr.topics(request.partitions)
            case UpdateMetadataRequest():
                rest = translate.update_metadata_request_to_message(request).SerializeToString()
                return rest + self._update_metadata.topics(request.partitions)
            case StopReplicaRequest():
                return translate.stop_replica_request_to_message(request).SerializeToString()
