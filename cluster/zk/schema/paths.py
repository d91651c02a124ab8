"""Every path of Kafka's ZooKeeper tree that we use, and the one of our own, below the chroot."""

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
"""The entity name whose settings hold for the whole cluster."""

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
"""What every broker creates at its start, where it is missing, with its parents."""


def broker(broker_id: BrokerId) -> str:
    """The registration of a broker."""
    return f"{BROKER_IDS}/{broker_id}"


def topic(name: str) -> str:
    """The assignment of a topic's partitions."""
    return f"{TOPICS}/{name}"


def topic_partitions(name: str) -> str:
    """The parent of a topic's partitions."""
    return f"{TOPICS}/{name}/partitions"


def partition(tp: TopicPartition) -> str:
    """The parent of a partition's state."""
    return f"{TOPICS}/{tp.topic}/partitions/{tp.partition}"


def partition_state(tp: TopicPartition) -> str:
    """The leadership of a partition."""
    return f"{TOPICS}/{tp.topic}/partitions/{tp.partition}/state"


def partition_of_state(path: str) -> TopicPartition | None:
    """Whose leadership ``path`` is, as ``partition_state`` made it; None for every other path."""
    match path.removeprefix(f"{TOPICS}/").split("/"):
        case [topic, "partitions", number, "state"] if (partition := int32_of(number)) is not None:
            return TopicPartition(topic, partition)
    return None


def delete_topic(name: str) -> str:
    """The mark that a topic is to be deleted."""
    return f"{DELETE_TOPICS}/{name}"


def config(entity_type: str, name: str) -> str:
    """The settings of an entity; ``entity_type`` is one of ``CONFIG_TYPES``."""
    return f"/config/{entity_type}/{name}"


def can_be(path: str) -> bool:
    """Whether a node can have this path: absolute, of parts that are not empty, ``.`` or ``..``, in UTF-8.

    Source: ``PathUtils.validatePath`` of ZooKeeper; what else that refuses, its server refuses.
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
    """Whether nodes can have all of these paths: `can_be` of each, in a fraction of the time."""
    # Absolute paths one behind the other are one path, of the parts of all.
    together = all(path.startswith("/") for path in whole) and can_be("".join(whole))
    return together or all(map(can_be, whole))


def ancestors(path: str) -> tuple[str, ...]:
    """The nodes above ``path``, the highest first, the root left out: ``/a/b/c`` has ``/a`` and ``/a/b``."""
    parts = path.strip("/").split("/")
    return tuple("/" + "/".join(parts[:depth]) for depth in range(1, len(parts)))
