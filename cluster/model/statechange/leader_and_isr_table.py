"""The table of lines that a broker of release 2.8 logs when it handles LeaderAndIsr.

Source: ``ReplicaManager.scala``. ``broker_table`` has the lines about the controller's other requests.
"""

from __future__ import annotations

from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.phrases import (
    BY,
    COMPLETED,
    HANDLING,
    IGNORING,
    IGNORING_ONE,
    LAST_UPDATE,
    OFFLINE,
    SKIPPED_FOLLOWER,
    SKIPPED_LEADER,
    UNAVAILABLE,
)
from barnabas.cluster.model.statechange.template import Speaker, Template, row

_B = Speaker.BROKER
_REQUEST = (
    row(
        Kind.LEADER_AND_ISR_HANDLING, _B, "INFO", "2.6+",
        "Handling LeaderAndIsr request correlationId <correlation_id> from controller <controller> for "
        "<count> partitions",
    ),
    row(
        Kind.LEADER_AND_ISR_FINISHED, _B, "INFO", "2.7+",
        "Finished LeaderAndIsr request in <duration_ms>ms correlationId <correlation_id> from controller "
        "<controller> for <count> partitions",
    ),
    row(
        Kind.LEADER_AND_ISR_RECEIVED, _B, "TRACE", "2.4+",
        "Received LeaderAndIsr request <leadership:leader_and_isr_state> correlation id <correlation_id> "
        f"from {BY}",
    ),
    row(
        Kind.LEADER_AND_ISR_STALE_CONTROLLER, _B, "WARN", "0.8.1+",
        IGNORING + "since its controller epoch <controller_epoch> is old. Latest known controller epoch is "
        "<latest_controller_epoch>",
    ),
    row(
        Kind.LEADER_AND_ISR_OFFLINE_DIR, _B, "WARN", "1.0+",
        IGNORING_ONE + "as the local replica for the partition is in an offline log directory",
    ),
    row(
        Kind.LEADER_AND_ISR_NOT_ASSIGNED, _B, "WARN", "0.8+",
        IGNORING_ONE + "as itself is not in assigned replica list <replicas:ids>",
    ),
    row(
        Kind.LEADER_AND_ISR_STALE_EPOCH, _B, "WARN", "2.3+",
        IGNORING_ONE + "since its associated leader epoch <leader_epoch> is smaller than the current leader "
        "epoch <current_leader_epoch>",
    ),
    row(
        Kind.LEADER_AND_ISR_SAME_EPOCH, _B, "DEBUG, INFO from 2.6", "2.3+",
        IGNORING_ONE + "since its associated leader epoch <leader_epoch> matches the current leader epoch",
    ),
    row(
        Kind.TOPIC_ID_MISMATCH, _B, "ERROR", "2.8",
        "Topic Id in memory: <topic_id:uuid> does not match the topic Id for partition <tp> provided in the "
        "request: <requested_topic_id:uuid>.",
    ),
    row(
        Kind.LEADER_AND_ISR_FAILED, _B, "ERROR", "1.0+",
        f"Error while processing LeaderAndIsr request correlationId <correlation_id> received from {BY} for "
        "partition <tp>",
    ),
    row(
        Kind.LEADER_AND_ISR_FAILED, _B, "ERROR", "1.0+",
        "Error while processing LeaderAndIsr request with correlationId <correlation_id> received from "
        f"{BY}",
    ),
)  # fmt: skip

_TRANSITION = (
    row(
        Kind.TRANSITION_STARTED, _B, "TRACE", "0.8.1+",
        HANDLING + "<transition=become-leader> transition for partition <tp>",
    ),
    row(
        Kind.TRANSITION_STARTED, _B, "TRACE", "2.0+",
        HANDLING + "<transition=become-follower> transition for partition <tp> with leader <leader>",
    ),
    row(
        Kind.TRANSITION_COMPLETED, _B, "TRACE", "0.8.1+",
        COMPLETED + "<transition=become-leader> transition for partition <tp>",
    ),
    row(
        Kind.TRANSITION_COMPLETED, _B, "TRACE", "2.0+",
        COMPLETED + "<transition=become-follower> transition for partition <tp> with leader <leader>",
    ),
    row(
        Kind.LEADER_FETCHERS_STOPPED, _B, "INFO", "2.6+",
        f"Stopped fetchers as part of LeaderAndIsr request correlationId <correlation_id> from {BY} as part "
        "of the <transition=become-leader> transition for <count> partitions",
    ),
    row(
        Kind.FOLLOWER_FETCHERS_STOPPED, _B, "INFO", "2.6+",
        f"Stopped fetchers as part of <transition=become-follower> request from {BY} with correlation id "
        "<correlation_id> for <count> partitions",
    ),
    row(
        Kind.FETCHER_SKIPPED, _B, "TRACE", "2.0+",
        "Skipped the adding-fetcher step of the become-follower state change with correlation id "
        f"<correlation_id> from {BY} for partition <tp> with leader <leader> since it is shutting down",
    ),
    row(
        Kind.BECOME_LEADER_SKIPPED, _B, "INFO", "1.0 to 3.2",
        SKIPPED_LEADER + LAST_UPDATE + " since it is already the leader for the partition.",
    ),
    row(
        Kind.BECOME_FOLLOWER_SKIPPED, _B, "INFO", "1.0 to 3.2",
        SKIPPED_FOLLOWER + LAST_UPDATE + " since the new leader <leader> is the same as the old leader",
    ),
    row(
        Kind.BECOME_LEADER_OFFLINE, _B, "ERROR", "1.0+",
        f"Skipped the become-leader state change with correlation id <correlation_id> from {BY} for "
        "partition <tp>"
        + LAST_UPDATE + OFFLINE,
    ),
    row(
        Kind.BECOME_FOLLOWER_OFFLINE, _B, "ERROR", "2.0+",
        f"Skipped the become-follower state change with correlation id <correlation_id> from {BY} for "
        "partition <tp>"
        + LAST_UPDATE + " with leader <leader>" + OFFLINE,
    ),
    row(
        Kind.NEW_LEADER_UNAVAILABLE, _B, "ERROR", "1.0+",
        f"Received LeaderAndIsrRequest with correlation id <correlation_id> from {BY} for partition <tp>"
        + LAST_UPDATE + UNAVAILABLE,
    ),
)  # fmt: skip


LEADER_AND_ISR_TABLE: tuple[Template, ...] = (
    *_REQUEST,
    *_TRANSITION,
)
"""The rows for all lines of a broker about LeaderAndIsr."""
