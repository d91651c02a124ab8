"""Lines of ZooKeeper-mode brokers of other releases: becoming leader, StopReplica, UpdateMetadata.

Source: ``ReplicaManager.scala`` and ``Partition.scala`` of each release.
"""

from __future__ import annotations

from barnabas.analysis.reading.events.kinds import OtherKind
from barnabas.analysis.reading.releases.spellings import row
from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.phrases import (
    PREVIOUS,
    SENT_BY,
    STALE,
)
from barnabas.cluster.model.statechange.template import Speaker, Template

_B = Speaker.BROKER
_STATE = "<leadership:leader_and_isr_state>"
_LEADER_WITH_ID = (
    "Leader <tp> with topic id <topic_id> starts at leader epoch <leader_epoch> from offset <offset> with "
    "partition epoch <partition_epoch>, high watermark <high_watermark>, ISR <isr:id_array>, adding replicas "
    "<adding:id_array> and removing replicas <removing:id_array>"
)
_FOLLOWER_WITH_EPOCH = (
    "Follower <tp> starts at leader epoch <leader_epoch> from offset <offset> with partition epoch "
    "<partition_epoch> and high watermark <high_watermark>. Current leader is <leader>. "
)
_PREVIOUS_LEADER = "Previous leader <previous_leader> and previous leader epoch was <previous_leader_epoch>."

_PARTITION = (
    row(
        # Builds of the 2.6 trunk print the lists without brackets.
        Kind.LEADER_STARTS, _B, "INFO", "2.6.0",
        "Leader <tp> starts at leader epoch <leader_epoch> from offset <offset> with high watermark "
        "<high_watermark> ISR <isr:ids> addingReplicas <adding:ids> removingReplicas "
        "<removing:ids> ." + PREVIOUS,
    ),
    row(Kind.LEADER_STARTS, _B, "INFO", "3.3 to 3.4", f"{_LEADER_WITH_ID}. {PREVIOUS}"),
    row(
        Kind.LEADER_STARTS, _B, "INFO", "3.5",
        f"{_LEADER_WITH_ID} <under_min_isr:under_min_isr>. {PREVIOUS}",
    ),
    row(
        Kind.LEADER_STARTS, _B, "INFO", "3.6+",
        f"{_LEADER_WITH_ID} <under_min_isr:under_min_isr>. {_PREVIOUS_LEADER}",
    ),
    row(Kind.FOLLOWER_STARTS, _B, "INFO", "3.3 to 3.5", _FOLLOWER_WITH_EPOCH + PREVIOUS),
    row(Kind.FOLLOWER_STARTS, _B, "INFO", "3.6+", _FOLLOWER_WITH_EPOCH + _PREVIOUS_LEADER),
    row(
        Kind.BECOME_LEADER_SKIPPED, _B, "INFO", "3.3+",
        "Skipped the become-leader state change for <tp> with topic id <topic_id> and partition state "
        f"{_STATE} since it is already the leader with leader epoch <leader_epoch>. Current high watermark "
        "<high_watermark>, ISR <isr:id_array>, adding replicas <adding:id_array> and removing replicas "
        "<removing:id_array>.",
    ),
    row(
        Kind.BECOME_FOLLOWER_SKIPPED, _B, "INFO", "3.3+",
        "Skipped the become-follower state change for <tp> with topic id <topic_id> and partition state "
        f"{_STATE} since it is already a follower with leader epoch <leader_epoch>.",
    ),
    row(
        Kind.BECOME_LEADER_SKIPPED, _B, "INFO", "3.3+",
        "Skipped the become-leader state change for <tp> with topic id <topic_id> and partition state "
        f"{_STATE} since the leader is already at a newer partition epoch <partition_epoch>.",
    ),
    row(
        Kind.BECOME_FOLLOWER_SKIPPED, _B, "INFO", "3.3+",
        "Skipped the become-follower state change for <tp> with topic id <topic_id> and partition state "
        f"{_STATE} since the follower is already at a newer partition epoch <partition_epoch>.",
    ),
    row(
        OtherKind.LEADER_RECOVERED, _B, "INFO", "3.3+",
        "The topic partition <tp> was marked as RECOVERING. Marking the topic partition as RECOVERED.",
    ),
    row(
        OtherKind.LEADER_RECOVERED, _B, "INFO", "3.2",
        "The topic partition <tp> was marked as RECOVERING. Leader log recovery is not implemented. Marking "
        "the topic partition as RECOVERED.",
    ),
)  # fmt: skip

_STOP_REPLICA = (
    row(
        OtherKind.STOP_REPLICA_STARTED, _B, "TRACE", "0.8 to 2.5",
        "Handling stop replica (delete=<delete>) for partition <tp>",
    ),
    row(
        OtherKind.STOP_REPLICA_FINISHED, _B, "TRACE", "0.8 to 2.5",
        "Finished handling stop replica (delete=<delete>) for partition <tp>",
    ),
    row(
        OtherKind.STOP_REPLICA_NO_REPLICA, _B, "TRACE", "0.8 to 2.5",
        "Ignoring stop replica (delete=<delete>) for partition <tp> as replica doesn't exist on broker",
    ),
    row(
        OtherKind.STOP_REPLICA_STORAGE_ERROR, _B, "ERROR", "1.0 to 2.5",
        "Ignoring stop replica (delete=<delete>) for partition <tp> due to storage exception",
    ),
    row(
        Kind.STOP_REPLICA_STALE_CONTROLLER, _B, "WARN", "0.8 to 2.5",
        "Received stop replica request from an old controller epoch <controller_epoch>. " + STALE,
    ),
)  # fmt: skip

_UPDATE_METADATA = (
    row(
        OtherKind.METADATA_TOPIC_DELETED, _B, "TRACE", "0.8.1",
        "Deleted partitions for topic <topic:text> from metadata cache " + SENT_BY,
    ),
)  # fmt: skip

BROKER_ROWS: tuple[Template, ...] = (*_PARTITION, *_STOP_REPLICA, *_UPDATE_METADATA)
"""The rows. If two of them match a text, the right one comes first."""
