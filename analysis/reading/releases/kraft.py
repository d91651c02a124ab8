"""Lines of KRaft-mode brokers, and the line of the logger itself.

Source: ``ReplicaManager.scala`` of 3.0 and later. KRaft's controller does not write to state-change.log.
"""

from __future__ import annotations

from barnabas.analysis.reading.events.kinds import OtherKind
from barnabas.analysis.reading.releases.spellings import row
from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.template import Speaker, Template

_B = Speaker.BROKER

KRAFT_ROWS: tuple[Template, ...] = (
    row(
        OtherKind.KRAFT_TRANSITIONING, _B, "INFO", "2.8+",
        "Transitioning <count> partition(s) to local leaders.",
    ),
    row(
        OtherKind.KRAFT_TRANSITIONING, _B, "INFO", "2.8+",
        "Transitioning <count> partition(s) to local followers.",
    ),
    row(
        OtherKind.KRAFT_PARTITION_CREATED, _B, "INFO", "2.8+",
        "Creating new partition <tp> with topic id <topic_id:uuid>.",
    ),
    row(
        OtherKind.KRAFT_PARTITION_MISSING, _B, "ERROR", "3.0+",
        "Expected partition <tp> with topic id <topic_id:uuid> to exist, but it was missing. Creating...",
    ),
    row(
        OtherKind.KRAFT_PARTITION_MISSING, _B, "ERROR", "3.0+",
        "Expected partition <tp> to exist, but it was missing. Creating...",
    ),
    row(
        Kind.FOLLOWER_FETCHERS_STOPPED, _B, "INFO", "2.8+",
        "Stopped fetchers as part of <transition=become-follower> for <count> partitions",
    ),
    row(
        OtherKind.KRAFT_FETCHERS_STARTED, _B, "INFO", "2.8+",
        "Started fetchers as part of <transition=become-follower> for <count> partitions",
    ),
    row(
        OtherKind.KRAFT_FETCHERS_STOPPED, _B, "INFO", "3.0+",
        "Stopped fetchers as part of controlled shutdown for <count> partitions",
    ),
    row(
        OtherKind.KRAFT_PARTITION_CREATED, _B, "INFO", "3.7+",
        "Creating new partition <tp> with topic id <topic_id:uuid>.A topic with the same name but different "
        "id exists but it resides in an offline log directory.",
    ),
    row(
        OtherKind.KRAFT_PARTITION_REPLACED, _B, "INFO", "3.7+",
        "Deleting partition <tp> with topic id <topic_id:uuid> since a partition with the same name but "
        "different topic id <requested_topic_id:uuid> needs to be created.",
    ),
    row(OtherKind.KRAFT_DELETING, _B, "INFO", "3.0+", "Deleting <count> partition(s)."),
    row(
        OtherKind.KRAFT_DELETION_FAILED, _B, "ERROR", "3.0+",
        "Unable to delete replica <tp> because the local replica for the partition is in an offline log "
        "directory",
    ),
    row(
        OtherKind.KRAFT_DELETION_FAILED, _B, "ERROR", "3.0+",
        "Unable to delete replica <tp> because we got an unexpected <exception:text> exception: <error>",
    ),
    row(
        Kind.BECOME_LEADER_OFFLINE, _B, "INFO", "3.0+",
        "Skipped the become-leader state change for <tp> with topic id <topic_id:uuid> due to a storage "
        "error <error>",
    ),
    row(
        Kind.BECOME_LEADER_OFFLINE, _B, "WARN", "3.0+",
        "Unable to bring up new local leader <tp> with topic id <topic_id:uuid> because it resides in an "
        "offline log directory.",
    ),
    row(
        Kind.BECOME_FOLLOWER_SKIPPED, _B, "INFO", "3.0+",
        "Skipped the become-follower state change after marking its partition as follower for partition <tp> "
        "with id <topic_id:uuid> and partition state <leadership:leader_and_isr_state>.",
    ),
    row(
        OtherKind.KRAFT_FETCHING_FAILED, _B, "ERROR", "3.0+",
        "Unable to start fetching <tp> with topic ID <topic_id:uuid> due to <error>",
    ),
    row(
        OtherKind.KRAFT_FETCHING_FAILED, _B, "TRACE", "3.0+",
        "Unable to start fetching <tp> with topic ID <topic_id:uuid> because the replica manager is shutting "
        "down.",
    ),
    row(
        Kind.NEW_LEADER_UNAVAILABLE, _B, "TRACE", "3.0+",
        "Unable to start fetching <tp> with topic ID <topic_id:uuid> from leader <leader> because it is not "
        "alive.",
    ),
    row(
        OtherKind.LOGGER_REGISTERED, Speaker.NOBODY, "DEBUG", "0.8 to 2.5",
        "PreRegister called. Server=<server:text>, name=log4j:logger=state.change.logger",
    ),
)  # fmt: skip
"""The rows; log4j's own line comes last."""
