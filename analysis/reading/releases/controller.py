"""Lines of controllers of other releases, 0.8 to 2.7.

Up to 0.11 a text begins with a lower-case letter, and partitions are spelled ``[topic,0]``. The reader
accepts both spellings, so a line with the words of a later release needs no row of its own.

Source: ``PartitionStateMachine.scala``, ``ReplicaStateMachine.scala`` and ``ControllerChannelManager.scala``
of each release.
"""

from __future__ import annotations

from barnabas.analysis.reading.events.kinds import OtherKind
from barnabas.analysis.reading.releases.spellings import row
from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.template import Speaker, Template

_C = Speaker.CONTROLLER
_NO_EPOCH = Speaker.CONTROLLER_WITHOUT_EPOCH

_PARTITIONS = (
    row(
        Kind.PARTITION_NEW, _C, "TRACE", "0.8.0",
        "Changed partition <tp> state from <from> to <to=New> with assigned replicas <replicas:ids>",
    ),
    row(
        Kind.PARTITION_ONLINE, _C, "TRACE", "0.8 to 1.0",
        "Changed partition <tp> from <from> to <to=OnlinePartition> with leader <leader>",
    ),
    row(
        Kind.PARTITION_CHANGE_FAILED, _C, "ERROR", "0.8 to 1.0",
        "Initiated state change for partition <tp> from <from> to <to> failed",
    ),
    row(OtherKind.ELECTION_STARTED, _C, "TRACE", "0.8 to 1.0", "Started leader election for partition <tp>"),
    row(
        OtherKind.ELECTION_WON, _C, "TRACE", "0.8 to 1.0",
        "Elected leader <leader> for Offline partition <tp>",
    ),
    row(
        OtherKind.ELECTION_ABORTED, _C, "ERROR", "0.8 to 1.0",
        "Aborted leader election for partition <tp> since the LeaderAndIsr path was already written by "
        "another controller. This probably means that the current controller <aborted_controller> went "
        "through a soft failure and another controller was elected with epoch <latest_controller_epoch>.",
    ),
    row(
        OtherKind.ELECTION_FAILED, _C, "ERROR", "0.8 to 1.0",
        "Encountered error while electing leader for partition <tp> due to: <error>",
    ),
    row(
        OtherKind.NEW_PARTITION_NOT_ALIVE, _C, "ERROR", "0.8 to 1.0",
        "Encountered error during state change of partition <tp> from <from=New> to <to=Online>, assigned "
        "replicas are [<assigned:text>], live brokers are [<live:text>]. No assigned replica is alive.",
    ),
    row(
        OtherKind.NEW_PARTITION_EXISTS, _C, "ERROR", "0.8 to 1.0",
        "Encountered error while changing partition <tp>'s state from <from=New> to <to=Online> since "
        "LeaderAndIsr path already exists with value <leadership:leader_and_isr> and controller epoch "
        "<latest_controller_epoch>",
    ),
)  # fmt: skip

_REPLICAS = (
    row(
        Kind.REPLICA_CHANGE, _C, "TRACE", "0.8.0",
        "Changed state of replica <replica> for partition <tp> to <to>",
    ),
    row(
        Kind.REPLICA_CHANGE_FAILED, _C, "ERROR", "0.8 to 1.0",
        "Initiated state change of replica <replica> for partition <tp> from <from> to <to> failed",
    ),
)  # fmt: skip

_SENT = (
    row(
        Kind.LEADER_AND_ISR_SENDING, _C, "TRACE", "0.8.1 to 0.8.2",
        "Sending <transition> LeaderAndIsr request <leadership:leader_and_isr_state> with correlationId "
        "<correlation_id> to broker <broker> for partition <tp>",
    ),
    row(
        Kind.LEADER_AND_ISR_SENDING, _C, "TRACE", "0.8.0",
        "Sending <transition> LeaderAndIsr request with correlationId <correlation_id> to broker <broker> "
        "for partition <tp>",
    ),
    row(
        OtherKind.UPDATE_METADATA_SENDING, _C, "TRACE", "0.10.2 to 2.5",
        "Sending UpdateMetadata request <leadership:update_metadata_state> to brokers <brokers> for "
        "partition <tp>",
    ),
    row(
        OtherKind.UPDATE_METADATA_SENDING, _C, "TRACE", "0.8 to 0.10.1",
        "Sending UpdateMetadata request <leadership:update_metadata_state> to broker <broker> for partition "
        "<tp>",
    ),
    row(
        OtherKind.UPDATE_METADATA_SENDING, _C, "TRACE", "0.8 to 0.8.2",
        "Sending UpdateMetadata request <leadership:update_metadata_state> with correlationId "
        "<correlation_id> to broker <broker> for partition <tp>",
    ),
    row(
        OtherKind.UPDATE_METADATA_SENDING, _C, "TRACE", "0.8.0",
        "Sending UpdateMetadata request with correlationId <correlation_id> to broker <broker> for partition "
        "<tp>",
    ),
    row(
        # Controllers log this for brokers whose inter.broker.protocol.version is below 2.6. Our brokers use
        # 2.6, so they never write it.
        Kind.STOP_REPLICA_BATCH, _C, "INFO", "2.6 to 2.7",
        "Sending StopReplica request (delete = <delete>) for <count> replicas to broker <broker>",
    ),
    row(
        Kind.REASSIGNMENT_SENT, _C, "TRACE", "0.8 to 2.3",
        "Sent LeaderAndIsr request <leadership:leader_isr_and_epoch> with new assigned replica list "
        "<replicas:ids> to leader <broker> for partition being reassigned <tp>",
    ),
    row(
        Kind.REASSIGNMENT_NOT_SENT, _C, "ERROR", "0.8.1 to 2.3",
        "Failed to send LeaderAndIsr request with new assigned replica list <replicas:ids> to leader for "
        "partition being reassigned <tp>",
    ),
)  # fmt: skip

_RECEIVED = (
    row(
        Kind.RESPONSE_RECEIVED, _C, "TRACE", "0.8 to 0.8.2",
        "Received response correlationId <correlation_id> for a request sent to broker <node:node>",
    ),
    row(
        Kind.RESPONSE_RECEIVED, _C, "TRACE", "0.9 to 1.0",
        "Received response <response:text> for a request sent to broker <node:node>",
    ),
    row(
        Kind.LEADER_AND_ISR_ERROR, _NO_EPOCH, "ERROR", "1.0 to 2.4",
        "Received error in LeaderAndIsr response <response:text> from broker <broker>",
    ),
)  # fmt: skip

CONTROLLER_ROWS: tuple[Template, ...] = (*_PARTITIONS, *_REPLICAS, *_SENT, *_RECEIVED)
"""The rows. If two of them match a text, the right one comes first."""
