"""The table of lines of brokers of release 2.8, except those about LeaderAndIsr.

Source: ``ReplicaManager.scala``, ``Partition.scala``.
"""

from __future__ import annotations

from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.phrases import (
    PREVIOUS,
    SENT_BY,
    STALE,
)
from barnabas.cluster.model.statechange.template import Speaker, Template, row

_B = Speaker.BROKER
_PARTITION = (
    row(
        Kind.LEADER_STARTS, _B, "INFO", "2.6 to 3.2",
        "Leader <tp> starts at leader epoch <leader_epoch> from offset <offset> with high watermark "
        "<high_watermark> ISR <isr:id_array> addingReplicas <adding:id_array> removingReplicas "
        "<removing:id_array>. " + PREVIOUS,
    ),
    row(
        Kind.FOLLOWER_STARTS, _B, "INFO", "2.6 to 3.2",
        "Follower <tp> starts at leader epoch <leader_epoch> from offset <offset> with high watermark "
        "<high_watermark>. " + PREVIOUS,
    ),
    row(
        Kind.BECOME_LEADER_ZOOKEEPER_EXCEPTION, _B, "ERROR", "2.7+",
        "A ZooKeeper client exception has occurred and makeLeader will be skipping the state change for the "
        "partition <tp> with leader epoch: <leader_epoch>.",
    ),
    row(
        Kind.BECOME_FOLLOWER_ZOOKEEPER_EXCEPTION, _B, "ERROR", "2.7+",
        "A ZooKeeper client exception has occurred. makeFollower will be skipping the state change for the "
        "partition <tp> with leader epoch: <leader_epoch>.",
    ),
)  # fmt: skip

_IGNORING_STOP = (
    "Ignoring StopReplica request (delete=<delete>) from controller <controller> with correlation id "
    "<correlation_id> epoch <controller_epoch> for partition <tp> "
)
_STOP_REPLICA = (
    row(
        Kind.STOP_REPLICA_HANDLING, _B, "INFO", "2.6+",
        "Handling StopReplica request correlationId <correlation_id> from controller <controller> for "
        "<count> partitions",
    ),
    row(
        Kind.STOP_REPLICA_RECEIVED, _B, "TRACE", "2.6+",
        "Received StopReplica request <leadership:stop_replica_state> correlation id <correlation_id> from "
        "controller <controller> epoch <controller_epoch> for partition <tp>",
    ),
    row(
        Kind.STOP_REPLICA_STALE_CONTROLLER, _B, "WARN", "2.6+",
        "Ignoring StopReplica request from controller <controller> with correlation id <correlation_id> "
        "since its controller epoch <controller_epoch> is old. " + STALE,
    ),
    row(
        # The broker refuses the replica (WARN); in the next row, the directory fails during the deletion
        # (ERROR).
        Kind.STOP_REPLICA_OFFLINE_DIR, _B, "WARN", "2.6+",
        _IGNORING_STOP + "as the local replica for the partition is in an offline log directory",
    ),
    row(
        Kind.STOP_REPLICA_OFFLINE_DIR, _B, "ERROR", "2.7+",
        "Ignoring StopReplica request (delete=<delete=true>) from controller <controller> with correlation "
        "id <correlation_id> epoch <controller_epoch> for partition <tp> as the local replica for the "
        "partition is in an offline log directory",
    ),
    row(
        Kind.STOP_REPLICA_EXCEPTION, _B, "ERROR", "2.7+",
        _IGNORING_STOP + "due to an unexpected <exception:text> exception: <error>",
    ),
    row(
        Kind.STOP_REPLICA_STALE_EPOCH, _B, "WARN", "2.6+",
        _IGNORING_STOP + "since its associated leader epoch <leader_epoch> is smaller than the current "
        "leader epoch <current_leader_epoch>",
    ),
    row(
        Kind.STOP_REPLICA_SAME_EPOCH, _B, "INFO", "2.6 to 3.7",
        _IGNORING_STOP + "since its associated leader epoch <leader_epoch> matches the current leader epoch",
    ),
)  # fmt: skip

_UPDATE_METADATA = (
    row(
        Kind.UPDATE_METADATA_STALE_CONTROLLER, _B, "WARN", "0.8+",
        "Received update metadata request with correlation id <correlation_id> from an old controller "
        "<controller> with epoch <controller_epoch>. " + STALE,
    ),
    row(
        Kind.METADATA_CACHED, _B, "TRACE", "0.8+",
        "Cached leader info <leadership:update_metadata_state> for partition <tp> " + SENT_BY,
    ),
    row(
        Kind.METADATA_DELETED, _B, "TRACE", "0.8.2+",
        "Deleted partition <tp> from metadata cache " + SENT_BY,
    ),
    row(
        Kind.METADATA_UPDATED, _B, "INFO", "2.6+",
        "Add <count> partitions and deleted <deleted_count> partitions from metadata cache " + SENT_BY,
    ),
)  # fmt: skip

BROKER_TABLE: tuple[Template, ...] = (*_PARTITION, *_STOP_REPLICA, *_UPDATE_METADATA)
"""The rows for lines about becoming leader or follower, StopReplica and UpdateMetadata."""
