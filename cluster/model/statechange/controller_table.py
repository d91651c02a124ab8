"""The table of lines that a controller of release 2.8 logs.

Source: ``PartitionStateMachine.scala``, ``ReplicaStateMachine.scala``, ``ControllerChannelManager.scala``.
"""

from __future__ import annotations

from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.template import Speaker, Template, row

_C = Speaker.CONTROLLER
_NO_EPOCH = Speaker.CONTROLLER_WITHOUT_EPOCH
_TRACE_THEN_INFO = "TRACE, INFO from 2.6"
_TWICE = "Controller <controller> epoch <controller_epoch> "

_PARTITIONS = (
    row(
        Kind.PARTITION_NEW, _C, _TRACE_THEN_INFO, "0.8.1+",
        "Changed partition <tp> state from <from> to <to=NewPartition> with assigned replicas <replicas:ids>",
    ),
    row(
        Kind.PARTITION_ONLINE, _C, _TRACE_THEN_INFO, "1.1+",
        "Changed partition <tp> from <from> to <to=OnlinePartition> with state <leadership:leader_and_isr>",
    ),
    row(Kind.PARTITION_DOWN, _C, "TRACE", "0.8+", "Changed partition <tp> state from <from> to <to>"),
    row(
        Kind.PARTITION_CHANGE_FAILED, _C, "ERROR", "1.1+",
        _TWICE + "failed to change state for partition <tp> from <from> to <to>",
    ),
)  # fmt: skip

_REPLICAS = (
    row(
        Kind.REPLICA_CHANGE, _C, "TRACE", "0.8.1+",
        "Changed state of replica <replica> for partition <tp> from <from> to <to>",
    ),
    row(
        Kind.REPLICA_CHANGE_FAILED, _C, "ERROR", "1.1+",
        _TWICE + "initiated state change of replica <replica> for partition <tp> from <from> to <to> failed",
    ),
    row(
        Kind.ISR_REMOVAL, _C, "INFO", "2.6+",
        "Partition <tp> state changed to <leadership:leader_isr_and_epoch> after removing replica <replica> "
        "from the ISR as part of transition to <to=OfflineReplica>",
    ),
    row(Kind.REPLICAS_OFFLINE, _NO_EPOCH, "INFO", "1.0+",
        "Mark replicas <tps:topic_partitions> on broker <broker> as offline"),
)  # fmt: skip

_SENT = (
    row(
        Kind.LEADER_AND_ISR_SENDING, _C, "TRACE", "0.8.1+",
        "Sending <transition> LeaderAndIsr request <leadership:leader_and_isr_state> to broker <broker> for "
        "partition <tp>",
    ),
    row(
        Kind.LEADER_AND_ISR_BATCH, _C, "INFO", "2.6+",
        "Sending LeaderAndIsr request to broker <broker> with <leaders> become-leader and <followers> "
        "become-follower partitions",
    ),
    row(
        Kind.UPDATE_METADATA_BATCH, _C, "INFO", "2.6+",
        "Sending UpdateMetadata request to brokers <brokers> for <count> partitions",
    ),
    row(
        Kind.STOP_REPLICA_SENDING, _C, "TRACE", "2.6+",
        "Sending StopReplica request <leadership:stop_replica_state> to broker <broker> for partition <tp>",
    ),
    row(
        Kind.STOP_REPLICA_BATCH, _C, "INFO", "2.6+",
        "Sending StopReplica request for <count> replicas to broker <broker>",
    ),
    row(
        Kind.REASSIGNMENT_SENT, _C, _TRACE_THEN_INFO, "2.4+",
        "Sent LeaderAndIsr request <leadership:leader_isr_and_epoch> with new replica assignment "
        "<assignment:assignment> to leader <broker> for partition being reassigned <tp>",
    ),
    row(
        Kind.REASSIGNMENT_NOT_SENT, _C, "ERROR", "2.4+",
        "Failed to send LeaderAndIsr request with new replica assignment <assignment:assignment> to leader "
        "for partition being reassigned <tp>",
    ),
)  # fmt: skip

_RECEIVED = (
    row(
        Kind.RESPONSE_RECEIVED, _C, "TRACE", "1.1+",
        "Received response <response:text> for request <api:word> with correlation id <correlation_id> sent "
        "to broker <node:node>",
    ),
    row(
        Kind.LEADER_AND_ISR_ERROR, _NO_EPOCH, "ERROR", "2.5+",
        "Received error <error_code:word> in LeaderAndIsr response <response:text> from broker <broker>",
    ),
    row(
        Kind.UPDATE_METADATA_ERROR, _NO_EPOCH, "ERROR", "2.5+",
        "Received error <error_code:word> in UpdateMetadata response <response:text> from broker <broker>",
    ),
)  # fmt: skip

CONTROLLER_TABLE: tuple[Template, ...] = (*_PARTITIONS, *_REPLICAS, *_SENT, *_RECEIVED)
"""The rows for all lines of a controller."""
