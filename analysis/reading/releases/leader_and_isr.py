"""Lines of brokers of other releases about LeaderAndIsr requests.

Source: ``ReplicaManager.scala`` of each release.
"""

from __future__ import annotations

from barnabas.analysis.reading.events.kinds import OtherKind
from barnabas.analysis.reading.releases.spellings import row
from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.phrases import (
    BY,
    COMPLETED,
    HANDLING,
    IGNORING_ONE,
    LAST_UPDATE,
    OFFLINE,
    SKIPPED_FOLLOWER,
    SKIPPED_LEADER,
    UNAVAILABLE,
)
from barnabas.cluster.model.statechange.template import Speaker, Template

_B = Speaker.BROKER
_REQUEST = (
    row(
        Kind.LEADER_AND_ISR_RECEIVED, _B, "TRACE", "0.8 to 2.3",
        "Received LeaderAndIsr request <leadership:leader_and_isr_state> correlation id <correlation_id> "
        f"from {BY} for partition <tp>",
    ),
    row(
        Kind.LEADER_AND_ISR_STALE_EPOCH, _B, "WARN", "0.10.1 to 2.2",
        IGNORING_ONE + "since its associated leader epoch <leader_epoch> is not higher than the current "
        "leader epoch <current_leader_epoch>",
    ),
    row(
        Kind.LEADER_AND_ISR_STALE_EPOCH, _B, "WARN", "0.8 to 0.10.0",
        IGNORING_ONE + "since its associated leader epoch <leader_epoch> is old. Current leader epoch is "
        "<current_leader_epoch>",
    ),
    row(
        Kind.TOPIC_ID_MISMATCH, _B, "ERROR", "3.0+",
        "Topic ID in memory: <topic_id:uuid> does not match the topic ID for partition <tp> received: "
        "<requested_topic_id:uuid>.",
    ),
    row(
        OtherKind.TOPIC_ID_ASSIGNED, _B, "INFO", "3.0+",
        "Updating log for <tp> to assign topic ID <topic_id:uuid> from LeaderAndIsr request from controller "
        "<controller> with correlation id <correlation_id> epoch <controller_epoch>",
    ),
    row(
        OtherKind.TOPIC_ID_REMOVED, _B, "INFO", "3.1+",
        "Updating PartitionFetchState for <tp> to remove log topic ID <topic_id:uuid> since LeaderAndIsr "
        "request from controller <controller> with correlation id <correlation_id> epoch <controller_epoch> "
        "did not contain a topic ID",
    ),
    row(
        Kind.LEADER_AND_ISR_FAILED, _B, "ERROR", "3.1+",
        "Error while processing LeaderAndIsr request with correlationId <correlation_id> received from "
        f"{BY} when trying to update topic IDs in the fetchers",
    ),
    row(
        Kind.LEADER_AND_ISR_FAILED, Speaker.NOBODY, "ERROR", "0.8 to 0.11",
        "Error on broker <speaker_id> while processing LeaderAndIsr request correlationId <correlation_id> "
        f"received from {BY} for partition <tp>",
    ),
    row(
        Kind.LEADER_AND_ISR_FAILED, Speaker.NOBODY, "ERROR", "0.8 to 0.11",
        "Error on broker <speaker_id> while processing LeaderAndIsr request with correlationId "
        f"<correlation_id> received from {BY}",
    ),
)  # fmt: skip

_TRANSITION = (
    row(
        Kind.TRANSITION_STARTED, _B, "TRACE", "0.8.1 to 1.1",
        HANDLING + "<transition=become-follower> transition for partition <tp>",
    ),
    row(
        Kind.TRANSITION_COMPLETED, _B, "TRACE", "0.8.1 to 1.1",
        COMPLETED + "<transition=become-follower> transition for partition <tp>",
    ),
    row(
        OtherKind.FETCHERS_STOPPED, _B, "TRACE", "1.0 to 2.5",
        f"Stopped fetchers as part of <transition=become-leader> request from {BY} with correlation id "
        "<correlation_id> for partition <tp>" + LAST_UPDATE,
    ),
    row(
        OtherKind.FETCHERS_STOPPED, _B, "TRACE", "0.8 to 1.1",
        f"Stopped fetchers as part of <transition> request from {BY} with correlation id <correlation_id> "
        "for partition <tp>",
    ),
    row(
        OtherKind.FETCHERS_STOPPED, _B, "TRACE", "2.0 to 2.5",
        f"Stopped fetchers as part of <transition=become-follower> request from {BY} with correlation id "
        "<correlation_id> for partition <tp> with leader <leader>",
    ),
    row(
        OtherKind.LOG_TRUNCATED, _B, "TRACE", "2.0 to 2.5",
        "Truncated logs and checkpointed recovery boundaries for partition <tp> as part of become-follower "
        f"request with correlation id <correlation_id> from {BY} with leader <leader>",
    ),
    row(
        OtherKind.LOG_TRUNCATED, _B, "TRACE", "0.8 to 1.1",
        "Truncated logs and checkpointed recovery boundaries for partition <tp> as part of become-follower "
        f"request with correlation id <correlation_id> from {BY}",
    ),
    row(
        OtherKind.FETCHER_STARTED, _B, "TRACE", "2.4 to 2.5",
        f"Started fetcher to new leader as part of become-follower request from {BY} with correlation id "
        "<correlation_id> for partition <tp> with leader <leader:end_point>",
    ),
    row(
        OtherKind.FETCHER_STARTED, _B, "TRACE", "2.0 to 2.3",
        f"Started fetcher to new leader as part of become-follower request from {BY} with correlation id "
        "<correlation_id> for partition <tp> with leader <leader>",
    ),
    row(
        OtherKind.FETCHER_STARTED, _B, "TRACE", "0.8 to 1.1",
        f"Started fetcher to new leader as part of become-follower request from {BY} with correlation id "
        "<correlation_id> for partition <tp>",
    ),
    row(
        Kind.FETCHER_SKIPPED, _B, "TRACE", "0.8 to 1.1",
        "Skipped the adding-fetcher step of the become-follower state change with correlation id "
        f"<correlation_id> from {BY} for partition <tp> since it is shutting down",
    ),
    row(
        OtherKind.TOPIC_ID_UPDATE_SKIPPED, _B, "TRACE", "3.1+",
        "Skipped the update topic ID step of the become-follower state change with correlation id "
        f"<correlation_id> from {BY} for partition <tp> since it is shutting down",
    ),
    row(
        Kind.BECOME_LEADER_SKIPPED, _B, "INFO", "0.9 to 0.11",
        SKIPPED_LEADER + " since it is already the leader for the partition.",
    ),
    row(
        Kind.BECOME_FOLLOWER_SKIPPED, _B, "INFO", "0.8 to 0.11",
        SKIPPED_FOLLOWER + " since the new leader <leader> is the same as the old leader",
    ),
    row(
        Kind.BECOME_FOLLOWER_OFFLINE, _B, "ERROR", "1.0 to 1.1",
        f"Skipped the become-follower state change with correlation id <correlation_id> from {BY} for "
        "partition <tp>"
        + LAST_UPDATE + OFFLINE,
    ),
    row(
        # The epoch is that of the partition's state, which a former controller may have written.
        Kind.NEW_LEADER_UNAVAILABLE, _B, "ERROR", "0.8 to 0.11",
        "Received LeaderAndIsrRequest with correlation id <correlation_id> from controller <controller> "
        "epoch <state_controller_epoch> for partition <tp>" + UNAVAILABLE,
    ),
)  # fmt: skip

_FIRST_RELEASE = (
    row(
        Kind.LEADER_AND_ISR_HANDLING, _B, "TRACE", "0.8.0",
        f"Handling LeaderAndIsr request correlation id <correlation_id> received from {BY} for partition "
        "<tp>",
    ),
    row(
        Kind.LEADER_AND_ISR_FINISHED, _B, "TRACE", "0.8.0",
        f"Handled LeaderAndIsr request correlationId <correlation_id> received from {BY} for partition <tp>",
    ),
    row(
        Kind.TRANSITION_STARTED, _B, "TRACE", "0.8.0",
        f"Received LeaderAndIsr request correlationId <correlation_id> from {BY} starting the <transition> "
        "transition for partition <tp>",
    ),
    row(
        Kind.TRANSITION_COMPLETED, _B, "TRACE", "0.8.0",
        "Completed <transition> transition for partition <tp>",
    ),
    row(
        Kind.TRANSITION_COMPLETED, _B, "TRACE", "0.8.0",
        "Completed the <transition> transition for partition <tp>",
    ),
    row(
        OtherKind.TRANSITION_DISCARDED, _B, "TRACE", "0.8.0",
        f"Discarded the <transition> request with correlation id <correlation_id> from {BY} for partition "
        "<tp> since current leader epoch <current_leader_epoch> is >= the request's leader epoch "
        "<leader_epoch>",
    ),
    row(
        # Kafka 0.8.0 prints the two numbers in the wrong order.
        Kind.LEADER_AND_ISR_STALE_CONTROLLER, _B, "WARN", "0.8.0",
        "Received LeaderAndIsr request correlation id <controller_epoch> with an old controller epoch "
        "<correlation_id>. Latest known controller epoch is <latest_controller_epoch>",
    ),
)  # fmt: skip

LEADER_AND_ISR_ROWS: tuple[Template, ...] = (*_REQUEST, *_TRANSITION, *_FIRST_RELEASE)
"""The rows. If two of them match a text, the right one comes first."""
