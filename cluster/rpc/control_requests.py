"""The controller's requests as the bytes of ``control.proto``, what brokers are told alike encoded once.

After a failover every broker is told of thousands of partitions, and most partitions are told to several
brokers in the same words. So protobuf encodes partition by partition, and a request is put together from what
is encoded already. The bytes are those of the schema: any protobuf library reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, TypeVar

from google.protobuf.message import Message

from cluster.model.requests import (
    ControlRequest,
    ControlResponse,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataPartition,
    UpdateMetadataRequest,
)
from cluster.rpc import control_pb2 as pb
from cluster.rpc import translate
from cluster.rpc.framing import head, tag

SERVICE = "barnabas.control.BrokerControl"
"""Its name, as ``proto/control.proto`` gives it."""

REMEMBERED = 8192
"""How many encoded partitions are kept, a few MB: brokers are sent to side by side, each at its own pace."""

REMEMBERED_LISTS = 16
"""How many whole lists of them are: where every broker holds every partition, all are told the same."""


@dataclass(frozen=True, slots=True)
class ControlCall:
    """How one kind of request travels.

    Attributes:
        name: The method of the service.
        response: Reads the response's bytes.
    """

    name: str
    response: Callable[[bytes], ControlResponse]

    @property
    def path(self) -> str:
        """The call's name in gRPC."""
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
"""Each kind of request with its call."""


P = TypeVar("P", LeaderAndIsrPartition, UpdateMetadataPartition)


class _Encoded(Generic[P]):
    """Partitions as the field ``topics`` of a request, encoded once while they are remembered.

    The same object is the same bytes; that equal ones are encoded twice is cheaper than to compare them. What
    is remembered is held here, so that its id is nobody else's.
    """

    def __init__(
        self, topics_tag: int, topic: type[Message], partitions_tag: int, to_message: Callable[[P], Message]
    ) -> None:
        self._topics_tag = topics_tag
        self._topic = topic
        self._partitions_tag = partitions_tag
        self._to_message: Callable[[P], Message] = to_message
        self._partitions: dict[int, tuple[P, bytes]] = {}
        self._lists: dict[tuple[int, ...], tuple[tuple[P, ...], bytes]] = {}

    def topics(self, partitions: tuple[P, ...]) -> bytes:
        """These partitions by topic, topics in the order of their first partition."""
        ids = tuple(map(id, partitions))
        known = self._lists.get(ids)
        if known is None:
            if len(self._lists) >= REMEMBERED_LISTS:
                self._lists.clear()
            known = self._lists[ids] = partitions, self._by_topic(partitions)
        return known[1]

    def _by_topic(self, partitions: tuple[P, ...]) -> bytes:
        by_topic: dict[str, list[bytes]] = {}
        for partition in partitions:
            by_topic.setdefault(partition.topic_partition.topic, []).append(self._encode(partition))
        return b"".join(self._one_topic(topic, encoded) for topic, encoded in by_topic.items())

    def _one_topic(self, topic: str, partitions: list[bytes]) -> bytes:
        content = self._topic(topic=topic).SerializeToString() + b"".join(partitions)
        return head(self._topics_tag, len(content)) + content

    def _encode(self, partition: P) -> bytes:
        known = self._partitions.get(id(partition))
        if known is not None:
            return known[1]
        content = self._to_message(partition).SerializeToString()
        encoded = head(self._partitions_tag, len(content)) + content
        if len(self._partitions) >= REMEMBERED:
            self._partitions.clear()
        self._partitions[id(partition)] = partition, encoded
        return encoded


class Encoder:
    """Encodes the requests of one controller to all brokers."""

    def __init__(self) -> None:
        self._leader_and_isr: _Encoded[LeaderAndIsrPartition] = _Encoded(
            tag(pb.LeaderAndIsrRequest.TOPICS_FIELD_NUMBER),
            pb.LeaderAndIsrTopic,
            tag(pb.LeaderAndIsrTopic.PARTITIONS_FIELD_NUMBER),
            translate.leader_and_isr_partition_to_message,
        )
        self._update_metadata: _Encoded[UpdateMetadataPartition] = _Encoded(
            tag(pb.UpdateMetadataRequest.TOPICS_FIELD_NUMBER),
            pb.UpdateMetadataTopic,
            tag(pb.UpdateMetadataTopic.PARTITIONS_FIELD_NUMBER),
            translate.update_metadata_partition_to_message,
        )

    def encode(self, request: ControlRequest) -> bytes:
        """The request; its partitions are grouped by topic, but for StopReplica."""
        match request:
            case LeaderAndIsrRequest():
                rest = translate.leader_and_isr_request_to_message(request).SerializeToString()
                return rest + self._leader_and_isr.topics(request.partitions)
            case UpdateMetadataRequest():
                rest = translate.update_metadata_request_to_message(request).SerializeToString()
                return rest + self._update_metadata.topics(request.partitions)
            case StopReplicaRequest():
                return translate.stop_replica_request_to_message(request).SerializeToString()
