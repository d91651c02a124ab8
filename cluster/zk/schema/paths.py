"""The paths below the chroot: those of Kafka that we use, and our own one."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.zk.schema.body import int32_of, is_text

CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
CONTROLLER_RECORD = "/barnabas/controller"
CLUSTER_ID = "/cluster/id"
FEATURE = "/feature"
BROKER_IDS = "/brokers/ids"
BROKER_SEQUENCE_ID = "/brokers/seqid"
TOPICS = "/brokers/topics"
DELETE_TOPICS = "/admin/delete_topics"
REASSIGN_PARTITIONS = "/admin/reassign_partitions"
PREFERRED_REPLICA_ELECTION = "/admin/preferred_replica_election"
ISR_CHANGE_NOTIFICATION = "/isr_change_notification"
LOG_DIR_EVENT_NOTIFICATION = "/log_dir_event_notification"
PRODUCER_ID_BLOCK = "/latest_producer_id_block"
CONFIG_CHANGES = "/config/changes"

CONFIG_TYPES = ("topics", "clients", "users", "brokers", "ips")
DEFAULT_ENTITY = "<default>"
"""The entity name for the settings of the whole cluster."""

ISR_CHANGE_PREFIX = f"{ISR_CHANGE_NOTIFICATION}/isr_change_"
LOG_DIR_EVENT_PREFIX = f"{LOG_DIR_EVENT_NOTIFICATION}/log_dir_event_"
CONFIG_CHANGE_PREFIX = f"{CONFIG_CHANGES}/config_change_"

PERSISTENT = (
    "/consumers",
    BROKER_IDS,
    TOPICS,
    CONFIG_CHANGES,
    DELETE_TOPICS,
    BROKER_SEQUENCE_ID,
    ISR_CHANGE_NOTIFICATION,
    PRODUCER_ID_BLOCK,
    LOG_DIR_EVENT_NOTIFICATION,
    *(f"/config/{kind}" for kind in CONFIG_TYPES),
)
"""The paths that every broker creates at its start if they are missing, with their parents."""


def broker(broker_id: BrokerId) -> str:
    """Return the path of a broker's registration."""
    return f"{BROKER_IDS}/{broker_id}"


def topic(name: str) -> str:
    """Return the path of a topic's assignment."""
    return f"{TOPICS}/{name}"


def topic_partitions(name: str) -> str:
    """Return the parent of a topic's partitions."""
    return f"{TOPICS}/{name}/partitions"


def partition(tp: TopicPartition) -> str:
    """Return the parent of a partition's state."""
    return f"{TOPICS}/{tp.topic}/partitions/{tp.partition}"


def partition_state(tp: TopicPartition) -> str:
    """Return the path of a partition's state."""
    return f"{TOPICS}/{tp.topic}/partitions/{tp.partition}/state"


def consumer_offset(group_id: str, tp: TopicPartition) -> str:
    """Return the path of the offset that a consumer group of release 0.8 has committed."""
    return f"/consumers/{group_id}/offsets/{tp.topic}/{tp.partition}"


def partition_of_state(path: str) -> TopicPartition | None:
    """Return the partition of a state's ``path``; None for every other path."""
    match path.removeprefix(f"{TOPICS}/").split("/"):
        case [topic, "partitions", number, "state"] if (partition := int32_of(number)) is not None:
            return TopicPartition(topic, partition)
    return None


def delete_topic(name: str) -> str:
    """Return the path that marks a topic for deletion."""
    return f"{DELETE_TOPICS}/{name}"


def config(entity_type: str, name: str) -> str:
    """Return the path of an entity's settings; ``entity_type`` is one of ``CONFIG_TYPES``."""
    return f"/config/{entity_type}/{name}"


def can_be(path: str) -> bool:
    """Return whether a path is valid: absolute, in UTF-8, with no part that is empty, ``.`` or ``..``.

    Source: ``PathUtils.validatePath`` of ZooKeeper; other invalid paths are refused by its server.
    """
    whole = f"{path}/"
    return path == "/" or (
        path.startswith("/")
        and "//" not in whole
        and "/./" not in whole
        and "/../" not in whole
        and "\0" not in whole
        and is_text(whole)
    )


def all_can_be(whole: Sequence[str]) -> bool:
    """Return whether all paths are valid: `can_be` of each, in a fraction of the time."""
    # Absolute paths joined together are one path that has the parts of all.
    together = all(path.startswith("/") for path in whole) and can_be("".join(whole))
    return together or all(map(can_be, whole))


def ancestors(path: str) -> tuple[str, ...]:
    """Return the ancestors of ``path``, the highest first: ``/a`` and ``/a/b`` for ``/a/b/c``."""
    parts = path.strip("/").split("/")
    return tuple("/" + "/".join(parts[:depth]) for depth in range(1, len(parts)))
