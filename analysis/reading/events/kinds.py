"""The kinds of line that only other releases than 2.8 write (0.8 to 2.7, and KRaft), and of other logs."""

from __future__ import annotations

from enum import StrEnum


class Election(StrEnum):
    """The ways of electing a leader, by their value in the column ``election``.

    Only KRaft's controller logs it.
    """

    CLEAN = "clean"
    """The leader came from the ISR."""
    ELIGIBLE = "eligible"
    """The leader came from the eligible leader replicas (ELR, KIP-966), which have all committed records."""
    UNCLEAN = "unclean"
    """The leader came from neither, so records may be lost; it is marked as recovering (KIP-704)."""


class OtherKind(StrEnum):
    """The kinds of line in addition to ``cluster.model.statechange.Kind``; both fill the column ``kind``."""

    # The controller's partition state machine.
    ELECTION_STARTED = "election-started"
    ELECTION_WON = "election-won"
    ELECTION_ABORTED = "election-aborted"
    ELECTION_FAILED = "election-failed"
    NEW_PARTITION_NOT_ALIVE = "new-partition-not-alive"
    NEW_PARTITION_EXISTS = "new-partition-exists"

    # The controller's requests and their responses.
    UPDATE_METADATA_SENDING = "update-metadata-sending"

    # A broker and its LeaderAndIsr requests.
    TOPIC_ID_ASSIGNED = "topic-id-assigned"
    TOPIC_ID_REMOVED = "topic-id-removed"
    TRANSITION_DISCARDED = "transition-discarded"
    FETCHERS_STOPPED = "fetchers-stopped"
    LOG_TRUNCATED = "log-truncated"
    FETCHER_STARTED = "fetcher-started"
    TOPIC_ID_UPDATE_SKIPPED = "topic-id-update-skipped"
    LEADER_RECOVERED = "leader-recovered"

    # A broker and its StopReplica requests.
    STOP_REPLICA_STARTED = "stop-replica-started"
    STOP_REPLICA_FINISHED = "stop-replica-finished"
    STOP_REPLICA_NO_REPLICA = "stop-replica-no-replica"
    STOP_REPLICA_STORAGE_ERROR = "stop-replica-storage-error"

    # A broker and its UpdateMetadata requests.
    METADATA_TOPIC_DELETED = "metadata-topic-deleted"

    # A broker without ZooKeeper (KRaft).
    KRAFT_TRANSITIONING = "kraft-transitioning"
    KRAFT_PARTITION_CREATED = "kraft-partition-created"
    KRAFT_PARTITION_MISSING = "kraft-partition-missing"
    KRAFT_PARTITION_REPLACED = "kraft-partition-replaced"
    KRAFT_FETCHERS_STARTED = "kraft-fetchers-started"
    KRAFT_FETCHERS_STOPPED = "kraft-fetchers-stopped"
    KRAFT_FETCHING_FAILED = "kraft-fetching-failed"
    KRAFT_DELETING = "kraft-deleting"
    KRAFT_DELETION_FAILED = "kraft-deletion-failed"

    # Neither broker nor controller.
    LOGGER_REGISTERED = "logger-registered"


class CompanionKind(StrEnum):
    """The kinds of line about partitions and controllers in server.log and controller.log."""

    ISR_SHRINKING = "isr-shrinking"
    ISR_EXPANDING = "isr-expanding"
    ISR_UPDATED = "isr-updated"
    ISR_NOT_UPDATED = "isr-not-updated"
    COMMITTED_TRUNCATED = "committed-truncated"
    """2.0 on: a follower truncates its replica to ``offset``, below its ``high_watermark``."""
    CONTROLLER_ELECTED = "controller-elected"
    KRAFT_CHANGE = "kraft-change"
    """A controller of KRaft writes the new leader of a partition as it applies the record, perhaps again."""
    LEADER_SELECTED = "leader-selected"
    """0.8 to 1.0, in controller.log: the leader that a controller elects for a partition without one."""
    REPLICA_REMOVED = "replica-removed"
    """0.8 to 1.0, in controller.log: the leader and the ISR after a replica went offline."""
