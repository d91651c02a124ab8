"""The kinds of line in state-change.log of release 2.8."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """The kinds of line, by their value in the analysis' column ``kind``."""

    # The controller's partition state machine.
    PARTITION_NEW = "partition-new"
    PARTITION_ONLINE = "partition-online"
    PARTITION_DOWN = "partition-down"
    PARTITION_CHANGE_FAILED = "partition-change-failed"

    # The controller's replica state machine.
    REPLICA_CHANGE = "replica-change"
    REPLICA_CHANGE_FAILED = "replica-change-failed"
    ISR_REMOVAL = "isr-removal"
    REPLICAS_OFFLINE = "replicas-offline"

    # The controller's requests and their responses.
    LEADER_AND_ISR_SENDING = "leader-and-isr-sending"
    LEADER_AND_ISR_BATCH = "leader-and-isr-batch"
    UPDATE_METADATA_BATCH = "update-metadata-batch"
    STOP_REPLICA_SENDING = "stop-replica-sending"
    STOP_REPLICA_BATCH = "stop-replica-batch"
    RESPONSE_RECEIVED = "response-received"
    LEADER_AND_ISR_ERROR = "leader-and-isr-error"
    UPDATE_METADATA_ERROR = "update-metadata-error"
    REASSIGNMENT_SENT = "reassignment-sent"
    REASSIGNMENT_NOT_SENT = "reassignment-not-sent"

    # A broker and its LeaderAndIsr requests.
    LEADER_AND_ISR_HANDLING = "leader-and-isr-handling"
    LEADER_AND_ISR_FINISHED = "leader-and-isr-finished"
    LEADER_AND_ISR_RECEIVED = "leader-and-isr-received"
    LEADER_AND_ISR_STALE_CONTROLLER = "leader-and-isr-stale-controller"
    LEADER_AND_ISR_STALE_EPOCH = "leader-and-isr-stale-epoch"
    LEADER_AND_ISR_SAME_EPOCH = "leader-and-isr-same-epoch"
    LEADER_AND_ISR_OFFLINE_DIR = "leader-and-isr-offline-dir"
    LEADER_AND_ISR_NOT_ASSIGNED = "leader-and-isr-not-assigned"
    LEADER_AND_ISR_FAILED = "leader-and-isr-failed"
    TOPIC_ID_MISMATCH = "topic-id-mismatch"
    TRANSITION_STARTED = "transition-started"
    TRANSITION_COMPLETED = "transition-completed"
    LEADER_FETCHERS_STOPPED = "leader-fetchers-stopped"
    FOLLOWER_FETCHERS_STOPPED = "follower-fetchers-stopped"
    FETCHER_SKIPPED = "fetcher-skipped"
    BECOME_LEADER_SKIPPED = "become-leader-skipped"
    BECOME_FOLLOWER_SKIPPED = "become-follower-skipped"
    BECOME_LEADER_OFFLINE = "become-leader-offline"
    BECOME_FOLLOWER_OFFLINE = "become-follower-offline"
    NEW_LEADER_UNAVAILABLE = "new-leader-unavailable"
    LEADER_STARTS = "leader-starts"
    FOLLOWER_STARTS = "follower-starts"
    BECOME_LEADER_ZOOKEEPER_EXCEPTION = "become-leader-zookeeper-exception"
    BECOME_FOLLOWER_ZOOKEEPER_EXCEPTION = "become-follower-zookeeper-exception"

    # A broker and its StopReplica requests.
    STOP_REPLICA_HANDLING = "stop-replica-handling"
    STOP_REPLICA_RECEIVED = "stop-replica-received"
    STOP_REPLICA_STALE_CONTROLLER = "stop-replica-stale-controller"
    STOP_REPLICA_STALE_EPOCH = "stop-replica-stale-epoch"
    STOP_REPLICA_SAME_EPOCH = "stop-replica-same-epoch"
    STOP_REPLICA_OFFLINE_DIR = "stop-replica-offline-dir"
    STOP_REPLICA_EXCEPTION = "stop-replica-exception"

    # A broker and its UpdateMetadata requests.
    UPDATE_METADATA_STALE_CONTROLLER = "update-metadata-stale-controller"
    METADATA_CACHED = "metadata-cached"
    METADATA_DELETED = "metadata-deleted"
    METADATA_UPDATED = "metadata-updated"
