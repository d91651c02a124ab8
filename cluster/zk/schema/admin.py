"""The nodes for the controller: ``/admin/*`` and the two notification queues.

A node in ``/admin/delete_topics`` has no body; its name is the topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.body import Body, are_broker_ids, encode_json, is_id, is_text

LOG_DIR_FAILURE = 1
"""The only kind of log directory event."""


@dataclass(frozen=True, slots=True)
class LogDirEvent:
    """The notification of a broker that one of its log directories failed."""

    broker: BrokerId
    event: int = LOG_DIR_FAILURE


def encode_partitions(partitions: Iterable[TopicPartition]) -> bytes:
    """Encode ``/admin/preferred_replica_election`` or an ``isr_change_<seq>``."""
    items = [{"topic": tp.topic, "partition": tp.partition} for tp in partitions]
    return encode_json({"version": 1, "partitions": items})


def decode_preferred_replica_election(content: bytes) -> tuple[TopicPartition, ...]:
    """Decode ``/admin/preferred_replica_election``."""
    return _decode_partitions(Body(paths.PREFERRED_REPLICA_ELECTION, content))


def decode_isr_change(path: str, content: bytes) -> tuple[TopicPartition, ...]:
    """Decode an ``isr_change_<seq>``; ``path`` is the whole path, for errors."""
    return _decode_partitions(Body(path, content))


def encode_reassignment(reassignment: Mapping[TopicPartition, tuple[BrokerId, ...]]) -> bytes:
    """Encode ``/admin/reassign_partitions``, from each partition to its target replicas."""
    items = [
        {"topic": tp.topic, "partition": tp.partition, "replicas": list(replicas)}
        for tp, replicas in reassignment.items()
    ]
    return encode_json({"version": 1, "partitions": items})


def decode_reassignment(content: bytes) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    """Decode ``/admin/reassign_partitions``.

    If a partition occurs twice, the last entry counts, as in Kafka.
    """
    body = Body(paths.REASSIGN_PARTITIONS, content)
    reassignment: dict[TopicPartition, tuple[BrokerId, ...]] = {}
    for item in body.objects("partitions"):
        replicas = item.get("replicas")
        if not are_broker_ids(replicas):
            raise body.error("a list of broker ids in field 'replicas' of each partition")
        reassignment[_topic_partition(body, item)] = tuple(BrokerId(number) for number in item["replicas"])
    return reassignment


def encode_log_dir_event(event: LogDirEvent) -> bytes:
    """Encode a ``log_dir_event_<seq>``."""
    return encode_json({"version": 1, "broker": event.broker, "event": event.event})


def decode_log_dir_event(path: str, content: bytes) -> LogDirEvent:
    """Decode a ``log_dir_event_<seq>``; ``path`` is the whole path, for errors."""
    body = Body(path, content)
    return LogDirEvent(BrokerId(body.int32("broker")), body.int32("event"))


def _decode_partitions(body: Body) -> tuple[TopicPartition, ...]:
    return tuple(_topic_partition(body, item) for item in body.objects("partitions"))


def _topic_partition(body: Body, item: Mapping[str, object]) -> TopicPartition:
    topic, partition = item.get("topic"), item.get("partition")
    if not (isinstance(topic, str) and is_text(topic) and isinstance(partition, int) and is_id(partition)):
        raise body.error("a 'topic' (string) and a 'partition' (integer) in each of 'partitions'")
    return TopicPartition(topic, partition)
