"""The controller's requests as the bytes of ``control.proto``, what brokers are told alike encoded once.

After a failover every broker is told of thousands of partitions, and most partitions are told to several
brokers in the same words. So protobuf encodes partition by partition, and a request is put together from what
is encoded already. The bytes are those of the schema: any protobuf library reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
    """Partitions as the field ``partitions`` of their topic, each encoded once while it is remembered.

    The same object is the same bytes; that equal ones are encoded twice is cheaper than to compare them.
    """

    def __init__(self, field_number: int, to_message: Callable[[P], Message]) -> None:
        self._tag = tag(field_number)
        self._to_message: Callable[[P], Message] = to_message
        self._known: dict[int, tuple[P, bytes]] = {}

    def __getitem__(self, partition: P) -> bytes:
        known = self._known.get(id(partition))
        if known is not None:  # and, because it is held here, its id is nobody else's
            return known[1]
        content = self._to_message(partition).SerializeToString()
        encoded = head(self._tag, len(content)) + content
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[id(partition)] = partition, encoded
        return encoded


class Encoder:
    """Encodes the requests of one controller to all brokers."""

    def __init__(self) -> None:
        self._leader_and_isr: _Encoded[LeaderAndIsrPartition] = _Encoded(
            pb.LeaderAndIsrTopic.PARTITIONS_FIELD_NUMBER, translate.leader_and_isr_partition_to_message
        )
        self._update_metadata: _Encoded[UpdateMetadataPartition] = _Encoded(
            pb.UpdateMetadataTopic.PARTITIONS_FIELD_NUMBER, translate.update_metadata_partition_to_message
        )

    def encode(self, request: ControlRequest) -> bytes:
        """The request; its partitions are grouped by topic, but for StopReplica."""
        match request:
            case LeaderAndIsrRequest():
                return _joined(
                    translate.leader_and_isr_request_to_message(request),
                    tag(pb.LeaderAndIsrRequest.TOPICS_FIELD_NUMBER),
                    pb.LeaderAndIsrTopic,
                    ((p.topic_partition.topic, self._leader_and_isr[p]) for p in request.partitions),
                )
            case UpdateMetadataRequest():
                return _joined(
                    translate.update_metadata_request_to_message(request),
                    tag(pb.UpdateMetadataRequest.TOPICS_FIELD_NUMBER),
                    pb.UpdateMetadataTopic,
                    ((p.topic_partition.topic, self._update_metadata[p]) for p in request.partitions),
                )
            case StopReplicaRequest():
                return translate.stop_replica_request_to_message(request).SerializeToString()


def _joined(
    rest: Message, topics_tag: int, topic_message: type[Message], partitions: Iterable[tuple[str, bytes]]
) -> bytes:
    """A request from its other fields and its partitions, topics in the order of their first partition."""
    by_topic: dict[str, list[bytes]] = {}
    for topic, encoded in partitions:
        by_topic.setdefault(topic, []).append(encoded)
    pieces = [rest.SerializeToString()]
    for topic, some in by_topic.items():
        content = b"".join((topic_message(topic=topic).SerializeToString(), *some))
        pieces += (head(topics_tag, len(content)), content)
    return b"".join(pieces)
